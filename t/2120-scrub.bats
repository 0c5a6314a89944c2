#!/usr/bin/env bats
# Output as programs print secrets: what leaves the scrubber, decoded again, holds none of them.
load lib/common

setup() {
	need python3 jq base64 openssl
	TOOL=$BUILD_DIR/t/lib/secrettool
	V=$BATS_TEST_TMPDIR/values
	SHORT='p@ss w/rd&100%'
	LONG=$(printf 'ghs_%s' "$(seq -s. 1 60 | sha512sum | head -c 120)")
	printf '%s\n' "$SHORT" "$LONG" > "$V"
}


@test "as it stands, in base64, in a URL, in JSON: nothing of it is left" {
	local s
	for s in "$SHORT" "$LONG"; do
		same "$(printf 'x %s y' "$s" | "$TOOL" scrub "$V")" "x [redacted] y"
		same "$(printf '%s' "$s" | base64 | "$TOOL" scrub "$V" | tr -d '=\n')" "[redacted]$(rest "$s")"
		same "$(printf '%s' "$s" | base64 -w0 | "$TOOL" scrub "$V" | tr -d '=')" "[redacted]$(rest "$s")"
		same "$(printf '%s' "$s" | openssl base64 | "$TOOL" scrub "$V" | tr -d '=\n')" "[redacted]$(rest "$s")"
		same "$(jq -rn --arg s "$s" '$s | @uri' | "$TOOL" scrub "$V")" "[redacted]"
		same "$(jq -cn --arg s "$s" '{s: $s}' | "$TOOL" scrub "$V")" '{"s":"[redacted]"}'
		same "$(python3 -c 'import sys, urllib.parse as u; print(u.quote_plus(sys.argv[1]))' "$s" | "$TOOL" scrub "$V")" "[redacted]"
	done
}

# The base64 digit that the value's last bits share with what follows it, which is no whole byte.
rest() {
	local b
	b=$(printf '%s' "$1" | base64 -w0 | tr -d '=')
	[ $((${#1} % 3)) = 0 ] || printf '%s' "${b: -1}"
}

@test "somewhere inside what else is encoded" {
	local i out
	for i in "" a ab abc; do
		out=$(printf '%s%s and more' "$i" "$LONG" | base64 -w0 | "$TOOL" scrub "$V")
		has "$out" "[redacted]"
		lacks "$(python3 -c 'import base64, re, sys
for p in re.split(r"\[redacted\]", sys.argv[1]):
	for k in range(4):
		sys.stdout.buffer.write(base64.b64decode((p[k:] + "AAAA")[: len(p[k:]) // 4 * 4 or 4]))' "$out" | tr -d '\0')" "${LONG:6:8}"
	done
}

@test "broken into lines by whoever encoded what it stands in" {
	local width before
	for width in 40 64 76; do
		for before in {1..90..7}; do
			{ head -c "$before" /dev/zero | tr '\0' x; echo "$SHORT $LONG and more"; } | base64 -w "$width" > "$BATS_TEST_TMPDIR/in"
			"$TOOL" scrub "$V" < "$BATS_TEST_TMPDIR/in" > "$BATS_TEST_TMPDIR/out"
			python3 -c 'import base64, re, sys
wanted = [v.strip().encode() for v in open(sys.argv[2])]
left = open(sys.argv[1]).read().replace("\n", "")
assert "[redacted]" in left
for p in re.split(r"\[redacted\]", left):
	for k in range(4):
		d = base64.b64decode((p[k:] + "AAAA")[: len(p[k:]) // 4 * 4])
		for v in wanted:
			for i in range(len(v) - 5):
				assert v[i : i + 6] not in d, (v, d)' "$BATS_TEST_TMPDIR/out" "$V"
		done
	done
}

@test "a slow writer, a byte at a time, and a long stream" {
	same "$({ printf '%s' "$LONG" | while IFS= read -r -n1 c; do printf '%s' "$c"; done; echo .; } | "$TOOL" scrub "$V")" "[redacted]."
	{ seq 200000; echo "$SHORT"; seq 200000; } > "$BATS_TEST_TMPDIR/in"
	"$TOOL" scrub "$V" < "$BATS_TEST_TMPDIR/in" > "$BATS_TEST_TMPDIR/out"
	cmp "$BATS_TEST_TMPDIR/out" <(seq 200000; echo "[redacted]"; seq 200000)
}

@test "an environment that is printed, and a key" {
	same "$(TOKEN=$LONG HOME=/h env -i TOKEN="$LONG" HOME=/h env | "$TOOL" scrub "$V" | sort)" $'HOME=/h\nTOKEN=[redacted]'
	same "$("$TOOL" scrub /dev/null < "$CASES/secret/rsa/pkcs8-2048.pem")" "[redacted]"
	same "$("$TOOL" scrub /dev/null < "$CASES/secret/rsa/public.pem")" "$(cat "$CASES/secret/rsa/public.pem")"
	same "$(jq -Rs . "$CASES/secret/rsa/pkcs1-2048.pem" | "$TOOL" scrub /dev/null)" '"[redacted]\n"'
}
