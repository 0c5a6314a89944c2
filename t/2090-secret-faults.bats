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
	for n in 1 2 3; do printf '{"K":"v%s","L":"w%s"}' $n $n | cloop -C "$BASE" secret mint "s$n" >/dev/null; done
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

# ---- grants ----

grants_of() { cloop secret grants --json | jq -r "select(.subject == \"$1\") | .id" | wc -l; }

grant_after() {
	local n
	whole || return 1
	n=$(grants_of project:/q)
	[ "$n" -le 1 ] || return 1
	[ "$status" != 0 ] || same "$n" 1 || return 1
	# A grant that is there is in the audit trail, and the other way round.
	same "$(cloop hub audit list --action secret.grant --json | jq 'select(.detail.subject == "project:/q" and .detail.decision == "allow")' | jq -s length)" "$n" || return 1
	[ "$n" = 1 ] || cloop secret grant s2 --to project:/q >/dev/null || return 1
	same "$(cloop secret lease --project /q --json | jq -c '[(.materials | length), (.refused | length)]')" "[1,0]"
}

grant_under() {
	after() { grant_after; }
	each_fault "$1" "$2" "$BUILD_DIR/t/loads/cloop-secret" grant s2 --to project:/q
	[ "$faults" -gt "$3" ]
}

@test "grant, every write failing once" { grant_under write once 3; }
@test "grant, killed at every write" { grant_under write kill 3; }

# The first grant of a hub makes the key that signs, and its public half.
@test "the first grant, killed at every write and rename: the signing key and its public half are one" {
	local call
	rm -rf "$D/first"
	cloop -C "$D/first" hub bootstrap > /dev/null
	for n in 1 2; do printf '{"K":"v%s"}' $n | cloop -C "$D/first" secret mint "s$n" > /dev/null; done
	sqlite3 "$D/first/.cloop/state.db" 'PRAGMA wal_checkpoint(TRUNCATE)' > /dev/null
	fresh() {
		rm -rf "$hub"
		cp -a "$D/first" "$hub"
		sed -i "s|$D/first|$hub|" "$hub/.cloop/config.yaml"
	}
	after() {
		cloop secret grant s1 --to project:/p > /dev/null || return 1
		grant_after
	}
	for call in write rename; do
		each_fault $call kill "$BUILD_DIR/t/loads/cloop-secret" grant s2 --to project:/q || return 1
		[ "$faults" -gt 0 ]
	done
}

# Of a grant that is edited there is one at each moment: the old one or its successor.
edit_after() {
	whole || return 1
	same "$(grants_of project:/p)" 1 || return 1
	cloop secret grants --json | jq -e "select(.subject == \"project:/p\") | (.id == \"$grant\") or $status == 0 or $status == 137" > /dev/null || return 1
	same "$(sqlite3 "$hub/.cloop/state.db" "SELECT count(*) FROM \"grant\" WHERE revoked_at <> 0 AND superseded_by IS NULL")" 0 || return 1
	same "$(sqlite3 "$hub/.cloop/state.db" "SELECT count(*) FROM \"grant\" o WHERE o.superseded_by IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM \"grant\" n WHERE n.id = o.superseded_by AND n.expires_at = o.expires_at)")" 0
}

@test "grant edit that narrows, killed at every write: one of the two stands, never both or none" {
	fresh
	grant=$(cloop secret grants --json | jq -r .id)
	after() { edit_after; }
	each_fault write kill "$BUILD_DIR/t/loads/cloop-secret" grant edit "$grant" --env-keys K
	[ "$faults" -gt 3 ]
}

@test "grant edit that widens, killed at every write: one of the two stands, never both or none" {
	fresh
	grant=$(cloop secret grant edit "$(cloop secret grants --json | jq -r .id)" --env-keys K --json | jq -r .id)
	sqlite3 "$hub/.cloop/state.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
	rm -rf "$D/narrow"
	cp -a "$hub" "$D/narrow"
	fresh() { rm -rf "$hub"; cp -a "$D/narrow" "$hub"; }
	after() { edit_after; }
	each_fault write kill "$BUILD_DIR/t/loads/cloop-secret" grant edit "$grant" --env-keys K,L
	[ "$faults" -gt 3 ]
}

# ---- keys ----

retire_after() {
	local state
	same "$(sqlite3 "$hub/.cloop/state.db" 'PRAGMA integrity_check')" ok || return 1
	cloop hub audit verify >/dev/null || return 1
	state=$(sqlite3 "$hub/.cloop/state.db" "SELECT state || (salt = '') FROM sealing_key WHERE id = '$old'")
	[ "$state" = active0 ] || [ "$state" = retired1 ] || { echo "half retired: $state" >&2; return 1; }
	[ "$status" != 0 ] || same "$state" retired1 || return 1
	[ "$state" = retired1 ] || cloop hub key retire "$old" --yes > /dev/null || return 1
	same "$(cloop hub audit list --action sealing_key.retire --json | wc -l)" 1 || return 1
	whole
}

@test "retire, killed at every write: the key and its audit row are one" {
	fresh
	old=$(cloop hub key status --json | jq -r .primary)
	cloop hub key rotate > /dev/null
	sqlite3 "$hub/.cloop/state.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
	rm -rf "$D/rotated"
	cp -a "$hub" "$D/rotated"
	fresh() { rm -rf "$hub"; cp -a "$D/rotated" "$hub"; }
	after() { retire_after; }
	each_fault write kill "$BIN/cloop-hub-key" key retire "$old" --yes
	[ "$faults" -gt 3 ]
}

import_after() {
	if [ -e "$D/key" ]; then
		same "$(cat "$D/key")" "$(tr -d '\n' < "$hub/cloop-secret-key")" || return 1
		same "$(stat -c %a "$D/key")" 600 || return 1
	else
		[ "$status" != 0 ] || return 1
	fi
	# Nothing that has the key in it stands beside it.
	same "$(grep -rlF "$(tr -d '\n' < "$hub/cloop-secret-key")" "$D" --include='.key*')" "" || return 1
	cloop hub key escrow import "$D/esc" --passphrase-file "$D/pass" --out "$D/key" > /dev/null || return 1
	same "$(cat "$D/key")" "$(tr -d '\n' < "$hub/cloop-secret-key")" || return 1
	whole
}

import_under() {
	echo 'correct horse battery' > "$D/pass"
	fresh
	cloop hub key escrow export --out "$D/esc" --passphrase-file "$D/pass" > /dev/null
	fresh() { rm -rf "$hub" "$D/key"; cp -a "$BASE" "$hub"; }
	after() { import_after; }
	each_fault "$1" "$2" "$BIN/cloop-hub-key" key escrow import "$D/esc" --passphrase-file "$D/pass" --out "$D/key"
	[ "$faults" -gt "$3" ]
}

@test "escrow import, killed at every write: the key file is whole or not there" { import_under write kill 3; }
@test "escrow import, killed when it names the file" { import_under rename kill 0; }

@test "escrow export, killed at every write: the copy is whole or not there" {
	echo 'correct horse battery' > "$D/pass"
	fresh() { rm -rf "$hub" "$D/esc"; cp -a "$BASE" "$hub"; }
	after() {
		[ "$status" != 0 ] || [ -e "$D/esc" ] || return 1
		[ -e "$D/esc" ] || cloop hub key escrow export --out "$D/esc" --passphrase-file "$D/pass" > /dev/null || return 1
		cloop hub key escrow import "$D/esc" --check --passphrase-file "$D/pass" > /dev/null || return 1
		whole
	}
	each_fault write kill "$BIN/cloop-hub-key" key escrow export --out "$D/esc" --passphrase-file "$D/pass"
	[ "$faults" -gt 3 ]
}
