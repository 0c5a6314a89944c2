#!/usr/bin/env bats
# Grants: as the guide shows them, what is refused, what they deliver, edits, revoking.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a subshell of its own
load lib/common
load lib/grants

setup() { grants_hub; }

repos() {
	mkdir -p "$D/src/api-service/.git" "$D/src/shared-proto/.git" "$D/src/notes" "$D/src/.hidden/.git"
	mint local-src --kind local_repo --value "$D/src"
}

@test "a token: grant, list and dry run as the guide shows them" {
	pat
	exits 0 grant deploy-pat --to "project:/srv/app" --repos 'myorg/*' --permissions 'contents:read' --ttl 24h
	same "$(guide <<< "$output")" "✓ granted deploy-pat to project:/srv/app
  grant:       grant_ID
  constraints: repos=myorg/* perms=contents:read
  expires:     TIME (in 24h0m0s)"
	exits 0 cloop secret grants
	same "$(sed -E 's/grant_[0-9a-f]{24}/grant_8ce0add1fec2ed4fa00c3a23/' <<< "$output")" \
"GRANT                            SECRET             KIND          SUBJECT                  EXPIRES    CONSTRAINTS
──────────────────────────────────────────────────────────────────────────────────────────────────────────────────
grant_8ce0add1fec2ed4fa00c3a23   deploy-pat         github_pat    project:/srv/app         24h0m0s    repos=myorg/* perms=contents:read

1 grant(s)"
	exits 0 cloop secret lease --project /srv/app --executor edge-01
	same "$(guide <<< "$output")" "1 material(s), lease expires TIME

  deploy-pat (github_pat)
    grant:       grant_ID
    constraints: repos=myorg/* perms=contents:read
    delivers:    github repos: myorg/* (helper-scoped=true)
    env:         CLOOP_GITHUB_PERMISSIONS, CLOOP_GITHUB_REPO_ALLOWLIST
    files:       git-credential-cloop, gitconfig, github-token"
}

@test "repositories of the host: grant and dry run as the guide shows them" {
	repos
	exits 0 grant local-src --to "project:$app" --repos 'api-service' --repos 'shared-*' --ttl 8h
	same "$(guide <<< "$output")" "✓ granted local-src to project:$app
  grant:       grant_ID
  constraints: repos=api-service|shared-*
  expires:     TIME (in 8h0m0s)"
	exits 0 lease --executor edge-01
	same "$(guide <<< "$output")" "1 material(s), lease expires TIME

  local-src (local_repo)
    grant:       grant_ID
    constraints: repos=api-service|shared-*
    delivers:    local repos (read-only): api-service,shared-proto
    env:         CLOOP_LOCAL_REPOS"
}

@test "devices: grant and dry run as the guide shows them" {
	printf '# rack 3, bench A\nserial0=/dev/ttyUSB0\nserial1=/dev/ttyUSB1\nanalyser=/dev/ttyACM0:r\n' |
		mint bench-hw --kind host_device
	exits 0 grant bench-hw --to "project:$app" --devices serial0,analyser --writable --ttl 8h
	has "$output" "  constraints: devices=analyser|serial0 writable"
	exits 0 lease --executor bench-01
	same "$(guide <<< "$output")" "1 material(s), lease expires TIME

  bench-hw (host_device)
    grant:       grant_ID
    constraints: devices=analyser|serial0 writable
    delivers:    host devices: analyser,serial0
    env:         CLOOP_HOST_DEVICES"
}

@test "variables: only what the grant names is delivered, and no value is shown" {
	vars
	granted app-env --to "project:$app" --env-keys API_KEY --ttl 8h
	exits 0 lease
	has "$output" "env:         API_KEY"
	lacks "$output" WEBHOOK
	lacks "$output" abc
	echo '{"no-name":"x"}' | mint odd --kind env
	granted odd --to "project:$app"
	exits 0 lease
	has "$output" "✗ odd (grant_"
	exits 0 lease --json
	jq -e '(.materials | length == 1) and (.refused[0] | .secret_name == "odd" and (.remediation | length > 0))' <<< "$output"
}

@test "a variable that the payload does not have is refused when it is granted, with those it has" {
	vars
	exits 1 grant app-env --to "project:$app" --env-keys API_KEYS
	has "$stderr" "env secret app-env has no key matching API_KEYS: it has API_KEY, WEBHOOK_SECRET"
	has "$stderr" "fix: write --env-keys API_KEY;"
	lacks "$stderr" abc
	exits 1 grant app-env --to "project:$app" --env-keys API_KEY,OTHER
	has "$stderr" "no key matching OTHER: it has"
	exits 0 cloop hub audit list -n 1 --json
	jq -e '.action == "secret.grant" and .detail.decision == "deny"' <<< "$output"
	g=$(granted app-env --to "project:$app" --env-keys API_KEY)
	exits 1 cloop secret grant edit "$g" --env-keys NOT_THERE
	has "$stderr" "no key matching NOT_THERE"
	# Lines are one value, and that is said when they are stored and when they are granted.
	printf 'API_KEY=abc\nB=d\n' > "$D/lines"
	exits 0 cloop secret mint lines --kind env --file "$D/lines"
	has "$stderr" "NAME=VALUE"
	exits 1 grant lines --to "project:$app" --env-keys API_KEY
	has "$stderr" "one value, LINES"
	has "$stderr" "fix: write --env-keys LINES;"
	exits 0 grant lines --to "project:$app" --env-keys LINES
	# Of what cannot be opened now the lease is the judge.
	sql "update secret set sealed = 'AAAA' where name = 'app-env'"
	exits 0 grant app-env --to "project:$app" --env-keys NOT_THERE
}

@test "several tokens are delivered as one directory, the one without a wildcard first" {
	pat
	echo ghp_second1234567890 | mint second --kind github_pat
	granted deploy-pat --to "project:$app" --repos 'myorg/*' --permissions contents:read
	granted second --to "project:$app" --repos 'acme/tool' --permissions contents:write
	exits 0 lease
	has "$output" "delivered as one directory"
	has "$output" "github-token-2"
	[ "$(grep -n ' second (' <<< "$output" | cut -d: -f1)" -lt "$(grep -n ' deploy-pat (' <<< "$output" | cut -d: -f1)" ]
}

@test "who a grant is for: a project's own path, an executor, labels of the configuration" {
	vars
	sed -i 's/^    enabled: true/    enabled: true\n    id: bench\n    labels: {region: eu, gpu: "true"}/' "$hub/.cloop/config.yaml"
	exits 0 cloop hub config check
	granted app-env --to "project:$app" --env-keys API_KEY > "$D/id"
	exits 0 cloop secret lease --project "$app"
	has "$output" "1 material(s)"
	mkdir "$app-staging" && ln -s "$app" "$D/link"
	exits 0 cloop secret lease --project "$app-staging" --executor edge-01
	same "$output" "no active grant is for project $app-staging or executor edge-01"
	exits 0 cloop secret lease --project "$D/link"
	has "$output" "1 material(s)"
	cloop secret revoke "$(cat "$D/id")" >/dev/null
	granted app-env --to executor:edge-01
	exits 0 lease --executor edge-01
	has "$output" "1 material(s)"
	exits 0 lease --executor Edge-01
	has "$output" "no active grant"
	exits 0 grant app-env --to label:region=eu,gpu=true
	has "$output" "reaches:     bench"
	exits 0 grant app-env --to label:region=us
	has "$output" "reaches:     no executor"
	exits 0 lease --executor bench
	has "$output" "executor bench has the labels gpu=true,region=eu"
	has "$output" "1 material(s)"
}

@test "a subject that is a slip is taken, and that is said" {
	vars
	exits 0 grant app-env --to project:app
	has "$stderr" "warning: 'app' is no absolute path"
	ln -s "$app" "$D/link"
	exits 0 grant app-env --to "project:$D/link"
	has "$stderr" "warning: '$D/link' leads to '$app', and its runs are of that: grant it to project:$app"
	export CLOOP_SECRET_KEY_FILE=$hub/cloop-secret-key
	printf 'executors: {container: {enabled: true, id: container, image: bb}}\n' > "$hub/.cloop/config.yaml"
	exits 0 grant app-env --to executor:contaner
	has "$stderr" "warning: the hub configures no executor 'contaner'; did you mean 'container'?"
	local to
	for to in "project:$app" "project:/srv/app" 'project:*' executor:container executor:edge-01 'executor:*' any; do
		exits 0 grant app-env --to "$to"
		same "$stderr" ""
	done
}

@test "refusals when granting: each names the flag, and a grant that opens nothing is none" {
	pat
	vars
	repos
	printf 'serial0=/dev/ttyUSB0\n' | mint bench-hw --kind host_device
	printf 'dut=eth7\n' | mint bench-net --kind host_interface
	refuse() {
		local want=$1 piece=$2
		shift 2
		exits "$want" cloop secret grant "$@"
		has "$stderr" "$piece"
		[[ $stderr == *"  fix: "* ]]
	}
	refuse 64 "--to" app-env
	refuse 65 "--repos" deploy-pat --to project:/x
	refuse 65 "--repos" local-src --to project:/x
	refuse 65 "--devices" bench-hw --to project:/x
	refuse 65 "--interfaces" bench-net --to project:/x
	refuse 65 "writable" deploy-pat --to project:/x --repos a/b --writable
	refuse 65 "" deploy-pat --to project:/x --repos 'a;b/c'
	refuse 65 "" app-env --to project:/x --env-keys 'A B'
	refuse 65 "" app-env --to srv/app
	refuse 65 "" app-env --to label:
	refuse 64 "" app-env --to project:/x --ttl 0s
	refuse 64 "" app-env --to project:/x --ttl soon
	refuse 1 "local-src" local-src --to project:/x --repos 'nothing-*'
	refuse 1 "bench-hw" bench-hw --to project:/x --devices 'gpu*'
	refuse 1 "bench-net" bench-net --to project:/x --interfaces 'x*'
	refuse 65 "there is no secret 'none'" none --to project:/x
	echo v | mint mine --owner alice@example.com
	refuse 1 "personal secret of alice@example.com" mine --to any
	same "$(sql 'select count(*) from "grant"')" 0
	exits 0 grant mine --to project:/x
	same "$(cloop secret grants --json | jq -r .owner)" alice@example.com
	same "$(cloop hub audit list --action secret.grant --json | jq -r .detail.decision | sort | uniq -c | xargs)" "1 allow 13 deny"
}

@test "an edit that only widens supersedes, one that takes away revokes, the expiry stays" {
	pat
	g=$(granted deploy-pat --to "project:$app" --repos 'acme/app' --permissions contents:read --ttl 2h)
	expiry=$(cloop secret grants --json | jq -r .expires_at)
	exits 0 cloop secret grant edit "$g" --repos acme/app,acme/lib
	has "$output" "superseded"
	h=$(cloop secret grants --json | jq -r .id)
	same "$(cloop secret grants --json | jq -r .expires_at)" "$expiry"
	same "$(cloop secret grants --all --json | jq -r "select(.id == \"$g\") | .revoked_cause, .superseded_by" | xargs)" "superseded $h"
	exits 0 cloop secret grant edit "${h:0:14}" --repos 'acme/*' --json
	same "$(jq -r .change <<< "$output")" narrows
	third=$(jq -r .id <<< "$output")
	same "$(cloop secret grants --all --json | jq -r "select(.id == \"$h\") | .revoked_cause")" null
	exits 64 cloop secret grant edit "$third" --repos 'acme/*'
	has "$stderr" "like that already"
	exits 1 cloop secret grant edit "$g" --repos x/y
	has "$stderr" "is revoked"
	has "$stderr" "make a new one: cloop secret grant deploy-pat --to project:$app --repos acme/app --permissions contents:read"
	exits 65 cloop secret grant edit "$third" --repos ''
	has "$stderr" "--repos"
	same "$(cloop secret grants --json | jq -r .id)" "$third"
	exits 0 cloop hub audit verify
}

@test "revoking works without the key, twice, and the grant is leased no more" {
	pat
	g=$(granted deploy-pat --to "project:$app" --repos 'myorg/*')
	mv "$hub/cloop-secret-key" "$D/away"
	exits 0 cloop secret grants
	exits 0 cloop secret revoke "$g"
	same "$output" "✓ revoked grant $g (deploy-pat)
  no lease held it"
	exits 0 cloop secret revoke "$g"
	has "$output" "it was revoked already"
	exits 0 cloop secret grants
	has "$output" "0 grant(s)"
	exits 0 cloop secret grants --all
	has "$output" "revoked"
	mv "$D/away" "$hub/cloop-secret-key"
	exits 0 lease
	has "$output" "no active grant"
	same "$(cloop hub audit list --action secret.revoke --json | wc -l)" 1
	exits 65 cloop secret revoke grant_000000
	exits 65 cloop secret revoke ghp_token
}

@test "deleting a secret revokes its grants, and who had one is told what became of it" {
	vars
	granted app-env --to "project:$app"
	granted app-env --to project:/other
	exits 0 cloop secret delete app-env
	has "$output" "revoking 2 grant(s)"
	exits 0 cloop secret grants --all
	has "$output" "(deleted)"
	exits 0 lease
	has "$output" "✗ app-env (grant_"
	has "$output" "when its secret was deleted"
	exits 0 lease --json
	same "$(jq -r '.refused[0].code' <<< "$output")" revoked
}

@test "an expired grant delivers nothing" {
	vars
	granted app-env --to "project:$app" --ttl 8s
	exits 0 lease
	has "$output" "1 material(s)"
	for ((i = 0; i < 600; i++)); do
		exits 0 lease
		[[ $output == *"no active grant"* ]] && break
		sleep 0.1
	done
	has "$output" "no active grant"
	exits 0 cloop secret grants --all
	has "$output" "expired"
}

@test "a planted value is in no output, no audit row and no argument of a lease" {
	planted=planted-$(head -c 9 /dev/urandom | od -An -tx1 | tr -d ' \n')
	printf '{"API_KEY":"%s"}' "$planted" | mint app-env --kind env
	granted app-env --to "project:$app"
	exits 0 env ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=execve,write,pwrite64 -s 99999 -o "$D/trace" cloop secret lease --project "$app" --json
	lacks "$output$stderr" "$planted"
	lacks "$(cat "$D/trace")" "$planted"
	lacks "$(cloop hub audit list --json)" "$planted"
	for f in "$db" "$db-wal"; do
		[ ! -e "$f" ] || ! grep -qaF "$planted" "$f"
	done
}

@test "links cannot widen a granted root" {
	repos
	mkdir -p "$D/src-other/evil/.git" "$D/outside/.git"
	ln -s "$D/outside" "$D/src/escape"
	ln -s "$D/src-other/evil" "$D/src/evil"
	ln -s api-service "$D/src/alias"
	ln -s "$D/src/shared-proto" "$D/src/absolute"
	mkfifo "$D/src/pipe"
	granted local-src --to "project:$app" --repos '*'
	exits 0 lease
	has "$output" "local repos (read-only): absolute,alias,api-service,shared-proto"
	rm "$D/src/alias" "$D/src/absolute"
	mkdir -p "$D/src/"r{1..40}/.git
	exits 0 lease
	has "$output" "✗ local-src"
	has "$output" "32"
}

@test "a repository whose name a terminal would obey, or that is no text, is passed over" {
	repos
	mkdir -p "$D/src/$(printf 'r\033[31mx')/.git" "$D/src/$(printf 'r\377')/.git" "$D/src/$(printf 'r\342\200\256x')/.git"
	granted local-src --to "project:$app" --repos '*'
	exits 0 lease
	has "$output" "local repos (read-only): api-service,shared-proto"
	exits 0 lease --json
	same "$(jq -r '.materials[0].delivers' <<< "$output")" "local repos (read-only): api-service,shared-proto"
}

@test "granting, editing, revoking and rotating at once leave every row whole" {
	vars
	for i in 1 2 3; do
		(
			for n in 1 2 3; do
				g=$(granted app-env --to "project:/p$i-$n" --env-keys API_KEY)
				cloop secret grant edit "$g" --env-keys API_KEY,WEBHOOK_SECRET >/dev/null
				cloop secret revoke "$g" >/dev/null
			done
		) &
	done
	cloop hub key rotate > /dev/null
	cloop hub key rotate > /dev/null
	wait
	same "$(sql 'select count(*) from signing_key')" 1
	same "$(cloop secret grants --json | jq -r .signature | sort | uniq -c | xargs)" "9 good"
	same "$(cloop secret grants --all --json | wc -l)" 18
	exits 0 cloop hub audit verify
}
