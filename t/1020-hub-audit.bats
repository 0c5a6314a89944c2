#!/usr/bin/env bats
# The audit trail through the command line: listed, verified, and every alteration named.
load lib/common

setup() {
	need python3
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
seq, prev = c.execute("SELECT seq, hash FROM audit_head").fetchone()
for i in range(int(sys.argv[2])):
    seq += 1
    row = {"seq": seq, "at": 1700000000000 + i, "actor": "uid:7", "action": "run.start",
           "entity": "run", "entity_id": "run_%024x" % i, "project": "/srv/\u00e9", "detail": '{"n":%d}' % i}
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    h = hashlib.sha256((prev + "\n" + text).encode()).hexdigest()
    c.execute("INSERT INTO audit VALUES (:seq, :at, :actor, :action, :entity, :entity_id, :project, :detail, :p, :h)",
              dict(row, p=prev, h=h))
    prev = h
c.execute("UPDATE audit_head SET seq = ?, hash = ?", (seq, prev))
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
	CASES
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

@test "a state file from before leases were made leaner keeps them" {
	need sqlite3
	rm -f "$db"*
	{
		echo "BEGIN; CREATE TABLE schema_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
		echo "sha256 TEXT NOT NULL) STRICT;"
		for f in "$SRC"/share/schema/00{01,02,03,04,05,06,07,08,09,10,11}-*.sql; do
			cat "$f"
			n=$(basename "$f" .sql)
			echo "INSERT INTO schema_migration VALUES ($((10#${n%%-*})), '$n', '$(sha256sum < "$f" | cut -d' ' -f1)');"
		done
		echo "INSERT INTO lease (seq, id, project, executor_id, labels, actor, created_at, expires_at,"
		echo " state) VALUES (7, 'lease_a', '/srv/p', 'e', 'k=v', 'cli:root', 1, 2, 'live');"
		echo "INSERT INTO lease_grant (grant_id, lease, how, state) VALUES ('grant_a', 7, 2, 'taking');"
		echo "INSERT INTO app_token VALUES (7, 'grant_a', 's', 'n', 'f', 'b', '{}', 'x', 3, 0);"
		echo "PRAGMA user_version = 11; PRAGMA application_id = $((0x636c6f70)); COMMIT;"
	} | sqlite3 "$db"
	exits 0 cloop hub bootstrap
	exits 0 cloop hub audit verify
	same "$(sqlite3 "$db" "SELECT seq, id, labels, state FROM lease")" "7|lease_a|k=v|live"
	same "$(sqlite3 "$db" "SELECT grant_id, lease, how, state FROM lease_grant")" "grant_a|7|2|taking"
	same "$(sqlite3 "$db" "SELECT lease, grant_id, expires_at FROM app_token")" "7|grant_a|3"
	# Its holds and tokens go with it, and it cannot be of another state than there is.
	! sqlite3 "$db" "PRAGMA foreign_keys = ON; UPDATE lease SET state = 'lent'" || false
	sql "PRAGMA foreign_keys = ON; DELETE FROM lease"
	same "$(sqlite3 "$db" "SELECT count(*) FROM lease_grant")$(sqlite3 "$db" "SELECT count(*) FROM app_token")" 00
	same "$(sqlite3 "$db" "PRAGMA integrity_check; PRAGMA foreign_key_check")" ok
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
