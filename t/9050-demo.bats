#!/usr/bin/env bats
# `make demo` leaves nothing behind: at its end, interrupted, and killed outright.

load lib/common

setup_file() {
	need root podman nft ip busybox unshare
}
teardown() {
	[ -z "${demo:-}" ] || kill -KILL "-$demo" 2>/dev/null || true
}

# start : the demonstration in a session of its own, as a terminal would have it.
start() {
	out=$BATS_TEST_TMPDIR/out
	env --default-signal=INT setsid bash "$SRC/share/demo.sh" > "$out" 2>&1 </dev/null 3>&- &
	demo=$!
}

# until_it_says TEXT
until_it_says() {
	local i
	for ((i = 0; i < 600; i++)); do
		grep -qF "$1" "$out" && break
		kill -0 "$demo" 2>/dev/null || break
		sleep 0.1
	done
	grep -qF "$1" "$out" || { cat "$out" >&2; return 1; }
	D=$(sed -n 's,^made *directory \(/tmp/cldemo\.[^/]*\)/hub$,\1,p' "$out")
	[ -d "$D" ]
}

# ended STATUS : it ends with this.
ended() {
	local rc=0
	wait "$demo" || rc=$?
	demo=
	[ "$rc" = "$1" ] || { echo "status $rc, not $1" >&2; cat "$out" >&2; return 1; }
}

# traces ID : whatever the machine still has of it.
traces() {
	local h
	ls -d "$D" 2>/dev/null
	pgrep -af "[c]ldemo.${D##*.}"
	grep -F "$D" /proc/self/mounts
	ip -d link | grep -F "demo-$1"
	nft list tables | grep -E "demo.$1"
	for h in $handles; do ls -d /sys/fs/cgroup/cloop/"$h" /sys/fs/cgroup/*/cloop/"$h" 2>/dev/null; done
	return 0
}

# nothing_left : of the demonstration in $D, once its watcher had the time.
nothing_left() {
	local i id
	id=$(basename "$D" | tr A-Z a-z)
	id=${id##*.}
	for ((i = 0; i < 600; i++)); do
		[ -e "$D" ] || pgrep -f "[c]ldemo.${D##*.}" >/dev/null || break
		sleep 0.1
	done
	same "$(traces "$id")" ''
}

@test "to its end: every claim holds and nothing is left" {
	ls -d /run/runc /run/containers /var/lib/containers /var/lib/containers/* > "$BATS_TEST_TMPDIR/before" 2>/dev/null || true
	start
	until_it_says 'now writing'
	handles=$(ls "$D/run/w")
	has "$(ip -d link)" "$(basename "$D" | tr A-Z a-z | sed 's/.*\./demo-/')"
	ended 0
	has "$(cat "$out")" '10.20.30.40:443 refused'
	has "$(cat "$out")" 'metadata        refused'
	has "$(cat "$out")" 'root            read-only'
	has "$(cat "$out")" 'capabilities    0000000000000000 (no new privileges: 1)'
	has "$(cat "$out")" 'disk_limit: the workspace holds'
	has "$(cat "$out")" 'whole: 4 rows'
	nothing_left
	for d in $(ls -d /run/runc /run/containers /var/lib/containers 2>/dev/null); do
		grep -qxF "$d" "$BATS_TEST_TMPDIR/before"
	done
}

@test "Ctrl-C in the middle of the run" {
	start
	until_it_says 'now writing'
	handles=$(ls "$D/run/w")
	kill -INT "-$demo"
	ended 130
	nothing_left
}

@test "SIGKILL to the script alone, and to its whole group" {
	start
	until_it_says 'now writing'
	handles=$(ls "$D/run/w")
	kill -KILL "$demo"
	ended 137
	nothing_left
	start
	until_it_says 'now writing'
	handles=$(ls "$D/run/w")
	kill -KILL "-$demo"
	ended 137
	nothing_left
}

@test "what was killed with its watcher goes with the next one" {
	start
	until_it_says 'now writing'
	handles=$(ls "$D/run/w")
	pkill -KILL -f "demo.sh --watch $D "
	kill -KILL "-$demo"
	ended 137
	flock -w 20 "$D/lock" true
	old=$D
	start
	until_it_says 'made    directory'
	[ "$D" != "$old" ]
	kill -INT "-$demo"
	ended 130
	nothing_left
	D=$old
	nothing_left
}
