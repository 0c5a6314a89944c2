#!/usr/bin/env bats
# The printed nft scripts in a kernel: they load, and packets meet the verdicts that
# `cloop egress firewall --check` gives.
load lib/common
load lib/netrig

setup_file() {
	[ "$(id -u)" = 0 ] && command -v nft > /dev/null || return 0
	rig_up
	rig_serve outside 22 53 80 443 6443 8118
	rig_serve host 22 443
	rig_serve sandbox 443
	rig_serve peer 443
}
teardown_file() { rig_down; }
setup() {
	need root nft ip python3
	rig host nft flush ruleset
	rig sandbox nft flush ruleset
}

GUIDE=(--internet --ports 443 --resolver 9.9.9.9:53)
policy() { awk -F'\t' -v p="$1" '$1 == p { print $3 }' "$CASES/egress/policies.tsv"; }
on_bridge() { cloop-egress firewall "$@" --format nft-bridge --bridge br0 | rig host nft -f -; }
in_namespace() { cloop-egress firewall "$@" --format nft | rig sandbox nft -f -; }
blocked() { rig host nft -j list set inet cloop_sbx_preview "$1" |
	jq -r '.nftables[] | .set? // empty | .elem[]? | .elem | [.val.concat[] | tostring] + [.counter.packets | tostring] | join(" ")' | sort; }

@test "every policy loads in both forms, twice, to the same ruleset" {
	local name count auth form list
	while IFS=$'\t' read -r name count auth; do
		[[ $name == '#'* ]] && continue
		for form in "nft" "nft-bridge --bridge br0"; do
			echo "policy $name as $form" >&2
			# shellcheck disable=SC2086 # words
			cloop-egress firewall --policy - --format $form <<< "$auth" > "$BATS_TEST_TMPDIR/s"
			rig host nft -c -f "$BATS_TEST_TMPDIR/s"
			rig host nft -f "$BATS_TEST_TMPDIR/s"
			list=$(rig host nft -s list table inet cloop_sbx_preview)
			rig host nft -f "$BATS_TEST_TMPDIR/s"
			same "$(rig host nft -s list table inet cloop_sbx_preview)" "$list"
			rig host nft flush ruleset
		done
	done < "$CASES/egress/policies.tsv"
}

@test "a listing of the ruleset loads to the ruleset" {
	on_bridge --policy - <<< "$(policy C)"
	rig host nft -s list ruleset > "$BATS_TEST_TMPDIR/list"
	rig host nft flush ruleset
	rig host nft -f "$BATS_TEST_TMPDIR/list"
	same "$(rig host nft -s list ruleset)" "$(cat "$BATS_TEST_TMPDIR/list")"
}

# What leaves no machine: loopback, the unspecified block, broadcast, mapped, and addresses
# that need a zone.
sendable() { [[ $1 != 127.* && $1 != 0.* && $1 != 255.* && $1 != '[::1]'* && $1 != '[::ffff:'[0-9]*.* && $1 != '[fe80:'* ]]; }
expected() { # VERDICT QUERY
	case $1/$2 in
	allow/*) echo answer ;;
	*/tcp) echo refused ;;
	*) echo prohibited ;;
	esac
}

# replay FORM : every vector as a packet from the sandbox.
replay() {
	local n p q verdict reason policies sent=0
	local -a queries want
	policies=$(cut -f1 "$CASES/egress/policies.tsv" | grep -v '^#')
	local each
	for each in $policies; do
		queries=() want=()
		while IFS=$'\t' read -r n p q verdict reason; do
			{ [ "$p" = "$each" ] && sendable "$q"; } || continue
			queries+=("$q")
			want+=("$q"$'\t'"$(expected "$verdict" "$q")")
		done < "$CASES/egress/answers.tsv"
		[ ${#queries[@]} -gt 0 ] || continue
		"$1" --policy - <<< "$(policy "$each")"
		same "$(rig_ask sandbox "${queries[@]}")" "$(printf '%s\n' "${want[@]}")"
		sent=$((sent + ${#queries[@]}))
	done
	[ "$sent" -gt 45 ]
}

@test "without a filter everything is reached" {
	same "$(rig_ask sandbox 10.4.5.6:443/tcp '[fd00:ec2::254]:443/tcp' 169.254.169.254:80/udp 1.1.1.1:0/any \
		'[64:ff9b::808:808]:443/tcp' 10.211.0.1:22/tcp 10.211.0.3:443/tcp '[fd11::3]:443/tcp' '[fd11::1]:22/udp' | cut -f2 | sort -u)" answer
	same "$(rig_ask host 10.211.0.2:443/tcp '[fd11::2]:443/tcp' | cut -f2 | sort -u)" answer
	same "$(rig_ask outside 10.211.0.2:443/tcp '[fd11::2]:443/tcp' | cut -f2 | sort -u)" answer
}

@test "every vector as a packet through the bridge form" { replay on_bridge; }

@test "every vector as a packet through the namespace form" {
	# A socket of the namespace itself learns of an ICMP refusal as EPERM.
	expected() {
		case $1/$2 in
		allow/*) echo answer ;;
		*/tcp) echo refused ;;
		*) echo EPERM ;;
		esac
	}
	replay in_namespace
}

@test "neighbours are found again under the filter, and only the host" {
	on_bridge "${GUIDE[@]}"
	rig sandbox ip neigh flush all
	rig host ip neigh flush all
	same "$(rig_ask sandbox '[2606:4700::1111]:443/tcp' '[fd11::1]:22/tcp' | cut -f2 | tr '\n' ' ')" "answer refused "
	rig sandbox ip -6 neigh show fd11::1 | grep -q lladdr
	same "$(NETASK_WAIT=1 rig_ask sandbox '[fd11::3]:443/tcp' | cut -f2)" silence
	run ! grep -q lladdr <(rig sandbox ip -6 neigh show fd11::3)
}

@test "the host's own addresses are judged as any other, link-local ones too" {
	local ll
	on_bridge "${GUIDE[@]}"
	ll=$(rig host ip -j -6 addr show dev br0 scope link | jq -r '.[] | .addr_info? // [] | .[] | .local // empty')
	same "$(rig_ask sandbox 10.211.0.1:22/tcp 10.211.0.1:22/udp 10.211.0.1:443/tcp '[fd11::1]:22/tcp' \
		"[$ll%eth0]:22/tcp" '[fd11::1]:22/udp' 198.51.100.1:22/tcp | cut -f2 | tr '\n' ' ')" \
		"refused prohibited refused refused refused prohibited refused "
	on_bridge --cidrs 10.211.0.1/32 --ports 22
	same "$(rig_ask sandbox 10.211.0.1:22/tcp 10.211.0.1:443/tcp | cut -f2 | tr '\n' ' ')" "answer refused "
}

@test "nobody connects into the sandbox: the host, the outside, a peer, whatever the policy" {
	on_bridge --cidrs 10.0.0.0/8,fd11::/64 --internet --all-ports
	same "$(rig_ask host 10.211.0.2:443/tcp '[fd11::2]:443/tcp' | cut -f2 | tr '\n' ' ')" "refused refused "
	same "$(rig_ask outside 10.211.0.2:443/tcp '[fd11::2]:443/tcp' 10.211.0.2:443/udp | cut -f2 | tr '\n' ' ')" \
		"refused refused prohibited "
	same "$(rig_ask peer 10.211.0.2:443/tcp | cut -f2)" refused
	same "$(rig_ask sandbox 10.4.5.6:443/tcp 93.184.216.34:443/tcp '[2606:4700::1111]:443/tcp' | cut -f2 | sort -u)" answer
}

@test "what was refused is counted by source, destination, protocol and port" {
	on_bridge "${GUIDE[@]}"
	rig_ask sandbox 10.4.5.6:443/tcp 10.4.5.6:5000/udp 1.1.1.1:0/any '[fd00:ec2::254]:443/tcp' 1.1.1.1:443/tcp > /dev/null
	rig_ask sandbox 10.4.5.6:443/tcp > /dev/null
	same "$(blocked blocked4)" "10.211.0.2 1.1.1.1 icmp 0 1
10.211.0.2 10.4.5.6 tcp 443 2
10.211.0.2 10.4.5.6 udp 5000 1"
	same "$(blocked blocked6)" "fd11::2 fd00:ec2::254 tcp 443 1"
}

@test "the set of refused destinations is bounded, and a full one refuses all the same" {
	cloop-egress firewall "${GUIDE[@]}" --format nft-bridge --bridge br0 | sed 's/size 4096/size 4/' | rig host nft -f -
	local -a many
	mapfile -t many < <(seq -f '10.4.5.%.0f:443/tcp' 1 20)
	same "$(rig_ask sandbox "${many[@]}" | cut -f2 | sort -u)" refused
	[ "$(blocked blocked4 | wc -l)" = 4 ]
}

@test "silent: nothing comes back, and it is counted all the same" {
	on_bridge "${GUIDE[@]}" --silent
	same "$(NETASK_WAIT=0.5 rig_ask sandbox 10.4.5.6:443/tcp 10.4.5.6:53/udp '[fd00:ec2::254]:443/tcp' |
		cut -f2 | sort -u)" silence
	same "$(rig_ask sandbox 1.1.1.1:443/tcp | cut -f2)" answer
	same "$(NETASK_WAIT=0.5 rig_ask outside 10.211.0.2:443/tcp | cut -f2)" silence
	has "$(blocked blocked4)" "10.211.0.2 10.4.5.6 udp 53"
}

@test "traffic that is not the bridge's passes untouched" {
	on_bridge
	same "$(rig_ask host 93.184.216.34:80/tcp 10.4.5.6:80/udp | cut -f2 | sort -u)" answer
	same "$(rig_ask outside 198.51.100.1:22/tcp | cut -f2)" answer
}
