# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='one range more, by a replace of 100,000, against their load'
target=1.0
. "$CLOOP_SRC/t/bench/filter.bash"
setup() {
	skip_unless root nft
	filter_up ours
	ranges 99999 > "$tmp/before"
	ranges 100000 > "$tmp/after"
}
teardown() { filter_down; }
measure() { in_host "$RATE" replace "$tmp/before" "$tmp/after" br0; }
