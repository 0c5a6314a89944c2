# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='one range more, by a replace of 100,000, against their load'
# No slower; a tenth is what two loads of the same differ by.
target=1.10
. "$CLOOP_SRC/t/bench/filter.bash"
setup() {
	skip_unless root nft
	filter_up
	ranges 99999 > "$tmp/before"
	ranges 100000 > "$tmp/after"
}
teardown() { filter_down; }
measure() {
	local i
	for i in 1 2 3 4 5; do
		in_host nft flush ruleset
		in_host "$RATE" load "$tmp/before" br0 >> "$tmp/peer"
		in_host "$RATE" load "$tmp/after" br0 >> "$tmp/ours"
	done
	row "$(sort -n "$tmp/ours" | head -n 1)" "$(sort -n "$tmp/peer" | head -n 1)"
}
