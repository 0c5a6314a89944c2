#!/usr/bin/env bats
# Logins to registries and to a proxy in a real run: a client in the sandbox reaches what was
# granted, and nothing else, and stops reaching it when the grant is revoked.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell

load lib/common
load lib/engine
load lib/hub

# Where the registry and the proxy answer, beyond the uplink.
REG=93.184.216.34 PROXY=9.9.9.9

# registry_up : a registry with TLS and one user, with x/bb:1 in it.
registry_up() {
	local d=$T/reg
	mkdir -p "$d"
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$REG" -addext "subjectAltName=IP:$REG" \
		-keyout "$d/key.pem" -out "$d/cert.pem" 2>/dev/null
	# bcrypt of planted-login-0001
	printf 'somebody:%s\n' "$(python3 -W ignore -c 'import crypt; print(crypt.crypt("planted-login-0001", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)))')" > "$d/users"
	cat > "$d/reg.yml" <<-E
		version: 0.1
		log: {level: error}
		storage: {filesystem: {rootdirectory: $d/data}}
		http: {addr: "$REG:443", tls: {certificate: $d/cert.pem, key: $d/key.pem}}
		auth: {htpasswd: {realm: test, path: $d/users}}
	E
	nsenter --net="/run/netns/$WORLD" docker-registry serve "$d/reg.yml" > "$d/log" 2>&1 3>&- &
	echo $! > "$d/pid"
	until_ok listens "$WORLD" tcp 443
	# docker's client of Debian 12 reads no manifest of OCI's type.
	SSL_CERT_FILE=$d/cert.pem world podman push -q --format v2s2 --creds somebody:planted-login-0001 "$IMAGE" "$REG/x/bb:1"
}

# proxy_up : a proxy that wants a user, and answers every request by itself.
proxy_up() {
	cat > "$T/proxy.py" <<-'E'
		import base64, http.server, sys
		want = "Basic " + base64.b64encode(b"somebody:planted-proxy-0002").decode()
		class H(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        ok = self.headers.get("Proxy-Authorization") == want
		        self.send_response(200 if ok else 407)
		        self.end_headers()
		        self.wfile.write(b"through the proxy: " + self.path.encode() + b"\n" if ok else b"")
		    def log_message(self, *a):
		        pass
		http.server.HTTPServer((sys.argv[1], 443), H).serve_forever()
	E
	nsenter --net="/run/netns/$WORLD" python3 "$T/proxy.py" "$PROXY" > "$T/proxy.log" 2>&1 3>&- &
	echo $! > "$T/proxy.pid"
}

# client_into DIR : docker's own command, with its libraries where it is not static, for a sandbox
# that has busybox only.
client_into() {
	local libs
	mkdir -p "$1/lib" && cp "$(command -v docker)" "$1/docker" && cp "$T/reg/cert.pem" "$1/ca.pem"
	libs=$(ldd "$1/docker" 2>/dev/null | grep -o '/[^ ]*') || true
	# shellcheck disable=SC2086 # a list
	[ -z "$libs" ] || cp -L -t "$1/lib" $libs
	cat > "$1/inspect" <<-'E'
		#!/bin/sh
		export SSL_CERT_FILE=/workspace/ca.pem
		for l in /workspace/lib/ld-*; do
			[ ! -e "$l" ] || exec "$l" --library-path /workspace/lib /workspace/docker manifest inspect "$1"
		done
		exec /workspace/docker manifest inspect "$1"
	E
	chmod 755 "$1/inspect"
}

setup_file() {
	need root podman nft ip jq sqlite3 python3 docker docker-registry openssl
	hub_up
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
	registry_up
	proxy_up
	client_into "$P"
	jq -n --arg reg "$REG" '{auths: {($reg): {auth: ("somebody:planted-login-0001" | @base64)},
		"ghcr.io": {auth: ("else:planted-never-lent-3" | @base64)}}, credsStore: "desktop",
		HttpHeaders: {"X-Meta": "planted-never-lent-4"}}' > "$T/config.json"
	cloop secret mint login --kind registry --file "$T/config.json" >/dev/null
}
teardown_file() {
	kill "$(cat "$T/reg/pid")" "$(cat "$T/proxy.pid")" 2>/dev/null || true
	hub_down
}
teardown() { cloop secret grants --json | jq -r .id | xargs -r -n 1 cloop secret revoke --wait 0s >/dev/null 2>&1 || true; }

grant() { cloop secret grant "$@" --to "project:$P" --json | jq -r .id; }

@test "a granted registry is reached with docker's own client, and the file has no other login" {
	exits 1 run_in -- /workspace/inspect "$REG/x/bb:1"
	g=$(grant login --registries "$REG")
	exits 0 run_in -- sh -c 'ls -A "$CLOOP_LEASE_DIR"; stat -c %a "$DOCKER_CONFIG/config.json"; [ "$DOCKER_CONFIG" = "$CLOOP_LEASE_DIR" ]
		tr -d "[:space:]" < "$DOCKER_CONFIG/config.json"; echo; echo "${CLOOP_REDACT_ENV-none}"; env | grep -c "^DOCKER"; /workspace/inspect '"$REG/x/bb:1"
	same "$(head -n 5 <<< "$output")" "config.json
600
{\"auths\":{\"$REG\":{\"auth\":\"[redacted]\"}}}
none
1"
	same "$(tail -n +6 <<< "$output" | jq -r .schemaVersion)" 2
	cloop secret revoke "$g"
	exits 1 run_in -- /workspace/inspect "$REG/x/bb:1"
}

@test "one user and password is a login for the first registry that is granted" {
	printf 'somebody:planted-login-0001' | cloop secret mint one-login --kind registry >/dev/null
	grant one-login --registries "*.test,$REG,ghcr.io" >/dev/null
	exits 0 run_in -- sh -c 'tr -d "[:space:]" < "$DOCKER_CONFIG/config.json"; echo; /workspace/inspect '"$REG/x/bb:1"
	same "$(head -n 1 <<< "$output")" "{\"auths\":{\"$REG\":{\"auth\":\"[redacted]\",\"password\":\"[redacted]\",\"username\":\"somebody\"}}}"
	same "$(tail -n +2 <<< "$output" | jq -r .schemaVersion)" 2
	# The engine's own kin read the same file.
	printf '{"auths":{"%s":{"auth":"%s","password":"x","username":"somebody"}}}' "$REG" "$(printf somebody:planted-login-0001 | base64)" > "$T/auth.json"
	SSL_CERT_FILE=$T/reg/cert.pem world podman pull -q --authfile "$T/auth.json" "$REG/x/bb:1" >/dev/null
}

@test "a revoked login is of no use to a run that goes on" {
	local id
	g=$(grant login --registries "$REG")
	id=$(run_in --detach -- sh -c "/workspace/inspect $REG/x/bb:1 >/dev/null && echo in
		while [ ! -e /workspace/go ]; do sleep 0.1; done
		ls -A \"\$CLOOP_LEASE_DIR\"; /workspace/inspect $REG/x/bb:1 || echo out")
	until_ok says "$id" in
	exits 0 host cloop secret revoke "$g"
	has "$output" '1 file(s) removed'
	touch "$P/go"
	until_ok says "$id" out
	rm "$P/go"
	exits 0 cloop runs wait "$id"
	lacks "$(cloop runs logs "$id")" config.json
}

@test "a granted proxy is the way out, and its password is in no output" {
	printf 'http://somebody:planted-proxy-0002@%s:443\n' "$PROXY" | cloop secret mint way-out --kind egress_proxy >/dev/null
	grant way-out --hosts api.test,'*.pypi.test' >/dev/null
	until_ok listens "$WORLD" tcp 443
	exits 0 run_in -- sh -c 'wget -q -O - http://api.test/x; env | grep -iE "_proxy=|EGRESS|REDACT" | sort
		cat "$CLOOP_EGRESS_ALLOW_FILE"; stat -c "%n %a" "$CLOOP_LEASE_DIR"/*'
	d=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select id from lease order by seq desc limit 1")
	d=/run/cloop/cloop-lease-${d#lease_}
	same "$output" "through the proxy: http://api.test/x
CLOOP_EGRESS_ALLOW=api.test,*.pypi.test
CLOOP_EGRESS_ALLOW_FILE=$d/egress-allow.txt
CLOOP_REDACT_ENV=HTTPS_PROXY,HTTP_PROXY,http_proxy,https_proxy
HTTPS_PROXY=[redacted]
HTTP_PROXY=[redacted]
http_proxy=[redacted]
https_proxy=[redacted]
api.test
*.pypi.test
$d/egress-allow.txt 600"
}
