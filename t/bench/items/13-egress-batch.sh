# shellcheck shell=bash disable=SC2034,SC1091,SC2154
item='--check-file: 2,000,000 lines under 100,000 ranges, at 1,000,000/s'
target=1.0
. "$CLOOP_SRC/t/bench/filter.bash"
setup() {
	both_families > "$tmp/policy"
	questions 2000000 "$tmp/policy" > "$tmp/q"
	head -n 1 "$tmp/q" > "$tmp/one"
}
ask() { cloop-egress firewall --policy "$tmp/policy" --check-file "$1" || [ $? = 1 ]; }
# Reading and compiling the policy is not part of it: what one line takes is taken off.
measure() {
	local i
	for i in 1 2 3; do
		echo $(($(cpu_us ask "$tmp/q") - $(cpu_us ask "$tmp/one")))
	done | sort -n | head -n 1 > "$tmp/us"
	row "$(cat "$tmp/us")" 2000000
}
