#!/usr/bin/env bats
# cloop-place: the right executor, or for each of them every reason why not.
load lib/common

place() { cloop place "$@"; }
# two : a request with one executor that takes it and one that does not.
two() {
	cat <<-'E'
	{"candidates": [
	  {"executor_id": "b", "kind": "container", "health": "degraded", "capabilities": {"isolation": "container", "network_egress": true}},
	  {"executor_id": "a", "kind": "container", "capabilities": {"isolation": "container", "network_egress": true}},
	  {"executor_id": "c", "kind": "container", "labels": {"gpu": "no"}, "capabilities": {"isolation": "container"}}],
	 "requirements": {"network_egress": true}}
	E
}
# none : nobody takes it.
none() { two | jq -c '.requirements += {virtualization: true, labels: {gpu: "true"}}'; }

@test "every case, through the command line and against the schemas" {
	need python3
	exits 0 python3 "$SRC/t/lib/placecases.py" "$SRC/share/json-schema" "$CASES/place"
	same "$output" '100 cases'
}

@test "the choice is a word, so that a script can use it" {
	exits 0 place < <(two)
	same "$output" a
	[ -z "$stderr" ]
	exits 0 place --json < <(two)
	same "$output" '{"considered":3,"executor_id":"a","kind":"container","others":["b"],"warnings":[]}'
	exits 0 place --all --json < <(two)
	same "$(jq -c '[.rejections[] | [.executor_id, .constraint]]' <<< "$output")" '[["c","network_egress"]]'
}

@test "a refusal has one line for each executor, and the way out" {
	exits 1 place < <(none)
	[ -z "$output" ]
	has "$stderr" 'cloop-place: no executor takes this workload: of 3 considered, 3 fail virtualization (a shares'
	has "$stderr" 'fix: set oci_runtime: kata on a; give a the label gpu=true'
	exits 1 place --json < <(none)
	[ -z "$stderr" ]
	same "$(jq -c '.error | [.code, .constraint, .considered, .kind]' <<< "$output")" '["placement","virtualization",3,"refused"]'
	same "$(jq -c '.error.rejections | map(.executor_id)' <<< "$output")" '["a","b","c"]'
	same "$(jq -c '.error.rejections[2].also | map(.constraint)' <<< "$output")" '["labels","network_egress"]'
	same "$(jq -c '.error.fixes' <<< "$output")" \
		'[{"change":"set oci_runtime: kata on a","constraint":"virtualization","executor_id":"a"},{"change":"give a the label gpu=true","constraint":"labels","executor_id":"a"}]'
}

@test "the changes that are recommended do place it" {
	none | jq -c '(.candidates[] | select(.executor_id == "a")) |= (.capabilities += {isolation: "vm", virtualized: true, kernel_isolated: true}
		| .labels = {gpu: "true"})' > "$BATS_TEST_TMPDIR/r"
	exits 0 place --request "$BATS_TEST_TMPDIR/r"
	same "$output" a
	# The claim is one that nobody has tested.
	has "$stderr" "warning: the isolation of 'a' is what its runtime's name claims"
}

@test "--all ranks those that fit, and says what the others lack" {
	exits 0 place --all < <(two)
	same "$output" "a  chosen
b  fits            after a, which is ready
c  network_egress  gives its workloads no network, and this one asks for one (capabilities.network, or egress: public)"
	exits 1 place --all < <(none)
	lacks "$output" fits
	same "$(grep -c . <<< "$output")" 7
	has "$output" '   labels          has the label gpu=no, not gpu=true'
}

@test "why holds every constraint against one executor" {
	exits 1 place why c < <(none)
	has "$output" 'c: refused'
	has "$output" '  ok  health'
	has "$output" '  NO  labels'
	has "$output" 'fix: label it: cloop executor labels c gpu=true'
	lacks "$output" 'a: '
	exits 0 place why b < <(two)
	has "$output" 'b: fits, after a, which is ready'
	exits 0 place why < <(two)
	has "$output" 'a: chosen'
	has "$output" 'c: refused'
	exits 1 place why c --json < <(two)
	same "$(jq -c '[.executor_id, .fits, .chosen, (.constraints | map(select(.met | not).constraint))]' <<< "$output")" '["c",false,false,["network_egress"]]'
	exits 65 place why d < <(two)
	has "$stderr" "no candidate has the executor_id 'd'"
}

@test "a bound executor is judged alone, and others are named" {
	exits 0 place --bound b < <(two)
	same "$output" b
	exits 1 place --bound c < <(two)
	has "$stderr" "executor 'c' gives its workloads no network"
	has "$stderr" "fix: run it on 'a', which takes it, or set network: bridge on c"
	exits 1 place --bound c --json < <(two)
	same "$(jq -c '[.error.alternatives, .error.considered, (.error.rejections | length)]' <<< "$output")" '[["a","b"],1,1]'
	exits 0 place why --bound b < <(two)
	has "$output" 'b: chosen'
	lacks "$output" health
	exits 64 place why a --bound b < <(two)
	exits 65 place --bound aa < <(two)
	has "$stderr" "did you mean 'a'?"
}

@test "malformed requests are bad input, with a place" {
	# TEXT, LINE:COLUMN, a piece of the message
	while IFS='|' read -r text at piece; do
		exits 65 place --json <<< "$text"
		[ -z "$output" ]
		same "$(jq -r '.error | "\(.line):\(.column)"' <<< "$stderr")" "$at" || { echo "$text: $stderr" >&2; return 1; }
		has "$stderr" "$piece" || return 1
	done <<-'E'
	|2:1|should stand
	[]|1:1|the request is not an object
	{}|1:1|has no candidates
	{"candidates": null}|1:1|has no candidates
	{"candidates": {}}|1:16|candidates is not a list
	{"candidates": [1]}|1:17|a candidate is not an object
	{"candidates": [{}]}|1:19|no executor_id
	{"candidates": [{"executor_id": ""}]}|1:33|is empty
	{"candidates": [{"executor_id": "a b"}]}|1:33|printable
	{"candidates": [{"executor_id": 1}]}|1:33|not a string
	{"candidates": [{"executor_id": "a", "healt": "ready"}]}|1:38|no key 'healt'
	{"candidates": [{"executor_id": "a", "health": "fine"}]}|1:48|'fine'
	{"candidates": [{"executor_id": "a", "memory_mb": -1}]}|1:51|-1
	{"candidates": [{"executor_id": "a", "memory_mb": 1.5}]}|1:51|whole number
	{"candidates": [{"executor_id": "a", "in_flight": 1e3}]}|1:51|whole number
	{"candidates": [{"executor_id": "a", "executor_id": "b"}]}|1:38|twice
	{"candidates": [{"executor_id": "a", "labels": {"x": 1}}]}|1:54|not a string
	{"candidates": [{"executor_id": "a", "labels": {"x": "1", "x": "2"}}]}|1:59|stands twice
	{"candidates": [{"executor_id": "a", "labels": {"": "1"}}]}|1:49|1 to 256
	{"candidates": [{"executor_id": "a", "capabilities": {"isolation": "strong"}}]}|1:68|'strong'
	{"candidates": [{"executor_id": "a", "capabilities": {"virtualised": true}}]}|1:55|'virtualised'
	{"candidates": [{"executor_id": "a", "capabilities": {"virtualized": "yes"}}]}|1:70|true or false
	{"candidates": [], "requirements": {"virtualisation": true}}|1:37|no key 'virtualisation'
	{"candidates": [], "requirements": {"devices": 1}}|1:48|true or false
	{"candidates": [], "requirements": {"allowed_isolations": ["vmm"]}}|1:60|'vmm'
	{"candidates": [], "policy": {"min_agent_build": "1.0"}}|1:50|no release
	{"candidates": [], "more": 1}|1:20|no key 'more'
	{"candidates": []} x|1:20|more stands behind
	{"candidates": [[[[[[[[[[]]]]]]]]]]}|1:17|not an object
	E
}

@test "two candidates with one id, and an unknown constraint with its neighbour" {
	exits 65 place <<< '{"candidates": [{"executor_id": "a"}, {"executor_id": "b"}, {"executor_id": "a"}]}'
	has "$stderr" "two candidates have the executor_id 'a'"
	exits 65 place <<< '{"candidates": [], "requirements": {"virtualisation": true}}'
	has "$stderr" "did you mean 'virtualization'?"
	exits 65 place <<< '{"candidates": [{"executor_id": "a", "capabilities": {"virtualised": true}}]}'
	has "$stderr" "did you mean 'virtualized'?"
}

@test "absurd sizes are refused or borne" {
	long=$(printf '%257s' '' | tr ' ' x)
	exits 65 place <<< "{\"candidates\": [{\"executor_id\": \"a\", \"labels\": {\"k\": \"$long\"}}]}"
	has "$stderr" 'longer than 256 bytes'
	exits 65 place <<< "{\"candidates\": [{\"executor_id\": \"$long\"}]}"
	has "$stderr" 'longer than 128 bytes'
	exits 65 place < <(jq -nc '{candidates: [{executor_id: "a", labels: ([range(65) | {key: "l\(.)", value: ""}] | from_entries)}]}')
	has "$stderr" 'more than 64'
	exits 65 place < <(jq -nc '{candidates: [{executor_id: "a", harnesses: [range(65) | "h\(.)"]}]}')
	has "$stderr" 'more than 64'
	exits 65 place < <(head -c 3000000 /dev/zero | tr '\0' '[')
	has "$stderr" 'not an object'
	exits 65 place < <(printf '{"candidates":'; head -c 3000000 /dev/zero | tr '\0' '[')
	exits 0 place < <(jq -nc '{candidates: [range(100000) | {executor_id: "n\(.)"}]}')
	same "$output" n0
	exits 65 place < <(jq -nc '{candidates: [range(100001) | {executor_id: "n\(.)"}]}')
	has "$stderr" 'more than 100000 candidates'
	exits 1 place < <(jq -nc '{candidates: [range(100000) | {executor_id: "n\(.)"}], requirements: {devices: true, write_back: true}}')
	has "$stderr" 'of 100000 considered, 100000 fail devices'
	has "$stderr" 'more)'
}

@test "what others wrote does not reach the terminal as it is" {
	exits 1 place < <(printf '{"candidates":[{"executor_id":"a","health":"cordoned","health_reason":"\\u001b[31mred\\u202e"}]}')
	has "$stderr" 'is cordoned: ?[31mred?'
	exits 1 place --all < <(printf '{"candidates":[{"executor_id":"a","health":"cordoned","health_reason":"\\u001b[31mred"}]}')
	has "$output" '?[31mred'
	exits 1 place why < <(printf '{"candidates":[{"executor_id":"a","health":"cordoned","health_reason":"\\u001b[31mred"}]}')
	has "$output" '?[31mred'
	exits 65 place < <(printf '{"candidates":[{"executor_id":"a\xff"}]}')
	has "$stderr" 'not UTF-8'
	exits 65 place < <(printf '{"candidates":[]\0}')
}

@test "a request that cannot be read says what to do" {
	local text
	for text in '' '[]' '{"candidates": 1}' '{"candidates": [{}]}' '{"candidates": [{"executor_id": ""}]}'; do
		exits 65 place <<< "$text"
		has "$stderr" "  fix: "
	done
}
