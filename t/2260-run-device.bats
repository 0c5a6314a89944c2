#!/usr/bin/env bats
# Devices of the host in a sandbox: which, with what access, and which never.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell

load lib/common
load lib/engine
load lib/hub

device_config() {
	hub_config "$1"
	printf 'secrets:\n  key_file: %s\n' "$HUB/cloop-secret-key" >> "$HUB/.cloop/config.yaml"
}

# node NAME TYPE MAJOR MINOR OWNER MODE : a node of this suite's, /dev/$D-NAME.
node() {
	rm -f "/dev/$D-$1" &&
		mknod "/dev/$D-$1" "$2" "$3" "$4" &&
		chown "$5" "/dev/$D-$1" && chmod "$6" "/dev/$D-$1"
}

setup_file() {
	need root podman nft ip jq sqlite3
	hub_up
	device_config '    network: none'
	D=clt-${T##*.}
	export D
	node rw c 1 5 0:0 666 || skip "no device nodes can be made here"
	node ro c 1 8 0:0 666
	node group c 1 9 0:20 660
	node mine c 1 5 1000:0 600
	node shut c 1 5 0:0 600
	node mem c 1 1 0:0 666
	node disk b 254 0 0:0 666
	mkdir "/dev/$D-by-id"
	ln -s "../$D-rw" "/dev/$D-by-id/usb-Made_Serial_AH00MADE-if00"
	ln -s /dev/vda "/dev/$D-link"
	ln -s /etc/passwd "/dev/$D-out"
	touch "/dev/$D-file"
	cloop secret mint bench --kind host_device > /dev/null <<-E
		# rack 3, bench A
		rw=/dev/$D-rw:/dev/accel0
		ro=/dev/$D-ro:r
		null=/dev/null
		by-id=/dev/$D-by-id/usb-Made_Serial_AH00MADE-if00:/dev/serial
		group=/dev/$D-group
		mine=/dev/$D-mine
		shut=/dev/$D-shut
		mem=/dev/$D-mem
		disk=/dev/$D-disk
		link=/dev/$D-link
		out=/dev/$D-out
		file=/dev/$D-file
		gone=/dev/$D-gone
		pts=/dev/$D-rw:/dev/pts/7
		zero=/dev/$D-ro:/dev/zero
		mknod=/dev/$D-rw:/dev/made:rwm
	E
}
teardown_file() {
	[ -n "${D:-}" ] && rm -rf "/dev/$D-"*
	hub_down
}
setup() {
	device_config '    network: none'
	rm -rf "$P/.cloop" "$P"/*
}
teardown() {
	# A run that a failed test leaves would keep the suite's descriptors.
	touch "$P/go"
	cloop secret grants --json 2> /dev/null | jq -r .id | xargs -rn 1 cloop secret revoke > /dev/null
}

# opens NAMES [ARG...] : the project holds these devices; prints the grant.
opens() { cloop secret grant bench --to "project:$P" --devices "$1" "${@:2}" --json | jq -r .id; }
spec() { mkdir -p "$P/.cloop" && printf '%s\n' "$1" > "$P/.cloop/sandbox.yaml"; }
row() { sqlite3 -readonly "$HUB/.cloop/state.db" "$1"; }
ended() { [ "$(cloop runs show --json "$1" | jq -r .state)" = finished ]; }
live() { cloop secret leases --json; }
# all_gone : nothing of a run is left, of its lease either.
all_gone() {
	same "$(leftovers)" ''
	same "$(grep -F " $T/run" /proc/self/mounts)" ''
	same "$(row "select count(*) from lease where state = 'live'")" 0
}

@test "what is granted stands at its target with the granted access, by the host's numbers" {
	opens rw,ro,null --writable > /dev/null
	exits 0 run_in -- sh -c 'echo "$CLOOP_HOST_DEVICES"
		stat -c "%n %A %u:%g %t:%T" /dev/accel0 /dev/*-ro
		head -c 2 /dev/accel0 | od -An -tx1
		echo x > /dev/accel0 && echo written
		head -c 1 /dev/*-ro | wc -c
		echo x > /dev/*-ro || echo "not written"
		chmod 666 /dev/*-ro || echo "not changed"
		mknod /tmp/n c 1 5 || echo "not made"
		env | grep -c "/dev/" || true'
	same "$output" "null,ro,rw
/dev/accel0 crw-rw-rw- 0:0 1:5
/dev/$D-ro cr--r--r-- 0:0 1:8
 00 00
written
1
not written
not changed
not made
0"
	all_gone
}

@test "without --writable all of it is read-only, also for who owns the node" {
	opens rw,mine > /dev/null
	exits 0 run_in -- sh -c 'stat -c "%n %a" /dev/accel0 /dev/*-mine; head -c 1 /dev/*-mine | wc -c
		echo x > /dev/accel0 || echo "not written"; chmod u+w /dev/*-mine || echo "not changed"; echo x > /dev/*-mine || echo "not written"'
	same "$output" "/dev/accel0 444
/dev/$D-mine 40
1
not written
not changed
not written"
	all_gone
}

@test "a link to a node, as udev makes them, is followed; the engine sees its names" {
	opens by-id,mknod --writable > /dev/null
	id=$(run_in --detach -- sh -c 'stat -c "%n %t:%T" /dev/serial /dev/made; while [ ! -e go ]; do sleep 0.1; done')
	until_ok says "$id" '/dev/made 1:5'
	c=$(row "select container from handle where run_id = '$id'")
	same "$(podman inspect "$c" | jq -r '.[0].Config.Labels["cloop.devices"]')" by-id,mknod
	lacks "$(podman inspect "$c" | jq -r '.[0].HostConfig.Devices // []')" "$D"
	# Who has it, and how.
	has "$(cloop secret leases)" bench
	same "$(live | jq -r '.. | .held_as? // empty')" devices
	has "$(cloop secret blast bench)" "$id"
	touch "$P/go"
	until_ok ended "$id"
	all_gone
}

@test "a group counts that the project's owner has on this host, and root's never" {
	opens group --writable > /dev/null
	exits 125 run_in -- true
	has "$stderr" "device 'group' of 'bench'"
	has "$stderr" "is 0:20 with mode 0660, and the sandbox's user 1000 could not open it"
	grep -v '^[^:]*:[^:]*:1000:' /etc/passwd > "$T/passwd"
	exits 125 unshare -m sh -c "mount --bind '$T/passwd' /etc/passwd && exec nsenter --net=/run/netns/$NSNAME -- cloop run -p '$P' -- true" < /dev/null
	has "$stderr" "fix: chown 1000 /dev/$D-group"
	echo 'cloop-bench:x:1000:1000::/nonexistent:/bin/false' >> "$T/passwd"
	exits 125 unshare -m sh -c "mount --bind '$T/passwd' /etc/passwd && exec nsenter --net=/run/netns/$NSNAME -- cloop run -p '$P' -- true" < /dev/null
	has "$stderr" "fix: usermod -aG $(getent group 20 | cut -d: -f1) cloop-bench"
	# An account of that number with the group: in a mount namespace, so that it is only ours.
	sed 's/^\([^:]*:[^:]*:20:\).*/\1cloop-bench/' /etc/group > "$T/group"
	exits 0 unshare -m sh -c "mount --bind '$T/passwd' /etc/passwd && mount --bind '$T/group' /etc/group &&
		exec nsenter --net=/run/netns/$NSNAME -- cloop run -p '$P' -- sh -c 'id -G; echo x > /dev/$D-group && echo written'" < /dev/null
	same "$output" $'1000 20\nwritten'
	all_gone
	cloop secret revoke "$(cloop secret grants --json | jq -r .id)" > /dev/null
	opens shut --writable > /dev/null
	exits 125 run_in -- true
	has "$stderr" "fix: chown 1000 /dev/$D-shut"
	all_gone
}

@test "the project's file picks by name, and can only take away" {
	opens rw,ro --writable > /dev/null
	spec 'capabilities: {devices: [ro]}'
	exits 0 run_in -- sh -c 'echo "$CLOOP_HOST_DEVICES"; ls /dev/accel0 2>&1; ls /dev/*-ro'
	same "$output" "ro
ls: /dev/accel0: No such file or directory
/dev/$D-ro"
	spec 'capabilities: {devices: []}'
	exits 0 run_in -- sh -c 'echo "${CLOOP_HOST_DEVICES-none}"; ls /dev | grep -c "accel0\|-ro" || true'
	same "$output" $'none\n0'
	spec 'capabilities: {devices: [ro, mem]}'
	exits 125 run_in -- touch /workspace/ran
	has "$stderr" "capabilities.devices in .cloop/sandbox.yaml names 'mem', and no host_device grant lends it"
	has "$stderr" "fix: take 'mem' out, or: cloop secret grant bench --to project:$P --devices mem"
	[ ! -e "$P/ran" ]
	all_gone
}

@test "a name that no grant has: the one that is refused says why" {
	spec 'capabilities: {devices: [nothing]}'
	exits 125 run_in -- true
	has "$stderr" 'and the project holds no host_device grant'
	g=$(opens rw,ro)
	sqlite3 "$HUB/.cloop/state.db" "update \"grant\" set constraints = json_set(constraints, '\$.writable', json('true')) where id = '$g'"
	spec 'capabilities: {devices: [rw]}'
	exits 125 run_in -- true
	has "$stderr" 'bench is not delivered'
	has "$stderr" 'not signed by this hub'
	all_gone
}

# never DEVICE TEXT... : a grant of it starts nothing.
never() {
	local g
	g=$(opens "$1" --writable)
	exits 125 run_in -- touch /workspace/ran
	has "$stderr" "device '$1' of 'bench' ($g)"
	for t in "${@:2}"; do has "$stderr" "$t"; done
	cloop secret revoke "$g" > /dev/null
	[ ! -e "$P/ran" ]
}

@test "what a node is counts, and not what it is called" {
	never mem "is character device 1:1" "memory" "fix: take it out of the inventory of 'bench'"
	never disk "is block device 254:0" "whole disk"
	[ ! -e /dev/vda ] || never link "whole disk"
	never out "is no device node" "fix: open a file or a directory of the host as a local_repo"
	never file "is no device node"
	never gone "does not exist" "fix: plug it in, or correct the inventory of 'bench'"
	never pts "cannot be at '/dev/pts/7' in a sandbox" "fix: give it another target"
	never zero "is a device that every sandbox has"
	all_gone
}

# A disk of this suite's own with one partition; prints the partition's numbers.
parted() {
	local l
	python3 -c 'import struct, sys
sys.stdout.buffer.write(b"\0" * 446 + struct.pack("<B3sB3sII", 0, b"\0\2\0", 0x83, b"\0\0\0", 1, 2000) + b"\0" * 48 + b"\x55\xaa" + b"p" * (1 << 20))' > "$T/disk"
	l=$(losetup -fP --show "$T/disk") || return 1
	echo "${l#/dev/}" > "$T/loop"
	cat "/sys/class/block/${l#/dev/}/${l#/dev/}p1/dev"
}

@test "a partition may be granted" {
	local p
	need python3 losetup
	p=$(parted) || p=
	if [ "$p" ]; then
		node disk b "${p%:*}" "${p#*:}" 1000:1000 600
		g=$(opens disk)
		exits 0 run_in -- sh -c 'stat -c "%F %a" /dev/*-disk; head -c 3 /dev/*-disk'
		same "$output" $'block special file 40\nppp'
		# The disk that it is a part of is none.
		node disk b "$(($(cut -d : -f 1 "/sys/class/block/$(cat "$T/loop")/dev")))" "$(($(cut -d : -f 2 "/sys/class/block/$(cat "$T/loop")/dev")))" 1000:1000 600
		exits 125 run_in -- true
		has "$stderr" 'whole disk'
	fi
	[ ! -e "$T/loop" ] || losetup -d "/dev/$(cat "$T/loop")"
	node disk b 254 0 0:0 666
	[ "$p" ] || skip "this kernel shows no partitions of a loop device"
	all_gone
}

@test "executors that pass no device in refuse the run by name" {
	g=$(opens rw)
	device_config '    network: none
    oci_runtime: runsc'
	exits 125 run_in -- touch /workspace/ran
	has "$stderr" "executor 'container' cannot give a sandbox devices of its host (gVisor serves /dev from its own kernel)"
	has "$stderr" "host_device 'bench' ($g)"
	has "$stderr" 'fix: bind the project to a container executor under runc or crun'
	spec 'capabilities: {devices: [rw]}'
	exits 125 run_in -- touch /workspace/ran
	has "$stderr" 'cannot pass a device into a sandbox'
	[ ! -e "$P/ran" ]
	all_gone
}

@test "revoked, it stays with the workload until that ends, and no later run gets it" {
	g=$(opens rw)
	id=$(run_in --detach -- sh -c 'echo up; while [ ! -e go ]; do sleep 0.1; done; head -c 1 /dev/accel0 | wc -c')
	until_ok says "$id" up
	# It says so as soon as the supervisor has, and not after all of --wait.
	exits 1 host timeout 100 cloop secret revoke --wait 10m "$g"
	same "$(sed -E 's/hub-[0-9a-f]{6} on [^:]+:/hub-5d1e0c on build-01:/' <<< "$output")" "✓ revoked grant $g (bench)
  hub member hub-5d1e0c on build-01: taken back from 1 lease(s) — revoked"
	same "$stderr" "cloop-secret: warning: 'bench' stays in the sandbox of $id until that run ends (devices); to end it now: cloop runs stop $id"
	has "$(cloop runs journal "$id")" 'stays until the run ends'
	same "$(row "select count(*) from audit where action = 'lease.revoke_acked' and detail like '%$g%'")" 1
	exits 0 cloop secret holders "$g"
	same "$output" "1 running workload(s) hold $g (bench), 0 in their environment
  $id on container, project $P: devices; revoked, stays until the run ends"
	exits 0 cloop secret blast bench
	has "$output" 'held by 1 workload(s)'
	exits 1 host timeout 100 cloop secret revoke --json "$g"
	same "$(jq -c '[.state, .was_live, .holders[0].stays]' <<< "$output")" '["revoked",false,true]'
	exits 0 run_in -- sh -c 'echo "${CLOOP_HOST_DEVICES-none}"; ls /dev | grep -c accel0 || true'
	same "$output" $'none\n0'
	touch "$P/go"
	until_ok ended "$id"
	same "$(cloop runs logs "$id" 2> /dev/null)" $'up\n1'
	all_gone
	same "$(row "select count(*) from lease_grant where state = 'taking'")" 0
}

@test "killing the holders of the lease ends the run at once" {
	opens rw > /dev/null
	id=$(run_in --detach -- sh -c 'trap "" TERM; echo up; while :; do sleep 0.1; done')
	until_ok says "$id" up
	exits 0 host cloop secret revoke "$(row "select id from lease where run_id = '$id'")" --action kill
	until_ok ended "$id"
	same "$(cloop runs show --json "$id" | jq -r .outcome)" killed
	all_gone
}

@test "the grant first, then the lease with kill, or the grant again with kill: the run ends" {
	for again in grant lease; do
		g=$(opens rw)
		id=$(run_in --detach -- sh -c 'trap "" TERM; echo up; while :; do sleep 0.1; done')
		until_ok says "$id" up
		exits 1 host timeout 100 cloop secret revoke "$g" --wait 10m
		what=$g
		[ $again = grant ] || what=$(row "select id from lease where run_id = '$id'")
		exits 0 host timeout 100 cloop secret revoke "$what" --action kill --wait 10m
		has "$output" 'workload terminated'
		until_ok ended "$id"
		same "$(cloop runs show --json "$id" | jq -r .outcome)" killed
		exits 1 cloop secret holders "$g"
	done
	all_gone
}

@test "SIGKILL to supervisor and workload leaves no node behind" {
	opens rw,ro > /dev/null
	id=$(run_in --detach -- sleep 600)
	h=$(cloop runs show --json "$id" | jq -r .handle_id)
	kill -KILL "$(row "select shim_pid from handle where id='$h'")"
	kill -KILL "$(cat "$T/run/w/$h/pid")"
	exits 0 host cloop sweep
	until_ok ended "$id"
	all_gone
	same "$(find "$T/run" -type c -o -type b)" ''
}

@test "names and targets that a shell, an option or a template would take as theirs are names" {
	cloop secret mint odd --kind host_device > /dev/null <<-E
		--privileged=/dev/$D-rw:/dev/--rm
		{{.}}=/dev/$D-rw:/dev/{{.Id}}
		%s%n=/dev/$D-rw:/dev/%s%n
		\$(id)=/dev/$D-rw:/dev/\$(id)
		"';&|=/dev/$D-rw:/dev/"';&|
		é,*=/dev/$D-rw:/dev/é,*
	E
	cloop secret grant odd --to "project:$P" --devices '*' --writable > /dev/null
	exits 0 run_in -- sh -c 'printf "%s\n" "$CLOOP_HOST_DEVICES"; cd /dev; stat -c "%n %t:%T" -- --rm "{{.Id}}" "%s%n" "\$(id)" "\"'"'"';&|" "é,*"; grep CapEff /proc/self/status'
	same "$output" $'"\';&|,$(id),%s%n,--privileged,{{.}},é,*
--rm 1:5
{{.Id}} 1:5
%s%n 1:5
$(id) 1:5
"\';&| 1:5
é,* 1:5
CapEff:\t0000000000000000'
	# One of them alone, by that name.
	spec 'capabilities: {devices: ["$(id)"]}'
	exits 0 run_in -- sh -c 'printf "%s\n" "$CLOOP_HOST_DEVICES"'
	same "$output" '$(id)'
	all_gone
}

@test "a target with a comma is one device, and never another path of the host's" {
	mknod "/dev/$D-x,b" c 1 5 && chmod 666 "/dev/$D-x,b"
	printf '%s\n' "a=/dev/$D-rw:/dev/a,/dev/$D-mem" "b=/dev/$D-x,b" | cloop secret mint comma --kind host_device > /dev/null
	cloop secret grant comma --to "project:$P" --devices '*' --writable > /dev/null
	exits 0 run_in -- sh -c 'find /dev -type c -name "*mem*" -o -type c -name "*,*" | sort | xargs stat -c "%n %t:%T"'
	same "$output" "/dev/a,/dev/$D-mem 1:5
/dev/$D-x,b 1:5"
	rm "/dev/$D-x,b"
	all_gone
}
