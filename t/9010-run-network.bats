#!/usr/bin/env bats
# What a workload reaches through the filter, with a real world behind a real uplink.

load lib/common
load lib/engine
load lib/hub

# serve NAMESPACE ARG... : socat there, until the suite ends.
serve() {
	nsenter --net="/run/netns/$1" socat "${@:2}" 3>&- &
	echo $! >> "$T/servers"
}

setup_file() {
	need root podman nft ip socat
	hub_up
	# Servers of the world: the same two ports on every address, TCP and UDP.
	for p in 443 80; do
		serve "$WORLD" -u "TCP-LISTEN:$p,fork,reuseaddr" /dev/null
		serve "$WORLD" "UDP-LISTEN:$p,fork,reuseaddr" PIPE
	done
	serve "$WORLD" "UDP-LISTEN:53,fork,reuseaddr" PIPE
	# The host listens too: no sandbox may reach it.
	serve "$NSNAME" -u "TCP-LISTEN:443,fork,reuseaddr" /dev/null
	# An address of the host's own, private as an intranet's.
	ip -n "$NSNAME" addr add 10.99.0.1/32 dev lo
	host cat /proc/sys/net/ipv4/conf/{all,up0}/forwarding > "$T/forwarding"
	for p in 443 80; do until_ok listens "$WORLD" tcp $p; until_ok listens "$WORLD" udp $p; done
	until_ok listens "$WORLD" udp 53
	until_ok listens "$NSNAME" tcp 443
}
teardown_file() {
	for n in "$WORLD" "$NSNAME"; do
		for p in $(ip netns pids "$n" 2>/dev/null); do
			[ "$(cat "/proc/$p/comm" 2>/dev/null)" != socat ] || kill "$p" 2>/dev/null || true
		done
	done
	hub_down
}
setup() { hub_config_public; rm -rf "$P/.cloop"; }

# try ADDR PORT : what a TCP connection from the sandbox meets, in one word.
try='try() { nc -w 3 "$1" "$2" </dev/null 2>&1 && echo "$1:$2 open" || echo "$1:$2 no"; }; '

@test "public on the port is open; private, metadata, other ports and the host are not" {
	exits 0 run_in -- sh -c "$try"'
		try 93.184.216.34 443; try 93.184.216.34 80; try 10.4.5.6 443; try 172.20.0.9 443
		try 192.168.7.7 443; try 169.254.169.254 443; try 10.99.0.1 443; try 10.211.0.1 443'
	has "$output" '93.184.216.34:443 open'
	for no in 93.184.216.34:80 10.4.5.6:443 172.20.0.9:443 192.168.7.7:443 169.254.169.254:443 10.99.0.1:443 10.211.0.1:443; do
		has "$output" "$no no"
	done
}

@test "a refusal comes at once, as a reset" {
	exits 0 run_in -- sh -c 'nc -w 20 10.4.5.6 443 </dev/null 2>&1; true'
	has "$output" 'refused'
}

@test "the resolver is the configured one and is reached" {
	exits 0 run_in -- cat /etc/resolv.conf
	has "$output" 'nameserver 9.9.9.9'
	exits 0 run_in -- cat /etc/hosts
	lacks "$output" host.containers
}

@test "egress: none takes the network away, egress: public keeps ports and resolver" {
	mkdir -p "$P/.cloop"; printf 'capabilities: {egress: none}\n' > "$P/.cloop/sandbox.yaml"
	exits 0 run_in -- ls /sys/class/net
	same "$output" lo
	printf 'capabilities: {egress: public}\n' > "$P/.cloop/sandbox.yaml"
	exits 0 run_in -- sh -c "$try"'try 93.184.216.34 443; try 93.184.216.34 80; try 10.4.5.6 443'
	has "$output" '93.184.216.34:443 open'
	has "$output" '93.184.216.34:80 no'
	has "$output" '10.4.5.6:443 no'
}

@test "egress: public works on an executor without a filter of its own" {
	hub_config '    network: bridge
    egress_filter:
      resolvers: ["9.9.9.9:53"]'
	mkdir -p "$P/.cloop"; printf 'capabilities: {egress: public}\n' > "$P/.cloop/sandbox.yaml"
	exits 0 run_in -- sh -c "$try"'try 93.184.216.34 443; try 10.4.5.6 443'
	has "$output" '93.184.216.34:443 open'
	has "$output" '10.4.5.6:443 no'
	hub_config '    network: bridge'
	exits 125 run_in -- true
	has "$stderr" resolvers
	hub_config '    network: none'
	exits 125 run_in -- true
	has "$stderr" 'egress'
}

@test "two sandboxes at once do not reach each other" {
	id=$(run_in --detach -- sh -c 'ip -4 addr show eth0 | grep -o "10\.211[0-9.]*" | head -n 1; nc -l -p 443; sleep 20')
	for ((i = 0; i < 600; i++)); do a=$(cloop runs logs "$id" | head -n 1); [ -n "$a" ] && break; sleep 0.1; done
	[[ $a == 10.211.* ]]
	exits 0 run_in -- sh -c "$try try $a 443"
	has "$output" "$a:443 no"
	cloop runs stop --grace 0s "$id" >/dev/null
}

@test "nobody opens a connection into the sandbox, the host included" {
	id=$(run_in --detach -- sh -c 'ip -4 addr show eth0 | grep -o "10\.211[0-9.]*" | head -n 1; nc -l -p 443; sleep 20')
	for ((i = 0; i < 600; i++)); do a=$(cloop runs logs "$id" | head -n 1); [ -n "$a" ] && break; sleep 0.1; done
	run host timeout 3 bash -c "exec 9<>/dev/tcp/$a/443"
	[ "$status" != 0 ]
	cloop runs stop --grace 0s "$id" >/dev/null
}

@test "two hubs with an executor of one id share no bridge and no table" {
	local two=$T/two mark one other
	tables() { host nft list tables inet | awk '{ print $3 }' | grep cloop_sbx | sort | xargs; }
	second() { CLOOP_DIR=$two CLOOP_RUN_DIR=$T/run2 "$@"; }
	CLOOP_HUBS=$T/hubs cloop -C "$two" hub bootstrap > /dev/null
	mark=$(sed -n 's/^CLOOP_HUB_MARK=//p' "$two/.cloop/hub.env")
	same "${#mark}" 6
	sed 's/allow_ports: .443./allow_ports: [80]/' "$HUB/.cloop/config.yaml" > "$two/.cloop/config.yaml"
	one=$(run_in --detach -- sleep 60)
	other=$(second run_in --detach -- sleep 60)
	same "$(tables)" "cloop_sbx_container cloop_sbx_container_$mark"
	has "$(host nft list table inet cloop_sbx_container)" 443
	lacks "$(host nft list table inet "cloop_sbx_container_$mark" | sed "s/$mark//g")" 443
	same "$(ip -n "$NSNAME" -br link show type bridge | wc -l)" 2
	# The end of one takes nothing of the other's away.
	second host cloop runs stop --grace 0 "$other"
	for _ in {1..600}; do [ "$(tables)" = cloop_sbx_container ] && break; sleep 0.1; done
	same "$(tables)" cloop_sbx_container
	exits 0 run_in -- sh -c "$try"'try 93.184.216.34 443; try 93.184.216.34 80'
	has "$output" '93.184.216.34:443 open'
	has "$output" '93.184.216.34:80 no'
	host cloop runs stop --grace 0 "$one"
}

# a_stranger NAME : a hub that is in no list of ours, and so has the plain names too; ports 80
a_stranger() {
	CLOOP_HUBS=$T/hubs-$1 cloop -C "$T/$1" hub bootstrap > /dev/null
	run ! grep -q HUB_MARK "$T/$1/.cloop/hub.env"
	sed 's/allow_ports: .443./allow_ports: [80]/' "$HUB/.cloop/config.yaml" > "$T/$1/.cloop/config.yaml"
}

@test "hubs that know nothing of each other share no network: the second takes a mark by itself" {
	local one id mark
	one=$(run_in --detach -- sleep 300)
	# With the run directory of the first, and with one of its own.
	for s in "third $CLOOP_RUN_DIR" "fourth $T/run4"; do
		set -- $s
		a_stranger "$1"
		stranger() { CLOOP_DIR=$T/$1 CLOOP_RUN_DIR=$2 CLOOP_HUBS=$T/hubs-$1 "${@:3}"; }
		id=$(sed -n 's/^CLOOP_HUB_ID=hub_//p' "$T/$1/.cloop/hub.env")
		exits 0 stranger "$1" "$2" run_in -- sh -c "$try"'try 93.184.216.34 443; try 93.184.216.34 80'
		has "$output" '93.184.216.34:443 no'
		has "$output" '93.184.216.34:80 open'
		mark=$(sed -n 's/^CLOOP_HUB_MARK=//p' "$T/$1/.cloop/hub.env")
		same "$mark" "${id:0:6}"
		has "$(stranger "$1" "$2" cloop runs journal -p "$P")" "have '$mark' in their names from now on: 'cloop-sbx-container' is another hub's"
		has "$(stranger "$1" "$2" cloop hub audit list)" hub.mark
		# It is for good: written once, and used also where no other is there.
		exits 0 stranger "$1" "$2" run_in -- true
		same "$(grep -c '^CLOOP_HUB_MARK=' "$T/$1/.cloop/hub.env")" 1
	done
	# The first goes on as it was, under its own rules.
	exits 0 run_in -- sh -c "$try"'try 93.184.216.34 443; try 93.184.216.34 80'
	has "$output" '93.184.216.34:443 open'
	has "$output" '93.184.216.34:80 no'
	run ! grep -q HUB_MARK "$HUB/.cloop/hub.env"
	host cloop runs stop --grace 0 "$one"
}

@test "a hub that cannot take a mark does not share a network" {
	local one
	one=$(run_in --detach -- sleep 300)
	a_stranger fifth
	sed -i '/^CLOOP_HUB_ID=/d' "$T/fifth/.cloop/hub.env"
	exits 125 env CLOOP_DIR="$T/fifth" CLOOP_HUBS="$T/hubs-fifth" nsenter --net="/run/netns/$NSNAME" -- cloop run -p "$P" -- true
	has "$stderr" "'$T/fifth/.cloop/hub.env' has no CLOOP_HUB_ID="
	has "$stderr" "fix: write CLOOP_HUB_MARK="
	host cloop runs stop --grace 0 "$one"
}

@test "where another firewall drops what is forwarded, a run is on the engine's own network, filtered" {
	local id first before bridges=/proc/sys/net/bridge
	# What ran before the other firewall came keeps its own network and its rules.
	before=$(run_in --detach -- sleep 100)
	host nft -f - <<< 'table ip filter { chain FORWARD { type filter hook forward priority 0; policy drop; }; }'
	exits 0 run_in -- sh -c "$try"'try 93.184.216.34 443; try 93.184.216.34 80; try 10.4.5.6 443; try 10.99.0.1 443'
	has "$output" '93.184.216.34:443 open' '93.184.216.34:80 no' '10.4.5.6:443 no' '10.99.0.1:443 no'
	# Two at once, where bridged packets are handed to the filter.
	id=$(run_in --detach -- sh -c 'ip -4 -o a show eth0; nc -l -p 8080 -e echo leaked; sleep 100')
	until_ok says "$id" inet
	exits 0 host cloop egress verify --all
	same "$(cut -d' ' -f1,4- <<< "$output" | sort | xargs)" \
		"cloop_sbx_container as it should be cloop_sbx_container_engine as it should be"
	exits 0 cloop runs stop "$before"
	one() { [ "$(host cloop egress verify --all | cut -d' ' -f1,4-)" = "cloop_sbx_container_engine as it should be" ]; }
	until_ok one
	first=$(cloop runs logs "$id" | grep -oE 'inet [0-9.]+' | cut -d' ' -f2)
	if [ -e $bridges ]; then
		host sh -c "echo 1 | tee $bridges/bridge-nf-call-iptables > $bridges/bridge-nf-call-ip6tables"
		exits 0 run_in -- sh -c "$try try $first 8080"
		has "$output" "$first:8080 no"
		host sh -c "echo 0 > $bridges/bridge-nf-call-iptables"
	fi
	# One at a time, where they are not.
	exits 125 run_in -- true
	has "$stderr" "another sandbox is on the network 'cloop-sbx-" "past the filter" "  fix: wait for its end, or have bridged packets filtered: modprobe br_netfilter"
	exits 0 cloop runs stop "$id"
	until_ok run_in -- true
	# Gone with its last sandbox, and then the other firewall goes.
	gone() { ! host nft list table inet cloop_sbx_container_engine 2> /dev/null; }
	until_ok gone
	host nft flush ruleset
}

@test "a live run's filter is what should stand, and is put back when it is flushed" {
	id=$(run_in --detach -- sh -c 'sleep 30')
	exits 0 host cloop egress verify --all
	[[ $output =~ ^cloop_sbx_container\ on\ csbx-[0-9a-f]{10}:\ as\ it\ should\ be$ ]]
	exits 0 host cloop egress firewall verify --executor container
	host nft flush ruleset
	exits 1 host cloop egress verify --all
	has "$output" "table cloop_net_$(printf %s "$CLOOP_RUN_DIR" | sha256sum | cut -c1-8) is not as it was made"
	exits 0 host cloop egress watch --all --once
	exits 0 host cloop egress verify --all
	has "$(cloop runs journal "$id")" "the egress filter in table cloop_sbx_container was changed and is back"
	# A state file that says another policy than the driver installed is not believed.
	sqlite3 "$HUB/.cloop/state.db" "UPDATE run SET egress = '{\"allow_public_internet\":true,\"all_ports\":true}' WHERE id = '$id'"
	exits 1 host cloop egress verify --all
	has "$output" 'the state file says another egress policy than the one that was installed'
	cloop runs stop --grace 0s "$id" >/dev/null
}

@test "afterwards there is no namespace, bridge, table or forwarding left" {
	same "$(leftovers)" ''
	same "$(host nft list tables)" ''
	same "$(host cat /proc/sys/net/ipv4/conf/{all,up0}/forwarding)" "$(cat "$T/forwarding")"
}
