#!/usr/bin/env bats
# cloop run and the matcher: the given executor, several of them, and --place. Nothing is started
# here: a run that is let through ends at its image, which no engine has.
load lib/common

setup() {
	D=$BATS_TEST_TMPDIR HUB=$BATS_TEST_TMPDIR/hub
	P=$D/projects/app
	export CLOOP_DIR=$HUB CLOOP_RUN_DIR=$D/run
	mkdir -p "$P/.cloop"
	[ "$(id -u)" != 0 ] || chown 1000:1000 "$P"
	cloop hub bootstrap > /dev/null
	config '    - {id: plain, enabled: true, network: none}
    - {id: net, enabled: true, network: bridge, labels: {zone: a}, egress_filter: {resolvers: ["9.9.9.9:53"]}}
    - {id: sentry, enabled: true, network: bridge, oci_runtime: runsc}
    - {id: "off", enabled: false, network: bridge, oci_runtime: kata}
    - {id: broken, enabled: true, network: bridge, oci_runtime: "/bin/kata"}'
}

config() {
	printf 'executors:\n  container:\n%s\n' "$1" > "$HUB/.cloop/config.yaml"
}
spec() { printf '%s\n' "$1" > "$P/.cloop/sandbox.yaml"; }
# went ARG... : the executor that a run which is let through goes to.
went() {
	run --separate-stderr cloop run --trace-steps -p "$P" "$@" -- true < /dev/null
	[ "$status" = 125 ]
	sed -n "s/^spec='*//p" <<< "$stderr" | sed "s/'$//" | jq -r .executor.id
}

@test "without -e the first one is asked, and refuses with its reason" {
	same "$(went)" plain
	spec 'capabilities: {egress: public}'
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "executor 'plain' gives its workloads no network"
	has "$stderr" "fix: run it on 'net', which takes it, or set network: bridge on plain"
	exits 125 cloop run -p "$P" --json -- true
	same "$(tail -n 1 <<< "$stderr" | jq -c '.error | [.code, .constraint, .kind]')" '["placement","network_egress","refused"]'
}

@test "each of several executors is there under its id" {
	same "$(went -e net)" net
	same "$(went -e sentry)" sentry
	spec 'capabilities: {kernel_isolated: true}'
	same "$(went -e sentry)" sentry
	exits 125 cloop run -p "$P" -e sentry -- true
	has "$stderr" "warning: the isolation of 'sentry' is what its runtime's name claims"
	exits 125 cloop run -p "$P" -e net -- true
	has "$stderr" "executor 'net' serves a workload's system calls by the executing machine's kernel"
	has "$stderr" "run it on 'sentry'"
	same "$(cloop runs journal -p "$P" --json | jq -r .kind | grep isolation | uniq)" isolation_evidence
}

@test "every reason is in the refusal, and the way out was tried" {
	spec 'capabilities: {virtualized: true, kernel_isolated: true, egress: public}'
	exits 125 cloop run -p "$P" -- true
	has "$stderr" 'no hypervisor stands between'
	has "$stderr" 'system calls'
	has "$stderr" 'no network'
	has "$stderr" 'fix: set oci_runtime: kata on plain; set network: bridge on plain'
	[ -z "$(cloop runs list --json)" ]
	exits 125 cloop run -p "$P" --json -- true
	same "$(grep -c '"error"' <<< "$stderr")" 1
	same "$(tail -n 1 <<< "$stderr" | jq -c '.error | [.rejections[0].constraint, (.rejections[0].also | map(.constraint)), (.fixes | length)]')" \
		'["virtualization",["kernel_isolation","network_egress"],2]'
	need python3
	tail -n 1 <<< "$stderr" | python3 -c 'import json, sys, jsonschema
jsonschema.validate(json.load(sys.stdin), json.load(open(sys.argv[1])))' "$SRC/share/json-schema/place-refusal.json"
}

@test "executors that are off, out of service or unknown are refused by name" {
	for x in off broken nosuch; do
		exits 125 cloop run -p "$P" --json -e $x -- true
		same "$(tail -n 1 <<< "$stderr" | jq -r .error.constraint)" executor
	done
	spec 'capabilities: {virtualized: true}'
	exits 125 cloop run -p "$P" -- true
	# One that is out of service is no alternative.
	lacks "$stderr" "run it on"
}

@test "--place takes the best that can, or says of each why not" {
	same "$(went --place)" net
	spec 'capabilities: {egress: public}'
	same "$(went --place)" net
	spec 'capabilities: {kernel_isolated: true}'
	same "$(went --place)" sentry
	spec 'capabilities: {virtualized: true}'
	exits 125 cloop run -p "$P" --place -- true
	has "$stderr" 'no executor takes this workload: of 4 considered'
	has "$stderr" 'broken is unreachable: executors.container[4].oci_runtime'
	has "$stderr" 'fix: set oci_runtime: kata on net'
	lacks "$stderr" "off "
	exits 125 cloop run -p "$P" --place -e net -- true
	has "$stderr" '-e net'
}

@test "the request of --trace-steps has the same answer from cloop place" {
	spec 'capabilities: {kernel_isolated: true}'
	run --separate-stderr cloop run --trace-steps --place -p "$P" -- true < /dev/null
	step=$(grep 'cloop place' <<< "$stderr")
	has "$step" ' | cloop place'
	same "$(bash -c "$step" 2> /dev/null)" sentry
	run --separate-stderr cloop run --trace-steps -e sentry -p "$P" -- true < /dev/null
	step=$(grep 'cloop place' <<< "$stderr")
	has "$step" ' | cloop place --bound sentry'
	same "$(bash -c "$step" 2> /dev/null)" sentry
}

@test "evidence that is required and not there" {
	need root
	printf '  isolation_evidence: required\n' >> "$HUB/.cloop/config.yaml"
	spec 'capabilities: {kernel_isolated: true}'
	exits 125 cloop run -p "$P" -e sentry -- true
	has "$stderr" 'evidence'
}
