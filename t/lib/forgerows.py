#!/usr/bin/env python3
# usage: forgerows.py HUB PROJECT LEASE LEASETOOL ALLOWED [all] : plays a process that may write the state file
# and has no key. Each column of each row is given another row's value of it, nothing, nought, one and
# the far future, one at a time; then PROJECT takes a lease, LEASE is renewed, and a sweep runs. Prints
# each change after which a value was delivered that is not in ALLOWED (comma list), or after which a
# command died; the last line is how many changes were tried. Without "all": one other row's value and
# the far future, and no sweep.
import ctypes
import json
import os
import shutil
import sqlite3
import subprocess
import sys

hub, project, lease, tool, allowed = sys.argv[1:6]
every = sys.argv[6:] == ["all"]
allowed = set(allowed.split(","))
db = hub + "/.cloop/state.db"
base = hub + "/.cloop/base.db"
FAR = 32503680000000
# What says which schema the file has: with another it is not opened at all.
SKIP = {"schema_migration", "audit", "audit_head"}


def fresh():
    for end in ("-wal", "-shm"):
        if os.path.exists(db + end):
            os.unlink(db + end)
    shutil.copyfile(base, db)


def change(table, column, key, value):
    """Without checks, references and triggers; False where the file itself does not take it."""
    c = sqlite3.connect(db)
    c.executescript("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
    for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        c.execute(f"DROP TRIGGER {name}")
    where = " AND ".join(f'"{k}" IS ?' for k, _ in key)
    try:
        c.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {where}', [value] + [v for _, v in key])
        c.commit()
    except (sqlite3.IntegrityError, sqlite3.OperationalError):
        return False
    finally:
        c.close()
    return True


def run(argv):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, errors="replace")
    # A renewal is handed over before its process is over, and that one has the file open.
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return p


def delivered(p):
    """Every value that came through the pipe."""
    got = set()
    for item in json.loads(p.stdout or "{}").get("items", []):
        got.update((item.get("env") or {}).values())
        got.update(f["data"].strip() for n, f in (item.get("files") or {}).items() if n == "github-token")
    return got


def ask():
    """What the changed file gives away, and which command died of it."""
    got, died = set(), []
    commands = [
        [tool, "take", hub, project, "container", "run_" + 24 * "9"],
        [tool, "renew", hub, lease, project, "container", "run_" + 24 * "1"],
    ]
    if every:
        commands += [["cloop-secret", "-C", hub, "sweep"], ["cloop-hub", "-C", hub, "audit", "verify"]]
    for argv in commands:
        p = run(argv)
        if p.returncode < 0 or p.returncode >= 126 or "status 1" in p.stderr and "ended with" in p.stderr:
            died.append(f"{argv[0]} {argv[1]}: {p.returncode} {p.stderr.strip()}")
        if argv[0] == tool:
            got |= delivered(p)
    return got - allowed, died


PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
shutil.copyfile(db, base)
c = sqlite3.connect(base)
tables = [t for (t,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if t not in SKIP]
tried = 0
for table in tables:
    info = c.execute(f'PRAGMA table_info("{table}")').fetchall()
    names = [i[1] for i in info]
    keys = [i[1] for i in info if i[5]] or names
    rows = c.execute(f'SELECT * FROM "{table}"').fetchall()
    for row in rows:
        key = [(k, row[names.index(k)]) for k in keys]
        for at, column in enumerate(names):
            others = {r[at] for r in rows if r[at] is not None}
            others.discard(row[at])
            some = sorted(others, key=str)
            for value in some[:4] + [None, "", 0, 1, FAR] if every else some[:1] + [FAR]:
                if value == row[at] and type(value) is type(row[at]):
                    continue
                fresh()
                if not change(table, column, key, value):
                    continue
                tried += 1
                got, died = ask()
                if got or died:
                    print(f"{table}.{column} of {key} := {value!r}: {sorted(got)} {died}")
fresh()
print(tried, "changes")
