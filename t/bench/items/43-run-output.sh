# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='1 GB of output through cloop run, against attached podman run'
target=0.20
runs=3
. "$CLOOP_SRC/t/bench/hub.bash"
setup() {
	bench_hub none
	# Both to a reader that counts: what is lost shows as a failure.
	local count='n=$("$@" < /dev/null | wc -c); [ "$n" = 1073741824 ] || { echo "got $n bytes" >&2; exit 1; }'
	local cmd='dd if=/dev/zero bs=65536 count=16384 2>/dev/null'
	ours=(sh -c "$count" sh "${ours[@]}" sh -c "$cmd")
	peer=(sh -c "$count" sh "${by_hand[@]}" --network=none "$IMAGE" sh -c "$cmd")
}
