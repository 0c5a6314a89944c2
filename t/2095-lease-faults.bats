#!/usr/bin/env bats
# The Nth write or sync fails while a lease is taken, renewed, taken back or swept, or the command is
# killed there: what was handed over stands in the store, what was said to be revoked is held by
# nobody for longer than its lease, and the same command succeeds once the fault is gone.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154,SC2317 # the harness calls and sets
load lib/common
load lib/faults

setup_file() {
	export BASE=$BATS_FILE_TMPDIR/base CLOOP_HUBS=$BATS_FILE_TMPDIR/hubs HOME=$BATS_FILE_TMPDIR/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	cloop -C "$BASE" hub bootstrap >/dev/null
	for n in 1 2; do
		printf '{"K%s":"v%s"}' $n $n | cloop -C "$BASE" secret mint "s$n" >/dev/null
		cloop -C "$BASE" secret grant "s$n" --to project:/p --ttl 24h >/dev/null
	done
	export QUESTION=$BATS_FILE_TMPDIR/question
	echo '{"project":"/p","executor":"container"}' > "$QUESTION"
	cloop-secret -C "$BASE" take < "$QUESTION" | cat > "$BATS_FILE_TMPDIR/lease"
	export LEASE
	LEASE=$("$BUILD_DIR/t/lib/leasetool" show < "$BATS_FILE_TMPDIR/lease" | jq -r .id)
	sqlite3 "$BASE/.cloop/state.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
}

setup() {
	D=$BATS_TEST_TMPDIR
	hub=$D/hub
	export CLOOP_DIR=$hub
}

fresh() {
	rm -rf "$hub" "$D/got"
	cp -a "$BASE" "$hub"
}
sql() { sqlite3 "$hub/.cloop/state.db" "$1"; }
# later SECONDS CMD... : as if so much time had passed.
later() {
	local preload=$BUILD_DIR/t/lib/faults.so
	sanitized && preload="$(gcc -print-file-name=libasan.so) $preload"
	env LD_PRELOAD="$preload" T_CLOCK_SHIFT="$1" "${@:2}"
}

whole() {
	same "$(sql 'PRAGMA integrity_check')" ok || return 1
	cloop hub audit verify >/dev/null || return 1
	same "$(sql "SELECT count(*) FROM lease l WHERE NOT EXISTS (SELECT 1 FROM lease_grant WHERE lease = l.seq)")" 0 || return 1
	same "$(sql "SELECT count(*) FROM lease_grant h JOIN lease l ON l.seq = h.lease JOIN \"grant\" g ON g.id = h.grant_id
		WHERE h.state = 'held' AND l.state = 'live' AND g.revoked_at <> 0")" 0 || return 1
}
# Whatever was left half done is over a minute after its time.
lapses() {
	later 960 "$BUILD_DIR/t/loads/cloop-secret" sweep >/dev/null || return 1
	same "$(sql "SELECT count(*) FROM lease WHERE state = 'live'")" 0
}

piped() { printf '%s %s < %s | cat > %s; exit "${PIPESTATUS[0]}"' "$BUILD_DIR/t/loads/cloop-secret" "$1" "$2" "$D/got"; }

take_after() {
	local there
	whole || return 1
	there=$(sql 'SELECT count(*) FROM lease')
	if [ "$status" = 0 ]; then
		same "$("$BUILD_DIR/t/lib/leasetool" show < "$D/got" | jq '.items | length')" 2 || return 1
		same "$there" 2 || return 1
	elif [ -s "$D/got" ]; then
		# Killed while it closed the file: who asked takes no lease from a command that failed.
		same "$there" 2 || return 1
	fi
	lapses
}

@test "take, killed at every write" {
	after() { take_after; }
	each_fault write kill bash -c "$(piped take "$QUESTION")"
	[ "$faults" -gt 4 ]
}

@test "take, every write failing once" {
	after() { take_after; }
	each_fault write once bash -c "$(piped take "$QUESTION")"
	[ "$faults" -gt 4 ]
}

@test "take, every sync failing once" {
	after() { take_after; }
	each_fault sync once bash -c "$(piped take "$QUESTION")"
	[ "$faults" -gt 0 ]
}

renew_after() {
	whole || return 1
	same "$(sql 'SELECT count(*) FROM lease')" 1 || return 1
	same "$(sql "SELECT count(*) FROM lease_grant WHERE state = 'held'")" 2 || return 1
	[ "$status" != 0 ] || same "$(sql 'SELECT renewed_at > 0 FROM lease')" 1 || return 1
	lapses
}

@test "renew, killed at every write" {
	printf '{"id":"%s","project":"/p","executor":"container"}' "$LEASE" > "$D/q"
	after() { renew_after; }
	each_fault write kill bash -c "$(piped renew "$D/q")"
	[ "$faults" -gt 3 ]
}

release_after() {
	local state
	whole || return 1
	state=$(sql 'SELECT state FROM lease')
	[ "$state" = live ] || [ "$state" = released ] || return 1
	[ "$status" != 0 ] || same "$state" released || return 1
	same "$(cloop hub audit list --action secret.release --json | wc -l)" "$([ "$state" = live ] && echo 0 || echo 1)" || return 1
	"$BUILD_DIR/t/lib/leasetool" release "$hub/.cloop/state.db" "$LEASE" || return 1
	same "$(sql 'SELECT state FROM lease')" released || return 1
	same "$(cloop hub audit list --action secret.release --json | wc -l)" 1
}

@test "release, killed at every write: the lease and its audit row are one" {
	after() { release_after; }
	each_fault write kill "$BUILD_DIR/t/lib/leasetool" release "$hub/.cloop/state.db" "$LEASE"
	[ "$faults" -gt 3 ]
}

# Status 1 says that the grant is revoked and its holder has not answered: the test is no holder.
revoke_after() {
	local revoked taking
	[ "$status" != 1 ] || status=0
	whole || return 1
	revoked=$(sql "SELECT count(*) FROM \"grant\" WHERE revoked_at <> 0")
	taking=$(sql "SELECT count(*) FROM lease_grant WHERE state = 'taking'")
	same "$revoked" "$taking" || return 1
	[ "$status" != 0 ] || same "$revoked" 1 || return 1
	cloop secret revoke "$grant" --wait 0 >/dev/null
	same "$(sql "SELECT count(*) FROM lease_grant WHERE state = 'taking'")" 1 || return 1
	same "$(cloop hub audit list --action 'secret.revoke' --json | wc -l)" 1 || return 1
	same "$(cloop hub audit list --action 'lease.revoke_sent' --json | wc -l)" 1 || return 1
	lapses
}

@test "revoke of what is held, killed at every write: grant, holds and audit rows are one" {
	fresh
	grant=$(cloop secret grants --json | head -n 1 | jq -r .id)
	after() { revoke_after; }
	# Without the fault it leaves with 1, which the harness takes for a failure.
	each_fault write kill bash -c "$BUILD_DIR/t/loads/cloop-secret revoke $grant --wait 0; s=\$?; [ \$s = 1 ] && exit 0; exit \$s"
	[ "$faults" -gt 3 ]
}

sweep_after() {
	whole || return 1
	[ "$status" != 0 ] || same "$(sql "SELECT state FROM lease")" expired || return 1
	cloop secret sweep >/dev/null || return 1
	same "$(sql "SELECT state FROM lease")" expired
}

@test "sweep, killed at every write: what lapsed is ended by the next one" {
	fresh
	sql "UPDATE lease SET expires_at = 1; PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null
	rm -rf "$D/lapsed"
	cp -a "$hub" "$D/lapsed"
	fresh() { rm -rf "$hub"; cp -a "$D/lapsed" "$hub"; }
	after() { sweep_after; }
	each_fault write kill "$BUILD_DIR/t/loads/cloop-secret" sweep
	[ "$faults" -gt 3 ]
}

@test "renew hands nothing over where it could not end the pipe" {
	need root
	fresh
	printf '{"id":"%s","project":"/p","executor":"container"}' "$LEASE" > "$D/q"
	# shellcheck disable=SC2016 # for the shell in there
	exits 71 unshare -m bash -c 'mount -t tmpfs none /dev && "$1" renew < "$2" | cat > "$3"; exit "${PIPESTATUS[0]}"' bash \
		"$BIN/cloop-secret" "$D/q" "$D/got"
	has "$stderr" "cannot open '/dev/null'"
	[ ! -s "$D/got" ]
	# shellcheck disable=SC2016
	exits 0 bash -c '"$1" renew < "$2" | cat > "$3"' bash "$BIN/cloop-secret" "$D/q" "$D/got"
	[ -s "$D/got" ]
}
