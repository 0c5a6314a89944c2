#!/bin/bash
# One confined workload, from nothing: an image of busybox, a hub, a project, and a program that
# reports what it can and cannot do. Everything is in a temporary place and goes with it.
#
# The demonstration itself runs in process and mount namespaces of its own: whatever kills it, its
# supervisors, its containers and its mounts end with it, and an engine's folders in /run and
# /var/lib are not touched. What lies in the host's kernel (a bridge, its rules, control groups)
# is taken back by `cloop sweep`, and a watcher in a session of its own does all of it when this
# script is killed outright.
set -eu
cd "$(dirname "$0")/.."
BIN=${BUILD_DIR:-$PWD/build}/bin
export PATH=$BIN:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C.UTF-8

# place DIR : the engine and the hub that live there.
place() {
	D=$1 ID=${1##*.}
	ID=demo-${ID,,}
	export CONTAINERS_CONF=$D/containers.conf CONTAINERS_STORAGE_CONF=$D/storage.conf
	export CLOOP_DIR=$D/hub CLOOP_HUBS=$D/hubs CLOOP_RUN_DIR=$D/run
}

# clean DIR : everything of a demonstration whose script is gone or at its end.
clean() {
	local i pid
	place "$1"
	pid=$(cat "$D/inside" 2>/dev/null || true)
	for ((i = 0; i < 100; i++)); do
		if [ -z "$pid" ] || ! kill -KILL "$pid" 2>/dev/null; then break; fi
		sleep 0.1
	done
	# A workload whose supervisor is gone is taken over by one pass, ends, and is collected by
	# the next.
	for ((i = 0; i < 50; i++)); do
		[ -e "$D/hub/.cloop/hub.env" ] || break
		cloop sweep >/dev/null 2>&1 || true
		[ -n "$(ls "$D/run/w" 2>/dev/null)" ] || break
		sleep 0.2
	done
	# The engine, asked from out here, binds its storage onto itself.
	grep -o " ${D}[^ ]*" /proc/self/mounts | sort -r | xargs -r umount -l 2>/dev/null || true
	rm -rf "$D"
}

if [ "${1:-}" = --watch ]; then
	tail -s 0.2 --pid="$3" -f /dev/null
	clean "$2"
	exit 0
elif [ "${1:-}" != --inside ]; then
	[ "$(id -u)" = 0 ] || { echo "make demo needs root: it makes a network for the sandbox" >&2; exit 1; }
	# What an earlier one left that was killed together with its watcher: nobody holds its lock.
	for d in /tmp/cldemo.*; do
		[ -O "$d" ] && [ ! -L "$d" ] && [ -e "$d/lock" ] && flock -n "$d/lock" true && clean "$d"
	done
	D=$(mktemp -d /tmp/cldemo.XXXXXX)
	chmod 755 "$D"
	exec 9> "$D/lock"
	flock 9
	setsid bash share/demo.sh --watch "$D" $$ </dev/null >/dev/null 2>&1 &
	watcher=$!
	trap 'trap "" INT TERM HUP; clean "$D"; kill $watcher 2>/dev/null || true' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	rc=0
	sh -c 'echo $$ > "$1/inside"
		exec unshare -m -p -f --mount-proc --kill-child --propagation private \
			bash share/demo.sh --inside "$1"' sh "$D" || rc=$?
	exit $rc
fi

place "$2"
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mount -t tmpfs -o mode=755 cldemo /run
mount -t tmpfs -o mode=755 cldemo /var/lib
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

# An engine of its own: storage, configuration, runtime.
printf '[storage]\ndriver = "overlay"\nrunroot = "%s/e"\ngraphroot = "%s/graph"\n' "$D" "$D" > "$D/storage.conf"
cat > "$D/containers.conf" <<E1
[containers]
default_ulimits = ["nofile=1024:$(ulimit -Hn)", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "$D/libpod"
[network]
network_backend = "netavark"
network_config_dir = "$D/networks"
E1

say "An image out of busybox-static; nothing is pulled"
mkdir -p "$D/root"/{bin,dev,etc,proc,sys,tmp,run}
chmod 1777 "$D/root/tmp"
cp /bin/busybox "$D/root/bin/busybox"
for a in $(/bin/busybox --list); do [ "$a" = busybox ] || ln -s busybox "$D/root/bin/$a"; done
tar -C "$D/root" --numeric-owner --owner 0 --group 0 -c . |
	podman import -q --change 'CMD ["/bin/sh"]' - localhost/cloop-demo:1 >/dev/null
echo "localhost/cloop-demo:1"

say "\$ cloop hub bootstrap"
cloop hub bootstrap
cat > "$D/hub/.cloop/config.yaml" <<E2
executors:
  container:
    enabled: true
    id: $ID
    runtime: podman
    image: localhost/cloop-demo:1
    network: bridge
    egress_filter:
      enabled: true
      allow_public_internet: true
      allow_ports: [443]
      resolvers: ["9.9.9.9:53"]
      block_special_use: true
E2
say "\$ cat \$CLOOP_DIR/.cloop/config.yaml"
cat "$D/hub/.cloop/config.yaml"

P=$D/projects/demo
mkdir -p "$P/.cloop"
cat > "$P/.cloop/sandbox.yaml" <<'E3'
resources:
  cpu: 1
  memory: 256m
  pids: 64
  disk: 64m
capabilities:
  egress: public
E3
cat > "$P/report.sh" <<'E4'
#!/bin/sh
echo "user            $(id -u):$(id -g) in $(pwd)"
echo "capabilities    $(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) (no new privileges: $(sed -n 's/^NoNewPrivs:[[:space:]]*//p' /proc/self/status))"
touch /etc/x 2>/dev/null && echo "root            writable" || echo "root            read-only"
echo "sees            $(ls /workspace | tr '\n' ' ')and of the host nothing else"
echo "interfaces      $(ls /sys/class/net | tr '\n' ' ')"
nc -w 5 10.20.30.40 443 </dev/null >/dev/null 2>&1 && echo "10.20.30.40:443 reached" || echo "10.20.30.40:443 refused"
nc -w 5 169.254.169.254 80 </dev/null >/dev/null 2>&1 && echo "metadata        reached" || echo "metadata        refused"
echo "now writing 100 MB into a workspace that may hold 64 MB ..."
dd if=/dev/zero of=/workspace/big bs=1M count=100 2>/dev/null
sleep 60
echo "never seen"
E4
chmod 755 "$P/report.sh"
chown -R 65534:65534 "$P"
say "\$ cat .cloop/sandbox.yaml"
cat "$P/.cloop/sandbox.yaml"

say "\$ cloop egress firewall --internet --ports 443 --resolver 9.9.9.9:53 --check ..."
cloop egress firewall --internet --ports 443 --resolver 9.9.9.9:53 --check 93.184.216.34:443
cloop egress firewall --internet --ports 443 --resolver 9.9.9.9:53 --check 10.20.30.40:443 || true

say "\$ cloop run -p \$P -- /workspace/report.sh"
rc=0
cloop run -p "$P" -- /workspace/report.sh </dev/null || rc=$?
echo "(exit status $rc)"

say "\$ cloop runs list"
cloop runs list
say "\$ cloop runs journal -p \$P"
cloop runs journal -p "$P"
say "\$ cloop hub audit verify"
cloop hub audit verify
[ "$rc" = 137 ] || { echo "the demo did not end as it should" >&2; exit 1; }
