#!/usr/bin/env bats
# A granted /dev/net/tun: the sandbox's user attaches to a tun device that was made for it.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell

load lib/common
load lib/engine
load lib/hub

FILTER='    egress_filter:
      enabled: true
      allow_public_internet: true
      allow_ports: [443]
      resolvers: ["9.9.9.9:53"]'

# tun_config KEYS : the executor, and where the root key is.
tun_config() {
	hub_config "$1"
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
}
bridged() { tun_config "    network: bridge"$'\n'"$FILTER"; }

setup_file() {
	need root podman nft ip jq sqlite3 socat gcc
	hub_up
	D=clt-${T##*.}
	export D
	mknod "/dev/$D-tun" c 10 200 && chmod 666 "/dev/$D-tun" || skip "no device nodes can be made here"
	: <> "/dev/$D-tun" || skip "this kernel has no tun devices"
	gcc -static -O1 -o "$T/tunner" "$BATS_TEST_DIRNAME/lib/static/tunner.c"
	nsenter --net="/run/netns/$WORLD" socat TCP-LISTEN:443,fork,reuseaddr EXEC:'echo world' 3>&- &
	echo $! > "$T/server"
	until_ok listens "$WORLD" tcp 443
	bridged
	cloop secret mint bench --kind host_device > /dev/null <<-E
		# rack 3, bench A
		tun=/dev/$D-tun:/dev/net/tun:rwm
		vpn=/dev/$D-tun:/dev/net/vpn7
		eth=/dev/$D-tun:/dev/net/eth0
		long=/dev/$D-tun:/dev/a-name-of-an-interface
	E
}
teardown_file() {
	[ ! -s "${T:-/none}/server" ] || kill "$(cat "$T/server")" || true
	[ -n "${D:-}" ] && rm -f "/dev/$D-tun"
	hub_down
}
setup() {
	bridged
	P=$T/projects/$BATS_TEST_NUMBER
	mkdir -p "$P" && cp "$T/tunner" "$P/tunner" && chown -R 1000:1000 "$P"
}
teardown() {
	same "$(leftovers)" ''
	cloop secret grants --json 2> /dev/null | jq -r .id | xargs -rn 1 cloop secret revoke > /dev/null
}

# opens NAMES [ARG...] : the project holds these devices; prints the grant.
opens() { cloop secret grant bench --to "project:$P" --devices "$1" --writable --json | jq -r .id; }
state_is() { [ "$(cloop runs show --json "$1" | jq -r .state)" = "$2" ]; }

@test "the workload attaches without a capability, and packets go out and in" {
	opens tun > /dev/null
	exits 0 run_in -- sh -c 'grep CapEff /proc/self/status; echo "$CLOOP_HOST_DEVICES"; ls /sys/class/net | xargs; ls /dev/net; ip -4 addr show tun0 | grep -c inet
		./tunner /dev/net/tun tun0 answer; ./tunner /dev/net/tun tun1 look; ip link add x type dummy 2>&1; cat /proc/sys/net/ipv4/ip_forward'
	same "$output" $'CapEff:\t0000000000000000\ntun\neth0 lo tun0\ntun\n0\nattached to tun0\nout: ping to 198.51.100.9\nin: pong\nattach: Operation not permitted\nip: RTNETLINK answers: Operation not permitted\n0'
	id=$(cloop runs list --json | head -n 1 | jq -r .id)
	has "$(cloop runs journal "$id")" "tun (/dev/$D-tun) is tun device 'tun0' in the sandbox's network"
}

# foreign HANDLE : what the sandbox's port has dropped for its source address
foreign() {
	host nft -j list table netdev "cloop_port_${1#c-}" | jq '[.nftables[].rule | select(.comment == "not the sandbox'"'"'s own address") | .expr[].counter.packets // empty] | add'
}

@test "its own link keeps filter and source check beside it" {
	local h
	opens tun > /dev/null
	id=$(run_in --detach -- sh -c 'echo up; while [ ! -e go ]; do sleep 0.1; done
		nc -w 20 93.184.216.34 443 < /dev/null; nc -w 20 10.4.5.6 443 < /dev/null || echo "no private"
		./tunner /dev/net/tun tun0 send 10.66.0.1 93.184.216.34 7; while [ ! -e gone ]; do sleep 0.1; done')
	until_ok says "$id" up
	h=$(cloop runs show --json "$id" | jq -r .handle_id)
	# Nobody inside could give it one.
	nsenter --net="$T/run/netns/$h" ip addr add 10.66.0.1/32 dev tun0
	same "$(foreign "$h")" 0
	touch "$P/go"
	until_ok says "$id" 'sent 7'
	has "$(cloop runs logs "$id" 2> /dev/null)" $'up\nworld\nno private\nattached to tun0\nsent 7'
	same "$(foreign "$h")" 7
	touch "$P/gone"
	until_ok state_is "$id" finished
}

@test "the target's last part is its name, and two nodes are two devices" {
	opens tun,vpn > /dev/null
	exits 0 run_in -- sh -c 'ls /sys/class/net | xargs; ./tunner /dev/net/vpn7 vpn7 answer; ./tunner /dev/net/tun vpn7 look'
	same "$output" $'eth0 lo tun0 vpn7\nattached to vpn7\nout: ping to 198.51.100.9\nin: pong\nattached to vpn7'
}

@test "a name that no interface of a sandbox can have is refused by its target" {
	for n in eth long; do
		g=$(opens $n)
		exits 125 run_in -- touch /workspace/ran
		has "$stderr" "device '$n' of 'bench' ($g)"
		has "$stderr" 'would make a tun device of a name that no interface of a sandbox can have'
		has "$stderr" "fix: give it another target in the inventory of 'bench': $n=/dev/$D-tun:/dev/net/tun"
		[ ! -e "$P/ran" ]
		cloop secret revoke "$g" > /dev/null
	done
}

# refuses KEYS TEXT... : on an executor with these keys.
refuses() {
	tun_config "$1"
	exits 125 run_in -- touch /workspace/ran
	has "$stderr" "device 'tun' of 'bench' ($g)"
	for t in "${@:2}"; do has "$stderr" "$t"; done
	has "$stderr" 'fix: '
	[ ! -e "$P/ran" ]
}

@test "refused by name where the network is not one that cloop has prepared" {
	g=$(opens tun)
	refuses '    network: none' 'this run has no network, and a tun device is made in one' 'capabilities: {egress: public}'
	refuses "    network: bridge
    network_backend: engine
$FILTER" "uses a network of its engine's, and a tun device is only made in one that cloop has prepared"
	mkdir -p "$P/.cloop"
	echo 'capabilities: {egress: none}' > "$P/.cloop/sandbox.yaml"
	refuses "    network: bridge"$'\n'"$FILTER" 'this run has no network'
	# Left out, it stops nothing.
	echo 'capabilities: {egress: none, devices: []}' > "$P/.cloop/sandbox.yaml"
	exits 0 run_in -- sh -c 'ls /dev/net 2>&1; ls /sys/class/net | xargs'
	has "$output" $'\nlo'
}

@test "an interface that is moved in under its name: the run is refused, and the interface is back" {
	ip link add clt-own netns "$NSNAME" type veth peer name clt-far netns "$WORLD"
	echo own=clt-own,target=tun0 | cloop secret mint net --kind host_interface --file - > /dev/null
	cloop secret grant net --to "project:$P" --interfaces own > /dev/null
	opens tun > /dev/null
	exits 125 run_in -- touch /workspace/ran
	has "$stderr" "the sandbox has a 'tun0' already"
	[ ! -e "$P/ran" ]
	host ip link del clt-own
}

@test "a tun device of the host's, granted as an interface, has the address that its inventory says" {
	host ip tuntap add dev clt-tun mode tun user 1000
	echo own=clt-tun,target=vpn0,address=10.66.0.1/24 | cloop secret mint net2 --kind host_interface --file - > /dev/null
	cloop secret grant net2 --to "project:$P" --interfaces own > /dev/null
	opens tun > /dev/null
	exits 0 run_in -- sh -c 'ls /sys/class/net | xargs; ip -4 addr show vpn0 | grep -o "inet [0-9./]*"; ./tunner /dev/net/tun vpn0 answer'
	same "$output" $'eth0 lo tun0 vpn0\ninet 10.66.0.1/24\nattached to vpn0\nout: ping to 198.51.100.9\nin: pong'
	host ip link show clt-tun > /dev/null
	host ip link del clt-tun
}

gone() { [ ! -e "$1" ]; }

@test "SIGKILL to supervisor and workload leaves none behind, on the host neither" {
	opens tun > /dev/null
	id=$(run_in --detach -- sh -c './tunner /dev/net/tun tun0 hold')
	until_ok says "$id" 'attached to tun0'
	h=$(cloop runs show --json "$id" | jq -r .handle_id)
	kill_ours -f "cloop-sweep -C $HUB"
	kill -KILL "$(sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id='$h'")" "$(cat "$T/run/w/$h/pid")"
	exits 0 host cloop sweep
	until_ok state_is "$id" finished
	run ! host ip link show tun0
	until_ok gone "$T/run/netns/$h"
}
