# cloop sweep: each janitor alone, what it leaves alone, and passes beside each other.
# shellcheck shell=bash disable=SC2154
load lib/common
load lib/localhub
load lib/faults

setup_file() {
	need root jq sqlite3
	localhub_up
}
teardown_file() { localhub_down; }
setup() {
	localhub_config
	NSPID=""
}
teardown() { [ -z "$NSPID" ] || kill "$NSPID" ${holder:+$holder} 2> /dev/null || true; }

NOW() { date +%s%3N; }
# exec_sql TEXT : as another program would.
exec_sql() { sqlite3 -cmd 'pragma foreign_keys=on' "$HUB/.cloop/state.db" "$1"; }
# open_run ID STATE AGE-MS [EXECUTOR] : a run that is not finished, with its session.
open_run() {
	exec_sql "insert into run (id, project, executor_id, argv, harness, uid, state, created_at)
		values ('run_$1', '$P', '${4:-local}', '[]', 'x', 0, '$2', $(NOW) - $3);
		insert into session (id, run_id, executor_id, project, workload, isolated, claim_token, state, attempt, started_at, updated_at)
		values ('ses_$1', 'run_$1', '${4:-local}', '$P', 'task:$1', 0, 'claim_x', 'running', 1, 1, 1);"
}
# a_handle ID RUN-ID|null STATE ENDED-AGE-MS
a_handle() {
	local run="'run_$2'"
	[ "$2" != null ] || run=null
	exec_sql "insert into handle (id, run_id, executor_id, driver, project, started_at, state, ended_at, shim_pid, shim_start, boot_id)
		values ('$1', $run, 'local', 'localprocess', '$P', 1, '$3', $(NOW) - $4, 0, 0, '')"
}
state_of() { sql "select r.state || ' ' || s.state from run r join session s on s.run_id = r.id where r.id = 'run_$1'"; }

@test "a run opens a session, and its end ends it" {
	detached sleep 300
	same "$(sql "select state, attempt, isolated, executor_id from session where run_id = '$R'")" "running|1|0|local"
	cloop runs stop --grace 0s "$R" >/dev/null
	same "$(sql "select state from session where run_id = '$R'")" failed
	R=$(cloop run -p "$P" -e local -d --task T-1 -- true)
	until_true finished
	same "$(sql "select state, workload from session where run_id = '$R'")" "finished|task:T-1"
}

@test "sessions: the verdicts, each on a run of its own" {
	open_run 000000000000000000000001 starting 400000
	open_run 000000000000000000000002 starting 1000
	open_run 000000000000000000000003 running 900000
	open_run 000000000000000000000004 running 900000 removed
	open_run 000000000000000000000005 running 900000
	a_handle c-000000000005 000000000000000000000005 ended 400000
	open_run 000000000000000000000006 running 900000
	a_handle c-000000000006 000000000000000000000006 ended 1000
	open_run 000000000000000000000007 starting -900000
	exits 0 cloop sweep --only sessions
	for id in 1 3 4 5; do same "$id $(state_of 00000000000000000000000$id)" "$id finished failed"; done
	for id in 2 7; do same "$id $(state_of 00000000000000000000000$id)" "$id starting running"; done
	same "$(state_of 000000000000000000000006)" "running running"
	has "$output" "run_000000000000000000000001 is lost: it never started"
	has "$output" "not configured any more"
	has "$output" "4 lost"
	same "$(sql "select outcome from run where id = 'run_000000000000000000000003'")" lost
	# A configuration that cannot be read takes nobody's executor away.
	open_run 000000000000000000000008 running 1000 removed
	echo '- 1' > "$HUB/.cloop/config.yaml"
	exits 0 cloop sweep --only sessions
	same "$(state_of 000000000000000000000008)" "running running"
	exec_sql "update run set state = 'finished', outcome = 'lost', finished_at = 1 where state <> 'finished'"
}

@test "sessions: what was to be started again and was not is given up once" {
	open_run 000000000000000000000011 running 1000
	open_run 000000000000000000000012 running 1000
	open_run 000000000000000000000013 running 1000
	exec_sql "update session set state = 'requeued', updated_at = $(NOW) - 400000 where id = 'ses_000000000000000000000011';
		update session set state = 'requeued', updated_at = $(NOW) - 1000 where id = 'ses_000000000000000000000012';
		update session set state = 'requeued', updated_at = $(NOW) + 900000 where id = 'ses_000000000000000000000013';
		update run set state = 'finished', outcome = 'lost', finished_at = 1 where state <> 'finished'"
	exits 0 cloop sweep --only sessions
	same "$(state_of 000000000000000000000011)" "finished failed"
	same "$(state_of 000000000000000000000012)" "finished requeued"
	same "$(state_of 000000000000000000000013)" "finished requeued"
	exits 0 cloop sweep --only sessions
	lacks "$output" started
}

@test "staging, mounts and orphans: only of what our own rows say is over" {
	a_handle c-0000000000a1 null ended 1000
	for h in c-0000000000a1 c-0000000000a2; do
		mkdir -p "$T/run/w/$h/stage" && chmod 700 "$T/run" "$T/run/w"
		mount -t tmpfs none "$T/run/w/$h/stage"
	done
	exits 0 cloop sweep --only mounts
	has "$output" "removed a mount of c-0000000000a1"
	grep -q "c-0000000000a2/stage" /proc/self/mounts
	[ -e "$T/run/w/c-0000000000a1" ]
	exits 0 cloop sweep --only staging
	[ ! -e "$T/run/w/c-0000000000a1" ]
	[ -e "$T/run/w/c-0000000000a2" ]
	umount "$T/run/w/c-0000000000a2/stage"
	rm -r "$T/run/w/c-0000000000a2"
	mkdir -p "$HUB/.cloop/logs/c-0000000000a1" "$HUB/.cloop/logs/c-0000000000a2"
	exits 0 cloop sweep --only staging
	[ -e "$HUB/.cloop/logs/c-0000000000a1" ]
	exec_sql "update handle set ended_at = ended_at - 1300000000 where id = 'c-0000000000a1'"
	exits 0 cloop sweep --only staging
	[ ! -e "$HUB/.cloop/logs/c-0000000000a1" ]
	[ -e "$HUB/.cloop/logs/c-0000000000a2" ]
}

@test "leases: what lapsed is ended" {
	exits 0 cloop sweep --only leases
	same "$output" "0 live, 0 adopted, 0 lost, 0 collected"
	exec_sql "insert into lease (seq, id, project, executor_id, labels, actor, created_at, expires_at, state)
		values (1, 'lease_000000000000000000000001', '$P', 'local', '{}', 'test', 1, 2, 'live')"
	exits 0 cloop sweep --only leases
	same "$(sql "select state from lease where id = 'lease_000000000000000000000001'")" expired
	has "$output" "ended 1 leases"
}

@test "twenty passes beside each other finish each run once" {
	for i in 1 2 3 4 5 6 7 8 9; do open_run 00000000000000000000002$i starting 400000; done
	for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		cloop sweep --only adopt,leases,sessions,staging,mounts > "$T/pass.$n" 2>&1 &
	done
	wait
	same "$(cat "$T"/pass.* | grep -c 'is lost')" 9
	same "$(cat "$T"/pass.* | grep -vc -e 'is lost' -e '0 live, 0 adopted')" 0
}

@test "parts by name, and no others" {
	exits 64 cloop sweep --only adopt,magic
	has "$stderr" "'magic' is no part"
	has "$stderr" "adopt, leases, sessions, orphans, staging, mounts, networks, worktrees, evidence, images"
	exits 64 cloop sweep --guardian --only adopt
	exits 0 cloop sweep --only networks --only orphans --json
	same "$(jq -r '[.live, .collected] | join(" ")' <<<"$output")" "0 0"
}

@test "a janitor that cannot work is named, and the others go on" {
	open_run 000000000000000000000031 starting 400000
	localhub_config "" "  drivers: {enabled: true, id: gone, driver: /nowhere/cloop-exec-gone}"
	exits 0 cloop sweep
	has "$stderr" "orphans"
	has "$stderr" "/nowhere/cloop-exec-gone"
	same "$(state_of 000000000000000000000031)" "finished failed"
}

@test "how often a guardian collects is configured" {
	localhub_config "" "  orphan_sweep_interval_minutes: 0"
	exits 0 cloop hub config check
	lacks "$stderr$output" "does not have"
	localhub_config "" "  orphan_sweep_interval_minutes: 10081"
	exits 78 cloop hub config check
	localhub_config
}

@test "the samples: systemd and cron name commands that are there" {
	need systemd-analyze
	for u in sweep.service sweep.timer; do
		sed "s,/usr/local/bin/cloop,$BIN/cloop," "$SRC/share/systemd/cloop-$u" > "$BATS_TEST_TMPDIR/cloop-$u"
	done
	exits 0 systemd-analyze verify "$BATS_TEST_TMPDIR/cloop-sweep.timer" "$BATS_TEST_TMPDIR/cloop-sweep.service"
	grep -v -e '^#' -e '^PATH' "$SRC/share/cron/cloop-sweep" | cut -d' ' -f6- | sed 's/.*root //' |
		while read -r line; do sh -c "${line//\/var\/lib\/cloop/$HUB}" || exit 1; done
}

# own_tmp : from here on `inn CMD...` sees a /tmp in which nothing is but this hub.
own_tmp() {
	unshare --mount sleep 600 3>&- < /dev/null > /dev/null 2>&1 &
	NSPID=$!
	until_true other_mounts
	inn sh -ec '
		mount -t tmpfs none /mnt
		n=0
		for i; do mkdir "/mnt/$((n += 1))"; mount --bind "$i" "/mnt/$n"; done
		mount -t tmpfs none /tmp
		n=0
		for i; do mkdir -p "$i"; mount --bind "/mnt/$((n += 1))" "$i"; done
		umount -l /mnt' sh "$T" "$SRC" "$BUILD_DIR" "$BATS_TEST_TMPDIR"
}
other_mounts() { [ "$(readlink "/proc/$NSPID/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]; }
inn() { nsenter --mount --target "$NSPID" -- "$@"; }
# in_tmp : what is there of tests and drills. aged : it is an hour old.
in_tmp() { inn find /tmp -maxdepth 1 -name 'cloop-*'; }
aged() { inn find /tmp -maxdepth 1 -name 'cloop-*' -exec touch -h -d '1 hour ago' {} +; }
staging() { inn cloop sweep --only staging; }
fresh() { :; }
after() {
	aged
	staging > /dev/null
	[ -z "$(in_tmp)" ]
}

@test "a test that is killed anywhere: a sweep finds what it left in /tmp" {
	sanitized && skip "LD_PRELOAD comes before the sanitizer"
	own_tmp
	each_fault rename kill nsenter --mount --target "$NSPID" -- cloop-executor test local --skip-preflight
	[ "$faults" -ge 1 ]
	each_fault make kill nsenter --mount --target "$NSPID" -- cloop-executor test local --skip-preflight
	[ "$faults" -ge 1 ]
	# One that may still be about to take its lock, or to have a workload, is left alone.
	inn env LD_PRELOAD="$BUILD_DIR/t/lib/faults.so" T_FAULT_CALL=rename T_FAULT_NTH=1 T_FAULT_MODE=kill \
		cloop-executor test local --skip-preflight || true
	dir=$(in_tmp)
	same "$(inn ls "$dir")" lock.new
	exits 0 staging
	same "$(in_tmp)" "$dir"
	inn touch -d 'tomorrow' "$dir"
	exits 0 staging
	same "$(in_tmp)" "$dir"
	aged
	exits 0 staging
	has "$output" "removed '$dir' of a test that was killed"
	same "$(in_tmp)" ""
}

@test "a drill that is killed before and after it holds its lock" {
	sanitized && skip "LD_PRELOAD comes before the sanitizer"
	own_tmp
	inn env LD_PRELOAD="$BUILD_DIR/t/lib/faults.so" T_FAULT_CALL=rename T_FAULT_NTH=1 T_FAULT_MODE=kill \
		cloop-drill revoke -e local || true
	dir=$(in_tmp)
	exits 0 staging
	same "$(in_tmp)" "$dir"
	# Nor does the next drill.
	exits 1 inn cloop-drill revoke -e local
	same "$(in_tmp)" "$dir"
	aged
	exits 0 staging
	has "$output" "removed 1 drill that had been killed"
	same "$(in_tmp)" ""
	# Once it has its lock, nobody has to wait.
	inn env LD_PRELOAD="$BUILD_DIR/t/lib/faults.so" T_FAULT_CALL=rename T_FAULT_NTH=2 T_FAULT_MODE=kill \
		cloop-drill revoke -e local || true
	[ -n "$(in_tmp)" ]
	exits 0 staging
	has "$output" "removed 1 drill that had been killed"
	same "$(in_tmp)" ""
}

@test "what others put there under such names is left alone, and no link is followed" {
	own_tmp
	mkdir -p "$T/victim/hub/.cloop"
	echo mine > "$T/victim/kept"
	for kind in smoke drill; do
		inn sh -ec '
			ln -s "$2/victim" "/tmp/cloop-$1.link"
			: > "/tmp/cloop-$1.file"
			mkdir "/tmp/cloop-$1.theirs" "/tmp/cloop-$1.open" "/tmp/cloop-$1.held" "/tmp/cloop-$1.odd"
			for i in theirs open held; do : > "/tmp/cloop-$1.$i/lock"; done
			chown -R 1000:1000 "/tmp/cloop-$1.theirs"
			chmod 777 "/tmp/cloop-$1.open"
			ln -s "$2/victim/kept" "/tmp/cloop-$1.odd/lock"' sh $kind "$T"
	done
	aged
	same "$(in_tmp | wc -l)" 12
	inn flock /tmp/cloop-smoke.held/lock flock /tmp/cloop-drill.held/lock sh -c "echo \$\$ > '$T/holds'; exec sleep 600" > /dev/null 2>&1 3>&- &
	until_true test -s "$T/holds"
	holder=$(< "$T/holds")
	exits 0 staging
	same "$(in_tmp | wc -l)" 12
	kill $holder
	until_true free
	for kind in smoke drill; do inn rm -r "/tmp/cloop-$kind.open" "/tmp/cloop-$kind.theirs" "/tmp/cloop-$kind.odd" "/tmp/cloop-$kind.file" "/tmp/cloop-$kind.link"; done
	# A workload may leave what it likes in its directory.
	inn sh -ec 'mkdir /tmp/cloop-smoke.held/project; ln -s "$1/victim" /tmp/cloop-smoke.held/project/l
		chown -R 65534:65534 /tmp/cloop-smoke.held/project' sh "$T"
	aged
	exits 0 staging
	same "$(in_tmp)" ""
	same "$(cat "$T/victim/kept")" mine
}
free() { inn flock -n /tmp/cloop-smoke.held/lock true && inn flock -n /tmp/cloop-drill.held/lock true; }
