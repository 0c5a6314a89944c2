# shellcheck shell=bash disable=SC2034,SC1091
item='first packet under 10 ranges (ns), at most 500 ns above tracking alone'
target=1.0
. "$CLOOP_SRC/t/bench/filter.bash"
setup() { first_packets_up 10; }
teardown() { filter_down; }
measure() { first_against_tracked; }
