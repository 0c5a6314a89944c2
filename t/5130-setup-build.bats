#!/usr/bin/env bats
# cloop-exec-container prepare with setup: the steps run confined, once, and leave an image.
load lib/common
load lib/engine
load lib/driver

setup_file() {
	if [ "$(id -u)" = 0 ] && command -v podman >/dev/null && command -v jq >/dev/null; then
		engine_up
		driver_up
		engine_image localhost/base:1 'CMD ["/bin/date"]' 'USER 65534' 'WORKDIR /var' 'LABEL a=b' 'ENV E=f'
	fi
}
teardown_file() { engine_down; }
setup() { need root podman jq; }

# steps TEXT... : a jq expression that sets them.
steps() { jq -nr '$ARGS.positional | ".setup = \(tojson)"' --args "$@"; }
# nothing_left : no container, cgroup, network or folder of a build.
nothing_left() {
	same "$(podman ps -a --external --format '{{.Names}}')" ""
	same "$(ls "$CLOOP_RUN_DIR/build" "$CLOOP_RUN_DIR/lock" "$CLOOP_RUN_DIR/netns" 2>/dev/null | grep -v '^$' | grep -v ':$' || true)" ""
	# One of that name is made up by t/5150-reap.bats, which may run beside this suite.
	same "$(ls -d /sys/fs/cgroup/*/cloop/build-* 2>/dev/null | grep -v '/build-00000000000014$')" ""
}

@test "steps are committed over the base, whose command and user stay" {
	exits 0 prepare "$(steps 'echo made > /made' 'test -e /made && chmod 600 /made') | .image = \"localhost/base:1\""
	run=$(jq -r .run <<< "$output")
	key=$(jq -r .setup.key <<< "$output")
	[ "$run" != "$(jq -r .image_id <<< "$output")" ]
	same "$(jq -r .setup.tag <<< "$output")" "localhost/cloop-sandbox:$key"
	config=$(podman image inspect "$run" | jq -c '.[0].Config')
	same "$(jq -c '[.Cmd, .User, .WorkingDir, .Entrypoint]' <<< "$config")" '[["/bin/date"],"65534","/var",null]'
	same "$(jq -r '.Labels.a + .Labels["io.cloop.sandbox.setup"]' <<< "$config")" "b$key"
	has "$(jq -r '.Labels["io.cloop.sandbox.base"]' <<< "$config")" "localhost/base@sha256:"
	same "$(jq -c '[.Labels | keys[] | select(startswith("cloop."))]' <<< "$config")" '[]'
	has "$(jq -c .Env <<< "$config")" '"E=f"'
	same "$(podman run --rm --network none --user 0 "$run" cat /made)" made
	nothing_left
}

@test "the same steps on the same image are built once" {
	exits 0 prepare "$(steps 'cat /proc/sys/kernel/random/uuid > /uuid')"
	same "$(jq -r .setup.reused <<< "$output")" false
	one=$(jq -r .run <<< "$output")
	exits 0 prepare "$(steps 'cat /proc/sys/kernel/random/uuid > /uuid')"
	same "$(jq -r .setup.reused <<< "$output")" true
	same "$(jq -r .run <<< "$output")" "$one"
	# One command more or less, or another base, is another image.
	exits 0 prepare "$(steps 'cat /proc/sys/kernel/random/uuid > /uuid' true)"
	same "$(jq -r .setup.reused <<< "$output")" false
	exits 0 prepare "$(steps 'cat /proc/sys/kernel/random/uuid > /uuid') | .image = \"localhost/base:1\""
	same "$(jq -r .setup.reused <<< "$output")" false
	# The tag of the base moves: what was built over the image that it named is not over the new one.
	engine_image localhost/base:2 'LABEL of=one'
	exits 0 prepare "$(steps 'cat /proc/sys/kernel/random/uuid > /uuid') | .image = \"localhost/base:2\""
	engine_image localhost/base:2 'LABEL of=two'
	exits 0 prepare "$(steps 'cat /proc/sys/kernel/random/uuid > /uuid') | .image = \"localhost/base:2\""
	same "$(jq -r .setup.reused <<< "$output")" false
	# The same words in other commands are others.
	exits 0 prepare "$(steps 'echo a' 'echo b')"
	exits 0 prepare "$(steps 'echo a echo b')"
	same "$(jq -r .setup.reused <<< "$output")" false
}

@test "what a step can do, and what it cannot" {
	mkdir -p "$PROJECT/secret"
	export SOME_TOKEN=t0psecret
	exits 1 prepare "$(steps 'id -u; grep Cap /proc/self/status; grep NoNew /proc/self/status
		ls -A /workspace 2>/dev/null; env | grep -i token; tr "\0" "\n" < /proc/1/environ 2>/dev/null | grep -i token
		ls /sys/class/net; cat /etc/hosts | wc -l; ls /dev | wc -l; ls /dev/mem /dev/kvm 2>/dev/null; exit 3') | .env = {\"T\": \"t0psecret\"}"
	has "$stderr" "setup step 1 of 1 failed with status 3"
	has "$stderr" "NoNewPrivs: 1"
	# CHOWN DAC_OVERRIDE FOWNER FSETID SETGID SETUID SETFCAP, and nothing else.
	has "$stderr" "CapEff: 00000000800000db"
	has "$stderr" "CapBnd: 00000000800000db"
	lacks "$stderr" t0psecret
	lacks "$stderr" eth0
	lacks "${stderr%%cloop-exec-container: setup step*}" /dev/
	exits 0 prepare "$(steps 'chown 33:33 /etc/group && chmod 4755 /bin/busybox && mkdir -p /opt/x && ! mknod /dev/x b 8 0 && ! mount -t tmpfs x /opt')"
	nothing_left
}

@test "a failing step is named, its last lines are shown, and nothing is left" {
	exits 1 prepare "$(steps 'true' 'for i in $(seq 20); do echo line $i; done; echo err >&2; exit 7' 'touch /never')"
	has "$stderr" "setup step 2 of 3 failed with status 7"
	has "$stderr" "line 20"
	has "$stderr" err
	has "$stderr" "line 10"
	lacks "$stderr" "line 8"
	exits 1 bash -c 'cloop-exec-container prepare --json < "$1" 2>&1 | tail -n 1' - <(spec "$(steps 'exit 9')") || true
	exits 1 prepare "$(steps 'no-such-program')"
	has "$stderr" "status 127"
	nothing_left
	same "$(podman images -q localhost/cloop-sandbox | wc -l)" "$(podman images localhost/cloop-sandbox --format '{{.Tag}}' | grep -c .)"
}

@test "hostile steps are text, not flags or shell of ours" {
	exits 0 prepare "$(steps '--privileged 2>/dev/null; true' 'echo "$(echo a)" '\''b'\'' "c" > /x; [ "$(cat /x)" = "a b c" ]' $'printf \'%s\' "line\nline" > /y')"
	nothing_left
}

@test "two at once build once" {
	body=$(steps 'sleep 1; cat /proc/sys/kernel/random/uuid > /uuid; echo two')
	prepare "$body" > "$BATS_TEST_TMPDIR/a" &
	prepare "$body" > "$BATS_TEST_TMPDIR/b" &
	wait
	same "$(jq -r .run "$BATS_TEST_TMPDIR/a")" "$(jq -r .run "$BATS_TEST_TMPDIR/b")"
	same "$(jq -r .setup.reused "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" | sort | tr '\n' ' ')" "false true "
	nothing_left
}

@test "limits hold for a build, and nothing of it is left where it was asked for" {
	mkdir "$BATS_TEST_TMPDIR/here"; cd "$BATS_TEST_TMPDIR/here"
	exits 1 prepare "$(steps 'x=a; while :; do x=$x$x; done') | .resources = {memory_mb: 64}"
	same "$(ls)" ''
	cd "$BATS_TEST_DIRNAME"
	has "$stderr" "failed with status"
	exits 1 prepare "$(steps 'for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done; wait') | .resources = {pids: 8}"
	nothing_left
}

@test "the free-space floor ends a build" {
	free=$(df -m --output=avail "$ENGINE_DIR/graph" | tail -n 1)
	exits 1 prepare "$(steps 'sleep 100') | .min_free_disk_mb = $((free + 10000))"
	has "$stderr" "the engine's disk is nearly full"
	nothing_left
}

@test "the network of a build is the run's, behind the same filter" {
	need ip
	# A network namespace of its own stands for the machine: no rule of the machine's is touched.
	there() {
		unshare -n bash -c 'ip link set lo up; . "$0/lib/driver.bash"; prepare "$1"' "$BATS_TEST_DIRNAME" "$1"
	}
	net='.executor.network = "bridge"
		| .egress = {allow_public_internet: true, allow_ports: [443], resolvers: ["192.0.2.53:53"]}'
	exits 1 there "$net | $(steps 'ls /sys/class/net; cat /etc/resolv.conf; ip route; exit 4')"
	has "$stderr" eth0
	has "$stderr" "nameserver 192.0.2.53"
	has "$stderr" "default via 10.211."
	# A spec without a network builds without one.
	exits 1 there "$net | .network = {disabled: true} | $(steps 'ls /sys/class/net; echo; exit 4')"
	lacks "$stderr" eth0
	nothing_left
}

@test "a killed build is collected, a living one is not" {
	"$BUILD_DIR/t/lib/store-handle" "$HUB/.cloop/state.db"
	body=$(steps 'sleep 300; echo killed')
	spec "$body" > "$BATS_TEST_TMPDIR/spec"
	cloop-exec-container prepare < "$BATS_TEST_TMPDIR/spec" > /dev/null 2>&1 3>&- &
	pid=$!
	for ((i = 0; i < 600; i++)); do
		podman ps --format '{{.Names}}' | grep -q cloop-build- && break
		sleep 0.1
	done
	exits 0 ask reap
	same "$(jq -c '[.removed[] | select(.kind != "runtime state")]' <<< "$output")" '[]'
	kill -KILL "$pid"
	wait "$pid" || true
	exits 0 ask reap
	has "$(jq -r '.removed[].name' <<< "$output")" cloop-build-
	nothing_left
}

# record KEY : when the image of a key was last used.
record() { echo "$HUB/.cloop/cache/built/podman-$1"; }
# tag_of KEY ; has_image KEY
tag_of() { echo "localhost/cloop-sandbox:$1"; }
has_image() { podman image exists "$(tag_of "$1")"; }
# built TEXT... : prepares and leaves KEY and RUN.
built() {
	local out
	out=$(prepare "$(steps "$@")") || return 1
	KEY=$(jq -r .setup.key <<< "$out")
	RUN=$(jq -r .run <<< "$out")
	REUSED=$(jq -r .setup.reused <<< "$out")
}

@test "an image that nothing has used for 14 days goes, and the next run builds it again" {
	built 'echo unused > /unused'
	record=$(record "$KEY")
	same "$(stat -c '%a %s %F' "$record")" "600 0 regular empty file"
	# Fresh: it stays, and so it does a little before its time and when its use lies ahead.
	for at in now '13 days ago' '1 day'; do
		touch -d "$at" "$record"
		exits 0 ask reap-images
		same "$(jq -c '[.removed, .failed]' <<< "$output")" '[[],[]]'
		has_image "$KEY"
	done
	touch -d '15 days ago' "$record"
	exits 0 ask reap-images
	same "$(jq -c .removed <<< "$output")" \
		"[{\"kind\":\"image\",\"name\":\"$(tag_of "$KEY")\",\"why\":\"nothing has used it for 14 days\"}]"
	! has_image "$KEY" || false
	[ ! -e "$record" ]
	exits 0 ask reap-images
	same "$(jq -c '[.removed, .failed]' <<< "$output")" '[[],[]]'
	built 'echo unused > /unused'
	same "$REUSED" false
	has_image "$KEY"
	[ -e "$record" ]
	nothing_left
}

@test "a run that uses an image again keeps it" {
	built 'echo again > /again'
	touch -d '15 days ago' "$(record "$KEY")"
	built 'echo again > /again'
	same "$REUSED" true
	[ "$(date -r "$(record "$KEY")" +%s)" -gt "$(date -d '1 day ago' +%s)" ]
	exits 0 ask reap-images
	same "$(jq -c '[.removed, .failed]' <<< "$output")" '[[],[]]'
	has_image "$KEY"
	# While somebody looks it up, or builds it, nobody removes it.
	touch -d '15 days ago' "$(record "$KEY")"
	exits 0 flock -s "$(record "$KEY")" bash -c '. "$0/lib/driver.bash"; ask reap-images' "$BATS_TEST_DIRNAME"
	has_image "$KEY"
	lock=$CLOOP_RUN_DIR/lock/cloop-build-$KEY.lock
	exits 0 flock "$lock" bash -c '. "$0/lib/driver.bash"; ask reap-images' "$BATS_TEST_DIRNAME"
	has_image "$KEY"
	rm "$lock" "$(record "$KEY")"
	nothing_left
}

@test "an image in use stays, and goes when the container is gone" {
	built 'echo used > /used'
	podman create --name user-of-it --network none "$RUN" true >/dev/null
	touch -d '15 days ago' "$(record "$KEY")"
	exits 0 ask reap-images
	same "$(jq -c '[.removed, .failed]' <<< "$output")" '[[],[]]'
	has_image "$KEY"
	[ -e "$(record "$KEY")" ]
	podman rm -f user-of-it >/dev/null
	exits 0 ask reap-images
	same "$(jq -r '.removed[].name' <<< "$output")" "$(tag_of "$KEY")"
	! has_image "$KEY" || false
}

@test "what is not known as this hub's own image stays" {
	rm -rf "$HUB/.cloop/cache/built"
	# Another hub's: no record here.
	built 'echo foreign > /foreign'
	foreign=$KEY
	rm "$(record "$foreign")"
	# Tags that somebody gave to something else.
	other=00000000000000aa plain=00000000000000dd
	podman tag "$RUN" "$(tag_of "$other")"
	podman tag "$IMAGE" "$(tag_of "$plain")"
	touch "$(record "$other")" "$(record "$plain")"
	# A link and a folder are no records.
	built 'echo linked > /linked'
	linked=$KEY
	mv "$(record "$linked")" "$BATS_TEST_TMPDIR/elsewhere"
	ln -s "$BATS_TEST_TMPDIR/elsewhere" "$(record "$linked")"
	mkdir "$(record 00000000000000bb)"
	# One of another engine, one of an image that is not there, and no key at all.
	touch "$HUB/.cloop/cache/built/docker-$foreign" "$(record 00000000000000cc)" "$(record '*')"
	touch -d '15 days ago' "$BATS_TEST_TMPDIR/elsewhere" "$HUB/.cloop/cache/built"/*
	exits 0 ask reap-images
	same "$(jq -c '[.removed, .failed]' <<< "$output")" '[[],[]]'
	for k in "$foreign" "$other" "$plain" "$linked"; do has_image "$k"; done
	[ -e "$(record "$other")" ]
	[ -e "$HUB/.cloop/cache/built/docker-$foreign" ]
	[ ! -e "$(record 00000000000000cc)" ]
	# A link in a record's place is not followed by a run either.
	built 'echo linked > /linked'
	same "$REUSED" true
	[ "$(date -r "$BATS_TEST_TMPDIR/elsewhere" +%s)" -lt "$(date -d '14 days ago' +%s)" ]
	rm -r "$HUB/.cloop/cache/built"
	podman image rm "$(tag_of "$other")" "$(tag_of "$plain")" >/dev/null
}

@test "a sweep removes them, and nothing of a hub that has none" {
	export CLOOP_DIR=$ENGINE_DIR/swept CLOOP_HUBS=$ENGINE_DIR/hubs
	cloop hub bootstrap >/dev/null
	echo "executors: {container: {enabled: true, image: $IMAGE}}" > "$CLOOP_DIR/.cloop/config.yaml"
	exits 0 cloop sweep --only images
	same "$output" "0 live, 0 adopted, 0 lost, 0 collected"
	HUB=$CLOOP_DIR built 'echo swept > /swept'
	touch -d '15 days ago' "$CLOOP_DIR/.cloop/cache/built/podman-$KEY"
	exits 0 cloop sweep --only images --json
	same "$(jq -c '[.collected, .notes]' <<< "$output")" "[1,[\"removed image $(tag_of "$KEY")\"]]"
	! has_image "$KEY" || false
	# An engine that cannot be asked is named, and its records stay.
	touch -d '15 days ago' "$CLOOP_DIR/.cloop/cache/built/podman-$KEY"
	printf '[storage]\ndriver = "none-such"\n' > "$BATS_TEST_TMPDIR/storage.conf"
	CONTAINERS_STORAGE_CONF=$BATS_TEST_TMPDIR/storage.conf exits 0 cloop sweep --only images
	has "$stderr" "images: "
	[ -e "$CLOOP_DIR/.cloop/cache/built/podman-$KEY" ]
}

@test "docker builds the same way" {
	need docker dockerd
	echo '{}' > "$ENGINE_DIR/daemon.json"
	engine_docker_up
	exits 0 prepare "$(steps 'echo made > /made' 'ls -A /workspace 2>/dev/null; true') | .executor.runtime = \"docker\""
	run=$(jq -r .run <<< "$output")
	record=$HUB/.cloop/cache/built/docker-$(jq -r .setup.key <<< "$output")
	same "$(docker run --rm --network none "$run" cat /made)" made
	same "$(docker image inspect "$run" | jq -c '.[0].Config | [.Cmd, .Entrypoint, (.Labels | keys)]')" \
		'[["/bin/sh"],null,["io.cloop.sandbox.base","io.cloop.sandbox.setup"]]'
	exits 1 prepare "$(steps 'echo out; exit 5') | .executor.runtime = \"docker\""
	has "$stderr" "failed with status 5"
	same "$(docker ps -aq)" ""
	# What it made goes by the same record, and not while a container has it.
	[ -f "$record" ]
	docker create --name user-of-it --network none "$run" true >/dev/null
	touch -d '15 days ago' "$record"
	exits 0 ask reap-images '.runtime = "docker"'
	same "$(jq -c '[.removed, .failed]' <<< "$output")" '[[],[]]'
	docker image inspect "$run" >/dev/null
	docker rm -f user-of-it >/dev/null
	exits 0 ask reap-images '.runtime = "docker"'
	same "$(jq -r '.removed[].name' <<< "$output")" "$(tag_of "${record##*/docker-}")"
	same "$(docker images -q localhost/cloop-sandbox)" ""
	[ ! -e "$record" ]
	engine_docker_down
}
