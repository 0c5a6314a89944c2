#!/usr/bin/env bats
# Leases: what a run is lent through a pipe, how that lives on, and who is told what about it.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154 # each test is a subshell of its own
load lib/common

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	hub=$D/hub app=$D/app
	db=$hub/.cloop/state.db
	cloop -C "$hub" hub bootstrap >/dev/null
	export CLOOP_DIR=$hub
	mkdir "$app" "$D/bin"
	ln -s "$BIN"/cloop-secret "$D/bin/"
	cp "$BUILD_DIR/t/lib/leasetool" "$D/bin/"
}

RUN=run_0123456789abcdef01234567
mint() { cloop secret mint "$@" >/dev/null; }
granted() { cloop secret grant "$@" --json | jq -r .id; }
sql() { sqlite3 "$db" "$1"; }
# take [PROJECT] [RUN] : the lease as JSON.
take() { "$D/bin/leasetool" take "$hub" "${1:-$app}" container "${2:-$RUN}"; }
renew() { "$D/bin/leasetool" renew "$hub" "$1"; }
vars() { printf '{"API_KEY":"planted-abc","OTHER":"planted-def"}' | mint app-env --kind env; }
pat() { echo 'ghp_plantedsecrettoken' | mint deploy-pat --kind github_pat; }
both() {
	vars && pat
	env_grant=$(granted app-env --to "project:$app" --env-keys API_KEY)
	pat_grant=$(granted deploy-pat --to "project:$app" --repos 'myorg/*')
}
guide() { sed -E 's/(sec|grant|lease|run)_[0-9a-f]{24}/\1_ID/g; s/20[0-9]{2}-[0-9-]+T[0-9:]+Z/TIME/g'; }

@test "a run is lent what its grants allow, and the store keeps none of it" {
	both
	exits 0 take
	lease=$(jq -r .id <<< "$output")
	same "$(jq -r '.items[] | select(.kind == "env") | .env | tojson' <<< "$output")" '{"API_KEY":"planted-abc"}'
	same "$(jq -r '.items[] | select(.kind == "github_pat") | .files | to_entries | map(.key + " " + .value.mode) | join(",")' <<< "$output")" \
		"git-credential-cloop 0700,gitconfig 0600,github-token 0600"
	same "$(jq -r '.env.CLOOP_LEASE_DIR' <<< "$output")" "/run/cloop/cloop-lease-${lease#lease_}"
	same "$(jq -r '.env.CLOOP_REDACT_ENV' <<< "$output")" API_KEY
	same "$(jq -c '.redact | map(select(startswith("planted-def"))) | length' <<< "$output")" 0
	same "$(sql "SELECT state, run_id, executor_id FROM lease")" "live|$RUN|container"
	same "$(sql "SELECT count(*) FROM lease_grant WHERE state = 'held'")" 2
	run ! grep -rqa 'planted' "$hub/.cloop"
	same "$(cloop hub audit list --action secret.lease --json | jq -c .detail.decision | sort | uniq -c | xargs)" '3 allow'
	exits 0 cloop hub audit verify
}

@test "a lease goes into a pipe and nowhere else" {
	both
	for to in "$D/file" /dev/null; do
		exits 1 bash -c "echo '{\"project\":\"$app\"}' | cloop secret take > $to"
		has "$stderr" "into a pipe only"
		has "$stderr" "fix: 'cloop secret lease'"
	done
	same "$(sql "SELECT count(*) FROM lease")" 0
	same "$(echo "{\"project\":\"$app\"}" | cloop secret take | "$D/bin/leasetool" show | jq '.items | length')" 2
}

@test "a question that is none is refused, and nothing is lent" {
	both
	for q in '' '[]' '{"projekt":"/x"}' '{"project":1}' '{"project":"/x"' 'null'; do
		exits 65 bash -c 'printf "%s" "$1" | cloop secret take | cat; exit "${PIPESTATUS[1]}"' - "$q"
	done
	exits 65 bash -c 'echo "{}" | cloop secret renew | cat; exit "${PIPESTATUS[1]}"'
	has "$stderr" "'id' is missing"
	same "$(sql "SELECT count(*) FROM lease")" 0
}

@test "nothing is lent without the key, and the reason comes back" {
	both
	mv "$D/cloop-secret-key" "$D/away" 2>/dev/null || mv "$hub/cloop-secret-key" "$D/away"
	exits 1 take
	same "$(jq -r .error.code <<< "$output")" key_missing
	same "$(sql "SELECT count(*) FROM lease")" 0
}

@test "a renewal lends what is granted then: a revoked grant is refused by name" {
	both
	lease=$(take | jq -r .id)
	exits 0 renew "$lease"
	same "$(jq -r .id <<< "$output")" "$lease"
	cloop secret revoke "$env_grant" >/dev/null
	exits 0 renew "$lease"
	same "$(jq -r '.items | map(.name) | join(",")' <<< "$output")" deploy-pat
	same "$(jq -r '.refused[0] | .name + " " + .code' <<< "$output")" "app-env revoked"
	same "$(sql "SELECT count(*) FROM lease_grant WHERE state = 'taking' AND grant_id = '$env_grant'")" 1
	cloop secret revoke "$pat_grant" >/dev/null
	exits 0 renew "$lease"
	same "$(jq -r '.items | length' <<< "$output")" 0
	exits 1 renew "$lease"
	same "$(jq -r .error.code <<< "$output")" lease_over
}

@test "what is refused is in the project's journal, with its reason" {
	echo 'ghp_plantedsecrettoken' | mint deploy-pat --kind github_pat
	granted deploy-pat --to "project:$app" --repos 'a/b' --permissions contents:write --branches 'cloop/*' >/dev/null
	exits 0 take
	same "$(jq -r '.id + (.items | length | tostring) + .refused[0].code' <<< "$output")" "0branches"
	same "$(sql "SELECT kind FROM journal WHERE run_id = '$RUN'")" credential_refused
	has "$(sql "SELECT text FROM journal")" 'this run goes without github_pat "deploy-pat"'
}
