# Loaded by suites that speak to image registries: load lib/registry
# shellcheck shell=bash disable=SC2154
#
#   R       directory of all of it: ca.pem, cert.pem, key.pem, certs.d, auth.json
#   REG     "localhost:PORT" of a registry of Debian's docker-registry, with TLS and a login
#   EVIL    "localhost:PORT" of t/lib/registryd.py
#
# registry_up in setup_file, registry_down in teardown_file.

registry_certs() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=cloop test registry CA" -keyout "$R/ca.key" \
		-out "$R/ca.pem" 2>/dev/null &&
		openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout "$R/key.pem" -out "$R/csr" 2>/dev/null &&
		openssl x509 -req -in "$R/csr" -CA "$R/ca.pem" -CAkey "$R/ca.key" -CAcreateserial -days 2 -out "$R/cert.pem" \
			-extfile <(echo "subjectAltName=DNS:localhost,IP:127.0.0.1") 2>/dev/null
}

# registry_trust HOST:PORT : its certificate is vouched for in certs.d.
registry_trust() { mkdir -p "$R/certs.d/$1" && cp "$R/ca.pem" "$R/certs.d/$1/ca.crt"; }

registry_answers() { curl -s -o /dev/null --max-time 5 --cacert "$R/ca.pem" "https://localhost:$1/v2/"; }

# A port that is free now may be somebody's a moment later: then another one is tried.
registry_serve() {
	local port i
	for ((i = 0; i < 5; i++)); do
		port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
		cat > "$R/registry.yml" <<-E
			version: 0.1
			log: {level: error, accesslog: {disabled: true}}
			storage: {filesystem: {rootdirectory: $R/store}, delete: {enabled: true}}
			http: {addr: "127.0.0.1:$port", tls: {certificate: $R/cert.pem, key: $R/key.pem}}
			auth: {htpasswd: {realm: test, path: $R/htpasswd}}
		E
		docker-registry serve "$R/registry.yml" 3>&- > "$R/registry.log" 2>&1 &
		echo $! > "$R/registry.pid"
		REG=localhost:$port
		until_ok registry_up_or_gone "$port" && kill -0 "$(cat "$R/registry.pid")" 2>/dev/null && return 0
	done
	return 1
}
registry_up_or_gone() { registry_answers "$1" || ! kill -0 "$(cat "$R/registry.pid")" 2>/dev/null; }

registry_up() {
	R=$(mktemp -d /tmp/clreg.XXXXXX)
	registry_certs && htpasswd -Bbn -C 5 alice pass > "$R/htpasswd" && registry_serve || return 1
	python3 "$SRC/t/lib/registryd.py" "$R" 3>&- > "$R/evil.log" 2>&1 &
	echo $! > "$R/evil.pid"
	until_ok test -s "$R/port" || return 1
	EVIL=localhost:$(cat "$R/port")
	registry_trust "$REG" && registry_trust "$EVIL" && registry_trust "localhost:$(cat "$R/other-port")"
	registry_login "$REG" alice:pass "$EVIL" alice:pass > "$R/auth.json"
	# Nobody's own files of logins and certificates count.
	export R REG EVIL HOME=$R/home
	unset DOCKER_CONFIG REGISTRY_AUTH_FILE XDG_RUNTIME_DIR XDG_CONFIG_HOME
	mkdir -p "$HOME"
}

registry_down() {
	local p
	[ -n "${R:-}" ] && [ -d "$R" ] || return 0
	for p in "$R"/*.pid; do kill "$(cat "$p")" 2>/dev/null || true; done
	rm -rf "$R"
}

# registry_login HOST USER:PASSWORD... : a file of logins.
registry_login() {
	jq -n '[$ARGS.positional | _nwise(2) | {(.[0]): {auth: (.[1] | @base64)}}] | {auths: add}' --args "$@"
}

# registry_reach [JQ-EXPRESSION] : sandbox.registry as the tests have it.
registry_reach() { jq -nc --arg r "$R" '{auth_file: "\($r)/auth.json", certs_dir: "\($r)/certs.d"} | '"${1:-.}"; }

# registry_ask VERB REFERENCE [JQ-EXPRESSION over the request]
registry_ask() {
	jq -nc --arg ref "$2" --argjson reach "$(registry_reach)" '{reference: $ref, reach: $reach} | '"${3:-.}" |
		cloop-registry "$1" --json
}

# registry_push IMAGE NAME:TAG : out of the suite's engine into REG; prints its digest there.
registry_push() {
	podman push -q --creds alice:pass --cert-dir "$R/certs.d/$REG" --digestfile "$R/digest" "$1" "$REG/$2" > /dev/null &&
		cat "$R/digest"
}

# registry_curl PATH ARG... : with the login.
registry_curl() {
	local path=$1
	shift
	curl -s --max-time 30 --cacert "$R/ca.pem" -u alice:pass "$@" "https://$REG$path"
}

# ---- signatures in cosign's format, by openssl ----

# registry_blob NAME FILE : uploads it; prints its digest.
registry_blob() {
	local at digest
	digest=sha256:$(sha256sum < "$2" | cut -c1-64)
	at=$(registry_curl "/v2/$1/blobs/uploads/" -X POST -D - -o /dev/null | tr -d '\r' | sed -n 's/^[Ll]ocation: //p')
	at=${at#https://"$REG"}
	registry_curl "$at$([[ $at == *\?* ]] && echo '&' || echo '?')digest=$digest" -f -X PUT \
		-H 'Content-Type: application/octet-stream' --data-binary "@$2" && echo "$digest"
}

# signature_payload REPOSITORY DIGEST [JQ] > FILE : what is signed.
signature_payload() {
	jq -njc --arg r "$1" --arg d "$2" '{critical: {identity: {"docker-reference": $r}, image: {"docker-manifest-digest": $d},
		type: "cosign container image signature"}, optional: null} | '"${3:-.}"
}

# signature_make KEY FILE : base64 of the signature over the file.
signature_make() {
	if openssl pkey -in "$1" -noout -text 2>/dev/null | head -n 1 | grep -qi ed25519; then
		openssl pkeyutl -sign -inkey "$1" -rawin -in "$2" | base64 -w 0
	else
		openssl dgst -sha256 -sign "$1" "$2" | base64 -w 0
	fi
}

# signature_put NAME DIGEST ROW... : the signature manifest of NAME@DIGEST; a row is
# "PAYLOAD-FILE SIGNATURE", or "PAYLOAD-FILE SIGNATURE COUNT" for many of the same.
signature_put() {
	local name=$1 of=$2 row layers=$R/layers.$$ config=$R/config.$$ file sig count digest
	shift 2
	echo '{}' > "$config"
	: > "$layers"
	for row; do
		read -r file sig count <<< "$row"
		digest=$(registry_blob "$name" "$file") || return 1
		jq -nc --arg d "$digest" --arg s "$sig" --argjson n "$(stat -c %s "$file")" --argjson c "${count:-1}" 'range($c) |
			{mediaType: "application/vnd.dev.cosign.simplesigning.v1+json", size: $n, digest: $d,
			annotations: {"dev.cosignproject.cosign/signature": $s}}' >> "$layers"
	done
	digest=$(registry_blob "$name" "$config") || return 1
	jq -sc --arg d "$digest" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
		config: {mediaType: "application/vnd.oci.image.config.v1+json", size: 3, digest: $d}, layers: .}' "$layers" > "$layers.m"
	registry_curl "/v2/$name/manifests/${of/:/-}.sig" -f -X PUT -H 'Content-Type: application/vnd.oci.image.manifest.v1+json' \
		--data-binary "@$layers.m"
}

# signature_sign NAME DIGEST KEY [REPOSITORY [SIGNED-DIGEST]] : signs it the way cosign does.
signature_sign() {
	local payload=$R/payload.$$
	signature_payload "${4:-$REG/$1}" "${5:-$2}" > "$payload"
	signature_put "$1" "$2" "$payload $(signature_make "$3" "$payload")"
}

# registry_pull NAME : into the suite's engine.
registry_pull() { podman pull -q --creds alice:pass --cert-dir "$R/certs.d/$REG" "$REG/$1" > /dev/null; }
