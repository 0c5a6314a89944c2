# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='bulk TCP through 100,000 ranges, against an empty ruleset'
target=1.05
. "$CLOOP_SRC/t/bench/filter.bash"
setup() {
	skip_unless root nft python3
	filter_up
	ranges 100000 > "$tmp/policy"
}
teardown() { filter_down; }
measure() {
	local i
	for i in 1 2 3 4 5 6 7; do
		in_host nft flush ruleset
		bulk >> "$tmp/peer"
		filter "$tmp/policy"
		bulk >> "$tmp/ours"
	done
	row "$(sort -n "$tmp/ours" | head -n 1)" "$(sort -n "$tmp/peer" | head -n 1)"
}
