# For items about runs: a hub, an engine and networks of their own (t/lib/hub.bash), and the
# engine's command line that a person would type for the same confinement.
# shellcheck shell=bash disable=SC2034
export BATS_TEST_DIRNAME=$CLOOP_SRC/t
. "$CLOOP_SRC/t/lib/engine.bash"
. "$CLOOP_SRC/t/lib/hub.bash"

teardown() { hub_down; }

# bench_hub none|public
bench_hub() {
	hub_up && "hub_config_$1" && export CLOOP_DIR=$HUB
	in_ns=(nsenter "--net=/run/netns/$NSNAME" --)
	ours=("${in_ns[@]}" cloop run -p "$P" --)
	by_hand=("${in_ns[@]}" podman --cgroup-manager=cgroupfs --log-level=error run --rm --pull=never
		--cap-drop=ALL --security-opt=no-new-privileges
		"--security-opt=seccomp=$CLOOP_SRC/share/seccomp/strict.json" --read-only
		--read-only-tmpfs=false --ipc=private --pid=private --uts=private --systemd=false
		--http-proxy=false --image-volume=ignore --no-healthcheck
		--tmpfs=/tmp:rw,nosuid,nodev,exec,size=512m,mode=1777 --user=1000:1000
		--pids-limit=1024 "--ulimit=nofile=1024:$(ulimit -Hn)" --ulimit=nproc=4096:4096
		--workdir=/workspace "--volume=$P:/workspace")
	"${ours[@]}" /bin/true < /dev/null # the pin is cached from here on
}

# What a run leaves to its supervisor (the engine's own cleaning up) must not slow the peer down,
# nor be left out unseen: between the two it is waited for, untimed, and shown as `after_us`.
quiet() {
	local i
	for ((i = 0; i < 500; i++)); do
		[ -z "$(ls "$T/run/w" 2>/dev/null)" ] && return
		sleep 0.01
	done
}
timed() {
	local s=${EPOCHREALTIME/./}
	"$@" < /dev/null > /dev/null || return 1
	printf '%s\n' $((${EPOCHREALTIME/./} - s))
}
measure() {
	local i
	: > "$tmp/ours"
	: > "$tmp/peer"
	: > "$tmp/after"
	for ((i = 0; i < runs; i++)); do
		timed "${ours[@]}" >> "$tmp/ours" || return 1
		timed quiet >> "$tmp/after"
		timed "${peer[@]}" >> "$tmp/peer" || return 1
	done
	jq -cn --slurpfile o "$tmp/ours" --slurpfile p "$tmp/peer" --slurpfile a "$tmp/after" '
		def median: sort | .[length / 2 | floor];
		{ours_us: ($o | median), peer_us: ($p | median), after_us: ($a | median),
		 ratio: ([$o, $p] | transpose | map(.[0] / .[1]) | median)}'
}
