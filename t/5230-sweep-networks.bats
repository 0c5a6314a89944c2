#!/usr/bin/env bats
# Networks of runs that were started with another run directory than the sweep's.
# shellcheck disable=SC2154 # set from what setup_file wrote
load lib/common
load lib/net

A=c-00000000000a B=c-00000000000b

setup_file() {
	need root nft ip jq sqlite3
	net_up
	export HOME=$BATS_FILE_TMPDIR
}
teardown_file() { net_down; }
setup() {
	export CLOOP_DIR=$BATS_TEST_TMPDIR/hub CLOOP_HUBS=$BATS_TEST_TMPDIR/hubs CLOOP_RUN_DIR=$BATS_TEST_TMPDIR/ours
	other=$BATS_TEST_TMPDIR/other
	cloop hub bootstrap > /dev/null
	host sysctl -qw net.ipv4.conf.up0.forwarding=0
}
# a_run HANDLE STATE : a workload below $other, and its network
a_run() {
	host "$NETTOOL" prepare rundir="$other" handle="$1" network=cloop-sbx-ci table=cloop_sbx_ci policy="$WEB" > /dev/null
	mkdir -p "$other/w/$1"
	"$BUILD_DIR/t/lib/store-handle" "$CLOOP_DIR/.cloop/state.db" "$1" "$2" network=cloop-sbx-ci table=cloop_sbx_ci \
		netns="$other/netns/$1" runtime="$other/w/$1"
}
# nothing_left : of any of them in the kernel
nothing_left() {
	same "$(host nft list tables)" ''
	same "$(host ip -o link | grep -cE 'csbx-|cs0000')" 0
	same "$(host sysctl -n net.ipv4.conf.up0.forwarding)" 0
}

@test "what ended below another run directory is collected, what lives there stays" {
	a_run $A ended
	a_run $B live
	exits 0 host cloop sweep --only networks --only staging
	has "$output" "removed the network of $A"
	has "$output" "removed the runtime folder of $A"
	lacks "$output" $B
	has "$(host nft list tables)" cloop_port_00000000000b
	lacks "$(host nft list tables)" cloop_port_00000000000a
	[ -d "$other/w/$B" ] && [ ! -e "$other/w/$A" ]
	sqlite3 "$CLOOP_DIR/.cloop/state.db" "UPDATE handle SET state = 'ended', ended_at = 5"
	exits 0 host cloop sweep
	has "$output" "removed the network of $B"
	nothing_left
	exits 0 host cloop sweep --only networks
	lacks "$output" removed
}

@test "a run directory that was removed under its runs is told, and its networks go with the last" {
	a_run $A ended
	a_run $B live
	host umount "$other/netns/$A" "$other/netns/$B"
	rm -rf "$other"
	exits 0 host cloop sweep --only networks
	has "$stderr" "$other: the run directory was removed under 1 live workload: their network stays until they end"
	has "$(host nft list tables)" "$(host_table "$other")"
	same "$(host sysctl -n net.ipv4.conf.up0.forwarding)" 1
	sqlite3 "$CLOOP_DIR/.cloop/state.db" "UPDATE handle SET state = 'ended', ended_at = 5"
	rm -rf "$other"
	exits 0 host cloop sweep --only networks
	has "$output" "removed the networks of runs below '$other', which is not there any more"
	nothing_left
	exits 0 host cloop sweep --only networks
	lacks "$output$stderr" "$other"
}

@test "another hub's networks stay" {
	a_run $A ended
	sqlite3 "$CLOOP_DIR/.cloop/state.db" "DELETE FROM handle"
	exits 0 host cloop sweep
	lacks "$output" removed
	has "$(host nft list tables)" cloop_port_00000000000a
	host "$NETTOOL" teardown rundir="$other" handle=$A
	nothing_left
}
