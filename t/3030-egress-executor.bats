#!/usr/bin/env bats
# cloop egress firewall --executor: what the hub's configuration puts before an executor's sandboxes.
load lib/common

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs CLOOP_DIR=$D/hub
	cloop hub bootstrap > /dev/null
	conf=$D/hub/.cloop/config.yaml
	cat > "$conf" <<- 'CONFIG'
		executors:
		  container:
		    - id: build-box
		      enabled: true
		      network: bridge
		      egress_filter:
		        enabled: true
		        allow_public_internet: true
		        allow_cidrs: [10.8.0.0/24]
		        allow_ports: [443, 80]
		        resolvers: ["9.9.9.9"]
		        broker: 10.7.0.2:8118
		        block_special_use: true
		        silent: true
		    - id: bench
		      network: bridge
		      egress_filter: {enabled: true, allow_cidrs: [10.9.0.0/24], allow_ports: [22]}
		    - id: alone
		      enabled: true
		    - id: open
		      enabled: true
		      network: bridge
		    - id: broken
		      enabled: true
		      network: bridge
		      egress_filter: {enabled: true, allow_cidrs: [10.9.0.0/24]}
		    - id: internal
		      enabled: true
		      network: bridge
		      egress_filter: {enabled: true, internal: true}
	CONFIG
}
fw() { cloop egress firewall "$@"; }
# What build-box says, by flags.
SAME=(--internet --cidrs 10.8.0.0/24 --ports 443,80 --resolver 9.9.9.9 --broker 10.7.0.2:8118
	--block-special-use --silent)

@test "every format is that of the same policy by flags" {
	local f
	for f in rules nft networkpolicy json; do
		exits 0 fw "${SAME[@]}" --format $f
		local want=${output/from flags/from executor build-box}
		exits 0 fw --executor build-box --format $f
		same "$output" "$want"
		has "$stderr" "executors.container[4].egress_filter.allow_ports"
	done
	exits 0 fw "${SAME[@]}" --format nft-bridge --bridge csbx-0123456789
	local want=$output
	exits 0 fw -e build-box --format nft-bridge --bridge csbx-0123456789
	same "$output" "$want"
	exits 0 fw -e build-box --json
	same "$(jq -c '.mode, .silent' <<< "$output" | xargs)" "filtered true"
}

@test "--check and --check-file" {
	exits 0 fw -e build-box --check 10.8.0.9:443 --check 10.7.0.2:8118 --check 9.9.9.9:53/udp
	same "$output" 'ALLOW 10.8.0.9 10.8.0.9:443/tcp — granted CIDR (waives private (RFC1918/ULA))
ALLOW 10.7.0.2 10.7.0.2:8118/tcp — egress broker
ALLOW 9.9.9.9 9.9.9.9:53/udp — DNS resolver'
	exits 1 fw -e build-box --check 192.0.2.1:443
	same "$output" 'DROP  192.0.2.1 192.0.2.1:443/tcp — documentation, TEST-NET-1 (RFC 5737)'
	exits 1 fw -e build-box --json --check-file - <<< $'1.1.1.1:443\n1.1.1.1:22'
	same "$(jq -r '.verdict + " " + .level' <<< "$output")" 'allow executor build-box
drop executor build-box'
	exits 1 fw -e internal --check 1.1.1.1:443
	same "$output" 'DROP  1.1.1.1 1.1.1.1:443/tcp — default deny'
}

@test "the hub is found as every command finds it" {
	exits 0 env -u CLOOP_DIR cloop -C "$D/hub" egress firewall -e build-box --check 1.1.1.1:443
	exits 78 env -u CLOOP_DIR HOME="$D" XDG_STATE_HOME="$D" cloop -C "$D/none" egress firewall -e build-box
	same "$output" ""
}

@test "an executor that is off is answered for, and that is said" {
	exits 0 fw -e bench --check 10.9.0.1:22
	has "$stderr" "warning: the executor 'bench' is off (executors.container[1].enabled)"
}

@test "no filter, no executor, an executor out of service: never status 1, which is DROP" {
	exits 78 fw -e open --check 10.0.0.1:80
	has "$stderr" "'open' has no egress filter: its sandboxes reach whatever its network reaches"
	has "$stderr" "fix: set executors.container[3].egress_filter.enabled: true, then"
	exits 78 fw -e alone --check 10.0.0.1:80
	has "$stderr" "have no network (network: none)"
	has "$stderr" "egress_filter.enabled: true and network: bridge"
	exits 78 fw -e broken --check 10.0.0.1:80
	has "$stderr" "is out of service: executors.container[4].egress_filter.allow_ports"
	has "$stderr" "fix: name the ports"
	same "$output" ""
}

@test "a prefix or a slip of an id names what was meant" {
	local id
	for id in build build-b buld-box Build-box; do
		exits 65 fw --executor "$id" --check 10.0.0.1:80
		has "$stderr" "$conf configures no executor '$id'"
		has "$stderr" "fix: did you mean 'build-box'?"
	done
	exits 65 fw --executor b
	has "$stderr" "fix: there are: build-box, bench, alone, open, broken, internal"
	exits 65 fw --executor ''
	has "$stderr" "fix: there are: build-box"
	mkdir "$D/p"
	exits 125 cloop run -p "$D/p" -e build -- true
	has "$stderr" "fix: did you mean 'build-box'?"
}

@test "whatever else would make a policy is refused by its name" {
	local o
	for o in --internet --cidrs=10.0.0.0/8 --deny=10.0.0.0/8 --ports=1 --all-ports --resolver=1.1.1.1 \
		--broker=1.1.1.1:1 --host=a --block-special-use --silent; do
		exits 64 fw --executor build-box $o
		has "$stderr" "--executor and ${o%%=*} cannot go together: the configuration is the whole"
	done
	exits 64 fw --executor build-box --policy x
	has "$stderr" "--policy and --executor cannot go together"
	exits 64 fw --from-spec x --executor build-box
	has "$stderr" "--from-spec and --executor cannot go together"
	exits 64 fw --policy x --from-spec y
	has "$stderr" "--policy and --from-spec cannot go together"
}

@test "a run is confined by the same words" {
	# The Spec that a run would hand to its driver has the filter that is answered for here.
	mkdir "$D/p"
	run --separate-stderr cloop run -p "$D/p" --trace-steps -e build-box -- true
	has "$stderr" '"allow_cidrs":["10.8.0.0/24"]'
	local auth
	auth=$(grep -o '{"allow_cidrs".*}' <<< "$stderr" | head -n 1 | sed "s/'.*//")
	exits 0 fw --policy - --format json <<< "$auth"
	local want=$output
	exits 0 fw -e build-box --format json
	same "$output" "$want"
}
