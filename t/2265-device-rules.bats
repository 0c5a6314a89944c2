#!/usr/bin/env bats
# Whether an engine's device rules hold, as a sandbox tells; and what holds where they do not.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell

load lib/common
load lib/engine
load lib/hub

# A runtime whose sandboxes may do everything to every device that they see.
loose_runtime() {
	cat > "$ENGINE_DIR/bin/loose" <<-'E'
		#!/bin/bash
		for ((i = 1; i <= $#; i++)); do
			[ "${!i}" = --bundle ] && { j=$((i + 1)); c=${!j}/config.json; }
			[[ ${!i} == --bundle=* ]] && { c=${!i}; c=${c#--bundle=}/config.json; }
		done
		if [[ " $* " == *" create "* ]]; then
			jq -c '.linux.resources.devices = [{allow: true, access: "rwm"}]' "$c" > "$c.new" && mv "$c.new" "$c"
		fi
	E
	printf 'exec %s "$@"\n' "$(command -v runc)" >> "$ENGINE_DIR/bin/loose"
	chmod 755 "$ENGINE_DIR/bin/loose"
	grep -q '^loose = ' "$CONTAINERS_CONF" || sed -i "s|^runc = .*|&\nloose = [\"$ENGINE_DIR/bin/loose\"]|" "$CONTAINERS_CONF"
}

setup_file() {
	need root podman runc nft ip jq sqlite3
	[ -c /dev/fuse ] && [ -c /dev/loop-control ] || skip "no two devices that can be tried"
	hub_up
	loose_runtime
	D=clt-${T##*.}
	export D
	mknod "/dev/$D-fuse" c 10 229 && chmod 666 "/dev/$D-fuse" || skip "no device nodes can be made here"
}
teardown_file() {
	[ -n "${D:-}" ] && rm -f "/dev/$D-fuse"
	hub_down
}

# trial KEYS : of an executor with these keys.
trial() {
	jq -nc --arg i "$IMAGE" --arg h "$HUB" "{executor: ({enabled: true, image: \$i} + $1), hub: \$h, timeout_ms: 60000}" > "$T/q"
	exits 0 cloop exec-container device-trial < "$T/q"
	same "$(jq -r '.name' <<< "$output")" device_cgroup
	same "$(jq -c 'keys' <<< "$output")" '["detail","fix","name","verdict"]'
}
verdict() { jq -r '.verdict' <<< "$output"; }
detail() { jq -r '.detail' <<< "$output"; }
nothing_left() {
	same "$(podman ps -aq --external)" ''
	same "$(grep -F "$T/run" /proc/self/mounts)" ''
}

@test "rules that hold are told from those that do not" {
	trial '{}'
	same "$(verdict)" ok
	has "$(detail)" 'could not be opened for writing: the device rules of podman under runc, cgroup v'
	same "$(jq -r .fix <<< "$output")" null
	trial '{oci_runtime: "loose"}'
	same "$(verdict)" warn
	has "$(detail)" 'could be opened for writing: the device rules of podman under loose, cgroup v'
	has "$(jq -r .fix <<< "$output")" 'udev rule'
	nothing_left
}

@test "where nothing can be tried, that is the answer" {
	trial '{oci_runtime: "runsc"}'
	same "$(verdict)" ok
	has "$(detail)" 'no device of the host is passed in under runsc'
	trial '{image: "ghcr.io/acme/nothing:1"}'
	same "$(verdict)" warn
	has "$(detail)" 'could not be tried: '
	has "$(jq -r .fix <<< "$output")" 'podman pull ghcr.io/acme/nothing:1'
	trial '{oci_runtime: "no-such-runtime"}'
	same "$(verdict)" warn
	nothing_left
}

@test "a broken question is refused" {
	for q in '' '{}' '{"executor":{"enabled":true},"hub":"/x","timeout_ms":1}' '{"executor":{"enabled":true},"hub":"/x","other":1}' $'\xff'; do
		printf %s "$q" > "$T/q"
		exits 65 cloop exec-container device-trial < "$T/q"
	done
}

@test "killed in the middle, what is left is collected" {
	local i
	jq -nc --arg i "$IMAGE" --arg h "$HUB" '{executor: {enabled: true, id: "container", image: $i}, hub: $h}' > "$T/q"
	# The runtime waits when it makes the sandbox, so that the driver is there to be killed.
	sed -i "2i [[ \" \$* \" == *\" create \"* ]] \&\& { touch $T/making; for ((i = 0; i < 600; i++)); do [ -e $T/go ] \&\& break; sleep 0.1; done; }" "$ENGINE_DIR/bin/loose"
	jq -c '.executor.oci_runtime = "loose"' "$T/q" > "$T/q2"
	cloop exec-container device-trial < "$T/q2" > "$T/o" 2>&1 &
	p=$!
	until_ok test -e "$T/making"
	kill -KILL "$p"
	touch "$T/go"
	until_ok sh -c '[ -z "$(podman ps -q)" ]'
	for ((i = 0; i < 600; i++)); do
		exits 0 cloop exec-container reap < "$T/q"
		[ -z "$(podman ps -aq --external)" ] && break
		sleep 0.1
	done
	nothing_left
	loose_runtime
}

@test "where the rules do not hold, the node itself keeps a reader from writing" {
	hub_config '    network: none
    oci_runtime: loose'
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
	echo "fuse=/dev/$D-fuse:/dev/fuse0" | cloop secret mint bench --kind host_device > /dev/null
	g=$(cloop secret grant bench --to "project:$P" --devices fuse --json | jq -r .id)
	exits 0 run_in -- sh -c ': < /dev/fuse0 && echo reads; (: > /dev/fuse0) || echo "does not write"'
	same "$output" $'reads\ndoes not write'
	has "$stderr" 'Permission denied'
	cloop secret revoke "$g" > /dev/null
	g=$(cloop secret grant bench --to "project:$P" --devices fuse --writable --json | jq -r .id)
	exits 0 run_in -- sh -c ': > /dev/fuse0 && echo writes'
	same "$output" writes
	cloop secret revoke "$g" > /dev/null
	same "$(leftovers)" ''
}
