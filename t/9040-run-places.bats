#!/usr/bin/env bats
# A run works from where people start it: a chroot, a path with blanks, next to no environment,
# a home that cannot be written, without CAP_SYS_RESOURCE.

load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip unshare setpriv
	hub_up
}
teardown_file() { hub_down; }
setup() { hub_config_none; rm -rf "$P/.cloop" "$P"/*; }

# bare CMD... : with nothing in the environment but what says which hub and engine.
bare() {
	host env -i PATH="$PATH" CLOOP_DIR="$HUB" CLOOP_RUN_DIR="$CLOOP_RUN_DIR" \
		CLOOP_HUBS="$CLOOP_HUBS" CONTAINERS_CONF="$CONTAINERS_CONF" \
		CONTAINERS_STORAGE_CONF="$CONTAINERS_STORAGE_CONF" "$@" </dev/null
}

@test "without HOME, USER, TERM and a locale" {
	exits 0 bare cloop run -p "$P" -- sh -c 'echo "$HOME"; id -u'
	same "$output" $'/tmp\n1000'
	exits 0 bare cloop runs list
	has "$output" 'exited (0)'
}

@test "in a chroot: what a command needs of cloop is found" {
	mkdir "$T/root"
	exits 0 unshare -m --propagation private sh -c '
		mount --rbind / "$1" && exec chroot "$1" cloop run -p "$2" -- id -u' sh "$T/root" "$P"
	same "$output" 1000
	# podman cannot remount its store in there, says so in the journal, and leaves the record.
	podman rm -fa --time 0 > /dev/null
	rmdir "$T/root"
}

@test "from a directory with blanks, quotes and letters beyond ASCII" {
	odd="$T/it's a \"place\" ü"
	mkdir -p "$odd/build"
	cp -a "$BIN" "$odd/build/bin"
	ln -s "$SRC/share" "$odd/share"
	mkdir "$T/a project"
	chown 1000:1000 "$T/a project"
	cd "$T/a project"
	exits 0 bare "$odd/build/bin/cloop" run -- pwd
	same "$output" /workspace
	cd /
	rm -rf "$odd" "$T/a project"
}

@test "with a home that cannot be written and without CAP_SYS_RESOURCE" {
	exits 0 bare unshare -m --propagation private sh -c '
		mount --bind -o ro /root /root && mount -o remount,bind,ro /root && ! touch /root/x 2>/dev/null &&
		exec setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource env HOME=/root \
			cloop run -p "$1" -- id -u' sh "$P"
	same "$output" 1000
}

@test "nothing of all that is left" {
	same "$(leftovers)" ''
}
