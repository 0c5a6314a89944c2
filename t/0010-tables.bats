#!/usr/bin/env bats
# What every command owes because of its table: help, refusals, JSON of the table, examples that
# run, and a manual page that says the same.
load lib/common

# Each "EXECUTABLE<tab>VERB" of the house, hidden verbs too.
verbs() {
	local d n
	for d in "$SRC"/cmd/*/spec.c; do
		n=$(basename "$(dirname "$d")")
		"$BIN/$n" --cl-spec | jq -r '.name as $n | .verbs[] | [$n, .name] | @tsv'
	done
}

# The exit status of a command line that is wrong: a wrapper's own failure is 125 as in docker(1).
usage_status() {
	"$BIN/$1" --cl-spec | jq --arg v "$2" '.verbs[] | select(.name == $v) | .exits | map(.status) |
		if index(64) then 64 else 125 end'
}

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "--cl-spec is JSON with what the documents need, and the table agrees with itself" {
	for d in "$SRC"/cmd/*/spec.c; do
		n=$(basename "$(dirname "$d")")
		exits 0 "$BIN/$n" --cl-spec
		[ "${#lines[@]}" = 1 ]
		jq -e --arg n "$n" '.name == $n and (.summary | test("^[a-z].*[^.]$")) and (.verbs | length > 0) and
			all(.verbs[]; (.summary | length > 0 and (test("[.]$") | not)) and (.exits | length > 0)) and
			all(.verbs[].options[], .options[]; (.help | length > 0) and (.name | test("^[a-z][a-z0-9-]*$"))) and
			([.verbs[].name] | length == (unique | length))' <<< "$output"
	done
}

@test "--help works for every verb, on standard output, and names every option and status" {
	while IFS=$'\t' read -r n v; do
		# shellcheck disable=SC2086 # a verb may be two words
		exits 0 "$BIN/$n" $v --help
		same "$stderr" ""
		has "$output" "Usage: "
		while read -r o; do has "$output" "--$o"; done < <("$BIN/$n" --cl-spec |
			jq -r --arg v "$v" '(.verbs[] | select(.name == $v) | .options[], .shared[]), .options[] | .name')
		while read -r s; do grep -qE "^ +$s  " <<< "$output"; done < <("$BIN/$n" --cl-spec |
			jq -r --arg v "$v" '.verbs[] | select(.name == $v) | .exits[].status')
		want=$output
		# shellcheck disable=SC2086
		exits 0 "$BIN/$n" $v -h
		same "$output" "$want"
		typed=${n/cloop-/cloop }
		# shellcheck disable=SC2086
		exits 0 env PATH="$BIN:$PATH" $typed $v --help
		same "$output" "$want"
	done < <(verbs)
}

@test "an unknown option is refused in one line with a fix, as text and as JSON" {
	while IFS=$'\t' read -r n v; do
		want=$(usage_status "$n" "$v")
		# shellcheck disable=SC2086
		exits "$want" "$BIN/$n" $v --no-such-option-at-all
		same "$output" ""
		[ "${#stderr_lines[@]}" = 2 ]
		same "${stderr_lines[0]}" "$n: unknown option '--no-such-option-at-all'"
		[[ ${stderr_lines[1]} == "  fix: "* ]]
		# shellcheck disable=SC2086
		exits "$want" "$BIN/$n" $v --no-such-option-at-all --json
		same "$output" ""
		[ "${#stderr_lines[@]}" = 1 ]
		jq -e '.error | .code == "usage" and (.remediation | length > 0)' <<< "$stderr"
	done < <(verbs)
}

@test "a command that needs a verb says so" {
	for d in "$SRC"/cmd/*/spec.c; do
		n=$(basename "$(dirname "$d")")
		[ "$n" != cloop ] || continue
		"$BIN/$n" --cl-spec | jq -e '.verbs | all(.name != "")' > /dev/null || continue
		exits 64 "$BIN/$n"
		has "$stderr" "needs a verb"
		exits 64 "$BIN/$n" no-such-verb-at-all
		has "$stderr" "has no verb 'no-such-verb-at-all'"
	done
}

@test "every example that says it runs alone does, with status 0 or 1" {
	count=0
	while IFS=$'\t' read -r n line; do
		run --separate-stderr timeout 60 env -u CLOOP_DIR HOME="$BATS_TEST_TMPDIR" PATH="$BIN:$PATH" \
			bash -c "$line" < /dev/null
		if [ "$status" -gt 1 ]; then
			echo "$n: '$line' ended with $status: $stderr" >&2
			false
		fi
		count=$((count + 1))
	done < <(for d in "$SRC"/cmd/*/spec.c; do
		"$BIN/$(basename "$(dirname "$d")")" --cl-spec
	done | jq -r '.name as $n | .verbs[].examples[] | select(.run) | [$n, .line] | @tsv')
	[ "$count" -ge 3 ]
}


# "VERB<tab>STATUS" rows of a page's EXIT STATUS section.
page_exits() {
	awk '
		/^\.Sh/ { on = $0 == ".Sh EXIT STATUS"; next }
		!on { next }
		/^\.(Pp|Bl)/ { next }
		/^\.El/ { n = 0; next }
		/^\.It / { if (!n) print "\t" $2; for (i = 1; i <= n; i++) print v[i] "\t" $2; text = 1; next }
		text { text = 0; next }
		{ x = $0; sub(/[,:]$/, "", x); if (x == "without a verb") x = ""; v[++n] = x }
	' "$1" | sort
}

@test "EXIT STATUS of every manual page is the table's" {
	for d in "$SRC"/cmd/*/spec.c; do
		n=$(basename "$(dirname "$d")")
		want=$("$BIN/$n" --cl-spec | jq -r '(.verbs | length) as $k | .verbs[] | select(.hidden | not) |
			(if $k == 1 then "" else .name end) as $v | .exits[] | [$v, .status] | @tsv' | sort)
		same "$(page_exits "$SRC/man/$n.1")" "$want"
	done
}
