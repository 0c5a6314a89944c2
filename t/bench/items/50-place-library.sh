# shellcheck shell=bash disable=SC2034,SC2154
item='a placement over 1,000 nodes, every reason, against 100 us'
target=1.0
measure() {
	jq -cn --argjson us "$("$BUILD_DIR/t/lib/rate" place)" '{ours_us: $us, peer_us: 100, ratio: ($us / 100)}'
}
