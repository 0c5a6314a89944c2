# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='compile and flatten 100,000 ranges, against nft -c on the script'
target=0.33
. "$CLOOP_SRC/t/bench/filter.bash"
setup() {
	skip_unless root nft
	filter_up ours
	both_families > "$tmp/policy"
	cloop-egress firewall --policy "$tmp/policy" --format nft-bridge --bridge br0 > "$tmp/script"
}
teardown() { filter_down; }
measure() {
	local i
	for i in 1 2 3; do cpu_us in_host nft -c -f "$tmp/script"; done | sort -n | head -n 1 > "$tmp/peer"
	row "$("$RATE" compile "$tmp/policy")" "$(cat "$tmp/peer")"
}
