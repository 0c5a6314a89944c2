# shellcheck shell=bash disable=SC2034,SC2154
. "$CLOOP_SRC/t/bench/state.bash"
item='cloop secret sweep beside 1,000,000 live leases, against 5 s'
target=1.0
skip_unless sqlite3
setup() { lend_many; }
measure() {
	"$RATIO" 5 cloop-secret sweep -- /bin/true | jq -c '{ours_us, peer_us: 5000000, ratio: (.ours_us / 5000000)}'
}
