# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item="cloop run -- true, filtered, against podman's own bridge"
target=0.70
runs=15
. "$CLOOP_SRC/t/bench/hub.bash"
setup() {
	bench_hub public
	ours+=(/bin/true)
	peer=("${by_hand[@]}" "$IMAGE" /bin/true)
}
