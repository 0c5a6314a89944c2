#!/usr/bin/env bats
# The Nth write, sync, rename, open or allocation fails, or the command is killed there, for
# many an N: nothing that was reported done is lost, nothing is left half made, and the same
# command succeeds once the fault is gone.
# shellcheck disable=SC2030,SC2031,SC2154,SC2317 # tests are subshells; the harness calls and sets
load lib/common
load lib/faults

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME
	hub=$D/hub
	storetool=$BUILD_DIR/t/lib/storetool
}

# --- cloop hub bootstrap ---

fresh_hub() { rm -rf "$hub" "$CLOOP_HUBS"; }

# With a marker there is a hub, whole; without one, none. The second try makes it.
hub_after() {
	local left
	if [ "$status" = 0 ]; then [ -e "$hub/.cloop/hub.env" ] || return 1; fi
	if [ -e "$hub/.cloop/hub.env" ]; then
		cloop -C "$hub" hub config check >/dev/null || return 1
		cloop -C "$hub" hub audit verify >/dev/null || return 1
		"$storetool" check "$hub/.cloop/state.db" >/dev/null || return 1
	fi
	cloop -C "$hub" hub bootstrap >/dev/null 2>&1 || return 1
	"$storetool" check "$hub/.cloop/state.db" >/dev/null || return 1
	same "$(cat "$CLOOP_HUBS")" "$hub" || return 1
	cloop -C "$hub" hub config check >/dev/null || return 1
	grep -qxE '[A-Za-z0-9_-]{43}' "$hub/cloop-secret-key" || return 1
	left=$(find "$hub" "$CLOOP_HUBS"* | grep -vE "^$hub(/cloop-secret-key|/\.cloop(/(config\.yaml|hub\.env|state\.db(-wal|-shm)?))?)?\$|^$CLOOP_HUBS\$")
	# Only a kill can leave a file that nobody could remove.
	[ -z "$left" ] || [[ $1 == *kill ]] || { echo "left behind: $left" >&2; return 1; }
}

bootstrap_under() {
	fresh() { fresh_hub; }
	after() { hub_after "$1"; }
	each_fault "$1" "$2" "$BIN/cloop-hub" -C "$hub" bootstrap
	[ "$faults" -gt "$3" ]
}

@test "bootstrap, every write failing once" { bootstrap_under write once 5; }
@test "bootstrap, the disk full from every write on" { T_FAULT_ERRNO=28 bootstrap_under write from 5; }
@test "bootstrap, every sync failing once" { bootstrap_under sync once 3; }
@test "bootstrap, every rename and unlink failing once" { bootstrap_under rename once 2; }
@test "bootstrap, every open failing once" { bootstrap_under open once 5; }
@test "bootstrap, every mkdir and chmod failing once" { bootstrap_under make once 1; }
@test "bootstrap, killed at every write" { bootstrap_under write kill 5; }
@test "bootstrap, killed at every sync" { bootstrap_under sync kill 3; }
@test "bootstrap, killed at every rename and unlink" { bootstrap_under rename kill 2; }
@test "bootstrap, killed at every mkdir and chmod" { bootstrap_under make kill 1; }

@test "bootstrap, every allocation failing once" {
	sanitized && skip "a sanitizer has its own allocator"
	bootstrap_under malloc once 20
}

# --- rows of the store ---

fresh_store() { rm -f "$D"/state.db*; }

# What was reported is there, what was not may be (once), and the chain holds.
store_after() {
	local reported rows
	reported=$(grep -c . <<< "$output")
	if [ -e "$D/state.db" ] && [ "$reported" -gt 0 ]; then
		rows=$("$storetool" check "$D/state.db") || return 1
		same "${rows#* }" "${rows% *}" || return 1 # both of a transaction, or none
		rows=${rows#* }
		if ((rows < reported || rows > reported + 1)); then
			echo "$reported rows reported, $rows found" >&2
			return 1
		fi
	fi
	"$storetool" write "$D/state.db" 1 >/dev/null || return 1
	"$storetool" check "$D/state.db" >/dev/null
}

rows_under() {
	fresh() { fresh_store; }
	after() { store_after; }
	each_fault "$1" "$2" "$storetool" write "$D/state.db" 2
	[ "$faults" -gt "$3" ]
}

@test "rows, every write failing once" { rows_under write once 10; }
@test "rows, the disk full from every write on" { T_FAULT_ERRNO=28 rows_under write from 10; }
@test "rows, every sync failing once" { rows_under sync once 3; }
@test "rows, every open failing once" { rows_under open once 1; }
@test "rows, killed at every write" { rows_under write kill 10; }
@test "rows, killed at every sync" { rows_under sync kill 3; }

@test "rows, every allocation failing once" {
	sanitized && skip "a sanitizer has its own allocator"
	rows_under malloc once 20
}

# --- the tool itself ---

@test "the harness notices what it looks for" {
	# A command that has no such call ends in the first round.
	fresh() { :; }
	after() { [ "$1" = none ]; }
	each_fault rename once true
	same "$faults" 0
	# One that loses what it reported is caught, and so is one that dies of the fault.
	fresh() { rm -f "$D/f"; }
	after() { [ "$status" != 0 ] || [ -s "$D/f" ]; }
	run each_fault write once bash -c "echo x > '$D/f'; exit 0"
	[ "$status" = 0 ] || has "$output" "fault: write 1 once"
	run each_fault open once bash -c 'kill -SEGV $$'
	[ "$status" = 1 ]
}
