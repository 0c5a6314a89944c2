# shellcheck shell=bash disable=SC2034,SC2154
item='cloop secret sweep beside 1,000,000 live leases, against 5 s'
target=1.0
setup() {
	export CLOOP_HUBS=$tmp/hubs CLOOP_DIR=$tmp/hub
	cloop -C "$tmp/hub" hub bootstrap
	sqlite3 "$tmp/hub/.cloop/state.db" < "$CLOOP_SRC/t/bench/leases.sql"
	echo "the state file has $(stat -c %s "$tmp/hub/.cloop/state.db") bytes"
}
measure() {
	export CLOOP_HUBS=$tmp/hubs CLOOP_DIR=$tmp/hub
	"$RATIO" 5 cloop-secret sweep -- /bin/true | jq -c '{ours_us, peer_us: 5000000, ratio: (.ours_us / 5000000)}'
}
