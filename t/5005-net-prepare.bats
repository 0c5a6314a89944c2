#!/usr/bin/env bats
# A prepared network: made whole or not at all, and gone without a trace.
load lib/common
load lib/net

A=c-00000000000a B=c-00000000000b

setup_file() {
	need root nft ip jq
	net_up
	host_state > "$BATS_FILE_TMPDIR/before"
}
teardown_file() { net_down; }
teardown() {
	local h
	reap_spawned
	for h in $(host "$NETTOOL" list rundir="$RUNDIR"); do unprepare "$h"; done
	same "$(host_state)" "$(cat "$BATS_FILE_TMPDIR/before")"
	same "$(ls -A "$RUNDIR/netns" "$RUNDIR/net" 2>/dev/null | grep -v -e '^$' -e : -e '^.lock$')" ""
}

@test "a namespace with an address, a way out and a filter, and then no trace of it" {
	exits 0 prepare $A cloop-sbx-ci policy="$WEB"
	read -r ns bridge host_if address gateway <<< "$output"
	same "$ns" "$RUNDIR/netns/$A"
	same "$host_if" cs00000000000a
	same "$gateway" 10.211.0.1
	[[ $bridge =~ ^csbx-[0-9a-f]{10}$ ]]
	same "$(inside $A ip -j addr show eth0 | jq -r '.[0].addr_info[].local')" "$address"
	same "$(inside $A ip -j addr show eth0 | jq -r '.[0].addr_info[].prefixlen')" 32
	same "$(inside $A ip -o link show lo | grep -o LOOPBACK,UP)" LOOPBACK,UP
	has "$(inside $A ip route)" "default via 10.211.0.1 dev eth0"
	has "$(host ip -d link show dev $host_if)" "isolated on"
	has "$(host ip -d link show dev $host_if)" "learning off"
	has "$(host ip link show dev cloop-sbx-ci)" "$bridge"
	has "$(host nft list tables)" "table inet cloop_sbx_ci"
	exits 0 host "$NETTOOL" list rundir="$RUNDIR"
	same "$output" $A
}

@test "two runs of one network share bridge and table, and the last takes them along" {
	prepare $A cloop-sbx-ci policy="$WEB"
	prepare $B cloop-sbx-ci policy="$WEB"
	same "$(host ip -j link | jq '[.[] | select(.ifname | startswith("csbx-"))] | length')" 1
	unprepare $A
	has "$(host nft list tables)" "table inet cloop_sbx_ci"
	lacks "$(host nft list tables)" cloop_port_00000000000a
	exits 0 inside $B ip route get 93.184.216.34
	unprepare $B
	lacks "$(host nft list tables)" cloop
}

@test "a second network for one handle is refused" {
	prepare $A cloop-sbx-ci policy="$WEB"
	exits 75 prepare $A cloop-sbx-other policy="$WEB"
	has "$stderr" "'$A' has a network already"
}

@test "tearing down is idempotent, and for a handle that never was too" {
	prepare $A cloop-sbx-ci policy="$WEB"
	unprepare $A
	exits 0 unprepare $A
	exits 0 unprepare $B
}

@test "an empty namespace has lo and nothing else" {
	exits 0 host "$NETTOOL" empty rundir="$RUNDIR" handle=$A
	same "$(inside $A ip -j link | jq -c 'map([.ifname, (.flags | index("UP") != null)])')" '[["lo",true]]'
	same "$(host nft list tables)" ""
}

@test "an interface that must forward is recorded, guarded, and as before afterwards" {
	host sysctl -qw net.ipv4.conf.up0.forwarding=0
	prepare $A cloop-sbx-ci policy="$WEB"
	same "$(host sysctl -n net.ipv4.conf.up0.forwarding net.ipv4.ip_forward)" $'1\n0'
	same "$(cat "$RUNDIR/net/.forwarding")" "4 up0"
	has "$(host nft list table inet "$(host_table)")" 'iifname "up0" meta nfproto ipv4 counter'
	prepare $B cloop-sbx-two policy="$WEB"
	unprepare $A
	same "$(host sysctl -n net.ipv4.conf.up0.forwarding)" 1
	unprepare $B
	same "$(host sysctl -n net.ipv4.conf.up0.forwarding)" 0
	[ ! -e "$RUNDIR/net/.forwarding" ]
}

@test "two hubs with run directories of their own share an interface, and nothing else" {
	local two=$BATS_TEST_TMPDIR/run2 t1 t2
	second() { host "$NETTOOL" "$1" rundir="$two" handle=$B "${@:2}"; }
	serve
	host sysctl -qw net.ipv4.conf.up0.forwarding=0
	t1=$(host_table) t2=$(host_table "$two")
	for first in one two; do
		prepare $A cloop-sbx-ci policy="$WEB"
		second prepare network=cloop-sbx-ci-two table=cloop_sbx_ci_two policy="$WEB" > "$BATS_TEST_TMPDIR/b"
		same "$(host nft list tables inet | awk '/cloop_net/ { print $3 }' | sort | xargs)" "$(printf '%s\n' "$t1" "$t2" | sort | xargs)"
		# Both know that the interface forwards for answers alone, whoever switched it on.
		same "$(cat "$RUNDIR/net/.forwarding" "$two/net/.forwarding")" $'4 up0\n4 up0'
		for t in "$t1" "$t2"; do has "$(host nft list table inet "$t")" "forwards answers only"; done
		same "$(nsenter --net="$two/netns/$B" -- "$NETPKT" tcp 93.184.216.34 443)" open
		same "$(to $A tcp 93.184.216.34 443)" open
		# The end of one takes nothing from the other.
		if [ $first = one ]; then
			unprepare $A
			same "$(nsenter --net="$two/netns/$B" -- "$NETPKT" tcp 93.184.216.34 443)" open
			has "$(host nft list table inet "$t2")" "forwards answers only"
		else
			second teardown
			same "$(to $A tcp 93.184.216.34 443)" open
		fi
		same "$(host sysctl -n net.ipv4.conf.up0.forwarding)" 1
		if [ $first = one ]; then second teardown; else unprepare $A; fi
		same "$(host sysctl -n net.ipv4.conf.up0.forwarding)" 0
		same "$(host nft list tables)" ""
	done
	reap_spawned
}

@test "only the interfaces behind what the policy allows are opened" {
	host ip link add vpn0 type veth peer name vpn1
	host ip addr add 172.20.0.1/16 dev vpn0
	host ip link set vpn0 up
	host sysctl -qw net.ipv4.conf.vpn0.forwarding=0
	prepare $A cloop-sbx-ci policy="$WEB"
	same "$(cat "$RUNDIR/net/.forwarding")" "4 up0"
	unprepare $A
	prepare $A cloop-sbx-ci policy='{"allow_cidrs":["172.20.5.0/24"],"allow_ports":[22]}'
	same "$(cat "$RUNDIR/net/.forwarding")" $'4 up0\n4 vpn0'
	unprepare $A
	prepare $A cloop-sbx-ci policy='{}'
	[ ! -e "$RUNDIR/net/.forwarding" ]
	unprepare $A
	host ip link del vpn0
}

@test "a host that is made a router meanwhile stays one" {
	prepare $A cloop-sbx-ci policy="$WEB"
	host sysctl -qw net.ipv4.ip_forward=1
	prepare $B cloop-sbx-ci policy="$WEB"
	lacks "$(host nft list table inet "$(host_table)")" "forwards answers only"
	unprepare $A
	unprepare $B
	same "$(host sysctl -n net.ipv4.conf.up0.forwarding)" 1
	host sysctl -qw net.ipv4.ip_forward=0
}

@test "addresses of the host's own routes are avoided, and a full pool says so" {
	# .0 and the gateway .1 and .7 are nobody's; .4-.7 is routed elsewhere.
	host ip route add 10.250.0.4/30 via 198.51.100.1
	local got=() i
	for i in 2 3; do
		got+=("$(prepare c-00000000000$i cloop-sbx-ci pool=10.250.0.0/29 policy="$WEB" | cut -d' ' -f4)")
	done
	same "$(printf '%s\n' "${got[@]}" | sort)" $'10.250.0.2\n10.250.0.3'
	exits 69 prepare $A cloop-sbx-ci pool=10.250.0.0/29 policy="$WEB"
	has "$stderr" "no address is free in the pool 10.250.0.0/29"
	has "$stderr" "fix: configure a larger executors.container.address_pool"
	host ip route del 10.250.0.4/30
}

@test "a pool inside a wider route of the host's is used" {
	host ip route add 10.0.0.0/8 via 198.51.100.1
	exits 0 prepare $A cloop-sbx-ci policy="$WEB"
	unprepare $A
	host ip route del 10.0.0.0/8
}

@test "bad pools, handles and names are refused before anything is touched" {
	exits 65 prepare $A cloop-sbx-ci pool=10.0.0.0/30
	exits 65 prepare $A cloop-sbx-ci pool=fd00::/64
	exits 65 prepare $A cloop-sbx-ci pool=nonsense
	exits 65 prepare ../../etc cloop-sbx-ci
	exits 65 prepare c-00000000000A cloop-sbx-ci
	exits 65 host "$NETTOOL" prepare rundir="$RUNDIR" handle=$A network=n table='a b'
	exits 65 host "$NETTOOL" prepare rundir="$RUNDIR" handle=$A network= table=t
	exits 65 host "$NETTOOL" teardown rundir="$RUNDIR" handle=..
}

@test "many at once on two networks get addresses of their own, and go at once" {
	local i pids=()
	for i in {0..9}; do
		prepare c-00000000010$i cloop-sbx-n$((i % 2)) policy="$WEB" ipv6=1 > "$BATS_TEST_TMPDIR/$i" 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	same "$(cut -d' ' -f4 "$BATS_TEST_TMPDIR"/? | sort -u | wc -l)" 10
	same "$(host ip -j link | jq '[.[] | select(.ifname | startswith("csbx-"))] | length')" 2
	pids=()
	for i in {0..9}; do
		if [ "$i" -lt 5 ]; then prepare c-00000000020$i cloop-sbx-n$((i % 2)) policy="$WEB" 3>&- & pids+=($!); fi
		unprepare c-00000000010$i 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	same "$(host "$NETTOOL" list rundir="$RUNDIR" | wc -l)" 5
	for i in {0..4}; do inside c-00000000020$i ip route get 93.184.216.34; done
}

@test "no policy: everything may leave, and still nobody connects into the sandbox" {
	read -r _ bridge _ address _ < <(prepare $A cloop-sbx-open)
	spawn_inside $A socat TCP-LISTEN:8080,fork,reuseaddr PIPE
	until inside $A ss -Hltn | grep -q :8080; do sleep 0.05; done
	spawn "/run/netns/$WORLD" socat TCP-LISTEN:8443,fork,reuseaddr PIPE
	until world ss -Hltn | grep -q :8443; do sleep 0.05; done
	same "$(inside $A "$NETPKT" tcp 93.184.216.34 8443)" open
	same "$(inside $A "$NETPKT" tcp 10.99.0.1 8443)" open
	same "$(host "$NETPKT" tcp "$address" 8080)" reset
}

@test "a connection of the address's last owner is forgotten" {
	local pool=10.250.0.0/29 n old new bridge
	# One address is left in the pool, so that both runs have it.
	host ip route add 10.250.0.4/30 via 198.51.100.1
	host ip route add 10.250.0.3/32 via 198.51.100.1
	spawn "/run/netns/$WORLD" socat UDP4-RECVFROM:53,bind=9.9.9.9,fork PIPE
	until [ -n "$(world ss -Hlun)" ]; do sleep 0.05; done
	query() { # from port 40000, whoever asks
		inside "$1" "$NETPKT" frame eth0 "$(mac_of_bridge "$bridge")" "$(mac_of "$1")" ip 10.250.0.2 9.9.9.9 17 53
		same "$(inside "$1" "$NETPKT" tcp 10.99.0.1 443)" reset
	}
	read -r _ bridge _ old _ < <(prepare $A cloop-sbx-one pool=$pool policy="$WEB")
	query $A
	unprepare $A
	read -r _ bridge _ new _ < <(prepare $B cloop-sbx-two pool=$pool policy='{}')
	same "$old $new" "10.250.0.2 10.250.0.2"
	query $B
	has "$(host "$NETTOOL" blocked table=cloop_sbx_two)" "10.250.0.2 9.9.9.9 17 53 1"
	host ip route del 10.250.0.4/30
	host ip route del 10.250.0.3/32
}

# stepwise COMMAND CHECK FAULT... : runs the command with the fault at the 1st, 2nd, ... of each
# system call until it succeeds; CHECK NAME after each
stepwise() {
	local cmd=$1 check=$2 fault=$3 call n rc
	for call in sendto mount renameat unlinkat umount2 unshare; do
		for ((n = 1; n < 80; n++)); do
			rc=0
			# The leak checker cannot work in a traced process.
			host env ASAN_OPTIONS=detect_leaks=0:exitcode=99 strace -f -qq -o /dev/null -e trace=$call -e inject=$call:"$fault":when=$n \
				"$NETTOOL" $cmd rundir="$RUNDIR" handle=$A policy="$WEB" ipv6=1 \
				network=cloop-sbx-ci table=cloop_sbx_ci > /dev/null 2> "$BATS_TEST_TMPDIR/err" || rc=$?
			$check "$call $n" $rc
			[ $rc != 0 ] || break
		done
		[ $rc = 0 ] || { echo "$call never got through" >&2; return 1; }
	done
}

@test "killed at any step, a teardown finds all that was made" {
	need strace
	local before
	before=$(cat "$BATS_FILE_TMPDIR/before")
	after_kill() {
		[ "$2" = 0 ] || [ "$2" = 137 ]
		unprepare $A
		same "$(host_state)" "$before" || { echo "after $1" >&2; return 1; }
		same "$(ls -A "$RUNDIR/netns")" ""
	}
	stepwise prepare after_kill signal=KILL
}

@test "failing at any step, everything is undone at once" {
	need strace
	local before
	before=$(cat "$BATS_FILE_TMPDIR/before")
	after_fail() {
		if [ "$2" = 0 ]; then unprepare $A; else grep -q 'nettool: .' "$BATS_TEST_TMPDIR/err"; fi
		same "$(host_state)" "$before" || { echo "after $1" >&2; return 1; }
		same "$(ls -A "$RUNDIR/netns")" ""
		same "$(ls -A "$RUNDIR/net")" .lock
	}
	stepwise prepare after_fail error=ENOBUFS
}

@test "a teardown that is killed at any step can be finished" {
	need strace
	local before
	before=$(cat "$BATS_FILE_TMPDIR/before")
	after_teardown() {
		[ "$2" = 0 ] || [ "$2" = 137 ]
		unprepare $A
		same "$(host_state)" "$before" || { echo "after $1" >&2; return 1; }
		same "$(ls -A "$RUNDIR/net")" .lock
		prepare $A cloop-sbx-ci policy="$WEB" ipv6=1 > /dev/null
	}
	prepare $A cloop-sbx-ci policy="$WEB" ipv6=1 > /dev/null
	stepwise teardown after_teardown signal=KILL
}

@test "a handle whose record is lost is found by its names" {
	prepare $A cloop-sbx-ci policy="$WEB"
	rm "$RUNDIR/net/$A"
	exits 0 host "$NETTOOL" teardown rundir="$RUNDIR" handle=$A network=cloop-sbx-ci table=cloop_sbx_ci
	same "$(host ip route show 10.211.0.0/16)" ""
}

@test "a broken record is an error that names it, and touches nothing" {
	prepare $A cloop-sbx-ci policy="$WEB"
	cp "$RUNDIR/net/$A" "$BATS_TEST_TMPDIR/good"
	local bad
	for bad in '' '{}' '[]' '{"network":1}' 'x' "$(printf '{"network":"\xff"}')"; do
		printf '%s' "$bad" > "$RUNDIR/net/$A"
		exits 65 unprepare $A
		has "$stderr" "$RUNDIR/net"
		exits 65 prepare $B cloop-sbx-ci policy="$WEB"
	done
	head -c 5000 /dev/zero > "$RUNDIR/net/$A"
	exits 65 unprepare $A
	cp "$BATS_TEST_TMPDIR/good" "$RUNDIR/net/$A"
}
