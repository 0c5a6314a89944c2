#!/usr/bin/env bats
# What a kernel enforces, read back and held to the policy.
load lib/common
load lib/netrig

NETTOOL=$BUILD_DIR/t/lib/nettool
POLICY='{"allow_public_internet":true,"allow_ports":[443],"resolvers":["9.9.9.9:53"],"allow_cidrs":["10.0.0.0/9"],
	"brokers":["10.211.0.1:8118","10.211.0.1:8119","10.211.0.1:8120","10.211.0.1:8121"],
	"deny_cidrs":["10.1.0.0/16","10.3.0.0/16","10.5.0.0/16","10.7.0.0/16","10.9.0.0/16","10.99.0.0/16"]}'

# One map for each of three lengths.
PREFIXES='{"allow_cidrs":["10.1.0.0/16","10.3.0.0/16","10.9.1.0/24","10.9.3.0/24","10.9.5.1/32","10.9.5.3/32","10.9.5.5/32",
	"12.0.0.0/16","12.2.0.0/16","12.4.0.0/16","12.6.0.0/16","12.8.0.0/16"],"allow_ports":[80]}'

setup_file() {
	[ "$(id -u)" = 0 ] && command -v nft > /dev/null || return 0
	rig_up
	rig_serve outside 22 25 53 80 443
	rig_serve host 22
	echo "$POLICY" > "$BATS_FILE_TMPDIR/policy"
}
teardown_file() { rig_down; }
setup() {
	need root nft ip python3 jq
	rig host nft flush ruleset
}

apply() { rig host "$NETTOOL" apply table=t1 bridge=br0 policy="$POLICY" "$@"; }
verify() { rig host cloop-egress firewall verify --table t1 --bridge br0 --policy "$BATS_FILE_TMPDIR/policy" "$@"; }

# edit COMMAND : of nft(8), or del CHAIN TEXT
edit() {
	local chain handle
	if [[ $1 == del\ * ]]; then
		read -r _ chain text <<< "$1"
		handle=$(rig host nft -a list chain inet t1 "$chain" | grep -F "$text" | head -n 1 | sed 's/.*# handle //')
		rig host nft delete rule inet t1 "$chain" handle "$handle"
	else
		rig host nft "$1"
	fi
}

@test "what was installed means what the policy says, in every form of it" {
	local p
	for p in '{}' '{"silent":true}' "$POLICY" '{"allow_public_internet":true,"all_ports":true}' \
		'{"allow_cidrs":["10.0.0.0/8","fc00::/8"],"allow_ports":[80,443,444,8080]}' \
		'{"allow_public_internet":true,"allow_ports":[443],"resolvers":["9.9.9.9:53","[2606:4700::1111]:53"],"silent":true}' \
		"$PREFIXES"; do
		rig host "$NETTOOL" apply table=t1 bridge=br0 policy="$p"
		exits 0 rig host cloop-egress firewall verify --table t1 --bridge br0 --policy - <<< "$p"
		same "$output" "t1 on br0: as it should be"
		cloop-egress firewall --policy - --format nft-bridge --bridge br0 --table t2 <<< "$p" | rig host nft -f -
		exits 0 rig host cloop-egress firewall verify --table t2 --bridge br0 --policy - --json <<< "$p"
		same "$(jq -c '[.identical, .table, .bridge, .differences]' <<< "$output")" '[true,"t2","br0",[]]'
	done
}

# found COMMAND WHAT EXAMPLE PACKET ANSWER : one line of the table; the packet is sent with the edit
# and without it
found() {
	apply && edit "$1" || return 1
	exits 1 verify && has "$output" "$2" && has "$output" "$3" || return 1
	[ "$4" = - ] && return 0
	same "$(rig_ask sandbox "$4" | cut -f2)" "$5" && apply &&
		[ "$(NETASK_WAIT=0.5 rig_ask sandbox "$4" | cut -f2)" != "$5" ]
}

@test "every edit is found, with a packet that the kernel treats so" {
	local command what example packet answer n=0 bad=0
	while IFS=$'\t' read -r command what example packet answer; do
		[[ $command == '#'* ]] && continue
		found "$command" "$what" "$example" "$packet" "$answer" < /dev/null ||
			{ echo "^ edit: $command" >&2; bad=$((bad + 1)); }
		rig host nft flush ruleset
		n=$((n + 1))
	done < "$CASES/verify/mutations.tsv"
	[ "$n" -ge 35 ]
	same "$bad" 0
}

@test "every edit of maps of prefixes is found" {
	local command what p=$BATS_TEST_TMPDIR/policy n=0
	echo "$PREFIXES" > "$p"
	while IFS='|' read -r command what; do
		echo "edit: $command" >&2
		rig host "$NETTOOL" apply table=t1 bridge=br0 policy="$PREFIXES"
		rig host nft "$command"
		exits 1 rig host cloop-egress firewall verify --table t1 --bridge br0 --policy "$p"
		has "$output" "$what"
		n=$((n + 1))
	done <<- 'E'
		delete element inet t1 allowed4_16 { 12.4.0.0 }|to 12.4.0.0-12.4.255.255 port 80
		delete element inet t1 allowed4_24 { 10.9.5.0 }|to 10.9.5.1 port 80
		delete element inet t1 allowed4_32 { 10.9.5.3 }|to 10.9.5.3 port 80
		delete element inet t1 allowed4_16 { 12.4.0.0 }; add element inet t1 allowed4_16 { 12.5.0.0 }|to 12.5.0.0-12.5.255.255 port 80
		delete element inet t1 allowed4_24 { 10.9.3.0 }; add element inet t1 allowed4_24 { 12.5.0.0 : accept }|to 12.5.0.0-12.5.0.255
		delete element inet t1 allowed4_32 { 10.9.5.3 }; add element inet t1 allowed4_32 { 10.9.5.2 }|to 10.9.5.2 port 80
		delete element inet t1 allowed4_24 { 10.9.1.0 }; add element inet t1 allowed4_24 { 10.9.4.0 : goto allow1 }|to 10.9.4.0-10.9.4.255 port 80
		insert rule inet t1 allowed4_32 ip daddr & 255.255.255.0 vmap { 10.9.5.0 : accept }|to 10.9.5.0-10.9.5.255
		insert rule inet t1 outbound ip daddr & 255.0.0.0 @allowed4_16 accept|to 12.1.0.0-12.1.255.255
		insert rule inet t1 outbound ip daddr & 255.255.0.0 != @allowed4_16 tcp dport 80 accept|let through
		insert rule inet t1 allowed4_32 ip daddr != @allowed4_32 tcp dport 443 accept|port 443
		insert rule inet t1 outbound ip daddr & 255.0.255.0 vmap @allowed4_24|may be let through
	E
	same "$n" 12
	# An element that no packet can meet.
	rig host "$NETTOOL" apply table=t1 bridge=br0 policy="$PREFIXES"
	rig host nft 'insert rule inet t1 outbound ip daddr & 255.255.0.0 vmap { 12.4.0.1 : accept }'
	exits 0 rig host cloop-egress firewall verify --table t1 --bridge br0 --policy "$p"
}

@test "edits that change nothing are no difference" {
	local command
	while read -r command; do
		echo "edit: $command" >&2
		apply
		edit "$command"
		exits 0 verify
	done <<- 'E'
		insert rule inet t1 outbound counter
		insert rule inet t1 outbound log prefix "x"
		add rule inet t1 outbound ip daddr 10.0.0.0/8 accept
		insert rule inet t1 outbound ct state new ip daddr 9.9.9.9 udp dport 53 accept
		insert rule inet t1 outbound iifname "br0" ct state new,untracked ip daddr 10.1.0.0/16 tcp dport 80 goto denied
		insert rule inet t1 forward iifname "eth9" oifname "eth8" accept
		add chain inet t1 unused; add rule inet t1 unused accept
		add set inet t1 unused { type ipv4_addr; elements = { 1.2.3.4 }; }
		add chain inet t1 extra { type filter hook forward priority 0; policy accept; }
		insert rule inet t1 outbound meta l4proto 6 meta l4proto 17 accept
		insert rule inet t1 outbound ip daddr 10.0.0.1 ip daddr 10.0.0.2 accept
		add table ip other; add chain ip other f { type filter hook forward priority 0; policy drop; }
	E
}

@test "the wrong bridge, the wrong policy and the wrong answer are found" {
	rig host "$NETTOOL" apply table=t1 bridge=br1 policy="$POLICY"
	exits 1 verify
	has "$output" "let through, should be reset: forward, IPv4, in by br0, out by any other, tcp, new/untracked"
	has "$output" "in by br1"
	apply
	exits 1 rig host cloop-egress firewall verify --table t1 --bridge br0 --internet --ports 443
	has "$output" "let through, should be reset: forward, IPv4, in by br0, out by any other, tcp, new/untracked
	to 9.9.9.9 port 53
	to 10.0.0.0-10.0.255.255 port 443"
	exits 1 rig host cloop-egress firewall verify --table t1 --bridge br0 --internet --ports 443 --json
	same "$(jq -c '.differences[0] | [.hook, .expected, .actual, .destinations[0], .example.address, .example.port]' <<< "$output")" \
		'["forward","reset","accept",{"from":"9.9.9.9","ports":[[53,53]],"to":"9.9.9.9"},"10.0.0.1",443]'
	rig host "$NETTOOL" apply table=t1 bridge=br0 policy='{"silent":true}'
	exits 1 rig host cloop-egress firewall verify --table t1 --bridge br0 --policy - <<< '{}'
	has "$output" "dropped in silence, should be reset: forward, IPv4, in by br0, out by any other, tcp, new/untracked"
}

@test "a hundred thousand ranges, and one that was put in the place of another" {
	python3 -c '
import json
r = [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/25" for i in range(100000)]
json.dump({"allow_cidrs": r, "allow_ports": [443, 80], "allow_public_internet": True}, open("'"$BATS_TEST_TMPDIR"'/p", "w"))'
	rig host "$NETTOOL" apply table=t1 bridge=br0 policy=@"$BATS_TEST_TMPDIR/p"
	exits 0 rig host cloop-egress firewall verify --table t1 --bridge br0 --policy "$BATS_TEST_TMPDIR/p"
	rig host nft 'delete element inet t1 named4_25 { 20.5.5.0 }; add element inet t1 named4_25 { 21.200.7.128 }'
	exits 1 rig host cloop-egress firewall verify --table t1 --bridge br0 --policy "$BATS_TEST_TMPDIR/p"
	has "$output" "t1 on br0: 3 differences"
	has "$output" "for example tcp to 21.200.7.128:443 (new)"
	has "$output" "for example tcp to 20.5.5.0:443 (new)"
}

@test "what is missing to look has its own message" {
	need strace
	apply
	exits 77 rig host setpriv --bounding-set -net_admin --inh-caps -net_admin "$BIN/cloop-egress" firewall verify --table t1 --bridge br0
	has "$stderr" "cannot read table 't1': not permitted"
	has "$stderr" "fix: run as root (CAP_NET_ADMIN"
	exits 77 rig host env ASAN_OPTIONS=detect_leaks=0 strace -qq -o /dev/null -e trace=socket -e inject=socket:error=EPERM \
		"$BIN/cloop-egress" firewall verify --table t1 --bridge br0
	has "$stderr" "netlink sockets are forbidden here"
	exits 64 cloop-egress firewall verify --table t1
	has "$stderr" "--bridge NAME is needed"
	exits 64 cloop-egress firewall verify --bridge br0
	exits 65 cloop-egress firewall verify --table 't1;x' --bridge br0
	exits 65 cloop-egress firewall verify --table t1 --bridge 'br0"'
}
