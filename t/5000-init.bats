#!/usr/bin/env bats
# cloop-init: the first process of a sandbox, outside of one and in a PID namespace.
load lib/common
load lib/engine

setup_file() {
	if [ "$(id -u)" = 0 ] && command -v podman >/dev/null; then engine_up; fi
}
teardown_file() { engine_down; }

setup() { init=$BIN/cloop-init; }

# wait_for CMD... : until it succeeds, for ten seconds.
wait_for() {
	local i
	for ((i = 0; i < 500; i++)); do
		"$@" 2>/dev/null && return 0
		sleep 0.02
	done
	return 1
}

@test "a status is the command's, and a signal is 128 and its number" {
	exits 0 "$init" -- true
	exits 7 "$init" -- sh -c 'exit 7'
	exits 137 "$init" -- sh -c 'kill -9 $$'
	exits 127 "$init" -- /no/such/program
	has "$stderr" "/no/such/program"
	exits 127 "$init" -- no-such-program
	exits 126 "$init" -- /etc/passwd
	exits 126 "$init" -- /
}

@test "what it cannot do is 125 and said" {
	exits 125 "$init"
	has "$stderr" "usage: cloop-init"
	exits 125 "$init" --
	exits 125 "$init" true
	exits 125 "$init" --bogus x -- true
	has "$stderr" "'--bogus'"
	exits 125 "$init" --stdin-fd 77 -- true
	exits 125 "$init" --stdin-fd x -- true
	exits 125 "$init" --env
	exits 125 "$init" --env /no/such/file -- true
	has "$stderr" "/no/such/file"
}

@test "the environment comes from the file, over what was there" {
	printf 'A=1\0B=two words\nand a line\0PATH=/bin\0EMPTY=\0A=2\0' > "$BATS_TEST_TMPDIR/env"
	exits 0 env -i KEPT=yes PATH=/nowhere "$init" --env "$BATS_TEST_TMPDIR/env" -- \
		sh -c 'echo "$A/$B/$PATH/$KEPT/${EMPTY-unset}"'
	same "$output" $'2/two words\nand a line//bin/yes/'
	# The command is looked for on the PATH of the file.
	exits 127 env -i PATH=/usr/bin:/bin "$init" --env <(printf 'PATH=/nowhere\0') -- true
	# The last entry may lack its NUL; an empty file is an empty list.
	exits 0 "$init" --env <(printf 'X=1') -- sh -c '[ "$X" = 1 ]'
	exits 0 "$init" --env /dev/null -- true
}

@test "a broken environment is refused without showing it" {
	for text in 's3cretvalue' '=s3cretvalue' 'A=1\0s3cretvalue\0' '\0'; do
		printf '%b' "$text" > "$BATS_TEST_TMPDIR/env"
		exits 125 "$init" --env "$BATS_TEST_TMPDIR/env" -- true
		lacks "$stderr" s3cret
		has "$stderr" "not NAME=VALUE"
	done
	head -c 5000000 /dev/zero | tr '\0' a > "$BATS_TEST_TMPDIR/env"
	exits 125 "$init" --env "$BATS_TEST_TMPDIR/env" -- true
	has "$stderr" "larger than"
}

@test "held back until its supervisor says go, and for good when that is gone first" {
	mkfifo "$BATS_TEST_TMPDIR/go"
	# Nobody has it open: nobody will say it.
	exits 125 "$init" --go "$BATS_TEST_TMPDIR/go" -- touch "$BATS_TEST_TMPDIR/ran"
	has "$stderr" 'the supervisor went away before it said go'
	exits 125 "$init" --go "$BATS_TEST_TMPDIR/none" -- touch "$BATS_TEST_TMPDIR/ran"
	has "$stderr" "cannot open '$BATS_TEST_TMPDIR/none'"
	exits 125 "$init" --go
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	exec 8<> "$BATS_TEST_TMPDIR/go"
	"$init" --go "$BATS_TEST_TMPDIR/go" -- sh -c 'echo ran; exit 5' > "$BATS_TEST_TMPDIR/out" 8>&- &
	p=$!
	wait_for sh -c "grep -q 'State:.S' /proc/$p/status && ls -l /proc/$p/fd | grep -q go"
	[ ! -s "$BATS_TEST_TMPDIR/out" ]
	printf g >&8
	rc=0; wait $p || rc=$?
	same "$rc $(cat "$BATS_TEST_TMPDIR/out")" '5 ran'
	"$init" --go "$BATS_TEST_TMPDIR/go" -- touch "$BATS_TEST_TMPDIR/ran" 2> "$BATS_TEST_TMPDIR/err" 8>&- &
	p=$!
	wait_for sh -c "ls -l /proc/$p/fd | grep -q go"
	exec 8>&-
	rc=0; wait $p || rc=$?
	same "$rc" 125
	has "$(cat "$BATS_TEST_TMPDIR/err")" 'the supervisor went away before it said go'
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "standard streams are taken from other descriptors, in any order" {
	d=$BATS_TEST_TMPDIR
	echo in > "$d/in"
	"$init" --stdin-fd 3 --stdout-fd 4 --stderr-fd 5 -- sh -c 'cat; echo err >&2; for f in 3 4 5; do
			[ -e /proc/$$/fd/$f ] && echo "$f is open"; done; true' \
		3< "$d/in" 4> "$d/out" 5> "$d/err" > "$d/other" 2>&1
	same "$(cat "$d/out")" in
	same "$(cat "$d/err")" err
	[ ! -s "$d/other" ]
	# Crossed: what is 1 becomes 2 and the other way round.
	"$init" --stdout-fd 2 --stderr-fd 1 -- sh -c 'echo out; echo err >&2' > "$d/err" 2> "$d/out"
	same "$(cat "$d/out")" out
	same "$(cat "$d/err")" err
}

@test "the status is written where it was asked for, and the command cannot" {
	d=$BATS_TEST_TMPDIR
	run "$init" --status-fd 3 -- sh -c 'echo forged >&3; exit 9' 3> "$d/status"
	[ "$status" = 9 ]
	same "$(cat "$d/status")" 9
	run "$init" --status-fd 3 -- sh -c 'kill -TERM $$' 3> "$d/status"
	same "$(cat "$d/status")" 143
}

@test "signals reach the whole group of the command" {
	for sig in INT TERM HUP QUIT USR1 USR2; do
		# A background job of a shell ignores INT and QUIT: start it through env.
		env --default-signal "$init" -- sh -c 'echo > '"$BATS_TEST_TMPDIR/up.$sig"'; sleep 100; exit 3' &
		pid=$!
		wait_for test -e "$BATS_TEST_TMPDIR/up.$sig"
		kill -s "$sig" "$pid"
		rc=0
		wait "$pid" || rc=$?
		[ "$rc" = $((128 + $(kill -l "$sig"))) ]
	done
}

@test "a command that ignores TERM still ends by KILL, and a stopped one goes on" {
	env --default-signal "$init" -- sh -c 'trap "echo got > '"$BATS_TEST_TMPDIR/got"'" TERM; echo $$ > '"$BATS_TEST_TMPDIR/pid"'
		while :; do sleep 0.05; done' &
	pid=$!
	wait_for test -s "$BATS_TEST_TMPDIR/pid"
	kill -TERM "$pid"
	wait_for test -s "$BATS_TEST_TMPDIR/got"
	child=$(cat "$BATS_TEST_TMPDIR/pid")
	kill -TSTP "$pid"
	wait_for grep -q '^State:.T' "/proc/$child/status"
	kill -CONT "$pid"
	wait_for grep -q '^State:.[SR]' "/proc/$child/status"
	kill -KILL "$child"
	rc=0
	wait "$pid" || rc=$?
	[ "$rc" = 137 ]
}

@test "outside a PID namespace only the command's own group ends with it" {
	sleep 300 &
	bystander=$!
	exits 4 "$init" -- sh -c 'sleep 300 & echo $!; exit 4'
	wait_for eval '! kill -0 $output'
	kill -0 "$bystander"
	kill "$bystander"
}

@test "as pid 1 it reaps orphans and takes everything with it" {
	need root
	exits 5 unshare -p -f --mount-proc "$init" -- sh -c '
		for i in 1 2 3 4 5; do sh -c "sleep 0 & exit" & done; wait; sleep 0.3
		grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null && exit 1
		setsid sleep 300 & exit 5'
	same "$output" ""
	# Its own descriptors and memory are not the command's to read.
	exits 0 unshare -p -f --mount-proc setpriv --reuid 1000 --regid 1000 --clear-groups \
		"$init" --status-fd 2 -- sh -c '! cat /proc/1/environ && ! ls /proc/1/fd' 2>/dev/null
}

@test "in a container: unprivileged, read-only root, streams and status by descriptors" {
	need root podman
	d=$BATS_TEST_TMPDIR
	mkdir "$d/stage"
	cp "$init" "$d/stage/init"
	printf 'SECRET=s3cret\0HOME=/workspace\0' > "$d/stage/env"
	echo hello > "$d/in"
	rc=0
	podman --cgroup-manager=cgroupfs run --rm --network none --read-only --read-only-tmpfs=false \
		--cap-drop=ALL --security-opt=no-new-privileges --user 1000:1000 --preserve-fds 4 \
		--volume "$d/stage:/.cloop:ro" --entrypoint /.cloop/init "$IMAGE" \
		--env /.cloop/env --stdin-fd 3 --stdout-fd 4 --stderr-fd 5 --status-fd 6 -- \
		sh -c 'cat; echo "$SECRET $HOME"; echo e >&2; exit 6' \
		3< "$d/in" 4> "$d/out" 5> "$d/err" 6> "$d/status" < /dev/null > "$d/engine" 2>&1 || rc=$?
	[ "$rc" = 6 ]
	same "$(cat "$d/out")" $'hello\ns3cret /workspace'
	same "$(cat "$d/err")" e
	same "$(cat "$d/status")" 6
	[ ! -s "$d/engine" ]
}

@test "in gVisor" {
	need root podman runsc
	mkdir "$BATS_TEST_TMPDIR/stage"
	cp "$init" "$BATS_TEST_TMPDIR/stage/init"
	printf 'A=b\0' > "$BATS_TEST_TMPDIR/stage/env"
	rc=0
	# A pipe as standard input: runsc changes the owner of what it gets.
	out=$(echo in | podman --cgroup-manager=cgroupfs --log-level=error run -i --rm --network none \
		--runtime runsc --user 1000:1000 --volume "$BATS_TEST_TMPDIR/stage:/.cloop:ro" \
		--entrypoint /.cloop/init "$IMAGE" --env /.cloop/env -- \
		sh -c 'cat; echo "$A"; sleep 300 & exit 6') || rc=$?
	[ "$rc" = 6 ]
	same "$out" $'in\nb'
}
