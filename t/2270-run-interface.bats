#!/usr/bin/env bats
# Interfaces of the host in a run: there before its first instruction, and back whatever ends it.
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
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
}

# The guide's bench: a veth pair, one end on the board's segment, and a port that is for captures.
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
	host ip -j link | jq -c '.[] | select(.ifname == ("bench-sbx", "cap0")) | [.ifindex, .ifname, .mtu, .address, (.flags | index("UP") != null), .altnames]'
	host ip -j addr | jq -c '.[] | select(.ifname == ("bench-sbx", "cap0")) | [.ifname, [.addr_info[] | [.local, .prefixlen]]]'
	host ip route show dev bench-sbx
}

setup_file() {
	need root podman nft ip jq sqlite3 socat
	hub_up
	bench
	bench_state > "$T/bench"
	lend_config
	cat > "$T/inventory" <<-E
		# rack 3, bench A: a veth end that lands on the bench bridge
		dut=bench-sbx,target=eth1,address=172.31.99.200/24
		# a capture port: no address, jumbo frames
		capture=cap0,mtu=9000
			E
	cloop secret mint bench-net --kind host_interface --file "$T/inventory" > /dev/null
	printf '%s\n' wrong=cap0,target=eth2,address=10.5.5.5/24,gateway=10.6.6.6 out=up0,target=eth3 away=bench-gone |
		cloop secret mint bench-odd --kind host_interface --file - > /dev/null
	echo frames=bench-sbx,target=eth1,address=172.31.99.201/24,gateway=172.31.99.1,raw |
		cloop secret mint bench-raw --kind host_interface --file - > /dev/null
}
teardown_file() {
	kill "$(cat "$T/board")" 2> /dev/null || true
	hub_down
}
setup() {
	lend_config
	P=$T/projects/$BATS_TEST_NUMBER
	mkdir -p "$P" && chown 1000:1000 "$P"
}
# Whatever a test did, the bench is as it was, and nothing is left of its runs.
teardown() {
	local i
	for ((i = 0; i < 600; i++)); do [ "$(bench_state)" = "$(cat "$T/bench")" ] && break; sleep 0.1; done
	same "$(bench_state)" "$(cat "$T/bench")"
	same "$(leftovers)" ''
	run ! ls "$T"/run/net/*.lent
}

handle_of() { cloop runs show --json "$1" | jq -r .handle_id; }
shim_of() { sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id='$1'"; }
state_is() { [ "$(cloop runs show --json "$1" | jq -r .state)" = "$2" ]; }
journals() { [[ $(cloop runs journal "$1") == *"$2"* ]]; }
# grant SECRET NAMES [OPTION...] : to this test's project; prints its id.
grant() { cloop secret grant "$1" --to "project:$P" --interfaces "$2" "${@:3}" --json | jq -r .id; }
detached() { run_in --detach -- sh -c "$1"; }
on_host() { host ip link show dev "$1" > /dev/null 2>&1; }

@test "the workload's first instruction finds it up, with its address, and reaches the board" {
	grant bench-net dut > /dev/null
	exits 0 run_in -- cat /sys/class/net/eth1/flags
	same "$output" 0x1003
	exits 0 run_in -- sh -c 'ip -4 addr show eth1 | grep -o "inet [0-9./]*"; nc -w 20 172.31.99.1 7777 < /dev/null; ip route; env | grep -e INTERFACES -e bench; ls /sys/class/net | xargs'
	same "$output" "inet 172.31.99.200/24
board says hello
default via 10.211.0.1 dev eth0 
10.211.0.1 dev eth0 scope link 
172.31.99.0/24 dev eth1 scope link  src 172.31.99.200 
CLOOP_HOST_INTERFACES=dut
eth0 eth1 lo"
	same "$(world ip -j neigh show dev board0 | jq -r '.[] | select(.dst == "172.31.99.200") | .lladdr')" 02:00:00:00:99:01
	id=$(cloop runs list --json | head -n 1 | jq -r .id)
	has "$(cloop runs journal "$id")" "dut (bench-sbx) is in the sandbox as 'eth1'"
	has "$(cloop runs journal "$id")" "dut (bench-sbx) is back on the host"
}

@test "everything that is granted comes, and the filter of the sandbox's own link stands" {
	grant bench-net '*' > /dev/null
	exits 0 run_in -- sh -c 'echo $CLOOP_HOST_INTERFACES; cat /sys/class/net/cap0/mtu /sys/class/net/cap0/flags; nc -w 20 10.4.5.6 443 < /dev/null; true'
	has "$output" $'capture,dut\n9000\n0x1003'
	has "$output$stderr" refused
}

@test "while it runs the host has it not, and the end of whatever kind brings it back" {
	grant bench-net dut,capture > /dev/null
	for how in end stop client; do
		id=$(detached 'echo up; while [ ! -e /workspace/go ]; do sleep 0.1; done')
		until_ok says "$id" up
		run ! on_host bench-sbx
		run ! on_host cap0
		case $how in
		end) touch "$P/go" ;;
		stop) exits 0 host cloop runs stop --grace 0s "$id" ;;
		client) kill -KILL "$(cat "$T/run/w/$(handle_of "$id")/pid")" ;;
		esac
		until_ok state_is "$id" finished
		on_host bench-sbx
		rm -f "$P/go"
	done
}

@test "SIGKILL to the supervisor: who adopts the run gives it back" {
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

@test "SIGKILL to supervisor, holder, guardian and workload at once: a sweep gives it back" {
	grant bench-net dut,capture > /dev/null
	id=$(detached 'echo up; sleep 600')
	until_ok says "$id" up
	h=$(handle_of "$id")
	kill_ours -f "cloop-sweep -C $HUB"
	kill -KILL "$(shim_of "$h")" "$(cat "$T/run/w/$h/pid")"
	kill_ours -x cloop-hold
	exits 0 host cloop sweep
	until_ok state_is "$id" finished
	until_ok on_host bench-sbx
}

@test "the start killed at any moment leaves the interface with the host" {
	grant bench-net dut,capture > /dev/null
	for ms in 30 60 90 120 150 180 210 240 300 360; do
		run_in -- sleep 30 > /dev/null 2>&1 &
		sleep "0.$(printf %03d $ms)"
		kill_ours -f "cloop-exec-container start"
		kill_ours -x cloop-shim
		pkill -KILL -f "cloop-run -p $P" || true
		wait || true
		exits 0 host cloop sweep
	done
	for id in $(cloop runs list --json --live | jq -r .id); do host cloop runs stop --grace 0s "$id" > /dev/null 2>&1 || true; done
	host cloop sweep > /dev/null
}

@test "a revoked grant takes it out of the live run at once, and the run goes on without" {
	g=$(grant bench-net dut)
	c=$(grant bench-net capture)
	id=$(detached 'echo up; while [ -e /sys/class/net/eth1 ]; do sleep 0.1; done; ls /sys/class/net | xargs; while [ ! -e /workspace/go ]; do sleep 0.1; done')
	until_ok says "$id" up
	exits 0 host cloop secret revoke "$g"
	until_ok says "$id" 'cap0 eth0 lo'
	on_host bench-sbx
	journals "$id" 'dut (bench-sbx) is back on the host'
	state_is "$id" running
	exits 0 host cloop secret revoke --json "$c"
	on_host cap0
	touch "$P/go"
	until_ok state_is "$id" finished
}

@test "a grant that ends while the run lives, and one revoked while nobody supervised" {
	grant bench-net dut --ttl 20s > /dev/null
	id=$(detached 'echo up; while [ -e /sys/class/net/eth1 ]; do sleep 0.1; done; echo gone')
	until_ok says "$id" gone
	until_ok state_is "$id" finished
	g=$(grant bench-net dut)
	id=$(detached 'echo up; while [ -e /sys/class/net/eth1 ]; do sleep 0.1; done; echo gone')
	until_ok says "$id" up
	kill -KILL "$(shim_of "$(handle_of "$id")")"
	host cloop secret revoke --wait 1s "$g" || [ $? = 1 ]
	exits 0 host cloop sweep --only adopt
	until_ok says "$id" gone
	until_ok state_is "$id" finished
}

@test "--action kill ends the run, and who holds it is said before" {
	g=$(grant bench-net dut)
	id=$(detached 'trap "" TERM; echo up; while :; do sleep 0.1; done')
	until_ok says "$id" up
	exits 0 host cloop secret holders "$g"
	has "$output" interfaces
	exits 0 host cloop secret revoke --action kill "$g"
	until_ok state_is "$id" finished
	same "$(cloop runs show --json "$id" | jq -r .outcome)" killed
}

@test "one that a live run has is refused by its handle" {
	grant bench-net dut > /dev/null
	id=$(detached 'echo up; while [ ! -e /workspace/go ]; do sleep 0.1; done')
	until_ok says "$id" up
	exits 125 run_in -- true
	has "$stderr" "interface 'dut' (bench-sbx) cannot be given to this run: workload $(handle_of "$id") has it"
	touch "$P/go"
	until_ok state_is "$id" finished
	rm "$P/go"
	exits 0 run_in -- true
}

@test "all or nothing: what the host needs, what is not there, and a second that fails inside" {
	d=$(grant bench-net dut)
	for bad in out away wrong; do
		b=$(grant bench-odd $bad)
		exits 125 run_in -- touch /workspace/ran
		case $bad in
		out) has "$stderr" "interface 'out' (up0) cannot be given to this run: it carries this host's IPv4 default route" ;;
		away) has "$stderr" "interface 'away' (bench-gone) cannot be given to this run: this host has no interface of that name" ;;
		wrong) has "$stderr" "interface 'wrong' (cap0): cannot set a route to everything" ;;
		esac
		[ "$bad" = wrong ] || has "$stderr" 'fix: '
		[ ! -e "$P/ran" ]
		same "$(bench_state)" "$(cat "$T/bench")"
		cloop secret revoke "$b" > /dev/null
	done
	cloop secret revoke "$d" > /dev/null
}

@test "the project's file selects, by the names of the grants" {
	grant bench-net dut,capture > /dev/null
	mkdir -p "$P/.cloop"
	printf 'capabilities: {egress: public, interfaces: [capture]}\n' > "$P/.cloop/sandbox.yaml"
	exits 0 run_in -- sh -c 'echo $CLOOP_HOST_INTERFACES; ls /sys/class/net | xargs'
	same "$output" $'capture\ncap0 eth0 lo'
	printf 'capabilities: {egress: public, interfaces: []}\n' > "$P/.cloop/sandbox.yaml"
	exits 0 run_in -- sh -c 'echo ${CLOOP_HOST_INTERFACES-none}; ls /sys/class/net | xargs'
	same "$output" $'none\neth0 lo'
	printf 'capabilities: {egress: public, interfaces: [dut, other]}\n' > "$P/.cloop/sandbox.yaml"
	exits 125 run_in -- true
	has "$stderr" "capabilities.interfaces in .cloop/sandbox.yaml names 'other'"
	has "$stderr" "--interfaces other"
	printf 'capabilities: {interfaces: [dut]}\n' > "$P/.cloop/sandbox.yaml"
	exits 125 run_in -- true
	has "$stderr" 'capabilities.interfaces needs a network'
}

@test "raw gives frames of its own and a gateway the way out, to nobody without" {
	f=$(grant bench-raw frames)
	exits 0 run_in -- sh -c 'arping -c 1 -w 20 -I eth1 172.31.99.1 > /dev/null && echo answered; grep CapEff /proc/self/status; ip route | grep default; cat /proc/sys/net/ipv4/ip_forward; id -u'
	same "$output" $'answered\nCapEff:\t0000000000002000\ndefault via 172.31.99.1 dev eth1 \n0\n1000'
	id=$(run_in --detach -- sleep 60)
	same "$(podman inspect -l | jq -r '.[].Config.Labels["cloop.interfaces"]')" frames
	host cloop runs stop --grace 0s "$id" > /dev/null
	cloop secret revoke "$f" > /dev/null
	grant bench-net dut > /dev/null
	run run_in -- sh -c 'arping -c 1 -w 2 -I eth1 172.31.99.1; grep CapEff /proc/self/status'
	has "$output" $'CapEff:\t0000000000000000'
	lacks "$output" 'Unicast reply'
}

@test "refused with the reason: gVisor, no network, a network of the engine's" {
	g=$(grant bench-net dut)
	mkdir -p "$P/.cloop"
	printf 'capabilities: {egress: none}\n' > "$P/.cloop/sandbox.yaml"
	exits 125 run_in -- true
	has "$stderr" "interface 'dut', granted to this run by 'bench-net' ($g): this run has no network"
	has "$stderr" 'capabilities: {egress: public}'
	rm -r "$P/.cloop"
	lend_config '    network: none'
	exits 125 run_in -- true
	has "$stderr" 'this run has no network'
	lend_config '    network: bridge
    network_backend: engine
    egress_filter:
      enabled: true
      allow_public_internet: true
      allow_ports: [443]
      resolvers: ["9.9.9.9:53"]'
	exits 125 run_in -- true
	has "$stderr" "a network of its engine's"
	command -v runsc > /dev/null || return 0
	lend_config '    network: bridge
    oci_runtime: runsc
    egress_filter:
      enabled: true
      allow_public_internet: true
      allow_ports: [443]
      resolvers: ["9.9.9.9:53"]'
	exits 125 run_in -- true
	has "$stderr" "runs sandboxes under 'runsc'"
	mkdir -p "$P/.cloop"
	printf 'capabilities: {egress: public, interfaces: [dut]}\n' > "$P/.cloop/sandbox.yaml"
	exits 125 run_in -- true
	has "$stderr" 'cannot move a network interface into a sandbox'
}

@test "names that a shell, an option or a template would take as theirs are names" {
	local odd='a$(id);"&|{{.}}'
	host ip link add "$odd" type veth peer name odd-far
	printf '%s\n' "--rm=$odd,target={{.}}'\"é" "\$(id)=odd-far,target=\$(id)" | cloop secret mint odd --kind host_interface --file - > /dev/null
	cloop secret grant odd --to "project:$P" --interfaces '*' > /dev/null
	exits 0 run_in -- sh -c 'printf "%s\n" "$CLOOP_HOST_INTERFACES"; for i in /sys/class/net/*; do echo "${i##*/}"; done'
	same "$output" $'$(id),--rm\n$(id)\neth0\nlo\n{{.}}\'"é'
	on_host "$odd"
	on_host odd-far
	host ip link del odd-far
}
