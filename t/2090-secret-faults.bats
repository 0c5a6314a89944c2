#!/usr/bin/env bats
# The Nth write, sync or allocation fails under the commands that hold keys, or they are killed
# there: no row is half sealed or half moved, nothing that was reported is lost, and the same
# command succeeds once the fault is gone.
# shellcheck disable=SC2030,SC2031,SC2154,SC2317 # tests are subshells; the harness calls and sets
load lib/common
load lib/faults

setup_file() {
	export BASE=$BATS_FILE_TMPDIR/base CLOOP_HUBS=$BATS_FILE_TMPDIR/hubs HOME=$BATS_FILE_TMPDIR/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	cloop -C "$BASE" hub bootstrap >/dev/null
	for n in 1 2 3; do printf '{"K":"v%s"}' $n | cloop -C "$BASE" secret mint "s$n" >/dev/null; done
	cloop -C "$BASE" secret grant s1 --to project:/p --ttl 24h >/dev/null
	sqlite3 "$BASE/.cloop/state.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
}

setup() {
	D=$BATS_TEST_TMPDIR
	hub=$D/hub
	export CLOOP_DIR=$hub
	printf '{"K":"v4"}' > "$D/payload"
}

fresh() {
	rm -rf "$hub"
	cp -a "$BASE" "$hub"
}

# The store is sound, each secret opens, the grant is good, and there is one primary.
whole() {
	local n
	same "$(sqlite3 "$hub/.cloop/state.db" 'PRAGMA integrity_check')" ok || return 1
	cloop hub audit verify >/dev/null || return 1
	cloop hub key rotate --continue >/dev/null || return 1
	same "$(cloop hub key status --json | jq '[.keys[] | select(.primary)] | length')" 1 || return 1
	same "$(cloop secret lease --project /p --json | jq -c '[(.materials | length), (.refused | length)]')" "[1,0]"
}

mint_after() {
	local there=0
	whole || return 1
	cloop secret show s4 >/dev/null 2>&1 && there=1
	[ "$status" != 0 ] || [ $there = 1 ] || { echo "reported and not there" >&2; return 1; }
	[ $there = 1 ] || cloop secret mint s4 < "$D/payload" >/dev/null || return 1
	cloop secret grant s4 --to project:/q >/dev/null || return 1
	same "$(cloop secret lease --project /q --json | jq '.materials | length')" 1
}

mint_under() {
	after() { mint_after; }
	each_fault "$1" "$2" "$BUILD_DIR/t/loads/cloop-secret" mint s4 --file "$D/payload"
	[ "$faults" -gt "$3" ]
}

@test "mint, every write failing once" { mint_under write once 4; }
@test "mint, killed at every write" { mint_under write kill 4; }
@test "mint, killed at every sync" { mint_under sync kill 1; }

rotate_under() {
	after() { whole; }
	each_fault "$1" "$2" "$BIN/cloop-hub-key" key rotate --batch 1
	[ "$faults" -gt "$3" ]
}

@test "rotate, every write failing once" { rotate_under write once 8; }
@test "rotate, killed at every write" { rotate_under write kill 8; }

revoke_after() {
	local live
	same "$(sqlite3 "$hub/.cloop/state.db" 'PRAGMA integrity_check')" ok || return 1
	cloop hub audit verify >/dev/null || return 1
	live=$(cloop secret grants --json | wc -l)
	if [ "$status" = 0 ]; then same "$live" 0 || return 1; fi
	cloop secret revoke "$grant" >/dev/null || return 1
	same "$(cloop secret grants --json | wc -l)" 0 || return 1
	same "$(cloop hub audit list --action secret.revoke --json | wc -l)" 1
}

@test "revoke, killed at every write: the row and its audit row are one" {
	fresh
	grant=$(cloop secret grants --json | jq -r .id)
	after() { revoke_after; }
	each_fault write kill "$BUILD_DIR/t/loads/cloop-secret" revoke "$grant"
	[ "$faults" -gt 3 ]
}
