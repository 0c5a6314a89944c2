#!/usr/bin/env bats
# SIGKILL to the client, the shim, the engine: everything stays accounted for.

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip
	hub_up
}
teardown_file() { hub_down; }
setup() { hub_config_public; rm -rf "$P/.cloop"; }

handle_of() { cloop runs show --json "$1" | jq -r .handle_id; }
shim_of() { sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id='$1'"; }
# until_state RUN STATE
until_state() {
	local i
	for ((i = 0; i < 600; i++)); do
		[ "$(cloop runs show --json "$1" | jq -r .state)" = "$2" ] && return 0
		sleep 0.1
	done
	cloop runs show "$1" >&2
	return 1
}

@test "killing cloop run leaves the run going and recorded" {
	run_in -- sh -c 'echo begin; sleep 2; echo end; exit 5' > "$T/o" 2>&1 &
	for ((i = 0; i < 600; i++)); do grep -q begin "$T/o" && break; sleep 0.1; done
	pkill -KILL -f "cloop-run -p $P -- sh"
	id=$(cloop runs list --json --live | head -n 1 | jq -r .id)
	until_state "$id" finished
	[ "$(cloop runs show --json "$id" | jq .exit_code)" = 5 ]
	has "$(cloop runs logs "$id")" end
	same "$(leftovers)" ''
}

@test "a workload whose shim was killed is adopted; output, status and deadline hold" {
	id=$(run_in --detach --timeout 60s -- sh -c 'i=0; while [ $i -lt 40 ]; do echo $i; i=$((i+1)); sleep 0.1; done; exit 6')
	h=$(handle_of "$id")
	kill -KILL "$(shim_of "$h")"
	exits 0 host cloop sweep --only adopt
	has "$output" "adopted $h"
	until_state "$id" finished
	[ "$(cloop runs show --json "$id" | jq -r '.outcome, .exit_code' | xargs)" = "exited 6" ]
	same "$(cloop runs logs "$id" 2>/dev/null)" "$(seq 0 39)"
	has "$(cloop runs journal "$id")" 'watches now'
	same "$(leftovers)" ''
}

@test "an adopted workload is still killed at its deadline" {
	id=$(run_in --detach --timeout 3s -- sleep 60)
	kill -KILL "$(shim_of "$(handle_of "$id")")"
	exits 0 host cloop sweep --only adopt
	until_state "$id" finished
	[ "$(cloop runs show --json "$id" | jq -r .outcome)" = timeout ]
	same "$(leftovers)" ''
}

@test "a workload that ended while nobody watched still has its status and its last words" {
	id=$(run_in --detach -- sh -c 'echo first; sleep 1; echo last; echo words >&2; exit 8')
	pkill -KILL -f "cloop-sweep -C $HUB" || true
	kill -KILL "$(shim_of "$(handle_of "$id")")"
	sleep 2
	exits 0 host cloop sweep --only adopt
	until_state "$id" finished
	[ "$(cloop runs show --json "$id" | jq .exit_code)" = 8 ]
	same "$(cloop runs logs "$id" 2>/dev/null)" $'first\nlast'
	has "$(cloop runs logs "$id" 2>&1 >/dev/null)" words
	same "$(leftovers)" ''
}

@test "the guardian adopts without being asked" {
	id=$(run_in --detach -- sleep 45)
	kill -KILL "$(shim_of "$(handle_of "$id")")"
	for ((i = 0; i < 400; i++)); do
		has "$(cloop runs journal "$id")" 'watches now' 2>/dev/null && break
		sleep 0.1
	done
	has "$(cloop runs journal "$id")" 'watches now'
	exits 0 host cloop runs stop --grace 0s "$id"
	same "$(leftovers)" ''
}

@test "two sweeps at once adopt once" {
	id=$(run_in --detach -- sleep 30)
	kill -KILL "$(shim_of "$(handle_of "$id")")"
	for n in 1 2 3 4; do host cloop sweep --only adopt > "$T/sweep.$n" 2>&1 & done
	wait
	[ "$(cat "$T"/sweep.* | grep -c '^adopted')" = 1 ]
	host cloop runs stop --grace 0s "$id" >/dev/null
	same "$(leftovers)" ''
}

@test "an attached client survives the death of the shim" {
	run_in -- sh -c 'i=0; while [ $i -lt 30 ]; do i=$((i+1)); sleep 0.1; done; exit 4' > "$T/o" 2>&1 &
	for ((i = 0; i < 600; i++)); do id=$(cloop runs list --json --live | jq -r 'select(.state == "running") | .id' | head -n 1); [ -n "$id" ] && break; sleep 0.1; done
	h=$(handle_of "$id")
	kill -KILL "$(shim_of "$h")"
	wait $! && rc=0 || rc=$?
	[ "$rc" = 4 ]
	same "$(leftovers)" ''
}

@test "the start killed at any moment is collected" {
	for ms in 20 40 60 80 100 120 140 160 200 260; do
		run_in -- sleep 30 > /dev/null 2>&1 &
		sleep "0.$(printf %03d $ms)"
		# The driver, the shim and the engine's client, whatever there is by now.
		kill_ours -f "cloop-exec-container start"
		kill_ours -f 'podman.*cgroup-parent=/cloop/c-'
		pkill -KILL -f "cloop-run -p $P" || true
		wait || true
		exits 0 host cloop sweep
	done
	for id in $(cloop runs list --json --live | jq -r .id); do host cloop runs stop --grace 0s "$id" > /dev/null 2>&1 || true; done
	host cloop sweep >/dev/null
	same "$(leftovers)" ''
	same "$(podman ps -aq --external)" ''
}

@test "the shim killed at any moment is adopted or collected" {
	for ms in 30 60 90 120 150 180 220; do
		run_in --detach -- sleep 30 > /dev/null 2>&1 &
		sleep "0.$(printf %03d $ms)"
		kill_ours -x cloop-shim
		wait || true
		exits 0 host cloop sweep
	done
	for id in $(cloop runs list --json --live | jq -r .id); do host cloop runs stop --grace 0s "$id" > /dev/null 2>&1 || true; done
	host cloop sweep >/dev/null
	same "$(leftovers)" ''
	same "$(podman ps -aq --external)" ''
}
