#!/usr/bin/env bats
# cloop executor test and reap: every check, a real workload, and what nobody owns.
# shellcheck disable=SC2154
load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman jq sqlite3 unshare setpriv
	hub_up
	mkdir -m 755 "$T/drivers"
	install -m 755 "$SRC/t/drivers/cloop-exec-netless" "$T/drivers/"
}
teardown_file() { hub_down; }
setup() { configure; }
teardown() { umount "$T/full" 2> /dev/null || true; }

# configure [LINES-OF-executors.container]
configure() {
	IMAGE=${2:-$IMAGE} hub_config "    network: none
${1:-}
  allow_host_process: true
  local: {enabled: true}
  drivers: {id: jail, enabled: true, driver: $T/drivers/cloop-exec-netless}"
}
no_trace() {
	[ -z "$(ls "$T/run/w" 2>/dev/null)" ] && [ -z "$(podman ps -aq --external)" ]
}
until_no_trace() {
	local i
	for ((i = 0; i < 600; i++)); do
		no_trace && return 0
		sleep 0.1
	done
	return 1
}

@test "a container: checks, a workload in the real sandbox, and what it was" {
	exits 0 host cloop executor test container
	has "$output" "ok    runtime: podman"
	has "$output" "ok    image: $IMAGE is here"
	has "$output" "      fix: "
	has "$output" "ok    revocation: "
	has "$output" "ok    smoke: exited, status 0"
	has "$output" "output: {"
	has "$output" "image      "
	has "$output" "oci        the engine's default"
	has "$output" "container  cloop-"
	has "$output" "binary     "
	until_no_trace
	# It has a row, makes no project of its directory, and is never started again.
	same "$(sqlite3 "$HUB/.cloop/state.db" 'select task, outcome, (select count(*) from project), (select count(*) from session) from run')" "smoke-test|exited|0|0"
	same "$(find /tmp -maxdepth 1 -path "$(sqlite3 "$HUB/.cloop/state.db" 'select project from run')")" ""
}

@test "--workdir is looked at and used, and left as it was" {
	exits 0 host cloop executor test container --workdir "$P" --json
	same "$(jq -r '[.ok, .smoke.passed, .smoke.outcome, .smoke.exit_code, .preflight.fatal] | join(" ")' <<< "$output")" "true true exited 0 false"
	same "$(jq -r '.preflight.findings[] | select(.check == "revocation") | .status' <<< "$output")" ok
	has "$(jq -r '.preflight.findings[] | select(.check == "workdir") | .detail' <<< "$output")" "$P"
	has "$(jq -r .smoke.container <<< "$output")" "cloop-app-"
	same "$(find "$P" -name '.cloop-smoke*' | wc -l)" 0
	exits 65 host cloop executor test container --workdir "$T/nowhere"
	mkdir -p "$T/roots"
	exits 2 host cloop executor test container --workdir "$T/roots"
	has "$output" "FAIL  workdir:"
	has "$output" "no workload was started"
	exits 1 host cloop executor test container --workdir "$T/roots" --skip-preflight
	has "$output" "FAIL  smoke:"
	lacks "$output" "runtime: podman"
	until_no_trace
}

@test "a fatal finding is status 2, and what preflight cannot know fails as the workload does" {
	configure "" localhost/nowhere:1
	exits 2 host cloop executor test container --json
	same "$(jq -c '[.ok, .preflight.fatal, .smoke]' <<< "$output")" '[false,true,null]'
	exits 1 host cloop executor test container --skip-preflight --json
	same "$(jq -c '[.ok, .smoke.passed]' <<< "$output")" '[false,false]'
	has "$(jq -r .smoke.fix <<< "$output")" localhost/nowhere:1
	configure "    oci_runtime: nowhere"
	exits 1 host cloop executor test container --skip-preflight
	has "$output" "FAIL  smoke:"
	until_no_trace
	exits 65 host cloop executor test nosuch
}

@test "what is no container: this host's own, and a driver by its contract" {
	exits 0 cloop executor test local
	has "$output" "ok    smoke: exited, status 0"
	has "$output" "driver     "
	exits 0 cloop executor test jail
	has "$output" "ok    capabilities:"
	has "$output" "warn  revocation:"
	has "$output" "ok    smoke: exited, status 0"
	printf '#!/bin/sh\nprintf "\\033[2Jboo\\n" >&2; exit 3\n' > "$T/drivers/cloop-exec-broken"
	chmod 755 "$T/drivers/cloop-exec-broken"
	hub_config "  drivers: {id: jail, enabled: true, driver: $T/drivers/cloop-exec-broken}"
	exits 2 cloop executor test jail
	has "$output" "FAIL  preflight:"
	lacks "$output" $'\033'
	exits 1 cloop executor test jail --skip-preflight
	lacks "$output" $'\033'
}

@test "a workspace that is full: it fails, and nothing of the try is left there" {
	mkdir "$T/full"
	mount -t tmpfs -o size=16k,mode=777 none "$T/full"
	exits 71 cloop executor test local --skip-preflight --workdir "$T/full"
	left=$(ls -A "$T/full")
	umount "$T/full"
	has "$stderr" 'to the workspace'
	same "$left" ''
}

@test "reap: what is ours and over goes, by name and counted" {
	exits 0 host cloop executor reap container
	has "$output" "no orphans found"
	podman run -d --network none --name cloop-x-00000000beef --label cloop.managed=true \
		--label cloop.executor=container --label "cloop.hub=$HUB" --label cloop.handle=c-00000000beef \
		"$IMAGE" true > /dev/null
	podman run -d --network none --name cloop-x-00000000cafe "$IMAGE" true > /dev/null
	podman wait cloop-x-00000000beef > /dev/null
	exits 0 host cloop executor reap container
	has "$output" "removed cloop-x-00000000beef (exited)"
	lacks "$output" cafe
	podman container exists cloop-x-00000000cafe
	podman rm -f cloop-x-00000000cafe > /dev/null
	exits 0 host cloop executor reap container --json
	same "$(jq -c '.executor_id' <<< "$output")" '"container"'
	exits 0 cloop executor reap local
	exits 1 cloop executor reap jail
	has "$stderr" "has no reap"
	exits 65 cloop executor reap nosuch
}
