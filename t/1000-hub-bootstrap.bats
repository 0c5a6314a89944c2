#!/usr/bin/env bats
# The hub's directory: made whole, found by its rules, refused where it could be somebody else's.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own
load lib/common

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME
	hub=$D/srv/hub
}

@test "bootstrap makes directory, configuration, state, marker and list entry, privately" {
	umask 000
	exits 0 cloop -C "$hub" hub bootstrap
	has "$output" "made    configuration $hub/.cloop/config.yaml"
	same "$(stat -c %a "$hub" "$hub/.cloop" "$hub/.cloop/config.yaml" "$hub/.cloop/state.db" "$hub/.cloop/hub.env" | xargs)" \
		"700 700 600 600 600"
	same "$(cat "$CLOOP_HUBS")" "$hub"
	grep -qE '^CLOOP_HUB_ID=hub_[0-9a-f]{24}$' "$hub/.cloop/hub.env"
	same "$(find "$hub" | wc -l)" 6
	same "$(stat -c %a "$hub/cloop-secret-key")" 600
	grep -qxE '[A-Za-z0-9_-]{43}' "$hub/cloop-secret-key"
	has "$(cat "$hub/.cloop/config.yaml")" "
secrets:
  key_file: \"$hub/cloop-secret-key\""
}

@test "a second bootstrap changes nothing" {
	cloop -C "$hub" hub bootstrap
	echo "# mine" >> "$hub/.cloop/config.yaml"
	before=$(cd "$hub/.cloop" && cat config.yaml hub.env ../cloop-secret-key "$CLOOP_HUBS" | sha256sum)
	exits 0 cloop -C "$hub" hub bootstrap --git-proxy-port 9999
	lacks "$output" made
	has "$stderr" "is as it was"
	same "$(cd "$hub/.cloop" && cat config.yaml hub.env ../cloop-secret-key "$CLOOP_HUBS" | sha256sum)" "$before"
}

@test "what bootstrap writes is right, and so is every setting that it shows switched off" {
	cloop -C "$hub" hub bootstrap --external-url https://hub.internal:8080 --git-proxy-port 1443
	exits 0 cloop -C "$hub" hub config check
	same "$output" "$hub/.cloop/config.yaml: right"
	grep -q '#advertise_url: "https://hub.internal:1443"' "$hub/.cloop/config.yaml"
	grep -q '#external_url: https://hub.internal:8080' "$hub/.cloop/config.yaml"
	lacks "$(cat "$hub/.cloop/config.yaml")" @
	# The part above the line with every setting switched on still has only known keys.
	sed '/not in this release/,$d; s/^\( *\)#\([a-z]\)/\1\2/; s/^sandbox:/sandbox:/' "$hub/.cloop/config.yaml" > "$D/on.yaml"
	run --separate-stderr cloop hub config check "$D/on.yaml"
	lacks "$stderr" "no such key"
	lacks "$stderr" "YAML"
}

@test "bootstrap in JSON says what it made" {
	exits 0 cloop -C "$hub" hub bootstrap --json
	same "$(jq -r '.dir, .made.dir, .made.config, .made.list_entry' <<< "$output" | xargs)" "$hub true true true"
	exits 0 cloop -C "$hub" hub bootstrap --json
	same "$(jq -r '[.made[]] | any' <<< "$output")" false
}

@test "bad options make nothing" {
	for o in "--external-url ftp://x" "--external-url https://u@h" "--external-url https://h/path" \
		"--external-url nohost" "--git-proxy-port 0" "--git-proxy-port 65536" "--kube-guard-port x" \
		"--git-proxy-port 8444"; do
		# shellcheck disable=SC2086
		exits 64 cloop -C "$hub" hub bootstrap $o
		[ ! -e "$D/srv" ]
		[ ! -e "$CLOOP_HUBS" ]
	done
}

@test "a hub never lies in a project, above it or below" {
	mkdir -p "$D/p/.cloop" "$D/p/deep"
	touch "$D/p/.cloop/sandbox.yaml"
	for at in "$D/p" "$D/p/deep/hub"; do
		exits 78 cloop -C "$at" hub bootstrap
		has "$stderr" "lies in the project"
	done
	same "$(find "$D/p" -type f)" "$D/p/.cloop/sandbox.yaml"
	[ ! -e "$D/p/deep/hub" ]
	# A hub whose directory became a project is none any more.
	cloop -C "$hub" hub bootstrap
	touch "$hub/.cloop/sandbox-run.json"
	exits 78 cloop -C "$hub" hub config show
	has "$stderr" "lies in the project '$hub'"
}

@test "a clone cannot bring a hub along" {
	cloop -C "$D/evil" hub bootstrap
	mkdir "$D/evil/.git"
	rm "$CLOOP_HUBS"
	exits 78 cloop -C "$D/evil" hub config show
	has "$stderr" "may have come with a repository"
	exits 78 cloop -C "$D/evil" hub bootstrap
	CLOOP_DIR=$D/evil exits 78 cloop hub config show
	cd "$D/evil"
	exits 78 cloop hub config show
	has "$stderr" "there is no hub"
	has "$stderr" "or make one: cloop hub bootstrap"
	# Its owner can vouch for it; and a new one in a work tree is its maker's own.
	echo "$D/evil" > "$CLOOP_HUBS"
	exits 0 cloop hub config show
	exits 0 cloop -C "$D/evil/sub" hub bootstrap
	exits 0 cloop -C "$D/evil/sub" hub config show
}

@test "others may not be able to write to it, nor own it" {
	need root
	cloop -C "$hub" hub bootstrap
	for f in "" /.cloop /.cloop/hub.env /.cloop/config.yaml; do
		mode=$(stat -c %a "$hub$f")
		for bad in g+w o+w; do
			chmod "$bad" "$hub$f"
			exits 78 cloop -C "$hub" hub config show
			has "$stderr" "others may write to '$hub$f'"
			has "$stderr" "chmod go-w"
			chmod "$mode" "$hub$f"
		done
		chown 12345 "$hub$f"
		exits 78 cloop -C "$hub" hub config show
		has "$stderr" "belongs to uid 12345"
		chown 0 "$hub$f"
	done
	exits 0 cloop -C "$hub" hub config show
	chmod o+w "$CLOOP_HUBS"
	cd "$hub"
	exits 78 cloop hub config show
	has "$stderr" "others may write to '$CLOOP_HUBS'"
}

@test "links inside are refused, a link to the directory is resolved" {
	cloop -C "$hub" hub bootstrap
	ln -s "$hub" "$D/link"
	exits 0 cloop -C "$D/link" hub config show --json
	same "$(jq -r .file <<< "$output")" "$hub/.cloop/config.yaml"
	for f in hub.env config.yaml state.db; do
		mv "$hub/.cloop/$f" "$D/$f"
		ln -s "$D/$f" "$hub/.cloop/$f"
		exits 78 cloop -C "$hub" hub "$([ $f = state.db ] && echo audit || echo config)" \
			"$([ $f = state.db ] && echo list || echo show)"
		rm "$hub/.cloop/$f"
		mv "$D/$f" "$hub/.cloop/$f"
	done
	mv "$hub/.cloop" "$D/elsewhere"
	ln -s "$D/elsewhere" "$hub/.cloop"
	exits 78 cloop -C "$hub" hub config show
	exits 78 cloop -C "$hub" hub bootstrap
}

@test "the order of finding: -C, CLOOP_DIR, the listed current directory, the default" {
	need root
	for n in a b c; do cloop -C "$D/$n" hub bootstrap; done
	where() { jq -r .file <<< "$output"; }
	cd "$D/c"
	CLOOP_DIR=$D/b exits 0 cloop -C "$D/a" hub config show --json
	same "$(where)" "$D/a/.cloop/config.yaml"
	CLOOP_DIR=$D/b exits 0 cloop-hub -C "$D/a" config show --json
	same "$(where)" "$D/a/.cloop/config.yaml"
	CLOOP_DIR=$D/b exits 0 cloop hub config show --json
	same "$(where)" "$D/b/.cloop/config.yaml"
	exits 0 cloop hub config show --json
	same "$(where)" "$D/c/.cloop/config.yaml"
	mkdir below
	cd below
	run --separate-stderr cloop hub config show --json
	lacks "$output" "$D/c"
}

@test "a user's own hub and list are below XDG's directories" {
	need root setpriv
	open_bin
	chmod 755 "$D"
	unset CLOOP_HUBS
	install -d -o 65534 -g 65534 "$HOME"
	as_user test -w "$HOME"
	cd /
	exits 78 as_user cloop hub config show
	has "$stderr" "$HOME/.local/state/cloop"
	has "$stderr" "cloop hub bootstrap"
	exits 0 as_user cloop hub bootstrap
	same "$(cat "$HOME/.config/cloop/hubs")" "$HOME/.local/state/cloop"
	exits 0 as_user cloop hub config show
	has "$output" "executors.container.network "
	# Only root can filter, so what a user's bootstrap writes has no network.
	grep -q '^ *network: none' "$HOME/.local/state/cloop/.cloop/config.yaml"
	exits 0 as_user cloop hub config check
	exits 0 as_user env XDG_STATE_HOME="$HOME/state" XDG_CONFIG_HOME="$HOME/conf" cloop hub bootstrap
	same "$(cat "$HOME/conf/cloop/hubs")" "$HOME/state/cloop"
	# Root's is not theirs.
	cloop -C "$D/root" hub bootstrap
	exits 77 as_user cloop -C "$D/root" hub config show
}

@test "no HOME, no list, no place: an error, and -C still works" {
	need root setpriv
	open_bin
	cd /
	exits 78 as_user env -i "$BIN/cloop-hub" bootstrap
	has "$stderr" "HOME"
	exits 78 as_user env -i HOME=relative "$BIN/cloop-hub" config show
	has "$stderr" "there is no hub"
}

@test "strange names" {
	exits 0 cloop -C "$D/a b'c" hub bootstrap
	exits 0 cloop -C "$D/a b'c" hub config check
	exits 0 cloop -C "$D/a b'c" hub key status
	has "$output" "root key   '$D/a b'c/cloop-secret-key' (hkdf)"
	exits 78 cloop -C "$D/new"$'\n'"line" hub bootstrap
	lacks "$(cat "$CLOOP_HUBS")" "new"
	exits 78 cloop -C "$D/none" hub config show
	has "$stderr" "cloop -C '$D/none' hub bootstrap"
	touch "$D/file"
	exits 78 cloop -C "$D/file" hub config show
	run cloop -C "$D/file/x" hub bootstrap
	[ "$status" = 71 ] || [ "$status" = 78 ]
	[ -f "$D/file" ]
	cd "$D"
	exits 0 cloop -C rel hub bootstrap
	has "$(cat "$CLOOP_HUBS")" "$D/rel"
}

@test "two bootstraps at once, of one hub and of many" {
	for i in 1 2 3 4 5 6; do
		cloop -C "$hub" hub bootstrap --json > "$D/one.$i" 2>&1 &
		cloop -C "$D/many$i" hub bootstrap --json > "$D/two.$i" 2>&1 &
	done
	wait
	same "$(jq -rs '[.[].id] | unique | length' "$D"/one.*)" 1
	same "$(jq -rs '[.[] | select(.made.config)] | length' "$D"/one.*)" 1
	same "$(sort "$CLOOP_HUBS" | uniq -d | wc -l)" 0
	same "$(wc -l < "$CLOOP_HUBS")" 7
	exits 0 cloop -C "$hub" hub audit verify --json
	same "$(jq .rows <<< "$output")" 1
}

@test "killed at any step, bootstrap leaves no half hub, and the next one completes it" {
	need strace
	strace -o /dev/null true || skip "strace cannot trace here"
	calls=mkdir,mkdirat,openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlinkat,ftruncate,flock
	n=0
	while :; do
		n=$((n + 1))
		rm -rf "$D/k" "$CLOOP_HUBS"
		rc=0
		# Leaks cannot be looked for under a tracer; a shell of its own keeps "Killed" out of the log.
		ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 bash -c '"$@"; exit $?' _ strace -f -o /dev/null \
			-e trace=$calls -e inject=$calls:signal=KILL:when=$n \
			"$BIN/cloop-hub" -C "$D/k" bootstrap > "$D/out" 2>&1 || rc=$?
		[ "$rc" = 0 ] && break
		[ "$n" -lt 400 ]
		# Either it is a hub, and then a whole one, or it is none.
		rc=0
		cloop -C "$D/k" hub audit verify > "$D/out" 2>&1 || rc=$?
		[ "$rc" = 0 ] || [ "$rc" = 78 ] || { cat "$D/out"; echo "step $n: $rc"; false; }
		cloop -C "$D/k" hub bootstrap > "$D/out"
		cloop -C "$D/k" hub config check > "$D/out"
		cloop -C "$D/k" hub audit verify > "$D/out"
		same "$(cat "$CLOOP_HUBS")" "$D/k"
		same "$(find "$D/k" -name '*.new' | wc -l)" 0
	done
	[ "$n" -gt 30 ]
}

@test "a disk that fills up or fails at any step leaves no half hub" {
	need strace
	strace -o /dev/null true || skip "strace cannot trace here"
	calls=mkdir,mkdirat,write,pwrite64,fsync,fdatasync,ftruncate,rename,renameat,renameat2
	for ((n = 1; n <= 50; n++)); do
		rm -rf "$D/k" "$CLOOP_HUBS"
		rc=0
		ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 strace -f -o "$D/trace" -e trace=$calls \
			-e inject=$calls:error=ENOSPC:when=$n "$BIN/cloop-hub" -C "$D/k" bootstrap > "$D/out" 2> "$D/err" || rc=$?
		grep -q INJECTED "$D/trace" || break
		if [ $rc = 0 ]; then
			cloop -C "$D/k" hub audit verify > "$D/out"
		else
			[ $rc = 71 ] || { cat "$D/trace" "$D/err"; echo "step $n: $rc"; false; }
			run --separate-stderr cloop -C "$D/k" hub audit verify
			[ "$status" = 0 ] || [ "$status" = 78 ]
		fi
		cloop -C "$D/k" hub bootstrap > "$D/out"
		cloop -C "$D/k" hub audit verify > "$D/out"
		same "$(cat "$CLOOP_HUBS")" "$D/k"
	done
	[ "$n" -gt 15 ]
}

@test "a second hub of the caller's has a mark for its networks, a first one none" {
	cloop -C "$D/one" hub bootstrap > /dev/null
	cloop -C "$D/two" hub bootstrap > /dev/null
	run ! grep -q HUB_MARK "$D/one/.cloop/hub.env"
	local id mark
	id=$(sed -n 's/^CLOOP_HUB_ID=hub_//p' "$D/two/.cloop/hub.env")
	mark=$(sed -n 's/^CLOOP_HUB_MARK=//p' "$D/two/.cloop/hub.env")
	same "$mark" "${id:0:6}"
	# Nothing is changed by another bootstrap, and what was there is no other hub once it is gone.
	cloop -C "$D/two" hub bootstrap > /dev/null
	same "$(sed -n 's/^CLOOP_HUB_MARK=//p' "$D/two/.cloop/hub.env")" "$mark"
	rm -rf "$D/one" "$D/two"
	cloop -C "$D/two" hub bootstrap > /dev/null
	run ! grep -q HUB_MARK "$D/two/.cloop/hub.env"
	# A line that was emptied by hand hides none below it.
	printf 'CLOOP_HUB_MARK=\nCLOOP_HUB_MARK=../x\n' >> "$D/two/.cloop/hub.env"
	exits 78 cloop -C "$D/two" hub config check
	has "$stderr" "CLOOP_HUB_MARK=../x cannot be part of a name"
	has "$stderr" "fix: write up to 16 lower-case letters and digits"
}

@test "what is wrong with a hub is mended by what is typed next, and /tmp stays everybody's" {
	need root
	cloop -C "$hub" hub bootstrap > /dev/null
	rm "$hub/.cloop/state.db"
	exits 78 cloop -C "$hub" egress rules show
	has "$stderr" "  fix: cloop -C $hub hub bootstrap"
	exits 0 cloop -C "$hub" hub bootstrap
	exits 0 cloop -C "$hub" egress rules show
	mkdir -m 1777 "$D/all"
	exits 78 cloop -C "$D/all" hub config show
	lacks "$stderr" chmod
	has "$stderr" "  fix: name a directory of your own with -C"
}
