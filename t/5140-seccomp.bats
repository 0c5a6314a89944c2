#!/usr/bin/env bats
# share/seccomp: which families and system calls a sandbox cannot reach, asked from inside.
load lib/common
load lib/engine

setup_file() {
	[ "$(id -u)" = 0 ] && command -v podman >/dev/null || return 0
	engine_up
	musl-gcc -std=gnu17 -D_GNU_SOURCE -O1 -static -o "$ENGINE_DIR/syscalls" \
		"$BATS_TEST_DIRNAME/lib/static/syscalls.c"
}
teardown_file() { engine_down; }

# inside ENGINE ARG... : the probe's answers in a sandbox without capabilities.
inside() {
	local engine=$1
	shift
	"$engine" run --rm --network none --user 1000:1000 --cap-drop=ALL \
		--security-opt=no-new-privileges "$@" -v "$ENGINE_DIR/syscalls:/syscalls:ro" "$IMAGE" /syscalls
}
# answers TEXT "NAME WANT"... : each name has that answer.
answers() {
	local text=$1 want
	shift
	for want; do
		grep -qxE "$want" <<< "$text" || {
			echo "not '$want': $(grep -E "^${want%% *} " <<< "$text")" >&2
			return 1
		}
	done
}

never=(
	'packet EAFNOSUPPORT' 'vsock EAFNOSUPPORT' 'alg EAFNOSUPPORT' 'xdp EAFNOSUPPORT'
	'can EAFNOSUPPORT' 'bluetooth EAFNOSUPPORT' 'tipc EAFNOSUPPORT' 'smc EAFNOSUPPORT'
	'kcm (ENOSYS|EPERM)' 'rds (ENOSYS|EPERM)' 'vsock_high_bits (ENOSYS|EPERM)'
	'netlink_diag EPROTONOSUPPORT' 'netlink_netfilter EPROTONOSUPPORT'
	'netlink_generic EPROTONOSUPPORT' 'netlink_audit EPROTONOSUPPORT'
	'netfilter_high_bits EPROTONOSUPPORT'
	'setns EPERM' 'keyctl EPERM' 'add_key EPERM' 'request_key EPERM' 'userfaultfd EPERM'
	'perf_event_open EPERM' 'bpf EPERM' 'io_uring_setup ENOSYS' 'mount EPERM'
	'unshare_newnet (ENOSYS|EPERM)'
)
always=('unix ok' 'inet ok' 'udp ok' 'inet6 ok' 'netlink_route ok' 'socketpair ok' 'clone ok'
	'unshare_files ok' 'openat2 ok' 'pidfd_open ok' 'landlock ok')

@test "the committed profiles are what the engine's default makes of them" {
	need jq
	[ -e /usr/share/containers/seccomp.json ] || skip "no default profile here"
	rc=0
	"$SRC/share/seccomp/generate.sh" --check || rc=$?
	[ $rc != 3 ] || skip "this machine's engine has another default profile"
	[ $rc = 0 ]
	for m in strict userns; do
		same "$(jq -r .defaultAction "$SRC/share/seccomp/$m.json")" SCMP_ACT_ERRNO
		# Nothing of ours is allowed by a rule of the default's.
		same "$(jq '[.syscalls[] | select(.action == "SCMP_ACT_ALLOW" and .comment != "cloop") | .names[]
			| select(IN("socket", "socketcall", "setns", "bpf", "keyctl", "io_uring_setup"))] | length' \
			"$SRC/share/seccomp/$m.json")" 0
	done
}

@test "strict: the families, calls and namespaces that a sandbox cannot reach" {
	need root podman musl-gcc
	out=$(inside podman --security-opt "seccomp=$SRC/share/seccomp/strict.json")
	answers "$out" "${never[@]}" "${always[@]}" 'clone_newuser EPERM' 'unshare_newuser EPERM' \
		'clone3 ENOSYS' 'unknown ENOSYS'
	[ "$(uname -m)" != x86_64 ] || answers "$out" 'i386_socketcall_vsock killed' 'x32_socket_vsock killed'
}

@test "raw: packet sockets for who has the capability, and nothing else more" {
	need root podman musl-gcc
	for m in strict userns; do
		out=$(inside podman --security-opt "seccomp=$SRC/share/seccomp/$m-raw.json")
		answers "$out" "${always[@]}" 'packet EPERM' 'vsock EAFNOSUPPORT' 'can EAFNOSUPPORT' 'netlink_netfilter EPROTONOSUPPORT'
		out=$(inside podman --cap-add=NET_RAW --security-opt "seccomp=$SRC/share/seccomp/$m-raw.json")
		answers "$out" "${always[@]}" 'packet ok' 'vsock EAFNOSUPPORT' 'bpf EPERM'
		# All but that one family is as without.
		same "$(jq -c 'del(.syscalls[] | select(.comment == "cloop" and .names == ["socket"] and .args[0].value == 17))' "$SRC/share/seccomp/$m-raw.json")" \
			"$(jq -c 'del(.syscalls[] | select(.comment == "cloop" and .names == ["socket"] and .args[0].value == 17))' "$SRC/share/seccomp/$m.json")"
	done
}

@test "userns: new user namespaces, and nothing else more" {
	need root podman musl-gcc
	out=$(inside podman --security-opt "seccomp=$SRC/share/seccomp/userns.json")
	answers "$out" "${never[@]/mount EPERM/mount .*}" "${always[@]}" 'clone3 ok'
}

@test "the engine's own profile is what ours is stricter than" {
	need root podman musl-gcc
	out=$(inside podman)
	# Were these refused there too, the tests above would prove nothing.
	answers "$out" 'netlink_netfilter ok' 'netlink_diag ok' 'keyctl ok'
}

@test "docker takes the same files" {
	need root docker dockerd musl-gcc
	echo '{}' > "$ENGINE_DIR/daemon.json"
	engine_docker_up
	out=$(inside docker --security-opt "seccomp=$SRC/share/seccomp/strict.json")
	answers "$out" "${never[@]}" "${always[@]}" 'clone_newuser EPERM' 'unshare_newuser EPERM' \
		'clone3 ENOSYS'
	out=$(inside docker --security-opt "seccomp=$SRC/share/seccomp/userns.json")
	answers "$out" "${never[@]/mount EPERM/mount .*}" "${always[@]}" 'clone3 ok'
}
