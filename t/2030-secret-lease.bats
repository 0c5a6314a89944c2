#!/usr/bin/env bats
# Leases: what a run is lent through a pipe, how that lives on, and who is told what about it.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2119,SC2120,SC2154 # each test is a subshell of its own
load lib/common
load lib/grants

setup() {
	grants_hub
	leasetool_here
}

teardown() {
	local m
	for m in "$D/small" "$hub"; do ! mountpoint -q "$m" || umount "$m"; done
}

RUN=run_0123456789abcdef01234567
# take [PROJECT] [RUN] : the lease as JSON.
take() { "$D/bin/leasetool" take "$hub" "${1:-$app}" container "${2:-$RUN}"; }
renew() { "$D/bin/leasetool" renew "$hub" "$1"; }
vars() { printf '{"API_KEY":"planted-abc","OTHER":"planted-def"}' | mint app-env --kind env; }
pat() { echo 'ghp_plantedsecrettoken' | mint deploy-pat --kind github_pat; }
both() {
	vars && pat
	env_grant=$(granted app-env --to "project:$app" --env-keys API_KEY)
	pat_grant=$(granted deploy-pat --to "project:$app" --repos 'myorg/*')
}
guide() { sed -E 's/(sec|grant|lease|run)_[0-9a-f]{24}/\1_ID/g; s/20[0-9]{2}-[0-9-]+T[0-9:]+Z/TIME/g'; }

@test "a run is lent what its grants allow, and the store keeps none of it" {
	both
	exits 0 take
	lease=$(jq -r .id <<< "$output")
	same "$(jq -r '.items[] | select(.kind == "env") | .env | tojson' <<< "$output")" '{"API_KEY":"planted-abc"}'
	same "$(jq -r '.items[] | select(.kind == "github_pat") | .files | to_entries | map(.key + " " + .value.mode) | join(",")' <<< "$output")" \
		"git-credential-cloop 0700,gitconfig 0600,github-token 0600"
	same "$(jq -r '.env.CLOOP_LEASE_DIR' <<< "$output")" "/run/cloop/cloop-lease-${lease#lease_}"
	same "$(jq -r '.env.CLOOP_REDACT_ENV' <<< "$output")" API_KEY
	same "$(jq -c '.redact | map(select(startswith("planted-def"))) | length' <<< "$output")" 0
	same "$(sql "SELECT state, run_id, executor_id FROM lease")" "live|$RUN|container"
	same "$(sql "SELECT count(*) FROM lease_grant WHERE state = 'held'")" 2
	run ! grep -rqa 'planted' "$hub/.cloop"
	same "$(cloop hub audit list --action secret.lease --json | jq -c .detail.decision | sort | uniq -c | xargs)" '2 allow'
	same "$(cloop hub audit list --action secret.lease --json | jq -r '.detail | [.lease_id, .lease_expires_at] | join(" ")' | sort -u)" \
		"$(sql "SELECT id, expires_at FROM lease" | tr '|' ' ')"
	exits 0 cloop hub audit verify
}

@test "a lease goes into a pipe and nowhere else" {
	both
	for to in "$D/file" /dev/null; do
		exits 1 bash -c "echo '{\"project\":\"$app\"}' | cloop secret take > $to"
		has "$stderr" "into a pipe only"
		has "$stderr" "fix: 'cloop secret lease'"
	done
	same "$(sql "SELECT count(*) FROM lease")" 0
	same "$(echo "{\"project\":\"$app\"}" | cloop secret take | "$D/bin/leasetool" show | jq '.items | length')" 2
}

@test "a question that is none is refused, and nothing is lent" {
	both
	for q in '' '[]' '{"projekt":"/x"}' '{"project":1}' '{"project":"/x"' 'null'; do
		exits 65 bash -c 'printf "%s" "$1" | cloop secret take | cat; exit "${PIPESTATUS[1]}"' - "$q"
	done
	exits 65 bash -c 'echo "{}" | cloop secret renew | cat; exit "${PIPESTATUS[1]}"'
	has "$stderr" "'id' is missing"
	same "$(sql "SELECT count(*) FROM lease")" 0
}

@test "nothing is lent without the key, and the reason comes back" {
	both
	mv "$D/cloop-secret-key" "$D/away" 2>/dev/null || mv "$hub/cloop-secret-key" "$D/away"
	exits 1 take
	same "$(jq -r .error.code <<< "$output")" key_missing
	same "$(sql "SELECT count(*) FROM lease")" 0
}

@test "a renewal lends what is granted then: a revoked grant is refused by name" {
	both
	lease=$(take | jq -r .id)
	exits 0 renew "$lease"
	same "$(jq -r .id <<< "$output")" "$lease"
	exits 1 cloop secret revoke "$env_grant" --wait 0
	exits 0 renew "$lease"
	same "$(jq -r '.items | map(.name) | join(",")' <<< "$output")" deploy-pat
	same "$(sql "SELECT count(*) FROM lease_grant WHERE state = 'taking' AND grant_id = '$env_grant'")" 1
	exits 1 cloop secret revoke "$pat_grant" --wait 0
	exits 1 renew "$lease"
	same "$(jq -r .error.code <<< "$output")" lease_over
	has "$output" "its grants were revoked"
}

@test "what is refused is in the project's journal, with its reason" {
	echo 'ghp_plantedsecrettoken' | mint deploy-pat --kind github_pat
	granted deploy-pat --to "project:$app" --repos 'a/b' --permissions contents:write --branches 'cloop/*' >/dev/null
	exits 0 take
	same "$(jq -r '.id + (.items | length | tostring) + .refused[0].code' <<< "$output")" "0branches"
	same "$(sql "SELECT kind FROM journal WHERE run_id = '$RUN'")" credential_refused
	has "$(sql "SELECT text FROM journal")" 'this run goes without github_pat "deploy-pat"'
}

# ---- taking back ----

# lent : a lease whose holder is this test: a workload's row with our own process as its supervisor.
lent() {
	sql "INSERT INTO run (id, project, executor_id, argv, harness, uid, state, created_at)
		VALUES ('$RUN', '$app', 'container', '[]', 'make', 0, 'running', 1)"
	lease=$(take | jq -r .id)
	local me=$BASHPID
	# Nobody else looks after it: a guardian would find no such container.
	exec 9> "$hub/.cloop/guardian.lock"
	flock 9
	sql "INSERT INTO handle (id, run_id, executor_id, driver, project, shim_pid, shim_start, boot_id, started_at, state)
		VALUES ('c-0123456789ab', '$RUN', 'container', 'container', '$app', $me,
		$(awk '{ print $22 }' "/proc/$me/stat"), '$(cat /proc/sys/kernel/random/boot_id)', 1, 'live');
		UPDATE lease SET sandbox = 'c-0123456789ab' WHERE id = '$lease'"
}
holder() { "$D/bin/leasetool" "$1" "$db" "$lease" "${@:2}"; }
member() { sed -E 's/hub-[0-9a-f]{6} on [^:]+:/hub-5d1e0c on build-01:/'; }

@test "a grant is taken back from who holds it, as the guide shows it" {
	both
	lent
	exits 0 cloop secret holders "$pat_grant"
	same "$(sed -E 's/in 1[0-9]m[0-9]+s/in TIME/' <<< "$output")" \
"1 running workload(s) hold $pat_grant (deploy-pat), 0 in their environment
  $RUN on container, project $app: files; lease ends in TIME"
	exits 0 cloop secret holders "$env_grant"
	has "$output" "1 in their environment"
	has "$output" "removes containers and Pods"
	cloop secret revoke "$pat_grant" --wait 60s > "$D/out" 3>&- & revoking=$!
	asked() { [ "$(holder asked | jq -r '.grants[].grant_id')" = "$pat_grant" ]; }
	until_ok asked
	same "$(holder asked | jq -c '[.over, .grants[].kill]')" "[false,false]"
	holder answer "$pat_grant" 3
	wait "$revoking"
	same "$(member < "$D/out")" "✓ revoked grant $pat_grant (deploy-pat)
  hub member hub-5d1e0c on build-01: taken back from 1 lease(s) — revoked
    container: revoked — 3 file(s) removed"
	# The lease keeps its other grant.
	same "$(cloop secret leases | awk 'NR == 2 {print $NF}')" app-env
	exits 0 renew "$lease"
	same "$(jq -r '.items | map(.name) | join(",")' <<< "$output")" app-env
	exits 1 cloop secret holders "$pat_grant"
	for a in revoke_sent revoke_acked; do
		same "$(cloop hub audit list --action lease.$a --json | wc -l)" 1
	done
	# Each step says of whom, what, and how long it took.
	same "$(cloop hub audit list --action lease.revoke_sent --json | jq -c '.detail | del(.reason)')" \
		"{\"action\":\"scrub\",\"decision\":\"allow\",\"executor_ids\":[\"container\"],\"grant_id\":\"$pat_grant\",\"lease_ids\":[\"$lease\"],\"leases\":1}"
	same "$(cloop hub audit list --action lease.revoke_acked --json | jq -c '.detail | [.action, .decision, .executor_id, .files_removed, .grant_id, .lease_id, .run_id, .state, (.took_ms >= 0)]')" \
		"[\"scrub\",\"allow\",\"container\",3,\"$pat_grant\",\"$lease\",\"$RUN\",\"revoked\",true]"
	exits 0 cloop hub audit verify
	# A second time takes nothing back.
	exits 0 cloop secret revoke "$pat_grant"
	has "$output" "it was revoked already"
	same "$(cloop hub audit list --action lease.revoke_sent --json | wc -l)" 1
}

@test "a lease is taken back whole, with kill; what a holder could not do is said" {
	both
	lent
	exits 1 cloop secret revoke "$lease" --action kill --reason 'PAT rotated' --wait 0
	has "$output" "✓ revoked lease $lease ($RUN)"
	has "$output" "container: revoke_pending — 2 holder(s) have not answered"
	same "$(holder asked | jq -c '[.over, (.grants | length), .grants[0].kill]')" "[true,2,true]"
	holder answer "$pat_grant" 3
	holder answer "$env_grant" 0 "the directory is busy"
	exits 1 cloop secret revoke "$lease" --wait 0 --json
	same "$(jq -r .state <<< "$output")" failed
	same "$(jq -r '.holders[] | select(.state == "failed") | .error' <<< "$output")" "the directory is busy"
	same "$(cloop hub audit list --action lease.revoke_failed --json | jq -c '.detail | [.action, .decision, .error, .executor_id, .state, has("took_ms")]')" \
		'["kill","deny","the directory is busy","container","failed",true]'
	same "$(cloop hub audit list --action lease.revoke_sent --json | jq -c '.detail | [.action, .executor_ids, .lease_id, .leases, .reason]')" \
		"[\"kill\",[\"container\"],\"$lease\",1,\"PAT rotated\"]"
	exits 1 renew "$lease"
	same "$(jq -r '.error.code + " " + .error.message' <<< "$output" | sed -E 's/at .*Z/at TIME/')" \
		"lease_over the lease $lease was revoked at TIME: PAT rotated"
	# Whoever is over has nothing left.
	holder release
	exits 0 cloop secret revoke "$lease" --wait 0
}

@test "a holder without a supervisor is unreachable, and is asked again until its workload is over" {
	both
	lent
	sql "UPDATE handle SET shim_start = 1"
	exits 1 cloop secret revoke "$pat_grant" --wait 200ms
	has "$output" "container: unreachable"
	exits 0 cloop secret sweep
	has "$output" "1 pending"
	sql "UPDATE handle SET state = 'ended', ended_at = 2"
	exits 0 cloop secret sweep
	has "$output" "1 orphaned"
	exits 0 cloop secret revoke "$pat_grant"
	same "$(sql "SELECT count(*) FROM lease_grant WHERE state <> 'taken'")" 0
}

@test "deleting a secret and narrowing a grant take back, widening does not" {
	both
	lent
	wider=$(cloop secret grant edit "$pat_grant" --repos 'myorg/*,other/tool' --json | jq -r .id)
	same "$(sql "SELECT state FROM lease_grant WHERE grant_id = '$wider'")" held
	exits 1 cloop secret holders "$pat_grant"
	exits 0 cloop secret holders "$wider"
	exits 0 cloop secret grant edit "$wider" --repos other/tool
	has "$output" "asked back:  from 1 lease(s)"
	same "$(sql "SELECT state FROM lease_grant WHERE grant_id = '$wider'")" taking
	exits 0 cloop secret delete app-env
	has "$output" "asked back from 1 lease(s)"
	same "$(sql "SELECT state, reason FROM lease")" "revoked|its secret was deleted"
	exits 0 cloop hub audit verify
}

@test "the audit trail is asked for a secret and for a grant, also when they are gone" {
	both
	lent
	id=$(cloop secret show deploy-pat --json | jq -r .id)
	actions() { cloop hub audit list -n 0 --json "$@" | jq -r .action | sort | uniq -c | sed 's/^ *//' | tr '\n' ';'; }
	want=$(actions --secret "$id")
	has "$want" "1 secret.grant;" "secret.lease;" "1 secret.mint;"
	lacks "$(cloop hub audit list -n 0 --secret "$id")" app-env
	same "$(actions --secret deploy-pat)" "$want"
	lacks "$(actions --grant "$pat_grant")" secret.mint
	has "$(actions --grant "$pat_grant")" "1 secret.grant;" "secret.lease;"
	same "$(actions --grant "${pat_grant:0:14}" --action secret.grant)" "1 secret.grant;"
	same "$(actions --grant "$pat_grant" --secret app-env)" ""
	cloop secret delete deploy-pat > /dev/null
	has "$(actions --secret deploy-pat)" "1 secret.delete;" "1 secret.mint;"
	exits 65 cloop hub audit list --grant nonsense
	exits 65 cloop hub audit list --grant grant_ffffffff
	same "$(actions --secret "x' OR 1=1 --")" ""
	# A row that somebody altered is listed all the same; it is 'verify' that names it.
	sqlite3 "$hub/.cloop/state.db" "drop trigger if exists audit_no_update; update audit set detail = '{' where seq = 2"
	exits 0 cloop hub audit list --secret deploy-pat
}

@test "leases, access and blast say what is lent, to whom and until when" {
	both
	lent
	exits 0 cloop secret leases
	same "$(guide <<< "$output" | sed -E 's/1[0-9]m[0-9]+s/TIME/; s/ +/ /g')" "LEASE RUN EXECUTOR PROJECT LEFT CREDENTIALS
lease_ID run_ID container $app TIME app-env, deploy-pat

1 lease(s)"
	for f in --run "$RUN" --grant "$pat_grant"; do
		[[ $f = --* ]] && { option=$f; continue; }
		same "$(cloop secret leases "$option" "$f" --json | jq -r '.grants | map(.held_as) | sort | join(";")')" "files;variables"
	done
	same "$(cloop secret leases --run run_ffffffff 2>&1 | head -n 1)" "cloop-secret: there is no run 'run_ffffffff'"
	exits 0 cloop secret access "project:$app"
	has "$output" "2 grant(s)"
	exits 1 cloop secret access executor:container
	exits 0 cloop secret grant deploy-pat --to any --repos 'a/b'
	exits 0 cloop secret access any
	has "$output" "1 grant(s)"
	exits 65 cloop secret access nobody
	exits 0 cloop secret blast deploy-pat
	has "$output" "reaches 2 subject(s)"
	has "$output" "held by 1 workload(s)"
	has "$output" "deleted now, and with nobody to hear of it, it is gone by"
	# To the second: the end of the last lease, and the minute until a sweep has seen that.
	last=$(($(sql "SELECT max(expires_at) FROM lease") / 1000 + 60))
	has "$output" "it is gone by $(date -u -d "@$last" +%Y-%m-%dT%H:%M:%SZ) (in 1"
	same "$(cloop secret blast deploy-pat --json | jq -r '[.gone_by, .late, .until_workload_ends] | map(tostring) | join(" ")')" \
		"$(date -u -d "@$last" +%Y-%m-%dT%H:%M:%SZ) 0 false"
	lacks "$output" "environment"
	exits 0 cloop secret blast app-env
	has "$output" "stays until its workload ends"
	cloop secret revoke "$lease" --wait 0 >/dev/null || true
	holder release
	exits 0 cloop secret leases --all --json
	same "$(jq -r .state <<< "$output")" revoked
	exits 0 cloop secret blast deploy-pat
	has "$output" "nobody has it"
}

@test "a sweep ends what lapsed and what is over, and forgets what is old" {
	both
	lent
	old=$lease
	exits 0 cloop secret sweep --json
	same "$(jq -c 'del(.pending, .tokens)' <<< "$output")" '{"expired":0,"forgotten":0,"orphans":0,"settled":0,"tombstones":0}'
	sql "UPDATE lease SET expires_at = 1"
	exits 0 cloop secret sweep
	has "$output" "1 expired"
	# Who lives has it until it says otherwise.
	has "$output" "2 pending"
	exits 0 cloop secret holders "$pat_grant"
	has "$output" "revoke_pending"
	same "$(cloop hub audit list --action lease.revoke_sent --json | jq -c '.detail | [.action, .lease_id, .leases, .reason]')" \
		"[\"scrub\",\"$lease\",1,\"its time was over\"]"
	exits 0 cloop secret sweep
	same "$(cloop hub audit list --action lease.revoke_sent --json | wc -l)" 1
	holder answer "$pat_grant" 3
	holder answer "$env_grant" 0
	exits 1 cloop secret holders "$pat_grant"
	exits 1 renew "$old"
	run_two=$(take "$app" "run_$(printf '%024d' 2)" | jq -r .id)
	sql "INSERT INTO run SELECT 'run_$(printf '%024d' 2)', project, executor_id, handle_id, argv, harness, task, uid, detached,
		'finished', 'exited', 0, error, created_at, started_at, 5, deadline, image_requested, image, image_digest,
		reproducible, spec_sha256, setup_sha256, egress, clamps, limits, blocked FROM run"
	# Until somebody has seen to that it is neither of use nor gone.
	exits 0 cloop secret leases
	same "$(grep -F "$run_two" <<< "$output" | grep -ow ending)" ending
	same "$(cloop secret leases --json | jq -r .state)" ending
	exits 0 cloop secret sweep
	has "$output" "1 orphaned"
	exits 0 cloop secret leases
	has "$output" "0 lease(s)"
	sql "UPDATE lease SET ended_at = 1"
	cloop secret delete app-env >/dev/null
	cloop secret delete deploy-pat >/dev/null
	sql "UPDATE tombstone SET deleted_at = 1; UPDATE \"grant\" SET expires_at = 1 WHERE secret_name = 'app-env'"
	exits 0 cloop secret sweep --json
	same "$(jq -c '[.forgotten, .tombstones]' <<< "$output")" "[2,1]"
	same "$(sql "SELECT count(*) FROM lease") $(sql "SELECT count(*) FROM lease_grant") $(sql "SELECT name FROM tombstone")" "0 0 deploy-pat"
}

@test "a revocation that cannot be written down says that nothing is revoked, and leaves nothing half done" {
	need root mount
	both
	lent
	sqlite3 "$db" 'PRAGMA wal_checkpoint(TRUNCATE)' > /dev/null
	mkdir "$D/small"
	mount -t tmpfs -o size=8m none "$D/small"
	cp -a "$hub" "$D/small/"
	small() { cloop -C "$D/small/hub" "$@"; }
	dd if=/dev/zero of="$D/small/fill" bs=4k 2> /dev/null || true
	for id in "$pat_grant" "$lease"; do
		exits 71 small secret revoke "$id" --wait 0
		has "$stderr" "nothing is revoked of $id"
	done
	rm "$D/small/fill"
	same "$(small secret leases --json | jq -r '[.state] + (.grants | map(.state)) | join(" ")')" "live held held"
	exits 1 small secret revoke "$pat_grant" --wait 0
	exits 0 small hub audit verify
	# A file system that is read-only.
	mount --bind "$hub" "$hub"
	mount -o remount,ro,bind "$hub"
	exits 77 cloop secret revoke "$pat_grant" --wait 0
	has "$stderr" "nothing is revoked of $pat_grant"
}

@test "ten thousand leases of one grant: who has it, and what is told of it, in a line each executor" {
	both
	exec 9> "$hub/.cloop/guardian.lock"
	flock 9
	sql "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
		INSERT INTO lease (id, sandbox, project, executor_id, labels, actor, created_at, expires_at, state, grants)
		SELECT printf('lease_%024x', i), printf('c-%012x', i), '$app', 'x' || (i % 3), '', 'a',
			unixepoch() * 1000, unixepoch() * 1000 + 900000, 'live', json_array('$pat_grant') FROM n;
		INSERT INTO lease_grant (grant_id, lease, how, state) SELECT '$pat_grant', seq, 1, 'held' FROM lease"
	same "$(cloop secret holders "$pat_grant" | head -n 1)" "10000 running workload(s) hold $pat_grant (deploy-pat), 0 in their environment"
	same "$(cloop secret holders "$pat_grant" --json | jq -r .state | sort | uniq -c | xargs)" "10000 held"
	exits 1 cloop secret revoke "$pat_grant" --wait 0
	has "$output" "taken back from 10000 lease(s) — revoke_pending"
	same "${#lines[@]}" 5
	# A row names a hundred of them, and counts all.
	same "$(cloop hub audit list --action lease.revoke_sent --json | jq -c '.detail | [.leases, (.lease_ids | length), (.executor_ids | length)]')" "[10000,100,3]"
	run bash -c "cloop secret revoke $pat_grant --wait 0 | head -n 1"
	same "$output" "✓ revoked grant $pat_grant (deploy-pat)"
}
