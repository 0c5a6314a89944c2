# cloop-exec-local(1): plain processes of this host, only where somebody asked for them by name.
# shellcheck shell=bash disable=SC2154
load lib/common
load lib/localhub

setup_file() {
	need root jq sqlite3
	localhub_up
}
teardown_file() { localhub_down; }
setup() { localhub_config; }

local_run() { cloop run -p "$P" -e local "$@" </dev/null; }
# alive PID : a process that is more than a zombie.
alive() { [ -e "/proc/$1/stat" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
dead() { ! alive "$1"; }

@test "a process runs as the project's owner, in the project, with a closed environment" {
	export LEAK=me
	exits 3 local_run -- sh -c 'id -u; id -G; pwd; env | cut -d= -f1 | grep -vx -e USER -e LOGNAME | sort | tr "\n" " "; exit 3'
	same "$output" "1000
1000
$P
CLOOP_EXECUTOR CLOOP_HANDLE CLOOP_RUN_ID CLOOP_WORKSPACE HOME LANG PATH PWD "
	exits 0 local_run -- grep NoNewPrivs /proc/self/status
	same "$output" "NoNewPrivs:	1"
	exits 0 local_run -- sh -c 'ls /proc/self/fd | wc -l'
	same "$output" 4
	exits 127 local_run -- no-such-command
	has "$stderr" "there is no such command"
}

@test "stdin, both outputs and the status travel" {
	exits 0 bash -c "printf 'in\n' | cloop run -p '$P' -e local -- sh -c 'cat; echo err >&2'"
	same "$output" in
	has "$stderr" err
	exits 0 local_run -- head -c 300000 /dev/zero
	exits 143 local_run -- sh -c 'kill -TERM $$'
}

@test "without allow_host_process nothing runs, whoever asks" {
	sed -i 's/allow_host_process: true/allow_host_process: false/' "$HUB/.cloop/config.yaml"
	exits 125 local_run --json -- touch "$P/ran"
	has "$stderr" host_execution_policy
	[ ! -e "$P/ran" ]
	spec=$(jq -nc --arg h "$HUB" --arg p "$P" '{hub: $h, project: $p,
		executor: {enabled: true, id: "local"}, argv: ["touch", "ran"]}')
	exits 1 cloop-exec-local start --json <<<"$spec"
	has "$stderr" host_execution_policy
	exits 1 cloop-exec-local prepare --json <<<"$spec"
	exits 1 cloop-exec-local preflight <<<'{"executor": {"enabled": true}, "hub": "'"$HUB"'"}'
	same "$(jq -r '.fatal' <<<"$output")" true
	[ ! -e "$P/ran" ]
	exits 0 cloop hub config check
	has "$output$stderr" "allow_host_process is false, so nothing runs here"
}

@test "it is never the default, never found by looking, and never what is left" {
	exits 125 cloop run -p "$P" -- touch "$P/ran"
	exits 125 cloop run -p "$P" --place -- touch "$P/ran"
	# The container executor is out of service: that is a refusal.
	localhub_config "" "  container: {enabled: true, oci_runtime: ../runc, image: x}"
	exits 125 cloop run -p "$P" -- touch "$P/ran"
	has "$stderr" "out of service"
	exits 125 cloop run -p "$P" --place -- touch "$P/ran"
	[ ! -e "$P/ran" ]
}

@test "what no process can be held to is refused by name" {
	ask() {
		jq -nc --arg h "$HUB" --arg p "$P" "{hub: \$h, project: \$p,
			executor: {enabled: true, id: \"local\"}, argv: [\"true\"]} | $1" |
			cloop-exec-local prepare --json
	}
	while read -r constraint change; do
		exits 1 ask "$change"
		same "$(tail -n1 <<<"$stderr" | jq -r .error.constraint)" "$constraint"
	done <<-'E'
	image_override .image = "alpine:3"
	sandbox_build .setup = ["true"]
	sandbox_mounts .mounts = [{source: "a", target: "/b", read_only: true}]
	egress_scope .network = {scope: "public"}
	egress_scope .network = {scope: "none"}
	egress_policy .egress = {allow_public_internet: true, allow_ports: [443]}
	network .network = {disabled: true}
	E
	exits 0 ask .
	# The same from a project, by the matcher or by the driver.
	mkdir -p "$P/.cloop"
	for text in 'image: alpine:3' 'setup: ["true"]' 'capabilities: {egress: public}' 'env: [A]'; do
		echo "$text" > "$P/.cloop/sandbox.yaml"
		exits 125 local_run -- true
	done
	rm -rf "$P/.cloop"
}

@test "a project of root's, and one that is a link by now, are refused" {
	mkdir -p "$T/projects/root"
	exits 125 cloop run -p "$T/projects/root" -e local -- true
	has "$stderr" "belongs to root"
	localhub_config '    allow_root_user: true'
	exits 0 cloop run -p "$T/projects/root" -e local -- id -u
	same "$output" 0
	ln -sfn "$P" "$T/projects/link"
	spec=$(jq -nc --arg h "$HUB" --arg p "$T/projects/link" '{hub: $h, project: $p,
		executor: {enabled: true, id: "local"}, argv: ["true"]}')
	exits 1 cloop-exec-local start <<<"$spec"
	has "$stderr" "is now"
	spec=$(jq -c --arg p "$HUB" '.project = $p' <<<"$spec")
	exits 1 cloop-exec-local start <<<"$spec"
}

@test "limits hold where there are control groups" {
	[ "$(cloop-exec-local capabilities <<<'{"executor": {"enabled": true}, "hub": "/x"}' |
		jq -r .supports_resource_limits)" = true ] || skip "no control groups"
	localhub_config '    pids_limit: 8'
	run local_run -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done'
	has "$output" "fork"
	localhub_config '    memory: 64m'
	exits 137 local_run --json -- sh -c 'exec head -c 400m /dev/zero | tail'
	same "$(sql 'select outcome from run order by created_at desc limit 1')" oom
	localhub_config '    cpus: 0.5'
	detached sleep 300
	exits 0 sh -c "cat /sys/fs/cgroup/cpu*/cloop/$H/cpu.cfs_quota_us 2>/dev/null || cat /sys/fs/cgroup/cloop/$H/cpu.max"
	has "$output" 50000
	cloop runs stop --grace 0s "$R"
}

@test "what a workload leaves behind ends with it" {
	exits 0 local_run -- sh -c 'setsid sleep 300 >/dev/null 2>&1 & echo $!'
	pid=$output
	until_true dead "$pid"
	until_true test ! -e "$T/run/w/$(sql 'select handle_id from run order by created_at desc limit 1')"
}

@test "stop escalates, and a deadline kills" {
	detached sh -c 'trap "" TERM; echo up; while :; do sleep 1; done'
	until_true grep -q up <(cloop runs logs "$R")
	exits 0 cloop runs stop --grace 200ms "$R"
	has "$output" "killed"
	exits 137 cloop run -p "$P" -e local --timeout 300ms -- sleep 300
	same "$(sql 'select outcome from run order by created_at desc limit 1')" timeout
}

@test "stop and wait reach a run that was started under another run directory" {
	detached sh -c 'trap "" TERM; echo up; while :; do sleep 1; done'
	until_true grep -q up <(cloop runs logs "$R")
	exits 0 env CLOOP_RUN_DIR="$T/elsewhere" cloop runs stop --grace 200ms "$R"
	has "$output" "killed"
	[ ! -e "$T/elsewhere/w/$H" ]
	detached sh -c 'sleep 1; exit 3'
	exits 1 env CLOOP_RUN_DIR="$T/elsewhere" cloop runs wait "$R"
	same "$output" 3
}

@test "a supervisor that was killed is replaced: output and status are kept" {
	mkfifo -m 666 "$P/go"
	detached sh -c 'echo one; cat go; echo two; exit 5'
	until_true grep -q one <(cloop runs logs "$R")
	kill_shim
	exits 0 cloop sweep
	has "$output" "adopted $H"
	echo > "$P/go"
	until_true finished
	rm "$P/go"
	same "$(sql "select outcome || exit_code from run where id = '$R'")" exited5
	exits 0 cloop runs logs "$R"
	has "$output" two
}

@test "a workload that ends while nobody watches keeps its status" {
	mkfifo -m 666 "$P/go"
	detached sh -c 'cat go; echo last; exit 6'
	pid=$(cut -d' ' -f1 "$RD/pid")
	kill_shim
	echo > "$P/go"
	until_true dead "$pid"
	rm "$P/go"
	cloop sweep
	until_true finished
	same "$(sql "select outcome || exit_code from run where id = '$R'")" exited6
	exits 0 cloop runs logs "$R"
	has "$output" last
}

@test "a first process that was killed unseen is lost, and never called a success" {
	detached sleep 300
	pid=$(cut -d' ' -f1 "$RD/pid")
	kill_shim
	kill -KILL "$pid"
	until_true dead "$pid"
	cloop sweep
	until_true finished
	same "$(sql "select outcome, ifnull(exit_code, 'none') from run where id = '$R'")" "lost|none"
	until_true ended
}

@test "a runtime folder that somebody removed takes the workload with it, and no success" {
	detached sleep 300
	pid=$(cut -d' ' -f1 "$RD/pid")
	kill_shim
	rm -rf "$RD"
	cloop sweep
	until_true finished
	same "$(sql "select outcome from run where id = '$R'")" lost
	until_true ended
	until_true dead "$pid"
}

@test "a pid that is another's now, or of another boot, is never signalled" {
	for change in 's/^\([0-9]*\) [0-9]*/\1 1/' 's/ [^ ]*$/ 00000000-0000-0000-0000-000000000000/'; do
		detached sleep 300
		kill_shim
		own=$(cut -d' ' -f1 "$RD/pid")
		sleep 300 3>&- &
		bystander=$!
		start=$(awk '{print $22}' "/proc/$bystander/stat")
		boot=$(cat /proc/sys/kernel/random/boot_id)
		echo "$bystander $start $boot" | sed "$change" > "$RD/pid"
		cloop sweep
		until_true finished
		same "$(sql "select outcome from run where id = '$R'")" lost
		alive "$bystander"
		until_true ended
		kill "$bystander"
		# What had its control group was its own all the same.
		[ ! -d /sys/fs/cgroup/pids ] && [ ! -e /sys/fs/cgroup/cgroup.controllers ] || until_true dead "$own"
		kill -KILL "$own" 2>/dev/null || true
	done
}

@test "a supervisor killed at any moment of the start leaves nothing that runs unseen" {
	export SLEEP=301.$BATS_ROOT_PID
	for ms in 0 1 2 4 8 16 32 64; do
		no_guardian
		cloop run -p "$P" -e local -d -- sleep "$SLEEP" >/dev/null 2>&1 &
		job=$!
		sleep "0.$(printf %03d "$ms")"
		for p in $(of_hub); do kill -KILL "$p" 2>/dev/null || true; done
		wait "$job" || true
	done
	no_guardian
	# Each is either adopted and stopped, or never was.
	cloop sweep >/dev/null
	for R in $(sql "select id from run where state <> 'finished'"); do
		H=$(sql "select id from handle where run_id = '$R' and state = 'live'")
		[ -z "$H" ] || cloop runs stop --grace 0s "$R" >/dev/null
	done
	until_true dead_all
}
dead_all() { ! pgrep -u 1000 -fx "sleep $SLEEP" >/dev/null; }

@test "without root: the user's own project, no limits, and orphans end too" {
	open_bin
	u=$BATS_TEST_TMPDIR/u
	mkdir -p "$u/p" && chown -R 65534:65534 "$u"
	user() { as_user env CLOOP_DIR="$u/hub" CLOOP_RUN_DIR="$u/run" CLOOP_HUBS="$u/hubs" HOME="$u" PATH="$PATH" "$@"; }
	exits 0 user cloop hub bootstrap
	user sh -c "printf 'executors:\n  local: {enabled: true}\norchestrator: {min_free_disk_mb: 16}\n' > '$u/hub/.cloop/config.yaml'"
	exits 0 user cloop run -p "$u/p" -e local -- sh -c 'id -u; setsid sleep 302 >/dev/null 2>&1 & echo $!'
	same "$(head -n1 <<<"$output")" 65534
	until_true dead "$(tail -n1 <<<"$output")"
	user sh -c "printf 'executors:\n  local: {enabled: true, memory: 64m}\n' > '$u/hub/.cloop/config.yaml'"
	exits 125 user cloop run -p "$u/p" -e local -- true
	has "$stderr" "control groups"
	exits 125 user cloop run -p "$P" -e local -- true
	for p in $(pgrep -f "cloop-sweep -C $u/hub" || true); do kill -KILL "$p" || true; done
}

@test "reap ends what carries the mark of a workload that is over, and nothing else" {
	detached true
	until_true ended
	env CLOOP_HANDLE="$H" sleep 303 3>&- &
	mine=$!
	env CLOOP_HANDLE=c-000000000000 sleep 303 3>&- &
	unknown=$!
	in='{"executor": {"enabled": true}, "hub": "'$HUB'"}'
	# It is over for a moment only: whoever may still be cleaning up is left alone.
	exits 0 cloop-exec-local reap <<<"$in"
	alive "$mine"
	sqlite3 "$HUB/.cloop/state.db" "update handle set ended_at = ended_at - 100000 where id = '$H'"
	exits 0 cloop-exec-local reap <<<"$in"
	same "$(jq -r '.removed[].name' <<<"$output")" "$H"
	until_true dead "$mine"
	alive "$unknown"
	kill "$unknown"
}
