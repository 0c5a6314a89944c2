# shellcheck shell=bash disable=SC2034,SC2154
. "$CLOOP_SRC/t/bench/state.bash"
item='cloop-secret lease, one env grant, against /bin/true'
target=5
runs=60
setup() { lend_env; }
measure() { "$RATIO" "$runs" cloop-secret lease --project /srv/app -- /bin/true; }
