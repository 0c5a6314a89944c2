# shellcheck shell=bash disable=SC2034,SC1091
# What of the figure of bulk TCP is connection tracking.
item='bulk TCP, tracked and nothing else, against an empty ruleset'
. "$CLOOP_SRC/t/bench/filter.bash"
setup() { two_up 10 && tracked; }
teardown() { filter_down; }
measure() { bulk; }
