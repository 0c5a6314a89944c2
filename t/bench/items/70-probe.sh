# shellcheck shell=bash disable=SC2034,SC2154
# The share of the 10 ms that the probe may add to a container which does nothing.
item='cloop-isolation-probe under runc, beyond /bin/true there, of 10 ms'
target=1
runs=40
bundle() { # NAME ARGV0
	mkdir -p "$tmp/$1/rootfs/bin" "$tmp/$1/rootfs/proc" "$tmp/$1/rootfs/dev" "$tmp/$1/rootfs/sys"
	cp "$(command -v busybox)" "$tmp/$1/rootfs/bin/true"
	cp "$BIN/cloop-isolation-probe" "$tmp/$1/rootfs/bin/probe"
	(cd "$tmp/$1" && runc spec)
	jq --arg a "$2" '.process.args = [$a] | .process.terminal = false | del(.process.rlimits) |
		.linux.cgroupsPath = "cloop-bench-probe"' "$tmp/$1/config.json" > "$tmp/$1/c"
	mv "$tmp/$1/c" "$tmp/$1/config.json"
}
setup() {
	skip_unless root runc busybox
	bundle ours /bin/probe
	bundle peer /bin/true
}
measure() {
	"$RATIO" $runs runc --root "$tmp/state" run --bundle "$tmp/ours" "ours$$" -- \
		runc --root "$tmp/state" run --bundle "$tmp/peer" "peer$$" |
		jq -c '.ratio = (.ours_us - .peer_us) / 10000'
}
