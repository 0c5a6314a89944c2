#!/usr/bin/env bats
# The disk limit and the free-space floor, by real writes.

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip
	hub_up
}
teardown_file() { hub_down; }
setup() {
	hub_config_none
	rm -rf "$P"/* "$P/.cloop"
	mkdir -p "$P/.cloop"
	printf 'resources: {disk: 64m}\n' > "$P/.cloop/sandbox.yaml"
	chown -R 1000:1000 "$P"
}

@test "a workspace over its limit is refused, with both sizes" {
	dd if=/dev/zero of="$P/big" bs=1M count=73 status=none
	exits 125 run_in -- true
	[[ $stderr =~ 7[34]' MB' ]]
	has "$stderr" '64 MB'
	has "$stderr" 'resources.disk'
	has "$(cloop runs journal -p "$P")" disk_limit
}

@test "a workload that grows past its limit is stopped, and the outcome says why" {
	exits 137 run_in -- sh -c 'dd if=/dev/zero of=/workspace/big bs=1M count=100 2>/dev/null; sleep 120'
	has "$stderr" disk_limit
	has "$stderr" '64 MB'
	[ "$(cloop runs list --json | head -n 1 | jq -r .outcome)" = disk_limit ]
	# Pressing again without freeing anything is refused at the start.
	exits 125 run_in -- true
}

@test "what the run adds to .cloop counts, what was there does not" {
	dd if=/dev/zero of="$P/.cloop/old" bs=1M count=80 status=none
	exits 0 run_in -- true
	chown -R 1000:1000 "$P"
	exits 137 run_in -- sh -c 'dd if=/dev/zero of=/workspace/.cloop/new bs=1M count=100 2>/dev/null; sleep 120'
	has "$stderr" disk_limit
}

@test "a sparse file and a hard link cost what they take" {
	exits 0 run_in -- sh -c 'truncate -s 10G sparse; dd if=/dev/zero of=a bs=1M count=30 2>/dev/null; ln a b; ln a c; ln a d'
	exits 0 run_in -- true
}

@test "the floor under the free space refuses a start" {
	sed -i 's/min_free_disk_mb: 64/min_free_disk_mb: 100000000/' "$HUB/.cloop/config.yaml"
	rm -rf "$P/.cloop"
	exits 125 run_in -- true
	has "$stderr" 'below the floor'
	same "$(leftovers)" ''
}
