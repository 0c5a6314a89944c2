#!/usr/bin/env bats
# Descriptors 0-2 closed, full or broken: no lost answer looks like success, and no file that a
# command opens becomes somebody's standard output.
load lib/common

# A few command lines that print and need nothing.
lines=(
	"cloop version"
	"cloop version --json"
	"cloop list --names"
	"cloop help"
	"cloop --help"
	"cloop --cl-spec"
	"cloop egress --help"
	"cloop egress firewall"
	"cloop egress firewall --format nft"
)

@test "a full standard output is an operating-system error, not success" {
	for l in "${lines[@]}"; do
		exits 71 bash -c "$l > /dev/full"
		has "$stderr" "standard output"
		has "$stderr" "No space left"
	done
}

@test "so is a closed one" {
	for l in "${lines[@]}"; do
		exits 71 bash -c "$l >&-"
		has "$stderr" "standard output"
	done
}

@test "with nothing to print a closed standard output does not matter" {
	exits 64 bash -c 'cloop no-such-command >&-'
	has "$stderr" "is not a cloop command"
}

@test "a reader that leaves ends the command as it ends any other" {
	exits 141 bash -c 'exec 3> >(:); wait $!; cloop egress firewall --format json >&3'
}

@test "an error that cannot be printed keeps its status" {
	exits 64 bash -c 'cloop no-such-command 2> /dev/full'
	exits 64 bash -c 'cloop no-such-command 2>&-'
	exits 64 bash -c 'cloop no-such-command <&- >&- 2>&-'
	exits 64 bash -c 'cloop egress firewall --bogus <&- >&- 2>&-'
}

@test "a closed standard input is an empty one" {
	exits 0 bash -c 'cloop version <&-'
	exits 65 bash -c 'cloop egress firewall --policy - <&-'
	exits 65 bash -c 'cloop egress firewall --policy - < /dev/null'
}

@test "with 0-2 closed, what is opened next gets none of their numbers" {
	need strace
	echo '{}' > "$BATS_TEST_TMPDIR/policy.json"
	# The leak checker of `make san` cannot work under strace.
	ASAN_OPTIONS=detect_leaks=0 strace -o "$BATS_TEST_TMPDIR/trace" -e trace=openat,openat2,open,socket,pipe2 \
		bash -c "exec $BIN/cloop-egress firewall --policy $BATS_TEST_TMPDIR/policy.json <&- >&- 2>&-" || true
	# From the exec on: only /dev/null may become 0, 1 or 2.
	run bash -c "sed -n '/policy.json/p' '$BATS_TEST_TMPDIR/trace' | grep -E '= [012]\$'"
	same "$output" ""
	grep -qE 'policy.json.*= [0-9]+$' "$BATS_TEST_TMPDIR/trace"
	[ "$(grep -cE '"/dev/null".*= [012]$' "$BATS_TEST_TMPDIR/trace")" -ge 3 ]
}
