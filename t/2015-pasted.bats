#!/usr/bin/env bats
# People paste tokens where a name, an id or a number belongs: no message, no answer and no audit row
# has one again, whatever verb it was.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own
load lib/common

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	hub=$D/hub
	cloop -C "$hub" hub bootstrap >/dev/null
	export CLOOP_DIR=$hub
	cd "$D"
	echo '{"K":"v"}' | cloop secret mint app >/dev/null
}

pasted() {
	GRANT=$(cloop secret grant app --to project:/x --json | jq -r .id)
	export GRANT
	exits 0 timeout 500 python3 "$SRC/t/lib/pasted.py" "$1"
	[[ $output =~ ^([0-9]+)\ tried$ ]] || { echo "$output" >&2; return 1; }
	[ "${BASH_REMATCH[1]}" -ge "$2" ]
}

@test "in each place of cloop secret" { pasted cloop-secret 300; }
@test "in each place of cloop hub" { pasted cloop-hub 100; }
@test "in each place of cloop executor" { pasted cloop-executor 100; }
@test "in each place of cloop project" { pasted cloop-project 24; }
@test "in each place of cloop runs" { pasted cloop-runs 60; }

@test "what is kept of a text that has one is without it, and nothing is refused for it" {
	local t=ghp_Q7r8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2g3H4
	exits 0 cloop secret delete app --reason "leaked as $t in a log"
	exits 65 cloop secret show app
	has "$stderr" "leaked as [redacted] in a log"
	lacks "$(cloop hub audit list -n 0 --json)" "${t:0:13}"
	run ! grep -rqa "${t:0:13}" "$hub/.cloop"
}

@test "a grant to a token, or with one in its label, is none" {
	local t=github_pat_11ABCDEFG0aBcDeFgHiJkLm_nOpQrStUvWxYz0123456789 to
	for to in "executor:$t" "project:/srv/$t" "label:key=$t"; do
		exits 65 cloop secret grant app --to "$to"
		has "$stderr" "--to has the form of a credential"
	done
	# A project that is here may be called like one, and what why says can be typed.
	mkdir -p "$D/sk-learn-pipelines-2024"
	exits 1 cloop secret why -p "$D/sk-learn-pipelines-2024" app
	exits 0 bash -c "$(sed -n 's/^      fix: //p' <<< "$output" | head -n 1)"
	exits 0 cloop secret why -p "$D/sk-learn-pipelines-2024" app
	exits 65 cloop secret grant app --to any --scope "$t"
	exits 65 cloop secret lease --executor "$t"
	has "$stderr" "--executor has the form of a credential"
	exits 65 bash -c "echo v | cloop secret mint b --owner sub:$t"
	run ! grep -rqa "${t:0:13}" "$hub/.cloop"
}
