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
