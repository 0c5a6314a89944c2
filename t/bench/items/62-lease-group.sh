# shellcheck shell=bash disable=SC2034,SC2154
# Each is judged, opened, narrowed and written as any other; of a grant that is the same to the last
# byte the signature is verified once a caller.
. "$CLOOP_SRC/t/bench/state.bash"
item='leases taken a hundred a commit, against bare SQLite commits'
target=0.2 # at least five times its commits a second
count=2000 group=100
setup() { lend_env; }
measure() { "$BUILD_DIR/t/lib/leasetool" measure "$tmp/hub" "$count" "$group"; }
