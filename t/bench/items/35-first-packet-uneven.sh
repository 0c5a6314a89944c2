# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='first packet under 4,000 ranges that are no prefixes (ns), likewise'
. "$CLOOP_SRC/t/bench/filter.bash"
setup() { first_packets_up 10 && uneven 4000 > "$tmp/policy" && filter "$tmp/policy"; }
teardown() { filter_down; }
measure() { first_against_tracked; }
