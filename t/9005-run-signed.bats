#!/usr/bin/env bats
# A run takes the digest that its image has and that was signed; denials are audited as written.
load lib/common
load lib/engine
load lib/hub
load lib/registry

setup_file() {
	need root podman nft ip docker-registry htpasswd jq python3 curl openssl sqlite3
	registry_up
	hub_up
	openssl ecparam -name prime256v1 -genkey -noout -out "$R/ec.key" 2>/dev/null
	openssl pkey -in "$R/ec.key" -pubout -out "$R/ec.pub" 2>/dev/null
	D=$(registry_push "$IMAGE" acme/app:1)
	signature_sign acme/app "$D" "$R/ec.key"
	registry_pull acme/app:1
	export D
}
teardown_file() {
	hub_down
	registry_down
}
setup() {
	rm -rf "$P/.cloop"
	mkdir -p "$P/.cloop"
	hub_config_none
}

# sandbox POLICY : the hub's image policy and the tests' registries.
sandbox() {
	printf 'sandbox: %s\n' "$(jq -nc --argjson r "$(registry_reach)" --argjson p "$1" '{registry: $r, image_policy: $p}')" >> "$HUB/.cloop/config.yaml"
}
signed() { jq -nc --arg k "$R/ec.pub" '{require_signature: true, cosign_public_keys: [$k]}'; }
# image REFERENCE : what the project names.
image() { printf 'image: "%s"\n' "$1" > "$P/.cloop/sandbox.yaml" && chown -R 1000:1000 "$P"; }
# The registry is on the machine's own loopback; the runs have no network.
go() { timeout 120 cloop run -p "$P" "$@" < /dev/null; }
last() { cloop runs list --json | head -n 1 | jq -r .id; }
denial() { cloop hub audit list --json | jq -c 'select(.action == "sandbox.image_denied")' | head -n 1; }

@test "a signed image runs; its digest and who signed it are on record" {
	sandbox "$(signed)"
	image "$REG/acme/app:1"
	exits 0 go -- true
	id=$(last)
	same "$(cloop runs show "$id" --json | jq -r '[.image_requested, .image, .image_digest, .reproducible] | map(tostring) | join(" ")')" \
		"$REG/acme/app:1 $REG/acme/app@$D $D true"
	exits 0 cloop runs show "$id"
	has "$output" "$D"
	same "$(jq -r '[.sandbox_image_requested, .sandbox_image, .sandbox_reproducible] | map(tostring) | join(" ")' "$P/.cloop/sandbox-run.json")" \
		"$REG/acme/app:1 $REG/acme/app@$D true"
	same "$(cloop hub audit list --json | jq -r 'select(.action == "run.start") | .detail.signed_by' | head -n 1)" "$R/ec.pub"
}

@test "a tag that has moved and was pulled: refused, and the reference audited as it was written" {
	sandbox "$(signed)"
	image "$REG/acme/app:1"
	engine_image localhost/evil:1 'LABEL evil=1'
	e=$(registry_push localhost/evil:1 acme/app:1)
	# Moved in the registry alone it changes nothing here.
	exits 0 go -- true
	same "$(cloop runs show "$(last)" --json | jq -r .image_digest)" "$D"
	registry_pull acme/app:1
	exits 125 go -- true
	has "$stderr" "$e has no signatures in its registry"
	has "$stderr" "fix: "
	same "$(denial | jq -r '.detail | [.reference, .rule, .registry, .repository] | join(" ")')" "$REG/acme/app:1 signature-required $REG acme/app"
	exits 125 go --json -- true
	same "$(jq -r '.error | .rule + " " + .code' <<< "$stderr")" "signature-required sandbox_image_denied"
	podman tag "$REG/acme/app@$D" "$REG/acme/app:1"
	exits 0 go -- true
}

@test "lookalikes and other denials are audited as they were written; what is no denial is not" {
	sandbox '{"allowed_registries": ["ghcr.io"]}'
	image 'evil.example/ghcr.io/tools'
	exits 125 go -- true
	same "$(denial | jq -r '.detail | [.reference, .rule, .registry] | join(" ")')" "evil.example/ghcr.io/tools registry-allowlist evil.example"
	image 'ghсr.io/acme/tools:1'
	exits 125 go -- true
	same "$(denial | jq -r '.detail | [.reference, .rule] | join(" ")')" "ghсr.io/acme/tools:1 reference-syntax"
	n=$(cloop hub audit list --json | jq -c 'select(.action == "sandbox.image_denied")' | wc -l)
	# An image that is not there was not denied.
	image 'ghcr.io/acme/tools:1'
	exits 125 go -- true
	has "$stderr" "local store"
	same "$(cloop hub audit list --json | jq -c 'select(.action == "sandbox.image_denied")' | wc -l)" "$n"
	exits 0 cloop hub audit verify
}

@test "a policy that does not load refuses what a project names, and the operator's image goes on" {
	sandbox '{"allowed_registries": ["ghcr.io"], "requre_digest": true}'
	image 'ghcr.io/acme/tools:1'
	exits 125 go -- true
	has "$stderr" "requre_digest"
	has "$stderr" "fix: "
	same "$(denial | jq -r '.detail | [.reference, .rule] | join(" ")')" "ghcr.io/acme/tools:1 policy-configuration"
	image "$IMAGE"
	# Below the warning that the file has a mistake.
	exits 125 go --json -- true
	same "$(tail -n 1 <<< "$stderr" | jq -r '.error.rule')" policy-configuration
	rm "$P/.cloop/sandbox.yaml"
	exits 0 go -- true
	# Where the policy says that they are its affair too, they are.
	hub_config_none
	sandbox '{"govern_operator_images": true, "requre_digest": true}'
	exits 125 go -- true
	has "$stderr" "requre_digest"
}

@test "a reference of 512 bytes is judged, and one more is refused and audited as it was written" {
	sandbox '{"allowed_registries": ["ghcr.io"]}'
	long=ghcr.io/$(printf 'a%.0s' {1..504})
	image "$long"
	exits 125 go -- true
	lacks "$stderr" "512 bytes"
	image "${long}a"
	exits 125 go -- true
	has "$stderr" "512 bytes"
	same "$(denial | jq -r '.detail.reference')" "${long}a"
	same "$(denial | jq -r '.detail.rule')" reference-syntax
	image "$(printf 'a%.0s' {1..60000})"
	exits 125 go -- true
	exits 0 cloop hub audit verify
}

@test "registries that lie, send one elsewhere, ask for ever, send too much or nothing: what must be signed does not run" {
	sandbox "$(signed)"
	for name in lie-header redirect-http huge loop hang; do
		podman tag "$IMAGE" "$EVIL/$name:1"
		image "$EVIL/$name:1"
		exits 125 go --json -- touch ran || { echo "$name" >&2; return 1; }
		same "$(jq -r '.error.rule' <<< "$stderr")" signature-required
		[ -n "$(jq -r '.error.remediation // empty' <<< "$stderr")" ]
		[ ! -e "$P/ran" ]
	done
	same "$(denial | jq -r .detail.reference)" "$EVIL/hang:1"
}

# own_config WARN-OR-REQUIRED COSIGN-SCRIPT : the executor's image is cloop's own.
own_config() {
	local own=ghcr.io/blechschmidt/cloop-harness:latest
	podman tag "$IMAGE" "$own"
	printf '#!/bin/sh\n%s\n' "$2" > "$R/cosign" && chmod +x "$R/cosign"
	jq -n --arg c "$R/cosign" --arg w "$1" --arg i "$own" '{executors: {image_provenance: $w,
		container: {enabled: true, id: "container", runtime: "podman", image: $i, network: "none"}},
		orchestrator: {min_free_disk_mb: 64}, sandbox: {registry: {cosign: $c}}}' > "$HUB/.cloop/config.yaml"
	rm -rf "$HUB/.cloop/cache"
}

@test "an image of cloop's own: proved it is on record, unproved it is said, false it is refused and audited" {
	own_config required 'exit 0'
	exits 0 go -- true
	same "$stderr" ""
	has "$(cloop hub audit list --json | jq -r 'select(.action == "run.start") | .detail.signed_by' | head -n 1)" publish-images
	same "$(cloop runs show "$(last)" --json | jq -r '.image | split("@")[0]')" ghcr.io/blechschmidt/cloop-harness
	own_config warn 'echo "no signatures found" >&2; exit 10'
	exits 0 go -- true
	has "$stderr" "is one of cloop's own, and carries no signature of its publisher"
	exits 0 cloop executor test container --skip-preflight
	has "$output" "warn  image: 'ghcr.io/blechschmidt/cloop-harness:latest' is one of cloop's own, and carries no signature"
	own_config required 'echo "no signatures found" >&2; exit 10'
	exits 125 go -- true
	has "$stderr" "carries no signature of its publisher"
	exits 1 cloop executor test container --skip-preflight
	has "$output" "carries no signature of its publisher"
	own_config warn 'echo "no matching signatures" >&2; exit 12'
	exits 125 go -- true
	has "$stderr" "a signature that is not its publisher's"
	same "$(denial | jq -r '.detail | [.reference, .rule, .registry, .repository] | join(" ")')" \
		"ghcr.io/blechschmidt/cloop-harness:latest image-provenance ghcr.io blechschmidt/cloop-harness"
}
