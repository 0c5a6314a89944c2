#!/usr/bin/env bats
# podman without root: what cannot be promised there is refused, each with its reason (DECISIONS C4).

load lib/common

# The first user that no account has.
: "${U:=$((61000 + $$ % 4000))}"
export U

setup_file() {
	need root podman busybox setpriv jq
	R=$(mktemp -d /tmp/clrl.XXXXXX)
	# What is lent stands in memory alone.
	X=$(mktemp -d /dev/shm/clrl.XXXXXX)
	export R X
	chmod 755 "$R"
	mkdir -p "$R/home" "$R/own/build" "$R/app"
	cp -r "$BIN" "$R/own/build/bin" && cp -r "$SRC/share" "$R/own/share" && chmod -R a+rX "$R/own"
	printf '[storage]\ndriver = "vfs"\nrunroot = "%s/run"\nrootless_storage_path = "%s/graph"\n[storage.options]\nignore_chown_errors = "true"\n[storage.options.vfs]\nignore_chown_errors = "true"\n' \
		"$R/home" "$R/home" > "$R/home/storage.conf"
	printf '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nlock_type = "file"\nruntime = "runc"\ntmp_dir = "%s/libpod"\n' \
		"$R/home" > "$R/home/containers.conf"
	mkdir -p "$R/root/bin" "$R/root/tmp"
	cp "$(command -v busybox)" "$R/root/bin/busybox"
	chmod 1777 "$R/root/tmp"
	tar -C "$R/root" -cf "$R/bb.tar" .
	chown -R "$U:$U" "$R/home" "$R/app" "$X"
	user podman import -q "$R/bb.tar" localhost/bb:1 > /dev/null 2>&1 || skip "podman does not run without root here"
	user cloop hub bootstrap > /dev/null
	cat > "$R/home/hub/.cloop/config.yaml" <<-Y
	executors:
	  container:
	    - {id: none, enabled: true, runtime: podman, image: "localhost/bb:1", network: none}
	    - {id: open, enabled: true, runtime: podman, image: "localhost/bb:1", network: bridge}
	    - {id: filtered, enabled: true, runtime: podman, image: "localhost/bb:1", network: bridge,
	       egress_filter: {enabled: true, allow_public_internet: true, allow_ports: [443], resolvers: ["9.9.9.9:53"]}}
	secrets: {key_file: $R/home/hub/cloop-secret-key}
	orchestrator: {min_free_disk_mb: 1}
	Y
	echo "port=/dev/null:/dev/port0" | user cloop secret mint bench --kind host_device > /dev/null
	echo "dut=bench-sbx" | user cloop secret mint wire --kind host_interface > /dev/null
}
teardown_file() {
	[ -n "${R:-}" ] && [ -d "$R" ] || return 0
	pkill -KILL -u "$U" || true
	grep -oE " ($R|$X)[^ ]*" /proc/self/mounts | sort -r | xargs -r umount -l 2> /dev/null || true
	rm -rf "$R" "$X"
}
# user CMD... : as that user, with a podman and a hub of its own.
user() {
	cd "$R/home" && timeout 120 setpriv --reuid "$U" --regid "$U" --clear-groups --no-new-privs env -i \
		PATH="$R/own/build/bin:$PATH" HOME="$R/home" XDG_RUNTIME_DIR="$X" CLOOP_DIR="$R/home/hub" \
		CLOOP_RUN_DIR="$X/run" CLOOP_HUBS="$R/home/hubs" \
		CONTAINERS_CONF="$R/home/containers.conf" CONTAINERS_STORAGE_CONF="$R/home/storage.conf" "$@"
}
run_as() { user cloop run -p "$R/app" "$@" < /dev/null; }
setup() { rm -rf "$R/app/.cloop"; }
teardown() {
	user cloop secret grants --json | jq -r .id | while read -r g; do user cloop secret revoke "$g" > /dev/null < /dev/null; done
	[ ! -e "$R/app/ran" ]
	same "$(ls "$X/run/w" 2> /dev/null)" ''
}
spec() {
	mkdir -p "$R/app/.cloop" && printf '%s\n' "$1" > "$R/app/.cloop/sandbox.yaml"
	chown -R "$U:$U" "$R/app/.cloop"
}

@test "rootless: a filter that nobody could install is refused, not left out" {
	exits 125 run_as -e filtered -- touch /workspace/ran
	has "$stderr" "executor 'filtered' runs podman without root, where no egress filter can be installed"
	has "$stderr" "fix: run cloop as root"
	exits 125 run_as --json -e filtered -- touch /workspace/ran
	same "$(tail -n 1 <<< "$stderr" | jq -r .error.constraint)" egress_scope
	spec 'capabilities: {egress: public}'
	for x in open filtered; do
		exits 125 run_as -e $x -- touch /workspace/ran
		has "$stderr" "$x"
		has "$stderr" 'fix: run cloop as root'
	done
	exits 125 run_as --place -- touch /workspace/ran
}

@test "rootless: executor test says it before any run" {
	exits 2 user cloop executor test filtered
	has "$output" 'FAIL  egress: an egress filter cannot be installed under rootless podman'
	has "$output" 'fix: run cloop as root, or set network: none'
	has "$output" 'no workload was started'
	has "$output" 'ok    rootless: podman runs without root'
	jq -nc --arg h "$R/home/hub" '{executor: {enabled: true, runtime: "podman", image: "localhost/bb:1", network: "bridge", egress_filter: {enabled: true, allow_public_internet: true, allow_ports: [443]}}, hub: $h}' > "$R/q"
	same "$(user cloop exec-container capabilities < "$R/q" | jq -c '[.supports_devices, .supports_interfaces, .supports_egress_scope, .filtered_egress]')" '[false,false,false,false]'
}

@test "rootless: neither a device nor an interface is given, and the grant is named" {
	g=$(user cloop secret grant bench --to "project:$R/app" --devices port --json | jq -r .id)
	exits 125 run_as -e none -- touch /workspace/ran
	has "$stderr" "executor 'none' cannot give a sandbox devices of its host (the engine runs without root)"
	has "$stderr" "host_device 'bench' ($g)"
	spec 'capabilities: {devices: [port]}'
	exits 125 run_as -e none -- touch /workspace/ran
	has "$stderr" 'cannot pass a device into a sandbox'
	rm -r "$R/app/.cloop"
	user cloop secret revoke "$g" > /dev/null
	g=$(user cloop secret grant wire --to "project:$R/app" --interfaces dut --json | jq -r .id)
	for x in none open; do
		exits 125 run_as -e $x -- touch /workspace/ran
		has "$stderr" "interface 'dut', granted to this run by 'wire' ($g)"
		has "$stderr" 'fix: '
	done
}

@test "rootless: a probe that cannot run is no evidence, and a run that wants some is refused" {
	run --separate-stderr user cloop executor probe none --json
	has "$(jq -r .verdict <<< "$output") $(jq -r .standing <<< "$output")" ' un'
	spec 'capabilities: {virtualized: true}'
	exits 125 run_as -e none -- touch /workspace/ran
	has "$stderr" none
}
