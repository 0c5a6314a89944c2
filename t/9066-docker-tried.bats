#!/usr/bin/env bats
# What is tried of an executor, with docker as its engine: executor test and probe, and confine test.

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman docker dockerd nft ip jq sqlite3
	hub_up
	# runc again under the name of Kata, and gVisor where it is.
	jq -nc --arg runc "$(command -v runc || echo /usr/sbin/runc)" --arg runsc "$ENGINE_DIR/bin/runsc" \
		'{runtimes: {kata: {path: $runc}, runsc: {path: $runsc}}}' > "$ENGINE_DIR/daemon.json"
	engine_docker_up "$NSNAME"
}
teardown_file() {
	[ -z "${T:-}" ] || rm -f "/dev/clt-${T##*.}-"*
	hub_down
}
setup() {
	rm -rf "$P/.cloop" "$P"/* "$P"/.cloop-confine* && mkdir -p "$P/.cloop" && chown -R 1000:1000 "$P"
	executors
}
teardown() {
	same "$(docker_leftovers)" ''
	cloop secret grants --json 2> /dev/null | jq -r .id | xargs -rn 1 cloop secret revoke > /dev/null
}

# executors [KEYS] : the first is the default.
executors() {
	cat > "$HUB/.cloop/config.yaml" <<-Y
	executors:
	  container:
	    - {id: plain, enabled: true, runtime: docker, image: "$IMAGE", ${1:-network: none}}
	    - {id: fake, enabled: true, runtime: docker, image: "$IMAGE", network: none, oci_runtime: kata}
	    - {id: sentry, enabled: true, runtime: docker, image: "$IMAGE", network: none, oci_runtime: runsc}
	secrets: {key_file: $HUB/cloop-secret-key}
	orchestrator: {min_free_disk_mb: 64}
	Y
}
PUBLIC='network: bridge, egress_filter: {enabled: true, allow_public_internet: true, allow_ports: [443], resolvers: ["9.9.9.9:53"]}'

@test "docker: executor test checks, takes a credential back and runs a workload" {
	exits 0 host cloop executor test plain --json
	same "$(jq -r '[.ok, .smoke.passed, .smoke.outcome, .smoke.exit_code, .preflight.fatal] | join(" ")' <<< "$output")" "true true exited 0 false"
	same "$(jq -r '.preflight.findings[] | select(.check == "revocation") | .status' <<< "$output")" ok
	has "$(jq -r '.preflight.findings[] | select(.check == "runtime") | .detail' <<< "$output")" docker
	exits 0 host cloop executor test plain --workdir "$P"
	has "$output" 'ok    smoke: exited, status 0'
	same "$(find "$P" -name '.cloop-smoke*' | wc -l)" 0
	executors "$PUBLIC"
	exits 0 host cloop executor test plain --json
	same "$(jq -r '[.ok, .smoke.passed] | join(" ")' <<< "$output")" "true true"
}

@test "docker: executor test looks at granted hardware, and at the device rules by trying them" {
	local n=/dev/clt-${T##*.}-a
	executors "$PUBLIC"
	mknod "$n" c 1 5 && chmod 666 "$n" || skip "no device nodes can be made here"
	ip link add clt-hw netns "$NSNAME" type veth peer name clt-far netns "$WORLD"
	echo "a=$n:/dev/a" | cloop secret mint hw --kind host_device > /dev/null
	printf 'near=clt-hw,target=eth1\naway=clt-gone\n' | cloop secret mint net --kind host_interface > /dev/null
	dg=$(cloop secret grant hw --to executor:plain --devices a --json | jq -r .id)
	ng=$(cloop secret grant net --to executor:plain --interfaces near --json | jq -r .id)
	exits 0 host cloop executor test plain --json
	jq -r '.preflight.findings[] | .status + " " + .check + ": " + .detail' <<< "$output" > "$T/found"
	same "$(jq -r '.smoke.passed' <<< "$output")" true
	run ! grep -E '^fail' "$T/found"
	if [ -c /dev/fuse ] && [ -c /dev/loop-control ]; then has "$(cat "$T/found")" 'device rules of docker under'; fi
	cloop secret revoke "$ng" > /dev/null
	ng=$(cloop secret grant net --to executor:plain --interfaces away --json | jq -r .id)
	exits 2 host cloop executor test plain
	has "$output" 'clt-gone'
	cloop secret revoke "$ng" > /dev/null
	cloop secret revoke "$dg" > /dev/null
	rm "$n"
	host ip link del clt-hw
}

@test "docker: the kernel that serves a sandbox is told by evidence, whatever the runtime is called" {
	exits 0 host cloop executor probe plain
	has "$output" "plain, the engine's default runtime: unclaimed"
	has "$output" 'verdict: host-kernel'
	exits 1 host cloop executor probe fake
	has "$output" 'fake, kata: contradicted (claims vm)'
	has "$output" "$(cat /proc/sys/kernel/random/boot_id)"
	printf 'capabilities: {virtualized: true}\n' > "$P/.cloop/sandbox.yaml"
	exits 125 run_in -e fake -- true
	has "$stderr" 'the isolation probe contradicts it'
	command -v runsc > /dev/null || skip "no gVisor here"
	exits 0 host cloop executor probe sentry
	has "$output" 'verdict: userspace-kernel'
	has "$output" verified
}

# holds JSON : nothing got out, and at least 100 attempts were made.
holds() {
	jq -r '.attempts[] | select(.outcome == "reached") | .family + "." + .name + ": " + .detail' <<< "$1"
	jq -e '.holds and .reached == 0 and .held >= 100 and .total >= 300' <<< "$1" > /dev/null
}

@test "docker: confine test without a network: every attempt fails" {
	exits 0 host timeout 300 cloop confine test -p "$P" --json < /dev/null
	holds "$output"
	same "$(find "$P" -name '.cloop-confine*')" ''
}

@test "docker: confine test with the public Internet: every attempt fails" {
	executors "$PUBLIC"
	exits 0 host timeout 300 cloop confine test -p "$P" --json < /dev/null
	holds "$output"
}
