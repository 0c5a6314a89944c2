#!/usr/bin/env bats
# A workload runs confined, end to end: what it sees, how it ends, what is left.

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip
	hub_up
}
teardown_file() { hub_down; }
setup() { hub_config_none; rm -rf "$P/.cloop" "$P"/*; }

@test "the workload is the project's owner, without capabilities, on a read-only root" {
	exits 0 run_in -- sh -c 'id -u; id -g; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status; touch /x 2>&1; pwd'
	has "$output" $'1000\n1000'
	has "$output" 'CapEff:	0000000000000000'
	has "$output" 'CapBnd:	0000000000000000'
	has "$output" 'NoNewPrivs:	1'
	has "$output" 'Read-only file system'
	has "$output" '/workspace'
}

@test "the workspace is the project, and nothing else of the host is there" {
	echo hello > "$P/in"; chown -R 1000:1000 "$P"
	exits 0 run_in -- sh -c 'cat in; echo out > out; ls /workspace; ls /srv /home 2>/dev/null; cat /etc/hostname'
	has "$output" hello
	[ "$(cat "$P/out")" = out ]
	[ "$(stat -c %u "$P/out")" = 1000 ]
	lacks "$output" "$(cat /etc/hostname)"
}

@test "the status is the workload's, signals and missing commands included" {
	exits 7 run_in -- sh -c 'exit 7'
	rc=0; run_in -- /no/such/program 2>/dev/null || rc=$?; [ $rc = 127 ]
	touch "$P/plain"; chown 1000:1000 "$P/plain"
	exits 126 run_in -- /workspace/plain
	exits 137 run_in -- sh -c 'kill -KILL $$'
	exits 143 run_in -- sh -c 'kill -TERM $$'
	exits 255 run_in -- sh -c 'exit 255'
}

@test "standard output and error stay apart, byte for byte" {
	run_in -- sh -c 'printf "a\0b\n"; printf "err\n" >&2' > "$T/o" 2> "$T/e"
	printf 'a\0b\n' | cmp - "$T/o"
	[ "$(cat "$T/e")" = err ]
}

@test "standard input reaches the workload and ends" {
	out=$(head -c 3000000 /dev/zero | host cloop run -p "$P" -- wc -c)
	[ "$out" = 3000000 ]
	[ "$(echo hi | host cloop run -p "$P" -- cat)" = hi ]
}

@test "network none has no interface but lo" {
	exits 0 run_in -- sh -c 'ls /sys/class/net; ip route'
	same "$output" lo
}

@test "a deadline kills, and says so" {
	exits 137 run_in --timeout 1s -- sh -c 'trap "" TERM; sleep 60'
	has "$stderr" timeout
	exits 0 cloop runs list --json
	[ "$(head -n 1 <<< "$output" | jq -r .outcome)" = timeout ]
}

@test "memory beyond the limit ends it as out of memory" {
	printf 'resources: {memory: 64m}\n' > "$T/s"; mkdir -p "$P/.cloop"; cp "$T/s" "$P/.cloop/sandbox.yaml"
	chown -R 1000:1000 "$P"
	exits 137 run_in -- sh -c 'x=x; while :; do x=$x$x$x$x; done'
	has "$stderr" memory
	[ "$(cloop runs list --json | head -n 1 | jq -r .outcome)" = oom ]
}

@test "a fork bomb stays inside its pids limit and can be stopped" {
	mkdir -p "$P/.cloop"; printf 'resources: {pids: 64}\n' > "$P/.cloop/sandbox.yaml"; chown -R 1000:1000 "$P"
	exits 137 run_in --timeout 3s -- sh -c 'f() { f | f & }; (f); exec sleep 60'
	has "$(leftovers)" ''
	same "$(leftovers)" ''
}

@test "the first process cannot be killed from inside" {
	exits 0 run_in -- sh -c 'kill -KILL 1; sleep 0.2; echo still here'
	same "$output" 'still here'
}

@test "/tmp is bounded" {
	exits 1 run_in -- sh -c 'dd if=/dev/zero of=/tmp/x bs=1M count=600 2>/dev/null'
}

@test "the record in the project says what ran" {
	exits 0 run_in -- true
	[ "$(jq -r .executor_id "$P/.cloop/sandbox-run.json")" = container ]
	[ "$(jq -r .run_id "$P/.cloop/sandbox-run.json")" = "$(cloop runs list --json | head -n 1 | jq -r .id)" ]
	[ "$(stat -c %u "$P/.cloop/sandbox-run.json")" = 1000 ]
	same "$(jq -c '[.clamps, .warnings]' "$P/.cloop/sandbox-run.json")" '[null,null]'
}

@test "what was lowered and warned of is in both records, and in the run's own journal" {
	mkdir -p "$P/.cloop"
	printf 'resources: {pids: 900000, memory: 900m}\n' > "$P/.cloop/sandbox.yaml"
	cloop executor limits container --memory 512m > /dev/null
	exits 0 run_in -- true
	cloop executor limits container --clear > /dev/null
	rm "$P/.cloop/sandbox.yaml"
	pids="resources.pids '900000' is above the bound 65536, which holds instead"
	has "$stderr" "warning: $pids"
	same "$(jq -c '[.warnings[0].text, .clamps[0].resource, .clamps[0].effective]' "$P/.cloop/sandbox-run.json")" "[\"$pids\",\"memory\",512]"
	R=$(cloop runs list --json | head -n 1 | jq -r .id)
	same "$(cloop runs show "$R" --json | jq -c '[(.warnings | length), .warnings[0], .clamps[0].requested]')" "[2,\"$pids\",900]"
	has "$(cloop runs show "$R")" "warnings          [\"$pids\""
	same "$(cloop runs journal "$R" --json | jq -c '[.kind, .data.warning]')" $'["sandbox_spec",true]\n["resource_ceiling",true]'
}

@test "the record is not written through a link that the workload planted" {
	mkdir -p "$P/.cloop"; echo precious > "$T/victim"; ln -s "$T/victim" "$P/.cloop/sandbox-run.json"
	chown -h 1000:1000 "$P/.cloop" "$P/.cloop/sandbox-run.json"
	exits 0 run_in -- true
	[ "$(cat "$T/victim")" = precious ]
	[ ! -L "$P/.cloop/sandbox-run.json" ]
	rm -rf "$P/.cloop"; mkdir "$T/elsewhere"; ln -s "$T/elsewhere" "$P/.cloop"
	exits 125 run_in -- true
	has "$stderr" '.cloop is a link'
	[ -z "$(ls "$T/elsewhere")" ]
	rm -rf "$T/elsewhere"
}

@test "refusals exit 125 with the rule and a fix, and leave nothing" {
	printf 'capabilities: {virtualized: true}\n' > "$T/s"; mkdir -p "$P/.cloop"; cp "$T/s" "$P/.cloop/sandbox.yaml"
	exits 125 run_in -- true
	has "$stderr" hypervisor
	has "$stderr" 'fix:'
	printf 'imagee: x\n' > "$P/.cloop/sandbox.yaml"
	exits 125 run_in -- true
	has "$stderr" "sandbox.yaml:1:1"
	has "$stderr" "'image'"
	rm -rf "$P/.cloop"
	mkdir -p "$T/projects/rooted"
	exits 125 host cloop run -p "$T/projects/rooted" -- true
	has "$stderr" 'belongs to root'
	exits 125 host cloop run -p "$T/none" -- true
	exits 125 host cloop run -p "$P" -e nosuch -- true
	exits 125 host cloop run -p "$P" --json -e nosuch -- true
	[ "$(jq -r .error.constraint <<< "$stderr")" = executor ]
	same "$(leftovers)" ''
}

@test "each of several executors runs what it is given, and --place finds the one that can" {
	cp "$HUB/.cloop/config.yaml" "$T/config"
	cat > "$HUB/.cloop/config.yaml" <<-E
	executors:
	  container:
	    - {id: first, enabled: true, runtime: podman, image: $IMAGE, network: none}
	    - {id: second, enabled: true, runtime: podman, image: $IMAGE, network: bridge, address_pool: 10.211.0.0/16}
	orchestrator:
	  min_free_disk_mb: 64
	E
	exits 0 run_in -- sh -c 'echo $CLOOP_EXECUTOR; ls /sys/class/net'
	same "$output" $'first\nlo'
	exits 0 run_in -e second -- sh -c 'echo $CLOOP_EXECUTOR; ls /sys/class/net'
	same "$output" $'second\neth0\nlo'
	mkdir -p "$P/.cloop"; printf 'capabilities: {egress: none}\n' > "$P/.cloop/sandbox.yaml"
	exits 0 run_in --place -- sh -c 'echo $CLOOP_EXECUTOR'
	same "$output" first
	rm -rf "$P/.cloop"
	same "$(cloop runs list --json | jq -r .executor_id | grep -v '^container$' | sort -u | tr '\n' ' ')" 'first second '
	cp "$T/config" "$HUB/.cloop/config.yaml"
	same "$(leftovers)" ''
}

@test "a detached run is listed, followed, waited for and recorded" {
	id=$(run_in --detach --task build-7 -- sh -c 'for i in 1 2 3; do echo line $i; sleep 0.3; done; exit 3')
	[[ $id == run_* ]]
	has "$(cloop runs list --live)" "$id"
	exits 0 cloop runs logs -f "$id"
	same "$output" $'line 1\nline 2\nline 3'
	exits 1 cloop runs wait "$id"
	same "$output" 3
	exits 0 cloop runs show --json "$id"
	[ "$(jq -r '.outcome, .exit_code, .task' <<< "$output" | xargs)" = "exited 3 build-7" ]
	exits 0 cloop runs logs --json "$id"
	[ "$(jq -r .seq <<< "$output" | head -n 1)" -ge 1 ]
	same "$(leftovers)" ''
}

@test "stop asks, then kills what does not listen" {
	id=$(run_in --detach -- sh -c 'trap "exit 9" TERM; echo ready; while :; do sleep 0.1; done')
	until_ok says "$id" ready
	exits 0 cloop runs stop "$id"
	[ "$(cloop runs show --json "$id" | jq .exit_code)" = 9 ]
	id=$(run_in --detach -- sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done')
	until_ok says "$id" ready
	exits 0 cloop runs stop --grace 300ms "$id"
	[ "$(cloop runs show --json "$id" | jq -r '.outcome, .exit_code' | xargs)" = "killed 137" ]
	exits 65 cloop runs stop run_ffffffffffff
	same "$(leftovers)" ''
}

@test "Ctrl-C interrupts the workload, a second one kills it" {
	run_in -- sh -c 'trap "echo got it; exit 4" INT; echo ready; while :; do sleep 0.1; done' > "$T/o" 2>&1 &
	for ((i = 0; i < 600; i++)); do grep -q ready "$T/o" && break; sleep 0.1; done
	pid=$(pgrep -f "cloop-run -p $P -- sh" | head -n 1)
	kill -INT "$pid"
	wait $! && rc=0 || rc=$?
	[ "$rc" = 4 ]
	grep -q 'got it' "$T/o"
	run_in -- sh -c 'trap "" INT; echo ready; while :; do sleep 0.1; done' > "$T/o" 2>&1 &
	for ((i = 0; i < 600; i++)); do grep -q ready "$T/o" && break; sleep 0.1; done
	pid=$(pgrep -f "cloop-run -p $P -- sh" | head -n 1)
	kill -INT "$pid"; sleep 0.3; kill -INT "$pid"
	wait $! && rc=0 || rc=$?
	[ "$rc" = 137 ]
	same "$(leftovers)" ''
}

# peak PID... : the most memory each has had, in kB
peak() { local p; for p in "$@"; do awk '/^VmHWM/ { print $2 }' "/proc/$p/status"; done | xargs; }

@test "a gigabyte of output arrives whole in constant memory, and the log keeps its newest part" {
	mkfifo "$T/pipe"
	wc -c < "$T/pipe" > "$T/count" & wc=$!
	run_in -- sh -c 'dd if=/dev/zero bs=1M count=24 2>/dev/null; touch some; until [ -e go ]; do sleep 0.1; done
		dd if=/dev/zero bs=1M count=1000 2>/dev/null; touch all; until [ -e end ]; do sleep 0.1; done' > "$T/pipe" 2>"$T/e" & job=$!
	there() { local i; for ((i = 0; i < 1200; i++)); do [ -e "$P/$1" ] && return 0; sleep 0.1; done; cat "$T/e"; return 1; }
	there some
	id=$(cloop runs list --json --live | head -n 1 | jq -r .id)
	pids=("$(ours -x cloop-shim)" "$(ours -o -f "cloop-run -p $P -- sh")")
	read -r shim run <<< "$(peak "${pids[@]}")"
	touch "$P/go"
	there all
	read -r shim2 run2 <<< "$(peak "${pids[@]}")"
	touch "$P/end"
	wait $job && wait $wc
	[ "$(cat "$T/count")" = 1073741824 ]
	echo "peak of the shim $shim kB, then $shim2 kB; of cloop run $run kB, then $run2 kB"
	[ "$shim2" -le $((shim + 4096)) ]
	[ "$run2" -le $((run + 4096)) ]
	n=$(cloop runs logs "$id" 2>/dev/null | wc -c)
	[ "$n" -le 67108864 ] && [ "$n" -ge 50000000 ]
	[ "$(du -sk "$HUB/.cloop/logs/$(cloop runs show --json "$id" | jq -r .handle_id)" | cut -f 1)" -le 67000 ]
	has "$(cloop runs logs --json "$id" | head -n 1)" '"seq"'
	rm "$T/pipe"
}

@test "a reader that goes away ends the workload as a pipe would" {
	timeout 30 bash -c "nsenter --net=/run/netns/$NSNAME -- cloop run -p $P -- yes </dev/null | head -n 1" > "$T/o"
	same "$(cat "$T/o")" y
	same "$(leftovers)" ''
}
