#!/usr/bin/env bats
# The drill: what was made up is lent and taken back, and nothing of it stays, whatever ends it.

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip jq sqlite3
	hub_up
}
teardown_file() { hub_down; }

# rows : how much of everything is in the hub's state.
rows() {
	sqlite3 -readonly "$HUB/.cloop/state.db" "select 'select ''' || name || ''', count(*) from ' || name || ';' from sqlite_master where type = 'table' order by 1" |
		sqlite3 -readonly "$HUB/.cloop/state.db"
}

# drill_up [ARG...] : one in the background; PID, and DIR once it is known. Everything of it that
# is not a session of its own ends with it.
drill_up() {
	nsenter --net="/run/netns/$NSNAME" cloop-drill -C "$HUB" revoke "$@" > "$T/o" 2> "$T/e" 3>&- &
	PID=$!
	until_ok place
}
place() {
	DIR=$(readlink "/proc/$PID"/fd/* 2>/dev/null | sed -n 's|^\(/tmp/cloop-drill\.[^/]*\)/lock$|\1|p' | head -n 1)
	[ -n "$DIR" ]
}
# lives : its workload is there.
lives() { [ -n "$(ls "$DIR/run/w" 2>/dev/null)" ] && [ "$(podman ps -q 2>/dev/null | wc -l)" = 1 ]; }
# drill_seen [ARG...] : as drill_up, with its workload there. One takes seconds, so on a loaded
# machine it may be over between two looks: then another.
drill_seen() {
	local i
	for ((i = 0; i < 20; i++)); do
		drill_up "$@"
		while kill -0 "$PID" 2>/dev/null; do
			! lives || return 0
			sleep 0.02
		done
		wait "$PID"
	done
	return 1
}

# nothing_left DIR
nothing_left() {
	[ ! -e "$1" ]
	run ! grep -F " $1" /proc/self/mounts
	same "$(podman ps -aq --external)" ''
	same "$(leftovers)" ''
}

@test "each material dies within the deadline, and the hub has nothing of it" {
	before=$(rows)
	drill_up --json
	wait "$PID"
	same "$(jq -c '[.dead, .executor_id, .deadline_ms, (.materials | map(.material, .dead, .answered))]' "$T/o")" \
		'[true,"container",10000,["file",true,true,"helper",true,true,"kubeconfig",true,true,"registry",true,true,"env",true,true]]'
	same "$(jq '.worst_ms == (.materials | map(.ms) | max)' "$T/o")" true
	same "$(cat "$T/e")" ''
	nothing_left "$DIR"
	same "$(rows)" "$before"
}

@test "it is for people too, and says what could not be done" {
	exits 0 host cloop drill revoke
	has "$output" $'executor container: lent what was made up for it, then revoked\n  file '
	has "$output" 'all of it was dead after'
	exits 65 host cloop drill revoke -e nowhere
	has "$stderr" "there is no executor 'nowhere'"
	exits 64 host cloop drill revoke --deadline 0s
	sed -i 's/bb:1/missing:1/' "$HUB/.cloop/config.yaml"
	exits 69 host cloop drill revoke
	hub_config_public
	has "$stderr" "executor 'container': the drill's workload did not start"
	has "$stderr" 'localhost/missing:1'
	# A process of the host is lent nothing.
	printf 'executors:\n  local:\n    enabled: true\n    id: here\n' > "$HUB/.cloop/config.yaml"
	exits 1 host cloop drill revoke -e here
	hub_config_public
	has "$stderr" 'cannot be lent any'
	nothing_left "$T/none"
}

@test "what is alive at the deadline is said to be, and is ended all the same" {
	drill_up --deadline 1ms --json
	st=0
	wait "$PID" || st=$?
	same "$st" 1
	same "$(jq -c '[.dead, .materials[0].dead, .materials[0].ms]' "$T/o")" '[false,false,null]'
	nothing_left "$DIR"
}

@test "no value of it is in what it prints or in what others see of its commands" {
	local p v
	drill_seen --deadline 60s
	v=$(sqlite3 -readonly "$DIR/hub/.cloop/state.db" 'select count(*) from secret')
	for p in /proc/[0-9]*; do
		tr '\0' '\n' < "$p/cmdline" 2>/dev/null | grep -qa 'cloop-drill_[0-9a-f]' && echo "$p"
	done > "$T/seen"
	wait "$PID"
	same "$v" 4
	same "$(cat "$T/seen")" ''
	lacks "$(cat "$T/o" "$T/e")" cloop-drill_
}

@test "one that is interrupted leaves nothing" {
	drill_seen
	kill -TERM "$PID"
	st=0
	wait "$PID" || st=$?
	same "$st" 69
	has "$(cat "$T/e")" 'the drill was given up'
	nothing_left "$DIR"
}

@test "what is left of one that was killed goes with the next, its workload too" {
	local old
	drill_seen
	old=$DIR
	kill -KILL "$PID"
	wait "$PID" || true
	[ -e "$old/hub" ]
	drill_up
	wait "$PID"
	nothing_left "$old"
	nothing_left "$DIR"
	# Or with a sweep of any hub.
	drill_seen
	kill -KILL "$PID"
	wait "$PID" || true
	[ -e "$DIR/hub" ]
	exits 0 host cloop sweep --only staging
	has "$output" "removed 1 drill that had been killed"
	nothing_left "$DIR"
}
