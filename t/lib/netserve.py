# usage: netserve.py PORT... : answers "hi" on each TCP and UDP port, from the address asked.
import select
import socket
import sys

IPV6_TRANSPARENT = 75  # answers from an address that is only routed here

socks = []
for port in map(int, sys.argv[1:]):
    tcp = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind(("::", port))
    tcp.listen(128)
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    udp.setsockopt(socket.IPPROTO_IPV6, IPV6_TRANSPARENT, 1)
    udp.bind(("::", port))
    socks += [tcp, udp]
print("ready", flush=True)
while True:
    for s in select.select(socks, [], [])[0]:
        if s.type == socket.SOCK_STREAM:
            peer, _ = s.accept()
            peer.send(b"hi")
            peer.close()
        else:
            _, control, _, peer = s.recvmsg(100, 1000)
            s.sendmsg([b"hi"], control, 0, peer)
