#!/usr/bin/env bats
# cloop-exec-container reap: what is collected, and above all what is not (facts 6.14, C15).
load lib/common
load lib/engine
load lib/driver

setup_file() {
	if [ "$(id -u)" = 0 ] && command -v podman >/dev/null && command -v jq >/dev/null; then
		engine_up
		driver_up
		"$BUILD_DIR/t/lib/store-handle" "$HUB/.cloop/state.db"
	fi
}
teardown_file() { engine_down; }
setup() { need root podman jq; }
teardown() { [ -z "${ENGINE_DIR:-}" ] || podman rm -fa --time 0 > /dev/null 2>&1 || true; }

# box HANDLE LABEL... -- COMMAND : a container named for the handle.
box() {
	local handle=$1 labels=()
	shift
	while [ "$1" != -- ]; do
		labels+=(--label "$1")
		shift
	done
	shift
	podman run -d --network none --name "cloop-x-${handle#c-}" "${labels[@]}" "$IMAGE" "$@" > /dev/null
}
ours() { echo cloop.managed=true cloop.executor=container "cloop.hub=$HUB" "cloop.handle=$1"; }
# What grace of a second makes old: a container that was started this long ago.
brief='.orphan_grace_period_seconds = 1'
# What runtimes keep is the machine's: another suite's killed build may be among it.
names() { jq -r '.removed[] | select(.kind != "runtime state").name' <<< "$output" | sort | tr '\n' ' '; }
exited() {
	local i
	for ((i = 0; i < 1200; i++)); do
		[ "$(podman inspect --format '{{.State.Status}}' "$1")" = exited ] && return 0
		sleep 0.05
	done
	return 1
}

@test "an exited one of ours goes at once, a running one after the grace" {
	box c-000000000001 $(ours c-000000000001) -- true
	box c-000000000002 $(ours c-000000000002) -- sleep 100
	exited cloop-x-000000000001
	exits 0 ask reap
	same "$(names)" "cloop-x-000000000001 "
	sleep 2.1
	exits 0 ask reap "$brief"
	same "$(names)" "cloop-x-000000000002 (running) "
	same "$(podman ps -aq)" ""
}

@test "one with a live row is never touched, whatever its age" {
	"$BUILD_DIR/t/lib/store-handle" "$HUB/.cloop/state.db" c-00000000000a live
	box c-00000000000a $(ours c-00000000000a) -- sleep 100
	sleep 2.1
	exits 0 ask reap "$brief"
	same "$(names)" ""
	podman kill cloop-x-00000000000a > /dev/null
	exited cloop-x-00000000000a
	exits 0 ask reap "$brief"
	same "$(names)" ""
}

@test "one whose row has ended goes at once, running or not" {
	"$BUILD_DIR/t/lib/store-handle" "$HUB/.cloop/state.db" c-00000000000b ended
	box c-00000000000b $(ours c-00000000000b) -- sleep 100
	exits 0 ask reap
	same "$(names)" "cloop-x-00000000000b (running) "
}

@test "another hub's, another executor's and nobody's are left" {
	box c-000000000003 cloop.managed=true cloop.executor=container cloop.hub=/other cloop.handle=c-000000000003 -- sleep 100
	box c-000000000004 cloop.managed=true cloop.executor=other "cloop.hub=$HUB" cloop.handle=c-000000000004 -- sleep 100
	box c-000000000005 cloop.managed=true cloop.executor=container "cloop.hub=$HUB" -- sleep 100
	box c-000000000006 -- sleep 100
	podman run -d --network none --name unrelated $(printf -- '--label %s ' $(ours c-000000000007)) "$IMAGE" sleep 100 > /dev/null
	sleep 2.1
	exits 0 ask reap "$brief"
	same "$(names)" ""
	same "$(podman ps -q | wc -l)" 5
}

@test "another's exited one goes only after the grace" {
	box c-000000000008 cloop.managed=true cloop.executor=other cloop.hub=/other cloop.handle=c-000000000008 -- true
	exited cloop-x-000000000008
	exits 0 ask reap
	same "$(names)" ""
	sleep 2.1
	exits 0 ask reap "$brief"
	same "$(names)" "cloop-x-000000000008 "
}

@test "half-made ones: created and never started, and the processes of a killed client" {
	"$BUILD_DIR/t/lib/store-handle" "$HUB/.cloop/state.db" c-00000000000c ended
	podman create --network none --name cloop-x-00000000000c "$IMAGE" true > /dev/null
	podman create --network none --name cloop-x-00000000000d "$IMAGE" true > /dev/null
	# A tree of a workload whose client died: nothing the engine knows of.
	"$BUILD_DIR/t/lib/store-handle" "$HUB/.cloop/state.db" c-00000000000e ended
	mkdir -p /sys/fs/cgroup/pids/cloop/c-00000000000e/libpod-x /sys/fs/cgroup/pids/cloop/c-00000000000f
	sleep 300 &
	pid=$!
	sleep 300 &
	other=$!
	echo "$pid" > /sys/fs/cgroup/pids/cloop/c-00000000000e/libpod-x/cgroup.procs
	echo "$other" > /sys/fs/cgroup/pids/cloop/c-00000000000f/cgroup.procs
	exits 0 ask reap
	same "$(names)" "c-00000000000e cloop-x-00000000000c "
	! kill -0 "$pid" 2>/dev/null
	[ ! -e /sys/fs/cgroup/pids/cloop/c-00000000000e ]
	# One that this hub has no row of may be another hub's.
	kill -0 "$other"
	kill "$other"
	wait "$other" || true
	rmdir /sys/fs/cgroup/pids/cloop/c-00000000000f
}

# forsaken HANDLE : what a runtime keeps when its engine was killed between create and start.
forsaken() {
	local dir=$BATS_TEST_TMPDIR/bundle-$1 id
	id=$(printf '%s' "$1" | sha256sum | cut -d ' ' -f 1)
	install -D "$BIN/cloop-init" "$dir/rootfs/x"
	(cd "$dir" && runc spec && jq --arg p "/cloop/$1/libpod-$id" '.linux.cgroupsPath = $p |
		.process.terminal = false | .process.args = ["/x"]' config.json > c && mv c config.json)
	runc create --bundle "$dir" "$id" < /dev/null > /dev/null 2>&1 3>&-
	[ -d "/run/runc/$id" ]
}
state_of() { echo "/run/runc/$(printf '%s' "$1" | sha256sum | cut -d ' ' -f 1)"; }

@test "the runtime forgets what its engine no longer knows" {
	command -v runc > /dev/null || skip "needs runc"
	"$BUILD_DIR/t/lib/store-handle" "$HUB/.cloop/state.db" c-000000000011 ended
	"$BUILD_DIR/t/lib/store-handle" "$HUB/.cloop/state.db" c-000000000012 live
	for h in c-000000000011 c-000000000012 c-000000000013 build-00000000000014; do forsaken "$h"; done
	exits 0 ask reap
	has "$(jq -r '.removed[] | "\(.kind) \(.name)"' <<< "$output")" "runtime state c-000000000011"
	[ ! -e "$(state_of c-000000000011)" ]
	# One with a live row, one of another hub, and a build that may be going on.
	for h in c-000000000012 c-000000000013 build-00000000000014; do [ -d "$(state_of "$h")" ]; done
	for h in c-000000000013 build-00000000000014; do
		xargs -r kill -KILL < "/sys/fs/cgroup/pids/cloop/$h/libpod-$(basename "$(state_of "$h")")/cgroup.procs"
		for ((i = 0; i < 600; i++)); do
			find /sys/fs/cgroup -depth -path "*/cloop/$h*" -type d -exec rmdir {} + 2>/dev/null || true
			ls -d /sys/fs/cgroup/*/cloop/"$h" > /dev/null 2>&1 || break
			sleep 0.1
		done
	done
	exits 0 ask reap
	# One that this hub has no row of may be another hub's; a build is nobody's in particular.
	[ ! -e "$(state_of build-00000000000014)" ]
	[ -d "$(state_of c-000000000013)" ] && [ -d "$(state_of c-000000000012)" ]
	for h in c-000000000012 c-000000000013; do runc delete --force "$(basename "$(state_of "$h")")"; done
	find /sys/fs/cgroup -depth -path '*/cloop/c-00000000001[23]*' -type d -exec rmdir {} + 2>/dev/null || true
}

@test "without the state nothing is judged" {
	box c-000000000009 $(ours c-000000000009) -- true
	exited cloop-x-000000000009
	exits 78 ask reap . '.hub = "/tmp"'
	same "$(podman ps -aq | wc -l)" 1
}

@test "every moment at which a client can be killed leaves nothing after reap" {
	mkdir -p "$ENGINE_DIR/stage"
	cp "$BIN/cloop-init" "$ENGINE_DIR/stage/init"
	n=0
	for ms in 20 35 45 50 55 60 65 70 75 80 85 90 95 100 105 110 120 140; do
		n=$((n + 1))
		handle=c-$(printf 'abcdef%06d' $n)
		# As a shim does it: detached, under a parent of its own. The signal comes from outside.
		"$BUILD_DIR/t/lib/ct-argv" exec mode=detached "name=cloop-x-${handle#c-}" "image=$IMAGE" \
			"init_dir=$ENGINE_DIR/stage" "cgroup_parent=/cloop/$handle" "label=cloop.managed=true" \
			"label=cloop.executor=container" "label=cloop.hub=$HUB" "label=cloop.handle=$handle" \
			"hard_nofile=1024" "hard_nproc=4096" -- sleep 300 < /dev/null > "$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		pid=$!
		sleep "0.$(printf %03d $ms)"
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		"$BUILD_DIR/t/lib/store-handle" "$HUB/.cloop/state.db" "$handle" ended
	done
	exits 0 ask reap
	same "$(jq -c .failed <<< "$output")" '[]'
	# What was still on its way when the first pass looked is caught by the next.
	exits 0 ask reap
	same "$(podman ps -a --external --format '{{.Names}} {{.Status}}')" ""
	! ls -d /sys/fs/cgroup/*/cloop/c-abcdef* 2>/dev/null
}
