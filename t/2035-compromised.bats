#!/usr/bin/env bats
# A process that may write the state file and has no key, such as an executor's daemon somebody broke
# into: no row of it lends a run more than was granted to it, and no end that a person made is undone.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a subshell of its own
load lib/common
load lib/grants

setup() {
	grants_hub
	leasetool_here
	ours=$app theirs=$D/theirs
	mkdir "$theirs"
	printf '{"A":"a-one","A2":"a-two"}' | cloop secret mint sa >/dev/null
	printf '{"B":"b-one"}' | cloop secret mint sb >/dev/null
	ga=$(granted sa --to "project:$ours" --env-keys A)
	gb=$(granted sb --to "project:$theirs")
}

RUN=run_0123456789abcdef01234567
take() { "$D/bin/leasetool" take "$hub" "${1:-$ours}" container "${2:-$RUN}"; }
# renew LEASE [PROJECT EXECUTOR RUN] : as the supervisor of that run.
renew() { "$D/bin/leasetool" renew "$hub" "$1" "${2:-$ours}" "${3:-container}" "${4:-$RUN}"; }
denied() {
	cloop hub audit list -n 5 --action "$1" --json | jq -es --arg w "$2" \
		'any(.[]; .detail.decision == "deny" and (.detail.reason | contains($w)))' > /dev/null
}

@test "a lease that is aimed at another project is renewed for nobody" {
	lease=$(take | jq -r .id)
	exits 0 renew "$lease"
	sql "UPDATE lease SET project = '$theirs';
		INSERT INTO lease_grant (grant_id, lease, how, state) SELECT '$gb', seq, 2, 'held' FROM lease;
		UPDATE lease SET grants = json_insert(grants, '\$[#]', '$gb')"
	exits 1 renew "$lease"
	same "$(jq -r .error.code <<< "$output")" forged_lease
	lacks "$output" b-one
	denied secret.renew "altered in state.db"
	# Without the project its grants are for nobody, whatever stands in the lease.
	sql "UPDATE lease SET project = '$ours'"
	exits 0 renew "$lease"
	lacks "$output" b-one
	same "$(jq -r '.refused[].code' <<< "$output")" subject
	# Nor is another run's, another executor's, or one of a run that the row does not name.
	exits 1 renew "$lease" "$ours" other
	exits 1 renew "$lease" "$ours" container run_ffffffffffffffffffffffff
	sql "UPDATE lease SET run_id = NULL"
	exits 1 renew "$lease"
	exits 0 cloop hub audit verify
}

@test "a lease that names an executor with other labels is renewed for nobody" {
	printf 'executors: {container: {enabled: true, id: container, image: bb}}\nsecrets: {key_file: %s}\n' \
		"$hub/cloop-secret-key" > "$hub/.cloop/config.yaml"
	cloop executor labels container zone=y >/dev/null
	gz=$(granted sb --to label:zone=x)
	lease=$(take | jq -r .id)
	sql "UPDATE executor_labels SET labels = '{\"zone\":\"x\"}';
		INSERT INTO lease_grant (grant_id, lease, how, state) SELECT '$gz', seq, 2, 'held' FROM lease;
		UPDATE lease SET grants = json_insert(grants, '\$[#]', '$gz')"
	exits 0 renew "$lease"
	lacks "$output" b-one
	exits 0 take
	lacks "$output" b-one
	sql "INSERT INTO executor_labels SELECT 'bench', labels, created_at, created_by, signature FROM executor_labels"
	exits 0 "$D/bin/leasetool" take "$hub" "$ours" bench "$RUN"
	lacks "$output" b-one
}

unrevoke() {
	sql "UPDATE \"grant\" SET revoked_at = 0, revoked_by = NULL, revoked_cause = NULL, superseded_by = NULL WHERE id = '$1'"
}

@test "a grant that was revoked stays so when its row is put back" {
	lease=$(take | jq -r .id)
	exits 1 cloop secret revoke "$ga" --wait 0
	unrevoke "$ga"
	sql "UPDATE lease SET state = 'live', ended_at = 0, ended_by = NULL, reason = NULL;
		UPDATE lease_grant SET state = 'held', action = NULL, asked_at = 0"
	exits 0 cloop secret lease --project "$ours" --json
	same "$(jq -c '[(.materials | length), .refused[0].code]' <<< "$output")" '[0,"forged_grant"]'
	exits 0 take
	lacks "$output" a-one
	run renew "$lease"
	lacks "$output" a-one
	denied secret.lease "as the audit trail has it"
	exits 1 cloop secret why --project "$ours" sa
	has "$output" "as the audit trail has it"
	fix=$(sed -n 's/^      fix: //p' <<< "$output")
	has "$(cloop secret grants)" "FORGED, never delivered"
	same "$(cloop secret grants --json | jq -r "select(.id == \"$ga\") | .signature")" forged
	# Nor does an edit of it make a grant that was never revoked.
	exits 1 cloop secret grant edit "$ga" --env-keys A2
	has "$stderr" "as the audit trail has it"
	# What was said to help does, as it stands.
	same "$fix" "cloop secret revoke $ga"
	exits 1 bash -c "$fix --wait 0"
	exits 0 cloop secret lease --project "$ours" --json
	same "$(jq -c .refused <<< "$output")" "[]"
	# Nobody's end is another grant's.
	granted sa --to "project:$ours" --env-keys A >/dev/null
	exits 0 take
	has "$output" a-one
}

@test "one that was narrowed stays so, and one of a secret that was deleted too" {
	exits 0 cloop secret grant edit "$ga" --env-keys A2
	unrevoke "$ga"
	exits 0 take
	lacks "$output" a-one
	has "$output" a-two
	sql "PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null
	cp "$db" "$D/with.db"
	exits 0 cloop secret delete sb
	sql "ATTACH '$D/with.db' AS old; INSERT INTO secret SELECT * FROM old.secret WHERE name = 'sb'; DELETE FROM tombstone"
	unrevoke "$gb"
	exits 0 take "$theirs"
	lacks "$output" b-one
	denied secret.lease "as the audit trail has it"
}

@test "a lease that was taken back stays so" {
	lease=$(take | jq -r .id)
	exits 1 cloop secret revoke "$lease" --wait 0
	sql "UPDATE lease SET state = 'live', ended_at = 0, ended_by = NULL, reason = NULL;
		UPDATE lease_grant SET state = 'held', action = NULL, asked_at = 0"
	exits 1 renew "$lease"
	same "$(jq -r '.error | .code, .remediation' <<< "$output" | xargs)" "lease_over cloop secret revoke $lease"
	denied secret.renew "as the audit trail has it"
	# The grant itself is as good as it was.
	exits 0 take
	has "$output" a-one
}

# The id of a grant whose limits nothing enforces.
limited() {
	printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: prod' \
		'clusters: [{name: prod, cluster: {server: "https://prod:6443"}}]' \
		'users: [{name: u, user: {token: prodtoken}}]' \
		'contexts: [{name: prod, context: {cluster: prod, user: u, namespace: default}}]' |
		cloop secret mint kube --kind kubeconfig >/dev/null
	granted kube --to "project:$ours" --contexts prod --namespaces team-a
}

@test "no acknowledgement is given for a grant that was put back, or altered" {
	g=$(limited)
	exits 0 cloop secret revoke "$g" --wait 0
	unrevoke "$g"
	exits 1 cloop hub grant unguarded "$g" --reason lab
	has "$stderr" "the grant $g was revoked, as the audit trail has it"
	has "$stderr" "cloop secret revoke $g"
	denied secret.unguarded "the grant $g was revoked, as the audit trail has it"
	# In the words of everybody else who refuses it.
	said=${stderr#*: }
	exits 1 cloop secret grant edit "$g" --namespaces team-a,team-b
	same "${stderr#*: }" "$said"
	exits 0 take
	lacks "$output" prodtoken
	exits 0 cloop hub grant unguarded "$g" --withdraw
	exits 0 cloop secret revoke "$g" --wait 0
	g=$(granted kube --to "project:$theirs" --contexts prod --namespaces team-a)
	sql "UPDATE \"grant\" SET subject = 'project:$ours' WHERE id = '$g'"
	exits 1 cloop hub grant unguarded "$g" --reason lab
	has "$stderr" "the grant $g is not signed by this hub"
	denied secret.unguarded "the grant $g is not signed by this hub"
	said=${stderr#*: }
	exits 1 cloop secret grant edit "$g" --namespaces team-a,team-b
	same "${stderr#*: }" "$said"
	same "$(sql 'SELECT count(*) FROM "grant" WHERE unguarded IS NOT NULL')" 0
}

@test "an acknowledgement that was withdrawn stays so, and counts again when it is given again" {
	g=$(limited)
	cloop hub grant unguarded "$g" --reason "lab" >/dev/null
	word=$(sql "SELECT unguarded FROM \"grant\" WHERE id = '$g'")
	exits 0 take
	has "$output" prodtoken
	cloop hub grant unguarded "$g" --withdraw >/dev/null
	sql "UPDATE \"grant\" SET unguarded = '$word' WHERE id = '$g'"
	exits 0 take
	lacks "$output" prodtoken
	# Nor is a refusal the last word: of one that somebody altered, as it stands there again.
	sql "UPDATE \"grant\" SET created_by = created_by || 'x' WHERE id = '$g'"
	exits 1 cloop hub grant unguarded "$g" --reason more
	sql "UPDATE \"grant\" SET created_by = rtrim(created_by, 'x') WHERE id = '$g'"
	exits 0 take
	lacks "$output" prodtoken
	cloop hub grant unguarded "$g" --reason "lab again" >/dev/null
	exits 0 take
	has "$output" prodtoken
}

@test "labels that were changed stay so when an older row of them is put back" {
	printf 'executors: {container: {enabled: true, id: container, image: bb}}\nsecrets: {key_file: %s}\n' \
		"$hub/cloop-secret-key" > "$hub/.cloop/config.yaml"
	granted sb --to label:zone=x >/dev/null
	cloop executor labels container zone=x >/dev/null
	exits 0 take
	has "$output" b-one
	sql "CREATE TABLE kept AS SELECT * FROM executor_labels"
	cloop executor labels container zone- > /dev/null
	exits 0 take
	lacks "$output" b-one
	sql "DELETE FROM executor_labels; INSERT INTO executor_labels SELECT * FROM kept"
	exits 0 take
	lacks "$output" b-one
	# Nor does a change of another label carry them over.
	cloop executor labels container other=1 > /dev/null
	exits 0 take
	lacks "$output" b-one
	cloop executor labels container zone=x > /dev/null
	exits 0 take
	has "$output" b-one
	# Who wants just what was put back is not told that nothing changed.
	cloop executor labels container zone- > /dev/null
	sql "DELETE FROM executor_labels; INSERT INTO executor_labels SELECT * FROM kept"
	exits 0 cloop executor labels container zone=x --json
	same "$(jq .changed <<< "$output")" true
	exits 0 take
	has "$output" b-one
	sql "DROP TABLE kept"
}

@test "labels of the configuration that were laid over do not come back when what lay over them is broken" {
	printf 'executors: {container: {enabled: true, id: container, image: bb, labels: {zone: x}}}\nsecrets: {key_file: %s}\n' \
		"$hub/cloop-secret-key" > "$hub/.cloop/config.yaml"
	granted sb --to label:zone=x >/dev/null
	exits 0 take
	has "$output" b-one
	for broken in "UPDATE executor_labels SET signature = '00'" "DELETE FROM executor_labels"; do
		cloop executor labels container zone=y >/dev/null
		exits 0 take
		lacks "$output" b-one
		sql "$broken"
		exits 0 take
		lacks "$output" b-one
	done
	# Until somebody says that there are none, whether or not a row of them is left to clear.
	exits 0 cloop executor labels container --clear
	exits 0 take
	has "$output" b-one
	exits 0 cloop executor labels container --clear --json
	same "$(jq .changed <<< "$output")" false
	exits 0 cloop hub audit verify
}

@test "placement and whoever looks at the fleet see no labels where what was stored of them is broken" {
	printf 'executors: {container: {enabled: true, id: container, image: bb, labels: {zone: x}}}\nsecrets: {key_file: %s}\n' \
		"$hub/cloop-secret-key" > "$hub/.cloop/config.yaml"
	cloop executor labels container zone=z > /dev/null
	sql "CREATE TABLE kept AS SELECT * FROM executor_labels"
	for broken in "UPDATE executor_labels SET signature = '00'" "UPDATE executor_labels SET labels = '{'" \
		"UPDATE executor_labels SET created_at = 0" "DELETE FROM executor_labels" \
		"DELETE FROM executor_labels; INSERT INTO executor_labels SELECT * FROM kept"; do
		exits 0 cloop executor labels container zone=y other=1
		sees '{"other":"1","zone":"y"}' false
		sql "$broken"
		sees '{}' true
		same "$(cloop executor show container | sed -n 's/^labels  *//p')" "(forged)"
		exits 0 cloop executor labels container
		has "$stderr" "the stored labels of executor 'container' are not as this hub signed them"
		run --separate-stderr cloop run --trace-steps --place -p "$ours" -- true < /dev/null
		has "$stderr" "the stored labels of executor 'container' are not as this hub signed them"
		step=$(grep 'cloop place' <<< "$stderr")
		bash -c "${step% | cloop place*}" | jq '.requirements.labels = {zone: "x"}' > "$D/request"
		exits 1 cloop place --request "$D/request"
		has "$stderr" "no label zone"
		# Who sets one is told that the others are gone.
		exits 0 cloop executor labels container zone=w
		has "$stderr" "is dropped"
		sees '{"zone":"w"}' false
	done
	same "$(cloop hub audit list -n 99 --action executor.forged_labels --json | jq -r .entity_id | uniq -c | xargs)" "5 container"
	sql "DELETE FROM executor_labels"
	exits 0 cloop executor labels container --clear
	sees '{"zone":"x"}' false
	sql "DROP TABLE kept"
}
# sees LABELS FORGED : what show and labels say of the executor, which is one thing.
sees() {
	same "$(cloop executor show container --json | jq -c '[.labels, .labels_forged]')" "[$1,$2]"
	same "$(cloop executor labels container --json 2> /dev/null | jq -c '[.labels, .forged]')" "[$1,$2]"
}

@test "who takes the end out of the audit trail too breaks its chain" {
	exits 0 cloop secret revoke "$ga" --wait 0
	exits 0 cloop hub audit verify
	head=$(sed -n 's/^head: //p' <<< "$output")
	unrevoke "$ga"
	sql "DROP TRIGGER audit_no_delete; DELETE FROM audit WHERE action = 'secret.revoke'"
	exits 1 cloop hub audit verify
	exits 1 cloop hub audit verify --head "$head"
}

@test "whatever column of whatever row is changed, nothing else is delivered" {
	printf 'executors: {container: {enabled: true, id: container, image: bb}}\nsecrets: {key_file: %s}\n' \
		"$hub/cloop-secret-key" > "$hub/.cloop/config.yaml"
	printf '{"R":"revoked-one"}' | cloop secret mint sr >/dev/null
	printf '{"Z":"label-one"}' | cloop secret mint sz >/dev/null
	gr=$(granted sr --to "project:$ours")
	granted sz --to label:zone=x >/dev/null
	cloop executor labels container zone=y >/dev/null
	exits 1 cloop secret revoke "$(take "$ours" run_000000000000000000000002 | jq -r .id)" --wait 0
	exits 1 cloop secret revoke "$gr" --wait 0
	take "$theirs" run_000000000000000000000003 >/dev/null
	lease=$(take "$ours" run_111111111111111111111111 | jq -r .id)
	sql 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
	exits 0 timeout 900 python3 "$SRC/t/lib/forgerows.py" "$hub" "$ours" "$lease" "$D/bin/leasetool" a-one
	[[ $output =~ ^([0-9]+)\ changes$ ]] || { echo "$output" >&2; return 1; }
	[ "${BASH_REMATCH[1]}" -ge 100 ]
}
