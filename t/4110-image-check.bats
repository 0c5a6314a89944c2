#!/usr/bin/env bats
# cloop sandbox image check: which images a policy lets a project name.
load lib/common

setup() {
	export ANY=$BATS_TEST_TMPDIR/any
	echo '{}' > "$ANY"
}
check() { cloop sandbox image check "$@"; }
verdicts() {
	jq -r 'if .allowed then (if .needs_pin then "N" else "A" end) + (if .needs_signature then "+S" else "" end)
		else .rule[0:3] | if . == "ref" then "syn" else . end end'
}

@test "every verdict of the cases, in one stream for each policy" {
	n=0
	while IFS=$'\t' read -r p policy; do
		[[ $p == \#* ]] && continue
		awk -F'\t' -v p="$p" '$1 == p { print $2 }' "$CASES/image/verdicts.tsv" > "$BATS_TEST_TMPDIR/refs"
		awk -F'\t' -v p="$p" '$1 == p { print $3 }' "$CASES/image/verdicts.tsv" > "$BATS_TEST_TMPDIR/want"
		[ -s "$BATS_TEST_TMPDIR/refs" ] || continue
		printf '%s' "$policy" > "$BATS_TEST_TMPDIR/policy"
		check --json --policy "$BATS_TEST_TMPDIR/policy" --refs-file "$BATS_TEST_TMPDIR/refs" > "$BATS_TEST_TMPDIR/out" ||
			[ $? = 1 ]
		# The short names of the rules are those of the case file.
		same "$(verdicts < "$BATS_TEST_TMPDIR/out")" "$(cat "$BATS_TEST_TMPDIR/want")" || { echo "policy $p" >&2; return 1; }
		n=$((n + $(wc -l < "$BATS_TEST_TMPDIR/want")))
	done < "$CASES/image/policies.tsv"
	[ "$n" -gt 100 ]
}

@test "a policy that cannot be read is an error with its place" {
	while IFS=$'\t' read -r policy piece; do
		[[ $policy == \#* ]] || [ -z "$policy" ] && continue
		run --separate-stderr cloop-sandbox image check --policy - ghcr.io/acme/tools <<< "$policy"
		[ "$status" = 78 ] || [ "$status" = 65 ] || { echo "$policy: $status" >&2; return 1; }
		[ -z "$output" ]
		has "$stderr" "$piece"
	done < "$CASES/image/bad-policies.tsv"
	exits 78 check --policy - x <<< $'allowed_registries:\n  - ghcr.io/x'
	has "$stderr" '-:2:5: allowed_registries[0]'
	exits 65 check --policy - x <<< 'a: [b'
	exits 69 check --policy /nosuch/file x
}

@test "YAML and JSON say the same; nothing restricts nothing" {
	exits 0 check --policy - ghcr.io/x <<< '{"allowed_registries": ["ghcr.io"]}'
	exits 0 check --policy - ghcr.io/x <<< 'allowed_registries: [ghcr.io]'
	exits 1 check --policy - quay.io/x <<< '{allowed_registries: [ghcr.io]}'
	exits 0 check --policy "$ANY" alpine
	same "$output" 'ALLOW alpine (not pinned: the run pins it)'
}

@test "text for people: the rule, the reason and the way out" {
	exits 1 check --policy - ghcr.io/acme/tools:1 evil.example/ghcr.io/tools <<< 'allowed_registries: [ghcr.io]'
	same "$output" "ALLOW ghcr.io/acme/tools:1 (not pinned: the run pins it)
DENY  evil.example/ghcr.io/tools — registry-allowlist: image 'evil.example/ghcr.io/tools' comes from registry 'evil.example', which is not on allowed_registries
  fix: use an image from allowed_registries=ghcr.io, or have the operator extend sandbox.image_policy"
	exits 0 check --policy - "ghcr.io/x@sha256:$(printf 'a%.0s' {1..64})" <<< '{"require_signature": true, "cosign_public_keys": ["/k"]}'
	has "$output" '(needs a signature)'
	lacks "$output" 'not pinned'
}

@test "every line of JSON is one of the schema's, and nothing is left out" {
	need python3
	{ cut -f2 "$CASES/image/verdicts.tsv"; head -c 3000 /dev/urandom; echo; } |
		check --json --policy <(echo 'require_digest: true') --refs-file - > "$BATS_TEST_TMPDIR/out" || [ $? = 1 ]
	python3 -c '
import json, sys, jsonschema
s = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(s)
v = jsonschema.Draft7Validator(s)
for line in open(sys.argv[2], "rb"):
    v.validate(json.loads(line))' "$SRC/share/json-schema/image-decision.json" "$BATS_TEST_TMPDIR/out"
	exits 0 check --json --policy "$ANY" ghcr.io/acme/tools:1
	same "$output" '{"allowed":true,"digest":"","needs_pin":true,"needs_signature":false,"reason":null,"reference":"ghcr.io/acme/tools:1","registry":"ghcr.io","remediation":null,"repository":"acme/tools","rule":null,"tag":"1"}'
}

@test "a line in, a line out: lookalikes, control bytes, NUL, 512 bytes and one more" {
	x512=$(printf 'a%.0s' {1..512})
	printf '%s\n' 'ghсr.io/acme/tools' "ghcr.io/a$(printf '\t')b" "$x512" "${x512}a" '' ' ghcr.io/x' $'ghcr.io/x\r' > "$BATS_TEST_TMPDIR/refs"
	printf 'ghcr.io/x\0evil\nghcr.io/\xff\n' >> "$BATS_TEST_TMPDIR/refs"
	head -c 200000 /dev/zero | tr '\0' a >> "$BATS_TEST_TMPDIR/refs"
	printf '\nghcr.io/last' >> "$BATS_TEST_TMPDIR/refs"
	exits 1 check --json --policy "$ANY" --refs-file "$BATS_TEST_TMPDIR/refs"
	same "$(verdicts <<< "$output" | tr '\n' ' ')" 'syn syn N syn syn syn syn syn syn syn N '
	same "$(jq -r .reason <<< "$output" | sed -n 4p | tail -c 22)" 'longer than 512 bytes'
	exits 1 check --policy "$ANY" --refs-file "$BATS_TEST_TMPDIR/refs"
	[[ $output != *$'\x01'* && $output != *$'\t'* ]]
	exits 1 check --policy "$ANY" $'ghcr.io/\e[31mx\u202e'
	has "$output" 'DENY  ghcr.io/?[31mx'
	[[ $output != *$'\e'* ]]
}

@test "another program can ask through a pipe" {
	coproc asker { check --json --policy "$ANY" --refs-file -; }
	for r in alpine 'a b' ghcr.io/x; do
		printf '%s\n' "$r" >&"${asker[1]}"
		read -r -t 10 line <&"${asker[0]}"
		same "$(jq -r .reference <<< "$line")" "$r"
	done
	exec {asker[1]}>&-
	wait "$asker_PID" || [ $? = 1 ]
}

@test "the policy of the hub, and one that it cannot read" {
	export CLOOP_DIR=$BATS_TEST_TMPDIR/hub
	cloop hub bootstrap > /dev/null
	printf 'sandbox:\n  image_policy: {allowed_registries: [ghcr.io]}\n' > "$CLOOP_DIR/.cloop/config.yaml"
	exits 0 check ghcr.io/x
	exits 1 check quay.io/x
	printf 'sandbox:\n  image_policy: {allowed_registries: [ghcr.io], requre_digest: true}\n' > "$CLOOP_DIR/.cloop/config.yaml"
	exits 1 check --json ghcr.io/x
	same "$(jq -r .rule <<< "$output")" policy-configuration
	unset CLOOP_DIR
	export HOME=$BATS_TEST_TMPDIR XDG_STATE_HOME=$BATS_TEST_TMPDIR/none
	cd "$BATS_TEST_TMPDIR"
	[ -e /var/lib/cloop/.cloop/hub.env ] || {
		exits 78 check ghcr.io/x
		has "$stderr" '--policy FILE'
	}
}

@test "usage" {
	exits 64 check
	has "$stderr" '--refs-file'
	exits 64 check --policy - --refs-file -
	exits 69 check --policy "$ANY" --refs-file /nosuch/file
	exits 71 bash -c 'cloop sandbox image check --policy "$ANY" alpine > /dev/full'
}

@test "an empty policy is a broken pipeline, not one that restricts nothing" {
	exits 65 check --policy /dev/null alpine
	has "$stderr" "/dev/null: the image policy is empty"
	has "$stderr" "  fix: write {} for a policy that restricts nothing"
	exits 65 check --policy - --json alpine <<< ''
	exits 0 check --policy - alpine <<< '{}'
}

@test "a line feed in a reference makes no line of its own" {
	exits 1 check --policy "$ANY" $'x\nALLOW evil.example/y'
	has "$output" "DENY  x?ALLOW evil.example/y"
}
