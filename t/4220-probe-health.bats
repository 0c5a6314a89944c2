#!/usr/bin/env bats
# cloop executor probe-health, with a driver that answers what a test wants.
load lib/common
load lib/fleet

setup() {
	fleet_hub
	# A copy that finds its driver beside itself.
	mkdir "$D/bin"
	cp "$BIN/cloop-executor" "$D/bin"
	cat > "$D/bin/cloop-exec-container" <<-'SH'
		#!/bin/sh
		id=$(jq -r .executor.id)
		dir=$(dirname "$0")
		echo "$id" >> "$dir/asked"
		[ ! -e "$dir/hangs.$id" ] || exec sleep 300
		cat "$dir/answer.$id" 2>/dev/null || echo '{"findings":[{"check":"runtime","status":"ok","detail":"fine"}]}'
	SH
	chmod 755 "$D/bin/cloop-exec-container"
}
probe() { "$D/bin/cloop-executor" probe-health "$@"; }
says() { printf '{"findings":[{"check":"%s","status":"%s","detail":"%s"}]}\n' "$2" "$3" "$4" > "$D/bin/answer.$1"; }
due() { sql 'UPDATE executor_health SET next_probe = 0'; }
state() { cloop executor ls --json | jq -r "select(.executor_id == \"$1\") | .state"; }

@test "a pass asks what is on and due, and a failure counts once" {
	exits 0 probe
	same "$(sort <<< "$output")" "$(printf 'bench: ready\nbox: ready')"
	same "$(sort "$D/bin/asked")" "$(printf 'bench\nbox')"
	lacks "$(cloop executor ls | grep '^box')" never
	says box daemon fail 'no answer from the engine\nmore'
	exits 1 probe
	same "$(grep box <<< "$output")" "box: ready -> degraded: no answer from the engine"
	# It backs off, and the other goes on being asked.
	exits 0 probe
	same "$output" "bench: ready"
	exits 0 probe box --due
	same "$output" ""
	due
	exits 1 probe
	has "$output" "box: degraded: no answer"
	due
	exits 1 probe
	has "$output" "box: degraded -> unreachable"
	exits 125 cloop run -p "$P" -e box -- true
	has "$stderr" "executor 'box' is unreachable: no answer from the engine"
	rm "$D/bin/answer.box"
	# Asked by name it is asked at once.
	exits 0 probe box
	same "$output" "box: unreachable -> ready"
	same "$(went -e box)" box
	same "$(cloop hub audit list --json --action executor.health | jq -r '.detail | .from + " " + .to' | sort)" \
		"$(printf 'degraded unreachable\nready degraded\nunreachable ready')"
}

@test "an operator's word stands over probes, and letting go follows them" {
	cloop executor cordon box --reason mine > /dev/null
	says box runtime fail gone
	for _ in 1 2 3; do exits 1 probe box; done
	same "$output" "box: cordoned: gone"
	has "$(cloop executor ls | grep ^box)" mine
	exits 0 cloop executor uncordon box
	same "$output" "box: cordoned -> unreachable"
}

@test "what is about one image or directory is no failure of the executor" {
	says box image fail 'the image is not there'
	exits 0 probe box
	says box workdir fail 'no directory'
	exits 0 probe box
	says box image warn x
	exits 0 probe box --json
	same "$(jq -c '[.executor_id, .ok, .state, .consecutive_failures, .reason]' <<< "$output")" '["box",true,"ready",0,null]'
}

@test "a driver that gives no answer, nonsense, or a hostile one" {
	for answer in '' 'no json' '[]' '{"findings":[{"check":"runtime","status":"fail","detail":"\u001b[2Jboo\u0000"}]}' \
		'{"findings":[{"check":"runtime","status":"fail"}]}'; do
		printf '%s\n' "$answer" > "$D/bin/answer.box"
		exits 1 probe box
		lacks "$output" $'\033'
	done
	printf '{"findings":[{"check":"runtime","status":"fail","detail":"%s"}]}' "$(head -c 3000 /dev/zero | tr '\0' x)" > "$D/bin/answer.box"
	exits 1 probe box
	has "$(cloop executor ls --json)" 'xxx…"'
	rm "$D/bin/cloop-exec-container"
	exits 1 probe bench
	exits 65 probe nosuch
	exits 1 probe off
	has "$stderr" "executor 'off' is off"
	exits 1 probe broken
	has "$stderr" "out of service"
}

@test "an engine that hangs is given up, and keeps no other waiting" {
	touch "$D/bin/hangs.box"
	exits 1 timeout 60 "$D/bin/cloop-executor" probe-health
	has "$output" "box: ready -> degraded"
	has "$output" "bench: ready"
}

@test "of many passes at once each executor is asked by one" {
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		probe box --due > "$D/out.$i" 3>&- &
	done
	wait
	# A pass that came after the first had ended may ask again; none beside it did.
	same "$(cat "$D"/out.* | sort | uniq -c | wc -l)" 1
	same "$(cat "$D"/out.* | wc -l)" "$(wc -l < "$D/bin/asked")"
	says box runtime fail gone
	due
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		probe box --due > "$D/out.$i" 3>&- &
	done
	wait
	same "$(cloop executor ls --json | jq -r 'select(.executor_id == "box") | .consecutive_failures')" 1
}

@test "who names an executor gets an answer, whoever else asks" {
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		probe box > "$D/out.$i" 3>&- &
	done
	wait
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do same "$(cat "$D/out.$i")" "box: ready"; done
	same "$(wc -l < "$D/bin/asked")" 12
	# Since when it is ready is no time that is still to come.
	same "$(sql "SELECT changed_at BETWEEN 1 AND strftime('%s', 'now') * 1000 + 1000 FROM executor_health WHERE executor_id = 'box'")" 1
}

@test "ten executors" {
	{
		for i in 1 2 3 4 5 6 7 8 9 10; do echo "    - {id: x$i, enabled: true}"; done
	} > "$D/list"
	config "$(cat "$D/list")"
	says x3 runtime fail gone
	exits 1 probe
	same "$(wc -l <<< "$output")" 10
	same "$(grep -c ': ready$' <<< "$output")" 9
	due
	exits 1 probe --json
	same "$(jq -r 'select(.ok | not) | .executor_id' <<< "$output")" x3
}

# later MINUTES : the next probe of box is written as so far ahead.
later() { sql "UPDATE executor_health SET next_probe = strftime('%s', 'now') * 1000 + $1 * 60000 WHERE executor_id = 'box'"; }

@test "a clock that was set back keeps nobody from being asked" {
	exits 0 probe box
	# As long as a back-off may be, and longer than any.
	later 5
	exits 0 probe box --due
	same "$output" ""
	exits 0 probe
	same "$output" "bench: ready"
	later 1440
	exits 0 probe box --due
	same "$output" "box: ready"
	later 1440
	exits 0 probe
	has "$output" "box: ready"
	later 1440
	a_loop
	until_ok logged 'box: ready'
	kill -TERM "$loop"
	wait "$loop"
}

# a_loop : in the background, output in $D/log
a_loop() {
	"$D/bin/cloop-executor" probe-health --loop > "$D/log" 2>&1 3>&- < /dev/null &
	loop=$!
	until_ok locked
}
# Asked of the kernel: who tries the lock has it for a moment, and the loop would find it taken.
locked() {
	local i
	i=$(stat -c %i "$HUB/.cloop/probe.lock") && grep -q ":$i 0 EOF$" /proc/locks
}
logged() { grep -qF -e "$1" "$D/log"; }
asked_again() { [ "$(grep -c "^$1\$" "$D/bin/asked")" -ge "$2" ]; }

@test "the loop: one a hub, each at its own time, what stops a pass stops no other, and it ends when told to" {
	says box runtime fail gone
	a_loop
	until_ok logged 'box: ready -> degraded: gone'
	until_ok logged 'bench: ready'
	exits 75 probe --loop
	has "$stderr" "another process probes the executors of '$HUB' in a loop"
	exits 64 probe --loop box
	# It backs off, and is asked again; a pass beside the loop does no harm.
	exits 0 probe --due
	until_ok logged 'box: degraded: gone'
	# A configuration that is being written is said, and then the passes go on.
	mv "$HUB/.cloop/config.yaml" "$D/kept"
	echo '{' > "$HUB/.cloop/config.yaml"
	until_ok logged 'warning: '
	mv "$D/kept" "$HUB/.cloop/config.yaml"
	rm "$D/bin/answer.box"
	due
	until_ok logged '-> ready'
	kill -TERM "$loop"
	wait "$loop"
	run ! locked
}

@test "the loop: SIGINT, and an end while a driver hangs" {
	: > "$D/bin/hangs.box"
	a_loop
	until_ok asked_again box 1
	kill -INT "$loop"
	wait "$loop"
	# The probe was given up, which is no failure of the executor, and its driver with it.
	same "$(state box)" ready
	same "$(sql "SELECT failures FROM executor_health WHERE executor_id = 'box'")" 0
	until_ok no_driver
}
no_driver() { ! grep -qlz "^$D/bin/cloop-exec-container" /proc/[0-9]*/cmdline 2> /dev/null; }
