#!/usr/bin/env bats
# One run that is granted something of every kind: its sandbox has what the guide says, exactly.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell
# shellcheck disable=SC2154

load lib/common
load lib/engine
load lib/hub
load lib/forge

setup_file() {
	need root podman nft ip jq sqlite3 python3 openssl
	[ -c /dev/fuse ] || skip "no device that can be lent"
	hub_up
	export F=$T/forge FORGE_NS=$NSNAME
	forge_start "$F"
	hub_config '    network: bridge
    egress_filter:
      enabled: true
      allow_public_internet: true
      allow_ports: [443]
      resolvers: ["9.9.9.9:53"]'
	D=clt-${T##*.}
	export D
	mknod "/dev/$D-scope" c 10 229 && chmod 666 "/dev/$D-scope" || skip "no device nodes can be made here"
	ip link add bench-sbx netns "$NSNAME" type veth peer name board0 netns "$WORLD"
	ip -n "$WORLD" link set board0 up
	printf 'secrets:\n  key_file: %s\n  github:\n    ca_file: %s\n' "$HUB/cloop-secret-key" "$F/ca.pem" >> "$HUB/.cloop/config.yaml"
	mkdir -p "$T/src"/{api-service,shared-proto,private}/.git && chown -R 1000:1000 "$T/src"
	modes
	all_granted > /dev/null
}
teardown_file() {
	[ -n "${D:-}" ] && rm -f "/dev/$D-scope"
	forge_stop "$F"
	hub_down
}

grant() { cloop secret grant "$@" --to "project:$P" --json | jq -r .id; }
mint() { cloop secret mint "$1" --kind "$2" > /dev/null; }

# all_granted : one grant of each kind, narrowed as the guide narrows it.
all_granted() {
	echo ghp_plantedallkinds01 | mint deploy-pat github_pat
	forge_app "$F" | mint deploy-app github_app
	mint prod-kube kubeconfig < "$CASES/secret/kube/three.yaml"
	printf 'user:planted-login-02' | mint ghcr-login registry
	printf '{"API_KEY":"planted-env-03","WEBHOOK_SECRET":"planted-env-04"}' | mint app-env env
	printf 'http://u:planted-proxy-05@proxy.test:3128' | mint way-out egress_proxy
	echo "$T/src" | mint local-src local_repo
	echo "scope=/dev/$D-scope:/dev/scope" | mint bench host_device
	echo dut=bench-sbx,target=eth1,address=172.31.99.200/24 | mint bench-net host_interface
	grant deploy-pat --repos 'myorg/*' --permissions contents:read
	grant deploy-app --repos acme/tool --permissions contents:write
	grant prod-kube --contexts prod --verbs get,list,watch,create,update,patch,delete,deletecollection
	grant ghcr-login --registries ghcr.io
	grant app-env --env-keys API_KEY
	grant way-out --hosts api.github.com,'*.pypi.org'
	grant local-src --repos 'api-service,shared-*'
	grant bench --devices scope
	grant bench-net --interfaces dut
}

# What a shell finds: its variables, the lease's files with mode and owner, what is bound, its devices and interfaces.
LOOK='env | grep -vE "^(PATH|HOME|PWD|OLDPWD|SHLVL|HOSTNAME|TERM|container|_)=" | sort
cd "$CLOOP_LEASE_DIR" && stat -c "%a %u:%g %s %n" -- *
ls -A /repos; grep -E " /repos| $CLOOP_LEASE_DIR " /proc/mounts | cut -d " " -f 2,4 | cut -d , -f 1,2,3 | sort
cat gitconfig; ls -A /run/cloop
stat -c "%n %A %t:%T" /dev/scope; ls /sys/class/net | xargs; ip -4 addr show eth1 | grep -o "inet [0-9./]*"'

@test "the variables, files and mounts of all nine kinds in one lease, and no others" {
	exits 0 run_in -- sh -c "$LOOK"
	same "$stderr" ''
	got=$(sed -E 's/(lease|run)_[0-9a-f]{24}/\1_ID/; s/cloop-lease-[0-9a-f]{24}/cloop-lease-ID/g
		s/20[0-9]{2}-[0-9-]+T[0-9:]+Z/DATE/; s/c-[0-9a-f]{12}/c-ID/; s/^([67]00 1000:1000) [0-9]+ /\1 N /' <<< "$output")
	same "$got" "$(cat "$CASES/guide/all-kinds.txt")"
	same "$(leftovers)" ''
	lacks "$output" planted-
}

# found VALUES WHAT... : where any of them is, of processes and folders.
found() { python3 "$SRC/t/lib/findplanted.py" "$@" 2>/dev/null; }
# The forms in which a value can stand in base64 of something longer.
digits() {
	python3 -c 'import base64, sys
for v in sys.stdin.read().split():
	for k in range(3):
		b = base64.b64encode(b"x" * k + v.encode()).decode()
		print(b[(8 * k + 5) // 6 : 8 * (k + len(v)) // 6])'
}
over() { [ "$(cloop runs show --json "$1" | jq -r .state)" = finished ]; }

@test "a planted value is with the sandbox and its supervisor, in no other place and in no output" {
	local id h shim pid mine never=$T/never lent=$T/lent all=$T/all
	# Beside the grants, and in what they were cut from.
	printf '%s\n' planted-env-04 staging-token-1111 dev-password-22 left-over-token-33 > "$never"
	sed -n 2,3p "$F/app.pem" >> "$never"
	id=$(run_in --detach -- sh -c 'cat "$CLOOP_LEASE_DIR"/*; env; env | sort | base64; base64 "$CLOOP_LEASE_DIR"/kubeconfig
		for f in "$CLOOP_LEASE_DIR"/*; do base64 < "$f" >&2; done; printf %s "$HTTPS_PROXY" | sed "s,/,\\\\/,g"; echo
		i=0; while [ $i -lt ${#API_KEY} ]; do printf %s "$API_KEY" | cut -c $((i + 1)) | tr -d "\n"; sleep 0.02; i=$((i + 1)); done
		echo; echo up; while [ ! -e go ]; do sleep 0.1; done')
	until_ok says "$id" up
	h=$(cloop runs show --json "$id" | jq -r .handle_id)
	shim=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id = '$h'")
	pid=$(pgrep -P "$(cat "$T/run/w/$h/pid")" -x sh)
	{ printf '%s\n' ghp_plantedallkinds01 planted-login-02 planted-env-03 planted-proxy-05 prod-token-000000
		cat "$T/run/w/$h/lease/files/github-token-2"; } > "$lent"
	same "$(wc -l < "$lent")" 6
	cat "$lent" "$never" > "$all"
	digits < "$lent" >> "$all"
	# The search finds what is there: the workload's own environment, and the supervisor's notes.
	has "$(found "$lent" "$pid")" "environ of $pid"
	for i in 1 2 3 4 5 6; do has "$(found "$lent" "$shim")" "value $i in"; done
	# What was never lent is with neither of them.
	same "$(found "$never" "$pid" "$shim" "$T/run/w/$h/lease")" ''
	mine=$(ours -x 'cloop.*|conmon|podman' | grep -vxF "$shim" | while read -r p; do
		[ "$(readlink "/proc/$p/ns/pid")" = "$(readlink /proc/self/ns/pid)" ] && echo "$p"; done)
	has "$(for p in $mine; do cat "/proc/$p/comm"; done | xargs)" conmon
	{
		podman inspect -l
		podman ps -a --no-trunc --format json
		cloop runs logs "$id"
		cloop runs logs --json "$id"
		cloop runs journal "$id"
		cloop runs show --json "$id"
		cloop secret leases --json
		cloop hub audit list --json
	} > "$T/said" 2>&1
	mkdir -p "$T/out" && cloop runs logs "$id" 2>&1 | tr -d '\n' > "$T/out/joined" && mv "$T/said" "$T/out/"
	grep -q redacted "$T/out/said"
	# shellcheck disable=SC2086 # a list
	same "$(found "$all" $mine "$HUB" "$ENGINE_DIR" "$T/run" "$P" "$T/out")" ''
	touch "$P/go"
	until_ok over "$id"
	same "$(leftovers)" ''
	same "$(found "$all" "$HUB" "$ENGINE_DIR" "$T/run")" ''
	rm -r "$T/out" "$P/go"
}
