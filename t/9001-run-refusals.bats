#!/usr/bin/env bats
# What cloop run refuses before any engine is asked, and what it then says to do.
load lib/common

setup() {
	D=$BATS_TEST_TMPDIR P=$BATS_TEST_TMPDIR/p
	export CLOOP_HUBS=$D/hubs CLOOP_DIR=$D/hub CLOOP_RUN_DIR=$D/run
	cloop hub bootstrap > /dev/null
	mkdir -p "$P/.cloop"
}
spec() { printf '%s\n' "$1" > "$P/.cloop/sandbox.yaml"; }

@test "a project that is not there" {
	exits 125 cloop run -p "$D/none" -- true
	same "$stderr" "cloop-run: there is no directory '$D/none'
  fix: name the project's directory, or make it: mkdir -p '$D/none'"
	exits 125 cloop run -p "$CLOOP_DIR/.cloop/config.yaml" -- true
	has "$stderr" "fix: name the directory of the project"
	exits 125 cloop run -p '' -- true
	has "$stderr" "fix: name the directory, or '.' for this one"
	ln -s "$D/nothing" "$D/link"
	exits 125 cloop run -p "$D/link/x" -- true
	has "$stderr" "fix: make what the link leads to, or remove the link"
}

@test "what only a grant could give: the words are true of this release" {
	spec 'capabilities: {network: egress_0123456789abcdef01234567}'
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "this release has no egress grants"
	has "$stderr" "fix: take 'network' out of .cloop/sandbox.yaml"
	has "$stderr" "executors.container.egress_filter.allow_cidrs and allow_ports"
	spec 'capabilities: {devices: [serial0]}'
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "capabilities.devices in .cloop/sandbox.yaml names 'serial0', and the project holds no host_device grant"
	has "$stderr" "fix: take 'serial0' out, or: cloop secret grant SECRET --to project:$P --devices serial0"
	spec 'capabilities: {egress: public, interfaces: [eth1]}'
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "capabilities.interfaces in .cloop/sandbox.yaml names 'eth1', and the project holds no host_interface grant"
	has "$stderr" "fix: take 'eth1' out, or: cloop secret grant SECRET --to project:$P --interfaces eth1"
	# Whoever wrote the project's file has no say in what is typed.
	spec 'capabilities: {devices: ["a;reboot;$(b)"]}'
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "or: cloop secret grant SECRET --to project:$P --devices 'a;reboot;\$(b)'"
	for odd in '*' 'tty?0' 'serial0,disk'; do
		spec "capabilities: {devices: [\"$odd\"]}"
		exits 125 cloop run -p "$P" -- true
		has "$stderr" "capabilities.devices in .cloop/sandbox.yaml names '$odd'"
		has "$stderr" "out of .cloop/sandbox.yaml"
		lacks "$stderr" "cloop secret grant"
	done
}

@test "the journal's columns stand, with and without a run" {
	need sqlite3
	sqlite3 "$CLOOP_DIR/.cloop/state.db" "insert into journal (at, project, run_id, kind, text) values
		(0, '$P', null, 'resource_ceiling', 'of the project'),
		(0, '$P', 'run_0123456789abcdef01234567', 'a_kind_that_is_longer_than_most', 'of a run')"
	exits 0 cloop runs journal -p "$P"
	same "$output" "1970-01-01T00:00:00Z  resource_ceiling                 -                             of the project
1970-01-01T00:00:00Z  a_kind_that_is_longer_than_most  run_0123456789abcdef01234567  of a run"
	exits 0 cloop runs journal -p "$P" --json
	same "$(jq -c '.run_id' <<< "$output" | xargs)" "null run_0123456789abcdef01234567"
}

@test "a command that is not UTF-8 is refused, and never another one started" {
	exits 125 cloop run -p "$P" -- touch $'/workspace/\xff' /workspace/ran
	has "$stderr" "word 2 of the command is not UTF-8"
	has "$stderr" "fix: put the command into a script"
	[ ! -e "$P/ran" ]
}
