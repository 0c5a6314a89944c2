#!/usr/bin/env bats
# Stored rules in real runs: packets meet every level, and what cannot be enforced does not start.
load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip socat sqlite3
	hub_up
	for p in 443 80; do
		nsenter --net="/run/netns/$WORLD" socat -u "TCP-LISTEN:$p,fork,reuseaddr" /dev/null 3>&- &
	done
	for p in 443 80; do until_ok listens "$WORLD" tcp $p; done
}
teardown_file() {
	for p in $(ip netns pids "$WORLD" 2>/dev/null); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != socat ] || kill "$p" 2>/dev/null || true
	done
	hub_down
}
setup() {
	hub_config '    network: bridge
    address_pool: 10.211.0.0/16
    egress_filter:
      enabled: true
      allow_public_internet: true
      allow_cidrs: [10.4.5.0/24]
      allow_ports: [80, 443]
      resolvers: ["9.9.9.9:53"]'
	rm -rf "$P/.cloop"
	cd "$BATS_TEST_TMPDIR" || return 1
	rules clear -e container > /dev/null 2>&1 && rules clear -p "$P" > /dev/null 2>&1
}
rules() { cloop egress rules "$@"; }

# What a TCP connection from the sandbox meets, in one word.
try='try() { nc -w 3 "$1" "$2" </dev/null 2>&1 && echo "$1:$2 open" || echo "$1:$2 no"; }; '
all="$try"'try 93.184.216.34 443; try 93.184.216.34 80; try 10.4.5.6 443; try 10.4.5.6 80; try 172.20.0.9 443'

# reached WANT... : these and no others of `all` are open to a run.
reached() {
	exits 0 run_in -- sh -c "$all"
	same "$(grep ' open' <<< "$output" | sort)" "$([ $# = 0 ] || printf '%s open\n' "$@" | sort)"
}

@test "each level takes away, and what is left is what all of them allow" {
	reached 93.184.216.34:443 93.184.216.34:80 10.4.5.6:443 10.4.5.6:80
	rules set -e container --internet --cidrs 10.4.5.0/24 --ports 443 --resolver 9.9.9.9 > /dev/null
	reached 93.184.216.34:443 10.4.5.6:443
	rules set -p "$P" --cidrs 10.4.5.6/32 --ports 443 > /dev/null
	reached 10.4.5.6:443
	# A project that has none of its own is bound by its executor's alone.
	mkdir -p "$T/projects/other" && chown 1000 "$T/projects/other"
	exits 0 host cloop run -p "$T/projects/other" -- sh -c "$all" < /dev/null
	has "$output" "93.184.216.34:443 open"
	# What was fitting is cut when the level above gets narrower, without being touched.
	rules set -e container --internet --ports 443 > /dev/null 2>&1
	reached
	rules clear -e container > /dev/null
	reached 10.4.5.6:443
}

@test "a deny holds below, and the kernel's answers are those of effective" {
	rules set -e container --internet --cidrs 10.4.5.0/24 --ports 80,443 --deny 10.4.5.6/32 --resolver 9.9.9.9 > /dev/null
	rules set -p "$P" --internet --cidrs 10.4.5.0/24 --ports 443 > /dev/null
	exits 0 run_in -- sh -c "$all"
	got=$(grep -E ' (open|no)$' <<< "$output" | sort)
	want=$(cut -d' ' -f1 <<< "$got" | while read -r q; do
		if cloop egress effective -p "$P" --check "$q" > /dev/null; then echo "$q open"; else echo "$q no"; fi
	done)
	same "$got" "$want"
	has "$got" "93.184.216.34:443 open"
	has "$got" "10.4.5.6:443 no"
}

@test "resolv.conf has what every level lets through" {
	rules set -e container --internet --ports 443 --resolver 9.9.9.9 > /dev/null
	rules set -p "$P" --internet --ports 443 --resolver 9.9.9.9 > /dev/null
	exits 0 run_in -- cat /etc/resolv.conf
	has "$output" "nameserver 9.9.9.9"
	rules set -p "$P" --internet --ports 443 > /dev/null
	exits 0 run_in -- cat /etc/resolv.conf
	lacks "$output" nameserver
}

@test "rules that reach nothing are no network at all" {
	rules set -p "$P" > /dev/null
	exits 0 run_in -- ls /sys/class/net
	same "$output" lo
}

@test "egress: public is one level more" {
	rules set -e container --internet --cidrs 10.4.5.0/24 --ports 80,443 --resolver 9.9.9.9 > /dev/null
	mkdir -p "$P/.cloop"; printf 'capabilities: {egress: public}\n' > "$P/.cloop/sandbox.yaml"
	reached 93.184.216.34:443 93.184.216.34:80
	rules set -p "$P" --internet --ports 80 --resolver 9.9.9.9 > /dev/null
	reached 93.184.216.34:80
}

@test "runs with different rules stand beside each other, each behind its own" {
	id=$(run_in --detach -- sh -c 'sleep 3; '"$all; sleep 20")
	rules set -p "$P" --cidrs 10.4.5.6/32 --ports 443 > /dev/null
	reached 10.4.5.6:443
	# The first keeps what it started with.
	for ((i = 0; i < 600; i++)); do cloop runs logs "$id" | grep -q 172.20 && break; sleep 0.1; done
	has "$(cloop runs logs "$id")" "93.184.216.34:80 open"
	has "$(cloop runs show "$id" --json | jq -c .egress)" '"allow_public_internet":true'
	cloop runs stop --grace 0s "$id" > /dev/null
}

@test "what is enforced is what was read at one moment, whoever changes it meanwhile" {
	rules set -p "$P" --internet --ports 80 > /dev/null
	for i in {1..100}; do
		rules set -p "$P" --internet --ports $((i % 2 ? 443 : 80))
		sleep 0.05
	done > /dev/null 2>&1 3>&- &
	local i id want bad=0
	for i in 1 2 3 4; do
		run_in -- sh -c "$try try 93.184.216.34 443; try 93.184.216.34 80" > out || bad=1
		id=$(cloop runs list -p "$P" --json | jq -sr 'flatten | .[0].id')
		want=$(cloop runs show "$id" --json | jq '.egress.levels[-1].policy.allow_ports[0]')
		same "$(grep ' open' out)" "93.184.216.34:$want open" || bad=1
	done
	wait
	[ "$bad" = 0 ]
}

@test "rules that were narrowed while the image was built are those that the run has" {
	mkdir -p "$P/.cloop"
	printf 'setup: ["sleep 4.25"]\ncapabilities: {egress: public}\n' > "$P/.cloop/sandbox.yaml"
	run_in -- sh -c "$all" > out 2> err 3>&- &
	for ((i = 0; i < 600; i++)); do pgrep -f 'sleep 4[.]25$' > /dev/null && break; sleep 0.1; done
	rules set -p "$P" --internet --ports 80 > /dev/null
	wait $!
	same "$(grep ' open' out)" "93.184.216.34:80 open"
}

@test "a directory with a hostile name has rules like any other" {
	local old=$P
	P=$T/projects/$'a\nb\e[31m\xe2\x80\xae"x'
	mkdir -p "$P" && chown 1000 "$P"
	exits 0 rules set -p "$P" --internet --ports 443
	lacks "$output" $'\e'
	reached 93.184.216.34:443
	exits 0 cloop egress effective -p "$P"
	lacks "$output" $'\e'
	exits 0 rules show
	lacks "$output" $'\e'
	rules clear -p "$P" > /dev/null
	P=$old
}

@test "the run says which rules it had: row, record and journal" {
	rules set -e container --internet --ports 443 --resolver 9.9.9.9 > /dev/null
	v=$(rules show -e container --json | jq .version)
	exits 0 run_in -- true
	exits 0 cloop runs list -p "$P" --json
	id=$(jq -sr 'flatten | .[0].id' <<< "$output")
	same "$(cloop runs show "$id" --json | jq -c '.egress.levels | map([.level, .version])')" \
		"[[\"executor container\",null],[\"rules of executor container\",$v]]"
	same "$(jq -c .egress_rules "$P/.cloop/sandbox-run.json")" "[{\"level\":\"rules of executor container\",\"version\":$v}]"
	has "$(cloop runs journal -p "$P")" "egress is narrowed by the rules of executor container, version $v"
}

@test "what was refused is said with its level" {
	rules set -e container --internet --ports 443 --deny 93.184.216.34/32 > /dev/null
	exits 0 run_in -- sh -c "$try try 93.184.216.34 443"
	id=$(cloop runs list -p "$P" --json | jq -sr 'flatten | .[0].id')
	for ((i = 0; i < 600; i++)); do [ -n "$(cloop egress blocked --run "$id" --json)" ] && break; sleep 0.1; done
	exits 0 cloop egress blocked --run "$id"
	has "$output" "93.184.216.34:443/tcp, in rules of executor container's deny list (93.184.216.34/32)"
}

@test "rules of the device and of the virtual executor are enforced in a run" {
	rules set -e container --level device --internet --cidrs 10.4.5.0/24 --ports 443 > /dev/null
	reached 93.184.216.34:443 10.4.5.6:443
	rules set -e container --level virtual --cidrs 10.4.5.6/32 --ports 443 > /dev/null
	reached 10.4.5.6:443
	has "$(cloop runs show --json "$(cloop runs list -p "$P" --json | jq -sr 'flatten | .[0].id')")" 'rules of virtual executor container'
	# Without a filter nothing would enforce them, whatever level they are of.
	hub_config '    network: bridge'
	exits 125 run_in -- true
	has "$stderr" "the stored rules of device container, version"
	has "$stderr" "cloop egress rules clear --executor container --level device"
	hub_config_public
	rules clear -e container --level device > /dev/null
	rules clear -e container --level virtual > /dev/null
}

@test "a run whose rules cannot be enforced does not start" {
	# No filter on the executor.
	rules set -p "$P" --internet --ports 443 > /dev/null
	hub_config '    network: bridge'
	exits 125 run_in -- true
	has "$stderr" "executor 'container' has no egress filter, so that the stored rules of project $P, version"
	has "$stderr" "cloop egress rules clear --project $P"
	# The engine's own network, which nothing of ours filters.
	hub_config '    network: somebodys'
	exits 125 run_in -- true
	has "$stderr" "would not be enforced"
	# Without a network there is nothing to enforce.
	hub_config '    network: none'
	exits 0 run_in -- true
	hub_config_public
	# A row that somebody altered, and one that says what nobody can read.
	sqlite3 -cmd ".timeout 10000" "$HUB/.cloop/state.db" "UPDATE egress_rules SET rules = '{}' WHERE level = 'project' AND rules IS NOT NULL"
	exits 125 run_in -- true
	has "$stderr" "are not as they were written"
	rules set -p "$P" --internet --ports 443 > /dev/null 2>&1
	reached 93.184.216.34:443
	sqlite3 -cmd ".timeout 10000" "$HUB/.cloop/state.db" "DROP TABLE egress_rules"
	exits 125 run_in -- true
	has "$stderr" "egress_rules"
	sqlite3 "$HUB/.cloop/state.db" "$(grep -v '^--' "$SRC"/share/schema/*-egress-rules.sql)"
	# A table without the rules that were set is no table without rules.
	exits 125 run_in -- true
	has "$stderr" "the stored egress rules of device 'container' are gone from the state file"
	exits 0 cloop hub audit list --json
	same "$(jq -sc 'flatten | map(select(.action == "egress.rules_altered" and .project == $p) | .detail.decision) | unique' --arg p "$P" <<< "$output")" '["deny"]'
	has "$(cloop runs journal -p "$P" --json 2>&1)" rules_altered
	rules clear -e container > /dev/null 2>&1
	rules clear -e container --level device > /dev/null 2>&1
	rules clear -e container --level virtual > /dev/null 2>&1
	rules clear -p "$P" > /dev/null 2>&1
	exits 0 run_in -- true
}

@test "afterwards there is nothing left" {
	same "$(leftovers)" ''
	same "$(host nft list tables)" ''
}
