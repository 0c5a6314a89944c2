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
