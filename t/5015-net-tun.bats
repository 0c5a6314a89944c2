#!/usr/bin/env bats
# Tun devices in a prepared network: the sandbox's user attaches, nobody else, and nothing passes
# through the sandbox by way of one.
load lib/common
load lib/net

A=c-00000000000a

setup_file() {
	need root nft ip jq gcc
	NODE=$BATS_FILE_TMPDIR/tun TUNNER=$BATS_FILE_TMPDIR/tunner
	export NODE TUNNER
	chmod 755 "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
	mknod "$NODE" c 10 200 && chmod 666 "$NODE" || skip "no device nodes can be made here"
	: <> "$NODE" || skip "this kernel has no tun devices"
	gcc -static -O1 -o "$TUNNER" "$BATS_TEST_DIRNAME/lib/static/tunner.c"
	net_up
	serve
	# A host that routes: a new namespace would, too.
	host sysctl -qw net.ipv4.ip_forward=1
}
teardown_file() { [ -z "${HOST:-}" ] || net_down; reap_spawned; }
setup() { prepare $A cloop-sbx-ci policy="$WEB" > "$BATS_TEST_TMPDIR/net"; }
teardown() {
	reap_spawned
	unprepare $A
	run ! ls "$RUNDIR/netns/$A"
}

# tun [NAME [OWNER [NODE]]]
tun() { host "$NETTOOL" tun rundir="$RUNDIR" handle=$A node="${3-$NODE}" name="${1-tun0}" owner="${2-1000}"; }
# as UID TUNNER-ARG... : in the namespace, with no capability.
as() {
	local u=$1
	shift
	inside $A setpriv --reuid "$u" --regid "$u" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$TUNNER" "$NODE" "$@" < /dev/null
}
# count DEV rx|tx : packets in the namespace
count() { inside $A ip -s -j link show "$1" | jq ".[].stats64.$2.packets"; }
# sent N TUNNER-ARG... : that many, once whoever was attached has gone
sent() { as 1000 "${@:2}" | grep -qE "^(sent|put) $1$"; }
names() { inside $A ip -j link | jq -r '.[].ifname' | sort | xargs; }

@test "its owner attaches to it without a capability, and packets go out and in" {
	exits 0 tun
	same "$(names)" 'eth0 lo tun0'
	same "$(inside $A ip -j -d link show tun0 | jq -c '.[] | [.mtu, (.flags | index("UP") != null), (.linkinfo.info_data | .type, .persist, .multi_queue)]')" '[1500,true,"tun",true,false]'
	same "$(inside $A ip -j -4 addr show tun0 | jq -c '.[].addr_info // empty')" ''
	exits 0 as 1000 tun0 answer
	same "$output" $'attached to tun0\nout: ping to 198.51.100.9\nin: pong'
	# It outlives who was attached.
	exits 0 as 1000 tun0 look
	same "$output" 'attached to tun0'
}

@test "nobody else attaches, and nobody makes another" {
	tun
	exits 1 as 1001 tun0 look
	same "$output" 'attach: Operation not permitted'
	exits 1 as 1000 tun1 look
	same "$output" 'attach: Operation not permitted'
	exits 1 as 1000 eth0 look
	same "$output" 'attach: Invalid argument'
	exits 0 tun vpn7 1001
	exits 0 as 1001 vpn7 look
	exits 1 as 1000 vpn7 look
}

@test "the namespace does not route what comes in by it, whatever address it says" {
	local own before
	own=$(cut -d ' ' -f 4 "$BATS_TEST_TMPDIR/net")
	same "$(inside $A cat /proc/sys/net/ipv4/ip_forward)" 1
	tun
	same "$(inside $A cat /proc/sys/net/ipv4/ip_forward)" 0
	before=$(count eth0 tx)
	for src in 10.66.0.9 10.211.0.1 93.184.216.34 "$own"; do
		exits 0 as 1000 tun0 put $src 93.184.216.34 20
		has "$output" 'put 20'
	done
	same "$(count tun0 rx)" 80
	same "$(count eth0 tx)" "$before"
}

@test "what leaves by the sandbox's link with an address of the tun's is dropped at its port" {
	local port
	port=cloop_port_${A#c-}
	tun
	spawn_inside $A "$TUNNER" "$NODE" tun0 hold
	until_ok sh -c "nsenter --net='$RUNDIR/netns/$A' ip -j -6 addr show tun0 | grep -q fe80:"
	# Nobody inside can do this.
	inside $A ip addr add 10.66.0.1/32 dev tun0
	same "$(to $A tcp 93.184.216.34 443)" open
	same "$(hits netdev "$port" "not the sandbox's own address")" 0
	reap_spawned
	until_ok sent 7 tun0 send 10.66.0.1 93.184.216.34 7
	same "$(hits netdev "$port" "not the sandbox's own address")" 7
	# Where the namespace did route, the port would hold all the same.
	inside $A sysctl -qw net.ipv4.ip_forward=1
	exits 0 as 1000 tun0 put 10.66.0.9 93.184.216.34 20
	same "$(hits netdev "$port" "not the sandbox's own address")" 27
}

@test "a name that is taken, a node that is another device, and no network are refused" {
	exits 1 tun eth0
	has "$stderr" "the sandbox has a 'eth0' already"
	has "$stderr" 'fix: give the device another target'
	exits 0 tun
	exits 1 tun
	has "$stderr" "the sandbox has a 'tun0' already"
	mknod "$BATS_TEST_TMPDIR/other" c 1 3
	exits 1 tun tun1 1000 "$BATS_TEST_TMPDIR/other"
	has "$stderr" 'is not the node of tun devices, 10:200'
	exits 1 tun tun1 1000 "$NETTOOL"
	exits 69 tun tun1 1000 "$BATS_TEST_TMPDIR/none"
	exits 65 tun a-name-that-is-too-long
	same "$(names)" 'eth0 lo tun0'
	exits 65 host "$NETTOOL" tun rundir="$RUNDIR" handle=c-00000000000b node="$NODE" name=tun0 owner=1000
	has "$stderr" 'has no network of its own'
}
