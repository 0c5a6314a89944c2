# shellcheck shell=bash disable=SC2034,SC2154
# As the item of one lease a commit, for so long that both logs are written over again and no longer
# grow, which costs the peer less than a lease's own work does: without a target, to be seen.
. "$CLOOP_SRC/t/bench/state.bash"
item='the same leases, both logs in use again'
target=''
setup() { lend_env; }
measure() { "$BUILD_DIR/t/lib/leasetool" measure "$tmp/hub" 4000 1; }
