#!/usr/bin/env bats
# Eight processes at once on one hub: they grant, edit, lend, renew, rotate and retire, revoke, delete and
# mint, and sweep. Whatever came between, the rows are whole, the trail is, and nothing lives too long.
# shellcheck disable=SC2030,SC2031,SC2154,SC2317 # each test is a subshell of its own; roles are called by name
load lib/common
load lib/faults

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	hub=$D/hub db=$D/hub/.cloop/state.db
	cloop -C "$hub" hub bootstrap >/dev/null
	export CLOOP_DIR=$hub
	mkdir "$D/bin"
	ln -s "$BIN"/cloop-secret "$D/bin/"
	cp "$BUILD_DIR/t/lib/leasetool" "$D/bin/"
	for n in 1 2 3; do stored $n; done
}

stored() { printf '{"K1":"a%s","K2":"b%s","K3":"c%s"}' "$1" "$1" "$1" | cloop secret mint "s$1" >/dev/null; }
sql() { sqlite3 "$db" -cmd '.timeout 20000' "$1"; }
one() { sql "SELECT $1 ORDER BY random() LIMIT 1"; }

# Each role is called with the round. 0, 1 (no, or somebody was faster), 65 (it is gone) and 75 (busy)
# are what a person is told; anything else is a fault.
grants() { cloop secret grant "s$((1 + $1 % 3))" --to project:/p --ttl 1h; }
edits() {
	local g
	g=$(one "id FROM \"grant\" WHERE revoked_at = 0")
	[ -z "$g" ] || cloop secret grant edit "$g" --env-keys "K$((1 + $1 % 3)),K$((1 + RANDOM % 3))" || [ $? != 64 ] || return 0
}
lends() { "$D/bin/leasetool" take "$hub" /p container "run_$(printf %024x "$1")"; }
renews() {
	local l run
	IFS='|' read -r l run <<< "$(one "id, run_id FROM lease WHERE state = 'live'")"
	[ -z "$l" ] || "$D/bin/leasetool" renew "$hub" "$l" /p container "$run"
}
rotates() {
	local k
	cloop hub key rotate --batch 2 || return
	for k in $(sql "SELECT id FROM sealing_key WHERE state = 'active'"); do cloop hub key retire "$k" --yes || [ $? = 1 ] || return; done
}
revokes() {
	local g l
	g=$(one "id FROM \"grant\" WHERE revoked_at = 0") l=$(one "id FROM lease WHERE state = 'live'")
	[ -z "$g" ] || cloop secret revoke "$g" --wait 0
	[ -z "$l" ] || (($1 % 3)) || cloop secret revoke "$l" --wait 0
}
# One of the three: in step with who grants, nothing else would ever be granted.
deletes() { cloop secret delete s3 && stored 3; }
sweeps() { cloop secret sweep; }

role() {
	local n rc
	for ((n = 0; n < 15; n++)); do
		"$1" "$n" > "$D/$1.out" 2> "$D/$1.err"
		rc=$?
		case $rc in 0 | 1 | 65 | 75) ;; *) { echo "$1 $n: status $rc" && cat "$D/$1.out" "$D/$1.err"; } >> "$D/faults" ;; esac
	done
}

@test "whatever comes between, the rows are whole and nothing lives too long" {
	local r pids=()
	for r in grants edits lends renews rotates revokes deletes sweeps; do
		role $r 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}" || true
	[ ! -e "$D/faults" ] || { cat "$D/faults" >&2; return 1; }
	exits 0 cloop hub audit verify
	same "$(sql 'PRAGMA integrity_check; PRAGMA foreign_key_check')" ok
	same "$(sql "SELECT count(*) FROM sealing_key WHERE state = 'primary'")" 1
	same "$(sql "SELECT count(*) FROM signing_key")" 1
	# Every row is under a key that is live, and opens.
	same "$(sql "SELECT count(*) FROM secret s LEFT JOIN sealing_key k ON k.id = s.key_id WHERE k.state IS NULL OR k.state = 'retired'")" 0
	exits 0 cloop hub key rotate --json
	same "$(jq -c '[.failed, .complete]' <<< "$output")" "[0,true]"
	same "$(cloop secret grants --all --json | jq -r .signature | sort -u)" good
	same "$(sql "SELECT count(*) FROM lease_grant h JOIN lease l ON l.seq = h.lease JOIN \"grant\" g ON g.id = h.grant_id
		WHERE h.state = 'held' AND l.state = 'live' AND g.revoked_at <> 0")" 0
	# One minute after the longest time that a lease has, none is live.
	preload=$BUILD_DIR/t/lib/faults.so
	sanitized && preload="$(gcc -print-file-name=libasan.so) $preload"
	[ "$(sql 'SELECT count(*) FROM lease')" -gt 0 ]
	env LD_PRELOAD="$preload" T_CLOCK_SHIFT=960 "$BUILD_DIR/t/loads/cloop-secret" sweep >/dev/null
	same "$(sql "SELECT count(*) FROM lease WHERE state = 'live'")" 0
}
