# shellcheck shell=bash disable=SC2034,SC2154
. "$CLOOP_SRC/t/bench/state.bash"
item='cloop-executor ls, against 2 x /bin/true and one store read'
target=1.0
setup() { bare_hub; }
# In units of /bin/true by turns, and in processor time, which neighbours disturb least.
trues() { "$RATIO" "$runs" "$@" -- /bin/true | jq .cpu_ratio; }
measure() {
	local ls list start
	ls=$(trues cloop-executor ls) list=$(trues cloop-runs list) start=$(trues cloop-runs --help)
	jq -cn --argjson ls "$ls" --argjson list "$list" --argjson start "$start" \
		'{ours_us: ($ls * 1000), peer_us: ((2 + $list - $start) * 1000)} | .ratio = .ours_us / .peer_us'
}
