# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='first packet under 1,000 ranges (ns), against a rule a range'
. "$CLOOP_SRC/t/bench/filter.bash"
setup() { first_packets_up 1000 && rig=peer linear "$tmp/policy"; }
teardown() { filter_down; }
measure() { first 1000; }
