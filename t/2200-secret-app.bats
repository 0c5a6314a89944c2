#!/usr/bin/env bats
# A GitHub App against a stand-in of GitHub's API that checks signatures and scopes and fails in
# every way that is documented: discovery, minting, what a wider answer comes to, TLS.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a subshell of its own
load lib/common
load lib/forge

setup_file() {
	need openssl jq python3 sqlite3
	export F=$BATS_FILE_TMPDIR/forge
	forge_start "$F"
}
teardown_file() { forge_stop "$F"; }

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	hub=$D/hub
	cloop -C "$hub" hub bootstrap >/dev/null
	export CLOOP_DIR=$hub
	sed -i "/^secrets:/a\\  github:\\n    ca_file: $F/ca.pem" "$hub/.cloop/config.yaml"
	modes
	forget
}

mint() { forge_app "$F" "${1:-313131}" | cloop secret mint deploy-app --kind github_app >/dev/null; }
app() { cloop secret app "$@"; }
audit() { cloop hub audit list --action "$1" --json | jq -r "$2"; }

# ask VERB REQUEST [PAYLOAD] : cloop-forge itself, as lib/work runs it.
ask() {
	{ jq -nc --arg ca "$F/ca.pem" "{secret: \"deploy-app\", ca_file: \$ca, timeout_ms: 20000} + $2"
		printf '%s' "${3-$(forge_app "$F")}"; } | timeout 60 "$BIN/cloop-forge" "$1" --json
}
# answer, given : of what cloop-forge wrote, its answer, and the last token that it tells of.
answer() { grep '^{' <<< "$output" | tail -n 1; }
given() { grep '^+' <<< "$output" | tail -n 1 | cut -d ' ' -f 3; }
one='{constraints: {repos: ["acme/tool"]}}'

@test "installations: every account, its type, and all of its repositories or a chosen subset" {
	mint
	exits 0 app installations deploy-app
	same "$output" "INSTALLATION  ACCOUNT  TYPE          REPOSITORIES  STATE
313131        acme     Organization  selected      active
7             alice    User          all           suspended since 2026-01-02T03:04:05Z

2 installation(s)"
	same "$stderr" ""
	same "$(calls)" "installations 200"
	exits 0 app installations deploy-app --json
	same "$(jq -c '[.installation_id, .account, .type, .repositories, .suspended_at, .permissions.contents]' <<< "$output")" \
		'[313131,"acme","Organization","selected",null,"write"]
[7,"alice","User","all","2026-01-02T03:04:05Z","read"]'
	same "$(audit secret.access_check '.detail | .decision + " " + .secret_name + " " + .asked' | sort | uniq -c | xargs)" \
		"2 allow deploy-app installations"
}

@test "installations of credentials that are not stored, with no installation_id yet" {
	forge_app "$F" | jq -c 'del(.installation_id)' > "$D/app.json"
	exits 0 app installations --file "$D/app.json"
	has "$output" "313131"
	exits 0 bash -c "cloop secret app installations --file - --json < '$D/app.json'"
	exits 65 app repositories --file "$D/app.json"
	has "$stderr" "installation_id is missing"
	same "$(cloop secret list --json)" ""
	mv "$hub/cloop-secret-key" "$D/away"
	exits 0 app installations --file "$D/app.json"
}

@test "repositories: those of the installation, by a token that is gone afterwards" {
	mint
	exits 0 app repositories deploy-app
	same "$output" "ID  REPOSITORY  VISIBILITY
11  acme/tool   private
12  acme/web    public
13  acme/Api    private

3 repository(s)"
	same "$(calls)" "inventory 201,repositories 200,destroy 204"
	same "$(jq -c 'select(.call == "inventory").asked' "$F/log")" '{"permissions":{"metadata":"read"}}'
	exits 0 app repositories deploy-app --json
	same "$(jq -c '[.repository_id, .full_name, .private]' <<< "$output" | head -n 1)" '[11,"acme/tool",true]'
	modes "destroy 500"
	exits 0 app repositories deploy-app
	has "$stderr" "the token that read the list of repositories (metadata:read) was not destroyed: github_app secret"
	has "$stderr" " at most, and each sweep asks again"
	lacks "$stderr" ghs_
	# It is queued with whatever it was asked for, and no sweep forgets it before GitHub has it destroyed.
	same "$(cloop secret blast deploy-app --json | jq -r '.queued_tokens | length')" 1
	modes
	sqlite3 "$hub/.cloop/state.db" "UPDATE token SET tried_at = tried_at - 60000"
	same "$(cloop secret sweep --json | jq -c '[.tokens.destroyed, .tokens.queued]')" '[1,0]'
	same "$(alive)" 0
	same "$(audit github_app.token_destroy '.detail | .decision + " " + .secret_name' | xargs)" "allow deploy-app deny deploy-app"
	# Without the key it cannot be sealed, and that is said.
	forge_app "$F" > "$D/app.json"
	modes "destroy 500"
	exits 0 app repositories --file "$D/app.json"
	has "$stderr" "each sweep asks again"
	mv "$hub/cloop-secret-key" "$D/away"
	exits 0 app repositories --file "$D/app.json"
	has "$stderr" "at most, and no sweep can ask again: "
}

@test "many repositories come in pages, and each is there once" {
	cp "$F/github.json" "$D/keep"
	jq '.installations[0].repositories = [range(1; 251) | {id: ., full_name: "acme/r\(.)", private: false}]' \
		"$D/keep" > "$F/github.json"
	mint
	run --separate-stderr app repositories deploy-app --json
	cp "$D/keep" "$F/github.json"
	same "$(jq -r .full_name <<< "$output" | sort -u | wc -l)" 250
	same "$(calls)" "inventory 201,repositories 200,repositories 200,repositories 200,destroy 204"
}

@test "more installations than are looked through: those are shown, and that is said" {
	cp "$F/github.json" "$D/keep"
	jq -c '.installations = [range(1; 5102) | {id: ., account: "a\(.)", type: "User", selection: "all", permissions: {}}]' \
		"$D/keep" > "$F/github.json"
	forge_app "$F" > "$D/app.json"
	run --separate-stderr app installations --file "$D/app.json" --json
	mv "$D/keep" "$F/github.json"
	same "$status $(wc -l <<< "$output")" "0 5000"
	has "$stderr" "there may be more installations than these 5000, and no more are looked through"
}

@test "what is wrong on this side is said before GitHub is asked" {
	echo ghp_examplesecrettoken | cloop secret mint a-pat --kind github_pat >/dev/null
	exits 65 app installations a-pat
	has "$stderr" "the secret 'a-pat' is a github_pat and no github_app"
	exits 65 app installations nobody
	exits 64 app installations
	exits 64 app installations a-pat --file x
	exits 69 app installations --file /nonexistent
	exits 65 bash -c "echo '{}' | cloop secret app installations --file -"
	exits 64 cloop forge mint
	has "$stderr" "is not a cloop command"
	same "$(calls)" ""
}

@test "discovery that GitHub refuses: what it said, and what to do" {
	mint 99
	exits 1 app repositories deploy-app
	has "$stderr" "App 42 has no installation 99"
	has "$stderr" "  fix: it was uninstalled, or the id is another App's; list what there is: cloop secret app installations deploy-app"
	exits 0 app installations deploy-app
	has "$output" "2 installation(s), and none of them is the one that the secret names"
	openssl genrsa -out "$D/other.pem" 2048 2>/dev/null
	forge_app "$F" | jq -c --rawfile k "$D/other.pem" '.private_key = $k' > "$D/app.json"
	exits 1 app installations --file "$D/app.json" --json
	same "$(jq -r .error.code <<< "$stderr")" github_auth
	same "$(audit secret.access_check .detail.decision | sort | uniq -c | xargs)" "1 allow 2 deny"
}

@test "a token is exactly as wide as its grant, long and with dots, and can be destroyed" {
	exits 0 ask mint '{constraints: {repos: ["acme/*"], permissions: ["contents:write"]}}'
	same "$(jq -c '.asked' "$F/log" | tail -n 1)" '{"permissions":{"contents":"write"},"repository_ids":[13,11,12]}'
	same "$(answer | jq -c '[.host, .permissions, .scope, .repositories, .notes]')" \
		"[\"forge.localhost:$(cat "$F/port")\",{\"contents\":\"write\",\"metadata\":\"read\"},{\"permissions\":{\"contents\":\"write\"},\"repository_ids\":[13,11,12]},[\"acme/Api\",\"acme/tool\",\"acme/web\"],[]]"
	token=$(given)
	[[ $token == ghs_*.*.* && ${#token} -gt 400 ]]
	same "$(alive)" 1
	exits 0 ask revoke "{base_url: \"$(forge_url "$F")\"}" "$token"
	same "$(alive)" 0
	# One that is gone is destroyed; so is one that never was.
	exits 0 ask revoke "{base_url: \"$(forge_url "$F")\"}" "$token"
	modes "destroy 503"
	exits 69 ask revoke "{base_url: \"$(forge_url "$F")\"}" "$token"
	lacks "$stderr" "$token"
}

@test "of everything, of a branch list, and of what the installation does not have" {
	exits 0 ask mint '{constraints: {repos: ["*"], permissions: ["*"]}}'
	same "$(calls)" "mint 201"
	same "$(jq -c .asked "$F/log")" '{}'
	same "$(answer | jq -c .scope)" \
		'{"permissions":{"contents":"write","issues":"read","metadata":"read"},"repository_ids":null}'
	forget
	exits 0 ask mint '{constraints: {repos: ["acme/tool"], permissions: ["contents:write"], branches: ["cloop/*"]}}'
	same "$(jq -c .asked "$F/log" | tail -n 1)" '{"permissions":{"contents":"read"},"repository_ids":[11]}'
	exits 1 ask mint '{constraints: {repos: ["acme/tool", "acme/nope", "acme/api"]}}'
	has "$stderr" "its installation has 3 repositories, and not acme/nope"
	exits 1 ask mint '{constraints: {repos: ["acme/tool"], permissions: ["issues:write"]}}'
	has "$stderr" "permissions requested are not granted"
}

@test "a further token has the first one's scope, and less when there is less" {
	again() { ask mint "{constraints: {repos: [\"$1\"], permissions: [\"contents:write\"]}, scope: $2}"; }
	scope='{repository_ids: [11, 12], permissions: {contents: "write", metadata: "read"}}'
	exits 0 again 'acme/*' "$scope"
	same "$(jq -c .asked "$F/log" | tail -n 1)" '{"permissions":{"contents":"write","metadata":"read"},"repository_ids":[11,12]}'
	exits 0 again acme/web "$scope"
	same "$(jq -c '.asked.repository_ids' "$F/log" | tail -n 1)" '[12]'
	has "$(answer | jq -r '.notes[0]')" "acme/tool is not in the new token"
	exits 1 again acme/other "$scope"
	same "$(jq -r .error.code <<< "$stderr")" github_scope
	exits 1 again 'acme/*' '{repository_ids: null, permissions: {contents: "write"}}'
	exits 1 again 'acme/*' '{repository_ids: [11], permissions: {contents: "admin"}}'
	exits 1 again 'acme/*' '{repository_ids: [11], permissions: null}'
	has "$stderr" "every permission"
}

@test "every way to fail has its cause, its fix and its status, and leaves no token behind" {
	local mode want code piece bad=0
	while IFS=$'\t' read -r mode want code piece; do
		case $mode in '#'*) continue ;; esac
		modes "mint $mode"
		forget
		local budget='{timeout_ms: 20000}'
		case $mode in hang | drip | early) budget='{timeout_ms: 3000}' ;; esac
		run --separate-stderr ask mint "$one + $budget"
		if [ "$status" != "$want" ] || [ "$(jq -r .error.code <<< "$stderr")" != "$code" ] ||
			[[ $(jq -r .error.message <<< "$stderr") != *"$piece"* ]] || [ -n "$(answer)" ] ||
			[ "$(grep -c '^+' <<< "$output")" != "$(grep -cx -e - <<< "$output")" ] ||
			[ -z "$(jq -r '.error.remediation // ""' <<< "$stderr")" ] || [[ $stderr == *ghs_* ]]; then
			echo "$mode: status $status, $stderr $output" >&2
			bad=1
		fi
		# What has no token in it that can be read cannot be taken back.
		[[ $mode =~ ^(empty|newline|twice)$ ]] || [ "$(alive)" = 0 ] || { echo "$mode: a token lives" >&2; bad=1; }
	done < "$CASES/github/failures.tsv"
	[ $bad = 0 ]
}

@test "whichever call fails: its cause and its fix, and no token that lives" {
	mint
	for call in inventory repositories installations; do
		for mode in 401 suspended 404 429 503 redirect html notjson cut hangup huge 418; do
			modes "$call $mode"
			forget
			run --separate-stderr app "${call/inventory/repositories}" deploy-app --json
			if [ "$status" = 0 ] || [ -n "$output" ] || [[ $stderr == *ghs_* ]] ||
				[[ $(jq -r .error.code <<< "$stderr") != @(github|http)_* ]] ||
				[ -z "$(jq -r '.error.remediation // ""' <<< "$stderr")" ] || [ "$(alive)" != 0 ]; then
				echo "$call $mode: status $status, $stderr $output; $(calls)" >&2
				return 1
			fi
		done
	done
}

@test "a token that is refused and cannot be destroyed is told of" {
	modes "mint wider-level" "destroy 500"
	exits 1 ask mint "$one"
	has "$stderr" "a token that could not be destroyed lives until 20"
	modes "inventory wider-level"
	exits 1 ask mint "$one"
	has "$stderr" "contents:admin"
}

@test "whoever waits for a token is gone: it is destroyed" {
	ask mint "$one" > /dev/null
	forget
	{ jq -nc --arg ca "$F/ca.pem" "{ca_file: \$ca} + $one"; forge_app "$F"; } > "$D/request"
	exits 0 python3 - "$BIN/cloop-forge" "$D/request" <<-'END'
		import os, subprocess, sys
		r, w = os.pipe()
		os.close(r)
		with open(sys.argv[2], "rb") as request:
		    done = subprocess.run([sys.argv[1], "mint"], stdin=request, stdout=w, stderr=subprocess.PIPE, timeout=60)
		assert done.returncode == 71 and b"nobody took the token" in done.stderr, done
	END
	same "$(alive)" 0
}

@test "TLS: another authority, another host, none, and plain HTTP" {
	refused() { same "$(jq -r .error.code <<< "$stderr")" "$1"; }
	exits 69 ask installations "{ca_file: \"$F/other.pem\"}"
	refused http_tls
	has "$stderr" "secrets.github.ca_file"
	exits 69 ask installations "{ca_file: null}"
	refused http_tls
	exits 69 ask installations '{ca_file: "/nonexistent"}'
	refused http_tls
	exits 69 ask installations '{}' "$(forge_app "$F" | sed 's/forge\.localhost/wrong.localhost/')"
	refused http_tls
	exits 65 ask installations '{}' "$(forge_app "$F" | sed 's/https:/http:/')"
	exits 1 ask revoke "{base_url: \"http://127.0.0.1:$(cat "$F/port")\"}" ghs_x
	refused http_plain
	exits 69 ask installations '{}' "$(forge_app "$F" | sed -E 's/localhost:[0-9]+/localhost:1/')"
	refused http_unreachable
	exits 69 ask installations '{}' "$(forge_app "$F" | sed -E 's/localhost/invalid/')"
	refused http_unreachable
	same "$(calls)" ""
}

@test "a proxy only by configuration, and the configured authority never vouches for github.com" {
	proxy=http://127.0.0.1:$(cat "$F/proxy-port")
	https_proxy=$proxy HTTPS_PROXY=$proxy ALL_PROXY=$proxy exits 0 ask installations '{}'
	[ ! -e "$F/proxy-log" ]
	exits 0 ask installations "{proxy: \"$proxy\"}"
	same "$(cat "$F/proxy-log")" "forge.localhost:$(cat "$F/port") False"
	exits 69 ask installations "{proxy: \"$proxy\"}" "$(forge_app "$F" | jq -c 'del(.base_url)')"
	same "$(jq -r .error.code <<< "$stderr")" http_tls
	has "$(cat "$F/proxy-log")" "api.github.com:443"
	modes "proxy 403"
	exits 69 ask installations "{proxy: \"$proxy\"}"
	has "$stderr" "403"
	modes
	sed -i "s|    ca_file: .*|&\n    proxy: $proxy|" "$hub/.cloop/config.yaml"
	rm "$F/proxy-log"
	mint
	exits 0 app installations deploy-app
	same "$(cat "$F/proxy-log")" "forge.localhost:$(cat "$F/port") False"
	sed -i "s|    proxy: .*|    proxy: http://user:word@127.0.0.1:1|" "$hub/.cloop/config.yaml"
	exits 78 cloop hub config check
	rm -f "$F/proxy-log"
}

@test "requests that are none" {
	for r in '' '{' '[]' '{"x":1}' '{"timeout_ms":0}'; do
		exits 65 bash -c "printf '%s\nx' '$r' | '$BIN/cloop-forge' mint"
	done
	exits 65 bash -c "printf '{}' | '$BIN/cloop-forge' mint"
	exits 65 ask mint '{}'
	exits 65 ask mint '{constraints: {}}'
	exits 65 ask mint "$one" '{}'
	exits 65 ask mint "$one + {scope: {repository_ids: []}}"
	exits 65 ask revoke '{}' ghs_x
	exits 65 ask revoke "{base_url: \"$(forge_url "$F")\"}" ''
	exits 64 "$BIN/cloop-forge" nonsense
	same "$(calls)" ""
}

@test "neither key nor token is in arguments, environments or messages, and memory is locked" {
	mint
	# A traced child under the leak checker ends badly, and its environment is not ours to set.
	want=0
	[[ $BUILD_DIR != */san ]] || want=70
	ASAN_OPTIONS=detect_leaks=0 exits $want strace -f -v -s 99999 -e trace=execve,prctl,setrlimit,prlimit64,mlockall \
		-o "$D/trace" cloop secret app repositories deploy-app
	grep -q 'cloop-forge", "repositories", "--json"\], \["PATH=[^"]*"\])' "$D/trace"
	lacks "$(cat "$D/trace")" "PRIVATE KEY"
	lacks "$(cat "$D/trace")" ghs_
	# of both processes; a leak checker sets it again after its own look
	same "$(grep 'PR_SET_DUMPABLE, SUID_DUMP_DISABLE' "$D/trace" | cut -d ' ' -f 1 | sort -u | wc -l)" 2
	lacks "$(cloop hub audit list --json)$output$stderr" "PRIVATE KEY"
	modes "mint hang"
	ask mint "$one" > "$D/out" 2>&1 3>&- &
	has_mint() { [[ $(calls) == *"mint 0"* ]]; }
	wait_for has_mint
	pid=$(pgrep -n -f "^$BIN/cloop-forge mint")
	[ "$(awk '$1 == "VmLck:" { print $2 }' "/proc/$pid/status")" -gt 0 ]
	lacks "$(tr '\0' '\n' < "/proc/$pid/environ" 2>/dev/null)$(tr '\0' ' ' < "/proc/$pid/cmdline")" "PRIVATE"
	kill "$pid"
	wait || true
}
