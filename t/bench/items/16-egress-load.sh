# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='load 100,000 ranges (compiled), against nft -f on the script'
target=0.5
. "$CLOOP_SRC/t/bench/filter.bash"
setup() {
	skip_unless root nft
	filter_up ours
	both_families > "$tmp/policy"
	cloop-egress firewall --policy "$tmp/policy" --format nft-bridge --bridge br0 > "$tmp/script"
}
teardown() { filter_down; }
# Both into nothing, processor time, the best of some.
measure() {
	local i
	for i in 1 2 3; do
		cpu_us in_host nft -f "$tmp/script" >> "$tmp/peer"
		in_host nft flush ruleset
	done
	row "$(in_host "$RATE" load "$tmp/policy" br0)" "$(sort -n "$tmp/peer" | head -n 1)"
}
