#!/usr/bin/env bats
# cloop executor test: are the devices and interfaces there that grants open to runs of it?
# shellcheck disable=SC2154
load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip jq sqlite3
	hub_up
	configure
	D=clt-${T##*.}
	export D
	mknod "/dev/$D-port" c 1 5 && chmod 666 "/dev/$D-port" || skip "no device nodes can be made here"
	mknod "/dev/$D-disk" b 254 0
	ln -s /etc/passwd "/dev/$D-out"
	ip link add dut0 netns "$NSNAME" type veth peer name dut1 netns "$WORLD"
	ip link add cap0 netns "$NSNAME" type veth peer name cap1 netns "$WORLD"
	ip link add two0 netns "$NSNAME" type veth peer name far0 netns "$WORLD"
	ip link add two1 netns "$NSNAME" type veth peer name far1 netns "$WORLD"
	host ip link add sw0 type bridge
	printf 'port=/dev/%s-port\ngone=/dev/%s-gone\ndisk=/dev/%s-disk\nout=/dev/%s-out\npts=/dev/%s-port:/dev/pts/7\n' "$D" "$D" "$D" "$D" "$D" |
		cloop secret mint bench --kind host_device > /dev/null
	printf '%s\n' dut=dut0,target=eth1 capture=cap0,target=eth1 switch=sw0 up=up0 away=nowhere0 \
		first=two0,target=eth2,address=10.1.1.2/24,gateway=10.1.1.1 second=two1,target=eth3,address=10.1.2.2/24,gateway=10.1.2.1 |
		cloop secret mint wires --kind host_interface > /dev/null
	mkdir -p "$T/projects/other" && chown 1000:1000 "$T/projects/other"
}
teardown_file() {
	[ -n "${D:-}" ] && rm -f "/dev/$D-"*
	hub_down
}
setup() {
	configure
	rm -rf "$P/.cloop"
}
teardown() { cloop secret grants --json 2> /dev/null | jq -r .id | xargs -rn 1 cloop secret revoke > /dev/null; }

# Without its image the test ends with its findings, which is all that most of these look at.
configure() {
	IMAGE=localhost/nowhere:1 hub_config "    network: bridge
${1:-}
  allow_host_process: true
  local: {enabled: true}"
	[ -n "${2:-}" ] || printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
}
# opens SECRET NAMES [SUBJECT]
opens() {
	local list=--devices
	[ "$1" != wires ] || list=--interfaces
	cloop secret grant "$1" --to "${3:-project:$P}" "$list" "$2" > /dev/null
}
real() { sed -i "s|image: .*|image: $IMAGE|" "$HUB/.cloop/config.yaml"; }
# look STATUS ARG... : the findings about hardware, as "status check detail", one a line.
look() {
	exits "$1" timeout 120 nsenter --net="/run/netns/$NSNAME" cloop executor test container --json "${@:2}"
	findings=$(jq -r '.preflight.findings[] | select(.check == ("device", "interface", "hardware")) | "\(.status) \(.check) \(.detail)"' <<< "$output")
}
fix() { jq -r '[.preflight.findings[] | select(.check == ("device", "interface", "hardware")) | .fix // empty] | join("\n")' <<< "$output"; }

@test "without a grant of hardware there is nothing to say, with or without a key" {
	look 2
	same "$findings" ""
	configure "" no-key
	look 2
	same "$findings" ""
}

@test "what is there, of a kind that may be given, and free" {
	opens bench port
	opens wires dut
	real
	look 0
	has "$findings" "ok device port of bench (grant_"
	has "$findings" ", project:$P): /dev/$D-port is character device 1:5, mode 0666, 0:0"
	has "$findings" "ok interface dut of wires (grant_"
	has "$findings" "dut0 is here"
	exits 0 host cloop executor test container
	has "$output" "ok    device: port of bench"
	has "$output" "ok    smoke: exited"
}

@test "what is not there, is no device, a whole disk, where a sandbox has its own: one project's affair is a warning" {
	opens bench port,gone,disk,out,pts
	look 2
	has "$findings" "warn device gone of bench"
	has "$findings" "'/dev/$D-gone' does not exist"
	has "$(fix)" "plug it in, or correct the inventory of 'bench'"
	has "$findings" "warn device disk of bench"
	has "$findings" "whole disk"
	has "$findings" "warn device out of bench"
	has "$findings" "warn device pts of bench"
	has "$findings" "cannot be at '/dev/pts/7'"
	has "$findings" "ok device port of bench"
}

@test "with --project it is fatal, but for what the project's own file leaves out" {
	opens bench port,gone
	real
	look 2 --project "$P"
	has "$findings" "fail device gone of bench"
	same "$(jq -r '[.ok, .preflight.fatal, .smoke] | map(tostring) | join(" ")' <<< "$output")" "false true null"
	mkdir -p "$P/.cloop"
	echo 'capabilities: {devices: [port]}' > "$P/.cloop/sandbox.yaml"
	look 0 --project "$P"
	has "$findings" "warn device gone of bench"
	has "$findings" "sandbox.yaml does not select it"
	# Another project holds nothing of it.
	configure
	look 2 --project "$T/projects/other"
	same "$findings" ""
	exits 65 host cloop executor test container --project "$T/nowhere"
	has "$stderr" "(--project)"
}

@test "what every run there would be refused for is fatal: executor, label, everybody, every project" {
	for to in executor:container label:bench=a any 'project:*'; do
		configure "    labels: {bench: a}"
		opens bench gone "$to"
		look 2
		has "$findings" "fail device gone of bench"
		has "$findings" ", $to)"
		teardown
	done
	# Not for this executor: nothing to say.
	opens bench gone executor:elsewhere
	opens bench gone label:bench=b
	look 2
	same "$findings" ""
}

@test "a project that is bound elsewhere is not looked at, unless it is named" {
	opens bench gone
	cloop executor bind -p "$P" local
	look 2
	same "$findings" ""
	look 2 --project "$P"
	has "$findings" "fail device gone"
	cloop executor unbind -p "$P"
}

@test "interfaces: not there, a bridge, the way out, and two that get in each other's way" {
	opens wires switch,up,away
	look 2
	has "$findings" "warn interface switch of wires"
	has "$findings" "it is a bridge"
	has "$findings" "it carries this host's IPv4 default route"
	has "$findings" "this host has no interface of that name"
	look 2 --project "$P"
	has "$findings" "fail interface away of wires"
	teardown
	# Each alone would do.
	cloop secret grant wires --to "project:$P" --interfaces first > /dev/null
	cloop secret grant wires --to executor:container --interfaces second > /dev/null
	look 2 --project "$P"
	has "$findings" "ok interface first"
	has "$findings" "ok interface second"
	has "$findings" "fail interface 2 of them in one run: "
	has "$findings" "sets the default route already"
	mkdir -p "$P/.cloop"
	printf 'capabilities: {egress: public, interfaces: [second]}\n' > "$P/.cloop/sandbox.yaml"
	look 2 --project "$P"
	teardown
	# What would have the same name inside is not lent to begin with.
	cloop secret grant wires --to "project:$P" --interfaces dut > /dev/null
	cloop secret grant wires --to executor:container --interfaces capture > /dev/null
	look 2 --project "$P"
	has "$findings" "is not delivered: "
}

@test "an interface that another run has is no fault of the executor's" {
	opens wires dut
	real
	exits 0 host cloop run -p "$P" -e container -d -- sleep 300
	run_id=$output
	until_ok gone_from_host dut0
	configure
	look 2 --project "$P"
	has "$findings" "warn interface dut of wires"
	has "$findings" "workload c-"
	cloop runs stop "$run_id" > /dev/null
	until_ok back_on_host dut0
}
gone_from_host() { ! host ip link show dev "$1" > /dev/null 2>&1; }
back_on_host() { host ip link show dev "$1" > /dev/null 2>&1; }

@test "without the key: a warning that says so and how to give it, never a silent pass" {
	opens bench port,gone
	configure "" no-key
	look 2
	has "$findings" "warn hardware whether the devices and interfaces of 1 grant are here cannot be known"
	has "$(fix)" "CLOOP_SECRET_KEY_FILE"
	has "$(fix)" "cloop executor test container"
	# By file and by value; the value is in no child's environment.
	CLOOP_SECRET_KEY_FILE=$HUB/cloop-secret-key look 2
	has "$findings" "warn device gone"
	CLOOP_SECRET_KEY=$(cat "$HUB/cloop-secret-key") look 2
	has "$findings" "warn device gone"
	# Another key opens nothing, and says so.
	CLOOP_SECRET_KEY=$(head -c 32 /dev/zero | base64 | tr '+/' '-_' | tr -d =) look 2
	has "$findings" "warn hardware"
}

@test "an executor that gives a sandbox no hardware says that its runs are refused" {
	opens bench port executor:local
	run --separate-stderr cloop executor test local --json
	has "$(jq -r '.preflight.findings[] | select(.check == "device") | .status + " " + .detail' <<< "$output")" "warn 'local' gives a sandbox none of its host's devices: runs there that are granted some (1 grant) are refused"
	# Whether the runtime is here or not, its name says what it is.
	configure "    oci_runtime: runsc"
	opens bench port executor:container
	run --separate-stderr host cloop executor test container --json
	has "$(jq -r '.preflight.findings[] | select(.check == "device") | .detail' <<< "$output")" "'container' gives a sandbox none of its host's devices"
}

@test "a grant that the hub did not sign is not looked into" {
	opens bench port
	sqlite3 "$HUB/.cloop/state.db" "update \"grant\" set constraints = replace(constraints, 'port', 'gone') where revoked_at = 0 or revoked_at is null"
	look 2
	has "$findings" "is not delivered: "
	lacks "$findings" "$D-gone"
}

@test "the question is the key holder's to answer, and only as it is meant" {
	exits 65 bash -c 'echo "{\"bogus\": 1}" | cloop-secret hardware --json'
	exits 65 bash -c 'echo "[" | cloop-secret hardware --json'
	exits 0 bash -c 'echo "{\"executor\": \"container\", \"projects\": []}" | cloop-secret hardware --json'
	same "$output" '{"hardware":[]}'
}

# why STATUS ARG... : what "cloop secret why" says of the grants there, on that host.
why() { exits "$1" timeout 120 nsenter --net="/run/netns/$NSNAME" cloop secret why -p "$P" -e "${@:2}"; }

@test "cloop secret why says of devices what a run is refused for, and what changes it" {
	opens bench port
	why 0 container
	has "$output" delivered
	real
	exits 0 run_in -- true
	cloop secret revoke "$(cloop secret grants --json | jq -r .id)" > /dev/null
	opens bench port,gone,disk,out,pts
	why 1 container
	has "$output" "device 'gone': '/dev/$D-gone' does not exist
      fix: plug it in, or correct the inventory of 'bench'"
	has "$output" "device 'disk': '/dev/$D-disk' is block device 254:0"
	has "$output" "device 'out': "
	has "$output" "device 'pts': '/dev/$D-port' cannot be at '/dev/pts/7' in a sandbox"
	lacks "$output" "device 'port'"
	why 1 container --json
	same "$(jq -c 'select(.delivered | not) | .reasons[] | select(.reason | contains("gone")) | [.code, .remediation]' <<< "$output")" \
		'["not_found","plug it in, or correct the inventory of '"'bench'"'"]'
	# The run says the same, and the lease that is shown comes with a warning of it.
	exits 125 run_in -- true
	has "$stderr" "device 'disk' of 'bench'"
	has "$stderr" "which is a whole disk"
	exits 0 host cloop secret lease -p "$P" -e container
	has "$output" 'delivers:    host devices: disk,gone,out,port,pts'
	has "$stderr" "a run on 'container' is refused: device 'gone': '/dev/$D-gone' does not exist; fix: plug it in"
	# What the project's own file leaves out is not looked at.
	mkdir -p "$P/.cloop"
	echo 'capabilities: {devices: [port]}' > "$P/.cloop/sandbox.yaml"
	why 0 container
	lacks "$output" 'does not exist'
	exits 0 run_in -- true
}

@test "nothing is guessed of an executor that the hub does not have, or that was not named" {
	opens bench gone
	opens wires away
	why 0 bench-01
	lacks "$output" 'does not exist'
	same "$(grep -c '    delivered' <<< "$output")" 2
	exits 0 host cloop secret why -p "$P"
	same "$(grep -c '    delivered' <<< "$output")" 2
	exits 0 host cloop secret lease -p "$P" -e bench-01
	same "$stderr" ''
}

@test "who owns the project could not open it: what is typed for it lets the run start" {
	mknod "/dev/$D-shut" c 1 5 && chmod 600 "/dev/$D-shut"
	echo "shut=/dev/$D-shut" | cloop secret mint shut --kind host_device > /dev/null
	cloop secret grant shut --to "project:$P" --devices shut --writable > /dev/null
	real
	why 1 container
	has "$output" "device 'shut': '/dev/$D-shut' is 0:0 with mode 0600, and the sandbox's user 1000 could not open it"
	exits 125 run_in -- true
	has "$stderr" "could not open it"
	bash -c "$(why 1 container; sed -n 's/^      fix: //p' <<< "$output")"
	why 0 container
	exits 0 run_in -- sh -c "echo x > /dev/$D-shut"
	# A project of root's says nothing of who opens what.
	chown 0:0 "/dev/$D-shut" "$P"
	why 0 container
	chown 1000:1000 "$P"
	cloop secret delete shut > /dev/null
}

@test "interfaces: not there, the host's own way out, or with another run" {
	opens wires away,up,dut
	why 1 container
	has "$output" "interface 'away' (nowhere0) cannot be given to this run: this host has no interface of that name"
	has "$output" "interface 'up' (up0) cannot be given to this run: it carries this host's IPv4 default route"
	lacks "$output" "'dut'"
	cloop secret grants --json | jq -r .id | xargs -rn 1 cloop secret revoke > /dev/null
	opens wires dut
	why 0 container
	real
	id=$(run_in --detach -- sh -c 'while [ ! -e go ]; do sleep 0.1; done')
	why 1 container
	has "$output" "interface 'dut' (dut0) cannot be given to this run: workload c-"
	touch "$P/go"
	exits 0 cloop runs wait "$id"
	rm "$P/go"
	until_ok sh -c "nsenter --net=/run/netns/$NSNAME cloop secret why -p '$P' -e container > /dev/null"
}

@test "an executor that can hand over no hardware, or nothing" {
	opens bench port
	opens wires dut
	configure "    oci_runtime: runsc"
	why 1 container
	has "$output" "executor 'container' cannot give a sandbox devices of its host (gVisor serves /dev from its own kernel), and 'port' is granted"
	has "$output" "executor 'container' runs sandboxes under 'runsc', which sees the network as it was when the sandbox began"
	configure
	sed -i 's/network: bridge/network: none/' "$HUB/.cloop/config.yaml"
	why 0 container
	has "$output" "runs on executor 'container' have no network, and an interface is moved into one
      fix: set executors.container.network: bridge in the hub's configuration"
	why 1 local
	same "$(grep -c "executor 'local' cannot be lent anything" <<< "$output")" 2
	# What is typed is what it says.
	bash -c "$(sed -n 's/^      fix: //p' <<< "$output" | head -n 1)" > /dev/null
	same "$(cloop project show --json "$P" 2> /dev/null | jq -r .executor_id)" container
	cloop executor unbind -p "$P" > /dev/null
}

@test "the part that looks takes only what it is meant to be asked" {
	for bad in '{}' '[' '{"secret":"s","name":"n","source":"/dev/null","target":"/dev/null","project":"/","access":"x"}'; do
		exits 65 cloop-interfaces device --json <<< "$bad"
	done
	exits 0 cloop-interfaces device --json <<< '{"secret":"s","name":"n","source":"/dev/null","target":"/dev/null","project":"/","access":"r"}'
}
