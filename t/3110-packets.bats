#!/usr/bin/env bats
# Real packets through the installed filter: sandbox, host and world are network namespaces.
load lib/common
load lib/net

A=c-00000000000a B=c-00000000000b C=c-00000000000c
TABLE=cloop_sbx_ci

setup_file() {
	need root nft ip jq socat ss
	net_up
	serve
	prepare $A cloop-sbx-ci policy="$WEB" ipv6=1 > "$BATS_FILE_TMPDIR/a"
	prepare $B cloop-sbx-ci policy="$WEB" ipv6=1 > "$BATS_FILE_TMPDIR/b"
	prepare $C cloop-sbx-quiet policy="${WEB/\{/\{\"silent\":true,}" ipv6=1 > "$BATS_FILE_TMPDIR/c"
}
teardown_file() { net_down; }
setup() {
	# shellcheck disable=SC2034 # what a test does not look at
	read -r _ bridge a_if a4 gw4 a6 gw6 < "$BATS_FILE_TMPDIR/a"
	read -r _ _ b_if b4 _ b6 _ < "$BATS_FILE_TMPDIR/b"
	read -r _ _ _ c4 _ c6 _ < "$BATS_FILE_TMPDIR/c"
}
# Nothing that a test started may outlive it, whether it passed or not.
teardown() { reap_spawned; }

# gets WANT KIND ARG... : what comes of a packet that sandbox A sends
gets() {
	local want=$1
	shift
	run to $A "$@"
	[ "$output" = "$want" ] || { echo "$*: $output, not $want" >&2; return 1; }
}

@test "what the policy allows arrives, in both families" {
	gets open tcp 93.184.216.34 443
	gets open tcp 2606:4700::1111 443
	gets open tcp ::ffff:93.184.216.34 443
	gets "answer 20" udp 9.9.9.9 53 20
}

@test "fragments are judged by the packet that they are of" {
	gets "answer 4000" udp 9.9.9.9 53 4000
	gets "icmp 3/13" udp 93.184.216.34 53 4000
	gets "icmp 1/1" udp 2606:4700::1111 53 4000
	local d=c-000000000010
	prepare $d cloop-sbx-six policy='{"resolvers":["[2606:4700::1111]:53"]}' ipv6=1 > "$BATS_TEST_TMPDIR/d"
	spawn "/run/netns/$WORLD" socat UDP6-RECVFROM:53,bind=[2606:4700::1111],fork PIPE
	until [ "$(world ss -Hlun6 | wc -l)" = 1 ]; do sleep 0.05; done
	same "$(to $d udp 2606:4700::1111 53 4000)" "answer 4000"
	unprepare $d
}

@test "denied TCP is reset: ports, private and translated addresses, metadata" {
	local a
	gets reset tcp 93.184.216.34 80
	gets reset tcp 2606:4700::1111 80
	for a in 10.99.0.1 169.254.169.254 ::ffff:10.99.0.1 fd00:99::1 64:ff9b::808:808 2002:808:808::1 \
		64:ff9b:1::808:808 ::ffff:0:808:808 ::808:808 fd00:ec2::254; do
		gets reset tcp $a 443
	done
}

# A machine that translates would reach what a denied IPv4 address names.
@test "addresses that carry an IPv4 address inside are closed to every protocol" {
	local a
	for a in 64:ff9b::808:808 64:ff9b:1::808:808 2002:808:808::1 ::ffff:0:808:808 ::808:808; do
		gets "icmp 1/1" udp $a 53 20
		gets "icmp 1/1" ip 58 $a
	done
	# On the wire, not through a socket, which would send it as IPv4.
	to $A frame eth0 "$(mac_of_bridge "$bridge")" "$(mac_of $A)" ip "$a6" ::ffff:93.184.216.34 6 443
	gets open tcp 2606:4700::1111 443
	has "$(host "$NETTOOL" blocked table=$TABLE source="$a6")" "$a6 ::ffff:93.184.216.34 6 443 1"
}

@test "other denied packets are answered administratively prohibited" {
	gets "icmp 3/13" udp 93.184.216.34 443 20
	gets "icmp 1/1" udp 2606:4700::1111 443 20
	gets "icmp 3/13" udp 10.99.0.1 53 20
	gets "icmp 3/13" ip 1 93.184.216.34
	gets "icmp 1/1" ip 58 2606:4700::1111
	gets "icmp 3/13" ip 132 93.184.216.34
	gets "icmp 1/1" ip 132 2606:4700::1111
	local p
	for p in 4 33 41 47 50 253; do gets "icmp 3/13" ip $p 93.184.216.34; done
	for p in 47 50; do gets "icmp 1/1" ip $p 2606:4700::1111; done
	# Over IPv6 the kernel answers no protocol whose checksum it cannot verify.
	for p in 4 41 253; do
		# shellcheck disable=SC2086 # address and port
		gets silence ip $p 2606:4700::1111 $FENCE6
		has "$(host "$NETTOOL" blocked table=$TABLE source="$a6")" "$a6 2606:4700::1111 $p 0 1"
	done
	gets "icmp 3/13" ip 1 "$gw4"
	gets "icmp 3/13" ip 132 "$gw4"
	gets "icmp 1/1" ip 132 "$gw6"
	gets "icmp 3/13" ip 47 198.51.100.2
}

@test "extension headers of IPv6 hide nothing" {
	# shellcheck disable=SC2016 # python
	exthdr() { inside $A python3 -c '
import socket, sys
kind, addr, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
s.settimeout(10)
s.setsockopt(socket.IPPROTO_IPV6, 59, bytes([0, 0, 1, 4, 0, 0, 0, 0]))  # IPV6_DSTOPTS: padding
s.setsockopt(socket.IPPROTO_IPV6, 54, bytes([0, 0, 1, 4, 0, 0, 0, 0]))  # IPV6_HOPOPTS
try:
    s.connect((addr, port))
    if kind == "udp":
        s.send(b"x")
        s.recv(1)
    print("open")
except OSError as e:
    print(type(e).__name__, e.errno)' "$@"; }
	same "$(exthdr tcp 2606:4700::1111 443)" open
	same "$(exthdr tcp 2606:4700::1111 81)" "ConnectionRefusedError 111"
	same "$(exthdr udp 2606:4700::1111 443)" "PermissionError 13"
	same "$(exthdr tcp fd00:99::1 443)" "ConnectionRefusedError 111"
	has "$(host "$NETTOOL" blocked table=$TABLE source="$a6")" "$a6 2606:4700::1111 6 81 1"
	has "$(host "$NETTOOL" blocked table=$TABLE source="$a6")" "$a6 2606:4700::1111 17 443 "
}

@test "an error that answers an allowed packet comes back, and is the other side's own" {
	world nft -f - <<- 'E'
		table inet said {
			chain input {
				type filter hook input priority 0
				ip daddr 93.184.216.35 tcp dport 443 reject with icmp host-unreachable
				ip6 daddr 2606:4700::2222 tcp dport 443 reject with icmpv6 addr-unreachable
			}
		}
	E
	gets "icmp 3/1" tcp 93.184.216.35 443
	gets "icmp 1/3" tcp 2606:4700::2222 443
	world nft delete table inet said
	gets open tcp 93.184.216.35 443
}

@test "multicast goes nowhere" {
	local before
	before=$(judged_packets)
	gets reset tcp 93.184.216.34 82
	[ "$(judged_packets)" = $((before + 1)) ]
	to $A frame eth0 "$(mac_of_bridge "$bridge")" "$(mac_of $A)" ip "$a4" 239.1.2.3 17 443
	to $A frame eth0 "$(mac_of_bridge "$bridge")" "$(mac_of $A)" ip "$a6" ff0e::1:2 17 443
	gets open tcp 93.184.216.34 443
	[ "$(world ip -s -j link show w0 | jq '.[0].stats64.rx.multicast')" = 0 ]
}

@test "a silent policy says nothing, and allows the same" {
	same "$(to $C tcp 93.184.216.34 443)" open
	same "$(to $C tcp 2606:4700::1111 443)" open
	# shellcheck disable=SC2086 # address and port
	{
		same "$(to $C tcp 93.184.216.34 80 $FENCE4)" silence
		same "$(to $C tcp 2606:4700::1111 80 $FENCE6)" silence
		same "$(to $C udp 93.184.216.34 443 20 $FENCE4)" silence
		same "$(to $C ip 58 2606:4700::1111 $FENCE6)" silence
		same "$(to $C ip 132 93.184.216.34 $FENCE4)" silence
		same "$(to $C udp 93.184.216.34 443 4000 $FENCE4)" silence
		same "$(to $C tcp 64:ff9b::808:808 443 $FENCE6)" silence
		same "$(to $C tcp "$gw4" 22 $FENCE4)" silence
	}
	has "$(host "$NETTOOL" blocked table=cloop_sbx_quiet)" "$c4 93.184.216.34 6 80 "
	has "$(host "$NETTOOL" blocked table=cloop_sbx_quiet)" "$c6 2606:4700::1111 58 0 "
}

@test "what was denied is recorded by source, destination, protocol and port, with counts" {
	gets reset tcp 93.184.216.35 81
	gets reset tcp 93.184.216.35 81
	gets "icmp 3/13" ip 132 93.184.216.35
	gets "icmp 1/1" ip 58 2606:4700::2222
	same "$(to $B tcp 93.184.216.35 82)" reset
	local mine
	mine=$(host "$NETTOOL" blocked table=$TABLE source="$a4")
	has "$mine" "$a4 93.184.216.35 6 81 2"
	has "$mine" "$a4 93.184.216.35 132 443 1"
	lacks "$mine" "$b4"
	has "$(host "$NETTOOL" blocked table=$TABLE source="$b4")" "$b4 93.184.216.35 6 82 1"
	has "$(host "$NETTOOL" blocked table=$TABLE source="$a6")" "$a6 2606:4700::2222 58 0 1"
	exits 65 host "$NETTOOL" blocked table=cloop_sbx_none
}

@test "what finds no room in the record is counted, and room is made again" {
	local d=c-00000000000e four
	read -r _ _ _ four _ < <(prepare $d cloop-sbx-full policy="$WEB")
	# shellcheck disable=SC2016 # python
	inside $d python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in range(1, 4201):
    s.sendto(b"x", ("10.99.0.1", port))'
	has "$(host "$NETTOOL" blocked table=cloop_sbx_full)" "unrecorded 104"
	[ "$(host "$NETTOOL" blocked table=cloop_sbx_full source="$four" | wc -l)" = 4097 ]
	same "$(to $d tcp 93.184.216.34 81)" reset
	has "$(host "$NETTOOL" blocked table=cloop_sbx_full)" "unrecorded 105"
	host "$NETTOOL" forget table=cloop_sbx_full source="$four"
	same "$(host "$NETTOOL" blocked table=cloop_sbx_full source="$four")" "unrecorded 105"
	same "$(to $d tcp 93.184.216.34 81)" reset
	same "$(host "$NETTOOL" blocked table=cloop_sbx_full)" "$four 93.184.216.34 6 81 1
unrecorded 105"
	unprepare $d
}

@test "who gets another's address does not get its record, and nobody forgets for others" {
	local d=c-00000000000f four six first
	read -r _ _ _ four _ six _ < <(prepare $d cloop-sbx-ci policy="$WEB" ipv6=1)
	same "$(to $d tcp 93.184.216.35 99)" reset
	same "$(to $d tcp 2606:4700::2222 99)" reset
	gets reset tcp 93.184.216.35 98
	has "$(host "$NETTOOL" blocked table=$TABLE source="$four")" " 99 1"
	has "$(host "$NETTOOL" blocked table=$TABLE source="$six")" " 99 1"
	unprepare $d
	read -r _ _ _ first _ < <(prepare $d cloop-sbx-ci policy="$WEB" ipv6=1)
	same "$first" "$four"
	same "$(host "$NETTOOL" blocked table=$TABLE source="$four")" ""
	same "$(host "$NETTOOL" blocked table=$TABLE source="$six")" ""
	host "$NETTOOL" forget table=$TABLE source="$four"
	has "$(host "$NETTOOL" blocked table=$TABLE source="$a4")" "$a4 93.184.216.35 6 98 1"
	unprepare $d
	exits 0 host "$NETTOOL" forget table=cloop_sbx_none source="$four"
}

@test "replacing the table keeps the record, and connections" {
	gets reset tcp 93.184.216.35 90
	spawn_inside $A socat -u TCP:93.184.216.34:443 "CREATE:$BATS_TEST_TMPDIR/in"
	host "$NETTOOL" apply table=$TABLE bridge="$bridge" policy="$WEB"
	has "$(host "$NETTOOL" blocked table=$TABLE)" "$a4 93.184.216.35 6 90 1"
	gets open tcp 93.184.216.34 443
}

@test "the host's own addresses are judged like any other" {
	gets reset tcp "$gw4" 22
	gets reset tcp 198.51.100.2 22
	gets reset tcp "$gw6" 22
	gets reset tcp 2001:db8:1::2 22
	gets "icmp 3/13" udp "$gw4" 53 20
	gets "icmp 1/1" ip 58 "$gw6"
	# No link-local address of the host's stands on the bridge (E11).
	same "$(host ip -6 -o addr show dev "$bridge" scope link)" ""
}

# on_host_443 HANDLE ADDR... : what TCP port 443 of each answers to the sandbox
on_host_443() {
	local a
	for a in "${@:2}"; do to "$1" tcp $a 443; done | tr '\n' ' '
}

@test "a public address of the host's is no public Internet, and what is named is reached" {
	local d=c-00000000000d many
	host ip addr add 203.0.113.7/32 dev lo
	spawn "/run/netns/$HOST" socat "TCP6-LISTEN:443,ipv6only=0,fork,reuseaddr" PIPE
	until host ss -Hltn | grep -q :443; do sleep 0.05; done
	same "$(host "$NETPKT" tcp 198.51.100.2 443)" open
	same "$(on_host_443 $A 198.51.100.2 203.0.113.7 2001:db8:1::2 "$gw4" 93.184.216.34)" "reset reset reset reset open "
	has "$(host "$NETTOOL" blocked table=$TABLE source="$a4")" "$a4 203.0.113.7 6 443 1"
	[ "$(hits inet $TABLE "no address of the host that is named")" -ge 4 ]

	prepare $d cloop-sbx-named ipv6=1 policy="${WEB/\{/\{\"allow_cidrs\":[\"198.51.100.2/32\",\"2001:db8:1::/64\"],}" > /dev/null
	same "$(on_host_443 $d 198.51.100.2 203.0.113.7 2001:db8:1::2 93.184.216.34)" "open reset open open "
	same "$(to $d tcp 198.51.100.2 22)" reset
	unprepare $d

	# By maps, and as a broker.
	many=$(seq -f '"10.7.0.%.0f/32"' -s, 1 2 99)
	prepare $d cloop-sbx-named ipv6=1 policy="${WEB/\{/\{\"brokers\":[\"203.0.113.7:443\"],\"allow_cidrs\":[$many],}" > /dev/null
	has "$(host nft list table inet cloop_sbx_named)" "ip daddr vmap @named4_32"
	same "$(on_host_443 $d 198.51.100.2 203.0.113.7 2001:db8:1::2 93.184.216.34)" "reset open reset open "
	unprepare $d
	host ip addr del 203.0.113.7/32 dev lo
}

@test "nobody connects into the sandbox: host, world, peer, another bridge" {
	spawn_inside $A socat "TCP6-LISTEN:8080,ipv6only=0,fork,reuseaddr" PIPE
	until inside $A ss -Hltn | grep -q :8080; do sleep 0.05; done
	same "$(host "$NETPKT" tcp "$a4" 8080)" reset
	same "$(host "$NETPKT" tcp "$a6" 8080)" reset
	same "$(host "$NETPKT" udp "$a4" 8080 20)" EPERM
	same "$(to $B tcp "$a4" 8080)" reset
	same "$(to $B tcp "$a6" 8080)" reset
	same "$(to $B udp "$a4" 8080 20)" "icmp 3/13"
	# Of two tables that refuse it either may be first: one resets, the other is silent.
	# shellcheck disable=SC2086 # address and port
	[[ $(to $C tcp "$a4" 8080 $FENCE4) =~ ^(reset|silence)$ ]]
	# And back: the sandbox on the other bridge is refused at this one's.
	same "$(to $A tcp "$c4" 8080)" reset
	same "$(to $A tcp "$c6" 8080)" reset
	same "$(to $A udp "$c4" 8080 20)" "icmp 3/13"
	same "$(to $A tcp 127.0.0.1 8080)" open
}

@test "the host does not become a router for the world" {
	world ip route add 10.211.0.0/16 via 198.51.100.2
	spawn_inside $A socat TCP-LISTEN:8081,fork,reuseaddr PIPE
	until inside $A ss -Hltn | grep -q :8081; do sleep 0.05; done
	w0=$(world ip -j link show w0 | jq -r '.[0].address')
	before=$(hits inet "$(host_table)" "forwards answers only")
	world "$NETPKT" frame w0 "$(mac_of_bridge up0)" "$w0" \
		ip 198.51.100.1 "$a4" 6 8081
	world "$NETPKT" frame w0 "$(mac_of_bridge up0)" "$w0" \
		ip 198.51.100.1 203.0.113.1 6 8081
	gets open tcp 93.184.216.34 443
	[ "$(hits inet "$(host_table)" "forwards answers only")" = $((before + 2)) ]
	world ip route del 10.211.0.0/16
}

@test "packets that belong to no connection are dropped" {
	local before after
	count() {
		host nft -j list chain inet $TABLE forward |
			jq '[.nftables[].rule | select(.expr[0].match.right == "invalid") | .expr[].counter.packets // empty] | add'
	}
	before=$(count)
	to $A frame eth0 "$(mac_of_bridge "$bridge")" "$(mac_of $A)" ip "$a4" 93.184.216.34 6 443 03
	to $A frame eth0 "$(mac_of_bridge "$bridge")" "$(mac_of $A)" ip "$a4" 93.184.216.34 6 443 00
	gets open tcp 93.184.216.34 443
	to $A frame eth0 "$(mac_of_bridge "$bridge")" "$(mac_of $A)" ip "$a6" 2606:4700::1111 6 443 03
	gets open tcp 2606:4700::1111 443
	after=$(count)
	[ "$after" = $((before + 3)) ]
}

@test "neighbour discovery and ARP work under the filter, and only on the own link" {
	inside $A ip -6 neigh del "$gw6" dev eth0
	inside $A ip neigh del "$gw4" dev eth0
	gets open tcp 2606:4700::1111 443
	gets open tcp 93.184.216.34 443
	has "$(inside $A ip -6 neigh show "$gw6")" "lladdr $(mac_of_bridge "$bridge")"
	has "$(inside $A ip neigh show "$gw4")" "lladdr $(mac_of_bridge "$bridge")"
	[ "$(hits inet $TABLE "IPv6 neighbour discovery on this link")" -ge 1 ]
}

# from_a FRAME... : A sends a frame of its own making to its gateway's Ethernet address
from_a() { to $A frame eth0 "$(mac_of_bridge "$bridge")" "$@"; }
# port_drops WHICH WANT CMD... : the command makes the port's counter of that drop go up by WANT
port_drops() {
	local which=$1 want=$2 before after judged
	shift 2
	before=$(hits netdev cloop_port_00000000000a "$which")
	judged=$(judged_packets)
	"$@"
	# What was sent before an answered packet has been seen before it.
	gets open tcp 93.184.216.34 443
	after=$(hits netdev cloop_port_00000000000a "$which")
	[ "$after" = $((before + want)) ] || { echo "$*: $((after - before)) dropped" >&2; return 1; }
	[ "$want" = 0 ] || [ "$(judged_packets)" = "$judged" ]
}
# What came as far as the policy's refusals.
judged_packets() { hits inet $TABLE "default deny"; }
OWN="not the sandbox's own address"
OWN_MAC="not the sandbox's Ethernet address"

@test "the port passes what comes from the sandbox's own addresses" {
	local me before
	me=$(mac_of $A)
	before=$(judged_packets)
	port_drops "$OWN" 0 from_a "$me" ip "$a4" 93.184.216.34 17 1000
	port_drops "$OWN" 0 from_a "$me" ip "$a6" 2606:4700::1111 17 1000
	[ "$(judged_packets)" = $((before + 2)) ]
	port_drops "$OWN" 0 from_a "$me" arp "$me" "$a4" "$gw4"
}

@test "with raw sockets too, nobody sends from another address" {
	local me a
	me=$(mac_of $A)
	for a in "$b4" "$gw4" 10.99.0.1 93.184.216.34 0.0.0.0 127.0.0.1; do
		port_drops "$OWN" 1 from_a "$me" ip $a 93.184.216.34 17 1000
	done
	for a in "$b6" "$gw6" 2606:4700::2222 :: ::1 fe80::1 ::ffff:10.0.0.1; do
		port_drops "$OWN" 1 from_a "$me" ip $a 2606:4700::1111 17 1000
	done
}

@test "nor as another machine on the link" {
	local me other
	me=$(mac_of $A) other=$(mac_of $B)
	port_drops "$OWN_MAC" 1 from_a "$other" ip "$a4" 93.184.216.34 17 1000
	port_drops "$OWN_MAC" 1 from_a "$(mac_of_bridge "$bridge")" arp "$me" "$a4" "$gw4"
	port_drops "$OWN" 1 from_a "$me" arp "$me" "$b4" "$gw4"
	port_drops "$OWN" 1 from_a "$me" arp "$me" "$gw4" "$gw4"
	port_drops "$OWN" 1 from_a "$me" arp "$other" "$a4" "$gw4"
	port_drops "$OWN" 1 from_a "$me" ip "$b6" "$gw6" 58 0
	port_drops "$OWN" 1 from_a "$me" ip fe80::1 "$gw6" 58 0
	same "$(host ip neigh show "$b4" dev "$bridge")" "$b4 lladdr $other PERMANENT "
	has "$(host bridge fdb show br "$bridge")" "$other dev $b_if master $bridge static"
}

@test "nor in another protocol" {
	local me t
	me=$(mac_of $A)
	for t in 8100 88cc 8863 0026 88f7; do
		port_drops "$OWN" 1 from_a "$me" type $t
	done
}

@test "ports of one bridge do not hear each other" {
	spawn_inside $B "$NETPKT" listen "$b4" 9000 > "$BATS_TEST_TMPDIR/heard"
	until grep -q ready "$BATS_TEST_TMPDIR/heard"; do sleep 0.05; done
	to_b() { to $A frame eth0 "$(mac_of $B)" "$(mac_of $A)" ip "$a4" "$b4" 17 9000; }
	to_b
	to $A frame eth0 ff:ff:ff:ff:ff:ff "$(mac_of $A)" ip "$a4" "$b4" 17 9000
	gets open tcp 93.184.216.34 443
	same "$(to $B tcp 93.184.216.34 443)" open
	same "$(cat "$BATS_TEST_TMPDIR/heard")" ready
	# The same frame arrives when nothing stands between the two.
	host bridge link set dev "$a_if" isolated off
	host nft delete table inet $TABLE
	to_b
	until grep -q datagram "$BATS_TEST_TMPDIR/heard"; do sleep 0.05; done
	host bridge link set dev "$a_if" isolated on
	host "$NETTOOL" apply table=$TABLE bridge="$bridge" policy="$WEB"
}

@test "without IPv6 there is none, not even by raw socket" {
	local d=c-00000000000d me
	read -r _ br _ _ _ six < <(prepare $d cloop-sbx-four policy="$WEB")
	same "$six" ""
	same "$(inside $d ip -6 -o addr show dev eth0)" ""
	same "$(to $d tcp 93.184.216.34 443)" open
	run -2 inside $d ip -6 route get 2606:4700::1111
	me=$(mac_of $d)
	inside $d "$NETPKT" frame eth0 "$(mac_of_bridge "$br")" "$me" ip fd63:6c6f:6f70::1 2606:4700::1111 17 443
	inside $d "$NETPKT" frame eth0 "$(mac_of_bridge "$br")" "$me" ip fe80::1 ff02::1 58 0
	same "$(to $d tcp 93.184.216.34 443)" open
	[ "$(hits netdev cloop_port_00000000000d "$OWN")" -ge 2 ]
	unprepare $d
}
