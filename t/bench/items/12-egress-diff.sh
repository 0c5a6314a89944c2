# shellcheck shell=bash disable=SC2034
item='cloop-egress firewall diff of 100,000 ranges with 100,000, against one second'
target=1.0
runs=7
setup() {
	# Every range is another one in the second, all inside the first's: nothing is newly allowed.
	for len in 24 25; do
		jq -cn --argjson len "$len" '{allow_ports: [443], allow_cidrs: [range(100000) |
			"\(20 + (. / 32768 | floor)).\((. / 128 | floor) % 256).\(. % 128 * 2).0/\($len)"]}' > "$tmp/$len.json"
	done
}
ours=(cloop-egress firewall diff "$tmp/24.json" "$tmp/25.json")
peer=(sleep 1)
