# shellcheck shell=bash disable=SC2034,SC2154
item='a pass of failover over 10,000 sessions that are lost, against 200'
target=4.0
setup() {
	skip_unless sqlite3
	export CLOOP_DIR=$tmp/hub CLOOP_RUN_DIR=$tmp/run CLOOP_HUBS=$tmp/hubs
	cloop hub bootstrap > /dev/null
	printf 'executors:\n  failover: {max_attempts: 0}\n  container: {enabled: false}\n' > "$CLOOP_DIR/.cloop/config.yaml"
	cp "$CLOOP_DIR/.cloop/state.db" "$tmp/empty.db"
	local n
	for n in 200 10000; do
		cp "$tmp/empty.db" "$tmp/$n.db"
		lost "$n" "$tmp/$n.db"
	done
}
# lost N DB : sessions on an executor that is unreachable. Their supervisor is this very shell, so
# that nobody takes them for dead; what each pass claims is the same number.
lost() {
	sqlite3 "$2" "
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $1 - 1)
		INSERT INTO run (id, project, executor_id, argv, harness, uid, state, created_at)
		SELECT printf('run_%024x', i), printf('/srv/p%d', i % 500), 'lost', '[\"make\"]', 'make', 1000,
			'running', 1700000000000 + i FROM n;
		INSERT INTO session (id, run_id, executor_id, project, workload, isolated, claim_token, state, attempt,
			started_at, updated_at)
		SELECT 'ses_' || substr(id, 5), id, executor_id, project, 'task:' || id, 1, 'claim_' || id,
			'running', 1, created_at, created_at FROM run;
		INSERT INTO handle (id, run_id, executor_id, driver, project, started_at, state, shim_pid, shim_start, boot_id)
		SELECT 'c-' || substr(id, 17), id, executor_id, 'container', project, created_at, 'live', $$,
			$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20), '$(cat /proc/sys/kernel/random/boot_id)' FROM run;
		INSERT INTO executor_health (executor_id, state, reason, failures, last_seen, last_probe, next_probe,
			changed_at, changed_by, version)
		VALUES ('lost', 'unreachable', 'gone', 3, 1, 1, 4000000000000, 1, 'probe', 7);
		PRAGMA wal_checkpoint(TRUNCATE)" > /dev/null
}
# a_pass N : microseconds, in $took.
a_pass() {
	local s
	rm -f "$CLOOP_DIR"/.cloop/state.db*
	cp "$tmp/$1.db" "$CLOOP_DIR/.cloop/state.db"
	sync -f "$CLOOP_DIR/.cloop/state.db"
	s=${EPOCHREALTIME/./}
	cloop sweep --only sessions > "$tmp/said" 2> "$tmp/warned" || return 1
	took=$((${EPOCHREALTIME/./} - s))
	[ "$(grep -c 'is lost with executor' "$tmp/said")" = 100 ]
}
measure() {
	local i
	for i in 1 2 3 4 5; do
		a_pass 200 && echo $took >> "$tmp/few" || return 1
		a_pass 10000 && echo $took >> "$tmp/many" || return 1
	done
	jq -cn --argjson o "$(sort -n "$tmp/many" | sed -n 3p)" --argjson p "$(sort -n "$tmp/few" | sed -n 3p)" \
		'{ours_us: $o, peer_us: $p, ratio: ($o / $p)}'
}
