#!/usr/bin/env bats
# What a run holds is taken from it while it lives, by another process, and that is said as the guide
# has it.
# shellcheck disable=SC2016,SC2034,SC2154 # what stands in single quotes is for the sandbox's shell

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip jq sqlite3
	hub_up
	hub_config '    network: none'
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
	printf '{"API_KEY":"planted-env-value-1"}' | cloop secret mint app-env --kind env >/dev/null
	echo ghp_plantedtokenvalue0003 | cloop secret mint deploy-pat --kind github_pat >/dev/null
}
teardown_file() { hub_down; }
setup() {
	rm -rf "$P/.cloop" "$P"/*
	pat=$(cloop secret grant deploy-pat --to "project:$P" --repos 'myorg/*' --json | jq -r .id)
}
teardown() {
	local g
	touch "$P/go"
	for g in $(cloop secret grants --json | jq -r .id); do cloop secret revoke "$g" --wait 0 >/dev/null 2>&1; done
	return 0
}

logged() { cloop runs logs "$1" 2>/dev/null; }
has_logged() { [[ $(logged "$1") == *"$2"* ]]; }
ended() { [ "$(cloop runs show --json "$1" | jq -r .state)" = finished ]; }
# start SCRIPT : detached; $id.
start() { id=$(run_in --detach -- sh -c "$1"); }
member() { sed -E 's/hub-[0-9a-f]{6} on [^:]+:/hub-5d1e0c on build-01:/'; }
# A process that is over, reaped or not.
gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"; }
WAIT='while [ ! -e /workspace/go ]; do sleep 0.1; done'

@test "a grant that is held as files: they go, the run goes on, and the guide's words say so" {
	start "echo up; while [ -e \$CLOOP_LEASE_DIR/github-token ]; do sleep 0.1; done; echo gone; $WAIT; exit 3"
	until_ok has_logged "$id" up
	exits 0 cloop secret holders "$pat"
	has "$output" "1 running workload(s) hold $pat (deploy-pat), 0 in their environment"
	has "$output" "$id on container, project $P: files; lease ends in"
	exits 0 cloop secret revoke "$pat"
	same "$(member <<< "$output")" "✓ revoked grant $pat (deploy-pat)
  hub member hub-5d1e0c on build-01: taken back from 1 lease(s) — revoked
    container: revoked — 3 file(s) removed"
	until_ok has_logged "$id" gone
	same "$(cloop runs show --json "$id" | jq -r .state)" running
	exits 1 cloop secret holders "$pat"
	touch "$P/go"
	until_ok ended "$id"
	same "$(cloop runs show --json "$id" | jq .exit_code)" 3
	same "$(cloop secret leases --run "$id" --all --json | jq -r .state)" revoked
	exits 0 cloop hub audit verify
}

@test "a supervisor that took over and cannot read what was noted takes back what the store says" {
	start "touch /workspace/up; while [ -e \$CLOOP_LEASE_DIR/github-token ]; do sleep 0.1; done; touch /workspace/gone; $WAIT"
	until_ok test -e "$P/up"
	h=$(cloop runs show --json "$id" | jq -r .handle_id)
	shim=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id='$h'")
	kill -KILL "$shim"
	until_ok gone "$shim"
	printf torn > "$T/run/w/$h/lease/redact"
	exits 0 host cloop sweep --only adopt
	has "$output" "adopted $h"
	exits 0 cloop secret revoke "$pat"
	until_ok test -e "$P/gone"
	same "$(cloop runs show --json "$id" | jq -r .state)" running
	touch "$P/go"
	until_ok ended "$id"
	same "$(cloop secret leases --run "$id" --all --json | jq -r .state)" revoked
}

@test "of two grants the one that was not revoked stays, and its renewal works" {
	src=$(cloop secret grant deploy-pat --to executor:container --repos 'other/*' --json | jq -r .id)
	start "echo up; $WAIT; ls \$CLOOP_LEASE_DIR"
	until_ok has_logged "$id" up
	exits 0 cloop secret revoke "$src"
	same "$(cloop secret leases --run "$id" --json | jq -r '.grants[] | select(.state == "held") | .grant_id')" "$pat"
	touch "$P/go"
	until_ok ended "$id"
	has "$(logged "$id")" github-token
}

@test "a store that is busy when one of two grants is taken back does not cost the other" {
	src=$(cloop secret grant deploy-pat --to executor:container --repos 'other/*' --json | jq -r .id)
	start "echo up; $WAIT; ls \$CLOOP_LEASE_DIR"
	until_ok has_logged "$id" up
	shim=$(sqlite3 -readonly "$HUB/.cloop/state.db" "SELECT shim_pid FROM handle WHERE run_id = '$id'")
	kill -STOP "$shim"
	run cloop secret revoke "$src" --wait 1ms
	# Somebody writes until the first try to renew has given up waiting for that.
	python3 -c 'import os, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
db.execute("BEGIN IMMEDIATE")
open(sys.argv[2], "w").close()
while not os.path.exists(sys.argv[3]):
    time.sleep(0.05)' "$HUB/.cloop/state.db" "$T/locked" "$T/free" 3>&- &
	until_ok test -e "$T/locked"
	kill -CONT "$shim"
	renews() { pgrep -P "$shim" -f 'cloop-secret -C .* renew' >/dev/null; }
	until_ok renews
	until_ok sh -c '! pgrep -P "$1" -f "cloop-secret -C .* renew" >/dev/null' sh "$shim"
	touch "$T/free"
	answered() { [ "$(cloop secret leases --run "$id" --json | jq -r '.grants[] | select(.state == "revoked") | .grant_id')" = "$src" ]; }
	until_ok answered
	same "$(cloop secret leases --run "$id" --json | jq -r '.grants[] | select(.state == "held") | .grant_id')" "$pat"
	touch "$P/go"
	until_ok ended "$id"
	has "$(logged "$id")" github-token
}

@test "a grant that stands in the environment ends its workload" {
	env=$(cloop secret grant app-env --to "project:$P" --json | jq -r .id)
	start "echo up; $WAIT"
	until_ok has_logged "$id" up
	exits 0 cloop secret holders "$env"
	has "$output" "1 in their environment"
	exits 0 cloop secret revoke "$env"
	has "$output" "workload terminated"
	until_ok ended "$id"
	exits 1 cloop secret holders "$env"
}

@test "a lease with kill: what was lent and who was lent it are gone" {
	start "trap '' TERM; echo up; $WAIT; sleep 600"
	until_ok has_logged "$id" up
	lease=$(cloop secret leases --run "$id" --json | jq -r .id)
	exits 0 cloop secret revoke "$lease" --action kill --reason 'PAT leaked'
	has "$output" "✓ revoked lease $lease ($id)"
	until_ok ended "$id"
	same "$(cloop secret leases --run "$id" --all --json | jq -r .reason)" "PAT leaked"
}

@test "what cannot be heard of is found: a supervisor that was stopped takes back when it goes on" {
	start "echo up; while [ -e \$CLOOP_LEASE_DIR/github-token ]; do sleep 0.1; done; echo gone; $WAIT"
	until_ok has_logged "$id" up
	shim=$(sqlite3 -readonly "$HUB/.cloop/state.db" "SELECT shim_pid FROM handle WHERE run_id = '$id'")
	kill -STOP "$shim"
	run --separate-stderr cloop secret revoke "$pat" --wait 1s
	kill -CONT "$shim"
	same "$status" 1
	has "$output" "container: revoke_pending — 1 holder(s) have not answered"
	until_ok has_logged "$id" gone
	exits 0 cloop secret revoke "$pat"
	has "$output" "revoked — 3 file(s) removed"
}

@test "an executor of the hub that is cordoned takes nothing back" {
	start "echo up; $WAIT; ls \$CLOOP_LEASE_DIR"
	until_ok has_logged "$id" up
	exits 0 cloop executor cordon container --reason 'new kernel'
	exits 0 host cloop sweep
	exits 0 cloop secret holders "$pat"
	has "$output" "lease ends in"
	same "$(cloop secret leases --run "$id" --json | jq -r .state)" live
	exits 0 cloop executor uncordon container
	touch "$P/go"
	until_ok ended "$id"
	has "$(logged "$id")" github-token
}

@test "deleting the secret takes it back as well" {
	start "echo up; while [ -e \$CLOOP_LEASE_DIR/github-token ]; do sleep 0.1; done; echo gone; $WAIT"
	until_ok has_logged "$id" up
	echo ghp_plantedtokenvalue0004 | cloop secret mint other-pat --kind github_pat >/dev/null
	exits 0 cloop secret delete deploy-pat
	until_ok has_logged "$id" gone
	echo ghp_plantedtokenvalue0003 | cloop secret mint deploy-pat --kind github_pat >/dev/null
}

@test "a variable of a lease that was scrubbed is its process's until that ends, and named until then" {
	env=$(cloop secret grant app-env --to "project:$P" --json | jq -r .id)
	start "echo up; $WAIT; test -n \"\$API_KEY\""
	until_ok has_logged "$id" up
	exits 1 cloop secret revoke "$(cloop secret leases --run "$id" --json | jq -r .id)"
	has "$output" "container: revoked — 3 file(s) removed, variables stay in the running process"
	has "$stderr" "'app-env' stays in the sandbox of $id until that run ends (variables)"
	exits 0 cloop secret holders "$env"
	has "$output" "1 running workload(s) hold $env (app-env), 1 in their environment"
	exits 1 cloop secret holders "$pat"
	exits 0 cloop secret blast app-env
	has "$output" "who has it keeps it until its workload ends"
	touch "$P/go"
	until_ok ended "$id"
	same "$(cloop runs show --json "$id" | jq .exit_code)" 0
	exits 1 cloop secret holders "$env"
	exits 0 cloop secret blast app-env
	has "$output" "nobody has it"
}

# killed_later WHAT : a grant that is taken back, and then what it was lent by, with kill.
killed_later() {
	local again=$pat
	start "trap '' TERM; echo up; while [ ! -e /workspace/go ]; do sleep 0.1; done"
	until_ok has_logged "$id" up
	[ "$1" = grant ] || again=$(cloop secret leases --run "$id" --json | jq -r .id)
	exits 0 cloop secret revoke "$pat"
	# A second time as before takes nothing.
	exits 0 cloop secret revoke "$pat"
	exits 0 cloop secret revoke "$again"
	same "$(cloop runs show --json "$id" | jq -r .state)" running
	exits 0 cloop secret revoke "$again" --action kill
	has "$output" "it was revoked already"
	has "$output" "workload terminated"
	until_ok ended "$id"
	same "$(cloop hub audit list --action lease.revoke_sent --json | jq -r .detail.action | head -n 2 | xargs)" "kill scrub"
	exits 0 cloop hub audit verify
}

@test "a grant that was taken back already: kill still ends who was lent it" { killed_later grant; }
@test "a lease that was taken back already: kill still ends who was lent it" { killed_later lease; }

@test "what lapsed while its supervisor stood still is nobody's only when that says so" {
	start "echo up; while [ -e \$CLOOP_LEASE_DIR/github-token ]; do sleep 0.1; done; echo gone; $WAIT"
	until_ok has_logged "$id" up
	shim=$(sqlite3 -readonly "$HUB/.cloop/state.db" "SELECT shim_pid FROM handle WHERE run_id = '$id'")
	kill -STOP "$shim"
	sqlite3 "$HUB/.cloop/state.db" "UPDATE lease SET expires_at = 1 WHERE run_id = '$id'" > /dev/null
	exits 0 cloop secret sweep
	lapsed() { [ "$(cloop secret leases --run "$id" --all --json | jq -r .state)" = expired ]; }
	until_ok lapsed
	exits 0 cloop secret holders "$pat"
	has "$output" "1 running workload(s) hold $pat"
	has "$output" "files; revoke_pending"
	exits 0 cloop secret blast deploy-pat
	has "$output" "but 1 of them should have given it up by now"
	kill -CONT "$shim"
	until_ok has_logged "$id" gone
	nobody() { cloop secret holders "$pat" > /dev/null; [ $? = 1 ]; }
	until_ok nobody
	exits 0 cloop secret blast deploy-pat
	has "$output" "nobody has it"
	exits 0 cloop hub audit list --grant "$pat" --action lease.revoke_acked --json
	same "$(jq -c '[.detail.action, .detail.files_removed, .detail.run_id]' <<< "$output")" "[\"scrub\",3,\"$id\"]"
	same "$(cloop hub audit list --action lease.revoke_sent --json | jq -r .detail.reason | head -n 1)" "its time was over"
	touch "$P/go"
	until_ok ended "$id"
}

# alone : neither supervisor nor guardian is left.
alone() {
	shim=$(sqlite3 -readonly "$HUB/.cloop/state.db" "SELECT shim_pid FROM handle WHERE run_id = '$id'")
	ours -f "cloop-sweep -C $HUB" | xargs -r kill -KILL
	kill -KILL "$shim"
	until_ok gone "$shim"
}

@test "a holder that nobody supervises is taken over, and has given it up when revoke returns" {
	start "echo up; while [ -e \$CLOOP_LEASE_DIR/github-token ]; do sleep 0.1; done; echo gone; $WAIT"
	until_ok has_logged "$id" up
	alone
	exits 0 host cloop secret revoke "$pat" --wait 10m
	until_ok has_logged "$id" gone
	touch "$P/go"
	until_ok ended "$id"
}

@test "secret sweep from cron is enough: what lapsed while nobody supervised is given up" {
	start "echo up; while [ -e \$CLOOP_LEASE_DIR/github-token ]; do sleep 0.1; done; echo gone; $WAIT"
	until_ok has_logged "$id" up
	alone
	sqlite3 "$HUB/.cloop/state.db" "UPDATE lease SET expires_at = 1 WHERE run_id = '$id'" > /dev/null
	exits 0 host env -i CONTAINERS_CONF="$CONTAINERS_CONF" CONTAINERS_STORAGE_CONF="${CONTAINERS_STORAGE_CONF:-}" CLOOP_RUN_DIR="$T/run" "$(command -v cloop)" -C "$HUB" secret sweep
	until_ok has_logged "$id" gone
	nobody() { cloop secret holders "$pat" > /dev/null; [ $? = 1 ]; }
	until_ok nobody
	touch "$P/go"
	until_ok ended "$id"
}

@test "an interrupt ends the waiting, not the revocation, and what stands is said" {
	start "echo up; while [ -e \$CLOOP_LEASE_DIR/github-token ]; do sleep 0.1; done; echo gone; $WAIT"
	until_ok has_logged "$id" up
	shim=$(sqlite3 -readonly "$HUB/.cloop/state.db" "SELECT shim_pid FROM handle WHERE run_id = '$id'")
	kill -STOP "$shim"
	cloop secret revoke "$pat" --wait 10m > "$T/out" 2> "$T/err" 3>&- &
	revoking=$!
	taking() { [ "$(sqlite3 -readonly "$HUB/.cloop/state.db" "SELECT state FROM lease_grant WHERE grant_id = '$pat'")" = taking ]; }
	until_ok taking
	# Once it waits for nothing but the holder.
	waits() { [ $((0x$(awk '/^SigCgt/ { print $2 }' "/proc/$revoking/status") & 2)) = 2 ]; }
	until_ok waits
	kill -INT "$revoking"
	st=0
	wait "$revoking" || st=$?
	kill -CONT "$shim"
	same "$st" 1
	has "$(cat "$T/out")" "revoke_pending"
	until_ok has_logged "$id" gone
	touch "$P/go"
	until_ok ended "$id"
}
