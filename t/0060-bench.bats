#!/usr/bin/env bats
# The harness of the figures: what it prints is right and a missed target is a failure. No time is
# judged here.
load lib/common

setup() {
	ratio=$BUILD_DIR/t/lib/ratio
	export BENCH_ITEMS=$BATS_TEST_TMPDIR/items
	mkdir "$BENCH_ITEMS"
}

item() { printf '%s\n' "${@:2}" > "$BENCH_ITEMS/$1.sh"; }

@test "ratio runs both by turns and prints medians" {
	cat > "$BATS_TEST_TMPDIR/mark" <<-'S'
	#!/bin/sh
	printf %s "$1" >> "$2"
	S
	chmod 755 "$BATS_TEST_TMPDIR/mark"
	RATIO_WARMUP=1 exits 0 "$ratio" 3 "$BATS_TEST_TMPDIR/mark" a "$BATS_TEST_TMPDIR/log" -- \
		"$BATS_TEST_TMPDIR/mark" b "$BATS_TEST_TMPDIR/log"
	jq -e '.runs == 3 and .ours_us > 0 and .peer_us > 0 and .ratio > 0 and has("cpu_ratio")' <<< "$output"
	same "$(cat "$BATS_TEST_TMPDIR/log")" abababab
}

@test "ratio accepts the statuses 0 and 1 and nothing else" {
	exits 0 "$ratio" 1 false -- true
	exits 1 "$ratio" 1 sh -c 'exit 2' -- true
	same "$output" ""
	exits 1 "$ratio" 1 true -- sh -c 'kill -9 $$'
	exits 1 "$ratio" 1 /no/such/program -- true
	exits 1 "$ratio" 0 true -- true
	exits 1 "$ratio" 1 true
	exits 1 "$ratio"
}

@test "a target that is met and one that is missed" {
	item 01-good 'item=good; target=2' 'measure() { echo "{\"ours_us\":3,\"peer_us\":2,\"ratio\":1.5}"; }'
	exits 0 bash "$SRC/t/bench/run"
	[[ ${lines[1]} == good*1.50*2*yes ]]
	item 02-bad 'item=bad; target=1' 'measure() { echo "{\"ours_us\":3,\"peer_us\":2,\"ratio\":1.5}"; }'
	exits 1 bash "$SRC/t/bench/run"
	[[ ${lines[2]} == bad*1.50*1*NO ]]
	exits 0 bash "$SRC/t/bench/run" good
	item 03-none 'item=none; target=' 'measure() { echo "{\"ours_us\":3,\"peer_us\":2,\"ratio\":1.5}"; }'
	BENCH_JSON=$BATS_TEST_TMPDIR/json exits 0 bash "$SRC/t/bench/run" none
	jq -e '.item == "none" and .met == null' "$BATS_TEST_TMPDIR/json"
}

@test "an item that fails is a failure, its teardown runs, and one that cannot run says so" {
	item 01-fails "teardown() { touch '$BATS_TEST_TMPDIR/torn'; }" 'item=x; ours=(false-program); peer=(true); runs=1'
	exits 1 bash "$SRC/t/bench/run"
	has "$output" "01-fails"
	has "$output" failed
	[ -e "$BATS_TEST_TMPDIR/torn" ]
	rm "$BENCH_ITEMS/01-fails.sh"
	item 02-skipped 'skip_unless no-such-program-here' 'item=y'
	exits 0 bash "$SRC/t/bench/run"
	has "$output" "left out: needs no-such-program-here"
	exits 1 bash "$SRC/t/bench/run" nothing-matches
}

@test "every item of the house has a name and two command lines" {
	for f in "$SRC"/t/bench/items/*.sh; do
		exits 0 bash -c 'item= target= ours=() peer=(); measure=; tmp=/tmp; CLOOP_SRC=$0; skip_unless() { :; }
			. "$1"; [ -n "$item" ] && { [ ${#ours[@]} -gt 0 ] && [ ${#peer[@]} -gt 0 ] || declare -f measure > /dev/null; }' \
			"$SRC" "$f"
	done
}
