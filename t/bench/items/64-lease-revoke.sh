# shellcheck shell=bash disable=SC2034,SC2154
item='revoke one grant of 1000 beside 1,000,000 live leases, against 50 ms'
target=1.0
setup() {
	export CLOOP_HUBS=$tmp/hubs CLOOP_DIR=$tmp/hub
	cloop -C "$tmp/hub" hub bootstrap
	sqlite3 "$tmp/hub/.cloop/state.db" < "$CLOOP_SRC/t/bench/leases.sql"
	echo "the state file has $(stat -c %s "$tmp/hub/.cloop/state.db") bytes"
	# Each time another grant, which a thousand leases hold.
	cat > "$tmp/next" <<-'S'
	#!/bin/sh
	n=$(cat "$tmp/n" 2>/dev/null || echo 0)
	echo $((n + 1)) > "$tmp/n"
	exec cloop-secret revoke "$(printf 'grant_%024x' "$n")" --wait 0
	S
	chmod +x "$tmp/next"
}
# The script that chooses the grant is run by itself as well, and taken off.
measure() {
	export CLOOP_HUBS=$tmp/hubs CLOOP_DIR=$tmp/hub
	printf '#!/bin/sh\nn=$(cat "$tmp/n")\necho "$n" > "$tmp/m"\nexec true "$(printf grant_%%024x "$n")" --wait 0\n' > "$tmp/choose"
	chmod +x "$tmp/choose"
	"$RATIO" 20 "$tmp/next" -- "$tmp/choose" |
		jq -c '{ours_us: (.ours_us - .peer_us), peer_us: 50000, ratio: ((.ours_us - .peer_us) / 50000)}'
}
