#!/usr/bin/env bats
# Interfaces of the host in a prepared network: moved all or none, and back as they were.
load lib/common
load lib/faults
load lib/net

A=c-00000000000a B=c-00000000000b

setup_file() {
	need root nft ip jq busybox
	net_up
	bench
	bench_state > "$BATS_FILE_TMPDIR/before"
}
teardown_file() { net_down; }
setup() {
	prepare $A cloop-sbx-ci policy="$WEB" > "$BATS_TEST_TMPDIR/net"
}
teardown() {
	local h
	reap_spawned
	for h in $(host "$NETTOOL" list rundir="$RUNDIR"); do unprepare "$h"; done
	same "$(bench_state)" "$(cat "$BATS_FILE_TMPDIR/before")"
	same "$(ls -A "$RUNDIR/netns" "$RUNDIR/net" 2>/dev/null | grep -v -e '^$' -e : -e '^.lock$')" ""
}

# bench : one end of a veth pair on a board's segment, with all that an interface can have, and an
# interface that has nothing.
bench() {
	ip link add bench-sbx address 02:00:00:00:99:01 netns "$HOST" type veth peer name board0 netns "$WORLD"
	ip -n "$WORLD" addr add 172.31.99.1/24 dev board0
	ip -n "$WORLD" addr add fd31::1/64 dev board0 nodad
	ip -n "$WORLD" link set board0 up
	host ip link property add dev bench-sbx altname rack3-port7-of-the-lab altname enp0lab
	host ip link set bench-sbx mtu 1400 up
	bench_addresses
	host ip link add lab0 address 02:00:00:00:98:01 type veth peer name lab1
	host sysctl -qw net.ipv6.conf.lab1.disable_ipv6=1
	host ip link set lab1 up
}
bench_addresses() {
	host ip addr flush dev bench-sbx scope global
	host ip addr add 172.31.98.5/24 brd + dev bench-sbx label bench-sbx:1
	host ip addr add 172.31.98.6/24 dev bench-sbx
	host ip addr add fd30::5/64 dev bench-sbx nodad
	host ip route replace 10.77.0.0/16 via 172.31.98.9 dev bench-sbx metric 77
	host ip route replace 10.78.0.0/16 dev bench-sbx src 172.31.98.6 mtu 1300
	host ip route replace 10.79.0.0/16 via 172.31.98.9 dev bench-sbx table 79
	host ip route replace 10.80.0.0/16 via 10.255.255.1 dev bench-sbx onlink
	host ip -6 route replace fd77::/64 via fd30::9 dev bench-sbx src fd30::5
}
# bench_state : what is there of them, with all that they are.
bench_state() {
	host ip -j link | jq -c '.[] | select(.ifname != "lo") | [.ifindex, .ifname, .mtu, .address, .master, (.flags | index("UP") != null), (.altnames // [] | sort)]'
	host ip -j addr | jq -c '.[] | [.ifname, [.addr_info[] | [.local, .prefixlen, .broadcast, .label, .scope, .dynamic]]]'
	host ip -d route show table all | grep -v ' table local' | sort
	host ip -d -6 route show table all | grep -v -e ' table local' | sort
}

# lend HANDLE SPEC... : SPEC is NAME,SOURCE,TARGET,ADDRESS,GATEWAY,MTU
lend() {
	local h=$1 s args=()
	shift
	for s; do args+=("lend=$s"); done
	host "$NETTOOL" lend rundir="$RUNDIR" handle="$h" "${args[@]}"
}
back() { host "$NETTOOL" back rundir="$RUNDIR" handle="$1" "${@:2}"; }
lent() { host "$NETTOOL" lent rundir="$RUNDIR" handle="$1"; }
names() { inside "$1" ip -j link | jq -r '.[].ifname' | sort | xargs; }

# refused TEXT SPEC... : with that reason, and nothing is changed.
refused() {
	local want=$1
	shift
	exits "${CODE:-1}" lend $A "$@"
	has "$stderr" "$want"
	[ -n "${CODE:-}" ] || has "$stderr" 'fix: '
	same "$(lent $A)" ''
	same "$(names $A)" 'eth0 lo'
	[ ! -e "$RUNDIR/net/$A.lent" ]
}

@test "an interface goes in with name, address, mtu and gateway, works there, and is back as it was" {
	exits 0 lend $A dut,bench-sbx,eth1,172.31.99.200/24,172.31.99.1,1380
	same "$(lent $A)" dut
	same "$(host ip -j link | jq -r '.[].ifname' | grep -c bench-sbx)" 0
	same "$(names $A)" 'eth0 eth1 lo'
	same "$(inside $A ip -j link show eth1 | jq -c '.[] | [.mtu, .altnames, (.flags | index("UP") != null)]')" '[1380,null,true]'
	same "$(inside $A ip -j -4 addr show eth1 | jq -c '.[].addr_info[] | [.local, .prefixlen]')" '["172.31.99.200",24]'
	same "$(inside $A ip route show default)" 'default via 172.31.99.1 dev eth1 proto static '
	inside $A busybox ping -c 1 -W 20 172.31.99.1
	same "$(world ip -j neigh show dev board0 | jq -r '.[] | select(.dst == "172.31.99.200") | .lladdr')" 02:00:00:00:99:01
	exits 0 back $A
	same "$output" 'dut (bench-sbx) is back on the host'
	same "$(names $A)" 'eth0 lo'
	same "$(bench_state | grep -c bench-sbx)" "$(grep -c bench-sbx "$BATS_FILE_TMPDIR/before")"
	exits 0 back $A
	same "$output" ''
}

@test "without an address it arrives up and bare; IPv6 works at once" {
	exits 0 lend $A dut,bench-sbx,bench-sbx,,,0
	same "$(inside $A ip -j -4 addr show bench-sbx | jq -c '.[].addr_info')" ''
	same "$(inside $A ip -j link show bench-sbx | jq -c '.[] | [.mtu, (.flags | index("UP") != null)]')" '[1400,true]'
	has "$(inside $A ip route show default)" 'via 10.211.0.1 dev eth0'
	back $A
	exits 0 lend $A dut,bench-sbx,eth1,fd31::200/64,fd31::1,0
	inside $A busybox ping -6 -c 1 -W 20 fd31::1
	same "$(inside $A ip -6 route show default dev eth1)" 'default via fd31::1 proto static metric 1024 pref medium'
}

@test "two interfaces take each other's names" {
	exits 0 lend $A dut,bench-sbx,lab0,172.31.99.200/24,,0 lab,lab0,bench-sbx,,,9000
	same "$(names $A)" 'bench-sbx eth0 lab0 lo'
	same "$(inside $A ip -j link show lab0 | jq -r '.[].address')" 02:00:00:00:99:01
	exits 0 back $A
	same "$output" $'lab (lab0) is back on the host\ndut (bench-sbx) is back on the host'
}

@test "the end of the network brings them back, and a second run may have them then" {
	prepare $B cloop-sbx-ci policy="$WEB" > /dev/null
	lend $A dut,bench-sbx,eth1,172.31.99.200/24,,0 lab,lab0,eth2,,,0
	exits 75 lend $B dut,bench-sbx,eth1,,,0
	has "$stderr" "workload $A has it"
	exits 75 lend $A lab,lab0,eth2,,,0
	unprepare $A
	exits 0 lend $B dut,bench-sbx,eth1,,,0
	unprepare $B
}

@test "one is taken back from a live network, the other stays" {
	lend $A dut,bench-sbx,eth1,172.31.99.200/24,,0 lab,lab0,eth2,10.5.5.5/24,,0
	exits 0 back $A keep=lab
	same "$output" 'dut (bench-sbx) is back on the host'
	same "$(names $A)" 'eth0 eth2 lo'
	same "$(lent $A)" lab
	host ip link set bench-sbx up
}

@test "what the host needs is refused, each with its reason, and nothing is moved" {
	refused 'no interface of that name' dut,bench-sbx,eth1,,,0 no,nothing0,eth2,,,0
	refused "carries this host's IPv4 default route" up,up0,eth1,,,0
	refused "the host's loopback" lo,lo,eth1,,,0
	refused "another name of 'bench-sbx'" alt,enp0lab,eth1,,,0
	refused "a 'eth0' of its own" dut,bench-sbx,eth0,,,0
	refused "'dut' would be 'eth1' inside" dut,bench-sbx,eth1,,,0 lab,lab0,eth1,,,0
	refused "'dut' moves it already" dut,bench-sbx,eth1,,,0 lab,bench-sbx,eth2,,,0
	refused 'sets the default route already' dut,bench-sbx,eth1,172.31.99.2/24,172.31.99.1,0 lab,lab0,eth2,10.5.5.5/24,10.5.5.1,0
	read -r _ bridge host_if _ < "$BATS_TEST_TMPDIR/net"
	refused "cloop's own sandboxes" br,"$bridge",eth1,,,0
	refused "cloop's own sandboxes" port,"$host_if",eth1,,,0
	refused 'more than the 8' $(for i in 1 2 3 4 5 6 7 8 9; do echo "n$i,bench-sbx,eth$i,,,0"; done)
}

@test "ports, masters, what others stand on, and the engines' bridges are refused" {
	host ip link add t-br type bridge
	host ip link add t-port type veth peer name t-peer
	host ip link set t-port master t-br
	refused "it is a port of 't-br'" p,t-port,eth1,,,0
	refused 'it is a bridge' p,t-br,eth1,,,0
	host ip link del t-br
	host ip link add t-macvlan link lab0 type macvlan mode bridge
	refused "'t-macvlan' stands on it" lab,lab0,eth1,,,0
	host ip link del t-macvlan
	for n in docker0 podman0 cni-podman0 virbr0 br-1a2b; do
		host ip link add $n type bridge
		refused "containers or machines stand on" n,$n,eth1,,,0
		host ip link del $n
	done
	host ip link del t-port
	# A half of everything, and a default route of another table, are default routes.
	host ip link set lab0 up
	host ip route add 128.0.0.0/1 dev lab0
	refused "IPv4 default route" lab,lab0,eth1,,,0
	host ip route del 128.0.0.0/1 dev lab0
	host ip -6 route add default dev lab0 table 88
	refused "IPv6 default route" lab,lab0,eth1,,,0
	host ip -6 route del default dev lab0 table 88
	host ip route add 10.66.0.0/16 nexthop dev lab0 nexthop dev up0
	refused "one of several" lab,lab0,eth1,,,0
	host ip route del 10.66.0.0/16
	host ip link set lab0 down
}

@test "the second fails inside, and the first is as it was" {
	local CODE=71
	refused "Nexthop has invalid gateway" dut,bench-sbx,eth1,172.31.99.200/24,,0 lab,lab0,eth2,10.5.5.5/24,10.6.6.6,0
	refused "mtu greater than device maximum" dut,bench-sbx,eth1,172.31.99.200/24,,0 lab,lab0,eth2,,,65536
}

@test "a name that was taken on the host meanwhile: it comes back under another" {
	lend $A dut,bench-sbx,eth1,172.31.99.200/24,,0
	host ip link add bench-sbx type bridge
	exits 0 back $A
	has "$output" "dut (bench-sbx) is back on the host as 'lent0'"
	host ip link del bench-sbx
	host ip link set lent0 down
	host ip link set lent0 name bench-sbx
	host ip link set bench-sbx up
	bench_addresses
}

@test "one that the kernel has sent back with the name it had inside gets its own again" {
	lend $A dut,bench-sbx,eth1,172.31.99.200/24,,0
	inside $A ip link set eth1 netns "/run/netns/$HOST"
	exits 0 back $A
	same "$output" 'dut (bench-sbx) is back on the host'
}

@test "an interface whose other end was removed is gone, and stops nobody" {
	host ip link add t-a type veth peer name t-b
	lend $A gone,t-a,eth1,,,0 lab,lab0,eth2,,,0
	host ip link del t-b
	exits 0 back $A
	has "$output" 'gone (t-a) is gone'
	has "$output" 'lab (lab0) is back on the host'
}

@test "from another network namespace than theirs nothing is returned, and nothing is lost" {
	lend $A dut,bench-sbx,eth1,172.31.99.200/24,,0
	exits 69 world "$NETTOOL" back rundir="$RUNDIR" handle=$A
	has "$stderr" 'came from another network namespace'
	exits 69 world "$NETTOOL" teardown rundir="$RUNDIR" handle=$A
	same "$(names $A)" 'eth0 eth1 lo'
	same "$(lent $A)" dut
}

@test "a record that cannot be read keeps the namespace" {
	lend $A dut,bench-sbx,eth1,172.31.99.200/24,,0
	cp "$RUNDIR/net/$A.lent" "$BATS_TEST_TMPDIR/record"
	for bad in '' '{' '[]' '{"dev":1,"ino":2}' '{"dev":1,"ino":2,"links":[{}]}' \
		"$(jq -c '.links[0].source = "a-name-that-is-too-long"' "$BATS_TEST_TMPDIR/record")" \
		"$(jq -c '.links[0].mac = "!"' "$BATS_TEST_TMPDIR/record")" \
		"$(jq -c '.links[0].index = 0' "$BATS_TEST_TMPDIR/record")"; do
		printf %s "$bad" > "$RUNDIR/net/$A.lent"
		exits 65 host "$NETTOOL" teardown rundir="$RUNDIR" handle=$A
		has "$stderr" "$A.lent' cannot be read"
		has "$(names $A)" eth1
	done
	cp "$BATS_TEST_TMPDIR/record" "$RUNDIR/net/$A.lent"
}

@test "a sandbox with a bench interface does not route between it and its own network" {
	host sysctl -qw net.ipv4.ip_forward=1
	unprepare $A
	prepare $A cloop-sbx-ci policy="$WEB" > /dev/null
	lend $A dut,bench-sbx,eth1,172.31.99.200/24,,0
	same "$(inside $A cat /proc/sys/net/ipv4/ip_forward)" 0
	host sysctl -qw net.ipv4.ip_forward=0
	unprepare $A
}

# What faults leave: a lend that failed has changed nothing; one that was killed is undone by whoever
# tears the network down.
fresh() {
	unprepare $A
	prepare $A cloop-sbx-ci policy="$WEB" > /dev/null
}
after_lend() {
	if [ "$status" = 0 ]; then
		same "$(names $A)" 'eth0 eth1 eth2 lo' || return 1
	elif [ "$status" != 137 ]; then
		same "$(names $A)" 'eth0 lo' || return 1
		same "$(bench_only)" "$(cat "$BATS_TEST_TMPDIR/bench")" || return 1
	fi
	unprepare $A
	same "$(bench_only)" "$(cat "$BATS_TEST_TMPDIR/bench")"
}
# Without the bridge of the network that is there.
bench_only() { bench_state | grep -v -e csbx- -e '"cs0000' -e 10.211.0; }
two_of_them() {
	bench_only > "$BATS_TEST_TMPDIR/bench"
	after() { after_lend "$@"; }
	each_fault "$1" "$2" nsenter --net="/run/netns/$HOST" -- "$NETTOOL" lend rundir="$RUNDIR" handle=$A \
		lend=dut,bench-sbx,eth1,172.31.99.200/24,,1380 lend=lab,lab0,eth2,10.5.5.5/24,10.5.5.1,0
}

@test "each request of a move refused in turn: all or nothing" { two_of_them send once; }
@test "killed at each request of a move: the teardown puts everything back" { two_of_them send kill; }
@test "killed or failing at each write of the record" {
	two_of_them write once
	two_of_them write kill
	two_of_them rename kill
	two_of_them sync once
}

@test "killed at each request of the way back: the next one finishes" {
	bench_only > "$BATS_TEST_TMPDIR/bench"
	fresh() {
		unprepare $A
		prepare $A cloop-sbx-ci policy="$WEB" > /dev/null
		lend $A dut,bench-sbx,eth1,172.31.99.200/24,,1380 lab,lab0,eth2,10.5.5.5/24,,0
	}
	after() {
		exits 0 back $A || return 1
		same "$(bench_only)" "$(cat "$BATS_TEST_TMPDIR/bench")"
	}
	each_fault send kill nsenter --net="/run/netns/$HOST" -- "$NETTOOL" back rundir="$RUNDIR" handle=$A
}
