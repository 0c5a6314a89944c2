#!/usr/bin/env bats
# Other programs' forward chains: rulesets seen on real machines, and what they do to a sandbox.
load lib/common
load lib/net

setup_file() {
	need root nft ip jq iptables-nft ip6tables-nft socat
	net_up
	serve
	host ip link add virbr0 type bridge
}
teardown_file() { net_down; }
teardown() {
	local h
	host nft flush ruleset
	for h in $(host "$NETTOOL" list rundir="$RUNDIR"); do unprepare "$h"; done
}

# judged FILE|- WANT : loads a ruleset and compares what is found in it
judged() {
	host nft -f "$1"
	exits 0 host "$NETTOOL" foreign
	same "$output" "$2"
}

@test "rulesets of real machines: what stops a sandbox, and what only looks like it" {
	judged "$CASES/nft/01-ufw-docker28-forward-drop.nft" "all: ip filter FORWARD (policy drop)"
	host nft flush ruleset
	judged "$CASES/nft/02-docker29-native-bridges-routed.nft" ""
	host nft flush ruleset
	judged "$CASES/nft/03-tailscale-forward-marks.nft" ""
	host nft flush ruleset
	judged "$CASES/nft/04-kube-proxy-nftables-handles.nft" ""
	host nft flush ruleset
	judged "$CASES/nft/05-firewalld-forward-reject.nft" "all: inet firewalld filter_FORWARD (reject in filter_FORWARD)"
	host nft flush ruleset
	judged "$CASES/nft/06-libvirt-network-iif.nft" ""
}

# one TEXT WANT : a table whose forward chain holds TEXT
one() {
	host nft flush ruleset
	judged - "$2" <<< "table inet t {
		chain other { drop; }
		chain back { return; drop; }
		chain pass { accept; }
		chain nest { jump other; }
		chain f { type filter hook forward priority 0; $1 }
	}"
}

@test "jumps, maps, order, interfaces and states are followed" {
	one 'policy accept;' ""
	one 'policy drop;' "all: inet t f (policy drop)"
	one 'policy drop; accept;' ""
	one 'policy drop; jump back; jump pass;' ""
	one 'policy drop; goto back;' "all: inet t f (policy drop)"
	one 'drop;' "all: inet t f (drop in f)"
	one 'counter log drop;' "all: inet t f (drop in f)"
	one 'reject;' "all: inet t f (reject in f)"
	one 'jump nest;' "all: inet t f (drop in other)"
	one 'goto nest;' "all: inet t f (drop in other)"
	one 'accept; jump nest;' ""
	one 'return; drop;' ""
	one 'jump back; drop;' "all: inet t f (drop in f)"
	one 'iifname "docker0" drop;' ""
	one 'iifname != "docker0" drop;' "all: inet t f (drop in f)"
	one 'iifname "csbx-*" drop;' "all: inet t f (drop in f)"
	one 'iifname "csbx-0123456789" drop;' "some: inet t f (drop in f)"
	one 'iifname "up0" drop;' "all: inet t f (drop in f)"
	one 'oifname "up0" drop;' "all: inet t f (drop in f)"
	one 'oif "up0" drop;' "all: inet t f (drop in f)"
	one 'iif "virbr0" drop;' ""
	one 'oif "virbr0" reject;' ""
	one 'ct state invalid drop;' ""
	one 'ct state new drop;' "all: inet t f (drop in f)"
	one 'ct state established,related accept; ct state new accept; drop;' ""
	one 'ct state { new, untracked } drop;' "some: inet t f (drop in f)"
	one 'ct state vmap { established : accept, related : accept, invalid : drop };' ""
	one 'ct state vmap { established : accept, new : jump nest };' "all: inet t f (drop in other)"
	one 'iifname vmap { "docker0" : drop, "br1" : jump nest };' ""
	one 'iifname vmap { "up0" : drop };' "all: inet t f (drop in f)"
	one 'ip saddr vmap { 10.0.0.0/8 : drop };' "some: inet t f (drop in f)"
	one 'tcp dport 25 drop;' "some: inet t f (drop in f)"
	one 'ip saddr 10.0.0.0/8 jump nest;' "some: inet t f (drop in other)"
	one 'tcp dport 25 accept; drop;' "all: inet t f (drop in f)"
}

@test "iptables: policies, jumps, states, and the cure" {
	ipt() { host iptables-nft "$@"; }
	ipt -P FORWARD DROP
	ipt -N USER
	ipt -A FORWARD -m conntrack --ctstate INVALID -j DROP
	ipt -A FORWARD -i docker0 -j USER
	ipt -A USER -j REJECT
	exits 0 host "$NETTOOL" foreign fix=1
	same "${lines[0]}" "all: ip filter FORWARD (policy drop)"
	host sh -c "${lines[1]//iptables/iptables-nft}"
	same "$(host "$NETTOOL" foreign)" ""
	host ip6tables-nft -A FORWARD -m comment --comment x -j REJECT
	same "$(host "$NETTOOL" foreign)" "all: ip6 filter FORWARD (reject in FORWARD)"
}

@test "what is found is what packets meet, and the cure helps" {
	local a=c-00000000000a cure
	read -r _ bridge _ address _ < <(prepare $a cloop-sbx-ci policy="${WEB/443/443,80}")
	same "$(inside $a "$NETPKT" tcp 93.184.216.34 443)" open
	# The connection above may still be saying goodbye to its own port.
	host nft -f - <<< 'table inet wall {
		chain f { type filter hook forward priority 10; tcp dport 80 counter comment "wall"; drop; }
	}'
	exits 0 host "$NETTOOL" foreign fix=1
	same "${lines[0]}" "all: inet wall f (drop in f)"
	cure=${lines[1]}
	inside $a "$NETPKT" frame eth0 "$(mac_of_bridge "$bridge")" "$(mac_of $a)" ip "$address" 93.184.216.34 6 80
	# Refused by our own filter, which stands before the wall: then the frame was there too.
	same "$(inside $a "$NETPKT" tcp 10.99.0.1 443)" reset
	[ "$(hits inet wall wall)" = 1 ]
	host sh -c "$cure"
	same "$(host "$NETTOOL" foreign)" ""
	same "$(inside $a "$NETPKT" tcp 93.184.216.34 443)" open
}
