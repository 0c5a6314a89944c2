#!/usr/bin/env bats
# What messages tell a person to type.
load lib/common

setup_file() {
	export SPECS=$BATS_FILE_TMPDIR
	for d in "$SRC"/cmd/*/spec.c; do
		n=$(basename "$(dirname "$d")")
		"$BIN/$n" --cl-spec > "$SPECS/$n.json"
	done
}

# typed WORDS... : a verb of the command has these words, or these words begin with it. A command
# whose only verb has no name takes operands.
typed() {
	local want="${*:2} " verb verbs
	verbs=$(jq -r '.verbs[].name' "$SPECS/cloop-$1.json")
	[ -n "$verbs" ] || return 0
	while read -r verb; do
		[[ $want == "$verb "* || "$verb " == "$want"* ]] && return 0
	done <<< "$verbs"
	return 1
}

@test "a command that a message tells to type exists, with its verb" {
	local b words
	for b in "$BIN"/cloop*; do strings -n 8 "$b"; done |
		grep -oE "('|: |then )cloop( [a-z][a-z-]*){1,4}" |
		sed -E "s/^('|: |then )cloop //" | sort -u > "$BATS_TEST_TMPDIR/typed"
	grep -qx "hub bootstrap" "$BATS_TEST_TMPDIR/typed"
	while read -ra words; do
		case "${words[*]}" in
		builds* | needs*) continue ;;          # no command: a sentence after a colon
		help* | list* | version*) continue ;; # the front command's own
		"executor agent"* | "hub doctor"*) continue ;; # of a device, of another hub's cluster
		esac
		[ -x "$BIN/cloop-${words[0]}" ] || { echo "no command: cloop ${words[*]}" >&2; return 1; }
		[ "${#words[@]}" = 1 ] || typed "${words[@]}" || { echo "no verb: cloop ${words[*]}" >&2; return 1; }
	done < "$BATS_TEST_TMPDIR/typed"
}
