# A host and the world around it in network namespaces of their own, for tests of the
# packet filter and of prepared networks. The machine's own network is never touched.
# shellcheck shell=bash
NETTOOL=$BUILD_DIR/t/lib/nettool
# shellcheck disable=SC2089,SC2090 # JSON
WEB='{"allow_public_internet":true,"allow_ports":[443],"resolvers":["9.9.9.9:53"]}'
# shellcheck disable=SC2090
export NETTOOL WEB

# net_up : namespaces $HOST (forwarding off, one uplink) and $WORLD (93.184.216.34 and others).
net_up() {
	HOST=clh-$$ WORLD=clw-$$ RUNDIR=$BATS_FILE_TMPDIR/run
	export HOST WORLD RUNDIR
	ip netns add "$HOST"
	ip netns add "$WORLD"
	ip link add up0 netns "$HOST" type veth peer name w0 netns "$WORLD"
	ip -n "$HOST" addr add 198.51.100.2/24 dev up0
	ip -n "$WORLD" addr add 198.51.100.1/24 dev w0
	ip -n "$HOST" addr add 2001:db8:1::2/64 dev up0 nodad
	ip -n "$WORLD" addr add 2001:db8:1::1/64 dev w0 nodad
	local a
	for a in 93.184.216.34/32 93.184.216.35/32 9.9.9.9/32 10.99.0.1/32 169.254.169.254/32; do
		ip -n "$WORLD" addr add $a dev lo
	done
	for a in 2606:4700::1111/128 2606:4700::2222/128 fd00:99::1/128 64:ff9b::808:808/128 2002:808:808::1/128; do
		ip -n "$WORLD" addr add $a dev lo nodad
	done
	ip -n "$HOST" link set lo up
	ip -n "$WORLD" link set lo up
	ip -n "$HOST" link set up0 up
	ip -n "$WORLD" link set w0 up
	ip -n "$HOST" route add default via 198.51.100.1
	ip -n "$HOST" -6 route add default via 2001:db8:1::1
	host sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
	# The kernel answers a burst of refusals and then some a second: tests send more.
	host sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0
}

net_down() {
	local h
	for h in $(host "$NETTOOL" list rundir="$RUNDIR"); do
		host "$NETTOOL" teardown rundir="$RUNDIR" handle="$h"
	done
	ip netns pids "$WORLD" | xargs -r kill
	ip netns del "$HOST"
	ip netns del "$WORLD"
}

# spawn NETNS-FILE CMD... : in the background; killed by reap_spawned (a function in the
# background would be a shell that leaves its child behind)
SPAWNED=()
spawn() {
	nsenter --net="$1" -- "${@:2}" 3>&- &
	SPAWNED+=($!)
}
spawn_inside() { spawn "$RUNDIR/netns/$1" "${@:2}"; }
reap_spawned() {
	[ ${#SPAWNED[@]} = 0 ] || kill "${SPAWNED[@]}" 2>/dev/null || true
	SPAWNED=()
}

host() { nsenter --net="/run/netns/$HOST" -- "$@"; }
world() { nsenter --net="/run/netns/$WORLD" -- "$@"; }
# inside HANDLE CMD... : in a sandbox's namespace
inside() { local h=$1; shift; nsenter --net="$RUNDIR/netns/$h" -- "$@"; }

# prepare HANDLE NETWORK [NAME=VALUE...] : the table follows from the network
prepare() {
	local h=$1 n=$2
	shift 2
	host "$NETTOOL" prepare rundir="$RUNDIR" handle="$h" network="$n" table="${n//-/_}" "$@"
}
unprepare() { host "$NETTOOL" teardown rundir="$RUNDIR" handle="$1"; }

# host_table [RUNDIR] : the name of the table that the runs of a run directory share
host_table() { echo "cloop_net_$(printf %s "${1:-$RUNDIR}" | sha256sum | cut -c1-8)"; }

# listing TABLE... : a table as JSON, without what two loads differ in
listing() {
	host nft -j list table "$@" |
		jq -S '.nftables[1:] | walk(if type == "object" then del(.handle) else . end)'
}
# host_state : everything that a run may change on the host
host_state() {
	host ip -j link | jq -c 'map({ifname, master, operstate, altnames})'
	host ip -j addr | jq -c 'map([.ifname, [.addr_info[] | [.local, .prefixlen]]])'
	host ip -j route
	host ip -j -6 route
	host ip -j neigh show nud permanent
	host nft list ruleset
	host sysctl net.ipv4.conf.up0.forwarding net.ipv4.ip_forward net.ipv6.conf.all.forwarding
	host sysctl net.ipv6.conf.up0.force_forwarding 2>/dev/null || true
}

NETPKT=$BUILD_DIR/t/lib/netpkt
export NETPKT
# shellcheck disable=SC2034 # for the tests
FENCE4="93.184.216.34 443" FENCE6="2606:4700::1111 443"

# serve : the world's services: TCP 443 and 80 on every address, UDP 53 as an echo
serve() {
	local p
	for p in 80 443; do
		spawn "/run/netns/$WORLD" socat "TCP6-LISTEN:$p,ipv6only=0,fork,reuseaddr" PIPE
	done
	spawn "/run/netns/$WORLD" socat UDP4-RECVFROM:53,bind=9.9.9.9,fork PIPE
	until [ "$(world ss -Hltn | wc -l)" = 2 ] && [ "$(world ss -Hlun | wc -l)" = 1 ]; do sleep 0.05; done
}

# to HANDLE KIND ARG... : what comes of a packet that the sandbox sends
to() { local h=$1; shift; inside "$h" "$NETPKT" "$@"; }
mac_of() { inside "$1" ip -j link show eth0 | jq -r '.[0].address'; }
mac_of_bridge() { host ip -j link show "$1" | jq -r '.[0].address'; }
# hits FAMILY TABLE COMMENT : packets counted by the rules with that comment
hits() {
	host nft -j list table "$1" "$2" | jq --arg c "$3" \
		'[.nftables[].rule | select(.comment == $c) | .expr[].counter.packets // empty] | add // 0'
}
