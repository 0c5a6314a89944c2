# shellcheck shell=bash disable=SC2034,SC1091
item='first packet, each to another of 100,000 ranges (ns), likewise'
. "$CLOOP_SRC/t/bench/filter.bash"
setup() { first_packets_up 100000; }
teardown() { filter_down; }
measure() { first 50000 | jq -c '.peer_us += 500 | .ratio = .ours_us / .peer_us'; }
