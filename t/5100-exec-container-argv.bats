#!/usr/bin/env bats
# The engine's command line (lib/policy/sandbox/container.h), run: what holds inside a sandbox whatever
# was asked for, by podman with each runtime and by docker.
load lib/common
load lib/engine

setup_file() {
	if [ "$(id -u)" != 0 ] || ! command -v podman >/dev/null; then return 0; fi
	engine_up
	engine_image localhost/volume:1 'CMD ["/bin/sh"]' 'VOLUME /data'
	mkdir -p "$ENGINE_DIR/stage" "$ENGINE_DIR/work"
	cp "$BIN/cloop-init" "$ENGINE_DIR/stage/init"
	chown 1000:1000 "$ENGINE_DIR/work"
	# A pid limit of podman's own: no limit above it can be given without CAP_SYS_RESOURCE.
	pids=$(cat /proc/sys/kernel/pid_max)
	hard=$(ulimit -Hu)
	[ "$hard" = unlimited ] || [ "$hard" -lt "$pids" ] && [ "$hard" != unlimited ] && pids=$hard
	export NPROC=$pids
	nofile=$(ulimit -Hn)
	[ "$nofile" != unlimited ] || nofile=0
	export NOFILE=$nofile
}
teardown_file() { engine_down; }

setup() {
	need root podman
	# conmon leaves a file "oom" where it was started.
	cd "$BATS_TEST_TMPDIR" || return 1
}

# sandbox KEY=VALUE... -- COMMAND : runs it confined, attached.
sandbox() {
	"$BUILD_DIR/t/lib/ct-argv" exec "name=cloop-t-$BATS_TEST_NUMBER-$RANDOM" "image=$IMAGE" \
		"init_dir=$ENGINE_DIR/stage" "workspace=$ENGINE_DIR/work" \
		"hard_nofile=$NOFILE" "hard_nproc=$NPROC" "$@"
}
strict=seccomp=$SRC/share/seccomp/strict.json

# What every sandbox must answer, whoever runs it.
confined='id -u; id -g; id -G
	for c in Inh Prm Eff Bnd Amb; do grep "^Cap$c" /proc/self/status; done | cut -f2 | sort -u
	grep NoNewPrivs /proc/self/status | cut -f2
	touch /x /etc/x /run/x /usr/x /var/tmp/x 2>/dev/null && echo "the root is writable"
	for d in / /etc /run /var/tmp /root; do (: > $d/x) 2>/dev/null && echo "$d is writable"; done
	(: > /tmp/x) && echo tmp; printf "#!/bin/sh\necho exec\n" > /tmp/s; chmod +x /tmp/s; /tmp/s
	pwd; (: > /workspace/made) && echo workspace
	tr "\0" "\n" < /proc/1/cmdline | head -n 1'
confined_says='1000
1000
1000
0000000000000000
1
tmp
exec
/workspace
workspace
/.cloop/init'

@test "runc: an ordinary user without capabilities, and nothing to write but its own" {
	out=$(sandbox "$strict" -- sh -c "$confined")
	same "$out" "$confined_says"
	[ "$(stat -c %u:%g "$ENGINE_DIR/work/made")" = 1000:1000 ]
}

@test "crun: the same" {
	need crun
	# crun works on cgroup v1 only where it does not see an empty v2 beside it.
	printf '#!/bin/sh\nexec unshare -m --propagation private sh -c '"'"'umount /sys/fs/cgroup/unified 2>/dev/null; exec %s "$@"'"'"' crun "$@"\n' \
		"$(command -v crun)" > "$ENGINE_DIR/bin/crun"
	chmod +x "$ENGINE_DIR/bin/crun"
	printf 'crunv1 = ["%s"]\n' "$ENGINE_DIR/bin/crun" >> "$CONTAINERS_CONF"
	out=$(sandbox "$strict" oci_runtime=crunv1 -- sh -c "$confined")
	same "$out" "$confined_says"
}

@test "gVisor: the same" {
	need runsc
	out=$(echo | sandbox oci_runtime=runsc -- sh -c "$confined")
	# Its /proc does not tell of no_new_privs.
	same "$out" "${confined_says/$'\n1\n'/$'\n'}"
}

@test "gVisor: as many processes as were asked for fit under the pid limit" {
	need runsc
	out=$(echo | sandbox oci_runtime=runsc pids=30 -- sh -c 'for i in $(seq 25); do sleep 5 & done; echo started; wait; echo done' 2>&1)
	same "$out" $'started\ndone'
}

@test "docker: the same, with standard input" {
	need docker dockerd
	echo '{}' > "$ENGINE_DIR/daemon.json"
	engine_docker_up
	out=$(sandbox engine=docker "$strict" -- sh -c "$confined" < /dev/null)
	same "$out" "$confined_says"
	rc=0
	out=$(echo hello | sandbox engine=docker tmp_dir="$ENGINE_DIR/work" -- sh -c 'cat; exit 9') || rc=$?
	same "$out" hello
	[ $rc = 9 ]
	engine_docker_down
}

@test "namespaces of its own: processes, names, IPC, cgroups, network" {
	out=$(sandbox hostname=box -- sh -c 'hostname; cat /proc/self/cgroup | cut -d: -f3 | sort -u
		ls /sys/class/net; ps | wc -l; (: > /sys/fs/cgroup/x) 2>/dev/null && echo cgroups are writable
		grep -c " /sys/fs/cgroup/.* ro," /proc/mounts || grep -c " /sys/fs/cgroup .*ro," /proc/mounts')
	same "$(head -n 3 <<< "$out")" $'box\n/\nlo'
	lacks "$out" writable
	[ "$(tail -n 1 <<< "$out")" -gt 0 ]
	for ns in pid ipc uts net cgroup mnt; do
		inside=$(sandbox -- readlink /proc/self/ns/$ns)
		[ "$inside" != "$(readlink /proc/self/ns/$ns)" ]
	done
}

@test "limits: processors, memory, processes, descriptors" {
	out=$(sandbox cpu_milli=1500 memory_mb=64 memory_slack_mb=1 pids=77 -- sh -c '
		for f in cpu/cpu.cfs_quota_us memory/memory.limit_in_bytes pids/pids.max; do
			cat /sys/fs/cgroup/$f 2>/dev/null; done
		for f in cpu.max memory.max pids.max; do cat /sys/fs/cgroup/$f 2>/dev/null; done
		df -m /tmp | tail -n 1 | tr -s " " | cut -d" " -f2; ulimit -n')
	has "$out" 150000
	has "$out" $((65 << 20))
	has "$out" 77
	# /tmp is half the memory cap where that is lower.
	same "$(tail -n 2 <<< "$out")" $'32\n1024'
	exits 137 sandbox memory_mb=32 -- sh -c 'x=a; while :; do x=$x$x; done'
	# The kernel refuses the processes beyond the limit.
	out=$(sandbox pids=8 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1 & done; wait' 2>&1 || true)
	has "$out" "an't fork"
}

@test "a volume that the image declares is not writable" {
	exits 1 sandbox image=localhost/volume:1 -- sh -c ': > /data/x'
}

@test "the mode of the image's /tmp does not matter when the driver brings one" {
	mkdir -p "$ENGINE_DIR/rootfs/tmp" "$BATS_TEST_TMPDIR/tmp"
	chmod 755 "$ENGINE_DIR/rootfs/tmp"
	engine_image localhost/tmp755:1
	chmod 1777 "$ENGINE_DIR/rootfs/tmp" "$BATS_TEST_TMPDIR/tmp"
	exits 1 sandbox image=localhost/tmp755:1 -- sh -c ': > /tmp/x'
	exits 0 sandbox image=localhost/tmp755:1 tmp_dir="$BATS_TEST_TMPDIR/tmp" -- \
		sh -c ': > /tmp/x && grep -q " /tmp .*nosuid,nodev" /proc/mounts'
}

@test "names are the files that were bound, and no host name of the machine" {
	printf '127.0.0.1\tlocalhost box\n' > "$BATS_TEST_TMPDIR/hosts"
	printf 'nameserver 192.0.2.1\n' > "$BATS_TEST_TMPDIR/resolv.conf"
	out=$(sandbox own_names=1 hostname=box "mount=$BATS_TEST_TMPDIR/hosts:/etc/hosts:ro" \
		"mount=$BATS_TEST_TMPDIR/resolv.conf:/etc/resolv.conf:ro" \
		-- sh -c 'cat /etc/hosts /etc/resolv.conf; (: > /etc/hosts) 2>/dev/null && echo writable; true')
	same "$out" $'127.0.0.1\tlocalhost box\nnameserver 192.0.2.1'
}

@test "an allowed flag of the operator's reaches the engine" {
	out=$(sandbox extra=--shm-size=1m extra=--oom-score-adj=500 extra=--ulimit=nofile=64:64 \
		-- sh -c 'df -m /dev/shm | tail -n 1 | tr -s " " | cut -d" " -f2; cat /proc/self/oom_score_adj; ulimit -n')
	same "$out" $'1\n500\n64'
	exits 1 sandbox extra=--privileged -- true
	has "$stderr" "'--privileged'"
}

@test "the time limit of the engine stands behind the supervisor's" {
	start=$SECONDS
	exits 255 sandbox timeout_s=1 -- sleep 100
	[ $((SECONDS - start)) -lt 60 ]
}

@test "an argument that looks like a flag is an argument" {
	exits 0 sandbox -- echo --privileged -v /:/host
	same "$output" "--privileged -v /:/host"
	exits 0 sandbox "label=cloop.project=--x" env=CLOOP_RUN_ID=--y -- sh -c 'echo "$CLOOP_RUN_ID"'
	same "$output" --y
}
