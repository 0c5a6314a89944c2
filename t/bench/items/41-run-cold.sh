# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='the same with nothing cached, against podman run'
target=1.35
runs=15
. "$CLOOP_SRC/t/bench/hub.bash"
setup() {
	bench_hub none
	ours=(sh -c 'rm -rf "$1"; shift; exec "$@"' sh "$HUB/.cloop/cache" "${ours[@]}" /bin/true)
	peer=("${by_hand[@]}" --network=none "$IMAGE" /bin/true)
}
