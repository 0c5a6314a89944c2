# shellcheck shell=bash disable=SC2034,SC2154
item='scrubbing build output of 50 values, against 500 MB/s'
target=1.0
# Processor time of 1000 MB in microseconds, and what it may be.
measure() {
	local i ours
	for i in {1..50}; do
		printf 'ghp_%.36s\n' "$(printf '%s' "$i" | sha256sum)"
	done > "$tmp/values"
	ours=$("$BUILD_DIR/t/lib/secrettool" scrubbed "$tmp/values" 400 | awk '{ printf "%d", $1 / 1000 / (400 * 1.048576) * 1000 }')
	jq -cn --argjson ours "$ours" '{ours_us: $ours, peer_us: 2000000, ratio: ($ours / 2000000)}'
}
