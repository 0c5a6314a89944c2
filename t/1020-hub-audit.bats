#!/usr/bin/env bats
# The audit trail through the command line: listed, verified, and every alteration named.
load lib/common

setup() {
	need python3 sqlite3
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs CLOOP_DIR=$D/hub
	cloop hub bootstrap > /dev/null
	db=$D/hub/.cloop/state.db
}

# sql STATEMENTS : as somebody else who can write the file.
sql() { python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()' "$db" "$1"; }

# extend N : N further rows by the documented formula, so it is known to be enough.
extend() {
	python3 - "$db" "$1" <<'PY'
import hashlib, json, sqlite3, sys
c = sqlite3.connect(sys.argv[1])
seq, prev = c.execute("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1").fetchone() or (0, "")
for i in range(int(sys.argv[2])):
    seq += 1
    row = {"seq": seq, "at": 1700000000000 + i, "actor": "uid:7", "action": "run.start",
           "entity": "run", "entity_id": "run_%024x" % i, "project": "/srv/\u00e9", "detail": '{"n":%d}' % i}
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    h = hashlib.sha256((prev + "\n" + text).encode()).hexdigest()
    c.execute("INSERT INTO audit (seq, at, actor, action, entity, entity_id, project, detail, prev, hash)"
              " VALUES (:seq, :at, :actor, :action, :entity, :entity_id, :project, :detail, :p, :h)",
              dict(row, p=prev, h=h))
    prev = h
c.execute("UPDATE audit SET at_end = (seq = ?) WHERE at_end OR seq = ?", (seq, seq))
c.commit()
PY
}

@test "a new hub has one row, and a chain that somebody else extends by the manual holds" {
	exits 0 cloop hub audit verify
	same "$(head -n 1 <<< "$output")" "whole: 1 row"
	extend 5
	exits 0 cloop hub audit verify
	has "$output" "whole: 6 rows"
	exits 0 cloop hub audit verify --json
	same "$(jq -r '.ok, .rows, .head_seq, (.head | length)' <<< "$output" | xargs)" "true 6 6 64"
}

@test "list: the newest first, filters, and JSON lines" {
	extend 5
	exits 0 cloop hub audit list
	same "${#lines[@]}" 6
	has "${lines[0]}" "run_000000000000000000000004"
	has "${lines[5]}" "hub.bootstrap"
	exits 0 cloop hub audit list --limit 2 --json
	same "$(jq -c '[.seq, .detail.n]' <<< "$output" | xargs)" "[6,4] [5,3]"
	exits 0 cloop hub audit list --action 'hub.*'
	same "${#lines[@]}" 1
	exits 0 cloop hub audit list --action run.start --actor uid:7 --project /srv/é --id run_000000000000000000000001
	same "${#lines[@]}" 1
	exits 0 cloop hub audit list --since 1h
	same "${#lines[@]}" 1
	exits 0 cloop hub audit list --limit 0
	same "${#lines[@]}" 6
	exits 0 cloop hub audit list --action "x' OR 1=1 --"
	same "$output" ""
	exits 64 cloop hub audit list --limit -1
	exits 64 cloop hub audit list --since yesterday
}

@test "verify: an altered, missing, added or cut row is named, with status 1" {
	extend 5
	cp "$db" "$D/good"
	drop="DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete;"
	while IFS='|' read -r row statement; do
		rm -f "$db"*
		cp "$D/good" "$db"
		sql "$drop $statement"
		exits 1 cloop hub audit verify
		has "$output" "broken at row $row:"
		exits 1 cloop hub audit verify --json
		same "$(jq -r '.ok, .bad_seq' <<< "$output" | xargs)" "false $row"
	done <<-'CASES'
		3|UPDATE audit SET actor = 'uid:0' WHERE seq = 3
		2|DELETE FROM audit WHERE seq = 2
		6|DELETE FROM audit WHERE seq = 6
		5|DELETE FROM audit WHERE seq > 4
		1|UPDATE audit SET at = 0 WHERE seq = 1
		4|UPDATE audit SET detail = '{"n":99}' WHERE seq = 4
		6|UPDATE audit SET action = 'run.end' WHERE seq = 6
		3|UPDATE audit SET entity_id = '', entity = entity || entity_id WHERE seq = 3
		3|UPDATE audit SET seq = -3 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = -3
		5|UPDATE audit SET seq = 7 WHERE seq = 6; UPDATE audit SET seq = 6 WHERE seq = 5; INSERT INTO audit SELECT 5, at, actor, action, entity, entity_id, project, detail, prev, hash, 0 FROM audit WHERE seq = 4
		7|INSERT INTO audit SELECT 7, at, actor, action, entity, entity_id, project, detail, hash, hash, 1 FROM audit WHERE seq = 6
		1|UPDATE audit_head SET hash = (SELECT hash FROM audit WHERE seq = 5)
		6|DELETE FROM audit WHERE seq > 5; UPDATE audit_head SET seq = 5, hash = (SELECT hash FROM audit WHERE seq = 5)
		6|UPDATE audit_head SET seq = 6, hash = (SELECT hash FROM audit WHERE seq = 5)
		7|UPDATE audit SET at_end = 0
		1|UPDATE audit SET at_end = 1
	CASES
}

@test "verify: a tail that was cut off with its head is missed by nobody who noted the head" {
	extend 5
	head=$(cloop hub audit verify | sed -n 's/^head: //p')
	sql "DROP TRIGGER audit_no_delete; DELETE FROM audit WHERE seq > 4; UPDATE audit SET at_end = 1 WHERE seq = 4"
	exits 0 cloop hub audit verify
	exits 1 cloop hub audit verify --head "$head"
	has "$output" "broken at row 6: the row that was noted is not there"
}

@test "list: each filter alone and all of them together, and both forms of --since" {
	cloop executor list > /dev/null 2>&1 || true
	printf '{"A":"planted-abc"}' | cloop secret mint one > /dev/null
	printf '{"B":"planted-def"}' | cloop secret mint two > /dev/null
	g=$(cloop secret grant one --to project:/srv/a --json | jq -r .id)
	cloop secret grant two --to project:/srv/a > /dev/null
	cloop secret revoke "$g" > /dev/null
	seqs() { cloop hub audit list --json -n 0 "$@" | jq -r .seq | xargs; }
	same "$(seqs)" "6 5 4 3 2 1"
	same "$(seqs --secret one)" "6 4 2"
	same "$(seqs --grant "$g")" "6 4"
	same "$(seqs --action secret.grant)" "5 4"
	same "$(seqs --action 'secret.*')" "6 5 4 3 2"
	same "$(seqs --action secret.)" "6 5 4 3 2"
	same "$(seqs --action secre)" ""
	same "$(seqs --actor uid:0)" "1"
	same "$(seqs --secret one --grant "$g" --action secret.grant --since 1h --limit 5)" "4"
	same "$(seqs --secret two --grant "$g")" ""
	# Rows of an hour ago, one of the moment that is asked for.
	sql "DROP TRIGGER audit_no_update; UPDATE audit SET at = 1767261600000 WHERE seq = 3;
		UPDATE audit SET at = 1767261599999 WHERE seq = 2"
	same "$(seqs --since 2026-01-01T10:00:00Z)" "6 5 4 3 1"
	same "$(seqs --since 2026-01-01T11:00:00+01:00)" "6 5 4 3 1"
	same "$(seqs --since 1h30m)" "6 5 4 1"
	same "$(seqs --since 2999-01-01T00:00:00Z)" ""
	for bad in "" 0 0s -1h yesterday 24 2026-01-01 2026-13-01T00:00:00Z 99999999999999999999d; do
		exits 64 cloop hub audit list --since "$bad"
	done
}

@test "what people and other programs wrote brings no credential into the trail, nor an escape to the terminal" {
	local token=ghp_plantedtokenplantedtoken1234567890AB word=plantedtoken
	printf '{"A":"planted-abc"}' | cloop secret mint one > /dev/null
	printf '{"A":"planted-abc"}' | cloop secret mint two > /dev/null
	g=$(cloop secret grant one --to project:/srv/a --json | jq -r .id)
	cloop secret revoke "$g" --reason "it leaked: $token"$'\e[2J\nrow' > /dev/null
	exits 1 cloop secret grant one --to "project:/srv/$token"$'\e[2J' || [ "$status" = 65 ]
	cloop secret delete two --reason "so did $token" > /dev/null
	exits 65 cloop secret show two
	has "$stderr" "so did [redacted]"
	exits 0 cloop hub audit list -n 0
	same "${#lines[@]}" "$(sqlite3 "$db" 'SELECT count(*) FROM audit')"
	lacks "$output" $'\e'
	has "$output" "it leaked: [redacted]"
	exits 0 cloop hub audit list -n 0 --json
	same "$(jq -c . <<< "$output" | wc -l)" "$(wc -l <<< "$output")"
	run ! grep -rqa "$word" "$D/hub/.cloop"
	exits 0 cloop hub audit verify
}

@test "verify --head: a chain made anew does not contain the head that was noted" {
	extend 3
	head=$(cloop hub audit verify | sed -n 's/^head: //p')
	extend 2
	exits 0 cloop hub audit verify --head "$head"
	sql "DROP TRIGGER audit_no_delete; DELETE FROM audit; UPDATE audit_head SET seq = 0, hash = ''"
	extend 9
	exits 0 cloop hub audit verify
	exits 1 cloop hub audit verify --head "$head"
	has "$output" "not the one that was noted"
	for bad in "" 4 4: :abc "4:xyz" "x:${head#*:}" "-1:${head#*:}" "0:${head#*:}"; do
		exits 64 cloop hub audit verify --head "$bad"
	done
}

@test "rows are not changed or deleted by accident" {
	run sql "UPDATE audit SET actor = ''"
	[ "$status" != 0 ]
	run sql "DELETE FROM audit"
	[ "$status" != 0 ]
	exits 0 cloop hub audit verify
}

@test "a terminal is not written to by what a row says" {
	sql "DROP TRIGGER audit_no_update; UPDATE audit SET actor = char(27) || '[2J' || char(10) || 'fake row'"
	exits 0 cloop hub audit list
	lacks "$output" $'\e'
	same "${#lines[@]}" 1
	exits 0 cloop hub audit list --json
	same "$(wc -l <<< "$output")" 1
}

# older N SQL : the hub's state file is one of schema N, and has what the statements put there.
older() {
	local f n
	rm -f "$db"*
	{
		echo "BEGIN; CREATE TABLE schema_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
		echo "sha256 TEXT NOT NULL) STRICT;"
		for f in "$SRC"/share/schema/*.sql; do
			n=$(basename "$f" .sql)
			((10#${n%%-*} <= $1)) || continue
			cat "$f"
			echo "INSERT INTO schema_migration VALUES ($((10#${n%%-*})), '$n', '$(sha256sum < "$f" | cut -d' ' -f1)');"
		done
		echo "$2; PRAGMA user_version = $1; PRAGMA application_id = $((0x636c6f70)); COMMIT;"
	} > "$D/older.sql"
	python3 - "$db" "$D/older.sql" <<-'PY'
	import sqlite3, sys
	c = sqlite3.connect(sys.argv[1], isolation_level=None)
	c.create_function("lease_seq", 1, lambda id: int(id[-16:], 16) & (1 << 63) - 1)
	c.executescript(open(sys.argv[2]).read())
	PY
}

@test "live leases of an older state file are looked for from the first one on" {
	older 18 "INSERT INTO lease (seq, id, project, executor_id, labels, actor, created_at, expires_at, state, ended_at)
		SELECT value, printf('lease_%024x', value), '/srv/p', 'e', '', 'a', 1, 2,
		iif(value IN (7, 9), 'live', 'expired'), iif(value IN (7, 9), 0, 5) FROM json_each('[3,7,8,9,11]');
		INSERT INTO lease_grant (grant_id, lease, how, state) VALUES ('grant_a', 7, 2, 'held'),
		('grant_b', 7, 2, 'held'), ('grant_a', 8, 2, 'taken'), ('grant_b', 9, 2, 'taking')"
	exits 0 cloop hub bootstrap
	same "$(sqlite3 "$db" "SELECT seq FROM lease_floor")" 7
	same "$(sqlite3 "$db" "SELECT seq || grants FROM lease" | xargs -d '\n')" \
		'3[] 7["grant_a","grant_b"] 8["grant_a"] 9["grant_b"] 11[]'
	same "$(sqlite3 "$db" "PRAGMA integrity_check; PRAGMA foreign_key_check")" ok
}

@test "a state file from before leases were made leaner keeps them" {
	older 11 "INSERT INTO lease (seq, id, project, executor_id, labels, actor, created_at, expires_at, state)
		VALUES (7, 'lease_0123456789abcdef01234567', '/srv/p', 'e', 'k=v', 'cli:root', 1, 2, 'live');
		INSERT INTO lease_grant (grant_id, lease, how, state) VALUES ('grant_a', 7, 2, 'taking');
		INSERT INTO app_token VALUES (7, 'grant_a', 's', 'n', 'f', 'b', '{}', 'x', 3, 0)"
	exits 0 cloop hub bootstrap
	exits 0 cloop hub audit verify
	at=$((0x09abcdef01234567)) # its last 16 digits, but for a sign
	same "$(sqlite3 "$db" "SELECT seq, id, labels, state, grants FROM lease")" \
		"$at|lease_0123456789abcdef01234567|k=v|live|[\"grant_a\"]"
	same "$(sqlite3 "$db" "SELECT seq FROM lease_floor")" $at
	same "$(sqlite3 "$db" "SELECT grant_id, lease, how, state FROM lease_grant")" "grant_a|$at|2|taking"
	same "$(sqlite3 "$db" "SELECT lease, grant_id, expires_at FROM app_token")" "$at|grant_a|3"
	# Its holds and tokens go with it, and it cannot be of another state than there is.
	! sqlite3 "$db" "PRAGMA foreign_keys = ON; UPDATE lease SET state = 'lent'" || false
	sql "PRAGMA foreign_keys = ON; DELETE FROM lease"
	same "$(sqlite3 "$db" "SELECT count(*) FROM lease_grant")$(sqlite3 "$db" "SELECT count(*) FROM app_token")" 00
	same "$(sqlite3 "$db" "PRAGMA integrity_check; PRAGMA foreign_key_check")" ok
}

@test "a trail of before its last row said so is whole as it was, and one that was cut stays cut" {
	extend 7
	rows=$(sqlite3 "$db" ".mode insert audit" \
		"SELECT seq, at, actor, action, entity, entity_id, project, detail, prev, hash FROM audit")
	head=$(sqlite3 "$db" "SELECT quote(hash) FROM audit WHERE seq = 8")
	older 18 "$rows UPDATE audit_head SET seq = 8, hash = $head"
	exits 0 cloop hub bootstrap
	exits 0 cloop hub audit verify
	has "$output" "whole: 8 rows"
	cloop executor labels container zone=y > /dev/null
	exits 0 cloop hub audit verify
	has "$output" "whole: 9 rows"
	rm "$D/hub/.cloop/grants.pub"
	older 18 "$rows DROP TRIGGER audit_no_delete; DELETE FROM audit WHERE seq > 6;
		UPDATE audit_head SET seq = 8, hash = $head"
	exits 0 cloop hub bootstrap
	exits 1 cloop hub audit verify
	has "$output" "broken at row 7: the trail ends before its head: rows were cut off (6 rows before it hold)"
	cloop executor labels container zone=y > /dev/null
	exits 1 cloop hub audit verify
	has "$output" "broken at row 7: the row is not there"
	# A row that its head did not know of.
	rm "$D/hub/.cloop/grants.pub"
	older 18 "$rows UPDATE audit_head SET seq = 7, hash = (SELECT hash FROM audit WHERE seq = 7)"
	exits 0 cloop hub bootstrap
	exits 1 cloop hub audit verify
}

@test "state files that are newer, altered, foreign, cut or absent are refused" {
	cp "$db" "$D/good"
	for statement in "PRAGMA user_version = 77" "PRAGMA application_id = 5" \
		"UPDATE schema_migration SET sha256 = 'x'" "DELETE FROM schema_migration"; do
		sql "$statement"
		for verb in list verify; do
			exits 78 cloop hub audit $verb
			has "$stderr" "$db"
		done
		exits 78 cloop hub bootstrap
		rm -f "$db"*
		cp "$D/good" "$db"
	done
	head -c 5000 "$D/good" > "$db"
	exits 78 cloop hub audit verify
	head -c 50000 /dev/urandom > "$db"
	exits 78 cloop hub audit verify
	rm -f "$db"*
	exits 78 cloop hub audit verify
	fix=$(sed -n 's/^  fix: //p' <<< "$stderr")
	has "$fix" " hub bootstrap"
	[ ! -e "$db" ]
	# As it stands there, it can be typed.
	exits 0 sh -c "$fix"
	exits 0 cloop hub audit verify
}
