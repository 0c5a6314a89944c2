# A container engine of the suite's own: its storage, its configuration, its image. Loaded
# with `load lib/engine`; call engine_up in setup_file and engine_down in teardown_file.
# shellcheck shell=bash
#
#   ENGINE_DIR                directory of all of it
#   CONTAINERS_CONF, CONTAINERS_STORAGE_CONF   exported: podman and cloop use them
#   IMAGE                     localhost/bb:1, busybox with a /tmp of mode 1777
#
# Root here may lack CAP_SYS_RESOURCE, so the engine must not raise a limit.

IMAGE=localhost/bb:1
export IMAGE

engine_conf() {
	local r
	# The runtime root must stay under 50 characters: the engine refuses a longer one.
	ENGINE_DIR=$(mktemp -d /tmp/cleng.XXXXXX)
	export ENGINE_DIR CONTAINERS_CONF=$ENGINE_DIR/containers.conf
	export CONTAINERS_STORAGE_CONF=$ENGINE_DIR/storage.conf
	mkdir -p "$ENGINE_DIR/bin"
	cat > "$CONTAINERS_STORAGE_CONF" <<-E
		[storage]
		driver = "overlay"
		runroot = "$ENGINE_DIR/run"
		graphroot = "$ENGINE_DIR/graph"
	E
	# gVisor without its own network and without KVM, and a runtime that lies about its name.
	printf '#!/bin/sh\nexec %s --network=none --platform=ptrace "$@"\n' \
		"$(command -v runsc || echo /bin/false)" > "$ENGINE_DIR/bin/runsc"
	chmod +x "$ENGINE_DIR/bin/runsc"
	r=$(command -v runc || echo /usr/sbin/runc)
	cat > "$CONTAINERS_CONF" <<-E
		[containers]
		default_ulimits = ["nofile=1024:$(ulimit -Hn)", "nproc=4096:4096"]
		[engine]
		runtime = "runc"
		cgroup_manager = "cgroupfs"
		events_logger = "file"
		lock_type = "file"
		tmp_dir = "$ENGINE_DIR/libpod"
		static_dir = "$ENGINE_DIR/graph/libpod"
		volume_path = "$ENGINE_DIR/graph/volumes"
		[network]
		network_backend = "netavark"
		network_config_dir = "$ENGINE_DIR/networks"
		[engine.runtimes]
		runc = ["$r"]
		runsc = ["$ENGINE_DIR/bin/runsc"]
		kata = ["$r"]
	E
}

# engine_rootfs DIR : a root file system of busybox alone.
engine_rootfs() {
	local a bb
	bb=$(command -v busybox) || return 1
	mkdir -p "$1"/{bin,dev,etc,proc,root,sys,tmp,var/tmp,run}
	cp "$bb" "$1/bin/busybox"
	for a in $("$bb" --list); do [ "$a" = busybox ] || ln -sf busybox "$1/bin/$a"; done
	printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' > "$1/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' > "$1/etc/group"
	chmod 1777 "$1/tmp" "$1/var/tmp"
}

# engine_image NAME [CHANGE...] : the busybox image with Dockerfile-like changes.
engine_image() {
	local name=$1 c changes=()
	shift
	for c; do changes+=(--change "$c"); done
	[ -d "$ENGINE_DIR/rootfs" ] || engine_rootfs "$ENGINE_DIR/rootfs" || return 1
	tar -C "$ENGINE_DIR/rootfs" --numeric-owner --owner 0 --group 0 -c . |
		podman import -q "${changes[@]}" - "$name" > /dev/null
}

engine_up() {
	engine_conf && engine_image "$IMAGE" 'CMD ["/bin/sh"]'
}

engine_down() {
	local i pids
	[ -n "${ENGINE_DIR:-}" ] && [ -d "$ENGINE_DIR" ] || return 0
	timeout 60 podman rm -fa --time 0 > /dev/null 2>&1 || true
	engine_docker_down
	# A monitor cleans up behind its container and would make the folders again.
	for ((i = 0; i < 100; i++)); do
		pids=$(pgrep -f "(conmon|podman|runsc|runc).*$ENGINE_DIR") || break
		# shellcheck disable=SC2086 # a list
		[ "$i" != 50 ] || kill -KILL $pids 2>/dev/null || true
		sleep 0.1
	done
	grep -o " ${ENGINE_DIR}[^ ]*" /proc/self/mounts | sort -r | xargs -r umount -l 2>/dev/null || true
	rm -rf "$ENGINE_DIR"
}

# engine_docker_up [NETNS] : a docker daemon of the suite's own in a network namespace of its
# own, or in the one given (its bridge and rules must not touch the machine); exports
# DOCKER_HOST and loads IMAGE.
engine_docker_up() {
	local i
	DOCKER_NS=${1:-cleng-${ENGINE_DIR##*.}}
	mkdir -p "$ENGINE_DIR/docker"
	[ -e "$ENGINE_DIR/daemon.json" ] || echo "{}" > "$ENGINE_DIR/daemon.json"
	if [ -z "${1:-}" ]; then ip netns add "$DOCKER_NS" && ip -n "$DOCKER_NS" link set lo up; fi
	export DOCKER_NS DOCKER_HOST=unix://$ENGINE_DIR/docker.sock
	nsenter --net="/run/netns/$DOCKER_NS" dockerd --data-root "$ENGINE_DIR/docker" \
		--exec-root "$ENGINE_DIR/dx" --pidfile "$ENGINE_DIR/docker.pid" -H "$DOCKER_HOST" \
		--bip 10.99.20.1/24 --config-file "$ENGINE_DIR/daemon.json" \
		> "$ENGINE_DIR/dockerd.log" 2>&1 3>&- &
	for ((i = 0; i < 600; i++)); do
		docker info > /dev/null 2>&1 && break
		sleep 0.1
	done
	tar -C "$ENGINE_DIR/rootfs" --numeric-owner --owner 0 --group 0 -c . |
		docker import -c 'CMD ["/bin/sh"]' - "$IMAGE" > /dev/null
}

engine_docker_down() {
	local pid i
	[ -s "$ENGINE_DIR/docker.pid" ] || return 0
	pid=$(cat "$ENGINE_DIR/docker.pid")
	kill "$pid" 2>/dev/null || true
	for ((i = 0; i < 600; i++)); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	ip netns del "$DOCKER_NS" 2>/dev/null || true
}
