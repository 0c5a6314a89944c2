#!/usr/bin/env bats
# Nobody who can have a value of a run leaves a core file, whatever the limit says.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip jq sqlite3 python3
	hub_up
	hub_config_none
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
	printf '{"API_KEY":"planted-core-value-1"}' | cloop secret mint app-env --kind env >/dev/null
	echo ghp_plantedcorevalue2 | cloop secret mint token --kind github_pat >/dev/null
	cloop secret grant app-env --to "project:$P" >/dev/null
	cloop secret grant token --to "project:$P" --repos 'a/*' >/dev/null
	{
		printf '%s\n' planted-core-value-1 ghp_plantedcorevalue2
		cat "$HUB/cloop-secret-key"
	} > "$T/values"
	mkdir "$T/cores"
	chmod 1777 "$T/cores"
}
teardown_file() { hub_down; }

# dies PID : it is told to, in the way that leaves a core; prints where one would be.
dies() {
	local cwd
	cwd=$(readlink "/proc/$1/root")$(readlink "/proc/$1/cwd")
	printf '%s\n' "${cwd//\/\//\/}"
	kill -SEGV "$1"
	gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.*zombie' "/proc/$1/status" 2>/dev/null; }
	until_ok gone "$1"
}
# cores DIR... : files there that a kernel made since the stamp.
cores() { find "$@" -xdev -maxdepth 6 -type f -name 'core*' -newer "$T/stamp" ! -path '/proc/*' 2>/dev/null || true; }
# running : a run with a client whose limit is the highest; sets PID, RUN, HANDLE.
running() {
	ulimit -Hc unlimited && ulimit -c unlimited
	rm -f "$P/go" "$T/o"
	(cd "$T/cores" && exec nsenter --net="/run/netns/$NSNAME" cloop-run -p "$P" --timeout 5m -- \
		sh -c 'echo up; while [ ! -e go ]; do sleep 0.1; done') < /dev/null > "$T/o" 2> "$T/e" 3>&- &
	PID=$!
	until_ok grep -qs up "$T/o"
	RUN=$(cloop runs list --json | head -n 1 | jq -r .id)
	HANDLE=$(cloop runs show --json "$RUN" | jq -r .handle_id)
	touch "$T/stamp"
	sleep 0.05
}
over() { [ "$(cloop runs show --json "$RUN" | jq -r .state)" = finished ]; }

setup() {
	# Where cores go to a program of the machine's, or nowhere, there is nothing to look at.
	touch "$T/stamp"
	(ulimit -Hc unlimited && ulimit -c unlimited && cd "$T/cores" && sh -c 'kill -SEGV $$') || true
	[ -n "$(cores "$T/cores")" ] || skip "this machine makes no core files of $(cat /proc/sys/kernel/core_pattern)"
	rm -f "$T"/cores/*
}

@test "the supervisor, which has values to take out of output, leaves no core" {
	local shim cwd
	running
	shim=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id = '$HANDLE'")
	# It does have them, and no other process outside of the sandbox, the client included.
	has "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" "$shim" 2>/dev/null)" 'value 1 in memory'
	same "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" "$shim" 2>/dev/null | grep -c 'value 3')" 0
	same "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" "$PID" 2>/dev/null)" ''
	cwd=$(dies "$shim")
	same "$(cores "$cwd" "$T" "$P" "$ENGINE_DIR/graph")" ''
	touch "$P/go"
	until_ok host cloop sweep --only adopt
	until_ok over
	same "$(leftovers)" ''
}

@test "the command that runs it has no value to leave in one" {
	local cwd
	running
	cwd=$(dies "$PID")
	wait "$PID" 2>/dev/null || true
	# It has no value and may leave one, with nothing of it inside.
	same "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" "$T/cores" "$cwd" 2>/dev/null)" ''
	rm -f "$T"/cores/*
	touch "$P/go"
	until_ok over
	same "$(leftovers)" ''
}

@test "the first process of the sandbox is hidden from what it runs, which is of the same user" {
	exits 0 run_in -- sh -c 'for f in environ mem maps; do cat /proc/1/$f >/dev/null 2>&1 || echo "$f hidden"; done; id -u'
	same "$output" $'environ hidden\nmem hidden\nmaps hidden\n1000'
	same "$(leftovers)" ''
}
