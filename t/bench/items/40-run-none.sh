# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='cloop run -- true, no network, pin cached, against podman run'
target=1.10
runs=15
. "$CLOOP_SRC/t/bench/hub.bash"
setup() {
	bench_hub none
	ours+=(/bin/true)
	peer=("${by_hand[@]}" --network=none "$IMAGE" /bin/true)
}
