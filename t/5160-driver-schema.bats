#!/usr/bin/env bats
# share/json-schema and the driver say the same of what goes in and what comes out.
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
setup() { need root podman jq python3; }

# valid SCHEMA < JSON : the document is one of the schema's.
valid() {
	python3 -c '
import json, sys, jsonschema
s = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(s)
jsonschema.Draft7Validator(s).validate(json.load(sys.stdin))' "$SRC/share/json-schema/$1.json"
}

@test "what the driver answers is what the schemas say" {
	for x in . '.oci_runtime = "kata"' '.network = "bridge" | .egress_filter = {enabled: true, allow_public_internet: true, allow_ports: [443]}'; do
		ask capabilities "$x" | valid capabilities
		(ask preflight "$x" || [ $? = 1 ]) | valid preflight
	done
	(ask preflight '.image = "ghcr.io/none/here:1"' '.project = "/nowhere"' || [ $? = 1 ]) | valid preflight
	valid handle <<< '{"handle_id":"c-0123456789ab","executor_id":"container","external_id":"","started_at":"2026-11-29T21:13:00Z"}'
	valid handle <<< '{"handle_id":"c-0123456789ab","executor_id":"container","external_id":"","started_at":"2026-11-29T21:13:00Z",
		"lease":{"lease_id":"","lent":[{"name":"a","kind":"env","grant_id":"grant_1"}],"refused":[{"name":"b","grant_id":"grant_2","code":"x","reason":"y","fix":""}]}}'
}

@test "specs that the schema takes, the driver takes" {
	whole='.run_id = "run_1" | .env = {A: "b"} | .image_from = "operator" | .image_policy = {} | .image_registry = {} | .setup = []
		| .resources = {cpu_milli: 1500, memory_mb: 64, disk_mb: 64, pids: -1, disk_source: "project"}
		| .network = {disabled: true, scope: "public"} | .egress = {allow_public_internet: true, allow_ports: [443]}
		| .mounts = [{source: "a", target: "/b", read_only: true}] | .labels = {team: "x"} | .timeout_ms = 1000
		| .min_free_disk_mb = 1 | .lease = {key_file: "/k"} | .stdin = true | .detached = false | .spec_sha256 = "" | .setup_sha256 = ""'
	levels='.egress = {levels: [{level: "executor x", policy: {allow_public_internet: true, allow_ports: [443]}},
		{level: "rules of project /srv/x", version: 2, policy: {allow_cidrs: ["198.51.100.0/24"], allow_ports: [443]}}]}'
	for s in . "$whole" "$whole | $levels" "$whole | .egress = null | .mounts = null | .env = null | .resources = null | .lease = null" '.lease = {}' '.image = null | .setup = null'; do
		spec "$s" | valid spec
		exits 0 prepare "$s"
	done
}

@test "specs that the schema refuses, the driver refuses" {
	for s in 'del(.argv)' '.argv = []' '.argv = [1]' '.argv = "sh"' 'del(.project)' '.project = "x"' 'del(.hub)' '.hub = "x"' \
		'del(.executor)' '.executor = []' '.bogus = 1' '.env = ["A=b"]' '.env = {A: 1}' '.image = 1' '.image_from = "me"' \
		'.image_policy = []' '.image_registry = []' '.setup = "x"' '.setup = [1]' '.setup = [range(33) | tostring]' '.resources = []' \
		'.resources = {cpu: 1}' '.resources = {cpu_milli: -1}' '.resources = {pids: -2}' '.resources = {memory_mb: "64"}' \
		'.resources = {memory_mb: 10000000}' '.network = {scope: "all"}' '.network = {off: true}' '.egress = []' \
		'.mounts = [{source: "a"}]' '.mounts = [{source: "a", target: "/b", mode: 1}]' '.mounts = ["a"]' \
		'.mounts = [range(17) | {source: "a\(.)", target: "/b\(.)"}]' '.labels = {a: 1}' '.timeout_ms = -1' '.timeout_ms = "1s"' \
		'.stdin = "yes"' '.detached = 1' '.image_pinned = "x"' '.min_free_disk_mb = -1' \
		'.lease = true' '.lease = {id: "x"}' '.lease = {key_file: "k"}' '.lease = {key_file: 1}'; do
		spec "$s" | tee -a "$BATS_TEST_TMPDIR/specs" > "$BATS_TEST_TMPDIR/one"
		exits 65 bash -c 'cloop-exec-container prepare < "$1"' - "$BATS_TEST_TMPDIR/one"
	done
	python3 - "$SRC/share/json-schema/spec.json" "$BATS_TEST_TMPDIR/specs" <<- 'EOF'
	import json, sys, jsonschema
	v = jsonschema.Draft7Validator(json.load(open(sys.argv[1])))
	taken = [line for line in open(sys.argv[2]) if v.is_valid(json.loads(line))]
	sys.exit("the schema takes: " + taken[0] if taken else 0)
	EOF
}
