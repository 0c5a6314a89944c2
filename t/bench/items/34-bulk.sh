# shellcheck shell=bash disable=SC2034,SC1091
item='bulk TCP through 100,000 ranges, against an empty ruleset'
target=1.05
. "$CLOOP_SRC/t/bench/filter.bash"
setup() { two_up 100000; }
teardown() { filter_down; }
measure() { bulk; }
