#!/usr/bin/env bats
# A root key that is in the environment only: it reaches who opens what a run is lent, and nobody
# on the way has it.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell

load lib/common
load lib/engine
load lib/hub
load lib/faults

setup_file() {
	need root podman nft ip jq sqlite3 python3
	hub_up
	hub_config_none
	mv "$HUB/cloop-secret-key" "$T/the-key"
	keyed sh -c 'echo planted-token-value-1 | cloop secret mint token --kind github_pat
		echo user:planted-login-value-2 | cloop secret mint login --kind registry' >/dev/null
	cat "$T/the-key" > "$T/values"
}
teardown_file() { hub_down; }
setup() { rm -f "$P/go"; }

# keyed CMD... : with the key in its environment.
keyed() { CLOOP_SECRET_KEY=$(cat "$T/the-key") "$@"; }
grant() { keyed cloop secret grant "$@" --to "project:$P" --json | jq -r .id; }
# carriers : who has the key among its arguments or in its environment.
carriers() {
	local k
	k=$(cat "$T/the-key")
	grep -la -F -e "$k" /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null || true
}
# attached : a run with a client, in the background; sets PID and RUN.
attached() {
	keyed nsenter --net="/run/netns/$NSNAME" cloop-run -p "$P" --timeout 5m -- sh -c "$1" \
		< /dev/null > "$T/o" 2> "$T/e" 3>&- &
	PID=$!
	until_ok grep -qs up "$T/o"
	RUN=$(cloop runs list --json | head -n 1 | jq -r .id)
}

@test "an attached run is lent what it is granted, and nobody on the way has the key" {
	local mine
	g=$(grant token --repos 'a/*')
	attached 'echo up; wc -c < "$CLOOP_LEASE_DIR/github-token"; while [ ! -e go ]; do sleep 0.1; done'
	same "$(carriers)" ''
	# Nor in their memory, the supervisor's and the client's included.
	mine=$(ours -x 'cloop.*|conmon|podman')
	has "$(for p in $mine; do cat "/proc/$p/comm"; done)" cloop-shim
	has "$(for p in $mine; do cat "/proc/$p/comm"; done)" cloop-run
	# The address sanitizer keeps the environment as it found it.
	sanitized && mine=$(ours -x 'conmon|podman')
	# shellcheck disable=SC2086 # a list
	same "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" $mine "$HUB" "$ENGINE_DIR" "$T/run" "$P" 2>/dev/null)" ''
	touch "$P/go"
	wait "$PID"
	same "$(cat "$T/o")" $'up\n22'
	same "$(carriers)" ''
	keyed cloop secret revoke "$g" >/dev/null
	same "$(leftovers)" ''
}

@test "its supervisor can renew: what is not revoked stays" {
	t=$(grant token --repos 'a/*')
	l=$(grant login --registries a.test)
	attached 'echo up; while [ -e "$CLOOP_LEASE_DIR/github-token" ]; do sleep 0.1; done; ls "$CLOOP_LEASE_DIR"'
	exits 0 host cloop secret revoke "$t"
	wait "$PID"
	same "$(cat "$T/o")" $'up\nconfig.json'
	same "$(carriers)" ''
	cloop secret revoke "$l" >/dev/null
	same "$(leftovers)" ''
}

@test "a supervisor that takes over has no key: it says so with what mends it, and then can renew" {
	t=$(grant token --repos 'a/*')
	l=$(grant login --registries a.test)
	attached 'echo up; while [ ! -e go ]; do sleep 0.1; done'
	h=$(cloop runs show --json "$RUN" | jq -r .handle_id)
	kill -KILL "$(sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id='$h'")"
	exits 0 host cloop sweep --only adopt
	journal() { cloop runs journal --json "$RUN" | jq -r .text; }
	said() { journal | grep -q 'could not be renewed'; }
	until_ok said
	has "$(journal)" 'the key was in the environment of the command that started this run'
	has "$(journal)" 'what it is lent ends at 20'
	has "$(journal)" 'fix: put the key into a file that secrets.key_file of the hub names'
	cp "$T/the-key" "$HUB/cloop-secret-key" && chmod 600 "$HUB/cloop-secret-key"
	cp "$HUB/.cloop/config.yaml" "$T/config"
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
	# A renewal takes one of the two; without a key all of it would go.
	exits 0 host cloop secret revoke "$t"
	same "$(ls "$T/run/w/$h/lease/files")" config.json
	cp "$T/config" "$HUB/.cloop/config.yaml"
	rm "$HUB/cloop-secret-key"
	touch "$P/go"
	wait "$PID" || true
	cloop secret revoke "$l" >/dev/null
	same "$(leftovers)" ''
}

@test "a detached run would outlive it and is refused, and so is a key that opens nothing" {
	g=$(grant token --repos 'a/*')
	exits 125 keyed host cloop run -p "$P" --detach -- true < /dev/null
	has "$stderr" 'a detached run outlives the CLOOP_SECRET_KEY'
	CLOOP_SECRET_KEY=another exits 125 host cloop run -p "$P" -- true < /dev/null
	has "$stderr" 'what this run is granted cannot be lent to it'
	lacks "$stderr" another
	exits 125 host cloop run -p "$P" -- true < /dev/null
	has "$stderr" 'CLOOP_SECRET_KEY is not set'
	# A file beside it must have the same key, and then a detached run has what it needs.
	cp "$T/the-key" "$T/copy" && chmod 400 "$T/copy"
	CLOOP_SECRET_KEY_FILE=$T/copy exits 0 keyed host cloop run -p "$P" -- true < /dev/null
	CLOOP_SECRET_KEY_FILE=$T/copy exits 0 keyed host cloop run -p "$P" --detach -- true < /dev/null
	exits 0 cloop runs wait "$output"
	(umask 077 && echo other-key > "$T/copy2")
	CLOOP_SECRET_KEY_FILE=$T/copy2 exits 125 keyed host cloop run -p "$P" -- true < /dev/null
	has "$stderr" 'hold two different keys'
	cloop secret revoke "$g" >/dev/null
	same "$(leftovers)" ''
}

# handed KIND CMD... : CMD with the key on descriptor 7, in a file in memory as KIND says.
handed() {
	python3 -c 'import fcntl, os, sys
kind, key, command = sys.argv[1], open(sys.argv[2], "rb").read(), sys.argv[3:]
m = os.memfd_create("key", os.MFD_ALLOW_SEALING)
os.write(m, key)
if kind == "sealed":
    fcntl.fcntl(m, 1033, 15)
os.dup2(m, 7)
os.execvp(command[0], command)' "$1" "$T/the-key" env CLOOP_SECRET_KEY_FD=7 "${@:2}"
}

@test "a key comes as a sealed file in memory, and no other descriptor is touched" {
	echo x > "$T/x"
	exits 0 handed sealed cloop secret mint by-fd --kind env < "$T/x"
	exits 78 handed open cloop secret mint other --kind env < "$T/x"
	has "$stderr" 'names descriptor 7, which is no sealed file in memory'
	exits 78 bash -c 'exec 7< "$1"; echo x | CLOOP_SECRET_KEY_FD=7 cloop secret mint other --kind env' sh "$T/the-key"
	for n in 2 x '' 99999 -1 77; do
		exits 78 bash -c 'echo x | CLOOP_SECRET_KEY_FD=$1 cloop secret mint other --kind env' sh "$n"
	done
	CLOOP_SECRET_KEY=$(cat "$T/the-key") exits 78 handed sealed cloop secret mint other --kind env < "$T/x"
	has "$stderr" 'are both set'
}

@test "a key that is in the environment twice is wiped twice, and refused where the two differ" {
	export P
	twice() { # KEY KEY CMD... : execve with both; env and the shell would drop one
		python3 -c 'import ctypes, os, sys
names = [b"CLOOP_SECRET_KEY=" + a.encode() for a in sys.argv[1:3]]
env = names[:1] + [k.encode() + b"=" + v.encode() for k, v in os.environ.items()] + names[1:]
argv = [a.encode() for a in sys.argv[3:]]
libc = ctypes.CDLL(None)
libc.execve(argv[0], (ctypes.c_char_p * (len(argv) + 1))(*argv, None), (ctypes.c_char_p * (len(env) + 1))(*env, None))' "$@"
	}
	k=$(cat "$T/the-key")
	exits 0 twice "$k" "$k" "$BIN/cloop-secret" -C "$HUB" mint same --kind env < "$T/x"
	exits 78 twice "$k" other "$BIN/cloop-secret" -C "$HUB" mint other --kind env < "$T/x"
	has "$stderr" 'CLOOP_SECRET_KEY more than once, with different keys'
	lacks "$stderr" "$k"
}

@test "a driver keeps no descriptor that is not a key handed down" {
	mkdir -p "$T/projects/plain" && chown 1000:1000 "$T/projects/plain"
	id=$(host cloop run -p "$T/projects/plain" --detach -- sleep 300 < /dev/null 3> "$T/leaked")
	shim=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where run_id = '$id'")
	lacks "$(readlink "/proc/$shim"/fd/*)" "$T/leaked"
	lacks "$(readlink "/proc/$shim"/fd/*)" memfd:cloop-key
	cloop runs stop "$id" >/dev/null
	same "$(leftovers)" ''
}
