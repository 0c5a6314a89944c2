# shellcheck shell=bash disable=SC2034,SC1091
# What a connection costs that is tracked, before anything is judged.
item='first packet, tracked and nothing else (ns), against an empty ruleset'
. "$CLOOP_SRC/t/bench/filter.bash"
setup() { first_packets_up 10 && tracked && rig=peer in_host nft flush ruleset; }
teardown() { filter_down; }
measure() { first 10; }
