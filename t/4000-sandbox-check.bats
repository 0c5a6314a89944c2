#!/usr/bin/env bats
# cloop-sandbox check: findings, their places, their formats, and files that are not files.
load lib/common

setup() {
	P=$BATS_TEST_TMPDIR/p
	mkdir -p "$P/.cloop"
	F=$P/.cloop/sandbox.yaml
}

spec() { cat > "$F"; }

@test "the guide's example is valid; what no executor can place is said" {
	cp "$CASES/sandbox/guide.yaml" "$F"
	exits 0 cloop-sandbox check "$P"
	has "$output" "sandbox.yaml:25:12: warning: capabilities.devices"
	has "$output" "   25 |   devices: [serial0]"
	has "$output" "      |            ^"
	has "$output" "ok, 2 warnings"
	exits 1 cloop-sandbox check --strict "$P"
	cd "$P"
	exits 0 cloop sandbox check
	has "$output" ".cloop/sandbox.yaml: ok, 2 warnings"
}

@test "no file, an empty one and a comment are in order" {
	exits 0 cloop-sandbox check --strict "$P"
	has "$output" "no .cloop/sandbox.yaml"
	rmdir "$P/.cloop"
	exits 0 cloop-sandbox check --strict "$P"
	has "$output" "no .cloop/sandbox.yaml"
	mkdir "$P/.cloop"
	: > "$F"
	exits 0 cloop-sandbox check --strict "$P"
	has "$output" "asks for nothing"
	echo '# nothing' > "$F"
	exits 0 cloop-sandbox check --strict "$P"
}

@test "an error shows its line, a caret, its rule and a fix" {
	printf 'image: x\nresources:\n  memory: 2gb # much\n' | spec
	exits 65 cloop-sandbox check "$P"
	same "$output" "$F:3:11: error: resources.memory '2gb' is not a size [resources]
    3 |   memory: 2gb # much
      |           ^
  fix: write a whole number with one of b, k, m, g, t, for example 4g"
	[ -z "$stderr" ]
}

@test "a tab, a wide character and a long line leave the caret in place" {
	printf 'setup: [é,\t"ü", "  "]\n' | spec
	exits 65 cloop-sandbox check "$P"
	has "$output" ":1:17: error:"
	has "$output" '    1 | setup: [é, "ü", "  "]
      |                 ^'
	printf 'env: [%s, A=b, %s]\n' "$(printf 'A%.0s, ' {1..30})A" "$(printf 'B%.0s, ' {1..30})B" | spec
	exits 65 cloop-sandbox check "$P"
	local line caret
	line=$(sed -n 2p <<< "$output") caret=$(sed -n 3p <<< "$output")
	same "${line:$((${#caret} - 1)):3}" "A=b"
}

@test "every case of the data is refused at its place, through the command" {
	python3 - "$CASES/sandbox/invalid.case" "$BATS_TEST_TMPDIR" <<- 'EOF'
	import sys
	for i, block in enumerate(open(sys.argv[1]).read().split("\n### ")[1:]):
	    head, _, body = block.partition("\n")
	    open(f"{sys.argv[2]}/{i:03d}.yaml", "w").write(body + "\n")
	    open(f"{sys.argv[2]}/{i:03d}.want", "w").write(head)
	EOF
	local f place rule piece n=0
	for f in "$BATS_TEST_TMPDIR"/*.yaml; do
		read -r place rule piece < "${f%.yaml}.want" || true
		exits 65 cloop-sandbox check "$f"
		has "$output" "$f:$place: error: "
		has "$output" "[$rule]"
		has "$output" "$piece"
		has "$output" "  fix: "
		n=$((n + 1))
	done
	[ $n -gt 90 ]
}

@test "--json prints one object a file" {
	printf 'resources: {cpu: 4096}\n' | spec
	echo 'imag: x' > "$BATS_TEST_TMPDIR/bad.yaml"
	exits 65 cloop-sandbox check --json "$P" "$BATS_TEST_TMPDIR/bad.yaml"
	[ "$(wc -l <<< "$output")" = 2 ]
	same "$(sed -n 1p <<< "$output" | jq -c '[.valid, .errors, .warnings[0].rule, .warnings[0].requested, .warnings[0].effective, .warnings[0].line]')" \
		'[true,[],"clamped","4096","1024",1]'
	same "$(sed -n 2p <<< "$output" | jq -c '[.valid, .errors[0].code, .errors[0].rule, .errors[0].line, .errors[0].remediation]')" \
		"[false,\"invalid_spec\",\"unknown-key\",1,\"did you mean 'image'?\"]"
}

@test "--format sarif is one log in the form of SARIF 2.1.0" {
	cp "$CASES/sandbox/guide.yaml" "$F"
	echo 'imag: x' > "$BATS_TEST_TMPDIR/a b%.yaml"
	cd "$BATS_TEST_TMPDIR"
	exits 65 cloop-sandbox check --format sarif p 'a b%.yaml'
	same "$(jq -c '[.version, (.runs | length), .runs[0].tool.driver.name, (.runs[0].results | length)]' <<< "$output")" \
		'["2.1.0",1,"cloop-sandbox",3]'
	# every result names a rule of the driver, by id and by index
	jq -e '.runs[0] as $r | $r.results | all(.ruleId == $r.tool.driver.rules[.ruleIndex].id)' <<< "$output"
	same "$(jq -c '.runs[0].results[2] | [.level, .ruleId, .locations[0].physicalLocation]' <<< "$output")" \
		'["error","unknown-key",{"artifactLocation":{"uri":"a%20b%25.yaml"},"region":{"startColumn":1,"startLine":1}}]'
	exits 69 cloop-sandbox check --format sarif none
	same "$(jq -c '.runs[0].results' <<< "$output")" '[]'
}

@test "--format github prints annotations with what they escape escaped" {
	cd "$BATS_TEST_TMPDIR"
	printf 'image: "a%%:,b"\n' > 'x,y:z.yaml'
	exits 65 cloop-sandbox check --format github 'x,y:z.yaml'
	has "$output" '::error file=x%2Cy%3Az.yaml,line=1,col=8,title=cloop sandbox reference-syntax::image reference '
	has "$output" "'a%25:,b'"
	[ "$(wc -l <<< "$output")" = 1 ]
}

@test "standard input is a file too" {
	exits 0 cloop-sandbox check - < "$CASES/sandbox/guide.yaml"
	has "$output" "-: ok, 2 warnings"
}

@test "what is there and is no file is told apart from a bad spec" {
	mkdir "$F"
	exits 65 cloop-sandbox check --json "$P"
	same "$(jq -r .error.code <<< "$stderr")" spec_unreadable
	has "$stderr" "is a directory"
	rmdir "$F"
	mkfifo "$F"
	exits 65 cloop-sandbox check "$P"
	has "$stderr" "is no file"
	rm "$F"
	head -c 65537 /dev/zero | tr '\0' '#' > "$F"
	exits 65 cloop-sandbox check --json "$P"
	same "$(jq -r .error.code <<< "$stderr")" spec_unreadable
	head -c 65536 /dev/zero | tr '\0' '#' > "$F"
	exits 0 cloop-sandbox check "$P"
}

@test "a link that leaves the project, a dangling one and a loop are refused; one inside is followed" {
	echo 'image: x' > "$BATS_TEST_TMPDIR/outside.yaml"
	ln -s ../../outside.yaml "$F"
	exits 65 cloop-sandbox check "$P"
	has "$stderr" "leads out of the project"
	ln -sfn /etc/hostname "$F"
	exits 65 cloop-sandbox check "$P"
	has "$stderr" "leads out of the project"
	ln -sfn nowhere "$F"
	exits 65 cloop-sandbox check "$P"
	has "$stderr" "link to nothing"
	ln -sfn sandbox.yaml "$F"
	exits 65 cloop-sandbox check "$P"
	echo 'image: inside' > "$P/own.yaml"
	ln -sfn ../own.yaml "$F"
	exits 0 cloop-sandbox check "$P"
	rm -r "$P/.cloop"
	ln -s /etc "$P/.cloop"
	exits 65 cloop-sandbox check "$P"
	has "$stderr" "leads out of the project"
	rm "$P/.cloop"
	: > "$P/.cloop"
	exits 65 cloop-sandbox check "$P"
	has "$stderr" "no directory"
}

@test "a mount's source is followed beneath the workspace" {
	printf 'image: x\nmounts:\n  - {source: link/x, target: /x}\n' | spec
	exits 0 cloop-sandbox check "$P"                 # it does not exist: made at the start
	ln -s /etc "$P/link"
	exits 65 cloop-sandbox check "$P"
	has "$output" "sandbox.yaml:3:5: error: mounts[0].source 'link/x'"
	ln -sfn ../.. "$P/link"
	exits 65 cloop-sandbox check "$P"
	printf 'mounts:\n  - {source: link, target: /x}\n' | spec
	ln -sfn /etc "$P/link"
	exits 65 cloop-sandbox check "$P"
	has "$output" "leads to '/etc'"
	exits 65 cloop-sandbox check "$F"                # the file's own name leads to its project
	mkdir "$P/vendor"
	ln -sfn vendor "$P/link"
	exits 0 cloop-sandbox check "$P"
	ln -sfn link "$P/link"
	exits 65 cloop-sandbox check "$P"
}

@test "a setup command that names a file of the project is warned about" {
	printf 'setup:\n  - pip install -r requirements.txt\ncapabilities: {egress: public}\n' | spec
	exits 0 cloop-sandbox check --strict "$P"
	: > "$P/requirements.txt"
	exits 1 cloop-sandbox check --strict "$P"
	has "$output" "sandbox.yaml:2:5: warning: setup[0] names 'requirements.txt' of the project"
	printf 'setup:\n  - cat ../../../etc/passwd /etc/passwd\n' | spec
	exits 0 cloop-sandbox check --strict "$P"
}

@test "several files: the others are checked when one cannot be read" {
	echo 'imag: x' | spec
	exits 69 cloop-sandbox check "$BATS_TEST_TMPDIR/none.yaml" "$P"
	has "$output" "unknown key 'imag'"
	has "$stderr" "none.yaml"
	exits 65 cloop-sandbox check -p "$P" "$CASES/sandbox/guide.yaml"
	has "$output" "guide.yaml: ok"
}

@test "control characters of the file do not reach the terminal" {
	printf 'setup: ["\\e[31mred\\u009b31m\\nx"]\n' | spec
	exits 65 cloop-sandbox check "$P"
	lacks "$output" $'\e'
	lacks "$output" $'\xc2\x9b'
	printf 'image: x\nsetup: ["apt \\e]0;title\\a"]\n' | spec
	exits 0 cloop-sandbox check "$P"
	lacks "$output" $'\e'
	exits 0 cloop-sandbox resolve "$P"
	lacks "$output$stderr" $'\e'
	exits 0 cloop-sandbox check --format github "$P"
	lacks "$output" $'\e'
}

@test "--json and another format exclude each other" {
	exits 64 cloop-sandbox check --json --format sarif "$P"
	exits 64 cloop-sandbox check --format xml "$P"
}

@test "the JSON Schema and the command agree" {
	need python3
	python3 - "$CASES/sandbox" "$SRC/share/json-schema/sandbox.json" "$BIN/cloop-sandbox" <<- 'EOF'
	import json, subprocess, sys
	import jsonschema
	cases, schema, exe = sys.argv[1:]
	check = jsonschema.Draft7Validator(json.load(open(schema)))
	jsonschema.Draft7Validator.check_schema(check.schema)
	def run(verb, text):
	    return subprocess.run([exe, verb, "-"] + ["--json"] * (verb == "resolve"), input=text, capture_output=True, text=True)
	n = 0
	for block in open(cases + "/valid.case").read().split("\n### ")[1:]:
	    r = run("resolve", block.partition("\n")[2])
	    spec = json.loads(r.stdout)["spec"]
	    for err in check.iter_errors(spec):
	        sys.exit(f"the schema refuses {spec}: {err.message}")
	    n += 1
	for line in open(cases + "/schema-invalid.jsonl"):
	    if run("check", line).returncode != 65:
	        sys.exit(f"the command accepts {line}")
	    if check.is_valid(json.loads(line)):
	        sys.exit(f"the schema accepts {line}")
	    n += 1
	assert n > 70, n
	EOF
}
