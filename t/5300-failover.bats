# What becomes of a run whose executor is lost: claimed once, started again once, on another one.
# shellcheck shell=bash disable=SC2154
load lib/common
load lib/localhub
load lib/faults

setup_file() {
	need root jq sqlite3 unshare setpriv python3
	localhub_up
	mkdir -m 755 "$T/drivers"
	# One program an executor, so that each can be lost by itself.
	for x in a b c; do
		mkdir -m 755 "$T/drivers/$x"
		install -m 755 "$SRC/t/drivers/cloop-exec-netless" "$T/drivers/$x/"
	done
}
teardown_file() { localhub_down; }
setup() {
	fleet a b
	for x in a b c; do install -m 755 "$SRC/t/drivers/cloop-exec-netless" "$T/drivers/$x/"; done
	exec_sql "delete from executor_health; delete from executor_access; delete from session_loss"
}
teardown() {
	local r
	for r in $(sql "select id from run where state <> 'finished'"); do cloop runs stop --grace 0s "$r" >/dev/null 2>&1 || true; done
}

exec_sql() { sqlite3 -cmd 'pragma foreign_keys=on' "$HUB/.cloop/state.db" "$1"; }
# fleet ID... : a hub with those executors, each of a driver of its own; CAP is the cap's line.
fleet() {
	local x list=""
	for x; do
		list+="
    - {id: $x, enabled: true, driver: $T/drivers/$x/cloop-exec-netless}"
	done
	localhub_config "" "${CAP:+  failover: {max_attempts: $CAP\}
}  drivers:$list"
}
# begin EXECUTOR [OPTION...] : a workload that lives until it is ended; R, H and S.
begin() {
	local on=$1
	shift
	R=$(cloop run -p "$P" -e "$on" -d "$@" -- sh -c 'echo here; exec sleep 600' < /dev/null)
	H=$(sql "select handle_id from run where id = '$R'")
	S=$(sql "select id from session where run_id = '$R'")
	no_guardian
}
# What each start brings up would fail over, too, and beside the test.
sweep() { no_guardian && cloop sweep --only sessions; }
lose() { printf '#!/bin/sh\nexit 69\n' > "$T/drivers/$1/cloop-exec-netless"; }
# unreachable ID : as three probes leave it.
unreachable() {
	exec_sql "insert or replace into executor_health (executor_id, state, reason, failures, last_seen, last_probe, next_probe, changed_at, changed_by, version)
		values ('$1', 'unreachable', 'gone', 3, 1, 1, 4000000000000, 1, 'probe', 7)"
}
state_of() { sql "select state from session where id = '$1'"; }
# next_of SESSION : the run that replaces it.
next_of() { sql "select n.run_id from session s join session n on n.id = s.replaced_by where s.id = '$1'"; }
# runs TASK [STATE]
runs() { sql "select count(*) from run where project = '$P' and task is '$1' and state like '${2:-%}'"; }
live() { sql "select count(*) from handle h join run r on r.id = h.run_id where h.state = 'live' and r.task is '$1'"; }
audits() { cloop hub audit list --json --action "$1" | jq -c "$2"; }

@test "an executor that is lost: its run starts again on the other, and nothing of it stays" {
	begin a --task T-1 --timeout 1h
	lose a
	exits 1 cloop executor probe-health a
	exits 1 cloop executor probe-health a
	same "$(state_of "$S")" running
	exits 1 cloop executor probe-health a
	has "$output" "a: degraded -> unreachable"
	has "$output" "$R is lost with executor a"
	N=$(next_of "$S")
	has "$output" "$R is started again on b as $N"
	same "$(sql "select state, outcome, error from run where id = '$R'")" "finished|lost|its executor a was lost"
	same "$(sql "select state from handle where id = '$H'")" ended
	same "$(sql "select executor_id, task, detached, deadline - created_at from run where id = '$N'")" "b|T-1|1|3600000"
	same "$(sql "select attempt, requeued_from = '$S', isolated, state from session where run_id = '$N'")" "2|1|0|running"
	until_true grep -q here <(cloop runs logs "$N")
	same "$(audits executor.failover '[.entity_id, .detail.run_id, .detail.to, .detail.attempt]' | head -1)" "[\"a\",\"$R\",\"b\",2]"
	has "$(cloop runs journal -p "$P" 2>&1 || cloop runs journal "$N")" "failed over from executor a to b"
	# Nothing more comes of it.
	exits 1 cloop executor probe-health a --json
	same "$(jq -c .failover <<< "$output")" "[]"
	exits 0 sweep
	same "$(runs T-1)" 2
}

@test "the sweep does it, too, and leaves what ended by itself and what is held alone" {
	begin a --task T-2
	unreachable a
	begin b --task T-2b
	exits 0 sweep
	has "$output" "$R" && return 1
	has "$output" "is started again on b as"
	same "$(runs T-2)" 2
	same "$(runs T-2b)" 1
	# A workload that has ended is its supervisor's to settle.
	begin b --task T-2c
	exec_sql "update handle set state = 'ended', ended_at = $(date +%s%3N) where id = '$H'"
	unreachable b
	sweep > /dev/null
	same "$(state_of "$S")" running
	exec_sql "update handle set state = 'live', ended_at = 0 where id = '$H'"
	# Somebody who cordons an executor has it lose nothing.
	exec_sql "update executor_health set state = 'cordoned'"
	begin_on_c() { fleet a b c; begin c --task T-2d; unreachable c; exec_sql "update executor_health set state = 'draining' where executor_id = 'c'"; }
	begin_on_c
	exits 0 sweep
	same "$(state_of "$S")" running
}

@test "a workload whose run directory is another than ours is ended, too" {
	CLOOP_RUN_DIR=$T/other begin a --task T-dir
	unreachable a
	exits 0 sweep
	same "$(runs T-dir)" 2
	same "$(sql "select state from handle where id = '$H'")" ended
}

@test "no other executor: it is given up at once, and the journal says why" {
	fleet a
	begin a --task T-3
	unreachable a
	exits 0 sweep
	has "$output" "$R is not started again"
	same "$(state_of "$S")" failed
	same "$(runs T-3)" 1
	same "$(live T-3)" 0
	same "$(audits executor.failover '.detail.run_id' | head -1)" "\"$R\""
	has "$(sql "select text from journal where run_id = '$R' and kind = 'executor_lost'")" "executor a was lost and the run was not started again"
}

@test "never on a restricted executor, nor on the hub's own host" {
	cloop executor access b --add user:root > /dev/null
	begin a --task T-4
	unreachable a
	exits 0 sweep
	same "$(state_of "$S")" failed
	same "$(runs T-4)" 1
	# By name it was sent to the host, and there it was lost: it goes where anything may go.
	cloop executor access b --remove user:root > /dev/null
	begin local --task T-4b
	unreachable local
	exits 0 sweep
	same "$(sql "select executor_id from run where id = '$(next_of "$S")'")" b
	# What was kept off the host is never sent to what isolates nothing.
	exec_sql "delete from executor_health"
	begin a --task T-4c
	exec_sql "update session set isolated = 1 where id = '$S'"
	unreachable a
	exits 0 sweep
	same "$(state_of "$S")" failed
	same "$(live T-4c)" 0
}

@test "the cap: read at each claim, 0 turns it off" {
	begin a --task T-5
	CAP=0 fleet a b
	unreachable a
	exits 0 sweep
	has "$output" "started again as often as it may be"
	same "$(state_of "$S")" failover_exhausted
	same "$(live T-5)" 0
	same "$(audits executor.failover_exhausted '[.detail.max_attempts, .detail.executors]' | head -1)" '[0,["a"]]'
	has "$(sql "select text from journal where run_id = '$R' and kind = 'executor_lost'")" "max_attempts is 0"
	# Raised later it brings nothing back.
	CAP=10 fleet a b
	exits 0 sweep
	same "$(runs T-5)" 1
}

@test "two executors lost with one workload: a suspect, held until somebody lets it go" {
	fleet a b c
	begin a --task bomb
	unreachable a
	exits 0 sweep
	N=$(next_of "$S")
	on=$(sql "select executor_id from run where id = '$N'")
	unreachable "$on"
	exits 0 sweep
	has "$output" "held as a suspect"
	S=$(sql "select id from session where run_id = '$N'")
	same "$(state_of "$S")" quarantined
	same "$(live bomb)" 0
	same "$(runs bomb)" 2
	exits 0 cloop executor list --inventory
	has "$output" "suspected node killers"
	has "$output" "task bomb"
	has "$output" "\"a\""
	has "$output" "cloop executor pardon ses_"
	exits 0 cloop executor list --inventory --json
	same "$(jq -c 'select(.suspect) | [.workload, (.executors | sort)]' <<< "$output")" "[\"task:bomb\",$(printf 'a\n%s\n' "$on" | sort | jq -R . | jq -cs .)]"
	release=$(jq -r 'select(.suspect) | .release' <<< "$output")
	exec_sql "delete from executor_health"
	exits 125 cloop run -p "$P" -e c --task bomb -- true
	has "$stderr" "fix: when you know that it was not that: $release"
	exits 125 cloop run --json -p "$P" -e c --task bomb -- true
	same "$(jq -r .error.constraint <<< "$stderr")" quarantine
	exits 0 cloop run -p "$P" -e c --task other -- true
	exits 0 $release
	has "$output" "2 losses forgotten"
	exits 0 $release
	has "$output" "nothing is held against it"
	exits 0 cloop run -p "$P" -e c --task bomb -- true
	same "$(audits task.quarantine .detail.workload | head -1)" '"task:bomb"'
	same "$(audits task.quarantine_release .entity_id | head -1)" "\"${release##* }\""
	exits 0 cloop executor list --inventory
	has "$output" "no suspected node killers"
}

@test "an end of its own clears a workload of one loss, and never a suspect" {
	exec_sql "delete from session_loss"
	begin a --task T-7
	exec_sql "insert into session_loss values ('$S', '$P', 'task:T-7', 'x', 1)"
	cloop run -p "$P" -e b --task T-7 -- true < /dev/null
	same "$(sql "select count(*) from session_loss")" 0
	begin b --task T-7
	exec_sql "insert into session_loss values ('$S', '$P', 'task:T-7', 'x', 1)"
	begin b --task T-7
	cp "$T/drivers/b/cloop-exec-netless" "$T/keep"
	exec_sql "insert into session_loss values ('$S', '$P', 'task:T-7', 'y', 1)"
	cloop runs stop "$R" > /dev/null
	exec_sql "update run set outcome = 'exited' where id = '$R'"
	same "$(sql "select count(*) from session_loss")" 2
}

@test "--replaces is for what is requeued, and for that alone" {
	begin a --task T-8
	exits 125 cloop run -p "$P" --replaces "$S" -- true
	exits 125 cloop run -p "$P" --replaces "$S" --detach -e b -- true
	exits 125 cloop run -p "$P" --replaces "$S" --detach --task T-8 -- sh -c 'echo here; exec sleep 600'
	has "$stderr" "is running: there is nothing to replace"
	exec_sql "update session set state = 'requeued' where id = '$S'"
	exits 125 cloop run -p "$P" --replaces "$S" --detach --task T-8 -- true
	has "$stderr" "command or task is another"
	# Its workload lives: two of them in one project are worse than none.
	same "$(state_of "$S")" failed
	exec_sql "update session set state = 'requeued' where id = '$S'"
	exits 125 cloop run -p "$P" --replaces "$S" --detach --task T-8 -- sh -c 'echo here; exec sleep 600'
	has "$stderr" "has not ended yet"
	same "$(state_of "$S")" requeued
	same "$(runs T-8)" 1
	exits 125 cloop run -p "$P" --replaces ses_000000 --detach -- true
}

# a_loop : probe-health --loop as installed, but for a cloop-run that takes its time.
a_loop() {
	local x
	mkdir -p "$T/bin"
	rm -f "$T/bin/started"
	for x in "$BIN"/*; do ln -sf "$x" "$T/bin/"; done
	rm -f "$T/bin/cloop-executor" "$T/bin/cloop-run"
	cp "$BIN/cloop-executor" "$T/bin/"
	printf '#!/bin/sh\necho $$ > "%s"\nmv "%s" "%s"\nexec sleep 600\n' \
		"$T/bin/s" "$T/bin/s" "$T/bin/started" > "$T/bin/cloop-run"
	chmod 755 "$T/bin/cloop-run"
	# What other tests have left requeued would come first.
	exec_sql "update session set state = 'failed' where state = 'requeued';
		update executor_health set next_probe = 0"
	"$T/bin/cloop-executor" probe-health --loop > "$T/log" 2>&1 3>&- < /dev/null &
	LOOP=$!
}
# of_loop PID : it descends from the loop.
of_loop() {
	local p=$1
	while [ "$p" -gt 1 ]; do
		[ "$p" != "$LOOP" ] || return 0
		p=$(sed 's/.*) . //' "/proc/$p/stat" | cut -d' ' -f1)
	done
	return 1
}

@test "a loop that is told to end while a replacement starts: it ends, and that goes on" {
	begin a --task T-slow
	lose a
	unreachable a
	a_loop
	until_true test -e "$T/bin/started"
	started=$(< "$T/bin/started")
	# Nobody's zombie when it ends, however late.
	run ! of_loop "$started"
	kill -TERM "$LOOP"
	wait "$LOOP"
	[ -d "/proc/$started" ]
	kill "$started"
	has "$(< "$T/log")" "$R is lost with executor a"
	has "$(< "$T/log")" "$R is not started again yet"
	same "$(sql "select state from handle where id = '$H'")" ended
	until_true settled "$S"
	same "$(runs T-slow)" 2
	same "$(live T-slow)" 1
}

@test "a loop that is told to end while a lost workload ends: the next pass takes it on" {
	begin a --task T-end
	kill_shim
	lose a
	unreachable a
	# Somebody answers for its supervisor, and nothing ends.
	answers "$T/run/w/$H/sock"
	a_loop
	until_true test -s "$T/asked"
	kill -TERM "$LOOP"
	wait "$LOOP"
	kill "$ANSWERS"
	same "$(sql "select state, tried_at from session where id = '$S'")" "requeued|0"
	[ ! -e "$T/bin/started" ]
	cloop sweep --only adopt > /dev/null
	until_true passed "$S"
	same "$(runs T-end)" 2
	same "$(live T-end)" 1
}
passed() {
	sweep > /dev/null
	[ "$(state_of "$1")" = replaced ]
}
# answers SOCKET : says yes to each request, and does nothing.
answers() {
	rm -f "$T/asked"
	python3 -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.path.exists(sys.argv[1]): os.unlink(sys.argv[1])
s.bind(sys.argv[1]); s.listen(8)
print("up", flush=True)
while True:
    c, _ = s.accept()
    m = c.recv(65536)
    c.send(b"{\"ok\":true}")
    with open(sys.argv[2], "ab") as f: f.write(m)
' "$1" "$T/asked" > "$T/up" 3>&- < /dev/null &
	ANSWERS=$!
	until_true grep -q up "$T/up"
}

@test "a hundred supervisors at once: one dispatch" {
	begin a --task T-9
	unreachable a
	for _ in $(seq 50); do
		cloop sweep --only sessions >> "$T/said" 2>&1 3>&- &
		cloop executor probe-health a >> "$T/said" 2>&1 3>&- &
	done
	wait
	# Who was busy at the wrong moment goes on at the next pass.
	until_true settled "$S"
	same "$(state_of "$S")" replaced
	same "$(runs T-9)" 2
	same "$(live T-9)" 1
	same "$(sql "select count(*) from session_loss where session_id = '$S'")" 1
	same "$(audits executor.failover "select(.detail.run_id == \"$R\") | 1" | wc -l)" 1
}
settled() {
	exec_sql "update session set tried_at = 0 where id = '$1' and state = 'requeued'"
	sweep > /dev/null
	[ "$(state_of "$1")" = replaced ]
}

# killed_at N CMD... : it is killed at its Nth write; false: it has had fewer.
killed_at() {
	local n=$1
	shift
	rm -f "$T/hit"
	env LD_PRELOAD="$BUILD_DIR/t/lib/faults.so" T_FAULT_CALL=write T_FAULT_NTH="$n" T_FAULT_MODE=kill \
		T_FAULT_HIT="$T/hit" "$@" > /dev/null 2>&1 < /dev/null || true
	[ -e "$T/hit" ]
}
# one_dispatch NAME : whatever was left, passes make one replacement of it, and it lives.
one_dispatch() {
	# What was about to start is as old as if nobody had come for five minutes.
	exec_sql "update run set created_at = created_at - 400000 where state = 'starting'"
	until_true settled "$S"
	until_true lives "$1"
	same "$1 $(runs "$1" running) $(live "$1")" "$1 1 1"
	cloop runs stop --grace 0s "$(sql "select id from run where state = 'running' and task = '$1'")" > /dev/null
}
lives() {
	exec_sql "update run set created_at = created_at - 400000 where state = 'starting'"
	sweep > /dev/null
	[ "$(runs "$1" running)" = 1 ]
}

@test "a supervisor that is killed at any of its writes: one dispatch in the end, never two" {
	sanitized && skip "LD_PRELOAD comes before the sanitizer"
	local n more=true
	for ((n = 1; n < 400; n += 1 + n / 4)); do
		exec_sql "delete from executor_health; delete from session_loss"
		begin a --task "T-sweep-$n"
		unreachable a
		more=true
		killed_at $n "$BIN/cloop-sweep" --only sessions || more=false
		one_dispatch "T-sweep-$n"
		$more || break
	done
	! $more
	[ "$n" -gt 10 ]
}

@test "a replacement that is killed at any of its writes: the same" {
	sanitized && skip "LD_PRELOAD comes before the sanitizer"
	local n more=true
	for ((n = 1; n < 400; n += 1 + n / 4)); do
		exec_sql "delete from executor_health; delete from session_loss"
		begin a --task "T-run-$n"
		cloop runs stop --grace 0s "$R" > /dev/null
		until_true ended
		exec_sql "update run set outcome = 'lost' where id = '$R';
			update session set state = 'requeued', ended_at = 0, updated_at = $(date +%s%3N) where id = '$S'"
		more=true
		killed_at $n "$BIN/cloop-run" -p "$P" --detach --task "T-run-$n" --replaces "$S" -- sh -c 'echo here; exec sleep 600' || more=false
		one_dispatch "T-run-$n"
		$more || break
	done
	! $more
	[ "$n" -gt 10 ]
}

@test "a replacement whose start was killed is requeued, and the cap holds for that too" {
	begin a --task T-11
	unreachable a
	cloop runs stop --grace 0s "$R" > /dev/null
	until_true ended
	exec_sql "insert into run (id, project, executor_id, argv, harness, task, uid, state, created_at)
			select 'run_00000000000000000000beef', project, 'b', argv, harness, task, uid, 'starting', $(date +%s%3N) - 400000 from run where id = '$R';
		update session set state = 'requeued' where id = '$S';
		insert into session (id, run_id, executor_id, project, workload, isolated, claim_token, state, attempt, requeued_from, started_at, updated_at)
			values ('ses_00000000000000000000beef', 'run_00000000000000000000beef', 'b', '$P', 'task:T-11', 0, 'claim_x', 'running', 2, '$S', 1, 1);
		update session set state = 'replaced', replaced_by = 'ses_00000000000000000000beef', attempt = 2 where id = '$S'"
	exits 0 sweep
	same "$(state_of "$S")" replaced
	same "$(live T-11)" 0
	exec_sql "update run set state = 'starting', outcome = null, finished_at = 0 where id = 'run_00000000000000000000beef';
		update session set state = 'running', ended_at = 0 where id = 'ses_00000000000000000000beef';
		update session set attempt = 1 where id = '$S'"
	exits 0 sweep
	has "$output" "never started, and what it was to replace is requeued"
	has "$output" "is started again on b as"
	same "$(live T-11)" 1
	same "$(sql "select attempt from session where run_id = '$(next_of "$S")'")" 3
}
