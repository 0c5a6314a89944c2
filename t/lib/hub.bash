# A hub with one container executor, a project, and a network namespace that stands for the
# host, so that no suite touches the machine's own interfaces or rules. Needs lib/engine.
# shellcheck shell=bash
#
#   T          directory of all of it        HUB    the hub      P    the project (uid 1000)
#   NSNAME     the "host"                    WORLD  what lies beyond its uplink
#
# hub_up in setup_file, hub_down in teardown_file.

# Every test file's load takes CLOOP_DIR away; a suite with a hub has it back.
[ -z "${HUB:-}" ] || export CLOOP_DIR=$HUB

# hub_config YAML : the executor's keys, indented as below executors.container.
hub_config() {
	cat > "$HUB/.cloop/config.yaml" <<-E
	executors:
	  container:
	    enabled: true
	    id: container
	    runtime: podman
	    image: $IMAGE
	$1
	orchestrator:
	  min_free_disk_mb: 64
	E
}

# The default: the public Internet on 443, one resolver.
hub_config_public() {
	hub_config '    network: bridge
    address_pool: 10.211.0.0/16
    egress_filter:
      enabled: true
      allow_public_internet: true
      allow_ports: [443]
      resolvers: ["9.9.9.9:53"]'
}

hub_config_none() {
	hub_config '    network: none'
}

# The host has an uplink to a world where public, private and metadata addresses answer.
hub_net_up() {
	ip netns add "$NSNAME" && ip netns add "$WORLD"
	ip -n "$NSNAME" link set lo up && ip -n "$WORLD" link set lo up
	ip link add up0 netns "$NSNAME" type veth peer name down0 netns "$WORLD"
	ip -n "$NSNAME" addr add 192.0.2.1/24 dev up0
	ip -n "$WORLD" addr add 192.0.2.2/24 dev down0
	ip -n "$NSNAME" link set up0 up && ip -n "$WORLD" link set down0 up
	ip -n "$NSNAME" route add default via 192.0.2.2
	for a in 93.184.216.34 9.9.9.9 10.4.5.6 169.254.169.254 172.20.0.9 192.168.7.7; do
		ip -n "$WORLD" addr add $a/32 dev lo
	done
}

hub_up() {
	T=$(mktemp -d /tmp/clhub.XXXXXX)
	NSNAME=clh-${T##*.} WORLD=clw-${T##*.}
	HUB=$T/hub P=$T/projects/app
	export T NSNAME WORLD HUB P
	export CLOOP_DIR=$HUB CLOOP_RUN_DIR=$T/run CLOOP_HUBS=$T/hubs
	chmod 755 "$T"
	engine_up || return 1
	hub_net_up || return 1
	cloop hub bootstrap >/dev/null || return 1
	hub_config_public
	mkdir -p "$P" && chown 1000:1000 "$P"
}

hub_down() {
	[ -n "${T:-}" ] && [ -d "$T" ] || return 0
	pkill -KILL -f "cloop-sweep -C $HUB" 2>/dev/null || true
	local h
	for h in "$T"/run/w/*; do
		[ -e "$h" ] || continue
		pkill -KILL -F "$h/pid" 2>/dev/null || true
	done
	engine_down
	ip netns del "$NSNAME" 2>/dev/null || true
	ip netns del "$WORLD" 2>/dev/null || true
	grep -o " ${T}[^ ]*" /proc/self/mounts | sort -r | xargs -r umount -l 2>/dev/null || true
	rm -rf "$T"
}

# host CMD... : runs it where the "host" network is. world CMD... : beyond the uplink.
host() { nsenter --net="/run/netns/$NSNAME" -- "$@"; }
world() { nsenter --net="/run/netns/$WORLD" -- "$@"; }
# run_in ARG... : cloop run for the project, on that host, without a stdin.
run_in() { host cloop run -p "$P" "$@" </dev/null; }

# ours PGREP-ARG... : pids of what matches and belongs to this hub or its engine: other suites
# run at the same time, and their shims look just like ours.
ours() {
	local p
	for p in $(pgrep "$@" || true); do
		{ tr '\0' '\n' < "/proc/$p/environ"; } 2>/dev/null |
			grep -qxE "(CLOOP_RUN_DIR=$T/run|CONTAINERS_CONF=$CONTAINERS_CONF)" && echo "$p"
	done
	return 0
}
# kill_ours PGREP-ARG...
kill_ours() { ours "$@" | xargs -r kill -KILL 2>/dev/null || true; }

# says RUN TEXT : its output so far has that.
says() { cloop runs logs "$1" 2> /dev/null | grep -qF -e "$2"; }

# leftovers : prints what a hub with nothing live must not have.
leftovers() {
	local i c
	# The shim ends a moment after it told the client.
	for ((i = 0; i < 600; i++)); do
		[ -z "$(ls "$T/run/w" 2>/dev/null)$(ours -x 'cloop-(shim|hold)')" ] && break
		sleep 0.1
	done
	for i in "$T"/run/w/c-* "$T"/run/netns/c-*; do
		[ -e "$i" ] && echo "$i ^ runtime folder or namespace"
	done
	podman ps -aq --external 2>/dev/null | grep . && echo "^ container"
	host nft list tables 2>/dev/null | grep -E 'cloop_(sbx|port)' && echo "^ table"
	ip -n "$NSNAME" -br link 2>/dev/null | grep -E 'csbx|cloop' && echo "^ interface"
	for i in /sys/fs/cgroup/*/cloop/c-* /sys/fs/cgroup/cloop/c-*; do
		[ -e "$i" ] || continue
		sqlite3 -readonly "$HUB/.cloop/state.db" "select 1 from handle where id='${i##*/}'" 2>/dev/null |
			grep -q 1 && echo "$i ^ cgroup"
	done
	ours -x 'cloop-(shim|hold)' | grep . && echo "^ shim, or what holds its pipes"
	return 0
}

# docker_leftovers : prints what docker, the mount table and the hub must not have when nothing is live.
docker_leftovers() {
	local i
	leftovers
	# A container in removal is listed until it is gone.
	for ((i = 0; i < 600; i++)); do
		[ -z "$(docker ps -aq)" ] && break
		sleep 0.1
	done
	docker ps -a --format '{{.Names}} {{.Status}}' | grep . && echo "^ container"
	docker network ls --format '{{.Name}}' | grep cloop && echo "^ network"
	grep -o " $T/run[^ ]*" /proc/self/mounts && echo "^ mount"
	# An orphan that nobody has reaped yet is over all the same: it has no environment.
	ours -x cloop-watch | grep . && echo "^ watcher"
	return 0
}
