#!/usr/bin/env bats
# cloop egress firewall: what a policy installs and answers. Packets are in 3010.
load lib/common

GUIDE=(--internet --ports 443 --resolver 9.9.9.9:53)
fw() { cloop-egress firewall "$@"; }
policy() { awk -F'\t' -v p="$1" '$1 == p { print $3 }' "$CASES/egress/policies.tsv"; }

@test "the guide's listing, byte for byte where it shows lines" {
	exits 0 fw "${GUIDE[@]}"
	local want
	want='IP-layer egress filter  mode filtered, 38 rules, from flags

warning: every public address is reachable on port 443; only the private,
loopback, link-local, CGNAT and metadata ranges are filtered

  allow  127.0.0.0/8                any          sandbox-local loopback [namespace-local]'
	same "$(head -n 6 <<< "$output")" "$want"
	while IFS= read -r line; do
		grep -qxF -- "$line" <<< "$output" || { echo "missing: $line" >&2; return 1; }
	done <<- 'GUIDE_END'
		  allow  9.9.9.9/32             udp 53           DNS resolver
		  allow  9.9.9.9/32             tcp 53           DNS resolver (truncated answers retry over TCP)
		  drop   100.100.100.200/32         any          cloud metadata service (100.100.100.200)
		  drop   168.63.129.16/32           any          cloud metadata service (168.63.129.16)
		  drop   169.254.169.254/32         any          cloud metadata service (169.254.169.254)
		  drop   fd00:ec2::254/128          any          cloud metadata service (fd00:ec2::254)
		  drop   127.0.0.0/8                any          loopback
		  drop   169.254.0.0/16             any          link-local
		  drop   10.0.0.0/8                 any          private (RFC1918/ULA)
		  drop   100.64.0.0/10              any          carrier-grade NAT (RFC6598)
		  allow  0.0.0.0/0              tcp 443          public Internet
	GUIDE_END
	same "$(tail -n 1 <<< "$output")" '  drop   0.0.0.0/0                  any          default deny'
	[ "$(grep -cE '^  (allow|drop ) ' <<< "$output")" = 39 ]
}

@test "the guide's two questions" {
	exits 0 fw "${GUIDE[@]}" --check 93.184.216.34:443
	same "$output" 'ALLOW 93.184.216.34 93.184.216.34:443/tcp — public Internet'
	exits 1 fw "${GUIDE[@]}" --check 10.4.5.6:443
	same "$output" 'DROP  10.4.5.6 10.4.5.6:443/tcp — private (RFC1918/ULA)'
}

@test "several questions: one line each, and 1 when one is dropped" {
	exits 1 fw "${GUIDE[@]}" --check '[2606:4700::1111]:443' --check 9.9.9.9:53/UDP \
		--check '[::ffff:10.0.0.1]:443' --check 1.1.1.1:0/any --check 127.0.0.1:80
	same "$output" 'ALLOW 2606:4700::1111 [2606:4700::1111]:443/tcp — public Internet
ALLOW 9.9.9.9 9.9.9.9:53/udp — DNS resolver
DROP  ::ffff:10.0.0.1 [::ffff:10.0.0.1]:443/tcp — private (RFC1918/ULA)
DROP  1.1.1.1 1.1.1.1:0/any — default deny
DROP  127.0.0.1 127.0.0.1:80/tcp — loopback'
	exits 0 fw "${GUIDE[@]}" --check 1.1.1.1:443 --check 1.0.0.1:443 --format nft
}

@test "answers and policies as JSON" {
	exits 1 fw "${GUIDE[@]}" --json --check 10.4.5.6:443 --check 1.1.1.1:22
	same "$(jq -c '[.query,.address,.port,.protocol,.verdict,.reason,.rule]' <<< "$output")" \
		'["10.4.5.6:443/tcp","10.4.5.6",443,"tcp","drop","private (RFC1918/ULA)",28]
["1.1.1.1:22/tcp","1.1.1.1",22,"tcp","drop","default deny",null]'
	exits 0 fw "${GUIDE[@]}" --json
	same "$(jq -c '[.mode, .silent, .default, (.rules | length), .rules[2].ports, .rules[27].prefix]' <<< "$output")" \
		'["filtered",false,"drop",38,[53],"10.0.0.0/8"]'
	local json=$output
	exits 0 fw "${GUIDE[@]}" --format JSON
	same "$output" "$json"
}

@test "every vector of the policies, through --policy" {
	local n p q verdict reason bad=0
	while IFS=$'\t' read -r n p q verdict reason; do
		[[ $n == '#'* ]] && continue
		local want=0 word=ALLOW got rc=0
		[ "$verdict" = allow ] || want=1 word='DROP '
		got=$(policy "$p" | fw --policy - --check "$q") || rc=$?
		[ "$rc" = $want ] && [[ $got == "$word "*" — $reason" ]] ||
			{ echo "vector $n: status $rc, $got" >&2; bad=1; }
	done < "$CASES/egress/answers.tsv"
	return $bad
}

@test "the rule counts of the policies, through --policy and --from-spec" {
	local name count auth
	while IFS=$'\t' read -r name count auth; do
		[[ $name == '#'* ]] && continue
		exits 0 fw --policy - <<< "$auth"
		has "$output" ", $count rules, from standard input"
		exits 0 fw --from-spec - --json <<< "{\"argv\":[\"true\"],\"egress\":$auth}"
		[ "$(jq '.rules | length' <<< "$output")" = "$count" ]
	done < "$CASES/egress/policies.tsv"
}

@test "every refusal, through --policy; an unnamed metadata service is carved out and said" {
	local n surface result piece auth
	while IFS=$'\t' read -r n surface result piece auth; do
		[[ $n == '#'* ]] && continue
		echo "vector $n" >&2
		if [ "$surface" != write ] && [ "$result" = refused ]; then
			exits 65 fw --policy - <<< "$auth"
			has "$stderr" "$piece"
			has "$stderr" "  fix: "
			[ -z "$output" ]
		elif [[ $n != 47* ]]; then
			exits 0 fw --policy - --format json <<< "$auth"
			[ "$result" = accepted ] || has "$(jq -r '.warnings[]' <<< "$output")" "$piece"
		fi
	done < "$CASES/egress/refusals.tsv"
}

@test "flags refuse a range that holds an unnamed metadata service" {
	local range
	for range in 169.254.128.0/17 fd00:ec2::/32 168.63.0.0/16 0.0.0.0/1; do
		exits 65 fw --cidrs "$range" --ports 80
		has "$stderr" "--cidrs: $range contains"
		has "$stderr" "  fix: add "
		# The fix is one: with what it names the range is taken.
		exits 0 fw --ports 80 --cidrs "$range,$(sed -n 's/^  fix: add \(.*\) to --cidrs to open.*/\1/p' <<< "$stderr" | tr -d ' ')"
	done
	# There is nothing to add to a range of length 0: no policy has one.
	for range in 0.0.0.0/0 ::/0; do
		exits 65 fw --cidrs "$range" --ports 80
		has "$stderr" "--cidrs: $range contains"
		has "$stderr" "  fix: allow the public Internet (--internet, allow_public_internet), or name the ranges"
	done
	exits 65 fw --cidrs 169.254.169.0/24,169.254.169.254/32 --ports 80
	has "$stderr" "the cloud metadata service 169.254.169.252 (GKE metadata server for Workload Identity)"
	lacks "$stderr" "169.254.169.254 ("
	exits 0 fw --cidrs fc00::/7 --deny fd00::/8 --ports 80
	exits 0 fw --cidrs 100.64.0.0/10,::ffff:100.100.100.200/128 --ports 80
}

# args|what of the message|what of the fix: each kind of bad value has its own.
bad_values() {
	cat <<- 'E'
	--cidrs 10.0.0.1 --ports 1|'10.0.0.1' has no prefix length|write '10.0.0.1/32' for this one address
	--cidrs 10.0.0.0/33 --ports 1|'10.0.0.0/33' has a bad prefix length|a length from 0 to 32
	--cidrs 010.0.0.0/8 --ports 1|'010.0.0.0' is not an IP address|without leading zeros
	--cidrs fe80::1%eth0/64 --ports 1|'fe80::1%eth0' is not an IP address|leave out the zone
	--cidrs ::ffff:0.0.0.0/80 --ports 1|is an IPv4-mapped range shorter than /96|write the IPv4 range itself
	--cidrs name/8 --ports 1|'name' is not an IP address|names mean nothing to a packet filter
	--cidrs 10.0.0.0/8/8 --ports 1|'10.0.0.0/8/8'|fix: 
	--deny 300.0.0.0/8|'300.0.0.0' is not an IP address|four numbers from 0 to 255
	--ports 0 --internet|'0' is not between 1 and 65535|write ports from 1 to 65535
	--ports 65536 --internet|'65536' is not between 1 and 65535|write ports from 1 to 65535
	--ports 0443 --internet|'0443' has a leading zero|write ports from 1 to 65535
	--ports 80-90 --internet|'80-90' is a range of ports|list up to 64 ports one by one, or open every port (--all-ports)
	--ports https --internet|'https' is not a whole number|such as 443
	--internet|allows the public Internet and names no port|name the ports (--ports 443
	--cidrs 10.0.0.0/8|names no port|name the ports (--ports 443
	--internet --ports 443 --all-ports|every port and 1 port are asked for at once|not both
	--resolver dns.google|'dns.google' is not an IP address|write the address that the name has
	--resolver 9.9.9.9:99999|'9.9.9.9:99999' has a bad port|without leading zeros
	--resolver [::1|'[::1' is not an IP address|2001:db8::10
	--broker 10.0.0.1|'10.0.0.1' names no port|write 10.0.0.1:PORT
	--broker 10.0.0.1:0|broker '10.0.0.1:0' has port 0|write the broker as ADDRESS:PORT
	--host a..b|'a..b' is no host pattern|such as registry.example.com
	--check 1.2.3.4|'1.2.3.4' names no port|write 1.2.3.4:PORT
	--check 1.2.3.4/any|'1.2.3.4' names no port|write port 0, as in 192.0.2.10:0/any
	--check 1.2.3.4:0|'1.2.3.4:0' has port 0|'/any' for what has no port
	--check 1.2.3.4:1/sctp|'1.2.3.4:1/sctp' has an unknown protocol|end it in /tcp, /udp or /any
	--check example.com:443|'example.com' is not an IP address|names mean nothing
	--check [fe80::1%eth0]:80|'fe80::1%eth0' is not an IP address|leave out the zone
	--format nft --table a.b|'a.b' is no name for an nft table|1 to 64 of letters
	--format nft --table x;flush|'x;flush' is no name for an nft table|1 to 64 of letters
	--format nft --table -x|'-x'|fix: 
	--format nft-bridge --bridge a/b|'a/b' is no name of a network interface|1 to 15 of letters
	--format nft-bridge --bridge a"b|is no name of a network interface|1 to 15 of letters
	E
}

@test "bad values are 65, name the value and say how to mend it" {
	local args message fix n=0
	while IFS='|' read -r args message fix; do
		echo "args: $args" >&2
		# shellcheck disable=SC2086 # words
		exits 65 fw $args
		has "$stderr" "$message"
		has "$stderr" "  fix: "
		has "$stderr" "$fix"
		[ -z "$output" ]
		n=$((n + 1))
	done < <(bad_values)
	[ "$n" = 33 ]
	# Every list has its bound.
	local list many
	many=$(seq -f '20.0.%.0f.0/24' 0 255 | paste -sd,),21.0.0.0/24
	for list in deny resolver broker; do
		[ $list = deny ] || many=$(seq -f '20.0.%.0f.1:53' 0 255 | paste -sd,),21.0.0.1:53
		exits 65 fw --$list "$many"
		has "$stderr" "257 "
		has "$stderr" "  fix: "
	done
	exits 65 fw --internet --ports "$(seq 1 65 | paste -sd,)"
	has "$stderr" "65 ports are more than the 64"
}

@test "usage errors are 64" {
	local args
	for args in "--format xml" "--format nft-bridge" "--bridge br0" "--json --format nft" \
		"--policy - --internet" "--policy - --from-spec -" "--nonsense" "stray" "--ports"; do
		echo "args: $args" >&2
		# shellcheck disable=SC2086 # words
		exits 64 fw $args < /dev/null
		[ -z "$output" ]
	done
}

@test "a policy is read as JSON and as YAML wherever a file of one is named" {
	local f=$BATS_TEST_TMPDIR/p.yaml
	printf 'allow_public_internet: true   # the build pulls\nallow_ports: [443]\nresolvers:\n- 9.9.9.9\n' > "$f"
	exits 0 fw --policy "$f" --check 93.184.216.34:443 --check 9.9.9.9:53/udp
	exits 1 fw --policy - --check 93.184.216.34:80 < "$f"
	same "$(fw --policy "$f" --format json)" "$(fw --internet --ports 443 --resolver 9.9.9.9 --format json)"
	exits 0 fw test --policy "$f" - <<< 'tests: [{allow: "93.184.216.34:443"}, {drop: metadata}]'
	printf '{allow_public_internet: true, allow_ports: [443]}' > "$f"
	exits 0 fw --policy "$f" --check 93.184.216.34:443
	printf 'allow_ports: [443]\nallow_cidrs: [nonsense]\n' > "$f"
	exits 65 fw --policy "$f"
	has "$stderr" "p.yaml:2:15: allow_cidrs[0]: 'nonsense' is not an IP address"
}

@test "broken policies: file, line and column, and nothing printed" {
	local f=$BATS_TEST_TMPDIR/p.json
	printf '{\n "allow_cidrs": ["10.0.0.0/8",\n   "nonsense"],\n "allow_ports": [443]\n}' > "$f"
	exits 65 fw --policy "$f"
	has "$stderr" "p.json:3:4: allow_cidrs[1]: 'nonsense' is not an IP address"
	local text
	for text in '' '[]' 'null' '{' '{"allow_cidrs":["10.0.0.0/8"],"allow_cidrs":[]}' '{"allow_cdrs":[]}' \
		'{"silent":"yes"}' '{"allow_ports":["443"]}' '{"allow_ports":[443.5]}' '{"allow_ports":443}' \
		'{"resolvers":[1]}' '{"resolvers":["\u0000"]}' '{"a":"\ud800"}' $'{"resolvers":["\xff"]}' \
		'{"allow_ports":[99999999999999999999]}' "$(printf '[%.0s' {1..5000})"; do
		printf '%s' "$text" > "$f"
		exits 65 fw --policy "$f"
		[ -z "$output" ]
		[ "$(wc -l <<< "$stderr")" -le 2 ]
	done
	exits 65 fw --policy /tmp
	exits 69 fw --policy "$BATS_TEST_TMPDIR/none"
	exits 65 fw --from-spec - <<< '{"egress":null}'
	has "$stderr" "no egress object"
	exits 65 fw --from-spec - <<< '{"egress":{"allow_prots":[1]}}'
	has "$stderr" "did you mean 'allow_ports'?"
}

@test "lists as long as the guides bound them, and longer ones in a file" {
	local many
	many=$(seq -f '%.0f' 0 255 | sed 's|.*|20.0.&.0/24|' | paste -sd,)
	exits 0 fw --cidrs "$many" --ports 443
	has "$output" "290 rules"
	exits 65 fw --cidrs "$many,21.0.0.0/24" --ports 443
	has "$stderr" "257 allowed ranges"
	exits 65 fw --internet --ports "$(seq -s, 1 65)"
	has "$stderr" "65 ports"
	python3 -c '
import json
r = [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24" for i in range(100000)]
print(json.dumps({"allow_cidrs": r, "all_ports": True}))' > "$BATS_TEST_TMPDIR/big.json"
	exits 0 fw --policy "$BATS_TEST_TMPDIR/big.json" --check 21.134.159.1:1 --check 20.0.0.1:65535
	exits 1 fw --policy "$BATS_TEST_TMPDIR/big.json" --check 21.134.160.1:1
	sed -i 's|\[|["9.9.9.0/24", |' "$BATS_TEST_TMPDIR/big.json"
	exits 65 fw --policy "$BATS_TEST_TMPDIR/big.json"
	has "$stderr" "100001 allowed ranges are more than the 100000"
}

@test "special-use ranges are blocked when asked for, and open when named" {
	exits 0 fw --internet --ports 443 --check 203.0.113.9:443
	exits 1 fw --internet --ports 443 --block-special-use --check 203.0.113.9:443
	has "$output" "documentation, TEST-NET-3 (RFC 5737)"
	exits 0 fw --internet --ports 443 --block-special-use --cidrs 203.0.113.0/24 --check 203.0.113.9:443
	has "$output" "granted CIDR (waives documentation, TEST-NET-3 (RFC 5737))"
}

@test "the schema of a policy names the keys that are read, and no other" {
	local schema=$SRC/share/json-schema/egress-policy.json key
	jq -e '.additionalProperties == false and .type == "object"' "$schema" > /dev/null
	for key in $(jq -r '.properties | keys[]' "$schema"); do
		echo "key $key" >&2
		exits 0 fw --policy - <<< "$(jq -c --arg k "$key" '{($k): .properties[$k].examples[0]}
			+ (if $k == "allow_cidrs" or $k == "allow_public_internet" then {allow_ports: [443]} else {} end)' "$schema")"
	done
	exits 65 fw --policy - <<< '{"x":1}'
	local policies
	policies=$(cut -f3 "$CASES/egress/policies.tsv" | grep '^{' | jq -s 'map(keys) | add | unique | length')
	[ "$policies" -le "$(jq '.properties | length' "$schema")" ]
}

@test "the command links nothing that slows its start" {
	run ldd "$BIN/cloop-egress"
	[[ $output == *libasan* ]] && skip "a sanitized build"
	same "$(awk '{print $1}' <<< "$output" | sed 's|.*/||' | grep -vE '^(linux-vdso|ld-linux|libm\.so|libmnl\.so)' | sort | tr '\n' ' ')" \
		"libc.so.6 "
}

@test "a range that is not written whole is read whole, and that is said on every surface" {
	local f=$BATS_TEST_TMPDIR/p.json say="'10.0.0.1/8' is read as 10.0.0.0/8; write 10.0.0.0/8 for the whole range, or 10.0.0.1/32"
	exits 0 fw --cidrs 10.0.0.1/8 --ports 80 --check 10.200.0.1:80
	has "$stderr" "cloop-egress: warning: --cidrs: $say"
	exits 1 fw --internet --deny 10.0.0.1/8 --ports 80 --check 10.200.0.1:80
	has "$stderr" "warning: --deny: $say"
	printf '{"allow_cidrs": ["10.1.0.0/16", "10.0.0.1/8"], "deny_cidrs": ["10.2.0.1/16"], "allow_ports": [80]}' > "$f"
	exits 0 fw --policy "$f" --check 10.200.0.1:80
	has "$stderr" "warning: $f: allow_cidrs[1]: $say"
	has "$stderr" "warning: $f: deny_cidrs[0]: '10.2.0.1/16' is read as 10.2.0.0/16"
	printf '{"egress": %s}' "$(cat "$f")" > "$f.spec"
	exits 0 fw --from-spec "$f.spec" --check 10.200.0.1:80
	has "$stderr" "warning: $f.spec: allow_cidrs[1]: $say"
	printf 'policy: %s\ntests: [{allow: "10.200.0.1:80"}]\n' "$(cat "$f")" > "$f.yaml"
	exits 0 cloop egress firewall test "$f.yaml"
	has "$stderr" "warning: $f.yaml: allow_cidrs[1]: $say"
	# The listing, which says what is in force, has no word more.
	lacks "$output" "read as"
	exits 0 fw --cidrs 10.0.0.1/32 --ports 80 --check 10.0.0.1:80
	same "$stderr" ""
}

@test "an IPv6 address without brackets: how to write it" {
	exits 65 fw "${GUIDE[@]}" --check ::1:443
	has "$stderr" "fix: write [::1]:443 for port 443 of ::1"
	exits 65 fw "${GUIDE[@]}" --check 2606:4700:0:0:0:0:0:1111:443
	has "$stderr" "fix: write [2606:4700::1111]:443"
}

@test "the bounds of every other surface: a level of a file, and the hub's configuration" {
	jq -nc '{levels: [{level: "a", policy: {allow_ports: [443], allow_cidrs: [range(257) | "20.0.\(. % 256).0/24"]}}]}' > "$BATS_TEST_TMPDIR/l.json"
	exits 65 fw --policy "$BATS_TEST_TMPDIR/l.json"
	has "$stderr" "a: 257 allowed ranges are more than the 256 a policy may list"
	has "$stderr" "fix: merge neighbouring ranges"
	export CLOOP_DIR=$BATS_TEST_TMPDIR/hub CLOOP_HUBS=$BATS_TEST_TMPDIR/hubs
	cloop hub bootstrap > /dev/null
	printf 'executors: {container: {enabled: true, network: bridge, egress_filter: {enabled: true, allow_ports: [443], allow_public_internet: true, allow_cidrs: [%s]}}}\n' \
		"$(seq -f '20.0.%.0f.0/24' 0 255 | paste -sd,),20.1.0.0/24" > "$CLOOP_DIR/.cloop/config.yaml"
	exits 78 cloop hub config check
	has "$stderr$output" "egress_filter.allow_cidrs: 'allow_cidrs' has 257 entries, more than the 256 allowed"
	has "$stderr$output" "fix: take some of them out"
}

@test "what is listed twice, out of order, overlapping or mapped is one policy" {
	local f=$BATS_TEST_TMPDIR/p.json
	echo '{"allow_ports": [443, 80, 443], "allow_cidrs": ["20.1.2.0/24", "20.0.0.0/8", "::ffff:20.1.2.0/120", "20.0.0.0/8"]}' > "$f"
	exits 0 fw --policy "$f"
	same "$(grep granted <<< "$output")" "  allow  20.0.0.0/8             tcp 80,443       granted CIDR
  allow  20.1.2.0/24            tcp 80,443       granted CIDR"
	exits 0 cloop-egress firewall diff "$f" <(echo '{"allow_ports": [80, 443], "allow_cidrs": ["20.0.0.0/8"]}')
	has "$output" "newly dropped: nothing"
}

@test "no numbered vector of the filter is missing" {
	local got
	got=$(grep -v '^#' "$SRC/t/cases/egress/answers.tsv" "$SRC/t/cases/egress/refusals.tsv" -h | cut -f1 |
		sed -n 's/^\([0-9][0-9]*\)[a-z]*$/\1/p' | sort -nu | paste -sd' ')
	same "$got" "$(seq 1 54 | paste -sd' ')"
}
