# shellcheck shell=bash
# A network of namespaces: two sandboxes on a bridge of a host, and an "outside" that answers
# for every address there is.
#
#   sandbox 10.211.0.2 fd11::2 --+
#                                +-- br0 host 10.211.0.1 fd11::1 ---- outside (everything else)
#   peer    10.211.0.3 fd11::3 --+
#
# Used from setup_file and teardown_file; the names are the file's own.

rig_name() { echo "clt-$(basename "$BATS_FILE_TMPDIR" | tr -dc 'A-Za-z0-9' | tail -c 6)$(tr -dc 'a-z0-9' <<< "$BATS_TEST_FILENAME" | cksum | cut -c1-4)-$1"; }

# rig NAME CMD... : in the namespace host, sandbox, peer or outside.
rig() {
	local n
	n=$(rig_name "$1")
	shift
	ip netns exec "$n" "$@"
}

rig_link() { # rig_link NAME ADDR4 ADDR6 : a sandbox on the bridge
	local n h
	n=$(rig_name "$1") h=$(rig_name host)
	ip link add eth0 netns "$n" type veth peer name "p-$1" netns "$h"
	ip -n "$h" link set "p-$1" master br0 up
	ip -n "$n" addr add "$2/24" dev eth0
	ip -n "$n" addr add "$3/64" dev eth0 nodad
	ip -n "$n" link set eth0 up
	ip -n "$n" route add default via 10.211.0.1
	ip -n "$n" -6 route add default via fd11::1
}

rig_up() {
	local h o n
	for n in host sandbox peer outside; do
		ip netns add "$(rig_name $n)"
		rig $n sh -c 'ip link set lo up
			sysctl -qw net.ipv4.ping_group_range="0 2147483647" net.ipv4.icmp_ratelimit=0 \
				net.ipv6.icmp.ratelimit=0 net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0'
	done
	h=$(rig_name host) o=$(rig_name outside)
	rig host sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
		net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.default.send_redirects=0
	ip -n "$h" link add br0 type bridge mcast_snooping 0
	ip -n "$h" addr add 10.211.0.1/24 dev br0
	ip -n "$h" addr add fd11::1/64 dev br0 nodad
	ip -n "$h" link set br0 up
	ip link add out netns "$h" type veth peer name eth0 netns "$o"
	ip -n "$h" addr add 198.51.100.1/30 dev out
	ip -n "$o" addr add 198.51.100.2/30 dev eth0
	ip -n "$h" addr add 2a00:ffff::1/64 dev out nodad
	ip -n "$o" addr add 2a00:ffff::2/64 dev eth0 nodad
	ip -n "$h" link set out up
	ip -n "$o" link set eth0 up
	# Every address is the outside's own but the way back to the sandboxes.
	ip -n "$o" route add local 0.0.0.0/0 dev lo table local
	ip -n "$o" route add 10.211.0.0/24 via 198.51.100.1 table local
	ip -n "$o" route add 198.51.100.1/32 dev eth0 table local
	ip -n "$o" -6 route add local ::/0 dev lo table local
	ip -n "$o" -6 route add 2a00:ffff::1/128 dev eth0 table local
	ip -n "$o" -6 route add fd11::/64 via 2a00:ffff::1 table local
	ip -n "$h" route add default via 198.51.100.2
	ip -n "$h" -6 route add default via 2a00:ffff::2
	rig_link sandbox 10.211.0.2 fd11::2
	rig_link peer 10.211.0.3 fd11::3
}

# rig_serve NAME PORT... : answers there until the file is done.
rig_serve() {
	local n=$1 log
	shift
	log=$BATS_FILE_TMPDIR/serve-$n
	ip netns exec "$(rig_name "$n")" python3 "$SRC/t/lib/netserve.py" "$@" > "$log" 2>&1 3>&- 4>&- &
	echo $! >> "$BATS_FILE_TMPDIR/servers"
	until grep -q ready "$log"; do
		kill -0 $! || { cat "$log" >&2; return 1; }
		sleep 0.02
	done
}

# rig_ask NAME QUERY... : one line each, as netask.py prints.
rig_ask() {
	local n=$1
	shift
	printf '%s\n' "$@" | rig "$n" python3 "$SRC/t/lib/netask.py"
}

rig_down() {
	local n pid
	[ -e "$BATS_FILE_TMPDIR/servers" ] && while read -r pid; do kill "$pid" 2>/dev/null; done < "$BATS_FILE_TMPDIR/servers"
	for n in host sandbox peer outside; do ip netns del "$(rig_name $n)" 2>/dev/null; done
	return 0
}
