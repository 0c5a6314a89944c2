#!/usr/bin/env bats
# Refused packets followed as they come, and the rules for it gone afterwards, whatever ended it.
load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip jq
	hub_up
	hub_config_public
	# Two sandboxes on one bridge that try a port a moment, each its own.
	local i
	for i in 21 22; do
		host cloop run -p "$P" --detach -- sh -c "echo up; while sleep 0.2; do nc -w 3 10.4.5.6 $i </dev/null; done" \
			< /dev/null > "$T/run$i"
	done
	for i in 21 22; do until cloop runs logs "$(cat "$T/run$i")" | grep -q up; do sleep 0.1; done; done
}
teardown_file() {
	local i
	for i in 21 22; do cloop runs stop --grace 0s "$(cat "$T/run$i")" > /dev/null 2>&1 || true; done
	hub_down
}
setup() { A=$(cat "$T/run21") B=$(cat "$T/run22") OUT=$BATS_TEST_TMPDIR/out; }
teardown() { [ -z "${TRACER:-}" ] || kill -KILL "$TRACER" 2>/dev/null || true; }

# trace ARG... : in the background; TRACER is its pid, OUT and OUT.err what it says
trace() {
	nsenter --net="/run/netns/$NSNAME" "$BIN/cloop-egress" blocked --trace "$@" > "$OUT" 2> "$OUT.err" 3>&- &
	TRACER=$!
}
# lines N : waits until the trace has printed N lines
lines() {
	until [ "$(wc -l < "$OUT")" -ge "$1" ]; do
		kill -0 "$TRACER" || { cat "$OUT.err" >&2; return 1; }
		sleep 0.05
	done
}
# killed [OPTION...] : a trace that was killed, and its rules; a guardian may have been there first
killed() {
	for ((k = 0; k < 5; k++)); do
		trace "$@" && lines 1
		kill -KILL "$TRACER"
		wait "$TRACER" || true
		[ "$(rules)" = 0 ] || return 0
	done
	return 1
}
ends() { kill "-$1" "$TRACER" && wait "$TRACER"; }
# tracers that have rules
rules() { host nft list ruleset | grep -o 'cloop trace by process [0-9]*' | sort -u | wc -l; }

@test "a run's refused packets come as lines with run and cause, and only its own" {
	trace --run "$A"
	lines 3
	[ "$(rules)" -ge 1 ]
	ends INT
	same "$(cut -d' ' -f3- "$OUT" | sort -u)" \
		"$A  blocked 10.4.5.6:21/tcp, private (RFC1918/ULA), not in executor container's allow list"
	same "$(rules)" 0
	has "$(cat "$OUT.err")" "Ctrl-C ends it"
}

@test "as JSON, of everybody; the record goes on counting beside it" {
	local before after
	before=$(host cloop egress blocked --run "$B" --json | jq .packets)
	trace --json
	until grep -q '"port":21' "$OUT" && grep -q '"port":22' "$OUT"; do sleep 0.05; done
	ends TERM
	same "$(jq -c '[.run_id, .port, .protocol, .destination, .packets, .live, .level, .bytes > 30]' "$OUT" | sort -u)" \
		"$(printf '%s\n' "[\"$A\",21,\"tcp\",\"10.4.5.6\",1,true,\"executor container\",true]" \
			"[\"$B\",22,\"tcp\",\"10.4.5.6\",1,true,\"executor container\",true]" | sort)"
	after=$(host cloop egress blocked --run "$B" --json | jq .packets)
	[ "$after" -gt "$before" ]
	same "$(rules)" 0
}

@test "a group has one listener" {
	trace
	lines 1
	exits 75 host cloop egress blocked --trace
	has "$stderr" "another program listens to log group 6510"
	has "$stderr" "fix: end that one, or give this one another with --group"
	OUT=$BATS_TEST_TMPDIR/second
	local first=$TRACER
	trace --group 6511 --run "$B"
	lines 1
	ends INT
	[ "$(rules)" = 1 ]
	TRACER=$first
	ends INT
	same "$(rules)" 0
}

@test "a run that starts while it is followed is followed too" {
	local c
	trace --json
	lines 1
	c=$(run_in --detach -- sh -c 'while sleep 0.2; do nc -w 3 10.4.5.6 23 </dev/null; done')
	until grep -q "$c" "$OUT"; do sleep 0.1; done
	: > "$OUT"
	lines 3 # the others' rules went with the start, and are back
	ends INT
	cloop runs stop --grace 0s "$c" > /dev/null
	same "$(rules)" 0
}

@test "the rules of a trace that was killed go with a sweep, or with the next run" {
	killed
	trace --run "$A"
	lines 1
	host cloop sweep > "$OUT.sweep"
	same "$(rules)" 1
	ends INT
	same "$(rules)" 0
	killed
	run_in -- true
	same "$(rules)" 0
}

@test "it ends when nobody reads" {
	nsenter --net="/run/netns/$NSNAME" "$BIN/cloop-egress" blocked --trace 2> /dev/null | head -n 2 > "$OUT"
	same "$(wc -l < "$OUT")" 2
	for ((i = 0; i < 600; i++)); do [ "$(rules)" = 0 ] && break; sleep 0.1; done
	same "$(rules)" 0
}

@test "what cannot be followed is refused with the reason" {
	exits 0 run_in --json -- true
	exits 65 host cloop egress blocked --trace --run "$(jq -r .run_id <<< "$stderr")"
	has "$stderr" "has ended: nothing more comes of it"
	exits 64 host cloop egress blocked --trace -n 5
	exits 64 host cloop egress blocked --group 5
	exits 77 host setpriv --bounding-set -net_admin --inh-caps -net_admin cloop egress blocked --trace
	same "$(rules)" 0
}
