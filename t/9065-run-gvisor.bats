#!/usr/bin/env bats
# Other ways to run with podman: gVisor as the runtime, and a network of the operator's.

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip
	hub_up
}
teardown_file() { hub_down; }
setup() { rm -rf "$P/.cloop" "$P"/*; }

@test "gVisor: status and output are the workload's, and the host's /dev/null stays root's" {
	need runsc
	hub_config '    network: none
    oci_runtime: runsc'
	before=$(stat -c '%u:%g %a' /dev/null)
	run_in -- sh -c 'dmesg 2>/dev/null | head -n 3; printf "a\0b\n"; echo err >&2; exit 7' > "$T/o" 2> "$T/e" && rc=0 || rc=$?
	[ "$rc" = 7 ] || { cat "$T/o" "$T/e"; false; }
	printf 'a\0b\n' | cmp - <(tail -c 4 "$T/o")
	same "$(cat "$T/e")" err
	same "$(stat -c '%u:%g %a' /dev/null)" "$before"
	has "$before" '0:0 '
	[ "$(echo hi | host cloop run -p "$P" -- cat)" = hi ]
	same "$(leftovers)" ''
}

@test "a podman network of the operator's is used as it is when nothing filters" {
	host podman network create --disable-dns --subnet 10.77.88.0/24 clnamed > /dev/null
	hub_config '    network: clnamed'
	exits 0 run_in -- ip -4 addr show eth0
	has "$output" 10.77.88.
	same "$(leftovers)" ''
	exits 0 host podman network inspect clnamed
	host podman network rm clnamed > /dev/null
}
