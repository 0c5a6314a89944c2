#!/usr/bin/env bats
# The ruleset over netlink is the one that the printed script loads.
load lib/common
load lib/net

setup_file() {
	need root nft ip jq
	net_up
}
teardown_file() { net_down; }
teardown() { host nft flush ruleset; }

# both_ways NAME=VALUE... : loads the script, then the batch; the listings must be equal
both_ways() {
	host "$NETTOOL" render table=t1 bridge=br0 "$@" | host nft -f -
	listing inet t1 > "$BATS_TEST_TMPDIR/text"
	host nft delete table inet t1
	host "$NETTOOL" apply table=t1 bridge=br0 "$@"
	listing inet t1 > "$BATS_TEST_TMPDIR/batch"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/batch")" -gt 100 ]
	diff "$BATS_TEST_TMPDIR/text" "$BATS_TEST_TMPDIR/batch"
}

@test "script and batch give the same table" {
	both_ways policy="$WEB"
	both_ways policy='{}'
	both_ways policy='{"silent":true}'
	both_ways policy='{"allow_public_internet":true,"allow_ports":[443,80,22]}'
	both_ways policy='{"allow_public_internet":true,"all_ports":true,"silent":true,
		"allow_cidrs":["10.8.0.0/15","fc00::/13","2000::/3","192.0.2.128/25"],
		"deny_cidrs":["0.0.0.0/0","2001:db8::/33"],"brokers":["10.0.0.1:3128","[fd00::1]:80"]}'
}

@test "script and batch give the same table whatever a policy opens" {
	both_ways policy='{"brokers":["10.0.0.1:3128"]}'
	both_ways policy='{"allow_cidrs":["10.8.0.0/24","10.8.1.0/25","fc00::/8"],"allow_ports":[443,444,22],
		"deny_cidrs":["fc00:1::/32"],"resolvers":["9.9.9.9:53"]}'
	both_ways policy='{"allow_cidrs":["128.0.0.0/1","8000::/1"],"all_ports":true}'
	both_ways policy='{"allow_cidrs":["0.0.0.0/1","::/1"],"allow_ports":[1,2,65535],"resolvers":["1.1.1.1:53"]}'
	both_ways policy=shapes
	both_ways policy='{"allow_cidrs":["10.1.0.0/16","10.3.0.0/16","10.9.1.0/24","10.9.5.1/32","10.9.5.3/32","12.0.0.0/16",
		"12.2.0.0/16","12.4.0.0/16","12.6.0.0/16","12.8.0.0/16","fd00:1::/32","fd00:3::/32","fd00:5:5::/48","fd00:5:7:1::/64",
		"fd00:5:7:3::/64"],"allow_ports":[443,80],"brokers":["10.9.5.5:3128"]}'
	many() { seq -f "\"$1\"" -s, "$2" "$3"; }
	both_ways policy="{\"allow_public_internet\":true,\"allow_ports\":[443],
		\"resolvers\":[$(many '9.9.9.%.0f:53' 1 100),$(many '[2a00::1]:%.0f' 1 64)],\"brokers\":[$(many '10.0.0.1:%.0f' 1 256)]}"
}

@test "ten thousand ranges of both families: script and batch give the same table" {
	python3 -c '
import json
r = [f"{20 + i // 256}.{i % 256}.{i % 251}.0/{24 + i % 9}" for i in range(5000)]
r += [f"2a{i % 16:02x}:{i:x}::/{32 + i % 97}" for i in range(5000)]
print(json.dumps({"allow_cidrs": r, "allow_ports": [443, 80], "deny_cidrs": ["20.7.0.0/16"]}))' > "$BATS_TEST_TMPDIR/big.json"
	both_ways policy=@"$BATS_TEST_TMPDIR/big.json"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/batch")" -gt 100000 ]
}

@test "script and batch give the same table for one sandbox's own addresses" {
	both_ways policy="$WEB" source4=10.211.0.5 source6=fd00::5 masquerade=1
	both_ways policy="$WEB" source4=10.211.0.5
	both_ways policy="$WEB" source6=fd00::5 masquerade=1
	both_ways policy="{\"allow_public_internet\":true,\"allow_ports\":[443,8443],\"resolvers\":[\"9.9.9.9:53\"],
		\"allow_cidrs\":[$(seq -f '"10.7.0.%.0f/32"' -s, 1 2 99)]}" source4=10.211.0.5 masquerade=1
	has "$(cat "$BATS_TEST_TMPDIR/batch")" '"@named4'
}

@test "applying replaces what is there, and removing is idempotent" {
	host "$NETTOOL" apply table=t1 bridge=br0 policy="$WEB"
	listing inet t1 > "$BATS_TEST_TMPDIR/once"
	host "$NETTOOL" apply table=t1 bridge=br1 policy='{}'
	host "$NETTOOL" apply table=t1 bridge=br0 policy="$WEB"
	same "$(listing inet t1)" "$(cat "$BATS_TEST_TMPDIR/once")"
	same "$(host "$NETTOOL" tables prefix=t)" t1
	same "$(host "$NETTOOL" tables prefix=x)" ""
	exits 0 host "$NETTOOL" remove table=t1
	exits 0 host "$NETTOOL" remove table=t1
	same "$(host nft list tables)" ""
}

@test "the probe tries everything and leaves nothing" {
	exits 0 host "$NETTOOL" probe
	same "$output" usable
	same "$(host nft list tables)" ""
}

@test "without CAP_NET_ADMIN it says so" {
	exits 77 host setpriv --bounding-set -net_admin --inh-caps -net_admin "$NETTOOL" probe
	same "$output" no-permission
	has "$stderr" "fix: run as root (CAP_NET_ADMIN"
	exits 77 host setpriv --bounding-set -net_admin --inh-caps -net_admin "$NETTOOL" apply table=t1 bridge=br0 policy='{}'
}

@test "names that would not be names are refused" {
	exits 65 host "$NETTOOL" apply table='t1;x' bridge=br0 policy='{}'
	exits 65 host "$NETTOOL" apply table=t1 bridge='br0"' policy='{}'
	exits 65 host "$NETTOOL" apply table=t1 bridge=abcdefghijklmnop policy='{}'
}

@test "a port that is not there is named, and nothing is left of its table" {
	exits 65 host "$NETTOOL" port table=p1 device=nosuch0 mac=02:00:00:00:00:01 source4=10.0.0.2
	has "$stderr" "there is no interface 'nosuch0'"
	exits 0 host "$NETTOOL" port table=p1 device=up0 mac=02:00:00:00:00:01 source4=10.0.0.2
	has "$(host nft list table netdev p1)" 'hook ingress device "up0"'
	host nft delete table netdev p1
}

@test "a netlink that is forbidden is said to be" {
	need strace
	exits 77 host env ASAN_OPTIONS=detect_leaks=0 strace -qq -o /dev/null -e trace=socket -e inject=socket:error=EPERM \
		"$NETTOOL" apply table=t1 bridge=br0 policy='{}'
	has "$stderr" "netlink sockets are forbidden here"
	exits 69 host env ASAN_OPTIONS=detect_leaks=0 strace -qq -o /dev/null -e trace=socket -e inject=socket:error=EPROTONOSUPPORT \
		"$NETTOOL" probe
	same "$output" no-kernel
}
