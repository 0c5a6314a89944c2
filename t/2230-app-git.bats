#!/usr/bin/env bats
# git itself with an installation token that a lease delivered, against git's own HTTP server behind
# nginx with TLS: GitHub's stand-in says for every request what the token may do there.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a subshell of its own
load lib/common
load lib/forge

setup_file() {
	need git nginx fcgiwrap openssl jq python3 sqlite3
	export F=$BATS_FILE_TMPDIR/forge S=$BATS_FILE_TMPDIR/srv
	mkdir -p "$S/repos/acme" "$S/tmp"
	forge_start "$F"
	local r
	for r in tool web Api; do
		git init -q --bare -b main "$S/repos/acme/$r.git"
		git -C "$S/repos/acme/$r.git" config http.receivepack true
	done
	PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	export PORT
	conf > "$S/nginx.conf"
	fcgiwrap -s "unix:$S/fcgi.sock" 3>&- & echo $! > "$S/fcgi.pid"
	wait_for test -S "$S/fcgi.sock"
	chmod -R a+rwX "$S/repos" "$S/fcgi.sock"
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR"
	nginx -c "$S/nginx.conf" -p "$S" -e "$S/error.log" 3>&-
	wait_for curl -sko /dev/null "https://127.0.0.1:$PORT/"
}

# As a GitHub Enterprise Server: one host for the API and for git. acme/web has moved: one is told so
# after one has shown who one is, and of acme/moved at once.
conf() {
	cat <<-END
		user root;
		pid $S/nginx.pid;
		events {}
		http {
			access_log $S/access.log;
			client_body_temp_path $S/tmp/b; proxy_temp_path $S/tmp/p; fastcgi_temp_path $S/tmp/f;
			uwsgi_temp_path $S/tmp/u; scgi_temp_path $S/tmp/s;
			ssl_certificate $F/cert.pem; ssl_certificate_key $F/key.pem;
			server {
				listen 127.0.0.1:$PORT ssl;
				server_name forge.localhost web.localhost;
				location /api/v3/ { proxy_pass https://127.0.0.1:$(cat "$F/port"); }
				location /acme/moved { return 301 https://evil.localhost:$PORT\$request_uri; }
				location /acme/web { auth_request /check; try_files /nowhere @moved; }
				location @moved { return 301 https://evil.localhost:$PORT\$request_uri; }
				location / { auth_request /check; include $S/git.conf; }
				location = /check { internal; include $S/check.conf; }
			}
			server {
				listen 127.0.0.1:$PORT ssl;
				server_name evil.localhost;
				location / { auth_request /check; include $S/git.conf; }
				location = /check { internal; include $S/check.conf; }
			}
		}
	END
	cat > "$S/check.conf" <<-END
		proxy_pass http://127.0.0.1:$(cat "$F/check-port")/;
		proxy_pass_request_body off;
		proxy_set_header Content-Length "";
		proxy_set_header X-Original-URI \$request_uri;
		proxy_set_header X-Original-Host \$host;
	END
	cat > "$S/git.conf" <<-END
		fastcgi_pass unix:$S/fcgi.sock;
		fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend;
		fastcgi_param GIT_PROJECT_ROOT $S/repos;
		fastcgi_param GIT_HTTP_EXPORT_ALL "";
		fastcgi_param PATH_INFO \$uri;
		fastcgi_param QUERY_STRING \$query_string;
		fastcgi_param REQUEST_METHOD \$request_method;
		fastcgi_param CONTENT_TYPE \$content_type;
		fastcgi_param CONTENT_LENGTH \$content_length;
		fastcgi_param HTTP_CONTENT_ENCODING \$http_content_encoding;
		fastcgi_param REMOTE_USER \$remote_user;
	END
}

teardown_file() {
	forge_stop "$F"
	[ ! -e "$S/nginx.pid" ] || kill "$(cat "$S/nginx.pid")"
	[ ! -e "$S/fcgi.pid" ] || kill "$(cat "$S/fcgi.pid")"
}

RUN=run_0123456789abcdef01234567
BOX=c-0123456789ab

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home CLOOP_RUN_DIR=$D/run
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	hub=$D/hub app=$D/app W=$D/work L=$D/run/w/$BOX/lease/files
	cloop -C "$hub" hub bootstrap >/dev/null
	export CLOOP_DIR=$hub
	sed -i "/^secrets:/a\\  github:\\n    ca_file: $F/ca.pem" "$hub/.cloop/config.yaml"
	mkdir -p "$app" "$D/bin" "$L" "$W" "$L/../spare"
	ln -s "$BIN"/cloop-secret "$D/bin/"
	cp "$BUILD_DIR/t/lib/leasetool" "$D/bin/"
	rm -f "$F/check-log"
	modes
	forget
	forge_app "$F" | jq -c --arg u "https://forge.localhost:$PORT/api/v3" '.base_url = $u' |
		cloop secret mint deploy-app --kind github_app >/dev/null
}

grant() { cloop secret grant deploy-app --to "project:$app" "$@" --json | jq -r .id; }
# lend : a lease of the project's grants, its files as the sandbox has them.
lend() {
	exits 0 "$D/bin/leasetool" take "$hub" "$app" container $RUN
	lease=$(jq -r .id <<< "$output")
	sqlite3 "$hub/.cloop/state.db" "UPDATE lease SET sandbox = '$BOX' WHERE id = '$lease'"
	put
}
put() {
	local f
	for f in $(jq -r '.items[].files | keys[]' <<< "$output"); do
		jq -j --arg f "$f" '.items[].files[$f] // empty | .data' <<< "$output" > "$L/$f.new"
		chmod "$(jq -r --arg f "$f" '.items[].files[$f] // empty | .mode' <<< "$output")" "$L/$f.new"
		[ "$f" != github-token ] || [ ! -e "$L/$f" ] || cmp -s "$L/$f" "$L/$f.new" || cp "$L/$f" "$L/../spare/"
		mv "$L/$f.new" "$L/$f"
	done
}
# As inside a sandbox: nothing of the machine's own configuration, and git never asks a person.
g() {
	env -i PATH="$PATH" HOME="$W" CLOOP_LEASE_DIR="$L" GIT_CONFIG_GLOBAL="$L/gitconfig" \
		GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_SSL_CAINFO="$F/ca.pem" timeout 60 git "$@"
}
url() { echo "https://${2:-forge.localhost}:$PORT/acme/$1"; }
# What a host was shown: "status auth" of each request, in one line.
shown() { jq -r --arg h "$1" 'select(.host == $h) | "\(.status) \(.auth)"' "$F/check-log" | sort | uniq -c | xargs; }

@test "clone and push work where the grant lets them, with the narrowed token" {
	grant --repos acme/tool --permissions contents:write >/dev/null
	lend
	exits 0 g clone -q "$(url tool.git)" "$W/tool"
	g -C "$W/tool" -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
	exits 0 g -C "$W/tool" push -q origin HEAD:main
	same "$(git -C "$S/repos/acme/tool.git" log --format=%s main)" one
	lacks "$(cat "$W/tool/.git/config")" ghs_
	# The installation has it, the lease does not: git is given nothing to show.
	exits 128 g ls-remote "$(url Api)"
	has "$stderr" "could not read Username"
	same "$(jq -r 'select(.name == "acme/api") | .auth' "$F/check-log" | sort -u)" false
}

@test "a grant that reads is given a token that reads, and the push is refused by the server" {
	grant --repos acme/tool >/dev/null
	lend
	exits 0 g clone -q "$(url tool)" "$W/tool"
	g -C "$W/tool" -c user.name=a -c user.email=a@b commit -q --allow-empty -m two
	exits 128 g -C "$W/tool" push -q origin HEAD:refs/heads/other
	has "$stderr" "403"
	same "$(git -C "$S/repos/acme/tool.git" branch --list other)" ""
	# And who takes the token out of its file has no more than that.
	same "$(curl -s --cacert "$F/ca.pem" -o /dev/null -w '%{http_code}' -u "x-access-token:$(cat "$L/github-token")" \
		"$(url tool/info/refs?service=git-receive-pack)")" 403
	same "$(curl -s --cacert "$F/ca.pem" -o /dev/null -w '%{http_code}' -u "x-access-token:$(cat "$L/github-token")" \
		"$(url Api/info/refs?service=git-upload-pack)")" 403
}

@test "a branch list that nothing enforces is a token that reads" {
	grant --repos acme/tool --permissions contents:write --branches 'cloop/*' >/dev/null
	lend
	exits 0 g clone -q "$(url tool)" "$W/tool"
	g -C "$W/tool" -c user.name=a -c user.email=a@b commit -q --allow-empty -m three
	exits 128 g -C "$W/tool" push -q origin HEAD:refs/heads/cloop/fix
}

@test "another host gets nothing, with the same repository and the same certificate" {
	grant --repos 'acme/*' --permissions contents:write >/dev/null
	lend
	exits 128 g ls-remote "$(url tool evil.localhost)"
	exits 128 g ls-remote "$(url tool web.localhost)"
	exits 128 g ls-remote "https://forge.localhost:$(cat "$F/port")/acme/tool"
	same "$(shown evil.localhost)" "1 401 false"
	same "$(shown web.localhost)" "1 401 false"
}

@test "a redirect does not take the token along, before or after it was shown" {
	grant --repos 'acme/*' --permissions contents:write >/dev/null
	lend
	exits 128 g ls-remote "$(url moved)"
	exits 128 g ls-remote "$(url web)"
	has "$(shown forge.localhost)" "200 true"
	lacks "$(shown evil.localhost)" true
	has "$(shown evil.localhost)" "401 false"
	# Neither when git is told to follow all of them.
	exits 128 g -c http.followRedirects=true ls-remote "$(url web)"
	lacks "$(shown evil.localhost)" true
}

@test "the next call uses the token that took the place of the first, and none works after the end" {
	id=$(grant --repos acme/tool)
	modes "mint short"
	lend
	old=$(cat "$L/github-token")
	exits 0 g ls-remote "$(url tool)"
	modes
	exits 0 "$D/bin/leasetool" renew "$hub" "$lease"
	put
	[ "$(cat "$L/github-token")" != "$old" ]
	exits 0 g ls-remote "$(url tool)"
	exits 0 "$D/bin/leasetool" renew "$hub" "$lease"
	exits 0 g ls-remote "$(url tool)"
	ask() { curl -s --cacert "$F/ca.pem" -o /dev/null -w '%{http_code}' -u "x-access-token:$1" "$(url tool/info/refs?service=git-upload-pack)"; }
	same "$(ask "$old")" 401
	printf '{"lease_id":"%s","grant_id":"%s","reason":"released"}\n%s\n\n' "$lease" "$id" "$(cat "$L/github-token")" |
		cloop secret drop
	exits 128 g ls-remote "$(url tool)"
	same "$(ask "$(cat "$L/github-token")")" 401
}

# Which token a host was shown for a repository, since the log was removed: "HOST NAME TOKEN".
shown_what() { jq -r 'select(.auth) | "\(.host | split(".")[0]) \(.name) \(.token)"' "$F/check-log" | sort -u | paste -sd,; }
minted() { jq -r 'select(.call == "mint" and .status == 201) | "\(.token) \(.asked | tojson)"' "$F/log"; }

@test "several grants in one lease: each repository is shown the token of the grant that names it, each host its own" {
	# The host of a server's token is sealed with it: what the state file says of it is only shown.
	echo ghp_of_another_server_0000 |
		cloop secret mint web-pat --kind github_pat --github-host "web.localhost:$PORT" >/dev/null
	sqlite3 "$hub/.cloop/state.db" "UPDATE secret SET metadata = replace(metadata, 'web.localhost', 'evil.localhost')"
	has "$(cloop secret show web-pat --json)" "evil.localhost:$PORT"
	all=$(grant --repos 'acme/*' --permissions contents:read)
	one=$(grant --repos acme/tool --permissions contents:write)
	cloop secret grant web-pat --to "project:$app" --repos '*' >/dev/null
	lend
	same "$(ls "$L" | xargs)" "git-credential-cloop git-credential-cloop-2 git-credential-cloop-3 gitconfig github-token github-token-2 github-token-3"
	same "$(minted | cut -d ' ' -f 2- | sort)" '{"permissions":{"contents":"read"},"repository_ids":[13,11,12]}
{"permissions":{"contents":"write"},"repository_ids":[11]}'
	writes=$(minted | grep write | cut -d ' ' -f 1) reads=$(minted | grep -v write | cut -d ' ' -f 1)
	env=$(jq -c '[.env, .items[].env] | add' <<< "$output")
	same "$(jq -r '.GH_ENTERPRISE_TOKEN, .GITHUB_TOKEN, .GH_TOKEN, .CLOOP_GITHUB_PERMISSIONS' <<< "$env" | xargs)" \
		"ghp_of_another_server_0000 null null null"
	same "$(jq -r .CLOOP_GITHUB_REPO_ALLOWLIST <<< "$env" | tr , '\n' | sort | xargs -d '\n')" "* acme/* acme/tool"
	rm -f "$F/check-log"
	exits 0 g clone -q "$(url tool)" "$W/tool"
	g -C "$W/tool" -c user.name=a -c user.email=a@b commit -q --allow-empty -m several
	exits 0 g -C "$W/tool" push -q origin HEAD:refs/heads/several
	exits 0 g clone -q "$(url Api)" "$W/api"
	g -C "$W/api" -c user.name=a -c user.email=a@b commit -q --allow-empty -m several
	exits 128 g -C "$W/api" push -q origin HEAD:refs/heads/several
	exits 0 g ls-remote "$(url tool web.localhost)"
	exits 128 g ls-remote "$(url tool evil.localhost)"
	same "$(shown_what)" "forge acme/api $reads,forge acme/tool $writes,web acme/tool pat"
	# One of them is revoked: its token ends at GitHub, and the others go on, each with its own.
	cloop secret revoke "$one" --wait 1ms >/dev/null 2>&1 || [ $? = 1 ]
	sqlite3 "$hub/.cloop/state.db" "UPDATE lease_grant SET state = 'held' WHERE state = 'taking'"
	exits 0 "$D/bin/leasetool" renew "$hub" "$lease"
	same "$(jq -r '[.items[].grant_id] | index($g)' --arg g "$one" <<< "$output")" null
	kept=$(cat "$L/github-token-2")
	rm "$L"/*
	put
	same "$(cat "$L/github-token")" "$kept"
	rm -f "$F/check-log"
	exits 128 g -C "$W/tool" push -q origin HEAD:refs/heads/again
	exits 0 g ls-remote "$(url tool)"
	exits 0 g ls-remote "$(url Api)"
	exits 0 g ls-remote "$(url tool web.localhost)"
	same "$(shown_what)" "forge acme/api $reads,forge acme/tool $reads,web acme/tool pat"
	ended() { jq -r 'select(.call == "destroy" and .status == 204).token' "$F/log" | grep -qx "$writes"; }
	wait_for ended
}
