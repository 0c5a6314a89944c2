# Reads "ADDR:PORT/PROTO" lines (PROTO any is an ICMP echo), asks all at once, and prints for
# each, in order: the line, a tab, and answer, refused, prohibited, silence or an errno's name.
import errno
import os
import socket
import sys
import threading

# Long, for a machine may be loaded; whoever expects silence says how long to listen for it.
WAIT = float(os.environ.get("NETASK_WAIT", "60"))
NAMES = {errno.ECONNREFUSED: "refused", errno.EHOSTUNREACH: "prohibited", errno.EACCES: "prohibited"}


def ask(line):
    endpoint, proto = line.rsplit("/", 1)
    host, port = endpoint.rsplit(":", 1)
    host = host.strip("[]")
    kind = socket.SOCK_STREAM if proto == "tcp" else socket.SOCK_DGRAM
    family, _, _, _, to = socket.getaddrinfo(host, int(port), type=kind, flags=socket.AI_NUMERICHOST)[0]
    number, data = 0, b"x"
    if proto == "any":
        number, data = (socket.IPPROTO_ICMP, b"\x08") if family == socket.AF_INET else (socket.IPPROTO_ICMPV6, b"\x80")
        data += bytes(7)
    s = socket.socket(family, kind, number)
    s.settimeout(WAIT)
    try:
        s.connect(to)
        if proto != "tcp":
            s.send(data)
        return "answer" if s.recv(100) else "closed"
    except TimeoutError:
        return "silence"
    except OSError as e:
        return NAMES.get(e.errno) or errno.errorcode.get(e.errno, str(e))
    finally:
        s.close()


lines = [line.strip() for line in sys.stdin if line.strip()]
answers = [None] * len(lines)


def one(i):
    answers[i] = ask(lines[i])


threads = [threading.Thread(target=one, args=(i,)) for i in range(len(lines))]
for t in threads:
    t.start()
for t in threads:
    t.join()
for line, answer in zip(lines, answers):
    print(f"{line}\t{answer}")
