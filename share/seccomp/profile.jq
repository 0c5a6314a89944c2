# The engine's default seccomp profile made stricter (DECISIONS C8). $mode: strict, userns;
# $raw: "-raw" where packet sockets are let through (I1), which CAP_NET_RAW then judges, or "".
# Seccomp notation: opencontainers/runtime-spec config-linux.md, "Seccomp".
def arg(i; v; op): {index: i, value: v, valueTwo: 0, op: op};
def eq(i; v): arg(i; v; "SCMP_CMP_EQ");
def masked(i; mask; want): arg(i; mask; "SCMP_CMP_MASKED_EQ") | .valueTwo = want;
def allow(names; args):
	{names: names, action: "SCMP_ACT_ALLOW", args: args, comment: "cloop", includes: {}, excludes: {}};
def refuse(names; errno; args):
	{names: names, action: "SCMP_ACT_ERRNO", errnoRet: errno, args: args, comment: "cloop",
		includes: {}, excludes: {}};

1 as $EPERM | 38 as $ENOSYS | 93 as $EPROTONOSUPPORT | 97 as $EAFNOSUPPORT
# CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET, and NEWUSER alone
| 2114060288 as $new_any | 268435456 as $new_user
# s390 has the flags of clone(2) in its second argument.
| ["s390", "s390x"] as $flags_second
| ["setns", "keyctl", "add_key", "request_key", "userfaultfd", "perf_event_open", "bpf"] as $never
| ["io_uring_setup", "io_uring_enter", "io_uring_register"] as $never_asked
| (if $mode == "strict" then ["clone", "clone3", "unshare"] else [] end) as $new_ns
| (["socket", "socketcall"] + $never + $never_asked + $new_ns) as $ours

| .defaultAction = "SCMP_ACT_ERRNO" | .defaultErrnoRet = $ENOSYS
# No 32-bit ABI: libseccomp turns an allowed socket(2) with conditions into an allowed
# i386 socketcall(SYS_SOCKET) without them, which any 64-bit program reaches by int 0x80.
| .archMap |= map(.subArchitectures = [])
# Ours are taken out of every rule of the default, then told once.
| .syscalls |= (map(.names -= $ours) | map(select(.names | length > 0)))
| .syscalls += [
	# AF_UNIX, AF_INET, AF_INET6; of netlink, NETLINK_ROUTE.
	allow(["socket"]; [eq(0; 1)]), allow(["socket"]; [eq(0; 2)]), allow(["socket"]; [eq(0; 10)]),
	allow(["socket"]; [eq(0; 16), eq(2; 0)]),
	refuse(["socket"]; $EPROTONOSUPPORT; [eq(0; 16), arg(2; 0; "SCMP_CMP_NE")]),
	# AF_PACKET, VSOCK, ALG, XDP, BLUETOOTH, CAN, TIPC, SMC; the rest is the default's ENOSYS.
	(if $raw == "" then refuse(["socket"]; $EAFNOSUPPORT; [eq(0; 17)]) else allow(["socket"]; [eq(0; 17)]) end),
	((40, 38, 44, 31, 29, 30, 43) as $family | refuse(["socket"]; $EAFNOSUPPORT; [eq(0; $family)])),
	refuse($never; $EPERM; []),
	refuse($never_asked; $ENOSYS; [])
]
| if $mode == "strict" then .syscalls += [
	# Any new namespace is refused; a new process or thread is not.
	(allow(["clone"]; [masked(0; $new_any; 0)]) | .excludes = {arches: $flags_second}),
	(allow(["clone"]; [masked(1; $new_any; 0)]) | .includes = {arches: $flags_second}),
	(refuse(["clone"]; $EPERM; [masked(0; $new_user; $new_user)]) | .excludes = {arches: $flags_second}),
	allow(["unshare"]; [masked(0; $new_any; 0)]),
	refuse(["unshare"]; $EPERM; [masked(0; $new_user; $new_user)]),
	# Its flags are behind a pointer: libc falls back to clone.
	refuse(["clone3"]; $ENOSYS; [])
] else . end
