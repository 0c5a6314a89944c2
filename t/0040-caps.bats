#!/usr/bin/env bats
# A command clears its ambient and inheritable capabilities first, so that no child of it holds
# one by accident. A third party's command becomes the child here and looks at itself.
load lib/common

setup() {
	need root setpriv strace
	export ASAN_OPTIONS=detect_leaks=0 # the leak checker of `make san` cannot work under strace
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir path
	# `cloop list` runs every command it finds with --cl-spec.
	cat > path/cloop-look <<-S
	#!/bin/sh
	grep -E '^Cap(Inh|Amb)' /proc/self/status > $BATS_TEST_TMPDIR/seen
	echo '{"summary":"looked"}'
	S
	chmod 755 path path/cloop-look
	chmod 755 "$BATS_TEST_TMPDIR"
	export PATH=$BATS_TEST_TMPDIR/path:$PATH
}

# give CMD... : as root with two ambient and inheritable capabilities.
give() {
	setpriv --inh-caps +net_admin,+sys_ptrace --ambient-caps +net_admin,+sys_ptrace "$@"
}

@test "the harness gives what it says" {
	run give grep CapAmb /proc/self/status
	lacks "$output" 0000000000000000
}

@test "a child started by a command has neither set" {
	exits 0 give "$BIN/cloop" list
	has "$output" looked
	same "$(tr -d '\t' < seen)" "CapInh:0000000000000000
CapAmb:0000000000000000"
}

@test "the command itself has neither set by the time it works" {
	give strace -f -o trace -e trace=capset,prctl,execve "$BIN/cloop" version
	# After the exec of cloop: ambient cleared, then the inheritable set.
	sed -n '/execve.*cloop/,$p' trace > after
	grep -q 'prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL' after
	grep -q 'capset(.*inheritable=0' after
}

@test "so does the command that cloop becomes" {
	give strace -f -o trace -e trace=capset,prctl,execve "$BIN/cloop" egress --help
	sed -n '/execve.*cloop-egress/,$p' trace > after
	grep -q 'PR_CAP_AMBIENT_CLEAR_ALL' after
}

@test "permitted capabilities that a command needs are kept" {
	give strace -f -o trace -e trace=capset "$BIN/cloop" version
	grep -E 'capset.*inheritable=0' trace | tail -n 1 | grep -q 'permitted=.*CAP_NET_ADMIN'
}
