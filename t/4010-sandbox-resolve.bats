#!/usr/bin/env bats
# cloop-sandbox resolve: the normalised spec, what it requires, and its hashes.
load lib/common

setup() {
	P=$BATS_TEST_TMPDIR/p
	mkdir -p "$P/.cloop"
	F=$P/.cloop/sandbox.yaml
}

spec() { cat > "$F"; }
field() { jq -c "$1" <<< "$output"; }

@test "the guide's example as text" {
	cp "$CASES/sandbox/guide.yaml" "$F"
	cd "$P"
	exits 0 cloop sandbox resolve
	has "$output" "image         ghcr.io/acme/python-toolchain:3.12"
	has "$output" "env           ANTHROPIC_API_KEY, GITHUB_TOKEN"
	has "$output" "cpu           2000m"
	has "$output" "memory        4096 MB"
	has "$output" "mounts        .cache/pip -> /home/agent/.cache/pip"
	has "$output" "              vendor -> /opt/vendor (read-only)"
	has "$output" "              harness git (capabilities.git)"
	has "$output" "sha256        f2ed4bb3d328e4f6fd688f6564f042fa750d64e5bbda369d110e266007ad5081"
	has "$stderr" "warning: .cloop/sandbox.yaml:25:12: capabilities.devices"
}

@test "the guide's example as JSON" {
	cp "$CASES/sandbox/guide.yaml" "$F"
	exits 0 cloop-sandbox resolve --json -p "$P"
	same "$(field .limits)" '{"cpu_milli":2000,"disk_mb":2048,"memory_mb":4096,"pids":512}'
	same "$(field .network)" '"grant+public"'
	same "$(field .spec.mounts[1])" '{"read_only":true,"source":"vendor","target":"/opt/vendor"}'
	same "$(field '[.requirements[].constraint]')" '["virtualization","kernel_isolation","harness","network_egress","resource_limits","disk_limit","image_override","sandbox_build","sandbox_mounts","devices","interfaces","egress_scope"]'
	same "$(field '.sandbox_spec_scheme')" 1
	same "$(field '[.sandbox_image_requested, .found, .asks_nothing]')" '["ghcr.io/acme/python-toolchain:3.12",true,false]'
	[ -z "$stderr" ]
}

@test "the hash is of the meaning, not of the text" {
	printf 'resources: {memory: 2G}\n' | spec
	exits 0 cloop-sandbox resolve --json "$P"
	local first
	first=$(field .sandbox_spec_sha256)
	printf '# the same\nresources:\n    memory: "2048m"\n' | spec
	exits 0 cloop-sandbox resolve --json "$P"
	same "$(field .sandbox_spec_sha256)" "$first"
	printf 'resources: {memory: 2049m}\n' | spec
	exits 0 cloop-sandbox resolve --json "$P"
	[ "$(field .sandbox_spec_sha256)" != "$first" ]
}

@test "the hash can be made again from the manual page's recipe" {
	printf 'image: alpine:3\nenv: [B, A]\nresources: {cpu: 0.5, memory: 1g}\n' | spec
	exits 0 cloop-sandbox resolve --json "$P"
	same "$(jq -r .sandbox_spec_sha256 <<< "$output")" "$(printf '%s\n' \
		image=alpine:3 env=A env=B cpu=0.5 memory=1024m pids=0 disk= git=false network= \
		virtualized=false kernel_isolated=false egress= | sha256sum | cut -d' ' -f1)"
}

@test "a clamp shows what was asked and what holds, and the hash has what holds" {
	printf 'resources: {pids: 100000}\n' | spec
	exits 0 cloop-sandbox resolve --json "$P"
	same "$(field '.clamps | map([.key, .requested, .effective])')" '[["resources.pids","100000","65536"]]'
	same "$(field .warnings)" '[]'
	local first
	first=$(field .sandbox_spec_sha256)
	printf 'resources: {pids: 65536}\n' | spec
	exits 0 cloop-sandbox resolve --json "$P"
	same "$(field .sandbox_spec_sha256)" "$first"
}

@test "no file asks for nothing and leaves the network alone" {
	exits 0 cloop-sandbox resolve --json "$P"
	same "$(field '[.found, .asks_nothing, .network, .requirements, .sandbox_setup_sha256]')" '[false,true,"untouched",[],null]'
	same "$(jq -r .sandbox_spec_sha256 <<< "$output")" 3bd58c88c86e102e032361dd5283d7dea3f111d4e1e7970b9c323a18d6e36621
	exits 0 cloop-sandbox resolve "$P"
	has "$output" "none: the executor's defaults apply"
}

@test "the normalised spec is a spec with the same hash" {
	cp "$CASES/sandbox/guide.yaml" "$F"
	exits 0 cloop-sandbox resolve --json "$P"
	local hash
	hash=$(field .sandbox_spec_sha256)
	field .spec > "$BATS_TEST_TMPDIR/again.yaml"
	exits 0 cloop-sandbox resolve --json "$BATS_TEST_TMPDIR/again.yaml"
	same "$(field .sandbox_spec_sha256)" "$hash"
}

@test "an invalid spec is an error with its place" {
	printf 'image: x\nenv: [A=b]\n' | spec
	exits 65 cloop-sandbox resolve "$P"
	has "$stderr" "cloop-sandbox: $F:2:7: env[0] 'A=b' has a value"
	has "$stderr" "  fix: "
	[ -z "$output" ]
	exits 65 cloop-sandbox resolve --json "$P"
	same "$(jq -c '[.error.code, .error.rule, .error.line, .error.column]' <<< "$stderr")" '["invalid_spec","env",2,7]'
}

@test "a project is named once" {
	exits 64 cloop-sandbox resolve -p "$P" "$P"
	exits 64 cloop-sandbox resolve "$P" "$P"
	exits 69 cloop-sandbox resolve "$P/none"
	exits 65 cloop-sandbox resolve -p "$CASES/sandbox/schema-invalid.jsonl"
}
