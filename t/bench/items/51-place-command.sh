# shellcheck shell=bash disable=SC2034,SC2154
item='cloop-place on 10,000 candidates, against 150 ms'
target=1.0
setup() {
	jq -nc '{requirements: {network_egress: true, labels: {zone: "b"}}, candidates: [range(10000) | {
		executor_id: "node-\(.)", kind: "container", health: "ready", labels: {zone: (["a", "b", "c"][. % 3]), gpu: "true"},
		harnesses: ["git", "claude"], container_runtimes: ["podman"], memory_mb: 4096, in_flight: (. % 8), in_flight_known: true,
		max_concurrent: 8, platform: "linux", arch: "x86_64", capabilities: {driver: "container", isolation: "container",
		disk_enforcement: "sampled", virtualized: false, kernel_isolated: false, supports_stream: true, supports_signal: true,
		supports_resource_limits: true, shares_host_filesystem: true, network_egress: (. % 2 == 0), filtered_egress: true,
		supports_egress_scope: true, supports_image_override: true, supports_sandbox_build: true, supports_sandbox_mounts: true,
		supports_host_mounts: false, supports_secret_files: false, supports_devices: false}}]}' > "$tmp/request"
}
measure() {
	"$RATIO" 20 cloop-place --request "$tmp/request" -- /bin/true |
		jq -c '{ours_us, peer_us: 150000, ratio: (.ours_us / 150000)}'
}
