#!/usr/bin/env bats
# cloop executor: what is configured, how it is, and taking it in and out of service.
load lib/common
load lib/fleet

setup() { fleet_hub; }

@test "list shows every executor that is configured, ls those that are on" {
	exits 0 cloop executor list
	same "$(head -n 1 <<< "$output")" "ID      KIND       ISOLATION  EGRESS      NOTES"
	has "$output" "box     container  container  none        default, podman or docker"
	has "$output" "podman or docker via runsc"
	has "$output" "off     container  container  none        off"
	has "$output" "out of service"
	same "$(cloop executor list --json | jq -r 'select(.in_service) | .executor_id' | paste -sd,)" box,bench
	same "$(cloop executor list --json | jq -r 'select(.default) | .executor_id')" box
	exits 0 cloop executor ls
	same "$(head -n 1 <<< "$output" | tr -s ' ')" "ID KIND STATE IN-FLIGHT LAST-SEEN REASON"
	same "$(sed -n 2p <<< "$output" | tr -s ' ' | sed 's/ $//')" "box container ready 0 never"
	has "$output" "broken  container  unreachable"
	lacks "$output" "off "
	config '    []'
	exits 0 cloop executor list
	same "$output" "no executors are configured"
	same "$(cloop executor ls)" "no executors are on"
	same "$(cloop executor list --json)" ""
}

@test "cordon, uncordon and drain move it, say so, and say so once" {
	exits 0 cloop executor cordon box --reason 'new firmware'
	same "$output" "box: ready -> cordoned"
	exits 0 cloop executor cordon box
	same "$output" "box: already cordoned"
	has "$(cloop executor ls)" "new firmware"
	exits 0 cloop executor drain box
	same "$output" "$(printf 'box: cordoned -> draining\nbox: drained')"
	exits 0 cloop executor uncordon box
	same "$output" "box: draining -> ready"
	exits 0 cloop executor uncordon box
	same "$output" "box: not cordoned or draining (ready)"
	exits 0 cloop executor cordon bench --json
	same "$(jq -c '[.executor_id, .from, .to, .changed, .schedulable, .admin_held]' <<< "$output")" \
		'["bench","ready","cordoned",true,false,true]'
	same "$(cloop hub audit list --json --action 'executor.*' | jq -r '.action + " " + .entity_id' | sort | uniq -c | tr -s ' ')" \
		"$(printf ' 1 executor.cordon bench\n 1 executor.cordon box\n 1 executor.drain box\n 1 executor.uncordon box')"
}

@test "uncordon warns of an executor whose probes failed meanwhile" {
	cloop executor cordon box > /dev/null
	sql "UPDATE executor_health SET failures = 4, version = version + 1"
	exits 0 cloop executor uncordon box
	same "$output" "box: cordoned -> unreachable"
	has "$stderr" "its last 4 probes failed"
	exits 0 cloop executor ls --json
	same "$(jq -c 'select(.executor_id == "box") | [.state, .consecutive_failures, .schedulable]' <<< "$output")" '["unreachable",4,false]'
}

@test "what is held or unreachable gets no run, by name, by default or by choice" {
	same "$(went)" box
	cloop executor cordon box --reason "$(printf 'dust\033[2J')" > /dev/null
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "executor 'box' is cordoned: dust?[2J"
	has "$stderr" "fix: uncordon it: cloop executor uncordon box"
	exits 125 cloop run -p "$P" --json -e box -- true
	same "$(tail -n 1 <<< "$stderr" | jq -r .error.constraint)" health
	same "$(went --place)" bench
	cloop executor drain bench > /dev/null
	exits 125 cloop run -p "$P" --place -- true
	has "$stderr" "bench is draining"
	grep -Eq 'fix: uncordon (box|bench) \(cloop executor uncordon (box|bench)\)' <<< "$stderr"
	sql "UPDATE executor_health SET state = 'unreachable', reason = 'no answer' WHERE executor_id = 'box'"
	exits 125 cloop run -p "$P" -- true
	has "$stderr" "executor 'box' is unreachable: no answer"
	has "$stderr" "cloop executor probe-health box"
	sql "UPDATE executor_health SET state = 'degraded' WHERE executor_id = 'box'"
	same "$(went)" box
}

@test "what a run is placed by is what cloop place is shown" {
	cloop executor cordon box > /dev/null
	live c-00000000000a bench
	run --separate-stderr cloop run --trace-steps --place -p "$P" -- true < /dev/null
	step=$(grep 'cloop place' <<< "$stderr")
	same "$(bash -c "$step" 2> /dev/null)" bench
	same "$(bash -c "${step% | cloop place}" | jq -c '.candidates[:2] | map([.executor_id, .health, .in_flight])')" \
		'[["box","cordoned",null],["bench","ready",1]]'
}

@test "drain waits for what runs there, and no longer than it is told" {
	live c-00000000000a box
	live c-00000000000b bench
	same "$(cloop executor ls --json | jq -r 'select(.executor_id == "box") | .in_flight')" 1
	exits 2 cloop executor drain box --timeout 100ms
	same "$output" "$(printf 'box: ready -> draining\nbox: 1 in flight\nbox: 1 still in flight after 100ms; it stays draining')"
	exits 0 cloop executor drain box --timeout 100ms --force
	exits 2 cloop executor drain box --timeout 100ms --json
	same "$(jq -c '[.in_flight, .drained, .state, .changed]' <<< "$output")" '[1,false,"draining",false]'
	timeout 60 cloop executor drain box --timeout 0 > "$D/out" 3>&- &
	for ((i = 0; i < 600; i++)); do grep -q 'in flight' "$D/out" && break; sleep 0.1; done
	ended c-00000000000a
	wait $!
	same "$(tail -n 1 "$D/out")" "box: drained"
}

@test "rows that were left behind keep nobody waiting" {
	# A run that never got a workload, and one that is done but for its row.
	sql "INSERT INTO run (id, project, executor_id, argv, harness, uid, state, created_at)
		VALUES ('run_00000000000000000000000a', '/p', 'box', '[]', 'x', 0, 'starting', 1),
		('run_00000000000000000000000b', '/p', 'box', '[]', 'x', 0, 'running', 1)"
	exits 0 cloop executor drain box --timeout 1m
	has "$output" "box: drained"
	# One that is about to start counts.
	sql "UPDATE run SET created_at = $(date +%s)000 WHERE state = 'starting'"
	same "$(cloop executor ls --json | jq -r 'select(.executor_id == "box") | .in_flight')" 1
}

@test "of many who change one executor at once each change is made once" {
	for i in 1 2 3 4 5 6 7 8; do
		cloop executor cordon box --reason "$i" >> "$D/out" 3>&- &
	done
	wait
	same "$(sort "$D/out" | uniq -c | tr -s ' ')" "$(printf ' 7 box: already cordoned\n 1 box: ready -> cordoned')"
	same "$(cloop hub audit list --json --action executor.cordon | wc -l)" 1
	exits 0 cloop hub audit verify
}

@test "ids that are unknown, hostile or gone from the configuration" {
	for id in nosuch '' "$(printf 'a\xff\033[2J')" "$(head -c 5000 /dev/zero | tr '\0' x)" '../box' "box' OR 1=1"; do
		for verb in cordon uncordon drain; do
			exits 65 cloop executor $verb "$id"
			same "$output" ""
		done
	done
	exits 65 cloop executor cordon bnch
	has "$stderr" "did you mean 'bench'?"
	cloop executor cordon bench --reason 'old' > /dev/null
	config '    - {id: box, enabled: true}'
	exits 0 cloop executor ls
	same "$(grep '^bench' <<< "$output" | tr -s ' ')" "bench - cordoned - never old"
	same "$(cloop executor ls --json | jq -c 'select(.executor_id == "bench") | [.registered, .in_flight_known]')" '[false,false]'
	exits 65 cloop executor uncordon bench
}

@test "an executor that there is not: bad input, with those that there are" {
	local verb
	for verb in show cordon uncordon drain limits access labels probe-health probe 'bind -p .'; do
		# shellcheck disable=SC2086 # the words of a command
		exits 65 cloop executor $verb zzz
		has "$stderr" "no executor 'zzz'"
		has "$stderr" "fix: there are: box, bench, off, broken"
		# shellcheck disable=SC2086
		exits 65 cloop executor $verb benhc --json
		same "$(jq -r '.error | .constraint + " " + .remediation' <<< "$stderr")" "executor did you mean 'bench'?"
	done
}

@test "a sweep that hangs does not hold a drain beyond its time" {
	live c-00000000000a box
	mkdir "$D/bin"
	cp "$BIN/cloop-executor" "$D/bin"
	printf '#!/bin/sh\nexec sleep 3000\n' > "$D/bin/cloop-sweep"
	chmod 755 "$D/bin/cloop-sweep"
	# A bound, and no time: a sweep of its own would have a minute.
	exits 2 timeout 50 "$D/bin/cloop-executor" drain box --timeout 1s
	has "$output" 'box: 1 still in flight after 1s; it stays draining'
	has "$stderr" 'what is left behind could not be settled'
}
