# shellcheck shell=bash disable=SC2034,SC2154
. "$CLOOP_SRC/t/bench/state.bash"
item='revoke one grant of 1000 beside 1,000,000 live leases, against 50 ms'
target=1.0
skip_unless sqlite3
setup() {
	lend_many
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
	printf '#!/bin/sh\nn=$(cat "$tmp/n")\necho "$n" > "$tmp/m"\nexec true "$(printf grant_%%024x "$n")" --wait 0\n' > "$tmp/choose"
	chmod +x "$tmp/choose"
	"$RATIO" 20 "$tmp/next" -- "$tmp/choose" |
		jq -c '{ours_us: (.ours_us - .peer_us), peer_us: 50000, ratio: ((.ours_us - .peer_us) / 50000)}'
}
