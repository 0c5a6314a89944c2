#!/usr/bin/env bats
# Every filter that the store says should stand: looked at, and put back when somebody changes it.
# shellcheck disable=SC2154 # set from what setup_file wrote
load lib/common
load lib/net

A=c-00000000000a B=c-00000000000b
TABLE=cloop_sbx_ci
RUN=run_00000000000000000000000a

setup_file() {
	need root nft ip jq socat ss sqlite3
	net_up
	serve
	export CLOOP_DIR=$BATS_FILE_TMPDIR/hub CLOOP_RUN_DIR=$RUNDIR
	export HOME=$BATS_FILE_TMPDIR
	prepare $A cloop-sbx-ci policy="$WEB" ipv6=1 > "$BATS_FILE_TMPDIR/a"
	prepare $B cloop-sbx-ci policy="$WEB" ipv6=1 > "$BATS_FILE_TMPDIR/b"
	hub_with_both
}
teardown_file() { net_down; }

# What of the table of workloads the driver and `cloop run` have written.
hub_with_both() {
	local h=1 bridge a4 a6
	rm -rf "$BATS_FILE_TMPDIR/hub" "$RUNDIR/w"
	cloop -C "$BATS_FILE_TMPDIR/hub" hub bootstrap > /dev/null
	for h in a b; do
		read -r _ bridge _ a4 _ a6 _ < "$BATS_FILE_TMPDIR/$h"
		"$BUILD_DIR/t/lib/store-handle" "$BATS_FILE_TMPDIR/hub/.cloop/state.db" c-00000000000$h live \
			run=run_00000000000000000000000$h egress="$WEB" network=cloop-sbx-ci table=$TABLE project=/srv/p$h \
			netns="$RUNDIR/netns/c-00000000000$h" bridge="$bridge" address="$a4" address6="$a6" \
			noted="$RUNDIR"
	done
}
setup() {
	export CLOOP_DIR=$BATS_FILE_TMPDIR/hub CLOOP_RUN_DIR=$RUNDIR
	read -r _ bridge a_if a4 gw4 a6 gw6 < "$BATS_FILE_TMPDIR/a"
	host cloop-egress watch --all --once > /dev/null
}
teardown() { reap_spawned; }

# The order of tables, and of rules of the same text, is no matter here.
rules() { host nft -s list ruleset | grep -vE 'expires|elements = .*10\.211\.' | sort; }
# soon CMD... : it succeeds within a while, or the test has failed
soon() {
	local n
	for n in {1..1200}; do "$@" && return 0; sleep 0.05; done
	echo "never: $*" >&2
	return 1
}
# restored CMD... : nft changes the rules, one pass puts them back, and they are as before
restored() {
	local before
	before=$(rules)
	host nft "$@"
	exits 1 host cloop-egress verify --all
	exits 0 host cloop-egress watch --all --once
	has "$output" "$TABLE was changed and is back"
	exits 0 host cloop-egress verify --all
	same "$output" "$TABLE on $bridge: as it should be"
	same "$(rules)" "$before"
	same "$(to $A tcp 93.184.216.34 443)" open
	same "$(to $A tcp 93.184.216.34 80)" reset
}

@test "every filter of live workloads is looked at; those of ended ones are not" {
	exits 0 host cloop-egress verify --all
	same "$output" "$TABLE on $bridge: as it should be"
	exits 0 host cloop-egress verify --table $TABLE --json
	same "$(jq -c '[.identical, .table, .other_tables]' <<< "$output")" "[true,\"$TABLE\",[]]"
	exits 65 host cloop-egress verify --table cloop_sbx_none
	has "$stderr" "no live workload has a filter in table 'cloop_sbx_none'"
	exits 64 host cloop-egress verify
	exits 64 host cloop-egress verify --all --table x
	"$BUILD_DIR/t/lib/store-handle" "$CLOOP_DIR/.cloop/state.db" c-00000000000e ended \
		run=run_00000000000000000000000e egress="$WEB" network=cloop-sbx-gone table=cloop_sbx_gone
	exits 0 host cloop-egress verify --all
	lacks "$output" cloop_sbx_gone
}

@test "one pass puts back what was flushed, edited, deleted, or of a port or the host" {
	restored 'flush ruleset'
	restored "insert rule inet $TABLE outbound ip daddr 10.0.0.0/8 accept"
	restored "delete table inet $TABLE"
	restored "add chain inet $TABLE forward { policy drop; }"
	restored 'delete table netdev cloop_port_00000000000a'
	restored 'insert rule netdev cloop_port_00000000000b ingress accept'
	restored "delete table inet $(host_table)"
	restored "add table inet $(host_table) { flags dormant; }"
}

@test "what was put back is in the journal of each project and in the audit" {
	host nft "insert rule inet $TABLE forward accept"
	host cloop-egress watch --all --once > /dev/null
	exits 0 cloop runs journal $RUN --json
	has "$output" '"kind":"egress_restored"'
	has "$output" "the egress filter in table $TABLE was changed and is back: let through, should be reset: forward"
	exits 0 cloop runs journal run_00000000000000000000000b --json
	has "$output" egress_restored
	exits 0 cloop hub audit list --json
	has "$output" '"action":"egress.restore"'
	exits 0 cloop hub audit verify
}

# watch : starts it and waits until it follows: it blocks SIGTERM then
watch() {
	log=$BATS_TEST_TMPDIR/watch
	spawn "/run/netns/$HOST" "$BIN/cloop-egress" watch --all "$@" > "$log" 2>&1
	watcher=${SPAWNED[-1]}
	soon watches
}
watches() { (( 16#$(awk '/^SigBlk/ { print $2 }' "/proc/$watcher/status") >> 14 & 1 )); }
whole() { host cloop-egress verify --all > /dev/null; }
# said N : how often it has put something back
said() { [ "$(grep -c 'is back' "$log")" = "$1" ]; }

@test "the watcher puts back what is changed, says who it was, and leaves when it is told to" {
	watch
	host nft flush ruleset
	soon said 1
	whole
	grep -q "$TABLE was changed by nft ([0-9]*) and is back" "$log"
	same "$(to $A tcp 93.184.216.34 80)" reset
	host nft "insert rule inet $TABLE outbound ip daddr 10.99.0.1 accept"
	soon said 2
	same "$(to $A tcp 10.99.0.1 443)" reset
	# Others' tables are none of its business.
	host nft 'add table ip other; add chain ip other c'
	host nft delete table ip other
	kill -TERM "$watcher"
	wait "$watcher"
	SPAWNED=()
	[ "$(wc -l < "$log")" = 2 ]
}

# flood NAME N : a script that makes N changes of a table that is none of ours
flood() {
	echo "add table ip $1; add set ip $1 s { type ipv4_addr; }"
	awk -v t="$1" -v n="$2" 'BEGIN { for (i = 0; i < n; i++)
		printf "add element ip %s s { 10.%d.%d.%d }\n", t, i / 65536, i / 256 % 256, i % 256 }'
}
heard() { host "$NETTOOL" watch "$@"; }

@test "news that find no room are a change of nobody's, and the next ones are heard" {
	cd "$BATS_TEST_TMPDIR" || return 1
	flood lost 2000 > flood
	local ours="nft add chain inet $TABLE extra"
	same "$(heard run='nft -f flood')" 'nothing by '
	same "$(heard run='nft delete table ip lost')" 'nothing by '
	same "$(heard run="$ours")" 'changed by nft'
	host nft delete chain inet $TABLE extra
	# The smallest buffer that the kernel gives: the same flood no longer fits.
	same "$(heard room=1 run='nft -f flood')" 'changed by '
	host nft delete table ip lost
	# What was heard of ours before the flood is not said to be the flood's.
	same "$(heard room=1 run="$ours && nft -f flood")" 'changed by '
	host nft delete chain inet $TABLE extra
	host nft delete table ip lost
}

@test "a watcher whose news were lost looks at everything, and goes on" {
	watch
	flood other 300000 > "$BATS_TEST_TMPDIR/flood"
	kill -STOP "$watcher"
	# Nothing of ours is in what still finds room.
	host nft -f "$BATS_TEST_TMPDIR/flood"
	host nft "insert rule inet $TABLE forward accept"
	kill -CONT "$watcher"
	soon said 1
	grep -q "$TABLE was changed and is back" "$log"
	host nft delete table ip other
	whole
	host nft "insert rule inet $TABLE forward accept"
	soon said 2
	grep -q "$TABLE was changed by nft ([0-9]*) and is back" "$log"
	kill -TERM "$watcher"
	wait "$watcher"
	SPAWNED=()
}

connected() { [ "$(world ss -Htn state established 'sport = :443' | wc -l)" = "$1" ]; }
connected_inside() { [ "$(inside $A ss -Htn state established 'dport = :443' | wc -l)" = "$1" ]; }

@test "what was opened while the rules were away does not go on" {
	same "$(to $A tcp 10.99.0.1 443)" reset
	host nft flush ruleset
	# Masquerading is gone too: the world needs a way back to show that it gets there.
	world ip route add 10.211.0.0/16 via 198.51.100.2
	host sysctl -qw net.ipv4.ip_forward=1
	host nft 'table inet keep { chain f { type filter hook forward priority 10; ct state established accept; }; }'
	mkfifo "$BATS_TEST_TMPDIR/to"
	exec 7<> "$BATS_TEST_TMPDIR/to"
	spawn_inside $A socat -u "PIPE:$BATS_TEST_TMPDIR/to" TCP:10.99.0.1:443 7>&-
	spawn_inside $A socat -u TCP:93.184.216.34:443 OPEN:/dev/null 7>&-
	soon connected 2
	exits 0 host cloop-egress watch --all --once --json
	same "$(jq -c '[.restored, .connections_ended]' <<< "$output")" "[true,1]"
	# The next packet of the forbidden one is of no connection that may be.
	echo x >&7
	soon connected_inside 1
	same "$(inside $A ss -Htn state established 'dport = :443' | awk '{ print $4 }')" 93.184.216.34:443
	exec 7>&-
	host nft delete table inet keep
	host sysctl -qw net.ipv4.ip_forward=0
	host sysctl -qw net.ipv4.conf.up0.forwarding=1
	world ip route del 10.211.0.0/16
}

# altered SQL WHY : the state file is changed; nothing is restored from it, and it says so
altered() {
	sqlite3 "$CLOOP_DIR/.cloop/state.db" "$1"
	exits 1 host cloop-egress verify --all
	has "$output" "$TABLE on $bridge: what should stand is not known: workload c-00000000000a: $2"
	has "$output" "
  fix: stop what runs behind it and start it again"
	exits 1 host cloop-egress verify --all --json
	same "$(jq -c '[.identical, .vouched, .table]' <<< "$output")" "[false,false,\"$TABLE\"]"
	has "$(jq -r .problem <<< "$output")" "$2"
	host nft "insert rule inet $TABLE forward accept"
	exits 1 host cloop-egress watch --all --once
	has "$output" " $TABLE cannot be kept: workload c-00000000000a: $2"
	has "$output" "
  fix: stop what runs behind it and start it again"
	lacks "$output" 'is back'
	# Nothing of it was put back from a record that is not believed.
	has "$(host nft list chain inet $TABLE forward)" 'accept'
	hub_with_both
	exits 0 host cloop-egress watch --all --once
	has "$output" "$TABLE was changed and is back"
}

@test "what the state file says of a live run is held to what its driver wrote, and never restored from" {
	local run="UPDATE run SET" row="UPDATE handle SET" a=" WHERE id = 'c-00000000000a'" of=" WHERE id = '$RUN'" wide
	wide='{"allow_public_internet":true,"all_ports":true}'
	altered "$run egress = '$wide'$of" 'the state file says another egress policy than the one that was installed'
	altered "$run egress = NULL$of" 'the state file says another egress policy than the one that was installed'
	altered "$run egress = '{\"x\":1}'$of" "the policy of run $RUN: "
	altered "$run egress = '{'$of" "the policy of run $RUN: "
	altered "$row run_id = NULL$a" 'workload c-00000000000a is of no run'
	altered "$row nft_table = 'cloop_sbx_other'$a" "the state file says table 'cloop_sbx_other', where '$TABLE' was installed"
	altered "$row nft_table = NULL$a" "the state file says table '', where '$TABLE' was installed"
	altered "$row network = 'cloop-sbx-x'$a" "the state file says network 'cloop-sbx-x', where 'cloop-sbx-ci' was installed"
	altered "$row bridge = 'br-x'$a" "the state file says bridge 'br-x', where '$bridge' was installed"
	altered "$row netns = NULL$a" "the state file says a network of the engine's, where one of cloop's was made"
	altered "$row started_at = 99$a" 'the state file says another time of its start than it had'
	altered "$row state = 'ended', ended_at = 5$a" 'a filter was installed for it, and the state file does not list it as live'
	altered "DELETE FROM handle$a" 'a filter was installed for it, and the state file does not list it as live'
	# Of a run that is over nothing is asked, as long as it has a filter.
	altered "$run state = 'finished', outcome = 'exited', egress = '$wide'$of" 'the state file says another egress policy'
}

@test "a row that no driver vouches for is not believed; what is starting is waited for" {
	rm "$RUNDIR/w/c-00000000000a/filter"
	altered "SELECT 1" 'nothing beside the state file says that it has a filter'
	printf '{"hub":"x"}' > "$RUNDIR/w/c-00000000000a/filter"
	exits 65 host cloop-egress verify --all
	has "$stderr" "$RUNDIR/w/c-00000000000a/filter: "
	hub_with_both
	rm "$RUNDIR/w/c-00000000000a/filter"
	sqlite3 "$CLOOP_DIR/.cloop/state.db" "UPDATE run SET state = 'starting' WHERE id = '$RUN'"
	exits 0 host cloop-egress verify --all
	same "$output" "$TABLE on $bridge: as it should be"
	hub_with_both
}

@test "a filter that is not believed is said, and the others are tended" {
	"$BUILD_DIR/t/lib/store-handle" "$CLOOP_DIR/.cloop/state.db" c-0000000000ff live \
		run=run_0000000000000000000000ff egress='{"x":1}' network=cloop-sbx-bad table=cloop_sbx_bad bridge="$bridge" netns=/x
	host nft "delete table inet $TABLE"
	exits 1 host cloop-egress watch --all --once
	has "$output" "cloop_sbx_bad cannot be kept: workload c-0000000000ff: the policy of run run_0000000000000000000000ff: "
	has "$output" "$TABLE was changed and is back"
	exits 1 host cloop-egress verify --table cloop_sbx_bad
	has "$output" 'what should stand is not known'
	exits 1 host cloop-egress verify --all
	has "$output" "$TABLE on $bridge: as it should be"
	hub_with_both
}

@test "a filter of workloads that have ended meanwhile does not come back" {
	unprepare $A
	unprepare $B
	exits 1 host cloop-egress verify --all
	same "$output" "$TABLE on $bridge: the network is not there: its workloads have ended (cloop sweep), or it is in another network namespace"
	exits 0 host cloop-egress watch --all --once
	same "$output" ""
	same "$(host nft list tables)" ""
}

@test "without CAP_NET_ADMIN it says so" {
	exits 77 host setpriv --bounding-set -net_admin --inh-caps -net_admin "$BIN/cloop-egress" watch --all --once
	has "$stderr" "fix: run as root (CAP_NET_ADMIN"
	exits 77 host setpriv --bounding-set -net_admin --inh-caps -net_admin "$BIN/cloop-egress" watch --all
}

# another_hub : one of this test's own, where nothing has run
another_hub() {
	export CLOOP_DIR=$BATS_TEST_TMPDIR/hub CLOOP_RUN_DIR=$BATS_TEST_TMPDIR/run CLOOP_HUBS=$BATS_TEST_TMPDIR/hubs
	cloop hub bootstrap > /dev/null
}
lives() {
	"$BUILD_DIR/t/lib/store-handle" "$CLOOP_DIR/.cloop/state.db" c-00000000000a live run=$RUN egress="$WEB" \
		network=cloop-sbx-ci table=$TABLE project=/srv/pa noted="$CLOOP_RUN_DIR" "$@"
}

@test "where nothing runs, no filter should stand" {
	another_hub
	exits 0 host cloop-egress verify --all
	same "$output" "no filter should stand: no live workload has one"
	exits 0 host cloop-egress verify --all --json
	same "$output" ""
	exits 0 host cloop-egress watch --all --once
	same "$output$stderr" ""
}

@test "after the machine was started anew: what the store still has is no filter, and none is made" {
	another_hub
	lives netns="$CLOOP_RUN_DIR/netns/c-00000000000a" bridge=csbx-0123456789 address=10.211.0.2
	for _ in prepared engine; do
		exits 1 host cloop-egress verify --all
		same "$output" "$TABLE on csbx-0123456789: the network is not there: its workloads have ended (cloop sweep), or it is in another network namespace"
		exits 1 host cloop-egress verify --all --json
		same "$output" "{\"bridge\":\"csbx-0123456789\",\"gone\":true,\"identical\":false,\"table\":\"$TABLE\"}"
		exits 0 host cloop-egress watch --all --once
		same "$output" ""
		same "$(host nft list tables)" ""
		[ ! -e "$CLOOP_RUN_DIR/netns" ]
		sqlite3 "$CLOOP_DIR/.cloop/state.db" "UPDATE handle SET netns = NULL"
	done
}

@test "without nft, without the privilege, in a user namespace" {
	another_hub
	host ip link add csbx-0123456789 type bridge
	lives bridge=csbx-0123456789
	exits 1 host env PATH=/nowhere "$BIN/cloop-egress" verify --all
	has "$output" "$TABLE on csbx-0123456789: the table is not there, and nothing is filtered
let through, should be reset: forward, IPv4, in by csbx-0123456789"
	has "$output" " more (--json has all)"
	exits 77 host setpriv --bounding-set -net_admin --inh-caps -net_admin "$BIN/cloop-egress" verify --all
	has "$stderr" "cannot read table '$TABLE': not permitted"
	has "$stderr" "fix: run as root (CAP_NET_ADMIN in this network namespace is needed)"
	# Root of a user namespace is nobody in the network namespace that it was made in.
	exits 77 host unshare --user --map-root-user "$BIN/cloop-egress" verify --all
	has "$stderr" "fix: run as root (CAP_NET_ADMIN in this network namespace is needed)"
	# In one of its own it may look, and there is nothing.
	exits 1 unshare --user --map-root-user --net "$BIN/cloop-egress" verify --all
	has "$output" "the network is not there"
	host ip link del csbx-0123456789
}
