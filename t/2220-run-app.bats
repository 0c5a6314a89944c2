#!/usr/bin/env bats
# A GitHub App's token in a run: what the sandbox has of it, and that it ends at GitHub with the run,
# whatever ends that.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell
# shellcheck disable=SC2154

load lib/common
load lib/engine
load lib/hub
load lib/forge

setup_file() {
	need root podman nft ip jq sqlite3 python3 openssl
	hub_up
	export F=$T/forge FORGE_NS=$NSNAME
	forge_start "$F"
	hub_config '    network: none'
	printf 'secrets:\n  key_file: %s\n  github:\n    ca_file: %s\n' "$HUB/cloop-secret-key" "$F/ca.pem" >> "$HUB/.cloop/config.yaml"
	forge_app "$F" | cloop secret mint deploy-app --kind github_app >/dev/null
}
teardown_file() {
	forge_stop "$F"
	hub_down
}
setup() {
	rm -rf "$P/.cloop" "${P:?}"/*
	modes
	forget
	grant=$(cloop secret grant deploy-app --to "project:$P" --repos acme/tool --permissions contents:write --json | jq -r .id)
}
teardown() { host cloop secret revoke "$grant" --wait 1ms >/dev/null 2>&1 || true; }

shim_of() { sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id='$1'"; }
handle_of() { cloop runs show --json "$1" | jq -r .handle_id; }
ended() { [ "$(cloop runs show --json "$1" | jq -r .state)" = finished ]; }
dead() { [ "$(alive)" = 0 ]; }
ends() { cloop hub audit list --action github_app.token_destroy --json | jq -r '.detail | .decision + " " + .reason' | head -n 1; }
has_ended() { [ "$(ends)" = "$1" ]; }
# Nothing is left of the lease, nor of a token anywhere.
all_gone() {
	same "$(leftovers)" ''
	dead
	same "$(sqlite3 -readonly "$HUB/.cloop/state.db" "select (select count(*) from lease where state = 'live') || (select count(*) from app_token) || (select count(*) from token)")" 000
	if grep -rqaE 'ghs_|PRIVATE KEY' "$HUB/.cloop" "$T/run"; then false; fi
}
# Until the run has its token.
started() {
	id=$(run_in --detach -- "$@")
	h=$(handle_of "$id")
	wait_for test -s "$T/run/w/$h/lease/files/github-token"
	same "$(alive)" 1
}

@test "the sandbox has a token of its own, git's helper gives it for its repository only, and it ends with the run" {
	exits 0 run_in -- sh -c 'wc -c < "$CLOOP_LEASE_DIR/github-token"; echo ${CLOOP_GITHUB_TOKEN_EXPIRES_AT:+until}; echo ${GITHUB_TOKEN-none}
		for r in acme/tool acme/web; do
			printf "protocol=https\nhost=%s\npath=$r\n\n" "$0" | "$CLOOP_LEASE_DIR/git-credential-cloop" get
		done' "forge.localhost:$(cat "$F/port")"
	[ "$(head -n 1 <<< "$output")" -gt 400 ]
	same "$(tail -n +2 <<< "$output")" $'until\nnone\nusername=x-access-token\npassword=[redacted]'
	same "$(jq -c 'select(.call == "mint").asked' "$F/log")" '{"permissions":{"contents":"write"},"repository_ids":[11]}'
	wait_for dead
	wait_for has_ended "allow the run is over"
	all_gone
}

@test "the App's key is with nobody while the run lives, and its token with sandbox and supervisor only" {
	started sh -c 'while [ ! -e /workspace/go ]; do sleep 0.1; done'
	sed -n '2,6p' "$F/app.pem" > "$T/values"
	mine=$(ours -x 'cloop.*|conmon|podman' | xargs)
	has " $mine " " $(shim_of "$h") "
	# shellcheck disable=SC2086 # a list
	same "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" $mine "$HUB" "$ENGINE_DIR" "$T/run" "$P" 2>/dev/null)" ''
	cat "$T/run/w/$h/lease/files/github-token" > "$T/values"
	same "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" "$HUB" "$ENGINE_DIR" "$P" 2>/dev/null)" ''
	[ -n "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" "$T/run/w/$h/lease" 2>/dev/null)" ]
	touch "$P/go"
	wait_for ended "$id"
	all_gone
}

@test "a token that would end is replaced in the run that has it, by a rename, and the first is destroyed" {
	sed -i 's/^secrets:/&\n  lease_seconds: 30/' "$HUB/.cloop/config.yaml"
	modes "mint short"
	started sh -c 'cd "$CLOOP_LEASE_DIR"; cp github-token /tmp/first; ls -i github-token > /tmp/file
		while cmp -s github-token /tmp/first; do [ -s github-token ] || echo torn; sleep 0.1; done
		ls -i github-token | cmp -s - /tmp/file || echo "another file"
		printf "protocol=https\nhost=%s\npath=acme/tool\n\n" "$0" | ./git-credential-cloop get
		cat github-token /tmp/first; while [ ! -e /workspace/go ]; do sleep 0.1; done' "forge.localhost:$(cat "$F/port")"
	modes
	minted() { [ "$(jq -s '[.[] | select(.call == "mint" and .status == 201)] | length' "$F/log")" -ge "$1" ]; }
	first=$(jq -s '[.[] | select(.call == "mint" and .status == 201).token][0]' "$F/log")
	wait_for minted 2
	first_ended() { jq -e -s "[.[] | select(.call == \"destroy\" and .status == 204).token] | index($first)" "$F/log" >/dev/null; }
	wait_for first_ended
	same "$(jq -c 'select(.call == "mint").asked' "$F/log" | sort -u)" '{"permissions":{"contents":"write"},"repository_ids":[11]}'
	touch "$P/go"
	wait_for ended "$id"
	same "$(cloop runs logs "$id" 2>/dev/null)" $'another file\nusername=x-access-token\npassword=[redacted]\n[redacted]\n[redacted]'
	wait_for dead
	all_gone
	same "$(cloop hub audit list --action secret.renew --json | jq -r --arg r "$id" '.detail | select(.run_id == $r and .token_expires_at) | .decision' | head -n 1)" allow
	sed -i '/lease_seconds/d' "$HUB/.cloop/config.yaml"
}

@test "a grant that is revoked ends the token of a run that goes on" {
	started sh -c 'while [ -e "$CLOOP_LEASE_DIR/github-token" ]; do sleep 0.1; done; echo gone; while [ ! -e /workspace/go ]; do sleep 0.1; done'
	exits 0 host cloop secret revoke "$grant"
	dead
	[ ! -e "$T/run/w/$h/lease/files/github-token" ]
	touch "$P/go"
	wait_for ended "$id"
	same "$(cloop runs logs "$id" 2>/dev/null)" gone
	all_gone
}

@test "a lease that is revoked ends it too, and so does a run that is stopped" {
	started sleep 600
	lease=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select id from lease order by seq desc limit 1")
	exits 0 host cloop secret revoke "$lease"
	wait_for dead
	exits 0 host cloop runs stop "$id"
	wait_for ended "$id"
	all_gone
	started sleep 600
	exits 0 host cloop runs stop "$id"
	wait_for ended "$id"
	wait_for dead
	all_gone
}

@test "while GitHub takes its time over a token, the supervisor answers and ends what is to end" {
	dropping() { pgrep -f "cloop-secret -C $HUB drop" >/dev/null; }
	# GitHub is waited for ten seconds; on a busy machine the rest may take as long once.
	for try in 1 2 3 4; do
		rm -f "$F/go"
		started sleep 600
		modes "destroy wait"
		lease=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select id from lease order by seq desc limit 1")
		host cloop secret revoke "$lease" --wait 1ms >/dev/null 2>&1 || true
		wait_for dropping
		exits 0 host cloop runs stop "$id"
		wait_for ended "$id"
		held=$(dropping && echo yes)
		touch "$F/go"
		modes
		wait_for dead
		all_gone
		[ "$held" = yes ] && return 0
	done
	echo "stopped only when GitHub had answered" >&2
	return 1
}

@test "SIGKILL to supervisor and workload: the next sweep ends the token" {
	started sleep 600
	kill -KILL "$(shim_of "$h")"
	kill -KILL "$(cat "$T/run/w/$h/pid")"
	exits 0 host cloop sweep
	wait_for ended "$id"
	wait_for dead
	all_gone
}

@test "a token that went with the machine is ended by what the hub kept of it" {
	started sleep 600
	kill -KILL "$(shim_of "$h")"
	kill -KILL "$(cat "$T/run/w/$h/pid")"
	# As after a boot: the folder was in memory, and who supervised it is nobody now.
	umount -l "$T/run/w/$h/lease" 2>/dev/null || true
	rm -rf "$T/run/w/$h"
	sqlite3 "$HUB/.cloop/state.db" "update handle set boot_id = 'before' where id = '$h'"
	swept() {
		host cloop sweep >/dev/null
		[ "$(sqlite3 -readonly "$HUB/.cloop/state.db" "select (select count(*) from app_token) + (select count(*) from token)")" = 0 ]
	}
	wait_for swept
	wait_for ended "$id"
	dead
	same "$(ends | cut -d ' ' -f 1)" allow
	n=$(cloop hub audit list --action github_app.token_destroy --json | wc -l)
	exits 0 host cloop sweep
	same "$(cloop hub audit list --action github_app.token_destroy --json | wc -l)" "$n"
}

@test "GitHub is out of order: the run goes without, is told why, and a token that cannot be ended is told of" {
	modes "mint 503"
	exits 0 run_in -- sh -c 'ls -A "${CLOOP_LEASE_DIR-/nowhere}" 2>/dev/null | wc -l'
	same "$output" 0
	has "$stderr" "deploy-app ($grant) is not lent to this run"
	has "$stderr" "out of order (503)"
	modes
	started sh -c 'while [ ! -e /workspace/go ]; do sleep 0.1; done'
	modes "destroy 500"
	touch "$P/go"
	ended_badly() { [[ $(ends) == "deny the token was not destroyed and lives until 20"* ]]; }
	wait_for ended_badly
	modes
	# The guardian may be about it at this moment, and then nobody else is.
	gone() {
		sqlite3 "$HUB/.cloop/state.db" "update token set tried_at = 1"
		host cloop sweep --only leases >/dev/null
		dead
	}
	wait_for gone
	lacks "$(cloop hub audit list --json)" ghs_
}
