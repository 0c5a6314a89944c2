#!/usr/bin/env bats
# Whether one level of rules lies inside another.
load lib/common

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }
fits() { cloop-egress fits "$@"; }

@test "every row of the table, by the command" {
	local child parent want rest bad=0
	while IFS=$'\t' read -r child parent want rest; do
		[[ $child == '#'* ]] && continue
		echo "$child" > child; echo "$parent" > parent
		if [ "$want" = fits ]; then
			exits 0 fits child parent --json || bad=1
			same "$(jq -c '[.fits, .reasons, .code]' <<< "$output")" '[true,[],null]' || bad=1
		else
			exits 1 fits child parent --json || bad=1
			same "$(jq -r '.fits, .code, .reasons[0]' <<< "$output")" "false
firewall_exceeds_bound
${want/the parent/parent}" || bad=1
			same "$(jq '.outside.groups | length > 0' <<< "$output")" true || bad=1
		fi
	done < "$CASES/egress/fits.tsv"
	[ "$bad" = 0 ]
}

@test "what sticks out, for people" {
	echo '{allow_cidrs: [10.8.0.0/15], allow_ports: [22, 443], resolvers: [8.8.8.8]}' > child.yaml
	echo '{allow_cidrs: [10.8.0.0/16], allow_ports: [443], resolvers: [9.9.9.9]}' > parent.yaml
	exits 1 fits child.yaml parent.yaml
	same "$output" "child.yaml does not lie inside parent.yaml
  port 22 is not one of the ports of parent.yaml (443)
  resolver 8.8.8.8:53 is not one that parent.yaml allows
  of 10.8.0.0/15, parent.yaml does not allow 10.9.0.0/16

outside: 131073 IPv4 addresses (196610 destinations)
  tcp 53, 1 address: 8.8.8.8/32
    8.8.8.8:53/tcp above is dropped: default deny
    and below is allowed by rule 4: DNS resolver (truncated answers retry over TCP)
  udp 53, 1 address: 8.8.8.8/32
    8.8.8.8:53/udp above is dropped: default deny
    and below is allowed by rule 3: DNS resolver
  tcp 22, 65536 addresses: 10.8.0.0/16
    10.8.0.0:22/tcp above is dropped by rule 29: private (RFC1918/ULA)
    and below is allowed by rule 10: granted CIDR (waives private (RFC1918/ULA))
  tcp 22, 443, 65536 addresses: 10.9.0.0/16
    10.9.0.0:443/tcp above is dropped by rule 29: private (RFC1918/ULA)
    and below is allowed by rule 10: granted CIDR (waives private (RFC1918/ULA))"
	exits 0 fits parent.yaml parent.yaml
	same "$output" "parent.yaml lies inside parent.yaml"
}

@test "denies are inherited unless it is asked otherwise" {
	echo '{allow_public_internet: true, allow_ports: [443]}' > child
	echo '{allow_public_internet: true, allow_ports: [443], deny_cidrs: [203.0.113.0/24]}' > parent
	exits 0 fits child parent
	exits 1 fits child parent --own-denies
	has "$output" "of the public Internet, parent does not allow 203.0.113.0/24"
}

@test "nothing lies in everything, and only nothing in nothing" {
	echo '{allow_cidrs: [10.0.0.0/8], all_ports: true}' > some
	exits 0 fits none some
	exits 0 fits none none
	exits 1 fits some none
}

@test "ranges that the level above blocks by block_special_use are inherited like its denies" {
	echo '{allow_public_internet: true, allow_ports: [443]}' > child
	echo '{allow_public_internet: true, allow_ports: [443], block_special_use: true}' > parent
	exits 0 fits child parent
	exits 1 fits child parent --own-denies
	has "$output" "of the public Internet, parent does not allow 0.0.0.1/32"
	# A range that is named is the child's own, and opens what the level above blocks.
	echo '{allow_cidrs: [198.18.0.0/15], allow_ports: [443]}' > child
	exits 1 fits child parent
	has "$output" "198.18.0.0/15"
}

@test "names that are typed reach no terminal raw" {
	local name=$'c\e[31m\nd'
	echo '{allow_cidrs: [10.0.0.0/8], all_ports: true}' > "$name"
	exits 1 fits "$name" none
	lacks "$output" $'\e'
	same "$(head -1 <<< "$output")" "c?[31m?d does not lie inside none"
	exits 1 fits <(echo '{allow_cidrs: [11.0.0.0/8], all_ports: true}') "$name"
	lacks "$output" $'\e'
	has "$output" "c?[31m?d does not allow 11.0.0.0/8"
	exits 1 fits "$name" <(echo '{}') --json
	same "$(jq -r .child <<< "$output")" "$name"
}
