#!/usr/bin/env bats
# The same promises with docker as the engine: a daemon of the suite's own on the "host".

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman docker dockerd nft ip socat
	hub_up
	engine_docker_up "$NSNAME"
	for p in 443 80; do
		nsenter --net="/run/netns/$WORLD" socat -u "TCP-LISTEN:$p,fork,reuseaddr" /dev/null 3>&- &
		echo $! >> "$T/servers"
	done
	nsenter --net="/run/netns/$NSNAME" socat -u "TCP-LISTEN:443,fork,reuseaddr" /dev/null 3>&- &
	echo $! >> "$T/servers"
	ip -n "$NSNAME" addr add 10.99.0.1/32 dev lo
}
teardown_file() {
	[ ! -s "$T/servers" ] || xargs kill < "$T/servers" || true
	hub_down
}
setup() { docker_config '    network: none'; rm -rf "$P/.cloop" "$P"/*; }

docker_config() {
	hub_config "$1"
	sed -i 's/runtime: podman/runtime: docker/' "$HUB/.cloop/config.yaml"
}
docker_public() {
	hub_config_public
	sed -i 's/runtime: podman/runtime: docker/' "$HUB/.cloop/config.yaml"
}
handle_of() { cloop runs show --json "$1" | jq -r .handle_id; }
shim_of() { sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id='$1'"; }

@test "docker: the workload is the project's owner, confined, in its workspace" {
	echo hello > "$P/in"; chown -R 1000:1000 "$P"
	exits 0 run_in -- sh -c 'id -u; grep -E "^(CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; touch /x 2>&1
		cat in; echo out > out; ls /sys/class/net; cat /etc/hosts'
	has "$output" 1000
	has "$output" 'CapBnd:	0000000000000000'
	has "$output" 'NoNewPrivs:	1'
	has "$output" 'Seccomp:	2'
	has "$output" 'Read-only file system'
	has "$output" hello
	lacks "$output" eth0
	[ "$(stat -c %u "$P/out")" = 1000 ]
	same "$(docker_leftovers)" ''
}

@test "docker: the status is the workload's" {
	exits 0 run_in -- true
	exits 7 run_in -- sh -c 'exit 7'
	rc=0; run_in -- /no/such/program 2>/dev/null || rc=$?; [ $rc = 127 ]
	exits 137 run_in -- sh -c 'kill -KILL $$'
	exits 125 run_in -- sh -c 'echo "docker said it" >&2; exit 125'
	has "$stderr" 'docker said it'
}

@test "docker: output stays apart and whole, input arrives and ends" {
	run_in -- sh -c 'printf "a\0b\n"; printf "err\n" >&2' > "$T/o" 2> "$T/e"
	printf 'a\0b\n' | cmp - "$T/o"
	[ "$(cat "$T/e")" = err ]
	[ "$(run_in -- sh -c 'dd if=/dev/zero bs=1M count=64 2>/dev/null' | wc -c)" = 67108864 ]
	[ "$(head -c 3000000 /dev/zero | host cloop run -p "$P" -- wc -c)" = 3000000 ]
}

@test "docker: a deadline kills, stop asks and then kills, memory is told" {
	exits 137 run_in --timeout 1s -- sh -c 'trap "" TERM; sleep 60'
	has "$stderr" timeout
	id=$(run_in --detach -- sh -c 'trap "exit 9" TERM; echo ready; while :; do sleep 0.1; done')
	for ((i = 0; i < 600; i++)); do has "$(cloop runs logs "$id")" ready 2>/dev/null && break; sleep 0.1; done
	exits 0 host cloop runs stop "$id"
	[ "$(cloop runs show --json "$id" | jq .exit_code)" = 9 ]
	id=$(run_in --detach -- sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done')
	until_ok says "$id" ready
	exits 0 host cloop runs stop --grace 300ms "$id"
	[ "$(cloop runs show --json "$id" | jq -r '.outcome, .exit_code' | xargs)" = "killed 137" ]
	mkdir -p "$P/.cloop"; printf 'resources: {memory: 64m}\n' > "$P/.cloop/sandbox.yaml"
	chown -R 1000:1000 "$P"
	exits 137 run_in -- sh -c 'x=x; while :; do x=$x$x$x$x; done'
	[ "$(cloop runs list --json | head -n 1 | jq -r .outcome)" = oom ]
	same "$(docker_leftovers)" ''
}

@test "docker: a filtered network reaches what it may and nothing else, the host included" {
	docker_public
	# Docker gives the address while the workload runs: it stays until its record is there.
	run_in -- sh -c 'try() { nc -w 3 "$1" "$2" </dev/null 2>&1 && echo "$1:$2 open" || echo "$1:$2 no"; }
		try 93.184.216.34 443; try 93.184.216.34 80; try 10.4.5.6 443; try 169.254.169.254 443
		try 10.99.0.1 443; try "$(ip route | sed -n "s/^default via \([0-9.]*\).*/\1/p")" 443; cat /etc/resolv.conf
		until [ -e go ]; do sleep 0.1; done' > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
	for ((i = 0; i < 600; i++)); do
		id=$(host cloop runs list --json | head -n 1 | jq -r .id)
		[ "$(host cloop egress blocked --run "$id" | grep -c ' blocked ')" = 5 ] && break
		sleep 0.1
	done
	touch "$P/go"
	wait $!
	output=$(cat "$BATS_TEST_TMPDIR/out") stderr=$(cat "$BATS_TEST_TMPDIR/err")
	has "$output" '93.184.216.34:443 open'
	has "$output" 'nameserver 9.9.9.9'
	[ "$(grep -c ':443 open' <<< "$output")" = 1 ]
	[ "$(grep -c ' no$' <<< "$output")" = 5 ]
	has "$stderr" "5 packets to 5 destinations were refused:"
	has "$stderr" "blocked 10.4.5.6:443/tcp, private (RFC1918/ULA), not in executor container's allow list"
	same "$(docker_leftovers)" ''
}

@test "docker: two sandboxes on one network do not reach each other" {
	docker_public
	id=$(run_in --detach -- sh -c 'ip -4 addr show eth0 | sed -n "s/.*inet \([0-9.]*\).*/\1/p"; nc -l -p 443; sleep 20')
	for ((i = 0; i < 600; i++)); do a=$(cloop runs logs "$id" | head -n 1); [ -n "$a" ] && break; sleep 0.1; done
	[[ $a == 172.* ]]
	exits 0 run_in -- sh -c "nc -w 2 $a 443 </dev/null 2>&1 && echo open || echo no"
	has "$output" no
	lacks "$output" open
	# The rules of the one that goes on stay when another ends.
	has "$(host nft list tables)" cloop_sbx
	host cloop runs stop --grace 0s "$id" >/dev/null
	same "$(docker_leftovers)" ''
}

@test "docker: the network of another hub is not shared" {
	local two=$T/two
	docker_public
	id=$(run_in --detach -- sleep 60)
	CLOOP_HUBS=$T/hubs-two cloop -C "$two" hub bootstrap > /dev/null
	cp "$HUB/.cloop/config.yaml" "$two/.cloop/config.yaml"
	exits 125 env CLOOP_DIR="$two" CLOOP_HUBS="$T/hubs-two" nsenter --net="/run/netns/$NSNAME" -- cloop run -p "$P" -- true
	has "$stderr" "the network 'cloop-sbx-container' is that of the hub '$HUB'"
	has "$stderr" "fix: write CLOOP_HUB_MARK="
	# The filter of the first is as it was.
	exits 0 host cloop egress verify --all
	echo CLOOP_HUB_MARK=two >> "$two/.cloop/hub.env"
	exits 0 env CLOOP_DIR="$two" CLOOP_HUBS="$T/hubs-two" nsenter --net="/run/netns/$NSNAME" -- cloop run -p "$P" -- true
	host cloop runs stop --grace 0s "$id" >/dev/null
	same "$(docker_leftovers)" ''
}

@test "docker: a network that does not say whose it is is not joined, and not taken away" {
	docker_public
	docker network create cloop-sbx-container > /dev/null
	exits 125 run_in -- true
	has "$stderr" "the network 'cloop-sbx-container' does not say whose it is: it has no label cloop.hub"
	has "$stderr" "fix: docker network rm cloop-sbx-container, once nothing runs in it"
	exits 0 docker network inspect cloop-sbx-container
	docker network rm cloop-sbx-container > /dev/null
	exits 0 run_in -- true
	same "$(docker_leftovers)" ''
}

@test "docker: a live run's filter is looked at, and put back when somebody changes it" {
	docker_public
	id=$(run_in --detach -- sleep 60)
	exits 0 host cloop egress verify --all
	[[ $output =~ ^cloop_sbx_container\ on\ csbx-[0-9a-f]{10}:\ as\ it\ should\ be$ ]]
	host nft insert rule inet cloop_sbx_container forward ip daddr 10.4.5.6 accept
	exits 1 host cloop egress verify --all
	has "$output" 'for example tcp to 10.4.5.6'
	exits 0 host cloop egress watch --all --once
	has "$output" 'cloop_sbx_container was changed and is back'
	exits 0 host cloop egress verify --all
	host nft delete table inet cloop_sbx_container
	exits 1 host cloop egress verify --all
	nsenter --net="/run/netns/$NSNAME" -- "$BIN/cloop-egress" watch --all > "$BATS_TEST_TMPDIR/watch" 3>&- &
	for ((i = 0; i < 600; i++)); do grep -q 'is back' "$BATS_TEST_TMPDIR/watch" && break; sleep 0.1; done
	exits 0 host cloop egress verify --all
	kill -TERM $!
	wait $!
	has "$(cloop runs journal "$id")" "the egress filter in table cloop_sbx_container was changed and is back"
	# With the engine's network the rules go, and then none come back.
	host cloop runs stop --grace 0s "$id" >/dev/null
	same "$(docker_leftovers)" ''
	exits 0 host cloop egress watch --all --once
	same "$(host nft list tables | grep -c cloop_sbx)" 0
}

@test "docker: what is mounted below the project is there, and still there afterwards" {
	mkdir -p "$T/shared"
	mount --bind "$T/shared" "$T/shared" && mount --make-shared "$T/shared"
	mkdir -p "$T/shared/app/sub"; mount -t tmpfs none "$T/shared/app/sub"
	echo deep > "$T/shared/app/sub/f"; chown -R 1000:1000 "$T/shared"
	exits 0 host cloop run -p "$T/shared/app" -- cat sub/f
	same "$output" deep
	same "$(docker_leftovers)" ''
	same "$(cat "$T/shared/app/sub/f")" deep
	umount "$T/shared/app/sub" "$T/shared"
}

@test "docker: an engine that refuses, or is not there, is told in one message" {
	docker_config '    network: nosuchnet'
	exits 125 run_in -- true
	has "$stderr" nosuchnet
	has "$stderr" 'fix:'
	docker_config '    network: none'
	exits 125 env DOCKER_HOST="unix://$T/none.sock" nsenter --net="/run/netns/$NSNAME" -- cloop run -p "$P" -- true
	has "$stderr" 'Cannot connect'
	has "$stderr" 'fix: start it'
	same "$(docker_leftovers)" ''
}

@test "docker: a workload whose shim was killed is adopted with its output and status" {
	id=$(run_in --detach --timeout 60s -- sh -c 'i=0; while [ $i -lt 20 ]; do echo $i; i=$((i+1)); sleep 0.1; done; exit 6')
	h=$(handle_of "$id")
	kill -KILL "$(shim_of "$h")"
	exits 0 host cloop sweep --only adopt
	has "$output" "adopted $h"
	cloop runs wait "$id" >/dev/null || true
	[ "$(cloop runs show --json "$id" | jq -r '.outcome, .exit_code' | xargs)" = "exited 6" ]
	same "$(cloop runs logs "$id" 2>/dev/null)" "$(seq 0 19)"
	same "$(docker_leftovers)" ''
}

@test "docker: an end that nobody watched still has its status, and one without a watcher too" {
	id=$(run_in --detach -- sh -c 'sleep 0.5; echo last words; exit 8')
	pkill -KILL -f "cloop-sweep -C $HUB" || true
	kill -KILL "$(shim_of "$(handle_of "$id")")"
	for ((i = 0; i < 600; i++)); do [ -n "$(docker ps -aq)" ] || break; sleep 0.1; done
	exits 0 host cloop sweep --only adopt
	cloop runs wait "$id" >/dev/null || true
	[ "$(cloop runs show --json "$id" | jq .exit_code)" = 8 ]
	same "$(cloop runs logs "$id" 2>/dev/null)" 'last words'
	id=$(run_in --detach -- sh -c 'until [ -e go ]; do sleep 0.1; done; sleep 1; exit 9')
	pkill -KILL -f "cloop-sweep -C $HUB" || true
	kill -KILL "$(shim_of "$(handle_of "$id")")" "$(cat "$T/run/w/$(handle_of "$id")/conmon")"
	exits 0 host cloop sweep --only adopt
	# The new supervisor asks the engine, which has to hear it before the end.
	for ((i = 0; i < 600; i++)); do pgrep -f "wait cloop-.*$(handle_of "$id" | cut -c 3-)" > /dev/null && break; sleep 0.1; done
	touch "$P/go"
	cloop runs wait "$id" >/dev/null || true
	[ "$(cloop runs show --json "$id" | jq .exit_code)" = 9 ]
	same "$(docker_leftovers)" ''
}

@test "docker: starts and ends at once never leave a sandbox without its rules" {
	docker_public
	for n in 1 2 3 4 5; do
		run_in -- sh -c 'sleep 0.$((RANDOM % 5)); nc -w 2 10.4.5.6 443 </dev/null 2>&1 && echo open; echo ended' > "$T/o.$n" 2>&1 &
		pids[n]=$!
	done
	wait "${pids[@]}"
	[ "$(cat "$T"/o.? | grep -c ended)" = 5 ] || { cat "$T"/o.?; false; }
	lacks "$(cat "$T"/o.?)" open
	same "$(docker_leftovers)" ''
}

@test "docker: a client that is killed takes its workload along" {
	id=$(run_in --detach -- sleep 60)
	pkill -KILL -f "docker.*run.*--cidfile=?.?$T/run/w/$(handle_of "$id")"
	cloop runs wait "$id" >/dev/null || true
	[ "$(cloop runs show --json "$id" | jq .exit_code)" = 137 ]
	same "$(docker_leftovers)" ''
}

@test "docker: a start whose shim was killed at any moment is adopted or collected" {
	docker_public
	for ms in 100 250 350 450 600; do
		run_in --detach -- sleep 30 > /dev/null 2>&1 &
		sleep "0.$ms"
		kill_ours -x cloop-shim
		wait $! || true
		exits 0 host cloop sweep
	done
	for id in $(cloop runs list --json --live | jq -r .id); do host cloop runs stop --grace 0s "$id" > /dev/null 2>&1 || true; done
	host cloop sweep >/dev/null
	same "$(docker_leftovers)" ''
}
