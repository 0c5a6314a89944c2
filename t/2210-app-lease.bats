#!/usr/bin/env bats
# A GitHub App in leases: its tokens are asked for, replaced before they end, and destroyed with what
# they were lent for. A folder stands in for the holder of the lease, who alone has the tokens.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154 # each test is a subshell of its own
load lib/common
load lib/forge

setup_file() {
	need openssl jq python3 sqlite3
	export F=$BATS_FILE_TMPDIR/forge
	forge_start "$F"
}
teardown_file() { forge_stop "$F"; }

RUN=run_0123456789abcdef01234567
BOX=c-0123456789ab

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home CLOOP_RUN_DIR=$D/run
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	hub=$D/hub app=$D/app
	db=$hub/.cloop/state.db
	cloop -C "$hub" hub bootstrap >/dev/null
	export CLOOP_DIR=$hub
	sed -i "/^secrets:/a\\  github:\\n    ca_file: $F/ca.pem" "$hub/.cloop/config.yaml"
	held=$D/run/w/$BOX/lease
	mkdir -p "$app" "$D/bin" "$held/files" "$held/spare"
	ln -s "$BIN"/cloop-secret "$D/bin/"
	cp "$BUILD_DIR/t/lib/leasetool" "$D/bin/"
	rm -f "$F/go"
	modes
	forget
	forge_app "$F" | cloop secret mint deploy-app --kind github_app >/dev/null
}

granted() { cloop secret grant "$@" --json | jq -r .id; }
grant() { granted deploy-app --to "project:$app" "$@"; }
sql() { sqlite3 "$db" "$1"; }
audit() { cloop hub audit list --action "$1" --json | jq -r "$2"; }
# take : a lease as JSON. hold : its files where the holder would have them. renew : what it is then.
take() {
	exits 0 "$D/bin/leasetool" take "$hub" "$app" container $RUN
	lease=$(jq -r .id <<< "$output")
	sql "UPDATE lease SET sandbox = '$BOX' WHERE id = '$lease'"
}
token() { jq -r '[.items[].files["github-token"] // empty][0].data | rtrimstr("\n")' <<< "$output"; }
hold() {
	[ "$(cat "$held/files/github-token" 2>/dev/null)" = "$(token)" ] ||
		mv "$held/files/github-token" "$held/spare/" 2>/dev/null || true
	token > "$held/files/github-token"
}
# take_back GRANT : nobody listens here, so nobody is waited for.
take_back() { cloop secret revoke "$1" --wait 1ms >/dev/null 2>&1 || [ $? = 1 ]; }
# Who renews has the lease at once; what it replaces is destroyed behind it.
settling() { pgrep -f "cloop-secret -C $hub renew" >/dev/null; }
settled() { ! settling; }
renew() {
	exits 0 "$D/bin/leasetool" renew "$hub" "$lease"
	wait_for settled
}

@test "a dry run shows what would be lent, and asks GitHub for nothing" {
	id=$(grant --repos 'acme/*' --permissions contents:write)
	exits 0 cloop secret lease --project "$app"
	same "$(sed -E 's/20[0-9]{2}-[0-9-]+T[0-9:]+Z/TIME/' <<< "$output")" "1 material(s), lease expires TIME

  deploy-app (github_app)
    grant:       $id
    constraints: repos=acme/* perms=contents:write
    delivers:    github repos: acme/* (helper-scoped=true)
    env:         CLOOP_GITHUB_PERMISSIONS, CLOOP_GITHUB_REPO_ALLOWLIST, CLOOP_GITHUB_TOKEN_EXPIRES_AT
    files:       git-credential-cloop, gitconfig, github-token"
	exits 0 cloop secret why --project "$app"
	has "$output" "delivered"
	same "$(calls)" ""
	same "$(sql 'SELECT count(*) FROM app_token')" 0
}

@test "a run is lent a token that is as wide as its grant, and the store never has it" {
	id=$(grant --repos 'acme/*' --permissions contents:write)
	take
	t=$(token)
	[[ $t == ghs_*.*.* ]]
	same "$(jq -c 'select(.call == "mint").asked' "$F/log")" '{"permissions":{"contents":"write"},"repository_ids":[13,11,12]}'
	same "$(jq -r '.redact | index($t) != null' --arg t "$t" <<< "$output")" true
	same "$(jq -r '[.items[].env | .GITHUB_TOKEN // .GH_ENTERPRISE_TOKEN // empty] | length' <<< "$output")" 0
	[[ $(jq -r '.items[].env.CLOOP_GITHUB_TOKEN_EXPIRES_AT' <<< "$output") == 20*Z ]]
	same "$(sql "SELECT grant_id, file, scope, spare, sum FROM app_token")" \
		"$id|github-token|{\"permissions\":{\"contents\":\"write\"},\"repository_ids\":[13,11,12]}|0|$(printf '%s' "$t" | sha256sum | cut -d' ' -f1)"
	same "$(audit secret.lease '.detail | select(.token_scope) | [.decision, .secret_name, .token_scope.repository_ids, .run_id] | tojson')" \
		"[\"allow\",\"deploy-app\",[13,11,12],\"$RUN\"]"
	if grep -rqaE 'ghs_|PRIVATE KEY' "$hub/.cloop"; then false; fi
	same "$(alive)" 1
	exits 0 cloop hub audit verify
}

@test "of everything, and of a branch list that nothing enforces" {
	grant --repos '*' --permissions '*' >/dev/null
	take
	same "$(jq -r '.items[].env.GH_ENTERPRISE_TOKEN' <<< "$output")" "$(token)"
	same "$(sql "SELECT scope FROM app_token")" \
		'{"permissions":{"contents":"write","issues":"read","metadata":"read"},"repository_ids":null}'
	cloop secret grants --json | jq -r .id | while read -r g; do take_back "$g"; done
	grant --repos acme/tool --permissions contents:write --branches 'cloop/*' >/dev/null
	take
	has "$(jq -r '.items[].env.CLOOP_GITHUB_WRITE_WITHHELD' <<< "$output")" "cloop/*"
	same "$(jq -r '.items[].env.CLOOP_GITHUB_PERMISSIONS' <<< "$output")" "contents:read"
	same "$(jq -c '.asked.permissions' "$F/log" | tail -n 1)" '{"contents":"read"}'
}

@test "what GitHub refuses is refused by name, and the rest is lent" {
	echo '{"A":"planted-value"}' | cloop secret mint app-env --kind env >/dev/null
	granted app-env --to "project:$app" >/dev/null
	one=$(grant --repos acme/tool)
	two=$(grant --repos acme/nope)
	take
	same "$(jq -r '[.items[].kind] | sort | join(",")' <<< "$output")" env,github_app
	same "$(jq -r '.refused[] | .grant_id' <<< "$output")" "$two"
	has "$(jq -r '.refused[].reason' <<< "$output")" "not acme/nope"
	same "$(alive)" 1
	modes "mint 422-repository"
	take
	has "$(jq -r '.refused[] | select(.grant_id == $g).reason' --arg g "$one" <<< "$output")" \
		"a token for acme/tool: " "installation 313131 does not have what was asked for: There is at least one repository"
	for mode in 401 suspended 404 422 429 503 html wider-level redirect; do
		modes "mint $mode"
		exits 0 "$D/bin/leasetool" take "$hub" "$app" container $RUN
		same "$mode $(jq -r '[.items[].kind] | join(",")' <<< "$output")" "$mode env"
		[ -n "$(jq -r '.refused[] | select(.grant_id == $g).fix' --arg g "$one" <<< "$output")" ]
	done
	same "$(alive)" 1
	has "$(cloop hub audit list --action secret.lease --json)" "is suspended at"
	if grep -rqaE 'ghs_|PRIVATE KEY' "$hub/.cloop"; then false; fi
}

@test "a renewal keeps the token that is there while it outlives the lease" {
	grant --repos acme/tool >/dev/null
	take
	hold
	t=$(token)
	forget
	renew
	same "$(token)" "$t"
	same "$(calls)" ""
	# What the holder lost, or never got, is asked for anew, as wide as the first.
	echo something > "$held/files/github-token"
	renew
	[ "$(token)" != "$t" ]
	same "$(calls)" "inventory 201,repositories 200,destroy 204,mint 201"
	rm "$held/files/github-token"
	renew
	same "$(sql 'SELECT count(*) FROM app_token')" 1
}

@test "who renews finds each grant's files under the names that they had" {
	echo ghp_examplesecrettoken | cloop secret mint a-pat --kind github_pat >/dev/null
	for n in 1 2 3 4 5; do granted a-pat --to "project:$app" --repos "acme/r$n" >/dev/null; done
	grant --repos acme/tool >/dev/null
	names='[.items[] | {(.grant_id): [.files | keys[] | select(. != "gitconfig")]}] | add'
	take
	same "$(jq '.items | length' <<< "$output")" 6
	before=$(jq -cS "$names" <<< "$output")
	renew
	same "$(jq -cS "$names" <<< "$output")" "$before"
	same "$(sql 'SELECT file FROM app_token')" "$(jq -r '.items[] | select(.kind == "github_app").files | keys[] | select(startswith("github-token"))' <<< "$output")"
}

@test "what stood under the name of a token and is none of that grant's is sent to nobody" {
	modes "mint short"
	id=$(grant --repos acme/tool)
	take
	hold
	modes
	renew
	hold
	t=$(token)
	# As after names changed hands.
	echo ghp_of_somebody_0000000 > "$held/spare/github-token"
	forget
	renew
	same "$(calls)" ""
	# The two that the hub gave, and no third.
	drop "$t" ghp_of_somebody_0000000
	same "$(calls)" "destroy 204,destroy 204"
	# One that another grant of the lease has in use goes on.
	web=$(grant --repos acme/web)
	take
	of() { jq -r --arg g "$1" '.items[] | select(.grant_id == $g).files | to_entries[] | select(.key | startswith("github-token")).value.data | rtrimstr("\n")' <<< "$output"; }
	mine=$(of "$id") theirs=$(of "$web")
	forget
	drop "$mine" "$theirs"
	same "$(calls)" "destroy 204"
	same "$(sql "SELECT grant_id FROM token WHERE ends IS NULL AND lease_id = '$lease'")" "$web"
}

@test "a token that would end within the lease is replaced, and then destroyed" {
	cp "$F/github.json" "$D/keep"
	grant --repos 'acme/*' --permissions contents:write >/dev/null
	modes "mint short"
	take
	hold
	t=$(token)
	# What came to the installation since is not in the next one.
	jq '.installations[0].repositories += [{id: 14, full_name: "acme/new", private: true}]' "$D/keep" > "$F/github.json"
	modes
	forget
	renew
	cp "$D/keep" "$F/github.json"
	[ "$(token)" != "$t" ]
	same "$(jq -c 'select(.call == "mint").asked' "$F/log")" '{"permissions":{"contents":"write"},"repository_ids":[13,11,12]}'
	same "$(sql 'SELECT spare FROM app_token')" 1
	same "$(audit secret.renew '.detail | select(.token_expires_at) | .decision')" allow
	hold
	same "$(cat "$held/spare/github-token")" "$t"
	forget
	renew
	same "$(calls)" "destroy 204"
	same "$(sql 'SELECT spare FROM app_token')" 0
	same "$(audit github_app.token_destroy '.detail | .decision + " " + .reason')" "allow replaced"
}

@test "who renews has the new token while GitHub still has the old one to destroy" {
	grant --repos acme/tool >/dev/null
	modes "mint short"
	take
	hold
	modes
	renew
	hold
	modes "destroy wait"
	exits 0 "$D/bin/leasetool" renew "$hub" "$lease"
	settling
	same "$(token)" "$(cat "$held/files/github-token")"
	same "$(audit github_app.token_destroy '.detail.reason')" ''
	touch "$F/go"
	wait_for settled
	same "$(audit github_app.token_destroy '.detail | .decision + " " + .reason')" "allow replaced"
}

@test "a token that cannot be replaced now stays while it is good, and is refused for good when GitHub says so" {
	id=$(grant --repos acme/tool)
	modes "mint short"
	take
	hold
	t=$(token)
	modes "mint 503"
	renew
	same "$(token)" "$t"
	same "$(audit secret.renew '.detail | select(.decision == "deny") | .grant_id + " " + .reason' | grep -c "$id.*out of order (503)")" 1
	modes "mint suspended"
	renew
	same "$(jq '.items | length' <<< "$output")" 0
	has "$(jq -r '.refused[].reason' <<< "$output")" suspended
	same "$(audit secret.renew '.detail | select(.decision == "deny" and (.reason | test("suspended"))) | .grant_id')" "$id"
	has "$(sql "SELECT text FROM journal WHERE run_id = '$RUN' AND kind = 'credential_refused'")" \
		"this run goes without github_app \"deploy-app\" ($id): github_app secret 'deploy-app': the installation 313131"
	same "$(audit github_app.token_destroy '.detail | .decision + " " + .reason')" "allow the grant does not allow it any more"
	same "$(sql 'SELECT count(*) FROM app_token')" 0
	same "$(sql "SELECT state FROM lease")" revoked
	same "$(jq -s '[.[] | select(.call == "destroy" and .status == 204)] | length' "$F/log")" 4
}

@test "a grant that is revoked ends its token at the next renewal, and one that widens keeps it" {
	echo '{"A":"planted-value"}' | cloop secret mint app-env --kind env >/dev/null
	granted app-env --to "project:$app" >/dev/null
	id=$(grant --repos acme/tool)
	take
	hold
	t=$(token)
	exits 0 cloop secret grant edit "$id" --repos acme/tool,acme/web --json
	next=$(jq -r .id <<< "$output")
	forget
	renew
	same "$(token)" "$t"
	same "$(sql 'SELECT grant_id FROM app_token')" "$next"
	take_back "$next"
	sql "UPDATE lease_grant SET state = 'held' WHERE state = 'taking'"
	renew
	same "$(jq -r '[.items[].kind] | join(",")' <<< "$output")" env
	same "$(calls)" "destroy 204"
	same "$(sql 'SELECT count(*) FROM app_token')" 0
}

@test "a grant that is revoked while GitHub answers is not lent, and the token is destroyed" {
	id=$(grant --repos acme/tool)
	modes "mint wait"
	"$D/bin/leasetool" take "$hub" "$app" container $RUN > "$D/out" 2>&1 3>&- &
	asked() { [[ $(calls) == *"mint 0"* ]]; }
	wait_for asked
	take_back "$id"
	touch "$F/go"
	wait $!
	same "$(jq '.items | length' "$D/out")" 0
	same "$(alive)" 0
	same "$(sql 'SELECT count(*) FROM lease')$(sql 'SELECT count(*) FROM app_token')" 00
	same "$(audit github_app.token_destroy '.detail.reason')" "the lease was not made"
}

# drop TOKEN [BEFORE] : as who supervises the run.
drop() {
	printf '{"lease_id":"%s","grant_id":"%s","reason":"released"}\n%s\n%s\n' "$lease" "$id" "$1" "${2:-}" |
		cloop secret drop
}

@test "what a run had is destroyed when it is over, whoever has the key" {
	id=$(grant --repos acme/tool)
	take
	mv "$hub/cloop-secret-key" "$D/away"
	exits 0 drop "$(token)"
	same "$(alive)" 0
	same "$(audit github_app.token_destroy '.detail | [.decision, .secret_name, .grant_id, .lease_id, .reason] | tojson')" \
		"[\"allow\",\"deploy-app\",\"$id\",\"$lease\",\"released\"]"
	same "$(sql 'SELECT count(*) FROM app_token')" 0
	# Nothing is known of it any more.
	exits 0 drop "$(token)"
	exits 65 bash -c 'echo "{}" | cloop secret drop'
	exits 65 bash -c 'printf "{}\n\n\n" | cloop secret drop'
}

@test "a token that GitHub does not destroy, and one that nobody has, are told of with their end" {
	id=$(grant --repos acme/tool)
	take
	modes "destroy 500"
	exits 69 drop "$(token)"
	has "$(audit github_app.token_destroy '.detail | .decision + " " + .reason')" \
		"deny the token was not destroyed and lives until 20"
	modes
	# What its holder lost is had by the hub.
	take
	exits 0 drop ""
	same "$(alive)" 1
	# One that a hub lent before it kept them.
	take
	sql 'DELETE FROM token'
	exits 0 drop ""
	has "$(audit github_app.token_destroy '.detail | .decision + " " + .reason')" \
		"deny nobody has the token any more, so it lives until 20"
	lacks "$(cloop hub audit list --json)" ghs_
}
