#!/usr/bin/env bats
# Interfaces of the host in a docker sandbox: its init waits until they are in, and whatever ends it
# brings them back.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell

load lib/common
load lib/engine
load lib/hub

# lend_config [KEYS] : the executor, and where the root key is.
lend_config() {
	hub_config "${1-    network: bridge
    egress_filter:
      enabled: true
      allow_public_internet: true
      allow_ports: [443]
      resolvers: [\"9.9.9.9:53\"]}"
	sed -i 's/runtime: podman/runtime: docker/' "$HUB/.cloop/config.yaml"
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
}

# A veth pair, one end on the board's segment, and a port that is for captures.
bench() {
	ip link add bench-sbx address 02:00:00:00:99:01 netns "$NSNAME" type veth peer name board0 netns "$WORLD"
	ip -n "$WORLD" addr add 172.31.99.1/24 dev board0
	ip -n "$WORLD" link set board0 up
	host ip link property add dev bench-sbx altname rack3-port7
	host ip link set bench-sbx mtu 1400 up
	host ip addr add 172.31.98.5/24 dev bench-sbx
	host ip route add 10.77.0.0/16 via 172.31.98.9 dev bench-sbx
	ip link add cap0 address 02:00:00:00:98:01 netns "$NSNAME" type veth peer name cap1 netns "$WORLD"
	ip -n "$WORLD" link set cap1 up
	nsenter --net="/run/netns/$WORLD" socat TCP-LISTEN:7777,bind=172.31.99.1,fork,reuseaddr EXEC:'echo board says hello' 3>&- &
	echo $! > "$T/board"
	until_ok listens "$WORLD" tcp 7777
}
bench_state() {
	host ip -j link | jq -c '.[] | select(.ifname == ("bench-sbx", "cap0")) | [.ifname, .mtu, .address, (.flags | index("UP") != null), .altnames]'
	host ip -j addr | jq -c '.[] | select(.ifname == ("bench-sbx", "cap0")) | [.ifname, [.addr_info[] | [.local, .prefixlen]]]'
	host ip route show dev bench-sbx
}

setup_file() {
	need root podman docker dockerd nft ip jq sqlite3 socat
	hub_up
	engine_docker_up "$NSNAME"
	bench
	bench_state > "$T/bench"
	lend_config
	printf '%s\n' dut=bench-sbx,target=eth1,address=172.31.99.200/24 capture=cap0,mtu=9000 |
		cloop secret mint bench-net --kind host_interface --file - > /dev/null
	printf '%s\n' wrong=cap0,target=eth2,address=10.5.5.5/24,gateway=10.6.6.6 away=bench-gone |
		cloop secret mint bench-odd --kind host_interface --file - > /dev/null
	echo own=cap0,target=eth0 | cloop secret mint bench-own --kind host_interface --file - > /dev/null
	echo frames=bench-sbx,target=eth1,address=172.31.99.201/24,gateway=172.31.99.1,raw |
		cloop secret mint bench-raw --kind host_interface --file - > /dev/null
}
teardown_file() {
	[ ! -s "${T:-/none}/board" ] || kill "$(cat "$T/board")" 2> /dev/null || true
	[ -z "${T:-}" ] || rm -f "/dev/clt-${T##*.}-"*
	hub_down
}
setup() {
	lend_config
	P=$T/projects/$BATS_TEST_NUMBER
	mkdir -p "$P" && chown 1000:1000 "$P"
}
# Whatever a test did, the bench is as it was, and nothing is left of its runs.
teardown() {
	until_ok bench_is_back
	same "$(bench_state)" "$(cat "$T/bench")"
	same "$(leftovers)" ''
	until_ok no_containers
	run ! ls "$T"/run/net/*.lent
	run ! grep -F " $T/run" /proc/self/mounts
}
bench_is_back() { [ "$(bench_state)" = "$(cat "$T/bench")" ]; }
no_containers() { [ -z "$(docker ps -aq)" ]; }

handle_of() { cloop runs show --json "$1" | jq -r .handle_id; }
shim_of() { sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id='$1'"; }
container_of() { sqlite3 -readonly "$HUB/.cloop/state.db" "select container from handle where id='$1'"; }
state_is() { [ "$(cloop runs show --json "$1" | jq -r .state)" = "$2" ]; }
# grant SECRET NAMES [OPTION...] : to this test's project; prints its id.
grant() { cloop secret grant "$1" --to "project:$P" --interfaces "$2" "${@:3}" --json | jq -r .id; }
detached() { run_in --detach -- sh -c "$1"; }
on_host() { host ip link show dev "$1" > /dev/null 2>&1; }

@test "docker: the workload's first instruction finds it up, with its address, and reaches the board" {
	grant bench-net dut,capture > /dev/null
	exits 0 run_in -- cat /sys/class/net/eth1/flags
	same "$output" 0x1003
	exits 0 run_in -- sh -c 'ip -4 addr show eth1 | grep -o "inet [0-9./]*"; nc -w 20 172.31.99.1 7777 < /dev/null; env | grep -e INTERFACES -e bench; ls /sys/class/net | xargs
		cat /sys/class/net/cap0/mtu /proc/sys/net/ipv4/ip_forward; grep CapEff /proc/self/status; ls -A /.cloop | grep -vx go; nc -w 20 10.4.5.6 443 < /dev/null || echo "no private"'
	# What it waited for, go, is taken away at about the moment in which it starts.
	same "$output" "inet 172.31.99.200/24
board says hello
CLOOP_HOST_INTERFACES=capture,dut
cap0 eth0 eth1 lo
9000
0
CapEff:	0000000000000000
env
init
no private"
	id=$(cloop runs list --json | head -n 1 | jq -r .id)
	has "$(cloop runs journal "$id")" "dut (bench-sbx) is in the sandbox as 'eth1'"
	has "$(cloop runs journal "$id")" "dut (bench-sbx) is back on the host"
}

@test "docker: while it runs the host has it not, and the end of whatever kind brings it back" {
	grant bench-net dut,capture > /dev/null
	for how in end stop init docker client; do
		id=$(detached 'echo up; while [ ! -e /workspace/go ]; do sleep 0.1; done')
		until_ok says "$id" up
		run ! on_host bench-sbx
		run ! on_host cap0
		h=$(handle_of "$id")
		case $how in
		end) touch "$P/go" ;;
		stop) exits 0 host cloop runs stop --grace 0s "$id" ;;
		init) kill -KILL "$(cat "$T/run/w/$h/pid")" ;;
		docker) docker rm -f "$(container_of "$h")" > /dev/null ;;
		client) pkill -KILL -f "docker.*run.*--cidfile=?.?$T/run/w/$h" ;;
		esac
		until_ok state_is "$id" finished
		until_ok bench_is_back
		rm -f "$P/go"
	done
}

@test "docker: SIGKILL to the supervisor: who adopts the run gives it back" {
	grant bench-net dut > /dev/null
	id=$(detached 'echo up; while [ ! -e /workspace/go ]; do sleep 0.1; done; nc -w 20 172.31.99.1 7777 < /dev/null')
	until_ok says "$id" up
	kill -KILL "$(shim_of "$(handle_of "$id")")"
	run ! on_host bench-sbx
	exits 0 host cloop sweep --only adopt
	touch "$P/go"
	until_ok state_is "$id" finished
	says "$id" 'board says hello'
}

@test "docker: SIGKILL to supervisor, holder, watcher, guardian and container at once: a sweep gives it back" {
	grant bench-net dut,capture > /dev/null
	id=$(detached 'echo up; sleep 600')
	until_ok says "$id" up
	h=$(handle_of "$id")
	kill_ours -f "cloop-sweep -C $HUB"
	kill -KILL "$(shim_of "$h")" "$(cat "$T/run/w/$h/conmon")" "$(cat "$T/run/w/$h/pid")"
	kill_ours -x cloop-hold
	run ! on_host bench-sbx
	exits 0 host cloop sweep
	until_ok state_is "$id" finished
	until_ok bench_is_back
}

@test "docker: the start killed at any moment: no workload without its interfaces, and all of them are back" {
	grant bench-net dut,capture > /dev/null
	for ms in 100 200 300 350 400 450 500 600; do
		run_in -- sh -c "cat /sys/class/net/eth1/flags /sys/class/net/cap0/flags > /workspace/ran.$ms; sleep 30" > /dev/null 2>&1 &
		sleep "0.$ms"
		kill_ours -f "cloop-exec-container start"
		kill_ours -x cloop-shim
		pkill -KILL -f "cloop-run -p $P" || true
		wait || true
		exits 0 host cloop sweep
	done
	for id in $(cloop runs list --json --live | jq -r .id); do host cloop runs stop --grace 0s "$id" > /dev/null 2>&1 || true; done
	host cloop sweep > /dev/null
	for f in "$P"/ran.*; do
		[ ! -e "$f" ] || same "$(cat "$f")" $'0x1003\n0x1003'
	done
}

@test "docker: a supervisor that dies while the interfaces are on their way: nothing runs" {
	# The record cannot be written as long as somebody has the lock.
	grant bench-net dut > /dev/null
	mkdir -p "$T/run/net" && : >> "$T/run/net/.lock"
	flock "$T/run/net/.lock" sh -c 'while [ ! -e "$0" ]; do sleep 0.1; done' "$P/unlock" 3>&- &
	run_in -- touch /workspace/ran > /dev/null 2>&1 &
	until_ok sh -c "docker ps -q | grep -q ."
	kill_ours -f "cloop-exec-container start"
	kill_ours -x cloop-shim
	wait $! || true
	until_ok no_containers
	touch "$P/unlock"
	wait
	exits 0 host cloop sweep
	[ ! -e "$P/ran" ]
}

@test "docker: a revoked grant takes it out of the live run at once, and the run goes on without" {
	g=$(grant bench-net dut)
	grant bench-net capture > /dev/null
	id=$(detached 'echo up; while [ -e /sys/class/net/eth1 ]; do sleep 0.1; done; ls /sys/class/net | xargs; while [ ! -e /workspace/go ]; do sleep 0.1; done')
	until_ok says "$id" up
	exits 0 host cloop secret revoke "$g"
	until_ok says "$id" 'cap0 eth0 lo'
	on_host bench-sbx
	state_is "$id" running
	touch "$P/go"
	until_ok state_is "$id" finished
}

@test "docker: all or nothing, and one that a live run has is refused by its handle" {
	grant bench-net dut > /dev/null
	for bad in away wrong own; do
		b=$(grant "$([ $bad = own ] && echo bench-own || echo bench-odd)" $bad)
		exits 125 run_in -- touch /workspace/ran
		case $bad in
		away) has "$stderr" "interface 'away' (bench-gone) cannot be given to this run: this host has no interface of that name" ;;
		wrong) has "$stderr" "interface 'wrong' (cap0): cannot set a route to everything" ;;
		own) has "$stderr" "the sandbox has a 'eth0' of its own" ;;
		esac
		[ ! -e "$P/ran" ]
		same "$(bench_state)" "$(cat "$T/bench")"
		cloop secret revoke "$b" > /dev/null
	done
	id=$(detached 'echo up; while [ ! -e /workspace/go ]; do sleep 0.1; done')
	until_ok says "$id" up
	exits 125 run_in -- true
	has "$stderr" "interface 'dut' (bench-sbx) cannot be given to this run: workload $(handle_of "$id") has it"
	touch "$P/go"
	until_ok state_is "$id" finished
}

@test "docker: in a network of the operator's too, with the gateway that the inventory says; raw is refused" {
	g=$(grant bench-raw frames)
	exits 125 run_in -- touch /workspace/ran
	has "$stderr" "the inventory says 'raw' of an interface that is granted to this run (frames), and docker gives CAP_NET_RAW to nobody but root"
	has "$stderr" 'fix: use podman'
	[ ! -e "$P/ran" ]
	cloop secret revoke "$g" > /dev/null
	docker network create bench-plain > /dev/null
	lend_config '    network: bench-plain'
	echo way=bench-sbx,target=eth1,address=172.31.99.201/24,gateway=172.31.99.1 |
		cloop secret mint bench-way --kind host_interface --file - > /dev/null
	grant bench-way way > /dev/null
	exits 0 run_in -- sh -c 'ip route | grep default; nc -w 20 172.31.99.1 7777 < /dev/null'
	same "$output" $'default via 172.31.99.1 dev eth1 \nboard says hello'
	docker network rm bench-plain > /dev/null
}

@test "docker: without a network there is none to move it into, and no tun device is made" {
	g=$(grant bench-net dut)
	lend_config '    network: none'
	exits 125 run_in -- true
	has "$stderr" "interface 'dut', granted to this run by 'bench-net' ($g): this run has no network"
	cloop secret revoke "$g" > /dev/null
	local n=/dev/clt-${T##*.}-tun
	mknod "$n" c 10 200 && chmod 666 "$n" || skip "no device nodes can be made here"
	echo "tun=$n:/dev/net/tun" | cloop secret mint tun --kind host_device > /dev/null
	cloop secret grant tun --to "project:$P" --devices tun --writable > /dev/null
	lend_config
	run --separate-stderr run_in -- true
	rm "$n"
	same "$status" 125
	has "$stderr" "uses a network of its engine's, and a tun device is only made in one that cloop has prepared"
	has "$stderr" 'fix: use podman as root with network: bridge'
}
