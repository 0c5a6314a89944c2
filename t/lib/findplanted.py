#!/usr/bin/env python3
# usage: findplanted.py VALUES [PID|DIR]... : where any line of the file VALUES is found, one place
# a line: in the memory, the arguments and the environment of a process, or in a file below a
# directory, which is not left for another file system. Nothing is printed of the value itself.
import os
import re
import sys

values = [v for v in open(sys.argv[1], "rb").read().split(b"\n") if v]
seen = []


def look(data, where):
    for i, v in enumerate(values):
        if v in data:
            seen.append(f"value {i + 1} in {where}")


# Mappings that hold anything: of gigabytes that a program has only reserved there is nothing to
# read, and the shadow of AddressSanitizer, terabytes of it, has no bytes of the program.
SHADOW = (0x7FFF7000, 0x10007FFF8000)


def shadowed(at, end, lines):
    return SHADOW[0] <= at and end <= SHADOW[1] and any(f"-{SHADOW[1]:x} " in line for line in lines)


def mappings(pid):
    here, held = None, 0
    lines = open(f"/proc/{pid}/smaps").readlines()
    for line in lines:
        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line)
        if m:
            if here and held:
                yield here
            readable = m[3].startswith("r") and "[v" not in line
            at, end = int(m[1], 16), int(m[2], 16)
            here = (at, end, line.split()[-1]) if readable and not shadowed(at, end, lines) else None
            held = 0
        elif line.startswith(("Rss:", "Swap:")):
            held += int(line.split()[1])
    if here and held:
        yield here


PAGE = os.sysconf("SC_PAGE_SIZE")
BIG = 64 << 20


def held(pid, at, end):
    """The parts of a mapping that are in memory or swapped out: of a big one few are."""
    if end - at < BIG:
        return [(at, end)]
    parts = []
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as f:
        for here in range(at, end, BIG):
            n = min(BIG, end - here) // PAGE
            f.seek(here // PAGE * 8)
            entries = f.read(n * 8)
            if entries.count(0) == len(entries):
                continue
            for i in range(len(entries) // 8):
                if entries[i * 8 + 7] & 0xC0:
                    page = here + i * PAGE
                    if parts and parts[-1][1] == page:
                        parts[-1] = (parts[-1][0], page + PAGE)
                    else:
                        parts.append((page, page + PAGE))
    return parts


def process(pid):
    for part in ("cmdline", "environ"):
        try:
            look(open(f"/proc/{pid}/{part}", "rb").read(), f"{part} of {pid}")
        except OSError:
            pass
    try:
        maps = [(a, b, what) for at, end, what in mappings(pid) for a, b in held(pid, at, end)]
        mem = open(f"/proc/{pid}/mem", "rb", buffering=0)
        name = open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return 0
    bytes_read = 0
    for at, end, what in maps:
        tail = b""
        while at < end:
            try:
                mem.seek(at)
                data = mem.read(min(1 << 20, end - at))
            except (OSError, ValueError, OverflowError):
                break
            if not data:
                break
            bytes_read += len(data)
            look(tail + data, f"memory of {pid} ({name}) {what}")
            tail = data[-256:]
            at += len(data)
    return bytes_read


def tree(top):
    dev = os.lstat(top).st_dev
    for folder, dirs, files in os.walk(top):
        dirs[:] = [d for d in dirs if os.lstat(f"{folder}/{d}").st_dev == dev]
        for f in files:
            path = f"{folder}/{f}"
            try:
                if os.path.islink(path) or not os.path.isfile(path):
                    look(os.readlink(path).encode() if os.path.islink(path) else b"", path)
                    continue
                with open(path, "rb") as h:
                    tail = b""
                    while data := h.read(1 << 20):
                        look(tail + data, path)
                        tail = data[-256:]
            except OSError:
                pass


looked = 0
for a in sys.argv[2:]:
    if a.isdigit():
        looked += process(a)
    else:
        tree(a)
for s in sorted(set(seen)):
    print(s)
print(f"looked through {looked} bytes of memory", file=sys.stderr)
