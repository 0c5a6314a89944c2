#!/usr/bin/env bats
# Engines that are not there, hang, speak nonsense, are of another time or out of disk: a run is refused with
# what is wrong, and nothing of it is ever run on the host instead.
# shellcheck disable=SC2016 # what stands in single quotes is for other shells
load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman jq sqlite3 unshare
	hub_up
	hub_config_none
	touch "$T/real"
}
teardown_file() { hub_down; }
setup() { rm -rf "$P/.cloop" "$P"/* "$HUB/.cloop/cache"; }

# odd SCRIPT CMD... : CMD where podman is this shell script; REAL in it is the real one.
odd() {
	local podman
	podman=$(command -v podman)
	printf '#!/bin/sh\nREAL=%s\n%s\n' "$T/real" "$1" > "$T/odd"
	chmod 755 "$T/odd"
	shift
	unshare -m sh -c 'mount --bind "$1" "$3" && mount --bind "$2" "$1" && shift 3 && exec "$@"' - "$podman" "$T/odd" "$T/real" "$@"
}
marker() { [ -e "$P/ran" ] || [ -e "$T/ran" ]; }
# refused STATUS PIECE SCRIPT : the run is, with that; nothing of it ran or is left.
refused() {
	exits "$1" timeout 150 bash -c 'odd "$@" < /dev/null' - "$3" cloop run -p "$P" -- sh -c "touch ran $T/ran"
	has "$stderr" "$2"
	! marker
	same "$(cloop runs list --json | jq -r 'select(.state == "running") | .id')" ""
	leftovers
}
export -f odd

@test "an engine that is not there: no other takes its place" {
	podman=$(command -v podman)
	exits 125 unshare -m sh -c 'mount --bind /dev/null "$1" && shift && exec "$@"' - "$podman" cloop run -p "$P" -- sh -c "touch ran $T/ran"
	has "$stderr" podman
	has "$stderr" "fix: "
	! marker
	exits 2 unshare -m sh -c 'mount --bind /dev/null "$1" && shift && exec "$@"' - "$podman" cloop executor test container
	has "$output" "FAIL  runtime: "
}

@test "one that hangs is given up" {
	refused 125 "podman" 'sleep 1000'
	has "$stderr" "fix: "
}

@test "one that speaks nonsense" {
	for script in 'echo not JSON' 'echo "[]"' 'echo "[{}]"' 'echo "[{\"Id\": 7}]"' 'echo "[{\"Id\": \"../../etc\"}]"' 'exit 0' \
		'printf "\377\376\0"' 'head -c 6000000 /dev/zero' 'echo "{" ; exit 0' 'kill -9 $$' 'exit 125' 'exec false'; do
		refused 125 "" "$script" || { echo "$script" >&2; return 1; }
		[ -n "$stderr" ]
		[[ $stderr != *$'\xff'* ]]
	done
}

@test "one whose disk is full, and one of another time, say it themselves" {
	refused 125 "no space left on device" 'case " $* " in *" run "*) echo "Error: writing blob: no space left on device" >&2; exit 125 ;; esac; exec "$REAL" "$@"'
	refused 125 "unknown flag" 'case " $* " in *" run "*) echo "Error: unknown flag: --userns" >&2; exit 125 ;; esac; exec "$REAL" "$@"'
	refused 125 "database is locked" 'echo "Error: database is locked" >&2; exit 125'
}

@test "an image that changes its answer between two questions runs as the one that was judged, or not at all" {
	# The id that was pinned is what start names, whatever the tag says by then.
	exits 0 odd 'printf "%s\n" "$*" >> '"$T/calls"'; exec "$REAL" "$@"' cloop run -p "$P" -- true
	id=$(podman image inspect --format '{{.Id}}' "$IMAGE")
	has "$(grep -E '(^| )run ' "$T/calls")" "${id#sha256:}"
	lacks "$(grep -E '(^| )run ' "$T/calls")" " $IMAGE "
}

@test "a cache that is full or not ours only costs time" {
	mkdir -p "$HUB/.cloop/cache"
	mount -t tmpfs -o size=4k,mode=700 none "$HUB/.cloop/cache"
	head -c 4096 /dev/zero > "$HUB/.cloop/cache/full"
	run --separate-stderr timeout 120 cloop run -p "$P" -- echo fine
	left=$(ls "$HUB/.cloop/cache")
	umount "$HUB/.cloop/cache"
	same "$status $output" "0 fine"
	same "$left" full
}

@test "a state file whose disk is full: the run is refused before anything starts" {
	mkdir -p "$T/small"
	mount -t tmpfs -o size=16m,mode=700 none "$T/small"
	cp -a "$HUB/.cloop/." "$T/small/"
	mount --bind "$T/small" "$HUB/.cloop"
	dd if=/dev/zero of="$HUB/.cloop/full" bs=64k 2> /dev/null || true
	dd if=/dev/zero of="$HUB/.cloop/fuller" bs=4k 2> /dev/null || true
	run --separate-stderr timeout 120 cloop run -p "$P" -- sh -c "touch ran $T/ran"
	umount "$HUB/.cloop"
	umount "$T/small"
	same "$status" 125
	has "$stderr" "state.db"
	has "$stderr" "fix: "
	! marker
	leftovers
}
