#!/usr/bin/env bats
# Digests out of image registries: cloop-registry, and cloop sandbox image check --resolve.
load lib/common
load lib/engine
load lib/registry

setup_file() {
	if [ "$(id -u)" = 0 ] && command -v podman docker-registry htpasswd jq python3 curl > /dev/null; then
		registry_up
		engine_up
	fi
}
teardown_file() {
	engine_down
	registry_down
}
setup() { need root podman docker-registry htpasswd jq python3 curl; }

# resolve NAME [JQ] : what the registry has for it. refused STATUS SLUG PIECE NAME [JQ]
resolve() { registry_ask resolve "$@"; }
refused() {
	exits "$1" timeout 60 bash -c 'registry_ask resolve "$@"' - "${@:4}"
	same "$output" ""
	same "$(jq -r .error.code <<< "$stderr")" "$2"
	has "$(jq -r .error.message <<< "$stderr")" "$3"
	[ -n "$(jq -r '.error.remediation // empty' <<< "$stderr")" ]
}
export -f registry_ask registry_reach
# What the misbehaving registry was asked for NAME, with what authorised it.
asked() { jq -r --arg p "/v2/$1/manifests/1" 'select(.path == $p) | "\(.server) \(.auth)"' "$R/log" | paste -sd,; }
basic=$(printf 'alice:pass' | base64)

# The hub's policy is {}; its registries are those of the tests.
hub() {
	export CLOOP_DIR=$BATS_TEST_TMPDIR/hub
	cloop hub bootstrap > /dev/null
	jq -n --argjson r "$(registry_reach)" --argjson p "${1:-"{}"}" '{sandbox: {registry: $r, image_policy: $p}}' \
		> "$CLOOP_DIR/.cloop/config.yaml"
}
check() { timeout 120 cloop sandbox image check --resolve "$@"; }

@test "a tag, its digest, and the same by the digest; TLS with a private authority, and a login" {
	want=$(registry_push "$IMAGE" acme/tools:1)
	exits 0 resolve "$REG/acme/tools:1"
	same "$(jq -r .digest <<< "$output")" "$want"
	same "$(jq -r .reference <<< "$output")" "$REG/acme/tools@$want"
	same "$(jq -c '[.index, .platform]' <<< "$output")" '[false,null]'
	same "$(registry_curl /v2/acme/tools/manifests/1 -H 'Accept: application/vnd.oci.image.manifest.v1+json' | sha256sum | cut -c1-64)" "${want#*:}"
	exits 0 resolve "$REG/acme/tools@$want"
	same "$(jq -r .digest <<< "$output")" "$want"
	# Without a tag it is latest, which is not there.
	refused 65 registry_no_image "$REG/acme/tools:latest" "$REG/acme/tools"
	refused 65 registry_no_image "acme/tools@sha256:" "$REG/acme/tools@sha256:$(printf 'a%.0s' {1..64})"
}

@test "no authority, no login, a wrong one, a helper, a broken file" {
	refused 69 http_tls "certificate" "$REG/acme/tools:1" '.reach.certs_dir = "/nosuch"'
	has "$(jq -r .error.remediation <<< "$stderr")" "/certs.d/$REG/ca.crt"
	echo '{}' > "$BATS_TEST_TMPDIR/none"
	refused 77 registry_denied "asks for a login" "$REG/acme/tools:1" ".reach.auth_file = \"$BATS_TEST_TMPDIR/none\""
	registry_login "$REG" alice:wr0ng > "$BATS_TEST_TMPDIR/wrong"
	refused 77 registry_denied "asks for a login" "$REG/acme/tools:1" ".reach.auth_file = \"$BATS_TEST_TMPDIR/wrong\""
	has "$(jq -r .error.remediation <<< "$stderr")" "its login for '$REG' is not taken"
	lacks "$stderr" wr0ng
	echo '{"credHelpers": {"'"$REG"'": "hip-star"}}' > "$BATS_TEST_TMPDIR/helper"
	refused 77 registry_denied "asks for a login" "$REG/acme/tools:1" ".reach.auth_file = \"$BATS_TEST_TMPDIR/helper\""
	has "$(jq -r .error.remediation <<< "$stderr")" "'hip-star', which is not run"
	echo '{"auths": {"'"$REG"'": {"auth": "c3R1ZmY="}}}' > "$BATS_TEST_TMPDIR/broken"
	refused 78 configuration "is no user:password" "$REG/acme/tools:1" ".reach.auth_file = \"$BATS_TEST_TMPDIR/broken\""
	lacks "$stderr" c3R1ZmY
	refused 69 unavailable "/nosuch/auth.json" "$REG/acme/tools:1" '.reach.auth_file = "/nosuch/auth.json"'
}

@test "logins are where docker and podman keep them" {
	ask='del(.reach.auth_file)'
	refused 77 registry_denied "asks for a login" "$REG/acme/tools:1" "$ask"
	mkdir -p "$BATS_TEST_TMPDIR/h/.docker" "$BATS_TEST_TMPDIR/x/containers"
	cp "$R/auth.json" "$BATS_TEST_TMPDIR/h/.docker/config.json"
	HOME=$BATS_TEST_TMPDIR/h exits 0 resolve "$REG/acme/tools:1" "$ask"
	DOCKER_CONFIG=$BATS_TEST_TMPDIR/h/.docker exits 0 resolve "$REG/acme/tools:1" "$ask"
	REGISTRY_AUTH_FILE=$R/auth.json exits 0 resolve "$REG/acme/tools:1" "$ask"
	podman login --authfile "$BATS_TEST_TMPDIR/x/containers/auth.json" --cert-dir "$R/certs.d/$REG" -u alice -p pass "$REG" > /dev/null
	XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/x exits 0 resolve "$REG/acme/tools:1" "$ask"
	XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/x exits 0 resolve "$REG/acme/tools:1" "$ask"
	# A file that is named is the only one.
	echo '{}' > "$BATS_TEST_TMPDIR/none"
	HOME=$BATS_TEST_TMPDIR/h refused 77 registry_denied "asks for a login" "$REG/acme/tools:1" \
		".reach.auth_file = \"$BATS_TEST_TMPDIR/none\""
}

@test "of an index, the image for the machine" {
	exits 0 resolve "$EVIL/many:1" '.arch = "arm64"'
	same "$(jq -r .index <<< "$output")" true
	same "$(jq -r .platform.digest <<< "$output")" "sha256:$(printf '2%.0s' {1..64})"
	exits 0 resolve "$EVIL/many:1" '.arch = "arm" | .variant = "v7"'
	same "$(jq -r .platform.digest <<< "$output")" "sha256:$(printf '4%.0s' {1..64})"
	exits 0 resolve "$EVIL/many:1" '.arch = "s390x"'
	same "$(jq -r .platform.digest <<< "$output")" null
	has "$(jq -r .platform.note <<< "$output")" "no image for linux/s390x, only linux/amd64, linux/arm64/v8"
}

@test "a token, for this repository alone, whatever the challenge asked for" {
	exits 0 resolve "$EVIL/token/tools:1"
	same "$(asked token/tools)" "port ,port Bearer t0ken.abc"
	grep -q '"/token?service=test%2C%20one&scope=repository%3Atoken%2Ftools%3Apull"' "$R/log"
	refused 77 registry_denied "asks for a login" "$EVIL/token/tools:1" '.reach.auth_file = "/dev/null"' || {
		# An empty file is none at all.
		has "$stderr" "no file of logins"
	}
	echo '{}' > "$BATS_TEST_TMPDIR/none"
	refused 77 registry_denied "asks for a login" "$EVIL/token/tools:1" ".reach.auth_file = \"$BATS_TEST_TMPDIR/none\""
}

@test "an identitytoken is posted to the token service as a refresh token, and is shown nowhere" {
	f=$BATS_TEST_TMPDIR/identity
	identity() { jq -n --arg h "$EVIL" --arg t "$1" '{auths: {($h): {auth: ("00000000-0000-0000-0000-000000000000:" | @base64), identitytoken: $t}}}' > "$f"; }
	identity 'r3fresh+/='
	exits 0 resolve "$EVIL/refresh/tools:1" ".reach.auth_file = \"$f\""
	same "$(asked refresh/tools)" "port ,port Bearer t0ken.refresh"
	same "$(jq -r 'select(.form) | [.path, .kind, .auth, .form] | join(" ")' "$R/log")" \
		"/refresh application/x-www-form-urlencoded  grant_type=refresh_token&client_id=cloop&service=test%2C%20one&scope=repository%3Arefresh%2Ftools%3Apull&refresh_token=r3fresh%2B%2F%3D"
	# One that is over, one that is answered with none, one that is sent on: it goes nowhere else.
	refused 69 registry_answer "no token" "$EVIL/refresh-none:1" ".reach.auth_file = \"$f\""
	run ! resolve "$EVIL/refresh-moved:1" ".reach.auth_file = \"$f\""
	same "$(jq -r 'select(.form and .server == "other-port")' "$R/log")" ""
	identity r3fresh-0ld
	refused 77 registry_denied "asks for a login" "$EVIL/refresh/tools:1" ".reach.auth_file = \"$f\""
	has "$(jq -r .error.remediation <<< "$stderr")" "its login for '$EVIL' is not taken"
	lacks "$stderr" r3fresh
	# Where the registry wants a password, or who gives tokens is not spoken to over TLS, it is not sent.
	: > "$R/log"
	refused 77 registry_denied "asks for a login" "$EVIL/basic:1" ".reach.auth_file = \"$f\""
	refused 1 registry_redirect "the token service 'http://localhost:1/token' is no https" "$EVIL/realm-http:1" ".reach.auth_file = \"$f\""
	same "$(jq -r 'select(.form or .auth != "")' "$R/log")" ""
	: > "$R/log"
}

@test "auth that loops, token services that are none, challenges that do not parse" {
	refused 77 registry_denied "asks for a login" "$EVIL/loop:1"
	same "$(asked loop)" "port ,port Bearer t0ken.abc"
	refused 1 registry_redirect "the token service 'http://localhost:1/token' is no https" "$EVIL/realm-http:1"
	refused 1 registry_redirect "names no host" "$EVIL/realm-user:1"
	refused 69 registry_answer "no token" "$EVIL/token-none:1"
	refused 69 registry_answer "no token" "$EVIL/token-html:1"
	refused 69 registry_answer "does not parse" "$EVIL/broken-challenge:1"
}

@test "a registry that lies about digests is refused" {
	refused 1 registry_lies "not sha256:0000" "$EVIL/lie-header:1"
	refused 1 registry_lies "not sha256:aaaa" "$EVIL/lie-body@sha256:$(printf 'a%.0s' {1..64})"
}

@test "redirects: never off https, and no login to another host" {
	refused 1 registry_redirect "is no https:// address" "$EVIL/redirect-http:1"
	refused 1 registry_redirect "file:///etc/passwd" "$EVIL/redirect-file:1"
	refused 1 registry_redirect "status 302" "$EVIL/redirect-nowhere:1"
	refused 1 registry_redirect "more than 4 times" "$EVIL/redirect-loop:1"
	exits 0 resolve "$EVIL/redirect-same:1"
	same "$(asked basic)" "port Basic $basic"
	exits 0 resolve "$EVIL/redirect-other:1"
	same "$(asked stray)" "other-port "
	refused 77 registry_denied "asks for a login" "$EVIL/redirect-ask:1"
	same "$(asked basic)" "port Basic $basic,other-port "
	# Even loopback that may be plain is a step down from TLS.
	refused 1 registry_redirect "is no https:// address" "$EVIL/redirect-http:1" ".reach.plain_http = [\"localhost:$(cat "$R/plain-port")\"]"
}

@test "what is too large, endless, cut short, or no manifest" {
	refused 69 http_too_large "larger than 4194304 bytes" "$EVIL/huge:1"
	refused 69 http_too_large "larger than 4194304 bytes" "$EVIL/endless:1"
	refused 69 http_broken "broke off" "$EVIL/cut:1"
	refused 69 registry_answer "no manifest" "$EVIL/page:1"
	refused 69 registry_answer "schemaVersion" "$EVIL/schema1:1"
	refused 69 registry_answer "at once" "$EVIL/both:1"
	refused 69 registry_answer "Content-Type" "$EVIL/two-types:1"
	refused 75 registry_busy "429" "$EVIL/busy:1"
	refused 69 registry_unavailable "503" "$EVIL/down:1"
	refused 77 registry_denied "403" "$EVIL/forbidden:1"
}

@test "a registry that hangs or drips is given up in time; so is one that is not there" {
	refused 69 http_timeout "in time" "$EVIL/hang:1" '.timeout_ms = 1000'
	refused 69 http_timeout "in time" "$EVIL/drip:1" '.timeout_ms = 1000'
	refused 69 http_unreachable "cannot connect" "localhost:1/x:1"
}

@test "without TLS only on loopback, and only where the configuration says so" {
	plain=localhost:$(cat "$R/plain-port")
	run ! resolve "$plain/fine:1"
	exits 0 resolve "$plain/fine:1" ".reach.plain_http = [\"$plain\"]"
	hub
	sed -i "s|\"auth_file\"|\"plain_http\": [\"ghcr.io\"], \"auth_file\"|" "$CLOOP_DIR/.cloop/config.yaml"
	exits 78 cloop hub config check
	has "$output$stderr" "'ghcr.io' is no registry on this host's loopback"
}

@test "requests that are none" {
	exits 65 bash -c 'echo "{}" | cloop-registry resolve'
	exits 65 bash -c 'echo "{\"reference\": \"--x\"}" | cloop-registry resolve'
	exits 65 bash -c 'echo "{\"reference\": \"alpine\"}" | cloop-registry resolve'
	exits 65 bash -c 'echo "{\"reference\": \"localhost/x\", \"bogus\": 1}" | cloop-registry resolve'
	exits 65 bash -c 'echo "{\"reference\": \"localhost/x\", \"reach\": {\"bogus\": 1}}" | cloop-registry resolve'
	exits 1 bash -c 'echo "{\"reference\": \"localhost/x@sha512:$(printf "a%.0s" {1..128})\"}" | cloop-registry resolve'
}

@test "check --resolve: what the store has, what the registry has, and that a tag has moved" {
	hub
	digest=$(registry_push "$IMAGE" acme/moving:1)
	podman tag "$IMAGE" "$REG/acme/moving:1"
	exits 0 check --json "$REG/acme/moving:1"
	same "$(jq -r .resolved.registry_digest <<< "$output")" "$digest"
	same "$(jq -r .resolved.moved <<< "$output")" false
	# Pushed from here it has another digest there, and is the same image.
	[ "$(jq -r .resolved.store_digest <<< "$output")" != "$digest" ]
	podman pull -q --creds alice:pass --cert-dir "$R/certs.d/$REG" "$REG/acme/moving:1" > /dev/null
	exits 0 check --json "$REG/acme/moving:1"
	same "$(jq -r .resolved.moved <<< "$output")" false
	same "$(jq -r '.resolved.pinned | split("@")[0]' <<< "$output")" "$REG/acme/moving"
	python3 -c '
import json, sys, jsonschema
jsonschema.Draft7Validator(json.load(open(sys.argv[1]))).validate(json.loads(sys.argv[2]))' "$SRC/share/json-schema/image-decision.json" "$output"
	# Somebody pushes another image under the tag.
	engine_image localhost/other:1 'LABEL v=2'
	other=$(registry_push localhost/other:1 acme/moving:1)
	[ "$other" != "$digest" ]
	exits 0 check --json "$REG/acme/moving:1"
	same "$(jq -r .resolved.registry_digest <<< "$output")" "$other"
	same "$(jq -r .resolved.moved <<< "$output")" true
	exits 0 check "$REG/acme/moving:1"
	has "$output" "  moved: the registry has $other for it now"
	has "$output" "(the local store)"
	# By its digest it is what it was, and cannot move.
	exits 0 check --json "$REG/acme/moving@$digest"
	same "$(jq -r '.resolved | [.registry_digest, .moved] | join(" ")' <<< "$output")" "$digest false"
}

@test "check --resolve: an image that is nowhere, a registry that is not there, one that must be signed" {
	hub
	exits 0 check --json "$REG/acme/nothing:1"
	same "$(jq -r '.resolved.pinned' <<< "$output")" null
	has "$(jq -r .resolved.registry_error <<< "$output")" "does not have the manifest of $REG/acme/nothing:1"
	exits 0 check "$REG/acme/nothing:1"
	has "$output" "  store: it is not there"
	hub '{"require_signature": true, "cosign_public_keys": ["/k.pub"]}'
	exits 1 check --json "$REG/acme/nothing:1"
	same "$(jq -r .rule <<< "$output")" digest-resolution
	has "$(jq -r .reason <<< "$output")" "does not have the manifest"
	# What is refused by its name is not asked about.
	hub '{"allowed_registries": ["ghcr.io"]}'
	exits 1 check --json "$EVIL/fine:7"
	same "$(jq -r '.rule, .resolved' <<< "$output")" $'registry-allowlist\nnull'
	! grep -q fine/manifests/7 "$R/log"
}

@test "the registry of a hub that has none of its own settings; a policy without a hub" {
	echo '{}' > "$BATS_TEST_TMPDIR/any"
	export HOME=$BATS_TEST_TMPDIR/h XDG_STATE_HOME=$BATS_TEST_TMPDIR/none
	mkdir -p "$HOME/.config/containers" "$HOME/.docker"
	cp -r "$R/certs.d" "$HOME/.config/containers/"
	cp "$R/auth.json" "$HOME/.docker/config.json"
	cd "$BATS_TEST_TMPDIR"
	digest=$(registry_push "$IMAGE" acme/alone:1)
	exits 0 check --json --policy "$BATS_TEST_TMPDIR/any" "$REG/acme/alone:1"
	same "$(jq -r .resolved.registry_digest <<< "$output")" "$digest"
}
