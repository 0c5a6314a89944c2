#!/usr/bin/env bats
# What a run is lent: what its sandbox sees of it, where else none of it is, and that it goes.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell

load lib/common
load lib/engine
load lib/hub

# lend_config KEYS : the executor, and where the root key is.
lend_config() {
	hub_config "$1"
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
}

setup_file() {
	need root podman nft ip jq sqlite3 python3
	hub_up
	lend_config '    network: none'
	printf '{"API_KEY":"planted-env-value-1","OTHER":"planted-never-lent-2"}' | cloop secret mint app-env --kind env >/dev/null
	echo ghp_plantedtokenvalue0003 | cloop secret mint deploy-pat --kind github_pat >/dev/null
	cloop secret grant app-env --to "project:$P" --env-keys API_KEY >/dev/null
	cloop secret grant deploy-pat --to "project:$P" --repos 'myorg/*' >/dev/null
	# As they stand, and as base64 and in a URL.
	{
		printf '%s\n' planted-env-value-1 planted-never-lent-2 ghp_plantedtokenvalue0003
		printf %s planted-env-value-1 | base64
		printf %s ghp_plantedtokenvalue0003 | base64 | cut -c 1-32
	} > "$T/values"
}
teardown_file() { hub_down; }
setup() {
	lend_config '    network: none'
	rm -rf "$P/.cloop" "$P"/*
}

handle_of() { cloop runs show --json "$1" | jq -r .handle_id; }
shim_of() { sqlite3 -readonly "$HUB/.cloop/state.db" "select shim_pid from handle where id='$1'"; }
# until_in FILE TEXT, until_state RUN STATE : for a minute at most.
until_in() {
	local i
	for ((i = 0; i < 600; i++)); do grep -qF -- "$2" "$1" 2>/dev/null && return 0; sleep 0.1; done
	cat "$1" >&2
	return 1
}
until_state() {
	local i
	for ((i = 0; i < 600; i++)); do
		[ "$(cloop runs show --json "$1" | jq -r .state)" = "$2" ] && return 0
		sleep 0.1
	done
	cloop runs show "$1" >&2
	return 1
}
# logged RUN : its output so far.
logged() { cloop runs logs "$1" 2>/dev/null; }
until_logged() {
	local i
	for ((i = 0; i < 600; i++)); do [[ $(logged "$1") == *"$2"* ]] && return 0; sleep 0.1; done
	logged "$1" >&2
	return 1
}
# planted WHAT... : nothing of a value is found there.
planted() { same "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" "$@" 2>/dev/null)" ''; }
# Nothing is left, of the lease either.
all_gone() {
	same "$(leftovers)" ''
	run ! grep -F " $T/run" /proc/self/mounts
	same "$(sqlite3 -readonly "$HUB/.cloop/state.db" "select count(*) from lease where state = 'live'")" 0
}

# What a shell inside makes of its environment and its lease, without any value.
SHOW='for v in API_KEY OTHER CLOOP_REDACT_ENV GIT_CONFIG_GLOBAL CLOOP_GITHUB_REPO_ALLOWLIST GITHUB_TOKEN; do
	eval "[ -n \"\${$v+x}\" ]" && eval "echo $v=\${#$v}"
done
stat -c "%n %a %u:%g %F" "$CLOOP_LEASE_DIR" "$CLOOP_LEASE_DIR"/*
grep " $CLOOP_LEASE_DIR " /proc/mounts | cut -d " " -f 4 | grep -o "^ro,nosuid,nodev,"
ls -A /run/cloop | wc -l'

# sees [RUNTIME] : the sandbox has exactly what the guide says.
sees() {
	local d
	exits 0 run_in -- sh -c "$SHOW"
	d=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select id from lease order by seq desc limit 1")
	d=/run/cloop/cloop-lease-${d#lease_}
	same "$output" "API_KEY=19
CLOOP_REDACT_ENV=7
GIT_CONFIG_GLOBAL=$((${#d} + 10))
CLOOP_GITHUB_REPO_ALLOWLIST=7
$d 700 1000:1000 directory
$d/git-credential-cloop 700 1000:1000 regular file
$d/gitconfig 600 1000:1000 regular file
$d/github-token 600 1000:1000 regular file
${1-ro,nosuid,nodev,
}1"
	all_gone
}

@test "the sandbox sees the guide's files, modes, owners and variables, and no more" {
	sees
	# git runs the helper from there, and for nobody's repositories but these.
	exits 0 run_in -- sh -c 'printf "protocol=https\nhost=github.com\npath=myorg/tool\n\n" | "$CLOOP_LEASE_DIR/git-credential-cloop" get
		printf "protocol=https\nhost=github.com\npath=other/tool\n\n" | "$CLOOP_LEASE_DIR/git-credential-cloop" get'
	same "$output" $'username=x-access-token\npassword=[redacted]'
	all_gone
}

@test "the same under crun" {
	need crun
	podman --runtime crun run --rm --network none "$IMAGE" true 2>/dev/null || skip "crun cannot run on this machine's cgroups"
	lend_config '    network: none
    oci_runtime: crun'
	sees
}

@test "the same under gVisor" {
	need runsc
	lend_config '    network: none
    oci_runtime: runsc'
	sees ''
}

@test "no value reaches the client or the log, in no form and however it is cut" {
	run_in -- sh -c 'echo "key $API_KEY."; printf %s "$API_KEY" | base64; cat "$CLOOP_LEASE_DIR/github-token"
		printf "%s" "${API_KEY%?????}"; sleep 1; printf "%s\n" "${API_KEY#??????????????}"
		i=0; while [ $i -lt 2000 ]; do printf "%s.$i." "$API_KEY"; i=$((i+1)); done >&2
		env' > "$T/o" 2> "$T/e"
	planted "$T"/o "$T"/e "$HUB/.cloop"
	grep -qa 'planted' "$T/o" "$T/e" && false
	same "$(head -n 1 "$T/o")" 'key [redacted].'
	same "$(grep -o 'redacted' "$T/e" | wc -l)" 2000
	has "$(cat "$T/e")" '[redacted].1999.'
	has "$(cat "$T/o")" 'API_KEY=[redacted]'
	id=$(cloop runs list --json | head -n 1 | jq -r .id)
	same "$(logged "$id" | grep -c 'API_KEY=\[redacted\]')" 1
	run ! grep -rqa planted "$HUB/.cloop/logs"
	all_gone
}

@test "values stand nowhere but in the sandbox and with its supervisor" {
	id=$(run_in --detach -- sh -c 'echo "up $API_KEY"; while [ ! -e /workspace/go ]; do sleep 0.1; done')
	h=$(handle_of "$id")
	until_logged "$id" 'up [redacted]'
	# Attached as well, so that a client is there to look into.
	host cloop runs logs -f "$id" > "$T/o" 2>/dev/null &
	until_in "$T/o" 'up [redacted]'
	shim=$(shim_of "$h")
	# All of the run but the sandbox, which has them, and the shim, which takes them out.
	mine=$(ours -x 'cloop.*|conmon|podman' | grep -vxF "$shim" | while read -r p; do
		[ "$(readlink "/proc/$p/ns/pid")" = "$(readlink /proc/self/ns/pid)" ] && echo "$p"; done)
	has "$(for p in $mine; do cat "/proc/$p/comm"; done | sort -u | xargs)" 'cloop-hold'
	has "$(for p in $mine; do cat "/proc/$p/comm"; done | sort -u | xargs)" 'conmon'
	# shellcheck disable=SC2086 # a list
	planted $mine "$HUB" "$ENGINE_DIR" "$T/run" "$P"
	podman inspect "$(cloop runs show --json "$id" | jq -r .container)" > "$T/inspect" 2>/dev/null || podman inspect -l > "$T/inspect"
	podman ps -a --no-trunc --format json >> "$T/inspect"
	planted "$T/inspect" "$T/o"
	# The search does find what is there: the supervisor's own memory has them.
	[ -n "$(python3 "$SRC/t/lib/findplanted.py" "$T/values" "$shim" 2>/dev/null)" ]
	# Nobody else of its user reads that, and nothing dumps it.
	same "$(awk '/Max core file size/ {print $5, $6}' "/proc/$shim/limits")" '0 0'
	run ! setpriv --reuid 1000 --regid 1000 --clear-groups cat "/proc/$shim/environ"
	# An address sanitizer makes mlock(2) do nothing.
	[[ $BUILD_DIR == */san ]] || [ "$(awk '$1 == "VmLck:" { print $2 }' "/proc/$shim/status")" -gt 0 ]
	# The variables were read, and are gone from where they stood.
	for ((i = 0; i < 600; i++)); do [ -s "$T/run/w/$h/lease/cloop/env" ] || break; sleep 0.1; done
	[ -e "$T/run/w/$h/lease/cloop/env" ] && [ ! -s "$T/run/w/$h/lease/cloop/env" ]
	has "$(grep -F "$T/run/w/$h/lease" /proc/self/mounts)" 'nosuid,nodev,noexec'
	same "$(stat -c '%a %u' "$T/run/w/$h/lease")" '700 0'
	touch "$P/go"
	until_state "$id" finished
	wait
	all_gone
	planted "$HUB" "$ENGINE_DIR" "$T/run" "$P"
}

@test "a workload cannot change what it was lent, nor plant anything beside it" {
	exits 0 run_in -- sh -c 'cd "$CLOOP_LEASE_DIR" || exit 3
		ln -s /etc/passwd link; mkfifo fifo; echo x > github-token; rm gitconfig; mv gitconfig other; chmod 777 . ; touch new
		mount -o remount,rw "$CLOOP_LEASE_DIR"; cat ../../../redact ../redact; ls | xargs; wc -c < github-token; ls -A /.cloop | xargs'
	same "$output" $'git-credential-cloop gitconfig github-token\n26\nenv init'
	has "$stderr" 'Read-only file system'
	all_gone
}

@test "an adopted run is scrubbed on, and nothing stays when it ends" {
	id=$(run_in --detach -- sh -c 'echo "one $API_KEY"; while [ ! -e /workspace/go ]; do sleep 0.1; done; echo "two $API_KEY"; cat "$CLOOP_LEASE_DIR/github-token"; exit 4')
	h=$(handle_of "$id")
	until_logged "$id" 'one [redacted]'
	kill -KILL "$(shim_of "$h")"
	touch "$P/go"
	exits 0 host cloop sweep --only adopt
	until_state "$id" finished
	same "$(cloop runs show --json "$id" | jq .exit_code)" 4
	same "$(logged "$id")" $'one [redacted]\ntwo [redacted]\n[redacted]'
	all_gone
	planted "$HUB" "$ENGINE_DIR" "$T/run"
}

@test "SIGKILL to supervisor and workload: the next sweep leaves nothing in memory" {
	id=$(run_in --detach -- sleep 600)
	h=$(handle_of "$id")
	[ -s "$T/run/w/$h/lease/files/github-token" ]
	kill -KILL "$(shim_of "$h")"
	kill -KILL "$(cat "$T/run/w/$h/pid")"
	exits 0 host cloop sweep
	until_state "$id" finished
	all_gone
}

@test "a run that cannot be lent what it is granted does not start, and nothing is left of it" {
	mv "$HUB/cloop-secret-key" "$T/away"
	exits 125 run_in -- touch /workspace/ran
	mv "$T/away" "$HUB/cloop-secret-key"
	has "$stderr" 'what this run is granted cannot be lent to it'
	has "$stderr" 'cloop-secret-key'
	[ ! -e "$P/ran" ]
	all_gone
}

@test "what is refused is named with its reason, and the rest is lent" {
	echo '{"no-name":"x"}' | cloop secret mint odd-env >/dev/null 2>&1
	g=$(cloop secret grant odd-env --to executor:container --json | jq -r .id)
	exits 0 run_in -- sh -c 'echo ${#API_KEY}'
	cloop secret revoke "$g" >/dev/null
	same "$output" 19
	has "$stderr" "odd-env ($g) is not lent to this run"
	has "$stderr" "no name that a variable can have"
	all_gone
}

@test "a run that nothing is granted to asks nobody for a key" {
	mkdir -p "$T/projects/other" && chown 1000:1000 "$T/projects/other"
	mv "$HUB/cloop-secret-key" "$T/away"
	exits 0 host cloop run -p "$T/projects/other" -- sh -c 'echo ${CLOOP_LEASE_ID-none}; ls -A /run' < /dev/null
	mv "$T/away" "$HUB/cloop-secret-key"
	same "$output" $'none\n.containerenv'
	all_gone
}

# lent_apart PROJECT : a project with a token of its own; sets Q and G, its grant.
lent_apart() {
	Q=$T/projects/$1
	mkdir -p "$Q" && chown 1000:1000 "$Q" && rm -f "$Q"/*
	G=$(cloop secret grant deploy-pat --to "project:$Q" --repos 'myorg/*' "${@:2}" --json | jq -r .id)
}
detached() { host cloop run --detach -p "$Q" -- sh -c "$1" < /dev/null; }

@test "a revoked file is gone from the sandbox, the others stay, and the run goes on" {
	lent_apart files
	g=$(cloop secret grant app-env --to "project:$Q" --env-keys API_KEY --json | jq -r .id)
	id=$(detached 'echo up; while [ -e "$CLOOP_LEASE_DIR/github-token" ]; do sleep 0.1; done; echo "gone, ${#API_KEY} left"; ls -A "$CLOOP_LEASE_DIR"')
	until_logged "$id" up
	exits 0 host cloop secret revoke "$G"
	until_state "$id" finished
	same "$(logged "$id")" $'up\ngone, 19 left'
	has "$(cloop runs journal "$id")" "'deploy-pat' ($G) was taken back"
	# The audit trail names the run as who asked, each time.
	same "$(sqlite3 -readonly -cmd ".timeout 60000" "$HUB/.cloop/state.db" "select distinct action, actor from audit where action in ('secret.lease', 'secret.renew') and detail like '%$id%' order by 1")" "secret.lease|run:$id
secret.renew|run:$id"
	cloop secret revoke "$g" >/dev/null
	all_gone
}

@test "revoking what stands in the environment ends the workload, and is done when that is over" {
	lent_apart env
	g=$(cloop secret grant app-env --to "project:$Q" --env-keys API_KEY --json | jq -r .id)
	id=$(detached 'trap "" TERM; echo up; while :; do sleep 0.1; done')
	until_logged "$id" up
	exits 0 host cloop secret revoke --json "$g"
	same "$(cloop runs show --json "$id" | jq -r .outcome)" killed
	has "$(cloop runs show --json "$id" | jq -r .error)" "stands in the environment"
	# The other one was the run's until then.
	cloop secret revoke "$G" >/dev/null
	all_gone
}

@test "killing the holders of a lease ends the run and wipes its files" {
	lent_apart kill
	id=$(detached 'echo up; sleep 600')
	until_logged "$id" up
	l=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select id from lease where run_id = '$id'")
	exits 0 host cloop secret revoke "$l" --action kill --reason 'it leaked'
	until_state "$id" finished
	same "$(cloop runs show --json "$id" | jq -r .outcome)" killed
	has "$(cloop runs show --json "$id" | jq -r .error)" 'its holders were to be killed'
	cloop secret revoke "$G" >/dev/null
	all_gone
}

@test "a grant that ends while the run lives takes the files with it" {
	lent_apart ttl --ttl 20s
	id=$(detached 'echo up; while [ -e "$CLOOP_LEASE_DIR/github-token" ]; do sleep 0.1; done; echo gone')
	until_logged "$id" up
	until_state "$id" finished
	same "$(logged "$id")" $'up\ngone'
	has "$(cloop runs journal "$id")" 'files were taken back'
	all_gone
}

@test "what was revoked while the supervisor was dead is taken back by the next one" {
	lent_apart dead
	id=$(detached 'echo up; while [ -e "$CLOOP_LEASE_DIR/github-token" ]; do sleep 0.1; done; echo gone')
	until_logged "$id" up
	kill -KILL "$(shim_of "$(handle_of "$id")")"
	# Nobody answers, unless the guardian was quick.
	host cloop secret revoke --wait 1s "$G" || [ $? = 1 ]
	exits 0 host cloop sweep --only adopt
	until_state "$id" finished
	same "$(logged "$id")" $'up\ngone'
	all_gone
}

@test "without the key a revocation takes back more than it must, never less" {
	lent_apart nokey
	g=$(cloop secret grant app-env --to "project:$Q" --env-keys API_KEY --json | jq -r .id)
	id=$(detached 'echo up; while [ -e "$CLOOP_LEASE_DIR/gitconfig" ]; do sleep 0.1; done; echo gone')
	until_logged "$id" up
	mv "$HUB/cloop-secret-key" "$T/away"
	run host cloop secret revoke "$G"
	mv "$T/away" "$HUB/cloop-secret-key"
	same "$status" 0
	until_state "$id" finished
	same "$(logged "$id")" $'up\ngone'
	cloop secret revoke "$g" >/dev/null
	all_gone
}

@test "a run is lent what it is granted for longer than any lease of it lasts" {
	local end
	printf '  lease_seconds: 30\n' >> "$HUB/.cloop/config.yaml"
	lent_apart renewed
	id=$(detached 'echo up; while [ ! -e go ]; do [ -e "$CLOOP_LEASE_DIR/github-token" ] || { echo lost; exit 1; }; sleep 0.1; done; wc -c < "$CLOOP_LEASE_DIR/github-token"')
	until_logged "$id" up
	end=$(sqlite3 -readonly "$HUB/.cloop/state.db" "select expires_at from lease where run_id = '$id'")
	[ "$end" -le $(($(date +%s) * 1000 + 31000)) ]
	# Past its first end, and live on.
	later() { [ "$(date +%s%3N)" -gt "$((end + 1000))" ]; }
	for ((i = 0; i < 900; i++)); do later && break; sleep 0.1; done
	same "$(sqlite3 -readonly "$HUB/.cloop/state.db" "select state, expires_at > $end, renewed_at > created_at from lease where run_id = '$id'")" 'live|1|1'
	touch "$Q/go"
	until_state "$id" finished
	same "$(logged "$id")" $'up\n26'
	same "$(sqlite3 -readonly "$HUB/.cloop/state.db" "select count(*) > 0 from audit where action = 'secret.renew' and detail like '%$id%'")" 1
	cloop secret revoke "$G" >/dev/null
	all_gone
}

# slow_renewals : PATH has a cloop whose renewals are answered once $T/go is there.
slow_renewals() {
	local d=$T/slow
	mkdir -p "$d/build" && cp -r "$BIN" "$d/build/bin" && cp -r "$SRC/share" "$d/share"
	rm "$d/build/bin/cloop-secret"
	cat > "$d/build/bin/cloop-secret" <<-EOF
		#!/bin/bash
		set -o pipefail
		[[ " \$* " == *" renew "* ]] || exec "$BIN/cloop-secret" "\$@"
		"$BIN/cloop-secret" "\$@" | {
			v=\$(base64 -w 0)
			: > "$T/renewed"
			for ((i = 0; i < 600; i++)); do [ -e "$T/go" ] && break; sleep 0.1; done
			printf %s "\$v" | base64 -d
		}
	EOF
	chmod 755 "$d/build/bin/cloop-secret"
	PATH=$d/build/bin:$PATH
}

@test "what is taken back while a renewal is on its way is given up when its file is gone, not before" {
	local i h files
	lent_apart race --ttl 30s
	g=$(cloop secret grant app-env --to "project:$Q" --env-keys API_KEY --json | jq -r .id)
	slow_renewals
	id=$(detached 'echo up; while [ ! -e go ]; do sleep 0.1; done')
	until_logged "$id" up
	h=$(handle_of "$id")
	files=/proc/$(shim_of "$h")/root$T/run/w/$h/lease/files
	for ((i = 0; i < 600; i++)); do [ -e "$T/renewed" ] && break; sleep 0.1; done
	[ -e "$files/github-token" ]
	# The renewal that brings it has been written down, and has not arrived.
	host cloop secret revoke --wait 1s "$G" || [ $? = 1 ]
	touch "$T/go"
	for ((i = 0; i < 600; i++)); do
		[ "$(sqlite3 -readonly "$HUB/.cloop/state.db" "select state from lease_grant where grant_id = '$G'")" = taken ] && break
		sleep 0.02
	done
	[ "$i" -lt 600 ]
	[ ! -e "$files/github-token" ]
	[ -e "$Q" ] && touch "$Q/go"
	until_state "$id" finished
	cloop secret revoke "$g" >/dev/null
	rm -r "$T/slow"
	all_gone
}

@test "granted repositories of the host are bound, read-only unless granted to be written" {
	mkdir -p "$T/src"/{api-service,shared-proto,shared.proto,private}/.git "$T/src/no-repo" "$T/outside/.git"
	ln -sfn "$T/outside" "$T/src/api-evil"
	touch "$T/src/api-service/file" && chown -R 1000:1000 "$T/src"
	echo "$T/src" | cloop secret mint local-src --kind local_repo >/dev/null
	lent_apart repos
	r=$(cloop secret grant local-src --to "project:$Q" --repos 'api-*,shared*' --json | jq -r .id)
	exits 0 host cloop run -p "$Q" -- sh -c 'ls -A /repos | xargs; env | grep LOCAL_REPO | sort; touch /repos/api-service/new; cat /proc/mounts | grep -c " /repos/.* ro,nosuid,nodev,"' < /dev/null
	same "$output" "api-service shared-proto shared.proto
CLOOP_LOCAL_REPOS=api-service,shared-proto,shared.proto
CLOOP_LOCAL_REPO_API_SERVICE=/repos/api-service
CLOOP_LOCAL_REPO_ROOT=/repos
3"
	has "$stderr" 'Read-only file system'
	cloop secret revoke "$r" >/dev/null
	r=$(cloop secret grant local-src --to "project:$Q" --repos private --writable --json | jq -r .id)
	exits 0 host cloop run -p "$Q" -- touch /repos/private/new < /dev/null
	same "$(stat -c %u "$T/src/private/new")" 1000
	# What is bound stays bound until the run ends, and the run says so.
	id=$(detached 'echo up; while [ ! -e /workspace/go ]; do sleep 0.1; done; ls /repos')
	until_logged "$id" up
	exits 1 host timeout 100 cloop secret revoke --wait 10m "$r"
	has "$output" '— revoked'
	has "$stderr" "until that run ends (mounts); to end it now: cloop runs stop $id"
	touch "$Q/go"
	until_state "$id" finished
	has "$(cloop runs journal "$id")" 'stays until the run ends'
	same "$(logged "$id")" $'up\nprivate'
	cloop secret revoke "$G" >/dev/null
	all_gone
	same "$(sqlite3 -readonly "$HUB/.cloop/state.db" "select count(*) from lease_grant where state = 'taking'")" 0
}

@test "what is planted in a granted repository leads nowhere: a link, a FIFO, a device, a mount" {
	mkdir -p "$T/planted/api/.git" "$T/planted/api/sub" "$T/elsewhere" && echo secret-of-the-host > "$T/elsewhere/file"
	ln -s "$T/elsewhere/file" "$T/planted/api/link"
	ln -s ../../elsewhere "$T/planted/api/up"
	mkfifo "$T/planted/api/fifo"
	mknod "$T/planted/api/zero" c 1 5 && chmod 666 "$T/planted/api/zero"
	chown -R 1000:1000 "$T/planted"
	mount --bind "$T/elsewhere" "$T/planted/api/sub"
	echo "$T/planted" | cloop secret mint planted-src --kind local_repo >/dev/null
	lent_apart planted
	cloop secret revoke "$G" >/dev/null
	for access in '' --writable; do
		# shellcheck disable=SC2086 # one word or none
		r=$(cloop secret grant planted-src --to "project:$Q" --repos api $access --json | jq -r .id)
		exits 0 host timeout 120 cloop run -p "$Q" -- sh -c 'cd /repos/api; ls -A | xargs
			cat link up/file sub/file 2>/dev/null; ls -A sub | wc -l; head -c 1 zero 2>/dev/null | wc -c; test -p fifo && echo fifo
			echo x 2>/dev/null > sub/new; true' < /dev/null
		same "$output" $'.git fifo link sub up zero\n0\n0\nfifo'
		cloop secret revoke "$r" >/dev/null
		same "$(ls -A "$T/elsewhere")" file
	done
	umount "$T/planted/api/sub"
	cloop secret delete planted-src >/dev/null
	rm -r "$T/planted"
	all_gone
}

@test "a repository that is swapped between lease and start is not followed anywhere" {
	local d=$T/swap what
	mkdir -p "$d/build" "$T/swapped/api/.git" "$T/swapped/private/.git" "$T/elsewhere/.git" && cp -r "$BIN" "$d/build/bin" && cp -r "$SRC/share" "$d/share"
	chown -R 1000:1000 "$T/swapped"
	rm "$d/build/bin/cloop-secret"
	# What the lease is in hand for, and the run has not started with yet.
	cat > "$d/build/bin/cloop-secret" <<-EOF
		#!/bin/bash
		set -o pipefail
		[[ " \$* " == *" take "* ]] || exec "$BIN/cloop-secret" "\$@"
		"$BIN/cloop-secret" "\$@" | {
			v=\$(base64 -w 0)
			. "$T/swapping" > /dev/null 2>&1
			printf %s "\$v" | base64 -d
		}
	EOF
	chmod 755 "$d/build/bin/cloop-secret"
	echo "$T/swapped" | cloop secret mint swapped-src --kind local_repo >/dev/null
	lent_apart swapped
	cloop secret revoke "$G" >/dev/null
	r=$(cloop secret grant swapped-src --to "project:$Q" --repos api --json | jq -r .id)
	PATH=$d/build/bin:$PATH
	# A link, nothing, a file, a FIFO, a device, another directory of its owner or of root's, one of
	# the same root that was not granted, and something mounted over it.
	for what in "ln -s '$T/elsewhere' api" : "touch api" "mkfifo api" "mknod api c 1 5" "cp -a was api" "mkdir -p api/.git" \
		"mv private api" "mkdir api && mount --bind '$T/elsewhere' api" "mv was api && mount --bind '$T/elsewhere' api"; do
		echo "cd '$T/swapped' && mv api was && $what" > "$T/swapping"
		exits 125 host timeout 120 cloop run -p "$Q" -- ls /repos/api < /dev/null
		has "$stderr" "repository '$T/swapped/api'"
		has "$stderr" 'fix: look at the directory, then run again'
		(
			cd "$T/swapped" || exit
			umount api 2> /dev/null || true
			[[ $what != 'mv private'* ]] || mv api private
			[ ! -e was ] || { rm -rf api && mv was api; }
		)
	done
	has "$(cd "$T/swapped" && ls -A | xargs)" 'api private'
	# A clone that the operator makes anew is lent like the one before: no grant knows which it was.
	: > "$T/swapping"
	exits 0 host timeout 120 cloop run -p "$Q" -- ls /repos < /dev/null
	rm -r "$T/swapped/api" && mkdir -p "$T/swapped/api/.git" && touch "$T/swapped/api/new" && chown -R 1000:1000 "$T/swapped/api"
	exits 0 host timeout 120 cloop run -p "$Q" -- ls /repos/api < /dev/null
	same "$output" new
	cloop secret revoke "$r" >/dev/null
	cloop secret delete swapped-src >/dev/null
	rm -r "$T/swapped" "$d" "$T/swapping"
	all_gone
}
