#!/usr/bin/env bats
# What a run is lent, with docker as the engine: its daemon sees the lease only through our mounts.

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman docker dockerd nft ip jq sqlite3 python3
	hub_up
	engine_docker_up "$NSNAME"
	hub_config '    network: none'
	sed -i 's/runtime: podman/runtime: docker/' "$HUB/.cloop/config.yaml"
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
	printf '{"API_KEY":"planted-env-value-1"}' | cloop secret mint app-env --kind env >/dev/null
	echo ghp_plantedtokenvalue0003 | cloop secret mint deploy-pat --kind github_pat >/dev/null
	cloop secret grant app-env --to "project:$P" >/dev/null
	cloop secret grant deploy-pat --to "project:$P" --repos 'myorg/*' >/dev/null
	printf '%s\n' planted-env-value-1 ghp_plantedtokenvalue0003 > "$T/values"
}
teardown_file() {
	[ -z "${T:-}" ] || rm -f "/dev/clt-${T##*.}-"*
	hub_down
}

@test "docker: the sandbox has its lease, and neither the daemon nor the output has a value" {
	id=$(run_in --detach -- sh -c 'echo "up ${#API_KEY} $API_KEY"; stat -c "%n %a %u" "$CLOOP_LEASE_DIR"/*token
		touch "$CLOOP_LEASE_DIR/x" 2>&1; "$CLOOP_LEASE_DIR/git-credential-cloop" get < /dev/null && echo runs
		while [ ! -e /workspace/go ]; do sleep 0.1; done')
	for ((i = 0; i < 600; i++)); do [[ $(cloop runs logs "$id" 2>/dev/null) == *runs* ]] && break; sleep 0.1; done
	d=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select id from lease order by seq desc limit 1")
	same "$(cloop runs logs "$id" 2>/dev/null)" "up 19 [redacted]
/run/cloop/cloop-lease-${d#lease_}/github-token 600 1000
touch: /run/cloop/cloop-lease-${d#lease_}/x: Read-only file system
runs"
	mkdir -p "$T/seen"
	docker ps -aq | xargs docker inspect > "$T/seen/inspect"
	same "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" "$T/seen" "$ENGINE_DIR" "$HUB" \
		$(ours -x 'cloop-hold|cloop-watch|docker') 2>/dev/null)" ''
	touch "$P/go"
	for ((i = 0; i < 600; i++)); do [ "$(cloop runs show --json "$id" | jq -r .state)" = finished ] && break; sleep 0.1; done
	same "$(leftovers)" ''
	run ! grep -F " $T/run" /proc/self/mounts
	same "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" "$ENGINE_DIR" "$HUB" "$T/run" 2>/dev/null)" ''
}

@test "docker: a device stands where it was granted, for reading alone where that was granted" {
	local n=/dev/clt-${T##*.}
	mknod "$n-a" c 1 5 && chmod 666 "$n-a" || skip "no device nodes can be made here"
	printf 'a=%s-a:/dev/a\nb=%s-a:/dev/b:r\n' "$n" "$n" | cloop secret mint bench --kind host_device > /dev/null
	g=$(cloop secret grant bench --to "project:$P" --devices '*' --writable --json | jq -r .id)
	exits 0 run_in -- sh -c 'echo "$CLOOP_HOST_DEVICES"; stat -c "%n %a %t:%T" /dev/a /dev/b; echo x > /dev/a && echo written; (echo x > /dev/b) 2>/dev/null || echo "not written"'
	cloop secret revoke "$g" > /dev/null
	same "$output" $'a,b\n/dev/a 666 1:5\n/dev/b 444 1:5\nwritten\nnot written'
	same "$(leftovers)" ''
	run ! grep -F " $T/run" /proc/self/mounts
	if [ -c /dev/fuse ] && [ -c /dev/loop-control ]; then
		exits 0 cloop exec-container device-trial < <(jq -nc --arg i "$IMAGE" --arg h "$HUB" '{executor: {enabled: true, runtime: "docker", image: $i}, hub: $h}')
		same "$(jq -r .verdict <<< "$output")" ok
		has "$(jq -r .detail <<< "$output")" 'device rules of docker under'
	fi
}
