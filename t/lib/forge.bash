# Loaded by suites that speak to GitHub's stand-in: load lib/forge
# shellcheck shell=bash disable=SC2154

wait_for() {
	local i
	for ((i = 0; i < 600; i++)); do
		"$@" && return 0
		sleep 0.1
	done
	echo "never: $*" >&2
	return 1
}

# forge_certs DIR : an authority, and a certificate of it for forge.localhost and web.localhost,
# which every resolver that cloop and git use takes for loopback. other.pem is another authority.
forge_certs() {
	local d=$1 n
	for n in ca other; do
		openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=cloop test $n" -keyout "$d/$n.key" \
			-out "$d/$n.pem" 2>/dev/null
	done
	openssl req -newkey rsa:2048 -nodes -subj /CN=forge.localhost -keyout "$d/key.pem" -out "$d/csr" 2>/dev/null
	openssl x509 -req -in "$d/csr" -CA "$d/ca.pem" -CAkey "$d/ca.key" -CAcreateserial -days 2 -out "$d/cert.pem" \
		-extfile <(echo "subjectAltName=DNS:forge.localhost,DNS:web.localhost,DNS:evil.localhost,DNS:api.github.com") 2>/dev/null
}

# forge_start DIR : the stand-in with an App 42 that has two installations; in the network namespace
# FORGE_NS, where that is set.
forge_start() {
	local d=$1
	mkdir -p "$d"
	[ -e "$d/cert.pem" ] || forge_certs "$d"
	openssl genrsa -out "$d/app.pem" 2048 2>/dev/null
	openssl rsa -in "$d/app.pem" -pubout -out "$d/app.pub" 2>/dev/null
	cat > "$d/github.json" <<-'END'
		{"app_id": 42, "installations": [
		{"id": 313131, "account": "acme", "type": "Organization", "selection": "selected",
		 "permissions": {"contents": "write", "issues": "read"},
		 "repositories": [{"id": 11, "full_name": "acme/tool", "private": true},
		  {"id": 12, "full_name": "acme/web", "private": false},
		  {"id": 13, "full_name": "acme/Api", "private": true}]},
		{"id": 7, "account": "alice", "type": "User", "selection": "all", "suspended": true,
		 "permissions": {"contents": "read"}, "repositories": []}]}
	END
	${FORGE_NS:+nsenter "--net=/run/netns/$FORGE_NS"} python3 "$SRC/t/lib/githubd.py" "$d" 3>&- > "$d/out" 2>&1 &
	echo $! > "$d/pid"
	wait_for test -s "$d/proxy-port"
}

forge_stop() { [ ! -s "$1/pid" ] || kill "$(cat "$1/pid")"; }

# forge_url DIR : the API. forge_app DIR [INSTALLATION] : the payload that mint takes.
forge_url() { echo "https://forge.localhost:$(cat "$1/port")/api/v3"; }
forge_app() {
	jq -nc --rawfile key "$1/app.pem" --arg url "$(forge_url "$1")" --argjson inst "${2:-313131}" \
		'{app_id: 42, installation_id: $inst, private_key: $key, base_url: $url}'
}

# modes "CALL MODE"... : how the stand-in fails from now on; none: it does not.
modes() {
	[ $# = 0 ] && { rm -f "$F/modes"; return; }
	printf '%s\n' "$@" > "$F/modes.new" && mv "$F/modes.new" "$F/modes"
}
# calls : what was asked since `forget`, as "CALL STATUS" in one line.
calls() { [ ! -e "$F/log" ] || jq -r '"\(.call) \(.status)"' "$F/log" | paste -sd,; }
forget() { rm -f "$F/log"; }
# Tokens that were given and not taken back, by number.
alive() { jq -s '(map(select(.status == 201).token) - map(select(.call == "destroy" and .status == 204).token)) | length' "$F/log"; }
