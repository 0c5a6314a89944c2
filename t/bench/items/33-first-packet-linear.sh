# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='first packet under 1,000 ranges (ns), against a rule a range'
. "$CLOOP_SRC/t/bench/filter.bash"
setup() { first_packets_up 1000; }
teardown() { filter_down; }
measure() {
	local i
	for i in 1 2 3; do
		filter "$tmp/policy"
		first "$tmp/policy" 1000 >> "$tmp/ours"
		linear "$tmp/policy"
		first "$tmp/policy" 1000 >> "$tmp/peer"
	done
	row "$(sort -n "$tmp/ours" | head -n 1)" "$(sort -n "$tmp/peer" | head -n 1)"
}
