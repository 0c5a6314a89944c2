# shellcheck shell=bash disable=SC2034,SC2154
# The peer writes one short row, in one page. A lease is three: its row, what it stands on by grant, and
# its audit row. Both have a log of their own on one disk, synchronous = FULL, and one sync a commit.
. "$CLOOP_SRC/t/bench/state.bash"
item='a lease taken, a commit each, against bare SQLite commits'
target=1.11 # at least 90 % of its commits a second
setup() { lend_env; }
measure() { "$BUILD_DIR/t/lib/leasetool" measure "$tmp/hub" 400 1; }
