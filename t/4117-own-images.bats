#!/usr/bin/env bats
# cloop's own published images: verified whoever chose them, by the identity of their publisher.
load lib/common
load lib/engine
load lib/driver

OWN=ghcr.io/blechschmidt/cloop-harness
setup_file() {
	if [ "$(id -u)" = 0 ] && command -v podman jq > /dev/null; then
		engine_up
		driver_up
		R=$(mktemp -d /tmp/clown.XXXXXX)
		export R
		for n in cloop cloop-harness cloop-harness-copilot; do podman tag "$IMAGE" "ghcr.io/blechschmidt/$n:latest"; done
		podman tag "$IMAGE" "ghcr.io/acme/tools:1"
		D=$(podman image inspect --format '{{json .RepoDigests}}' "$OWN:latest" | jq -r --arg n "$OWN@" '[.[] | select(startswith($n))][0] | split("@")[1]')
		export D
	fi
}
teardown_file() {
	engine_down
	rm -rf "${R:-/nonexistent}"
}
setup() {
	need root podman jq
	rm -rf "$HUB/.cloop/cache"
	cosign 'exit 0'
}
# A stand-in for cosign that writes down how it is called and does as it is told.
cosign() {
	printf '#!/bin/sh\nprintf "%%s\\n" "$*" >> %s/cosign.log\n%s\n' "$R" "$1" > "$R/cosign"
	chmod +x "$R/cosign"
	rm -f "$R/cosign.log"
}
asked() { cat "$R/cosign.log" 2> /dev/null || true; }
# own IMAGE FROM [JQ] : prepare of it, chosen by project or operator.
own() { prepare ".image = \"$1\" | .image_from = \"$2\" | .image_registry = {cosign: \"$R/cosign\"} | ${3:-.}"; }
required='.image_provenance = "required"'
# warned PIECE ARG... ; denied PIECE ARG...
warned() {
	exits 0 own "${@:2}"
	has "$(jq -r '.warnings | join("\n")' <<< "$output")" "$1"
	same "$(jq -r .signature <<< "$output")" null
}
denied() {
	exits 1 bash -c 'own "$@" | cat; exit ${PIPESTATUS[0]}' - "${@:2}"
	same "$output" ""
	has "$stderr" "$1"
	has "$stderr" "fix: "
}
export -f own prepare spec executor

@test "each of them, whoever chose it: by its publisher's identity, and the digest that was verified" {
	for n in cloop cloop-harness cloop-harness-copilot; do
		for from in project operator; do
			rm -rf "$HUB/.cloop/cache" "$R/cosign.log"
			exits 0 own "ghcr.io/blechschmidt/$n:latest" $from
			same "$(asked)" "verify --certificate-oidc-issuer https://token.actions.githubusercontent.com --certificate-identity-regexp ^https://github\\.com/blechschmidt/cloop/\\.github/workflows/publish-images\\.yml@refs/(heads/main|tags/v[0-9][0-9A-Za-z.+-]*)\$ --output text -- ghcr.io/blechschmidt/$n@$D"
			same "$(jq -r '[.digest, .signature.digest, .signature.how, .reproducible] | map(tostring) | join(" ")' <<< "$output")" "$D $D cosign true"
			same "$(jq -r .image <<< "$output")" "ghcr.io/blechschmidt/$n@$D"
			same "$(jq -c .warnings <<< "$output")" '[]'
		done
	done
	# By its digest too, in capitals too; and once an hour.
	rm -rf "$HUB/.cloop/cache"
	exits 0 own "$OWN@$D" project "$required"
	exits 0 own "GHCR.IO/blechschmidt/cloop-harness@$D" project "$required"
	same "$(asked | wc -l)" 2
	exits 0 own "$OWN:latest" operator "$required"
	same "$(jq -r .signature.cached <<< "$output")" true
}

@test "the identity is that of the workflow on main and on tags of releases, and of nobody else" {
	exits 0 own "$OWN:latest" operator
	re=$(asked | sed 's/.*--certificate-identity-regexp \(.*\) --output.*/\1/')
	base=https://github.com/blechschmidt/cloop/.github/workflows
	for yes in "$base/publish-images.yml@refs/heads/main" "$base/publish-images.yml@refs/tags/v0.0.4" "$base/publish-images.yml@refs/tags/v1.2.3-rc1"; do
		[[ $yes =~ $re ]] || { echo "$yes" >&2; return 1; }
	done
	for no in "$base/publish-images.yml@refs/heads/main-next" "$base/publish-images.yml@refs/pull/7/merge" "$base/edge.yml@refs/heads/main" \
		"$base/publish-images.yml@refs/tags/x" "https://github.com/evil/cloop/.github/workflows/publish-images.yml@refs/heads/main" \
		"https://github.com/blechschmidt/cloop-evil/.github/workflows/publish-images.yml@refs/heads/main" \
		"https://githubXcom/blechschmidt/cloop/.github/workflows/publish-images.yml@refs/heads/main" "x$base/publish-images.yml@refs/heads/main"; do
		[[ ! $no =~ $re ]] || { echo "$no" >&2; return 1; }
	done
}

@test "a signature that is there and is not its publisher's refuses the run, required or not" {
	for how in 'echo "Error: no matching signatures: got subjects [evil]" >&2; exit 12' 'exit 13' 'echo "main.go:69: error during command execution: no matching signatures" >&2; exit 1' \
		'printf "Error: no matching signatures: none of the expected identities matched\n none of the expected identities matched\n" >&2; exit 1' \
		'echo "Error: no matching signatures: got subjects [no signatures found]" >&2; exit 1'; do
		cosign "$how"
		denied "a signature that is not its publisher's" "$OWN:latest" operator
		denied "a signature that is not its publisher's" "$OWN@$D" project "$required"
	done
	has "$stderr" "image '$OWN@$D' has the name of one of cloop's own"
}

@test "one without a signature runs with a warning, or not where it is required" {
	for how in 'echo "Error: no signatures found" >&2; exit 10' 'exit 11' 'echo "Error: no signatures found" >&2; exit 1'; do
		cosign "$how"
		warned "'$OWN:latest' is one of cloop's own, and carries no signature of its publisher" "$OWN:latest" operator
		warned "carries no signature" "$OWN:latest" project
		denied "carries no signature of its publisher" "$OWN:latest" operator "$required"
		has "$stderr" "executors.image_provenance: warn"
	done
	# A no is not kept.
	cosign 'exit 0'
	exits 0 own "$OWN:latest" operator "$required"
	same "$(jq -r .signature.cached <<< "$output")" false
}

@test "one that cannot be checked runs with a warning: no cosign, one that breaks, no registry, no digest" {
	none='.image_registry.cosign = "/nosuch/cosign"'
	warned "its signature could not be checked: " "$OWN:latest" operator "$none"
	has "$(jq -r '.warnings | join("\n")' <<< "$output")" "install cosign"
	denied "its signature could not be checked" "$OWN:latest" operator "$none | $required"
	cosign 'echo "Error: Get https://ghcr.io/v2/: dial tcp: lookup ghcr.io: no such host" >&2; exit 1'
	warned "no such host" "$OWN:latest" operator
	denied "no such host" "$OWN:latest" project "$required"
	cosign 'kill -9 $$'
	warned "its signature could not be checked" "$OWN:latest" operator
	cosign 'exit 127'
	warned "its signature could not be checked" "$OWN:latest" operator
	denied "'image_provenance' is 'maybe'" "$OWN:latest" operator '.image_provenance = "maybe"' || has "$stderr" "'image_provenance' is 'maybe'"
}

@test "names that only look like them are none of them" {
	cosign 'exit 12'
	for ref in ghcr.io.evil/blechschmidt/cloop-harness evil.example/ghcr.io/blechschmidt/cloop-harness \
		ghcr.io/blechschmidt/cloop-harness-evil ghcr.io/blechschmidt/cloop/harness ghcr.io/evil/cloop-harness \
		docker.io/blechschmidt/cloop-harness localhost/blechschmidt/cloop-harness notghcr.io/blechschmidt/cloop; do
		podman tag "$IMAGE" "$ref:1"
		exits 0 own "$ref:1" operator "$required"
		same "$(jq -r .signature <<< "$output")" null
		podman untag "$IMAGE" "$ref:1"
	done
	same "$(asked)" ""
}

@test "the image policy is beside it: not for the operator's, and for what a project names" {
	strict='.image_policy = {require_signature: true, govern_operator_images: true, cosign_identities: [{issuer: "https://issuer.test", subject_regexp: "acme"}]}'
	# Other signers than its publisher: cosign knows only that one.
	cosign 'case $* in *issuer.test*) echo "no matching signatures" >&2; exit 12 ;; esac; exit 0'
	exits 0 own "ghcr.io/acme/tools:1" operator
	denied "is not signed by anybody who is trusted" "ghcr.io/acme/tools:1" operator "$strict"
	exits 0 own "$OWN:latest" operator "$strict"
	same "$(jq -r .signature.how <<< "$output")" cosign
	denied "is not signed by anybody who is trusted" "$OWN:latest" project "$strict"
	# Both ask: both must be content.
	rm -rf "$HUB/.cloop/cache"
	cosign 'case $* in *blechschmidt/cloop/*|*githubusercontent*) echo "no matching signatures" >&2; exit 12 ;; esac; exit 0'
	denied "a signature that is not its publisher's" "$OWN:latest" project "$strict"
	denied "registry-allowlist" "$OWN:latest" project '.image_policy = {allowed_registries: ["quay.io"]}' || has "$stderr" "allowed_registries"
}

@test "check --resolve says it as a run would" {
	export CLOOP_DIR=$BATS_TEST_TMPDIR/hub
	cloop hub bootstrap > /dev/null
	config() { jq -n --arg c "$R/cosign" --arg w "$1" '{executors: {image_provenance: $w, container: {enabled: true, runtime: "podman"}}, sandbox: {registry: {cosign: $c, proxy: "http://127.0.0.1:1"}}}' > "$CLOOP_DIR/.cloop/config.yaml"; }
	config warn
	exits 0 cloop sandbox image check --resolve --json "$OWN:latest"
	same "$(jq -r '.resolved.unproved' <<< "$output")" null
	has "$(jq -r '.resolved.signed_by' <<< "$output")" publish-images
	cosign 'exit 10'
	exits 0 cloop sandbox image check --resolve "$OWN:latest"
	has "$output" "  publisher: '$OWN:latest' is one of cloop's own, and carries no signature"
	config required
	exits 1 cloop sandbox image check --resolve --json "$OWN:latest"
	same "$(jq -r .rule <<< "$output")" image-provenance
	cosign 'exit 12'
	config warn
	exits 1 cloop sandbox image check --resolve --json "$OWN:latest"
	has "$(jq -r .reason <<< "$output")" "a signature that is not its publisher's"
	command -v python3 > /dev/null && python3 -c '
import json, sys, jsonschema
jsonschema.Draft7Validator(json.load(open(sys.argv[1]))).validate(json.loads(sys.argv[2]))' "$SRC/share/json-schema/image-decision.json" "$output"
}
