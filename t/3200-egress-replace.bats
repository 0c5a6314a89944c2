#!/usr/bin/env bats
# Rulesets with maps in a kernel: as large as they come, and replaced under traffic.
load lib/common
load lib/netrig

NETTOOL=$BUILD_DIR/t/lib/nettool

setup_file() {
	[ "$(id -u)" = 0 ] && command -v nft > /dev/null || return 0
	rig_up
	rig_serve outside 22 80 443
}
teardown_file() { rig_down; }
setup() {
	need root nft ip python3 jq
	rig host nft flush ruleset
	rig outside nft flush ruleset
}

# ranges FILE COUNT [KEY=JSON...] : COUNT /25s from 20.0.0.0 on, one in each /24
ranges() {
	python3 -c '
import json, sys
r = [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/25" for i in range(int(sys.argv[2]))]
p = {"allow_cidrs": r, "allow_ports": [443, 80]}
p.update((k, json.loads(v)) for k, v in (more.split("=", 1) for more in sys.argv[3:]))
json.dump(p, open(sys.argv[1], "w"))' "$@"
}
apply() { rig host "$NETTOOL" apply table=t1 bridge=br0 policy=@"$1"; }

@test "a hundred thousand ranges are loaded, judge packets, and are replaced" {
	local f=$BATS_TEST_TMPDIR/p
	ranges "$f" 100000
	apply "$f"
	local -a q=(20.0.0.1:443/tcp 20.0.0.127:80/tcp 20.77.33.5:443/tcp 21.134.159.127:443/tcp)
	same "$(rig_ask sandbox "${q[@]}" | cut -f2 | sort -u)" answer
	q=(20.0.0.128:443/tcp 20.77.33.255:443/tcp 21.134.160.0:443/tcp 19.255.255.255:443/tcp 20.0.0.1:22/tcp)
	same "$(rig_ask sandbox "${q[@]}" | cut -f2 | sort -u)" refused
	same "$(rig_ask sandbox 20.0.0.1:443/udp 20.0.0.1:0/any '[2606:4700::1111]:443/udp' | cut -f2 | sort -u)" prohibited
	ranges "$f" 100000 'deny_cidrs=["20.0.0.0/24"]'
	apply "$f"
	same "$(rig_ask sandbox 20.0.0.1:443/tcp 20.0.1.1:443/tcp | cut -f2 | tr '\n' ' ')" "refused answer "
	rig host "$NETTOOL" remove table=t1
	same "$(rig host nft list tables)" ""
}

@test "what is refused under maps is counted, and the count outlives a replace" {
	local f=$BATS_TEST_TMPDIR/p
	ranges "$f" 200
	apply "$f"
	rig_ask sandbox 20.0.0.128:443/tcp 8.8.8.8:53/udp > /dev/null
	apply "$f"
	same "$(rig host "$NETTOOL" blocked table=t1)" "10.211.0.2 8.8.8.8 17 53 1
10.211.0.2 20.0.0.128 6 443 1"
}

# Sends to a closed address of each family and to an open one until a file is there; prints how
# many of each.
flood() {
	rig sandbox python3 -c '
import os, socket, sys, time
four, six = (socket.socket(f, socket.SOCK_DGRAM) for f in (socket.AF_INET, socket.AF_INET6))
n = 0
while not os.path.exists(sys.argv[1]):
	four.sendto(b"x", ("10.4.5.6", 443))
	six.sendto(b"x", ("fd00:ec2::254", 443))
	four.sendto(b"x", ("9.9.9.9", 5353))
	n += 1
	time.sleep(0.0002)
print(n)' "$1"
}
# What arrived outside: closed, closed6, open
arrived() {
	rig outside nft -j list chain inet count input |
		jq -r '[.nftables[].rule? // empty | .expr[].counter? // empty | .packets] | join(" ")'
}
# flows PID : returns once packets of the flood arrive
flows() {
	until [ "$(arrived | cut -d' ' -f3)" -gt 10 ]; do
		kill -0 "$1"
		sleep 0.05
	done
}
count_arrivals() {
	rig outside nft -f - <<- 'E'
		add table inet count
		delete table inet count
		table inet count {
			chain input {
				type filter hook input priority 0
				ip daddr 10.4.5.6 counter
				ip6 daddr fd00:ec2::254 counter
				ip daddr 9.9.9.9 udp dport 5353 counter
			}
		}
	E
}

# The kernel publishes a map some moments after the rules that look it up (seen on 6.18: about
# 100 ns a range). What is open may be refused then; what is closed never passes.
@test "replaced under traffic, nothing passes in between" {
	local d=$BATS_TEST_TMPDIR i pid sent
	count_arrivals
	flood "$d/stop0" > "$d/sent0" 3>&- &
	pid=$!
	flows $pid
	touch "$d/stop0"
	wait $pid
	sent=$(cat "$d/sent0")
	same "$(arrived)" "$sent $sent $sent" # without a filter all of it arrives

	ranges "$d/a" 20000 'resolvers=["9.9.9.9:5353"]' 'silent=true'
	ranges "$d/b" 30000 'resolvers=["9.9.9.9:5353"]' 'allow_public_internet=true'
	echo '{"resolvers":["9.9.9.9:5353"]}' > "$d/c"
	rig host "$NETTOOL" render table=t1 bridge=br0 policy=@"$d/b" > "$d/script"
	apply "$d/c"
	count_arrivals
	flood "$d/stop" > "$d/sent" 3>&- &
	pid=$!
	flows $pid
	for i in 1 2 3 4; do
		apply "$d/a"
		apply "$d/b"
		rig host nft -f "$d/script"
		apply "$d/c"
		apply "$d/c"
	done
	touch "$d/stop"
	wait $pid
	sent=$(cat "$d/sent")
	same "$(arrived | cut -d' ' -f1,2)" "0 0"
	[ "$(arrived | cut -d' ' -f3)" -gt $((sent / 2)) ]
}

# gaps FILE COUNT [KEY=JSON...] : ranges of both families with a closed one between any two
gaps() {
	python3 -c '
import json, sys
n = int(sys.argv[2])
r = [f"20.{i // 256}.{i % 256}.0/25" for i in range(n)] + [f"2a00:{i:x}::/33" for i in range(n)]
p = {"allow_cidrs": r, "allow_ports": [443], "silent": True}
p.update((k, json.loads(v)) for k, v in (more.split("=", 1) for more in sys.argv[3:]))
json.dump(p, open(sys.argv[1], "w"))' "$@"
}
# Sends the first packet of a new connection to a gap and to a range of each family until a file
# is there; prints how many of each.
flood_syn() {
	rig sandbox python3 -c '
import os, random, socket, struct, sys, time
def total(b):
	t = sum(struct.unpack("!%dH" % (len(b) // 2), b))
	while t >> 16:
		t = (t & 0xffff) + (t >> 16)
	return ~t & 0xffff
def syn(family, src, dst, port):
	a, b = (socket.inet_pton(family, x) for x in (src, dst))
	head = struct.pack("!HHIIBBHHH", port, 443, 7, 0, 0x50, 2, 1000, 0, 0)
	check = total(a + b + struct.pack("!HH", 6, len(head)) + head)
	return head[:16] + struct.pack("!H", check) + head[18:]
sent = 0
to = [(socket.AF_INET, "10.211.0.2", "20.3.3.200"), (socket.AF_INET6, "fd11::2", "2a00:33:8000::1"),
	(socket.AF_INET, "10.211.0.2", "20.3.3.3"), (socket.AF_INET6, "fd11::2", "2a00:33::1")]
socks = {f: socket.socket(f, socket.SOCK_RAW, socket.IPPROTO_TCP) for f in (socket.AF_INET, socket.AF_INET6)}
while not os.path.exists(sys.argv[1]):
	for family, src, dst in to:
		socks[family].sendto(syn(family, src, dst, 1024 + sent % 60000), (dst, 0))
	sent += 1
	time.sleep(0.0005)
print(sent)' "$1"
}
count_syns() {
	rig outside nft -f - <<- 'E'
		table inet count
		delete table inet count
		table inet count {
			chain input {
				type filter hook input priority 0
				ip daddr 20.3.3.200 counter drop
				ip6 daddr 2a00:33:8000::1 counter drop
				ip daddr 20.3.3.3 counter drop
				ip6 daddr 2a00:33::1 counter drop
			}
		}
	E
}

@test "maps that replace maps let no connection into a gap, in either family" {
	local d=$BATS_TEST_TMPDIR i pid
	rig host nft delete table inet t1 2>/dev/null || true
	count_syns
	flood_syn "$d/stop0" > "$d/sent0" 3>&- &
	pid=$!
	flows $pid
	touch "$d/stop0"
	wait $pid
	same "$(arrived)" "$(for i in 1 2 3 4; do cat "$d/sent0"; done | paste -sd' ')"

	gaps "$d/a" 2000
	gaps "$d/b" 12000 'deny_cidrs=["20.3.3.128/25","2a00:33:8000::/33"]'
	gaps "$d/c" 12000 'allow_public_internet=true' 'deny_cidrs=["20.3.3.200/32","2a00:33:8000::/40"]'
	rig host "$NETTOOL" render table=t1 bridge=br0 policy=@"$d/c" > "$d/script"
	apply "$d/a"
	count_syns
	flood_syn "$d/stop" > "$d/sent" 3>&- &
	pid=$!
	flows $pid
	for i in 1 2 3; do
		apply "$d/b"
		rig host nft -f "$d/script"
		apply "$d/a"
		apply "$d/c"
		apply "$d/a"
	done
	touch "$d/stop"
	wait $pid
	same "$(arrived | cut -d' ' -f1,2)" "0 0"
	[ "$(arrived | cut -d' ' -f3)" -gt 10 ]
	[ "$(arrived | cut -d' ' -f4)" -gt 10 ]
}

@test "rules that replace rules lose nothing" {
	local d=$BATS_TEST_TMPDIR pid
	echo '{"resolvers":["9.9.9.9:5353"]}' > "$d/a"
	echo '{"resolvers":["9.9.9.9:5353"],"allow_cidrs":["20.0.0.0/24"],"allow_ports":[443]}' > "$d/b"
	apply "$d/a"
	count_arrivals
	flood "$d/stop" > "$d/sent" 3>&- &
	pid=$!
	flows $pid
	for _ in {1..20}; do
		apply "$d/b"
		apply "$d/a"
	done
	touch "$d/stop"
	wait $pid
	same "$(arrived)" "0 0 $(cat "$d/sent")"
}
