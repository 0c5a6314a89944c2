# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='first packet under 10 ranges (ns), at most 500 ns above a stateful accept'
target=1.0
. "$CLOOP_SRC/t/bench/filter.bash"
setup() { first_packets_up 10; }
teardown() { filter_down; }
measure() { first_against_stateful; }
