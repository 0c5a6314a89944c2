#!/usr/bin/env bats
# cloop-exec-container capabilities and preflight.
load lib/common
load lib/engine
load lib/driver

setup_file() {
	if [ "$(id -u)" = 0 ] && command -v podman >/dev/null && command -v jq >/dev/null; then
		engine_up
		driver_up
	fi
}
teardown_file() { engine_down; }
setup() { need root podman jq; }

# finding CHECK FIELD : of $output.
finding() { jq -r --arg c "$1" "[.findings[] | select(.check == \$c) | .$2][0]" <<< "$output"; }

@test "capabilities follow the configuration, not the engine" {
	exits 0 ask capabilities
	same "$(jq -c '[.driver, .isolation, .virtualized, .kernel_isolated, .network_egress, .filtered_egress, .disk_enforcement]' <<< "$output")" \
		'["container","container",false,false,false,false,"sampled"]'
	exits 0 ask capabilities '.oci_runtime = "kata-qemu" | .network = "bridge"'
	same "$(jq -c '[.isolation, .virtualized, .kernel_isolated, .network_egress]' <<< "$output")" '["vm",true,true,true]'
	exits 0 ask capabilities '.oci_runtime = "runsc" | .runtime = "docker"'
	same "$(jq -c '[.isolation, .virtualized, .kernel_isolated]' <<< "$output")" '["container",false,true]'
	exits 0 ask capabilities '.network = "bridge" | .egress_filter = {enabled: true, allow_public_internet: true, allow_ports: [443]}'
	same "$(jq -c '[.filtered_egress, .supports_egress_scope]' <<< "$output")" '[true,true]'
}

@test "an unprivileged hub has no filter, and says so" {
	open_bin
	exits 0 as_user bash -c '
		echo "{\"executor\":{\"enabled\":true,\"network\":\"bridge\",\"egress_filter\":{\"enabled\":true,\"allow_public_internet\":true,\"allow_ports\":[443]}},\"hub\":\"/x\"}" |
			"$0" capabilities' "$BIN/cloop-exec-container"
	same "$(jq -c '[.filtered_egress, .supports_egress_scope]' <<< "$output")" '[false,false]'
}

@test "everything is in order" {
	exits 0 ask preflight . '.project = env.PROJECT'
	same "$(jq -r '.findings[].check' <<< "$output" | tr '\n' ' ')" \
		"runtime daemon rootless egress devices image selinux network seccomp cgroup workdir "
	same "$(jq -r .fatal <<< "$output")" false
	has "$(finding runtime detail)" "podman "
	has "$(finding daemon detail)" "$ENGINE_DIR/graph"
	same "$(finding image status)" ok
	has "$(finding image detail)" "@sha256:"
	has "$(finding seccomp detail)" /seccomp/strict.json
	same "$(finding workdir status)" ok
}

@test "what would stop a run is fatal, with what to do" {
	exits 1 ask preflight '.image = "ghcr.io/acme/nothing:1"' '.project = "/no/such/dir"'
	same "$(jq -r .fatal <<< "$output")" true
	same "$(finding image status)" fail
	same "$(finding image fix)" "nothing is pulled at start: podman pull ghcr.io/acme/nothing:1"
	same "$(finding workdir status)" fail
	exits 1 ask preflight . '.project = "/etc/passwd"'
	has "$(finding workdir detail)" "is no directory"
	exits 1 ask preflight . '.project = "/root"'
	has "$(finding workdir detail)" "owned by root"
	exits 0 ask preflight '.allow_root_user = true' '.project = "/root"'
	same "$(finding workdir status)" warn
	exits 1 ask preflight '.selinux_label = "Z" | .network = "no-such-network"'
	same "$(finding selinux status)" warn
	has "$(finding network detail)" "no-such-network"
}

@test "an engine that is not there stops the questions" {
	exits 1 ask preflight '.runtime = "docker"'
	n=$(jq '.findings | length' <<< "$output")
	[ "$n" -le 2 ]
	same "$(jq -r '.findings[-1].status' <<< "$output")" fail
	[ "$(jq -r '.findings[-1].fix' <<< "$output")" != null ]
}

@test "an image with an ENTRYPOINT is refused" {
	engine_image localhost/entry:1 'ENTRYPOINT ["/bin/echo"]'
	exits 1 ask preflight '.image = "localhost/entry:1"'
	has "$(finding image detail)" "ENTRYPOINT (/bin/echo)"
}

@test "runtimes: gVisor, Kata without KVM, and names that claim nothing" {
	exits 0 ask preflight '.oci_runtime = "runsc"'
	same "$(finding oci-runtime status)" warn
	has "$(finding gvisor detail)" "runsc is recognised as gVisor"
	same "$(finding seccomp status)" warn
	has "$(finding gvisor-pids detail)" "pids_limit 1024 is given to the engine as 2560"
	same "$(finding oci-runtime-isolation status)" null
	exits 0 ask preflight '.oci_runtime = "runcs"'
	has "$(finding oci-runtime-isolation detail)" "'runcs'"
	same "$(finding gvisor status)" null
	if [ ! -e /dev/kvm ]; then
		exits 1 ask preflight '.oci_runtime = "kata"'
		same "$(finding kvm status)" fail
		has "$(finding kvm detail)" "no /dev/kvm"
	fi
	# A path is no name: the executor is out of service.
	exits 78 ask preflight '.oci_runtime = "/usr/bin/runc"'
	has "$stderr" "oci_runtime"
}

@test "seccomp: the engine's own profile is warned about" {
	exits 0 ask preflight '.seccomp = "engine"'
	same "$(finding seccomp status)" warn
	exits 0 ask preflight '.seccomp = "userns"'
	has "$(finding seccomp detail)" userns.json
}

@test "egress: unfiltered, filtered, internal, and what does not compile" {
	exits 0 ask preflight '.network = "bridge"'
	same "$(finding egress status)" warn
	same "$(finding network status)" warn
	exits 0 ask preflight '.network = "bridge" | .egress_filter = {enabled: true, allow_public_internet: true, allow_ports: [443]}'
	same "$(finding egress status)" ok
	has "$(finding egress detail)" "rules"
	# Names would not resolve: a warning of the compiler's.
	has "$(jq -r '.findings[] | select(.check == "egress-scope").detail' <<< "$output")" "resolver"
	exits 0 ask preflight '.network = "bridge" | .egress_filter = {enabled: true, internal: true}'
	has "$(finding egress detail)" "internal"
	exits 0 ask preflight '.network = "bridge" | .egress_filter = {enabled: true, allow_cidrs: ["192.0.2.0/24"], allow_ports: [443]}'
	same "$(finding egress status)" ok
	# A filter that cannot mean anything takes the executor out of service.
	exits 78 ask preflight '.network = "none" | .egress_filter = {enabled: true, allow_public_internet: true, allow_ports: [443]}'
	has "$stderr" "egress_filter"
}

@test "another firewall's drop is found" {
	need nft
	# In a network namespace of its own: nothing of this machine's is changed.
	ask_there() {
		unshare -n bash -c '
			nft -f - <<< "table ip other { chain fwd_all { type filter hook forward priority 0; policy drop; }; }"
			. "$0/lib/driver.bash"; ask preflight "$1"' "$BATS_TEST_DIRNAME" "$1"
	}
	filter='.network = "bridge" | .egress_filter = {enabled: true, allow_public_internet: true, allow_ports: [443], resolvers: ["1.1.1.1"]}'
	exits 0 ask_there "$filter"
	same "$(finding egress-firewalls status)" warn
	has "$(finding egress-firewalls detail)" "ip other fwd_all (policy drop)"
	exits 1 ask_there "$filter | .network_backend = \"prepared\""
	same "$(finding egress-firewalls status)" fail
	has "$(finding egress-firewalls fix)" "iptables -I FORWARD"
}

@test "docker: runtimes are known, and an unregistered one is fatal" {
	need docker dockerd runsc
	printf '{"runtimes":{"runsc":{"path":"%s"}}}\n' "$ENGINE_DIR/bin/runsc" > "$ENGINE_DIR/daemon.json"
	engine_docker_up
	exits 0 ask preflight '.runtime = "docker" | .oci_runtime = "runsc"'
	has "$(finding oci-runtime detail)" "runsc is registered with docker"
	same "$(finding gvisor status)" ok
	exits 1 ask preflight '.runtime = "docker" | .oci_runtime = "runcs"'
	has "$(finding oci-runtime detail)" "runc"
	same "$(finding oci-runtime status)" fail
	engine_docker_down
}

@test "input that is no executor is refused" {
	for text in '' '{' '[]' '{}' '{"executor":{}}' '{"executor":[],"hub":"/x"}' '{"executor":{"enabled":true},"hub":"x"}' \
		'{"executor":{"enabled":true},"hub":"/x","bogus":1}' $'{"executor":{"enabled":true},"hub":"/x\x01"}'; do
		for verb in capabilities preflight reap; do
			exits 65 bash -c 'printf %s "$1" | cloop-exec-container "$2"' - "$text" $verb
			same "$output" ""
		done
	done
	head -c 5000000 /dev/zero | tr '\0' ' ' > "$BATS_TEST_TMPDIR/big"
	exits 65 bash -c 'cloop-exec-container preflight < "$1"' - "$BATS_TEST_TMPDIR/big"
}
