#!/usr/bin/env bats
# require_signature: cosign's signatures checked from the registry, and the operator's cosign.
load lib/common
load lib/engine
load lib/driver
load lib/registry

setup_file() {
	if [ "$(id -u)" = 0 ] && command -v podman docker-registry htpasswd jq python3 curl openssl > /dev/null; then
		registry_up
		engine_up
		driver_up
		openssl ecparam -name prime256v1 -genkey -noout -out "$R/ec.key" 2>/dev/null
		openssl ecparam -name prime256v1 -genkey -noout -out "$R/other.key" 2>/dev/null
		openssl ecparam -name secp384r1 -genkey -noout -out "$R/p384.key" 2>/dev/null
		openssl genrsa -out "$R/rsa.key" 2048 2>/dev/null
		openssl genrsa -out "$R/weak.key" 1024 2>/dev/null
		openssl genpkey -algorithm ed25519 -out "$R/ed.key" 2>/dev/null
		for k in ec other p384 rsa weak ed; do openssl pkey -in "$R/$k.key" -pubout -out "$R/$k.pub" 2>/dev/null; done
		# Pulled, so that the store has the registry's digest.
		D=$(registry_push "$IMAGE" acme/signed:1)
		signature_sign acme/signed "$D" "$R/ec.key" && registry_pull acme/signed:1
		export D
	fi
}
teardown_file() {
	engine_down
	registry_down
}
setup() {
	need root podman docker-registry htpasswd jq python3 curl openssl
	rm -f "$HUB/.cloop/cache/signatures.json"
}

# policy KEY... : require_signature by these keys.
policy() { jq -nc --arg r "$R" '{require_signature: true, cosign_public_keys: [$ARGS.positional[] | if test("/") then . else "\($r)/\(.).pub" end]}' --args "$@"; }
# judge IMAGE POLICY [JQ] : prepare of it for a project, with the tests' registries.
judge() {
	prepare ".image = \"$1\" | .image_from = \"project\" | .image_policy = $2 | .image_registry = $(registry_reach) | ${3:-.}"
}
# denied PIECE IMAGE POLICY [JQ]
denied() {
	exits 1 bash -c 'judge "$@" | cat; exit ${PIPESTATUS[0]}' - "${@:2}"
	same "$output" ""
	has "$stderr" "$1"
	has "$stderr" "fix: "
}
export -f judge prepare spec executor registry_reach
# fresh NAME : pushes an image of its own; prints its digest.
fresh() {
	engine_image "localhost/$1:1" "LABEL of=$1" && registry_push "localhost/$1:1" "acme/$1:1" && registry_pull "acme/$1:1"
}

@test "signed by a key of the policy: the digest that is signed runs and is recorded" {
	exits 0 judge "$REG/acme/signed:1" "$(policy ec)"
	same "$(jq -r .digest <<< "$output")" "$D"
	same "$(jq -r .image <<< "$output")" "$REG/acme/signed@$D"
	same "$(jq -r '.signature | [.by, .how, .cached, .digest] | join(" ")' <<< "$output")" "$R/ec.pub native false $D"
	same "$(jq -r .reproducible <<< "$output")" true
	# By its digest too, and with any other key beside the right one.
	exits 0 judge "$REG/acme/signed@$D" "$(policy other ec)"
	exits 0 judge "$REG/acme/signed:1" "$(policy /nosuch/key.pub ec)"
	# Without the policy nobody is asked.
	exits 0 judge "$REG/acme/signed:1" '{}'
	same "$(jq -r .signature <<< "$output")" null
	same "$(jq -r .digest <<< "$output" | cut -c1-7)" sha256:
}

@test "RSA, Ed25519 and P-384 sign as well; a weak key, a private one and none do not" {
	for k in rsa ed p384; do
		d=$(fresh "by-$k")
		signature_sign "acme/by-$k" "$d" "$R/$k.key"
		exits 0 judge "$REG/acme/by-$k:1" "$(policy "$k")"
		same "$(jq -r .signature.by <<< "$output")" "$R/$k.pub"
		denied "none of the 1 signatures" "$REG/acme/by-$k:1" "$(policy other)"
	done
	d=$(fresh by-weak)
	signature_sign acme/by-weak "$d" "$R/weak.key"
	denied "is an RSA key of less than 2048 bits" "$REG/acme/by-weak:1" "$(policy weak)"
	denied "holds no public key in PEM" "$REG/acme/signed:1" "$(policy "$R/ec.key")"
	denied "/nosuch/key.pub" "$REG/acme/signed:1" "$(policy /nosuch/key.pub)"
}

@test "the wrong key, no signature, a signature over another image or for another repository" {
	denied "none of the 1 signatures over $D is by a key of the policy" "$REG/acme/signed:1" "$(policy other)"
	has "$stderr" "$REG/acme/signed is not signed by anybody who is trusted"
	d=$(fresh bare)
	denied "$d has no signatures in its registry" "$REG/acme/bare:1" "$(policy ec)"
	has "$stderr" "cosign sign --key"
	signature_sign acme/bare "$d" "$R/ec.key" "$REG/acme/bare" "$D"
	denied "the signature is over another image, $D" "$REG/acme/bare:1" "$(policy ec)"
	signature_sign acme/bare "$d" "$R/ec.key" "$REG/acme/signed"
	denied "the signature is for '$REG/acme/signed', not for $REG/acme/bare" "$REG/acme/bare:1" "$(policy ec)"
	signature_sign acme/bare "$d" "$R/ec.key"
	exits 0 judge "$REG/acme/bare:1" "$(policy ec)"
}

@test "a signature that was altered, is none, or is over other bytes than the payload's" {
	d=$(fresh odd)
	p=$BATS_TEST_TMPDIR/payload
	signature_payload "$REG/acme/odd" "$d" > "$p"
	sig=$(signature_make "$R/ec.key" "$p")
	echo >> "$p"
	signature_put acme/odd "$d" "$p $sig"
	denied "none of the 1 signatures" "$REG/acme/odd:1" "$(policy ec)"
	for bad in "!!" "AAAA" "${sig:0:20}" "$(head -c 9000 /dev/zero | base64 -w 0)"; do
		signature_payload "$REG/acme/odd" "$d" > "$p"
		signature_put acme/odd "$d" "$p $bad"
		denied "none of the 1 signatures" "$REG/acme/odd:1" "$(policy ec)"
	done
	signature_payload "$REG/acme/odd" "$d" '.critical.type = "atomic container signature"' > "$p"
	signature_put acme/odd "$d" "$p $(signature_make "$R/ec.key" "$p")"
	denied "what is signed is 'atomic container signature'" "$REG/acme/odd:1" "$(policy ec)"
	echo 'not JSON' > "$p"
	signature_put acme/odd "$d" "$p $(signature_make "$R/ec.key" "$p")"
	denied "what is signed is no JSON" "$REG/acme/odd:1" "$(policy ec)"
}

@test "several signatures: one by a trusted key is enough; a thousand are not looked at" {
	d=$(fresh several)
	p=$BATS_TEST_TMPDIR/payload
	q=$BATS_TEST_TMPDIR/other-payload
	signature_payload "$REG/acme/several" "$d" > "$p"
	signature_payload "$REG/acme/several" "$D" > "$q"
	ec=$(signature_make "$R/ec.key" "$p") other=$(signature_make "$R/other.key" "$p")
	signature_put acme/several "$d" "$p $other" "$q $(signature_make "$R/ec.key" "$q")" "$p AAAA" "$p $ec"
	exits 0 judge "$REG/acme/several:1" "$(policy ec)"
	signature_put acme/several "$d" "$p $other 63" "$p $ec"
	exits 0 judge "$REG/acme/several:1" "$(policy ec)"
	rm -f "$HUB/.cloop/cache/signatures.json"
	signature_put acme/several "$d" "$p $other 1000" "$p $ec"
	denied "it carries 1001 signatures: from 1 to 64 are looked at" "$REG/acme/several:1" "$(policy ec)"
	# A payload that is too large is not fetched.
	{ signature_payload "$REG/acme/several" "$d"; head -c 70000 /dev/zero | tr '\0' ' '; } > "$q"
	signature_put acme/several "$d" "$q $(signature_make "$R/ec.key" "$q")"
	denied "bytes, more than 65536" "$REG/acme/several:1" "$(policy ec)"
}

@test "a tag that has moved between check and run runs what is signed, or nothing" {
	d=$(fresh moving)
	signature_sign acme/moving "$d" "$R/ec.key"
	exits 0 judge "$REG/acme/moving:1" "$(policy ec)"
	id=$(jq -r .run <<< "$output")
	# Somebody moves the tag in the registry: the store still has what was signed.
	engine_image localhost/evil:1 'LABEL evil=1'
	e=$(registry_push localhost/evil:1 acme/moving:1)
	rm -f "$HUB/.cloop/cache/signatures.json"
	exits 0 judge "$REG/acme/moving:1" "$(policy ec)"
	same "$(jq -r '[.run, .digest] | join(" ")' <<< "$output")" "$id $d"
	# Pulled, it is another image, which nobody has signed.
	registry_pull acme/moving:1
	denied "$e has no signatures in its registry" "$REG/acme/moving:1" "$(policy ec)"
	# A local tag is no way around it: that digest is not signed there.
	podman tag localhost/evil:1 "$REG/acme/signed:2"
	denied "has no signatures in its registry" "$REG/acme/signed:2" "$(policy ec)"
	# By the digest that was checked it is what was checked, or nothing.
	exits 0 judge "$REG/acme/moving@$d" "$(policy ec)"
	same "$(jq -r .run <<< "$output")" "$id"
}

@test "an image that no registry has given a digest cannot be signed" {
	engine_image "$REG/acme/local:1" 'LABEL local=1'
	denied "has no signatures in its registry" "$REG/acme/local:1" "$(policy ec)"
	has "$stderr" "image '$REG/acme/local:1'"
	denied "names no registry" "localhost:1" "$(policy ec)"
}

@test "what was built and pushed from here counts without a pull, while the registry has that very image" {
	engine_image localhost/made:1 'LABEL made=1'
	d=$(registry_push localhost/made:1 acme/made:1)
	podman tag localhost/made:1 "$REG/acme/made:1"
	# The store has another digest for it than the registry.
	! podman image inspect --format '{{json .RepoDigests}}' "$REG/acme/made:1" | grep -q "acme/made@$d"
	denied "no signatures" "$REG/acme/made:1" "$(policy ec)"
	signature_sign acme/made "$d" "$R/ec.key"
	exits 0 judge "$REG/acme/made:1" "$(policy ec)"
	same "$(jq -r '[.image, .digest, .signature.digest] | join(" ")' <<< "$output")" "$REG/acme/made@$d $d $d"
	denied "none of the 1 signatures over $d" "$REG/acme/made:1" "$(policy other)"
	# Somebody moves the tag to another image that is signed as well: that is not the one that is here.
	engine_image localhost/newer:1 'LABEL newer=1'
	n=$(registry_push localhost/newer:1 acme/made:1)
	signature_sign acme/made "$n" "$R/ec.key"
	rm -f "$HUB/.cloop/cache/signatures.json"
	denied "no signatures" "$REG/acme/made:1" "$(policy ec)"
}

@test "the operator's own images are the policy's affair only where it says so" {
	d=$(fresh own)
	operator='.image_from = "operator"'
	exits 0 judge "$REG/acme/own:1" "$(policy ec)" "$operator"
	denied "has no signatures" "$REG/acme/own:1" "$(policy ec | jq -c '.govern_operator_images = true')" "$operator"
	signature_sign acme/own "$d" "$R/ec.key"
	exits 0 judge "$REG/acme/own:1" "$(policy ec | jq -c '.govern_operator_images = true')" "$operator"
	same "$(jq -r .digest <<< "$output")" "$d"
}

@test "a yes is kept for an hour under policy, keys and digest; a no never" {
	exits 0 judge "$REG/acme/signed:1" "$(policy ec)"
	# Kept: the registry need not answer.
	gone='.image_registry.certs_dir = "/nosuch"'
	exits 0 judge "$REG/acme/signed:1" "$(policy ec)" "$gone"
	same "$(jq -r .signature.cached <<< "$output")" true
	same "$(stat -c %a "$HUB/.cloop/cache/signatures.json")" 600
	denied "certificate" "$REG/acme/signed:1" "$(policy ec other)" "$gone"
	denied "certificate" "$REG/acme/signed:1" "$(policy ec | jq -c '.allowed_registries = ["*"]')" "$gone"
	# The file of a key changes: what it vouched for must be vouched for again.
	cp "$R/ec.pub" "$R/turned.pub"
	exits 0 judge "$REG/acme/signed:1" "$(policy turned)"
	cp "$R/other.pub" "$R/turned.pub"
	denied "none of the 1 signatures" "$REG/acme/signed:1" "$(policy turned)"
	cp "$R/ec.pub" "$R/turned.pub"
	exits 0 judge "$REG/acme/signed:1" "$(policy turned)"
	# An hour later, or with a clock that went back, it is asked again.
	cp "$HUB/.cloop/cache/signatures.json" "$BATS_TEST_TMPDIR/kept"
	for by in -3600001 +3600000; do
		jq "map_values(.at = .at $by)" "$BATS_TEST_TMPDIR/kept" > "$HUB/.cloop/cache/signatures.json"
		denied "certificate" "$REG/acme/signed:1" "$(policy ec)" "$gone"
	done
	# What is none is as good as none, and a folder that others may write is not believed.
	for junk in '' '[]' '{' '{"x": 1}'; do
		echo "$junk" > "$HUB/.cloop/cache/signatures.json"
		exits 0 judge "$REG/acme/signed:1" "$(policy ec)"
		same "$(jq -r .signature.cached <<< "$output")" false
	done
	chmod 777 "$HUB/.cloop/cache"
	exits 0 judge "$REG/acme/signed:1" "$(policy ec)"
	same "$(jq -r .signature.cached <<< "$output")" false
	chmod 700 "$HUB/.cloop/cache"
}

# A stand-in for cosign that writes down how it is called and does as it is told.
cosign() {
	mkdir -p "$R/bin"
	cat > "$R/bin/cosign" <<-E
		#!/bin/sh
		printf '%s\n' "\$*" >> $R/cosign.log
		env > $R/cosign.env
		$1
	E
	chmod +x "$R/bin/cosign"
	rm -f "$R/cosign.log"
}
identity='{"require_signature": true, "cosign_identities": [{"issuer": "https://issuer.test", "subject_regexp": "^https://github\\.com/acme/.+"}]}'
with_cosign() { echo ".image_registry.cosign = \"$R/bin/cosign\""; }

@test "identities are the operator's cosign's: its arguments, its last line, its absence" {
	cosign 'exit 0'
	export CLOOP_SECRET_KEY=never-shown
	exits 0 judge "$REG/acme/signed@$D" "$identity" "$(with_cosign)"
	same "$(cat "$R/cosign.log")" "verify --certificate-oidc-issuer https://issuer.test --certificate-identity-regexp ^https://github\\.com/acme/.+ --output text -- $REG/acme/signed@$D"
	same "$(jq -r '.signature | [.how, .by] | join(" ")' <<< "$output")" 'cosign ^https://github\.com/acme/.+'
	! grep -q CLOOP_ "$R/cosign.env"
	grep -qx "REGISTRY_AUTH_FILE=$R/auth.json" "$R/cosign.env"
	# Once: the next hour it is known.
	exits 0 judge "$REG/acme/signed@$D" "$identity" "$(with_cosign)"
	same "$(wc -l < "$R/cosign.log")" 1
	rm "$HUB/.cloop/cache/signatures.json"
	cosign 'echo first >&2; printf "Error: no matching \\033[31msignatures\\n\\n" >&2; exit 10'
	denied "Error: no matching ?[31msignatures" "$REG/acme/signed@$D" "$identity" "$(with_cosign)"
	lacks "$stderr" first
	cosign 'exit 3'
	denied "it ended with status 3 and said nothing" "$REG/acme/signed@$D" "$identity" "$(with_cosign)"
	denied "/nosuch/cosign is not there" "$REG/acme/signed@$D" "$identity" '.image_registry.cosign = "/nosuch/cosign"'
	has "$stderr" "install cosign"
}

@test "keys first, then identities; a key of a service is cosign's; what a key's signatures say is final" {
	cosign 'case $* in *awskms*) exit 0 ;; esac; echo no >&2; exit 1'
	kms=$(policy awskms://alias/x)
	exits 0 judge "$REG/acme/signed@$D" "$kms" "$(with_cosign)"
	same "$(cat "$R/cosign.log")" "verify --key awskms://alias/x --output text -- $REG/acme/signed@$D"
	# A key that verifies here needs no cosign.
	cosign 'exit 1'
	exits 0 judge "$REG/acme/signed:1" "$(policy ec | jq -c ".cosign_identities = ($identity).cosign_identities")" "$(with_cosign)"
	[ ! -e "$R/cosign.log" ]
	# A signature that was looked at here is not looked at again by who knows less of it.
	cosign 'exit 0'
	denied "none of the 1 signatures" "$REG/acme/signed:1" "$(policy other)" "$(with_cosign)"
	[ ! -e "$R/cosign.log" ]
	# Where the registry has none in the place that we know, cosign may know another.
	d=$(fresh bundled)
	exits 0 judge "$REG/acme/bundled@$d" "$(policy ec)" "$(with_cosign)"
	same "$(cat "$R/cosign.log")" "verify --key $R/ec.pub --output text -- $REG/acme/bundled@$d"
}

@test "check --resolve says who signed it, or why a run would refuse it" {
	export CLOOP_DIR=$BATS_TEST_TMPDIR/hub
	cloop hub bootstrap > /dev/null
	config() { jq -n --argjson r "$(registry_reach)" --argjson p "$1" '{sandbox: {registry: $r, image_policy: $p}}' > "$CLOOP_DIR/.cloop/config.yaml"; }
	config "$(policy ec)"
	exits 0 cloop sandbox image check --resolve --json "$REG/acme/signed:1"
	same "$(jq -r '.resolved.signed_by' <<< "$output")" "$R/ec.pub"
	exits 0 cloop sandbox image check --resolve "$REG/acme/signed:1"
	has "$output" "  signed: by $R/ec.pub"
	config "$(policy other)"
	exits 1 cloop sandbox image check --resolve --json "$REG/acme/signed:1"
	same "$(jq -r .rule <<< "$output")" signature-required
	has "$(jq -r .reason <<< "$output")" "is by a key of the policy"
	python3 -c '
import json, sys, jsonschema
jsonschema.Draft7Validator(json.load(open(sys.argv[1]))).validate(json.loads(sys.argv[2]))' "$SRC/share/json-schema/image-decision.json" "$output"
}
