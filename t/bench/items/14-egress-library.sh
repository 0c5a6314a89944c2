# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='10,000,000 checks in the library under 100,000 ranges, in 1 s'
target=1.0
. "$CLOOP_SRC/t/bench/filter.bash"
setup() { both_families > "$tmp/policy"; }
measure() {
	local us
	us=$("$RATE" checks "$tmp/policy")
	row "$(awk -v t="$us" 'BEGIN { printf "%.0f", t * 10000 }')" 1000000
}
