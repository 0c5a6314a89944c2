#!/usr/bin/env bats
# A workload that attacks its supervisor, and a machine that does not cooperate.

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip socat
	hub_up
}
teardown_file() { hub_down; }
setup() { hub_config_none; rm -rf "$P/.cloop" "$P"/*; }

db() { sqlite3 "$HUB/.cloop/state.db" "$1"; }
handle_of() { cloop runs show --json "$1" | jq -r .handle_id; }
shim_of() { db "select shim_pid from handle where id='$1'"; }
outcome() { cloop runs show --json "$1" | jq -r '.outcome, .exit_code' | xargs; }
newest() { cloop runs list --json -n 1 | jq -r .id; }
# no CMD... and some CMD... : it prints nothing, something.
no() { [ -z "$("$@" 2>/dev/null)" ]; }
some() { ! no "$@"; }
finished() { [ "$(cloop runs show --json "$1" | jq -r .state)" = finished ]; }
spec() { mkdir -p "$P/.cloop"; printf '%s\n' "$1" > "$P/.cloop/sandbox.yaml"; chown -R 1000:1000 "$P/.cloop"; }

@test "the init's descriptors and memory are out of reach, and none of them leaks" {
	exits 0 run_in -- sh -c 'for f in fd environ maps mem; do cat /proc/1/$f >/dev/null 2>&1 && echo "read $f"; done
		ls /proc/1/fd/ 2>/dev/null; for fd in 3 4 5 6 7 8 9 10 11 12; do [ -e /proc/$$/fd/$fd ] && readlink /proc/$$/fd/$fd; done; echo done'
	lacks "$output" /exit
	lacks "$output" read
	has "$output" done
}

@test "what a workload does to its descriptions hurts nobody else" {
	exits 5 run_in -- sh -c 'exec 7<>/dev/stdout; head -c 0 <&7; kill -STOP 1; : > /dev/stdout; echo x > /dev/stderr; echo y > /dev/stdout; exit 5'
	has "$output" y
	has "$stderr" x
	[ "$(echo hello | host cloop run -p "$P" -- cat /dev/stdin)" = hello ]
}

@test "grandchildren in sessions of their own end with the command" {
	exits 3 run_in -- sh -c 'for i in 1 2 3 4 5; do (setsid sh -c "trap \"\" TERM HUP INT; (sleep 300 &) ; sleep 300" &); done; sleep 0.3; exit 3'
	same "$(leftovers)" ''
	same "$(pgrep -x -f 'sleep 300' -u 1000)" ''
}

@test "no core is written, and none goes to a handler of the host's" {
	exits 0 run_in -- sh -c 'ulimit -c; ulimit -H -c'
	same "$output" $'0\n0'
}

@test "a mount's source is made as the owner, never in what is not the owner's" {
	mkdir -m 755 "$P/held"
	spec 'mounts: [{source: held/gift, target: /x}]'
	exits 125 run_in -- true
	has "$stderr" 'held/gift'
	has "$stderr" 'fix:'
	[ ! -e "$P/held/gift" ]
	[ "$(stat -c %u "$P/held")" = 0 ]
	spec 'mounts: [{source: mine/gift, target: /x}]'
	exits 0 run_in -- sh -c 'touch /x/y'
	[ "$(stat -c %u "$P/mine" "$P/mine/gift" | xargs)" = '1000 1000' ]
	rm -rf "$P/held"
	same "$(leftovers)" ''
}

@test "nothing is bound over cloop's own place in the sandbox" {
	mkdir -p "$P/m" && chown 1000:1000 "$P/m"
	spec 'mounts: [{source: m, target: /.cloop/init}]'
	exits 125 run_in -- true
	spec 'mounts: [{source: m, target: /workspace}]'
	exits 125 run_in -- true
	same "$(leftovers)" ''
}

@test "escape sequences in arguments, labels and names of files stay out of the terminal" {
	esc=$'\e]0;owned\a\x9b31m\xc2\x9b31m\u202e'
	# A command is UTF-8 or refused.
	exits 0 run_in --task "t$esc" -- true "a${esc/$'\x9b31m\xc2'/$'\xc2'}"
	id=$(newest)
	db "insert into journal (at, project, run_id, kind, text) values (1, '$P', '$id', 'disk_limit', 'cannot read x' || char(27) || '[31m')"
	for cmd in "list" "show $id" "journal $id" "journal -p $P"; do
		# shellcheck disable=SC2086
		exits 0 cloop runs $cmd
		lacks "$output" $'\e'
		lacks "$output" $'\a'
		lacks "$output" $'\u202e'
		lacks "$output" $'\xc2\x9b'
	done
}

@test "a full disk under the log loses the log, not the output or the run" {
	exits 0 run_in -- true
	mkdir -p "$HUB/.cloop/logs"
	mount -t tmpfs -o size=64k cloop-test "$HUB/.cloop/logs"
	dd if=/dev/zero of="$HUB/.cloop/logs/fill" bs=4k status=none 2>/dev/null || true
	for i in 1 2 3 4 5; do
		exits 4 run_in -- sh -c 'echo early; echo late >&2; exit 4'
		same "$output" early
		has "$stderr" late
	done
	same "$(leftovers)" ''
	umount "$HUB/.cloop/logs"
}

@test "a log folder that cannot be is refused with a fix, and nothing runs" {
	mkdir -p "$HUB/.cloop/logs"; mv "$HUB/.cloop/logs" "$HUB/.cloop/kept"; touch "$HUB/.cloop/logs"
	exits 125 run_in -- true
	rm "$HUB/.cloop/logs"; mv "$HUB/.cloop/kept" "$HUB/.cloop/logs"
	has "$stderr" 'fix:'
	[ "$(outcome "$(newest)")" = 'refused null' ]
	same "$(leftovers)" ''
}

@test "somebody else's runtime folder is not used" {
	mkdir "$T/theirs"; chown 1000:1000 "$T/theirs"
	CLOOP_RUN_DIR=$T/theirs exits 125 run_in -- true
	has "$stderr" 'not a directory of ours'
	has "$stderr" 'fix:'
	same "$(ls "$T/theirs")" ''
	ln -s "$T/theirs" "$T/link"
	CLOOP_RUN_DIR=$T/link exits 125 run_in -- true
	same "$(ls "$T/theirs")" ''
	rm -r "$T/link" "$T/theirs"
}

@test "a store that is locked when a run ends loses neither its status nor its row" {
	id=$(run_in --detach -- sh -c 'until [ -e go ]; do sleep 0.1; done; exit 9')
	h=$(handle_of "$id")
	mkfifo "$T/hold"
	command sqlite3 "$HUB/.cloop/state.db" < "$T/hold" & holder=$!
	exec 8> "$T/hold"; echo 'BEGIN IMMEDIATE; SELECT 1;' >&8
	touch "$P/go"
	# The workload is gone, and its shim has tried for longer than a busy timeout, several times.
	until_ok no podman ps -q
	sleep 32
	exec 8>&-; wait $holder; rm "$T/hold"
	until_ok finished "$id"
	[ "$(outcome "$id")" = 'exited 9' ]
	until_ok no db "select id from handle where id='$h' and state='live'"
	same "$(leftovers)" ''
}

@test "a deadline is of the boot clock: setting the time neither ends nor spares a run" {
	id=$(run_in --detach --timeout 15s -- sleep 60)
	h=$(handle_of "$id")
	kill_ours -f "cloop-sweep -C $HUB"
	# What a supervisor that takes over reads, as if the clock had since gone ahead by a year.
	db "update handle set started_at = started_at - 31536000000, deadline = deadline - 31536000000 where id='$h'"
	kill -KILL "$(shim_of "$h")"
	exits 0 host cloop sweep --only adopt
	sleep 1
	[ "$(cloop runs show --json "$id" | jq -r .state)" = running ]
	until_ok finished "$id"
	[ "$(outcome "$id")" = 'timeout 137' ]
	same "$(leftovers)" ''
}

@test "standard output closed or full ends the workload, and says why" {
	exits 143 bash -c "nsenter --net=/run/netns/$NSNAME -- cloop run -p $P -- sh -c 'echo hi; sleep 60' >/dev/full </dev/null"
	has "$stderr" 'No space left'
	exits 143 bash -c "nsenter --net=/run/netns/$NSNAME -- cloop run -p $P -- sh -c 'echo hi; sleep 60' >&- </dev/null"
	has "$stderr" 'could not be written'
	exits 3 bash -c "nsenter --net=/run/netns/$NSNAME -- cloop run -p $P -- sh -c 'echo hi >&2; exit 3' <&- 2>&-"
	# Stopped for it or too quick for that: what was lost is said.
	run --separate-stderr bash -c "nsenter --net=/run/netns/$NSNAME -- cloop run -p $P -- echo hi >/dev/full </dev/null"
	has "$stderr" 'No space left'
	same "$(leftovers)" ''
}

@test "garbage and a crowd on the control socket keep nobody out" {
	id=$(run_in --detach -- sleep 60)
	sock=$T/run/w/$(handle_of "$id")/sock
	for text in '' x '[1]' '{"op":7}' '{"op":"attach"}' '{"op":"signal","signal":"x"}' '{"op":"stop","grace_ms":"x' "$(printf '%070000d' 0)"; do
		printf %s "$text" | socat -t 0.2 -b 80000 - "UNIX-CONNECT:$sock,type=5" >/dev/null 2>&1 || true
	done
	pids=()
	for ((i = 0; i < 45; i++)); do socat -u "UNIX-CONNECT:$sock,type=5" /dev/null 3>&- & pids+=($!); done
	sleep 1
	exits 0 timeout 20 cloop runs stop --grace 0s "$id"
	has "$output" killed
	kill "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" 2>/dev/null || true
	same "$(leftovers)" ''
}

@test "a client that is too slow to attach still prints all of the output" {
	# Held from the moment that its driver is at work, for longer than output waits for it.
	run_in -- sh -c 'until [ -e go ]; do sleep 0.1; done; echo one; echo two >&2; exit 6' \
		> "$T/o" 2> "$T/e" & job=$!
	pid=''
	for ((i = 0; i < 500; i++)); do
		pid=$(ours -o -f "cloop-run -p $P -- sh")
		[ -n "$pid" ] && [ -n "$(ours -f 'cloop-exec-container start')" ] && break
		sleep 0.01
	done
	kill -STOP "$pid"
	touch "$P/go"
	until_ok finished "$(newest)"
	until_ok no ls "$T/run/w"
	kill -CONT "$pid"
	wait $job && rc=0 || rc=$?
	[ "$rc" = 6 ]
	same "$(cat "$T/o")" one
	has "$(cat "$T/e")" two
}

@test "stop reaches a run that is still starting" {
	host cloop run --detach -p "$P" -- sleep 60 > "$T/o" 2>&1 < /dev/null & job=$!
	# The client lives for a tenth of a second: looked for without a pause.
	for ((i = 0; i < 2000; i++)); do some ours -f 'podman.*--cgroup-parent=/cloop/c-' && break; done
	for p in $(ours -f 'podman.*--cgroup-parent=/cloop/c-'); do kill -STOP "$p" 2> /dev/null || true; done
	id=$(newest)
	timeout 60 cloop runs stop --grace 0s "$id" > "$T/stop" 2>&1 & stop=$!
	sleep 1
	for p in $(ours -f 'podman.*--cgroup-parent=/cloop/c-'); do kill -CONT "$p" 2> /dev/null || true; done
	wait $stop
	has "$(cat "$T/stop")" "$id: killed"
	wait $job || true
	same "$(leftovers)" ''
}

@test "a setup build ends with the command that waits for it" {
	spec 'setup: ["sleep 200"]'
	run_in -- true > "$T/o" 2>&1 & job=$!
	building() { [ -n "$(podman ps -q --filter name=cloop-build)" ]; }
	until_ok building
	kill -TERM "$(ours -f "cloop-run -p $P -- true" | head -n 1)"
	wait $job || true
	until_ok no ours -f 'cloop-exec-container prepare'
	gone() { ! building && [ -z "$(ls "$T/run/build" "$T/run/netns" 2>/dev/null | grep '^c-')" ]; }
	until_ok gone
	same "$(podman ps -aq --external)" ''
}

@test "nothing of the caller's stays in shim, monitor or guardian" {
	exec 7< "$HUB/.cloop/config.yaml" 8<> "$T/marker"
	id=$(SECRET_X=planted-value LD_DEBUG_OUTPUT=/x INVOCATION_ID=abc run_in --detach -- sleep 60)
	exec 7<&- 8<&-
	h=$(handle_of "$id")
	for p in $(shim_of "$h") $(cat "$T/run/w/$h/conmon") $(ours -f "cloop-sweep -C $HUB"); do
		lacks "$(ls -l "/proc/$p/fd")" marker
		lacks "$(ls -l "/proc/$p/fd")" config.yaml
		lacks "$(tr '\0' '\n' < "/proc/$p/environ")" planted-value
		lacks "$(tr '\0' '\n' < "/proc/$p/environ")" INVOCATION_ID=abc
		[ "$(readlink "/proc/$p/cwd")" != "$PWD" ]
	done
	# The engine's monitor leaves files where it works.
	[ "$(readlink "/proc/$(cat "$T/run/w/$h/conmon")/cwd")" = /proc ]
	cloop runs stop --grace 0s "$id" > /dev/null
	rm "$T/marker"
	same "$(leftovers)" ''
}

@test "a dozen runs at once all end, each with its own output and status" {
	for ((n = 0; n < 12; n++)); do
		(rc=0; run_in -- sh -c "echo $n; exit $n" > "$T/o.$n" 2> "$T/e.$n" || rc=$?; echo $rc > "$T/rc.$n") &
	done
	wait
	for ((n = 0; n < 12; n++)); do
		same "$(cat "$T/o.$n" "$T/rc.$n")" "$n"$'\n'"$n"
	done
	same "$(leftovers)" ''
}

@test "arguments of many kilobytes arrive, and too many are refused" {
	big=$(printf '%0100000d' 7)
	exits 0 run_in -- sh -c 'echo ${#1}' sh "$big"
	same "$output" 100000
	exits 0 run_in -- printf '%s\n' '' ' a' $'new\nline' '--'
	same "$output" $'\n a\nnew\nline\n--'
	same "$(leftovers)" ''
}
