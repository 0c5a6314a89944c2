#!/usr/bin/env bats
# Grants that are not delivered, and what to do about it: rows that somebody without the key wrote, limits
# that nothing enforces, and what `secret why` says.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a subshell of its own
load lib/common
load lib/grants

setup() { grants_hub; }

# ---- a process that may write the state file and has no key ----

# forged SQL : after it nothing of the grant is delivered, and the audit trail says so.
forged() {
	sql 'PRAGMA wal_checkpoint(TRUNCATE)' > /dev/null
	cp "$db" "$D/good.db"
	sql "$1" > /dev/null
	exits 0 lease --json
	jq -e '(.materials | length) == 0 and (.refused | length) >= 1 and all(.refused[]; .code == "forged_grant")' <<< "$output" ||
		{ echo "$1: $output" >&2; return 1; }
	cloop hub audit list -n 3 --action secret.lease --json |
		jq -es 'any(.[]; .detail.decision == "deny" and (.detail.reason | test("signed by this hub|another one than")))'
	rm -f "$db-wal" "$db-shm"
	cp "$D/good.db" "$db"
}

@test "a grant that was altered or put in without the key is refused and audited" {
	vars
	g=$(granted app-env --to "project:$app" --env-keys API_KEY --ttl 1h)
	granted app-env --to project:/other --ttl 1h
	sql "PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null
	cp "$hub/.cloop/grants.pub" "$D/pub"
	forged "update \"grant\" set constraints = '{}' where id = '$g'"
	forged "update \"grant\" set expires_at = expires_at + 1 where id = '$g'"
	forged "update \"grant\" set expires_at = 0 where id = '$g'"
	forged "update \"grant\" set owner = 'x' where id = '$g'"
	forged "update \"grant\" set scope = 'x' where id = '$g'"
	forged "update \"grant\" set created_by = 'cli:mallory' where id = '$g'"
	forged "update \"grant\" set signature = '' where id = '$g'"
	forged "update \"grant\" set signature = (select signature from \"grant\" where id <> '$g')"
	forged "update \"grant\" set subject = 'any' where id = '$g'"
	forged "update \"grant\" set constraints = 'no JSON' where id = '$g'"
	forged "update \"grant\" set id = 'grant_000000000000000000000000' where id = '$g'"
	# Another project's grant, aimed at this one.
	forged "delete from \"grant\" where id = '$g'; update \"grant\" set subject = 'project:$app'"
	# Another secret under the granted name, or the granted one under another kind.
	forged "update secret set kind = 'egress_proxy' where name = 'app-env'"
	forged "update secret set name = 'renamed' where name = 'app-env'"
	exits 0 lease
	has "$output" "1 material(s)"
}

@test "a listing says what is forged, an edit does not sign it, a foreign key vouches for nothing" {
	vars
	g=$(granted app-env --to "project:$app" --env-keys API_KEY)
	sql "update \"grant\" set constraints = '{}'"
	exits 0 cloop secret grants
	has "$output" "FORGED, never delivered"
	same "$(cloop secret grants --json | jq -r .signature)" forged
	exits 1 cloop secret grant edit "$g" --env-keys WEBHOOK_SECRET
	has "$stderr" "not signed by this hub"
	exits 0 cloop secret revoke "$g"
	# With a key of its own in grants.pub nothing can be signed or leased.
	printf '%064d\n' 0 > "$hub/.cloop/grants.pub"
	exits 78 grant app-env --to "project:$app"
	has "$stderr" "grants.pub"
	chmod 666 "$hub/.cloop/grants.pub"
	exits 78 lease
	has "$stderr" "others may write"
	rm "$hub/.cloop/grants.pub"
	exits 0 grant app-env --to "project:$app"
	exits 0 lease
	has "$output" "1 material(s)"
	sql "delete from signing_key"
	exits 78 grant app-env --to "project:$app"
	has "$stderr" "gone from state.db"
}

@test "a sealed payload put under another secret's name does not open" {
	vars
	printf '{"API_KEY":"planted"}' | mint other --kind env
	granted app-env --to "project:$app"
	sql "update secret set (key_id, wrapped, sealed) = (select key_id, wrapped, sealed from secret where name = 'other')
		where name = 'app-env'"
	exits 0 lease
	has "$output" "✗ app-env (grant_"
	has "$output" "altered"
	lacks "$output" planted
}

# ---- what nothing enforces ----

kube() {
	printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: prod' \
		'clusters: [{name: prod, cluster: {server: "https://prod:6443"}}]' \
		'users: [{name: u, user: {token: prodtoken}}]' \
		'contexts: [{name: prod, context: {cluster: prod, user: u, namespace: default}}]' |
		mint prod-kube --kind kubeconfig
}

@test "a kubeconfig with limits goes out only with an administrator's word, as the guide shows it" {
	kube
	exits 0 grant prod-kube --to "project:$app" --contexts prod --namespaces team-a --ttl 12h
	same "$(guide <<< "$output")" "✓ granted prod-kube to project:$app
  grant:       grant_ID
  constraints: ns=team-a ctx=prod
  expires:     TIME (in 12h0m0s)"
	g=$(cloop secret grants --json | jq -r .id)
	exits 0 lease
	has "$output" "✗ prod-kube ($g) not delivered"
	has "$output" "Kubernetes access monitor — cloop hub grant unguarded "
	exits 64 cloop hub grant unguarded "$g"
	has "$stderr" "--reason"
	exits 0 cloop hub grant unguarded "$g" --reason "lab cluster, monitor next sprint"
	same "$(guide <<< "$output")" "✓ grant_ID may be delivered without the Kubernetes access monitor
  unenforced  namespaces team-a and read-only access (get, list, watch)
  recorded    by cli:$(id -un) at TIME
  reason      lab cluster, monitor next sprint"
	exits 0 lease
	has "$output" "files:       kubeconfig"
	has "$output" "unguarded:   lab cluster, monitor next sprint (cli:$(id -un))"
	lacks "$output" prodtoken
	# It is shown wherever the grant is.
	for c in grants "access project:$app"; do
		# shellcheck disable=SC2086 # words
		exits 0 cloop secret $c
		has "$output" "ns=team-a ctx=prod (unguarded: lab cluster, monitor next sprint (cli:$(id -un)))"
	done
	exits 0 cloop secret grants --json
	jq -e '.unguarded | keys == ["at", "by", "reason"] and (.at | test("^20..-..-..T"))' <<< "$output"
	# A monitor that is required and does not run is no matter for an administrator's word.
	cp "$CLOOP_DIR/.cloop/config.yaml" "$D/config.yaml"
	sed -i '/^executors:/a\  kube_guard: {enabled: true}' "$CLOOP_DIR/.cloop/config.yaml"
	exits 0 lease
	has "$output" "✗ prod-kube ($g) not delivered"
	has "$output" "executors.kube_guard is enabled, so credentials of clusters do not leave this hub's host"
	exits 1 cloop secret why --project "$app" prod-kube --json
	jq -e '[.reasons[].code] == ["kube_guard"]' <<< "$output"
	cp "$D/config.yaml" "$CLOOP_DIR/.cloop/config.yaml"
	# The word is about this grant, by this person, for this reason.
	good=$(sql 'select unguarded from "grant"')
	for f in '.by = "cli:mallory"' '.reason = "x"' '.at += 1' '.signature |= ("00" + .[2:])' 'del(.signature)' '{}' '[]'; do
		sql "update \"grant\" set unguarded = '$(jq -c "$f" <<< "$good")'"
		exits 0 lease
		has "$output" "✗ prod-kube"
	done
	sql "update \"grant\" set unguarded = '$good'"
	exits 0 lease
	lacks "$output" "✗"
	exits 0 cloop hub grant unguarded "$g" --withdraw
	exits 0 lease
	has "$output" "✗ prod-kube"
	exits 0 cloop secret grants
	has "$output" "ns=team-a ctx=prod (no kube monitor: not delivered)"
	same "$(cloop hub audit list --action secret.unguarded_ack --json | wc -l)" 2
	# What is not there is answered with what is.
	granted prod-kube --to "project:$app" --contexts none \
		--verbs get,list,watch,create,update,patch,delete,deletecollection > /dev/null
	exits 1 cloop secret why --project "$app" prod-kube
	has "$output" "has no context that contexts [none] and namespaces [] leave: it has prod"
	# One that claims nothing needs no word.
	vars
	h=$(granted app-env --to "project:$app")
	exits 1 cloop hub grant unguarded "$h" --reason x
	has "$stderr" "claims nothing"
	exits 0 cloop hub grant unguarded --help
	has "$output" "Usage: cloop hub grant unguarded"
}

@test "a hub that keeps GitHub's credentials on its host lends none while no proxy stands for them" {
	pat
	vars
	g=$(granted deploy-pat --to "project:$app" --repos 'myorg/*')
	granted app-env --to "project:$app" --env-keys API_KEY
	sed -i '/^executors:/a\  git_proxy:\n    enabled: true' "$CLOOP_DIR/.cloop/config.yaml"
	exits 0 lease
	has "$output" "✗ deploy-pat ($g) not delivered"
	has "$output" "executors.git_proxy is enabled, so GitHub's credentials do not leave this hub's host"
	has "$output" "1 material(s)"
	exits 1 cloop secret why --project "$app" deploy-pat --json
	jq -e '[.reasons[].code] == ["git_proxy"]' <<< "$output"
}

@test "why: delivered, or every reason with what to type, and that does it" {
	pat
	vars
	exits 1 cloop secret why --project "$app"
	same "$output" "there is no grant
      fix: cloop secret grant SECRET --to project:$app"
	exits 1 cloop secret why --project "$app" deploy-pat
	has "$output" "deploy-pat is not granted to anybody"
	exits 65 cloop secret why --project "$app" none
	g=$(granted deploy-pat --to project:/srv/other --repos 'myorg/*' --permissions contents:write --branches 'cloop/*')
	granted app-env --to "project:$app" --env-keys API_KEY
	exits 0 cloop secret why --project "$app"
	has "$output" "✓ app-env (env) to project:$app"
	has "$output" "✗ deploy-pat (github_pat) to project:/srv/other, $g"
	has "$output" "is for project /srv/other, and this is $app"
	has "$output" "executors.git_proxy"
	exits 1 cloop secret why --project "$app" deploy-pat --json
	jq -e '.delivered == false and ([.reasons[].code] == ["subject", "branches"])' <<< "$output"
	cloop secret revoke "$g" >/dev/null
	exits 1 cloop secret why --project "$app" deploy-pat
	has "$output" "was revoked at"
	granted deploy-pat --to executor:edge-01 --repos 'myorg/*'
	exits 1 cloop secret why --project "$app" --executor bench deploy-pat
	# What the last fix says, typed.
	fix=$(grep -A1 'is for executor' <<< "$output" | sed -n 's/^ *fix: //p')
	exits 0 bash -c "$fix"
	exits 0 cloop secret why --project "$app" --executor bench deploy-pat
	has "$output" "    delivered"
	lacks "$output" ghp_
}

# typed WHAT : each fix that `why` prints now, typed as it stands; then it is delivered.
typed() {
	local fix n=0
	while IFS= read -r fix; do
		n=$((n + 1))
		(cd "$D" && bash -c "$fix" < "$D/payload" > /dev/null) || { echo "failed: $fix" >&2; return 1; }
	done < <(sed -n 's/^ *fix: //p' <<< "$output")
	[ "$n" -gt 0 ]
}

@test "why: each command that is printed works as it stands, whatever the reason was and the project is called" {
	local odd="$D/od'd pro\$(touch $D/ran)ject"
	mkdir -p "$odd"
	echo ghp_plantedsecrettoken > "$D/payload"
	why() { run --separate-stderr cloop secret why --project "$odd" --executor bench "$@"; }
	delivered() { why "$@" && same "$status" 0 && has "$output" "    delivered"; }
	pat
	vars
	# Nobody has it.
	why deploy-pat
	typed
	delivered deploy-pat
	why app-env
	typed
	delivered app-env
	# For somebody else, with a list that nothing enforces, and over.
	cloop secret delete deploy-pat > /dev/null
	pat
	g=$(granted deploy-pat --to project:/srv/other --repos 'a/b' --permissions contents:write --branches 'x/*')
	why deploy-pat
	same "$(grep -c 'fix: cloop secret grant deploy-pat' <<< "$output")" 2
	typed
	delivered deploy-pat
	cloop secret delete deploy-pat > /dev/null
	pat
	g=$(granted deploy-pat --to "project:$odd" --repos 'a/b' --permissions contents:write --branches 'x/*')
	why deploy-pat
	has "$output" "fix: cloop secret grant edit $g --branches ''"
	typed
	delivered deploy-pat
	for g in $(cloop secret grants --secret deploy-pat --json | jq -r .id); do cloop secret revoke "$g" > /dev/null; done
	why deploy-pat
	same "$status" 1
	has "$output" "was revoked at"
	typed
	delivered deploy-pat
	cloop secret delete app-env > /dev/null
	vars
	g=$(granted app-env --to "project:$odd" --ttl 1h)
	sqlite3 "$hub/.cloop/state.db" "UPDATE \"grant\" SET revoked_at = 1000, revoked_by = 'x' WHERE id = '$g'"
	why app-env
	typed
	delivered app-env
	# A row that somebody put in: that it is taken out is all there is to do.
	cloop secret delete app-env > /dev/null
	vars
	g=$(granted app-env --to "project:$odd")
	sqlite3 "$hub/.cloop/state.db" "UPDATE \"grant\" SET subject = 'any' WHERE id = '$g'"
	why app-env
	has "$output" "find out who writes"
	typed
	same "$(cloop secret grants --all --json | jq -r "select(.id == \"$g\") | .revoked_at != null")" true
	# A kind that needs a word as well.
	cloop secret mint cluster --kind kubeconfig --file "$CASES/secret/kube/three.yaml" > /dev/null
	why cluster
	typed
	why cluster
	has "$output" "cloop hub grant unguarded"
	typed
	delivered cluster
	[ ! -e "$D/ran" ]
}
