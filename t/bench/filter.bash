# For items about policies of many ranges, and about what a filter costs the packets through it: a
# sandbox, a host with a bridge and the world, as network namespaces of their own.
# shellcheck shell=bash disable=SC2034,SC2154
RATE=$BUILD_DIR/t/lib/egressrate
PACKETS=$BUILD_DIR/t/lib/packetrate
NETTOOL=$BUILD_DIR/t/lib/nettool

# ranges COUNT [KEY=JSON...] : a policy of that many /25s, a closed one between any two
ranges() {
	python3 -c '
import json, sys
n = int(sys.argv[1])
p = {"allow_cidrs": [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/25" for i in range(n)],
     "allow_ports": [443, 80]}
p.update((k, json.loads(v)) for k, v in (m.split("=", 1) for m in sys.argv[2:]))
json.dump(p, sys.stdout)' "$@"
}
# uneven COUNT : a policy of that many ranges of random sizes that are no prefixes, as prefixes
uneven() {
	python3 -c '
import ipaddress, json, random, sys
random.seed(5)
n = int(sys.argv[1])
step = (1 << 25) // n
r = []
for i in range(n):
    first = (20 << 24) + i * step + random.randrange(step // 2) + 1
    last = first + random.randrange(1, 1 << random.randrange(1, (step // 2).bit_length() - 1))
    r += map(str, ipaddress.summarize_address_range(ipaddress.IPv4Address(first), ipaddress.IPv4Address(last)))
json.dump({"allow_cidrs": r, "allow_ports": [443, 80]}, sys.stdout)' "$@"
}
# The same as `ranges` in both families, 100,000 together.
both_families() {
	python3 -c '
import json, sys
r = [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/25" for i in range(70000)]
r += [f"2a{i % 16:02x}:{i:x}::/{32 + i % 33}" for i in range(30000)]
json.dump({"allow_cidrs": r, "allow_ports": [443, 80], "resolvers": ["9.9.9.9:53"]}, sys.stdout)'
}

# questions COUNT POLICY : one a line, into the ranges and close behind them
questions() {
	python3 -c '
import ipaddress, json, random, sys
random.seed(7)
r = [ipaddress.ip_network(c) for c in json.load(open(sys.argv[2]))["allow_cidrs"]]
r = [(int(n[0]), n.num_addresses, n.version == 6) for n in r]
for _ in range(int(sys.argv[1])):
    first, n, six = random.choice(r)
    a = first + random.randrange(2 * n)
    a = f"[{ipaddress.IPv6Address(a)}]" if six else ipaddress.IPv4Address(a)
    print(f"{a}:{random.choice((443, 80, 22))}")' "$@"
}

# cpu_us CMD... : microseconds of processor time, user and system
cpu_us() {
	local t TIMEFORMAT='%3U %3S'
	t=$({ time "$@" > /dev/null; } 2>&1) || { echo "$t" >&2; return 1; }
	awk 'END { printf "%.0f\n", ($1 + $2) * 1e6 }' <<< "$t"
}
# row OURS PEER
row() { jq -cn --argjson o "$1" --argjson p "$2" '{ours_us: $o, peer_us: $p, ratio: ($o / $p)}'; }

# Rigs have names, so that there can be two at once: whose is acted on is in $rig.
rig=ours
in_host() { nsenter "--net=/run/netns/clb-$$-$rig-host" -- "$@"; }
# filter_up RIG...
filter_up() {
	local rig
	for rig; do one_up || return 1; done
}
one_up() {
	local n s=clb-$$-$rig-sandbox h=clb-$$-$rig-host w=clb-$$-$rig-world
	for n in "$s" "$h" "$w"; do ip netns add "$n" && ip -n "$n" link set lo up || return 1; done
	ip -n $h link add br0 type bridge mcast_snooping 0
	ip -n $h addr add 10.211.0.1/24 dev br0
	ip link add eth0 netns $s type veth peer name p0 netns $h
	ip -n $h link set p0 master br0 up
	ip -n $h link set br0 up
	ip -n $s addr add 10.211.0.2/24 dev eth0
	ip -n $s link set eth0 up
	ip -n $s route add default via 10.211.0.1
	ip link add out netns $h type veth peer name eth0 netns $w
	ip -n $h addr add 198.51.100.1/30 dev out
	ip -n $w addr add 198.51.100.2/30 dev eth0
	ip -n $h link set out up
	ip -n $w link set eth0 up
	ip -n $w route add local 20.0.0.0/7 dev lo
	ip -n $w route add 10.211.0.0/24 via 198.51.100.1
	ip -n $h route add default via 198.51.100.2
	in_host sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0
	# Nobody has to be asked where the other is.
	ip -n $h neigh replace 198.51.100.2 lladdr "$(ip -n $w -j link show eth0 | jq -r '.[0].address')" dev out
	ip -n $s neigh replace 10.211.0.1 lladdr "$(ip -n $h -j link show br0 | jq -r '.[0].address')" dev eth0
}
filter_down() {
	local n
	for n in $(ip netns list | grep -o "^clb-$$-[a-z-]*"); do ip netns del "$n"; done
	return 0
}
# What a packet meets that is tracked and nothing else: two rules, one of which lets through what
# is established.
tracked() {
	in_host nft -f - <<- 'E'
		flush ruleset
		table inet t1 {
			chain forward {
				type filter hook forward priority 0
				ct state established,related counter accept
				ct state invalid counter drop
			}
		}
	E
}
# filter POLICY : ours
filter() {
	in_host nft flush ruleset &&
		in_host "$NETTOOL" apply table=t1 bridge=br0 policy=@"$1"
}
# linear POLICY : the same as a rule a range
linear() {
	in_host nft flush ruleset
	{
		printf 'table inet t1 {\nchain forward {\ntype filter hook forward priority 0\n'
		printf 'ct state established,related counter accept\nct state invalid counter drop\n'
		jq -r '.allow_cidrs[] | "ip daddr \(.) tcp dport { 443, 80 } counter accept"' "$1"
		printf 'iifname "br0" counter reject\n}\n}\n'
	} | in_host nft -f -
}
# The world looks at nothing that arrives.
deaf_world() {
	nsenter "--net=/run/netns/clb-$$-$rig-world" -- nft -f - <<- 'E'
		table netdev deaf {
			chain in { type filter hook ingress device "eth0" priority 0; policy drop; }
		}
	E
}
# two_up COUNT : a policy of that many ranges in $tmp/policy, and the rigs "ours", where it
# stands, and "peer", where nothing does
two_up() {
	skip_unless root nft python3
	filter_up ours peer && ranges "$1" > "$tmp/policy" && filter "$tmp/policy"
}
# first_packets_up COUNT : two_up with worlds that are deaf, and connections that are tracked on
# both sides
first_packets_up() {
	two_up "$1" && deaf_world && rig=peer deaf_world && rig=peer tracked
}
# first N : an object of the first packets to N destinations that the policy allows
first() {
	jq -r '.allow_cidrs[] | sub("/.*"; "")' "$tmp/policy" |
		awk -v n="$1" '{ a[NR] = $0 } END { for (i = 0; i < n; i++) print a[1 + int(i * NR / n)] }' > "$tmp/to"
	"$PACKETS" first "$tmp/to" clb-$$-ours clb-$$-peer
}
# first_against_tracked : at most 500 ns more than a packet pays that is tracked and let through
first_against_tracked() {
	first 10 | jq -c '.peer_us += 500 | .ratio = .ours_us / .peer_us'
}
bulk() { "$PACKETS" bulk clb-$$-ours clb-$$-peer; }
