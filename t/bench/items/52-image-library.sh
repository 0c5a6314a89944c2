# shellcheck shell=bash disable=SC2034,SC2154
item='an image reference under a policy, against 1 us'
target=1.0
measure() {
	jq -cn --argjson us "$("$BUILD_DIR/t/lib/rate" image)" '{ours_us: $us, peer_us: 1, ratio: $us}'
}
