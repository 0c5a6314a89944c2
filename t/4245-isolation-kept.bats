#!/usr/bin/env bats
# What a probe of an executor's isolation leaves on record, with a driver that answers what a test wants.
load lib/common
load lib/fleet

HOSTB=8332a934-d156-45d4-97c1-74cf9d0dc6f7 OWNB=0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f

setup() {
	need jq sqlite3
	fleet_hub
	config '    - {id: box, enabled: true, network: none, oci_runtime: kata}'
	mkdir "$D/bin"
	cp "$BIN/cloop-executor" "$D/bin"
	cat > "$D/bin/cloop-exec-container" <<-'SH'
		#!/bin/sh
		dir=$(dirname "$0")
		cat > /dev/null
		[ "$1" = probe ] || exit 64
		# The answer is that of the moment it was asked; it comes when the test lets it.
		if mv "$dir/slow" "$dir/slow.$$" 2>/dev/null; then
			answer=$(cat "$dir/answer")
			: > "$dir/asked"
			until [ -e "$dir/go" ]; do sleep 0.05; done
			printf '%s\n' "$answer"
		else
			cat "$dir/answer"
		fi
	SH
	chmod 755 "$D/bin/cloop-exec-container"
}
probe() { "$D/bin/cloop-executor" probe box "$@"; }
# one BOOT-ID|null UPTIME : evidence of a kernel
one() {
	jq -nc --argjson boot "$1" --argjson up "$2" '{evidence: 1, nonce: null, uname: {sysname: "Linux", release: "6.1.0-28-amd64",
		version: "#1 SMP", machine: "x86_64"}, proc_version: "Linux version 6.1.0-28-amd64", boot_id: $boot, uptime_ms: $up,
		hypervisor_flag: true, hypervisor_vendor: null, dmi_vendor: null, dmi_product: null, gvisor_boot_log: null, unread: {}}'
}
# answers SANDBOX-BOOT-ID|null|none RELEASE [IDENTITY] : what the driver says from now on
answers() {
	local sandbox=null failure=null
	if [ "$1" = none ]; then failure='"killed"'; else sandbox=$(one "$1" 2500); fi
	jq -nc --argjson s "$sandbox" --argjson r "$(one "\"$HOSTB\"" 86400000)" --argjson f "$failure" --arg rel "$2" --arg id "${3:-same}" \
		'{executor_id: "box", oci_runtime: "kata", evidence: $s, reference: $r, failure: $f, engine_release: $rel,
		runtime_path: "/bin/kata", identity: $id}' > "$D/bin/answer"
}
vm() { answers "\"$OWNB\"" "${1-6.1.0-28-amd64}" "${2:-same}"; }
same_kernel() { answers "\"$HOSTB\"" 6.1.0-28-amd64; }
cannot_tell() { answers null "${1-6.1.0-28-amd64}" "${2:-same}"; }
row() { sql "select verdict || ' ' || standing || ' ' || (failure is not null) from isolation_evidence where executor_id = 'box'"; }

@test "a contradiction stands until a probe that can tell says otherwise" {
	same_kernel
	exits 1 probe
	same "$(row)" "host-kernel contradicted 0"
	# It cannot tell, cannot run, and is another engine by now.
	for answer in 'cannot_tell' 'cannot_tell "" other' 'answers none ""' 'answers none 6.1 other' 'vm ""'; do
		eval "$answer"
		exits 1 probe
		has "$output" contradicted
		has "$output" 'as it was found before'
		same "$answer: $(row)" "$answer: host-kernel contradicted 1"
	done
	has "$output" 'the engine does not say which kernel it runs on'
	vm
	exits 0 probe
	same "$(row)" "vm verified 0"
	same "$(cloop hub audit list --json --action executor.isolation_verdict | jq -r '.detail.standing' | sort | xargs)" "contradicted verified"
}

@test "what was verified stays only for the same engine and runtime, and is looked at again soon" {
	vm
	exits 0 probe
	same "$(row)" "vm verified 0"
	cannot_tell
	exits 0 probe
	same "$(row)" "vm verified 1"
	answers none ''
	exits 0 probe
	same "$(row)" "vm verified 1"
	# A minute later it no longer counts: the next run looks.
	sql "update isolation_evidence set attempted_at = attempted_at - 61000"
	has "$(cloop executor evidence)" 'the last probe could not'
	cannot_tell 6.1.0-28-amd64 other
	exits 2 probe
	same "$(row)" "unknown unverified 0"
}

@test "a release that is not known is no longer the same" {
	vm ''
	exits 2 probe
	same "$(row)" "unknown unverified 0"
	vm
	exits 0 probe
	# Neither of a new answer, nor of what is on record.
	cannot_tell ''
	exits 2 probe
	same "$(row)" "unknown unverified 0"
	vm
	exits 0 probe
	sql "update isolation_evidence set engine_release = ''"
	answers none ''
	exits 2 probe
	same "$(row)" "unknown unverified 1"
}

@test "of two probes the one that began last counts, whichever ends last" {
	vm
	: > "$D/bin/slow"
	probe > "$D/first" 2>&1 3>&- &
	until_ok [ -e "$D/bin/asked" ]
	same_kernel
	exits 1 probe
	same "$(row)" "host-kernel contradicted 0"
	: > "$D/bin/go"
	wait $! || [ $? = 1 ]
	same "$(row)" "host-kernel contradicted 0"
	has "$(cat "$D/first")" contradicted
	has "$(cat "$D/first")" 'a probe that began later has its answer on record'
	# A clock that was set back by an hour keeps nothing for an hour.
	sql "update isolation_evidence set attempted_at = attempted_at + 3600000"
	vm
	exits 0 probe
	same "$(row)" "vm verified 0"
}
