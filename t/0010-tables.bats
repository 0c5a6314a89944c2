#!/usr/bin/env bats
# What every command owes because of its table: help, refusals, JSON of the table, examples that
# run, and a manual page that says the same.
load lib/common

# One file of rows, made once: EXECUTABLE, VERB, status of a wrong command line, options, statuses.
# A wrapper's own failure is 125, as in docker(1); the empty verb is written as a dot, since read
# drops an empty field.
setup_file() {
	export SPECS=$BATS_FILE_TMPDIR
	for d in "$SRC"/cmd/*/spec.c; do
		n=$(basename "$(dirname "$d")")
		"$BIN/$n" --cl-spec > "$SPECS/$n.json"
	done
	jq -r '.name as $n | .options as $own | .verbs[] | (.exits | map(.status)) as $x |
		[$n, (if .name == "" then "." else .name end), (if $x | index(64) then 64 else 125 end),
		([.options[], .shared[], $own[] | .name] | join(" ")), ($x | map(tostring) | join(" "))] | @tsv' \
		"$SPECS"/*.json > "$SPECS/rows"
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
	while IFS=$'\t' read -r n v _ options statuses; do
		v=${v#.}
		# shellcheck disable=SC2086 # a verb may be two words
		exits 0 "$BIN/$n" $v --help
		same "$stderr" ""
		has "$output" "Usage: "
		for o in $options; do has "$output" "--$o"; done
		for s in $statuses; do [[ $output =~ (^|$'\n')\ +$s\ \  ]]; done
		want=$output
		# shellcheck disable=SC2086
		exits 0 "$BIN/$n" $v -h
		same "$output" "$want"
		# shellcheck disable=SC2086
		exits 0 ${n/cloop-/cloop } $v --help
		same "$output" "$want"
	done < "$SPECS/rows"
}

@test "an unknown option is refused in one line with a fix, as text and as JSON" {
	while IFS=$'\t' read -r n v want _; do
		v=${v#.}
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
	done < "$SPECS/rows"
}

@test "a command that needs a verb says so" {
	for d in "$SRC"/cmd/*/spec.c; do
		n=$(basename "$(dirname "$d")")
		[ "$n" != cloop ] || continue
		jq -e '.verbs | all(.name != "")' "$SPECS/$n.json" > /dev/null || continue
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
	done < <(jq -r '.name as $n | .verbs[].examples[] | select(.run) | [$n, .line] | @tsv' "$SPECS"/*.json)
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
		want=$(jq -r '(.verbs | length) as $k | .verbs[] | select(.hidden | not) |
			(if $k == 1 then "" else .name end) as $v | .exits[] | [$v, .status] | @tsv' "$SPECS/$n.json" | sort)
		same "$(page_exits "$SRC/man/$n.1")" "$want"
	done
}
