#!/usr/bin/env bats
# The configuration through the command line: what is wrong, what is in force, which keys there are.
load lib/common

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs
	cloop -C "$D/hub" hub bootstrap > /dev/null
	conf=$D/hub/.cloop/config.yaml
	export CLOOP_DIR=$D/hub
}

@test "check: every case of t/cases/config has the status that its issues ask for" {
	for f in "$CASES"/config/*.case; do
		sed '/^====$/,$d' "$f" > "$conf"
		want=0
		sed '1,/^====$/d' "$f" | grep -qE '^(error|fails) ' && want=78
		exits $want cloop hub config check
		[ $want = 0 ] || has "$stderr" "$conf"
	done
}

@test "check: place, key, message and fix" {
	printf 'executors:\n  container:\n    enabled: true\n    memroy: 4g\n' > "$conf"
	exits 78 cloop hub config check
	same "$stderr" "$conf:4:5: error: executors.container.memroy: there is no such key
  fix: did you mean 'memory'?
cloop-hub: $conf has 1 error
  fix: mend what is named above, then 'cloop hub config check' again"
	same "$output" ""
	exits 78 cloop hub config check --json
	same "$(jq -c '.ok, (.issues[0] | .line, .column, .key)' <<< "$output" | xargs)" \
		"false 4 5 executors.container.memroy"
	has "$stderr" '"error"'
}

@test "check: another file, standard input, and none" {
	echo 'ui: {listn: x}' > "$D/other.yaml"
	exits 78 cloop hub config check "$D/other.yaml"
	has "$stderr" "$D/other.yaml:1:6: error: ui.listn"
	exits 78 cloop hub config check - <<< 'executors: {cpus: 1}'
	has "$stderr" "-:1:13: error: executors.cpus"
	exits 0 env -u CLOOP_DIR cloop hub config check /dev/null
	exits 69 cloop hub config check "$D/none.yaml"
	rm "$conf"
	exits 0 cloop hub config check
}

@test "check: input that is no YAML mapping, in every shape" {
	big() { head -c 1100000 /dev/zero | tr '\0' a; }
	deep() { printf 'a: '; printf '[%.0s' {1..100}; }
	dup() { printf 'ui: {}\nui: {}\n'; }
	nul() { printf 'ui: "a\0b"\n'; }
	bytes() { printf 'ui: \xff\xfe\n'; }
	cut() { printf 'executors: {container: {'; }
	alias() { printf 'a: &x 1\nb: *x\n'; }
	tag() { printf 'ui: !!python/object {}\n'; }
	two() { printf -- '---\nui: {}\n---\nui: {}\n'; }
	list() { printf -- '- 1\n'; }
	word() { printf 'word\n'; }
	bomb() { printf '%s\n' 'a: &a [x,x]' 'b: &b [*a,*a]' 'c: [*b,*b]'; }
	for what in big deep dup nul bytes cut alias tag two list word bomb; do
		$what > "$conf"
		exits 78 cloop hub config check
		has "$stderr" "$conf"
		exits 78 cloop hub config show
		same "$output" ""
		exits 0 cloop hub names executor
		same "$output" ""
	done
}

@test "check: a key cannot write to the terminal" {
	printf '"\\e[31mred\\r": 1\n' > "$conf"
	exits 78 cloop hub config check
	lacks "$stderr" $'\e'
	lacks "$stderr" $'\r'
}

@test "show: values with their sources" {
	printf 'executors:\n  container:\n    enabled: true\n    cpus: 2.5\n    memory: lots\n' > "$conf"
	exits 0 cloop hub config show
	has "$stderr" "has errors"
	has "$output" "# $conf"
	grep -qE '^executors.container.cpus +2.5 +line 4$' <<< "$output"
	grep -qE '^executors.container.memory +512m +line 5, but its value is bad$' <<< "$output"
	grep -qE '^executors.container.pids_limit +1024 +default$' <<< "$output"
	exits 0 cloop hub config show --json executors.container.cpus
	same "$(jq -c .values <<< "$output")" \
		"{\"executors.container.cpus\":{\"built\":true,\"rejected\":false,\"source\":\"$conf:4\",\"value\":2.5}}"
	same "$(jq -r '.executors[0] | .id, .in_service' <<< "$output" | xargs)" "container true"
	exits 0 cloop hub config show executors.container
	lacks "$output" orchestrator
	exits 64 cloop hub config show executors.container.cpu
	has "$stderr" "executors.container.cpus"
}

@test "show: an executor out of service says why" {
	printf 'executors:\n  container: {enabled: true, oci_runtime: ../runc}\n' > "$conf"
	exits 0 cloop hub config show
	has "$output" "The executor 'container' is out of service: executors.container.oci_runtime"
	exits 0 cloop hub names executor
	same "$output" ""
	# No engine that nobody named takes the place of one that was mistyped.
	printf 'executors:\n  container: {enabled: true, runtime: /nowhere/podman}\n' > "$conf"
	exits 0 cloop hub config show
	has "$output" "The executor 'container' is out of service: executors.container.runtime"
	exits 78 cloop hub config check
	has "$output$stderr" "/nowhere/podman"
}

@test "show: what is asked for and not in this release is named" {
	printf 'executors:\n  git_proxy: {enabled: true, tls: auto}\n' > "$conf"
	exits 0 cloop hub config show --json
	same "$(jq -c .not_in_this_release <<< "$output")" '["git-proxy"]'
	exits 0 cloop hub config check
	has "$stderr" "does not have 'git-proxy'"
}

@test "keys: one object a line, complete and in order" {
	exits 0 env -u CLOOP_DIR cloop hub config keys --json
	same "$(jq -rs '[.[].key] == ([.[].key] | sort)' <<< "$output")" true
	same "$(jq -rs '[.[] | select(.help == "" or .type == null or .feature == null)] | length' <<< "$output")" 0
	same "$(jq -r 'select(.key == "executors.container.seccomp") | .values | join(" ")' <<< "$output")" \
		"strict userns engine"
	exits 0 cloop hub config keys
	has "$output" "executors.container.address_pool"
	exits 0 cloop hub names config-key
	has "$output" "orchestrator.min_free_disk_mb"
	exits 64 cloop hub names nothing
}

@test "the man page has every key" {
	page=$(cat "$SRC/man/cloop-config.yaml.5")
	while read -r key; do
		has "$page" ".It Cm \"$key\""
	done < <(cloop hub names config-key)
}

@test "output that cannot be written is an error" {
	exits 71 bash -c 'cloop hub config keys > /dev/full'
	exits 71 bash -c 'cloop hub config show --json > /dev/full'
}

@test "check: every message has a fix, and none is said twice" {
	for f in "$CASES"/config/*.case; do
		sed '/^====$/,$d' "$f" > "$conf"
		run --separate-stderr cloop hub config check --json
		[ -n "$output" ] || continue
		same "$(jq -c '.issues[] | select(.remediation == null)' <<< "$output")" ""
		same "$(jq -r '.issues[] | "\(.line):\(.column) \(.key) \(.message)"' <<< "$output" | sort | uniq -d)" ""
	done
	printf 'executors: {container: {pids_limit: 99999}}\n' > "$conf"
	exits 78 cloop hub config check
	has "$stderr" "executors.container.pids_limit: 'pids_limit' is 99999, not between -1 and 65536
  fix: write a whole number from -1 to 65536 there"
	echo '- a' > "$conf"
	exits 78 cloop hub config check
	same "$stderr" "cloop-hub: $conf:1:1: the configuration is no mapping of keys
  fix: start it with a key at the left margin, such as 'executors:'"
}
