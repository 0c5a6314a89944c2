#!/usr/bin/env bats
# What runs were refused: summed up at their end, kept, and read while they run.
load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip jq socat
	hub_up
	nsenter --net="/run/netns/$WORLD" socat -u TCP-LISTEN:443,fork,reuseaddr /dev/null 3>&- &
	echo $! > "$T/server"
}
teardown_file() {
	[ ! -e "$T/server" ] || kill "$(cat "$T/server")" 2>/dev/null || true
	hub_down
}
setup() { hub_config_public; }

# sends ADDR:PORT... : the shell command that tries each once, by TCP
sends() {
	local a
	for a; do printf 'nc -w 3 %s %s </dev/null 2>/dev/null; ' "${a%:*}" "${a##*:}"; done
	echo true
}
blocked() { host cloop egress blocked "$@"; }
run_id() { jq -r .run_id <<< "$1"; }

@test "a run says at its end what was refused, by which rule, and no more than a few lines" {
	hub_config '    network: bridge
    address_pool: 10.211.0.0/16
    egress_filter:
      enabled: true
      allow_public_internet: true
      allow_ports: [443]
      resolvers: ["9.9.9.9:53"]'
	exits 0 run_in -- sh -c "$(sends 10.4.5.6:443 10.4.5.6:443 93.184.216.34:80 93.184.216.34:443)"
	same "$(grep -v guardian <<< "$stderr")" "cloop-run: 3 packets to 2 destinations were refused:
cloop-run:   blocked 10.4.5.6:443/tcp, private (RFC1918/ULA), not in executor container's allow list, 2 times
cloop-run:   blocked 93.184.216.34:80/tcp, port 80 is not one executor container's allow list opens (443)"
	exits 0 run_in -- sh -c "$(sends 10.4.5.6:1 10.4.5.6:2 10.4.5.6:3 10.4.5.6:4 10.4.5.6:5)"
	has "$stderr" "5 packets to 5 destinations were refused"
	[[ $stderr =~ "and 2 more: cloop egress blocked --run "(run_[0-9a-f]{24}) ]]
	same "$(blocked --run "${BASH_REMATCH[1]}" | grep -c 'blocked 10.4.5.6:[1-5]/tcp, private')" 5
}

@test "nothing is said where nothing was refused" {
	exits 0 run_in -- sh -c "$(sends 93.184.216.34:443)"
	lacks "$stderr" refused
	exits 0 run_in --json -- true
	same "$(jq -c .blocked <<< "$stderr")" null
	same "$(blocked --run "$(run_id "$stderr")")" "nothing was blocked"
	lacks "$(cloop runs show "$(run_id "$stderr")")" blocked
}

@test "the record of a run has the sums, and each row its times, sandbox, run and rule" {
	local id before
	before=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	exits 0 run_in --json -- sh -c "$(sends 169.254.169.254:80 172.20.0.9:443 172.20.0.9:443)"
	same "$(jq -c '.blocked | [.destinations, .packets, .unrecorded]' <<< "$stderr")" "[2,3,0]"
	id=$(run_id "$stderr")
	has "$(cloop runs show "$id")" "3 packets to 2 destinations; see: cloop egress blocked --run $id"
	same "$(cloop runs show --json "$id" | jq -c .blocked.packets)" 3
	exits 0 blocked --run "$id" --json
	same "$(jq -c '[.destination, .port, .protocol, .packets, .level, .reason, .rule != null, .live, .project]' <<< "$output")" \
		"[\"169.254.169.254\",80,\"tcp\",1,\"executor container\",\"cloud metadata service (169.254.169.254)\",true,false,\"$P\"]
[\"172.20.0.9\",443,\"tcp\",2,\"executor container\",\"private (RFC1918/ULA)\",true,false,\"$P\"]"
	jq -e --arg run "$id" --arg before "$before" 'select(.run_id != $run or .executor_id != "container" or
		(.sandbox | test("^c-[0-9a-f]{12}$") | not) or (.source | test("^10\\.211\\.") | not) or
		.first_at > .last_at or .first_at < $before)' <<< "$output" && return 1
	exits 0 blocked -p "$P" --json
	[ "$(jq -r .run_id <<< "$output" | sort -u | wc -l)" -ge 2 ]
	same "$(blocked -p "$T" --json)" ""
	same "$(blocked -n 1 --json | wc -l)" 1
	exits 65 blocked --run zz
	exits 64 blocked --run "$id" -p "$P"
}

@test "while it runs the kernel is asked, and two runs on one bridge do not see each other's rows" {
	local a b i
	a=$(run_in --detach -- sh -c "$(sends 10.4.5.6:11 10.4.5.6:11); echo done; sleep 60")
	b=$(run_in --detach -- sh -c "$(sends 10.4.5.6:12); echo done; sleep 60")
	for i in "$a" "$b"; do until cloop runs logs "$i" | grep -q done; do sleep 0.1; done; done
	same "$(blocked --run "$a" --json | jq -c '[.port, .packets, .live, .run_id]')" "[11,2,true,\"$a\"]"
	same "$(blocked --run "$b" --json | jq -c '[.port, .packets, .live, .run_id]')" "[12,1,true,\"$b\"]"
	has "$(host cloop runs show "$a")" "2 packets to 1 destinations"
	[ "$(blocked --json | jq -c 'select(.live) | .port' | sort | tr '\n' ' ')" = "11 12 " ]
	cloop runs stop --grace 0s "$a" > /dev/null
	cloop runs wait "$a" > /dev/null || true
	same "$(blocked --run "$a" --json | jq -c '[.port, .packets, .live]')" "[11,2,false]"
	same "$(blocked --run "$b" --json | jq -c '[.port, .packets, .live]')" "[12,1,true]"
	cloop runs stop --grace 0s "$b" > /dev/null
	same "$(blocked --run "$b" --json | jq -c '[.port, .packets, .live]')" "[12,1,false]"
}

@test "without the privilege what is stored is shown, and what is not is said" {
	local a
	a=$(run_in --detach -- sh -c "$(sends 10.4.5.6:13); echo done; sleep 60")
	until cloop runs logs "$a" | grep -q done; do sleep 0.1; done
	exits 0 host setpriv --bounding-set -net_admin --inh-caps -net_admin cloop egress blocked -n 0
	has "$stderr" "what live runs were refused is not shown"
	has "$output" "blocked 172.20.0.9:443/tcp"
	cloop runs stop --grace 0s "$a" > /dev/null
}

@test "a run whose supervisor was killed keeps its rows, whether it is taken over or has ended" {
	local a b
	a=$(run_in --detach -- sh -c "$(sends 10.4.5.6:14); echo done; sleep 60")
	b=$(run_in --detach -- sh -c "$(sends 10.4.5.6:15); echo done; sleep 60")
	for i in "$a" "$b"; do until cloop runs logs "$i" | grep -q done; do sleep 0.1; done; done
	kill_ours -f "cloop-sweep -C $HUB"
	kill_ours -x cloop-shim
	kill -KILL "$(cat "$T"/run/w/"$(cloop runs show --json "$b" | jq -r .handle_id)"/pid)"
	host cloop sweep > /dev/null
	cloop runs wait "$b" > /dev/null || true
	same "$(blocked --run "$b" --json | jq -c '[.port, .live]')" "[15,false]"
	same "$(blocked --run "$a" --json | jq -c '[.port, .live]')" "[14,true]"
	cloop runs stop --grace 0s "$a" > /dev/null
	same "$(blocked --run "$a" --json | jq -c '[.port, .live]')" "[14,false]"
}

@test "what found no room is said" {
	exits 0 run_in --json -- sh -c 'for p in $(seq 1 4100); do nc -w 3 10.4.5.6 $p </dev/null; done 2>/dev/null; true'
	local id
	id=$(run_id "$stderr")
	same "$(jq -c '.blocked | [.destinations, .unrecorded > 0]' <<< "$stderr")" "[4096,true]"
	exits 0 blocked --run "$id" -n 5
	has "$stderr" "995 older rows are not shown"
	has "$stderr" "3096 older destinations of this run are not kept"
	has "$stderr" "the record was full:"
}

@test "a destination that is last tried long ago is forgotten" {
	sqlite3 -cmd ".timeout 10000" "$HUB/.cloop/state.db" "UPDATE blocked SET last_at = 1000, first_at = 1000"
	[[ $(host cloop sweep) =~ forgot\ [0-9]+\ blocked\ destinations ]]
	same "$(blocked -n 0)" "nothing was blocked"
}
