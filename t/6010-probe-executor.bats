#!/usr/bin/env bats
# Evidence of executors, taken for real: podman with runc, runc under the name of Kata, gVisor, and
# probes that cannot run or do not tell the truth.
load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip
	hub_up
}
teardown_file() { hub_down; }

setup() {
	rm -rf "$P/.cloop" && mkdir -p "$P/.cloop" && chown -R 1000:1000 "$P"
	sql 'delete from isolation_evidence'
	executors
}

# executors [MORE] : three runtimes under one engine.
executors() {
	cat > "$HUB/.cloop/config.yaml" <<-Y
	executors:
	  container:
	    - {id: plain, enabled: true, runtime: podman, image: "$IMAGE", network: none}
	    - {id: fake, enabled: true, runtime: podman, image: "$IMAGE", network: none, oci_runtime: kata}
	    - {id: sentry, enabled: true, runtime: podman, image: "$IMAGE", network: none, oci_runtime: runsc}
	${1:-}
	Y
}
sql() { sqlite3 "$HUB/.cloop/state.db" "$1"; }
spec() { printf '%s\n' "$1" > "$P/.cloop/sandbox.yaml"; }
field() { sql "select $2 from isolation_evidence where executor_id = '$1'"; }
leavings() {
	podman ps -aq --external --filter name=cloop-probe
	find /sys/fs/cgroup -path '*cloop/probe-*' -name 'probe-*' 2> /dev/null | while read -r d; do
		[ -z "$(grep -l "$T" /proc/[0-9]*/environ 2> /dev/null | head -n 0)$(cat "$d/cgroup.procs" 2> /dev/null)" ] || echo "$d"
	done
}

# own_bin : executables of our own in $B, so that the probe can be another program. `honest` is ours.
own_bin() {
	B=$T/own/build/bin
	rm -rf "$T/own" && mkdir -p "$B" && cp -r "$SRC/share" "$T/own/share"
	cp "$BIN"/cloop{,-executor,-exec-container,-init,-run,-isolation-probe} "$B/"
	cp "$BIN/cloop-isolation-probe" "$B/honest"
}
# replaced CMD : a probe that is honest on the host and runs CMD in a sandbox.
replaced() {
	printf '#!/bin/sh\n[ -e /.cloop-isolation-probe ] || exec %s/honest "$@"\n%s\n' "$B" "$1" > "$B/cloop-isolation-probe"
	chmod 755 "$B/cloop-isolation-probe"
}

@test "runc claims nothing, runc named kata is contradicted, gVisor is verified" {
	need runsc
	before=$(stat -c '%u:%g %a' /dev/null)
	exits 0 cloop executor probe plain
	has "$output" "plain, the engine's default runtime: unclaimed"
	has "$output" "verdict: host-kernel"
	exits 1 cloop executor probe fake
	has "$output" "fake, kata: contradicted (claims vm)"
	has "$output" "$(cat /proc/sys/kernel/random/boot_id)"
	has "$output" "fix: find out what the engine runs under the name"
	exits 0 cloop executor probe sentry --json
	jq -e '.executor_id == "sentry" and .runtime == "runsc" and .standing == "verified" and .verdict == "userspace-kernel" and
		(.reason | test("Sentry")) and .evidence.uname.release == "4.4.0" and .reference.boot_id != null and
		.failure == null and .kept == false and .fix == "" and (.taken_at | test("^20.*Z$"))' <<< "$output"
	exits 1 cloop executor probe --json
	same "$(jq -rs 'map(.executor_id + " " + .standing) | join(",")' <<< "$output")" \
		"plain unclaimed,fake contradicted,sentry verified"
	exits 0 cloop executor evidence
	has "$output" "EXECUTOR"
	same "$(grep -c . <<< "$output")" 4
	exits 0 cloop executor evidence --json
	same "$(jq -rs 'map(.due) | unique | tostring' <<< "$output")" '[null]'
	# gVisor must not have been given the host's /dev/null.
	same "$(stat -c '%u:%g %a' /dev/null)" "$before"
	same "$(leavings)" ''
}

@test "a verdict that changes is on record, one that does not is not" {
	exits 1 cloop executor probe fake
	n=$(cloop hub audit list --json | jq -rs 'map(select(.action == "executor.isolation_verdict" and .entity_id == "fake")) | length')
	exits 1 cloop executor probe fake
	same "$(cloop hub audit list --json | jq -rs 'map(select(.action == "executor.isolation_verdict" and .entity_id == "fake")) | length')" "$n"
	same "$(cloop hub audit list --json | jq -rs 'map(select(.action == "executor.isolation_verdict" and .entity_id == "fake"))[0] | .detail | [.runtime, .verdict, .standing] | join(" ")')" \
		"kata host-kernel contradicted"
	[ "$(sql "select value from counter where name = 'cloop_executor_isolation_probes_total' and label = 'contradicted'")" -ge 2 ]
}

@test "a run that asks for a machine is refused by the evidence, and takes it itself" {
	spec 'capabilities: {virtualized: true}'
	exits 125 run_in -e fake -- true
	has "$stderr" "probing the isolation of fake: nobody has probed it"
	has "$stderr" "the isolation probe contradicts it"
	has "$stderr" "host-kernel, its boot ID is the executing machine's own: $(cat /proc/sys/kernel/random/boot_id)"
	has "$stderr" "$(date -u +%Y-)"
	# Known by now: nothing is started.
	exits 125 run_in --json -e fake -- true
	lacks "$stderr" "probing"
	same "$(tail -n 1 <<< "$stderr" | jq -c '.error | [.code, .constraint]')" '["placement","isolation_evidence"]'
	exits 125 run_in --place -- true
	has "$stderr" "isolation probe contradicts it"
	# What does not ask for it runs, and nobody looks.
	spec 'capabilities: {git: false}'
	exits 0 run_in -e fake -- echo here
	same "$output" here
	same "$(leavings)" ''
}

@test "a run that asks for another kernel gets gVisor, without a warning" {
	need runsc
	spec 'capabilities: {kernel_isolated: true}'
	executors '  isolation_evidence: required'
	exits 0 run_in -e sentry -- uname -r
	same "$output" 4.4.0
	has "$stderr" "probing the isolation of sentry"
	lacks "$stderr" "warning: the isolation"
	exits 0 run_in --place -- uname -r
	same "$output" 4.4.0
	# In the refusal of another one, and in the request that can be asked again.
	exits 125 run_in -e plain -- true
	has "$stderr" "run it on 'sentry'"
	exits 0 run_in --trace-steps -e sentry -- true
	has "$stderr" '"standing":"verified"'
}

@test "evidence is taken again when what it rests on has changed" {
	need runsc
	exits 0 cloop executor probe sentry
	exits 0 cloop executor probe sentry --stale
	same "$output" ''
	cp "$ENGINE_DIR/bin/runsc" "$T/w" && cat "$T/w" > "$ENGINE_DIR/bin/runsc"
	same "$(cloop executor evidence --json | jq -r .due)" "engine, runtime or kernel are no longer what they were"
	exits 0 cloop executor probe sentry --stale
	has "$output" verified
	touch "$CONTAINERS_CONF"
	has "$(cloop executor evidence)" "no longer what they were"
	exits 0 cloop executor probe sentry --stale
	sql "update isolation_evidence set taken_at = taken_at - 86460000"
	same "$(cloop executor evidence --json | jq -r .due)" "the evidence is more than a day old"
	# A clock that was set back does not keep it young.
	sql "update isolation_evidence set taken_at = taken_at + 2 * 86400000"
	has "$(cloop executor evidence --json | jq -r .due)" "more than a day"
	executors && sed -i 's/oci_runtime: runsc/oci_runtime: kata/' "$HUB/.cloop/config.yaml"
	has "$(cloop executor evidence --json | jq -r .due)" "another runtime now"
}

@test "a sweep looks at what claims something, once" {
	need runsc
	exits 0 cloop sweep --json
	same "$(jq -r '.notes | map(select(startswith("probed"))) | map(split(":")[0]) | sort | join(",")' <<< "$output")" \
		"probed fake (kata),probed sentry (runsc)"
	exits 0 cloop sweep --json
	same "$(jq -r '.notes | map(select(startswith("probed"))) | length' <<< "$output")" 0
	same "$(field fake standing)$(field sentry standing)$(field plain standing)" contradictedverified
}

@test "a probe that cannot run leaves it unverified, with the reason" {
	sed -i "s|$IMAGE|localhost/nosuch:1|; s|runsc|nosuch-runtime|" "$HUB/.cloop/config.yaml"
	exits 2 cloop executor probe plain
	has "$output" "localhost/nosuch:1"
	exits 2 cloop executor probe sentry
	has "$output" "nosuch-runtime"
	same "$(field sentry standing)" unverified
	same "$(field sentry taken_at)" 0
	same "$(leavings)" ''
}

@test "a probe that is missing, killed, hangs, floods or prints what it likes is none" {
	own_bin
	try() {
		replaced "$1"
		exits 2 "$B/cloop-executor" probe fake --timeout "${3:-30s}"
		has "$output" "kata: unverified"
		has "$output" "$2"
	}
	try 'exit 137' "killed by signal 9"
	try 'exit 3' "status 3"
	try 'exit 0' "it printed nothing"
	try 'echo vm' "what it printed is none"
	try 'yes | head -c 100000000' "what it printed is none"
	try 'sleep 1000' "" 5s
	same "$(leavings)" ''
	# An answer that is older than the question, or of another one.
	try 'echo "{\"evidence\":1,\"boot_id\":\"0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f\",\"uptime_ms\":5,\"hypervisor_flag\":true}"' "of another run"
	try 'echo "{\"evidence\":1,\"nonce\":\"00\",\"boot_id\":\"0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f\",\"uptime_ms\":5,\"hypervisor_flag\":true}"' "of another run"
	chmod 644 "$B/cloop-isolation-probe"
	exits 2 "$B/cloop-executor" probe fake
	has "$output" "gave no evidence"
	rm "$B/cloop-isolation-probe"
	exits 2 "$B/cloop-executor" probe fake
	has "$output" "gave no evidence"
	same "$(field fake standing)" unverified
}

@test "breaking the probe clears no contradiction, and a changed runtime is not verified by its past" {
	need runsc
	own_bin
	exits 1 "$B/cloop-executor" probe fake
	exits 0 "$B/cloop-executor" probe sentry
	replaced 'exit 1'
	exits 1 "$B/cloop-executor" probe fake
	has "$output" "as it was found before"
	has "$(field fake failure)" "status 1"
	exits 0 "$B/cloop-executor" probe sentry
	has "$output" "as it was found before"
	touch "$ENGINE_DIR/bin/runsc"
	exits 2 "$B/cloop-executor" probe sentry
	same "$(field sentry standing)" unverified
	spec 'capabilities: {kernel_isolated: true}'
	exits 0 host "$B/cloop-run" -p "$P" -e sentry -- true < /dev/null
	has "$stderr" "warning: the isolation of 'sentry'"
	executors '  isolation_evidence: required'
	exits 125 host "$B/cloop-run" -p "$P" -e sentry -- true < /dev/null
	has "$stderr" "executors.isolation_evidence is required"
}

@test "an image cannot answer in the probe's place" {
	mkdir -p "$T/evil" && engine_rootfs "$T/evil"
	mkdir -p "$T/evil/.cloop-isolation-probe" "$T/evil/proc/sys/kernel/random"
	printf '#!/bin/sh\necho "{\\"evidence\\":1,\\"nonce\\":\\"$2\\",\\"boot_id\\":\\"0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f\\",\\"uptime_ms\\":5,\\"hypervisor_flag\\":true}"\n' > "$T/evil/lie"
	cp "$T/evil/lie" "$T/evil/.cloop-isolation-probe/probe"
	echo 0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f > "$T/evil/proc/sys/kernel/random/boot_id"
	chmod 755 "$T/evil/lie" "$T/evil/.cloop-isolation-probe/probe"
	tar -C "$T/evil" --numeric-owner --owner 0 --group 0 -c . | podman import -q --change 'ENTRYPOINT ["/lie"]' \
		--change 'CMD ["/lie"]' --change 'ENV LD_PRELOAD=/lie PATH=/' --change 'VOLUME /proc/sys/kernel/random' \
		--change 'USER 0' - localhost/evil:1 > /dev/null
	sed -i "s|$IMAGE|localhost/evil:1|" "$HUB/.cloop/config.yaml"
	run --separate-stderr cloop executor probe fake
	[ "$status" = 1 ] || [ "$status" = 2 ]
	has "$output" "$(cat /proc/sys/kernel/random/boot_id)"
	# Its folder leads elsewhere.
	rm -rf "$T/evil/.cloop-isolation-probe" && ln -s /bin "$T/evil/.cloop-isolation-probe"
	tar -C "$T/evil" --numeric-owner --owner 0 --group 0 -c . | podman import -q - localhost/evil:1 > /dev/null
	run --separate-stderr cloop executor probe fake
	[ "$status" = 1 ] || [ "$status" = 2 ]
	lacks "$output" 0f1e2d3c
	podman rmi -f localhost/evil:1 > /dev/null
}

@test "what is wrong on the command line" {
	exits 65 cloop executor probe nosuch
	exits 64 cloop executor probe --timeout 0s
}
