#!/usr/bin/env bats
# cloop executor bind, access, limits: which executor, for whom, and how much of it.
load lib/common
load lib/fleet

setup() { fleet_hub; }
error_of() { tail -n 1 <<< "$stderr" | jq -r ".error.$1"; }

@test "asked, bound, default set, first configured: in this order" {
	same "$(went)" box
	exits 0 cloop executor bind --default bench
	same "$output" "default: bench"
	same "$(went)" bench
	same "$(cloop executor list --json | jq -r 'select(.default) | .executor_id')" bench
	exits 0 cloop executor bind -p "$P" box
	same "$output" "$P: box"
	same "$(went)" box
	same "$(went -e bench)" bench
	exits 0 cloop executor bind -p "$P" bench --json
	same "$(jq -c '[.project, .executor_id, .before, .default, .changed]' <<< "$output")" "[\"$P\",\"bench\",\"box\",false,true]"
	exits 0 cloop executor bind -p "$P" bench
	same "$output" "$P: bench, as before"
	exits 0 cloop executor unbind -p "$P"
	same "$output" "$P: no longer bench"
	exits 0 cloop executor unbind -p "$P"
	same "$output" "$P: bound to none"
	exits 0 cloop executor unbind --default
	same "$(went)" box
	same "$(cloop hub audit list --json --action 'executor.*' | jq -r .action | sort | uniq -c | tr -s ' ')" \
		"$(printf ' 4 executor.bind\n 2 executor.unbind')"
}

@test "what is bound to nothing that exists is refused, never run elsewhere" {
	cloop executor bind -p "$P" bench > /dev/null
	config '    - {id: box, enabled: true}'
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "project '$P' is bound to executor 'bench', which is not configured"
	has "$stderr" "cloop executor bind -p $P ID"
	config '    - {id: box, enabled: true}
    - {id: bench, enabled: false}'
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "'bench' is off"
	exits 0 cloop executor bind -p "$P" bench
	has "$stderr" "is off: what is bound to it is refused"
	cloop executor unbind -p "$P" > /dev/null
	cloop executor bind --default bench > /dev/null 2>&1
	config '    - {id: box, enabled: true}'
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "the default executor is set to 'bench', which is not configured"
	same "$(went -e box)" box
}

@test "a binding that was written around the key is refused and on record" {
	cloop executor bind -p "$P" box > /dev/null
	sql "UPDATE executor_binding SET executor_id = 'bench'"
	exits 125 cloop run --json -p "$P" -- true
	same "$(error_of code)" forged_binding
	has "$(error_of message)" "is not as this hub signed it"
	same "$(cloop hub audit list --json --action executor.forged_binding | jq -r '.entity_id + " " + .detail.executor_id')" "$P bench"
	same "$(went -e box)" box
	cloop executor bind -p "$P" bench > /dev/null
	same "$(went)" bench
	# A signature of another row, of another project, and none at all.
	mkdir "$D/other"
	sql "INSERT INTO executor_binding SELECT '$D/other', executor_id, created_at, created_by, signature FROM executor_binding"
	exits 125 cloop run -p "$D/other" -- true
	has "$stderr" "not as this hub signed it"
	sql "UPDATE executor_binding SET project = '' WHERE project = '$D/other'"
	cloop executor unbind -p "$P" > /dev/null
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "the binding of the default to executor 'bench' is not as this hub signed it"
	has "$stderr" "cloop executor bind --default ID"
	cloop executor unbind --default > /dev/null
	# A row before anything was ever signed.
	rm "$HUB/.cloop/grants.pub"
	sql "INSERT INTO executor_binding VALUES ('$P', 'box', 1, 'x', '')"
	exits 125 cloop run --json -p "$P" -- true
	same "$(error_of code)" forged_binding
}

@test "binding needs the key, unbinding does not" {
	cloop executor bind -p "$P" bench > /dev/null
	mv "$HUB/cloop-secret-key" "$D/key"
	exits 78 cloop executor bind -p "$P" box
	same "$(went)" bench
	exits 0 cloop executor unbind -p "$P"
	exits 64 cloop executor bind --default -p "$P" box
	exits 64 cloop executor unbind --default -p "$P"
	mv "$D/key" "$HUB/cloop-secret-key"
	exits 65 cloop executor bind -p "$P" bnch
	has "$stderr" "did you mean 'bench'?"
	exits 65 cloop executor bind -p "$D/nowhere" box
	exits 1 cloop executor bind -p "$HUB" box
	exits 64 cloop executor-key bind box
	lacks "$(cloop list --names)" executor-key
}

@test "an access list shuts out who is not on it, at the binding and at the run" {
	me=$(id -un) mine=$(id -gn)
	exits 0 cloop executor access bench
	same "$output" "bench: not restricted"
	exits 1 cloop executor access bench --add user:nobody-at-all --json
	same "$(error_of code)" executor_audience_self_lockout
	same "$(cloop executor access bench)" "bench: not restricted"
	exits 0 cloop executor access bench --add "user:$me,group:/nogroup"
	same "$output" "$(printf 'group:nogroup\nuser:%s' "$me")"
	same "$(went -e bench)" bench
	exits 1 cloop executor access bench --remove "user:$me"
	exits 0 cloop executor access bench --remove "user:$me" --add "group:$mine" --json
	same "$(jq -c '[.restricted, (.entries | length), .changed]' <<< "$output")" '[true,2,true]'
	same "$(went -e bench)" bench
	# Somebody was taken off it after the binding was made.
	cloop executor bind -p "$P" bench > /dev/null
	sql "DELETE FROM executor_access WHERE entry = 'group:$mine'"
	exits 125 cloop run -p "$P" --json -- true
	same "$(error_of constraint)" access
	has "$(error_of message)" "executor 'bench' is restricted, and $me is not on its list"
	has "$(error_of remediation)" "cloop executor access bench --add user:$me"
	exits 77 cloop executor bind -p "$P" bench
	same "$(went --place)" box
	same "$(went -e box)" box
	for entry in user: group:/ nobody 'user:a b' "$(printf 'user:\xff')" 'user:a:b' "user:$(head -c 200 /dev/zero | tr '\0' x)"; do
		exits 65 cloop executor access box --add "$entry"
	done
}

@test "three ceilings, each only lower than the one above, and who capped what is said" {
	printf '  limits: {max_memory: 8g, max_pids: 600}\n' >> "$HUB/.cloop/config.yaml"
	mkdir -p "$P/.cloop"
	printf 'resources: {cpu: 8, memory: 16g, pids: 500}\n' > "$P/.cloop/sandbox.yaml"
	exits 0 cloop executor limits box --cpu 4 --memory 32g --pids 300
	same "$(tr -s ' ' <<< "$output" | sed 's/ *$//')" "RESOURCE FLEET EXECUTOR IN FORCE
cpu - 4000m 4000m (executor)
memory 8192 MB 32768 MB 8192 MB (fleet)
disk - - -
pids 600 300 300 (executor)"
	exits 0 cloop executor limits -p "$P" --cpu 1.5 --json
	same "$(jq -c '[.level, .ceiling.cpu_milli, .in_force.cpu_milli, .changed]' <<< "$output")" '["project",1500,1500,true]'
	exits 125 cloop run --trace-steps -p "$P" -e box -- true
	has "$stderr" "cpu: asked for 8000m, the project ceiling allows 1500m"
	has "$stderr" "memory: asked for 16384 MB, the fleet ceiling allows 8192 MB"
	has "$stderr" "pids: asked for 500, the executor ceiling allows 300"
	same "$(spec_of | jq -c '.resources | [.cpu_milli, .memory_mb, .pids]')" "[1500,8192,300]"
	# What was not asked for is capped too, and no ceiling raises a default.
	printf 'resources: {}\n' > "$P/.cloop/sandbox.yaml"
	exits 0 cloop executor limits box --disk 2g --cpu 0
	exits 125 cloop run --trace-steps -p "$P" -e box -- true
	same "$(spec_of | jq -r '.resources | "\(.pids) \(.disk_mb) \(.disk_source)"')" "300 2048 the executor's ceiling (cloop executor limits)"
	exits 0 cloop executor limits box --clear
	exits 0 cloop executor limits -p "$P" --clear
	same "$(sql 'SELECT count(*) FROM ceiling')" 0
	for bad in '--cpu -1' '--cpu nan' '--cpu 5000' '--memory 63' '--memory 2t' '--memory x' '--pids -1' '--pids 70000' '--disk 1.5g'; do
		# shellcheck disable=SC2086 # two words
		exits 65 cloop executor limits box $bad
	done
	exits 64 cloop executor limits
	exits 64 cloop executor limits box -p "$P"
	exits 64 cloop executor limits box --clear --cpu 1
	exits 65 cloop executor limits nosuch --cpu 1
}

@test "a group with very many members is one of the caller's all the same" {
	need root unshare
	local D=$BATS_TEST_TMPDIR
	cp /etc/group "$D/group"
	{ printf 'crowd:x:54321:'; seq -s, -f 'member%06.0f' 1 9000; } >> "$D/group"
	# shellcheck disable=SC2016 # the inner shell's
	crowd() {
		unshare --mount bash -c 'mount --bind "$1" /etc/group && exec setpriv --regid 54321 --clear-groups "${@:2}"' - "$D/group" "$@"
	}
	exits 0 crowd cloop executor access box --add group:crowd
	run --separate-stderr crowd cloop run --trace-steps -p "$P" -e box -- true
	lacks "$stderr" 'is restricted'
	exits 125 cloop run -p "$P" -e box -- true
	has "$stderr" 'is restricted'
}

@test "plain processes of this host are nobody's default, and strict mode puts them out" {
	printf '  local: {enabled: true}\n  allow_host_process: true\n' >> "$HUB/.cloop/config.yaml"
	has "$(cloop executor list | tr -s ' ')" "local localprocess none unfiltered cloop-exec-local, only by name, no isolation"
	exits 1 cloop executor bind --default local
	has "$stderr" "nobody's default"
	same "$(went)" box
	exits 0 cloop executor bind -p "$P" local
	exits 0 cloop run -p "$P" -- /bin/true
	sed -i 's/allow_host_process: true/allow_host_process: false/' "$HUB/.cloop/config.yaml"
	exits 125 cloop run -p "$P" --json -- /bin/true
	same "$(error_of code)" host_execution
	has "$(error_of remediation)" "box, bench"
	exits 125 cloop run -p "$P" -e local -- /bin/true
	same "$(went -e box)" box
	config '    []'
	printf '  local: {enabled: true}\n' >> "$HUB/.cloop/config.yaml"
	cloop executor unbind -p "$P" > /dev/null
	exits 125 cloop run -p "$P" -- /bin/true
}
