#!/usr/bin/env bats
# cloop egress firewall test: policies held to what is expected of them. Exactness is in t/unit/u-expect.c.
load lib/common

ft() { cloop-egress firewall test "$@"; }
setup() {
	F=$BATS_TEST_TMPDIR/tests.yaml
	cat > "$F" <<- 'EOF'
		policy:
		  allow_public_internet: true
		  allow_ports: [443]
		  allow_cidrs: [10.8.0.0/16]
		  resolvers: [9.9.9.9]
		lists:
		  offices: [10.20.0.0/16, 192.168.7.1-192.168.7.9]
		tests:
		- allow: [93.184.216.34:443, 9.9.9.9:53/udp, "[2606:4700::1111]:443"]
		- allow: 10.8.0.0/16
		  ports: 443
		- drop: 10.8.0.0/16
		  ports: [1-442, 444-65535]
		- name: no office is reached
		  drop: offices
		  reason: private (RFC1918/ULA)
		- drop: metadata
	EOF
}

@test "a policy that keeps its tests: TAP, and status 0" {
	exits 0 ft "$F"
	same "$output" 'TAP version 14
1..5
ok 1 - allow 93.184.216.34:443 and 2 more
ok 2 - allow 10.8.0.0/16
ok 3 - drop 10.8.0.0/16
ok 4 - no office is reached
ok 5 - drop metadata'
	exits 0 ft - < "$F"
	has "$output" "ok 5 - drop metadata"
}

@test "one that does not: the line, the first destination, its reason and rule, and status 1" {
	sed -i 's|- drop: metadata|- drop: 10.0.0.0/8|' "$F"
	exits 1 ft "$F"
	same "$(tail -n 2 <<< "$output")" "not ok 5 - drop 10.0.0.0/8
# $F:17: expected drop, got allow for 10.8.0.0:443/tcp: granted CIDR (waives private (RFC1918/ULA)) (rule 10)"
	[ "$(grep -c ^ok <<< "$output")" = 4 ]
	exits 0 cloop-egress firewall --internet --ports 443 --cidrs 10.8.0.0/16 --resolver 9.9.9.9 --check 10.8.0.0:443 --json
	[ "$(jq .rule <<< "$output")" = 10 ]
	sed -i 's|reason: .*|reason: private|' "$F"
	exits 1 ft "$F"
	has "$output" "expected drop (private), got drop for 10.20.0.0:1/tcp: private (RFC1918/ULA)"
}

@test "several files in one report, and one policy for all of them" {
	printf 'tests: [{drop: metadata}, {allow: 1.1.1.1:443}]\n' > "$BATS_TEST_TMPDIR/b.yaml"
	printf '{"tests": [{"drop": "everything", "name": "closed"}]}\n' > "$BATS_TEST_TMPDIR/c.json"
	printf '{"allow_public_internet": true, "allow_ports": [443]}' > "$BATS_TEST_TMPDIR/p.json"
	exits 1 ft --policy "$BATS_TEST_TMPDIR/p.json" "$BATS_TEST_TMPDIR/b.yaml" "$BATS_TEST_TMPDIR/c.json"
	same "$output" "TAP version 14
1..3
ok 1 - $BATS_TEST_TMPDIR/b.yaml: drop metadata
ok 2 - $BATS_TEST_TMPDIR/b.yaml: allow 1.1.1.1:443
not ok 3 - $BATS_TEST_TMPDIR/c.json: closed
# $BATS_TEST_TMPDIR/c.json:1: expected drop, got allow for 0.0.0.1:443/tcp: public Internet (rule 35)"
	exits 65 ft "$F" "$BATS_TEST_TMPDIR/b.yaml"
	has "$stderr" "b.yaml has no policy to test"
	[ -z "$output" ]
	exits 65 ft --policy "$BATS_TEST_TMPDIR/p.json" "$F"
	has "$stderr" "has a policy of its own"
}

@test "JSON and JUnit say the same, whatever the names are" {
	need python3
	printf 'policy: {}\ntests:\n- drop: everything\n  name: "a <b> & \\"c\\" # \\e[1m\\u202e \\uffff"\n- allow: 1.1.1.1\n' > "$F"
	exits 1 ft --json "$F"
	same "$(jq -c '[.tests, .failed, (.files[0].tests | map(.ok)), .files[0].tests[1].got, .files[0].tests[1].line]' <<< "$output")" \
		'[2,1,[true,false],{"query":"1.1.1.1:1/tcp","reason":"default deny","rule":null,"verdict":"drop"},5]'
	exits 1 ft --format json "$F"
	exits 1 ft --format junit "$F"
	lacks "$output" $'\e'
	same "$(python3 -c '
import sys, xml.etree.ElementTree as t
r = t.fromstring(sys.stdin.buffer.read())
print(r.attrib, [(c.attrib["name"], c.attrib["line"], [f.attrib["message"] for f in c]) for c in r.iter("testcase")])' <<< "$output")" \
		"{'tests': '2', 'failures': '1'} [('a <b> & \"c\" # ?[1m??? ?', '3', []), ('allow 1.1.1.1', '5', ['expected allow, got drop for 1.1.1.1:1/tcp: default deny'])]"
	exits 1 ft "$F"
	has "$output" 'a <b> & "c" \# '
	lacks "$output" $'\e'
}

@test "the man page's file is the one tested here" {
	local page
	page=$(awk '/^policy:$/ { on = 1 } /^\.Ed/ { on = 0 } on' "$SRC/cmd/cloop-egress/man.mdoc")
	same "$page" "$(cat "$F")"
}

@test "broken files: 65, file, line and column, a fix, nothing on stdout" {
	local text
	printf 'tests:\n- drop: 10.0.0.0/33\n' > "$F"
	exits 65 ft "$F"
	has "$stderr" "tests.yaml:2:9: "
	has "$stderr" "  fix: "
	[ -z "$output" ]
	for text in '' '[]' 'tests: [{drop: 1.1.1.1}]' 'policy: {allow_public_internet: true}
tests: [{drop: 1.1.1.1}]' 'policy: &a {}
tests: [{drop: 1.1.1.1}]' 'tests: [{drop: example.com}]' '{' $'tests: "\xff"'; do
		printf '%s' "$text" > "$F"
		exits 65 ft "$F"
		has "$stderr" "  fix: "
		[ -z "$output" ]
	done
	exits 69 ft "$BATS_TEST_TMPDIR/none"
	exits 64 ft
	exits 64 ft --format xml "$F"
	exits 64 ft --json --format tap "$F"
}

@test "the JSON Schema takes what the command takes" {
	need python3
	python3 - "$CASES/expect/files.tsv" "$SRC/share/json-schema" <<- 'EOF'
	import json, sys
	import jsonschema, yaml
	cases, schemas = sys.argv[1:]
	load = lambda n: json.load(open(f"{schemas}/{n}"))
	schema = load("egress-test.json")
	jsonschema.Draft202012Validator.check_schema(schema)
	store = {"egress-policy.json": load("egress-policy.json")}
	check = jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver("", schema, store))
	taken = refused = 0
	for line in open(cases):
	    if line.startswith("#"):
	        continue
	    text, result = line.rstrip("\n").split("\t")[:2]
	    doc = yaml.load(text.replace("\\n", "\n"), yaml.SafeLoader)
	    if result in ("pass", "fail"):
	        check.validate(doc)
	        taken += 1
	    else:
	        refused += not check.is_valid(doc)
	assert taken > 20 and refused > 10, (taken, refused)
	EOF
}

@test "100,000 ranges expected of 100,000 ranges" {
	python3 -c '
import json
r = [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24" for i in range(0, 200000, 2)]
print(json.dumps({"policy": {"allow_cidrs": r, "all_ports": True},
	"tests": [{"allow": r}, {"drop": "metadata"}, {"drop": "20.0.1.0/24"}, {"allow": "20.0.0.0/8"}]}))' > "$F"
	exits 1 ft "$F"
	has "$output" "ok 1 - allow 20.0.0.0/24 and 99999 more"
	has "$output" "expected allow, got drop for 20.0.1.0:1/tcp: default deny"
}
