#!/usr/bin/env bats
# What a GitHub grant puts into a sandbox: git itself, against git's own HTTP server behind nginx
# with TLS, asks for credentials and gets them for what was granted and for nothing else.
load lib/common

setup_file() {
	need git nginx fcgiwrap openssl jq
	export D=$BATS_FILE_TMPDIR/srv TOOL=$BUILD_DIR/t/lib/secrettool
	mkdir -p "$D/repos" "$D/tmp"
	local r
	for r in myorg/tool myorg/team/tool otherorg/private acme/app; do
		git init -q --bare -b main "$D/repos/$r.git"
		git -C "$D/repos/$r.git" config http.receivepack true
		git -C "$D/repos/$r.git" config http.uploadpack true
	done
	printf 'x-access-token:%s\n' "$(openssl passwd -apr1 ghp_examplesecrettoken)" > "$D/users"
	printf 'x-access-token:%s\n' "$(openssl passwd -apr1 ghp_acme_token_000000)" > "$D/users-acme"
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=github.test -keyout "$D/key.pem" \
		-out "$D/cert.pem" -addext "subjectAltName=DNS:github.test,DNS:evil.test" 2>/dev/null
	# A port of its own: whoever asks for it must find it in the URL.
	PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	export PORT
	conf > "$D/nginx.conf"
	fcgiwrap -s "unix:$D/fcgi.sock" 3>&- & echo $! > "$D/fcgi.pid"
	wait_for test -S "$D/fcgi.sock"
	chmod 777 "$D/fcgi.sock"
	chmod -R a+rwX "$D/repos"
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR"
	nginx -c "$D/nginx.conf" -p "$D" -e "$D/error.log" 3>&-
	wait_for curl -sko /dev/null "https://127.0.0.1:$PORT/"
}

wait_for() {
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" && return 0
		sleep 0.05
	done
	echo "never: $*" >&2
	return 1
}

conf() {
	cat <<-END
		user root;
		pid $D/nginx.pid;
		events {}
		http {
			access_log $D/access.log;
			client_body_temp_path $D/tmp/b; proxy_temp_path $D/tmp/p; fastcgi_temp_path $D/tmp/f;
			uwsgi_temp_path $D/tmp/u; scgi_temp_path $D/tmp/s;
			server {
				listen 127.0.0.1:$PORT ssl;
				server_name github.test evil.test;
				ssl_certificate $D/cert.pem; ssl_certificate_key $D/key.pem;
				auth_basic forge;
				location /acme/ { auth_basic_user_file $D/users-acme; include $D/git.conf; }
				location / { auth_basic_user_file $D/users; include $D/git.conf; }
			}
		}
	END
	cat > "$D/git.conf" <<-END
		fastcgi_pass unix:$D/fcgi.sock;
		fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend;
		fastcgi_param GIT_PROJECT_ROOT $D/repos;
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
	[ ! -e "$D/nginx.pid" ] || kill "$(cat "$D/nginx.pid")"
	[ ! -e "$D/fcgi.pid" ] || kill "$(cat "$D/fcgi.pid")"
}

setup() {
	L=$BATS_TEST_TMPDIR/lease
	W=$BATS_TEST_TMPDIR/work
	mkdir -m 700 "$L" "$W"
}

# grant ID REPOS PAYLOAD [PERMISSIONS] : one row for `lease`.
grant() {
	jq -nc --arg id "$1" --arg repos "$2" --arg p "$3" --arg perms "${4:-}" \
		'{id: $id, secret: $id, kind: "github_pat", payload: $p, constraints:
		({repos: ($repos | split(","))} + if $perms == "" then {} else {permissions: ($perms | split(","))} end)}'
}
lease() { jq -sc . | "$TOOL" lease "$L" > "$BATS_TEST_TMPDIR/lease.json"; }
pat() { jq -nc --arg t "$1" --arg h "github.test:$PORT" '{token: $t, host: $h}'; }
value() { jq -r ".vars.$1 // \"\"" "$BATS_TEST_TMPDIR/lease.json"; }

# As inside a sandbox: nothing of the machine's own configuration, and git never asks a person.
g() {
	env -i PATH="$PATH" HOME="$W" CLOOP_LEASE_DIR="$L" GIT_CONFIG_GLOBAL="$L/gitconfig" \
		GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_SSL_CAINFO="$D/cert.pem" "${@:1}"
}
git_() {
	g git -c "http.curloptResolve=github.test:$PORT:127.0.0.1" \
		-c "http.curloptResolve=evil.test:$PORT:127.0.0.1" "$@"
}

@test "clone and push work inside the allowlist, and fail to authenticate outside" {
	grant deploy-pat 'myorg/*' "$(pat ghp_examplesecrettoken)" contents:read | lease
	same "$(value GIT_CONFIG_GLOBAL)" "$L/gitconfig"
	same "$(value GITHUB_TOKEN)$(value GH_TOKEN)$(value GH_ENTERPRISE_TOKEN)" ""
	exits 0 git_ clone -q "https://github.test:$PORT/myorg/tool.git" "$W/tool"
	g git -C "$W/tool" -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
	exits 0 git_ -C "$W/tool" push -q origin HEAD:main
	same "$(git -C "$D/repos/myorg/tool.git" log --format=%s main)" one
	exits 128 git_ clone -q "https://github.test:$PORT/otherorg/private" "$W/private"
	has "$stderr" "could not read Username"
	exits 128 git_ ls-remote "https://github.test:$PORT/myorg/team/tool"
	exits 128 git_ ls-remote "https://evil.test:$PORT/myorg/tool"
	lacks "$(cat "$D/access.log")" "evil.test"
}

@test "each repository is authenticated by the grant that names it" {
	{ grant everything '*' "$(pat ghp_examplesecrettoken)"; grant acme acme/app "$(pat ghp_acme_token_000000)"; } | lease
	same "$(jq -r '.materials[0].secret' "$BATS_TEST_TMPDIR/lease.json")" acme
	exits 0 git_ ls-remote "https://github.test:$PORT/acme/app"
	exits 0 git_ ls-remote "https://github.test:$PORT/otherorg/private"
	same "$(value GH_ENTERPRISE_TOKEN)" ghp_examplesecrettoken
	same "$(value GITHUB_TOKEN)" ""
}

@test "an image's own helper that stores is not asked, and stores nothing" {
	grant deploy-pat 'myorg/tool' "$(pat ghp_examplesecrettoken)" | lease
	printf '[credential]\n\thelper = store --file=%s\n' "$W/stolen" > "$W/system"
	exits 0 env -i PATH="$PATH" HOME="$W" CLOOP_LEASE_DIR="$L" GIT_CONFIG_GLOBAL="$L/gitconfig" \
		GIT_CONFIG_SYSTEM="$W/system" GIT_TERMINAL_PROMPT=0 GIT_SSL_CAINFO="$D/cert.pem" \
		git -c "http.curloptResolve=github.test:$PORT:127.0.0.1" ls-remote "https://github.test:$PORT/myorg/tool"
	[ ! -e "$W/stolen" ]
}

@test "a token that is swapped in place is used by the next call" {
	grant deploy-pat 'myorg/tool' "$(pat ghp_old_and_dead_0000)" | lease
	exits 128 git_ ls-remote "https://github.test:$PORT/myorg/tool"
	echo ghp_examplesecrettoken > "$L/new" && mv "$L/new" "$L/github-token"
	exits 0 git_ ls-remote "https://github.test:$PORT/myorg/tool"
}

# ask REPOS ARG PROTOCOL HOST PATH : what the helper answers, under every shell there is.
ask() {
	local sh first=1 out
	for sh in dash bash "busybox sh"; do
		command -v "${sh%% *}" >/dev/null || continue
		# shellcheck disable=SC2086 # a command and its applet
		out=$({ [ -z "$3" ] || echo "protocol=$3"; [ -z "$4" ] || echo "host=$4"
			[ "$5" = - ] || echo "path=$5"; echo 'username=someone'; echo 'wwwauth[]=Basic realm="GitHub"'; echo; } |
			env -i PATH="$PATH" $sh "$L/git-credential-cloop" ${2:+"$2"} 2>&1) || { echo "status $?"; return 1; }
		[ -n "$first" ] && { printf '%s' "$out" > "$W/answer"; first=; continue; }
		[ "$out" = "$(cat "$W/answer")" ] || { echo "$sh answers otherwise: $out" >&2; return 1; }
	done
	cat "$W/answer"
}

@test "the helper answers exactly what the table says" {
	local line repos arg proto host path want got bad=0
	while IFS='|' read -r repos arg proto host path want; do
		case $repos in '#'* | '') continue ;; esac
		rm -rf "$L" && mkdir -m 700 "$L"
		grant x "$repos" ghp_examplesecrettoken | lease
		got=$(ask "$repos" "$arg" "$proto" "$host" "$path")
		case $want in
		Y) line=$'username=x-access-token\npassword=ghp_examplesecrettoken' ;;
		*) line= ;;
		esac
		[ "$got" = "$line" ] || { echo "$repos $arg $proto $host '$path': '$got', not $want" >&2; bad=1; }
	done < "$CASES/secret/helper.psv"
	[ $bad = 0 ]
}

@test "without its token file the helper is silent, and the token is not in its text" {
	grant x '*' ghp_examplesecrettoken | lease
	lacks "$(cat "$L/git-credential-cloop")" ghp_
	same "$(stat -c %a "$L/git-credential-cloop" "$L/github-token" "$L/gitconfig" | paste -sd' ')" "700 600 600"
	rm "$L/github-token"
	same "$(ask '*' get https github.com a/b)" ""
}
