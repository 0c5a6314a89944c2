/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The payloads that name things of a host: the root of local_repo and the inventories of
 * host_device and host_interface. facts/secrets.md 3.1-3.3, DECISIONS C2, I1, I3. Whether a
 * path or an interface exists is not asked: the host that has it may be another one. Pure.
 */
#ifndef CL_POLICY_SECRET_INVENTORY_H
#define CL_POLICY_SECRET_INVENTORY_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

#define SEC_LOCAL_REPOS_MAX 32
#define SEC_REPOS_TARGET    "/repos"
#define SEC_INVENTORY_LINES 256

/*
 * The root of a local_repo: absolute, none of ':', '\', NUL and line ends, not "/". *out
 * takes it without doubled slashes, "." and ".."; whoever has the host resolves links and
 * checks that it is a directory. CL_EDATA, slug "invalid_payload".
 */
int sec_local_root(const char *text, size_t len, struct cl_buf *out, struct cl_err *e);
/* A directory name that may become a mount: 1-128 bytes, not "." or "..", no : / \ CR LF. */
bool sec_repo_name_ok(const char *name);
/*
 * The names of candidates (directory names that are repositories, or the root's own name)
 * which the allowlist opens, sorted. None, and more than SEC_LOCAL_REPOS_MAX, are CL_EREFUSED;
 * `secret` names it in the message. A candidate that fails sec_repo_name_ok is skipped.
 */
int sec_local_select(const struct cl_strv *repos, const struct cl_strv *candidates,
	const char *secret, struct cl_strv *out, struct cl_err *e);
/*
 * CLOOP_LOCAL_REPO_<NAME> for a repository among all of a run, or "" when another one would
 * get the same variable. out holds 160 bytes.
 */
void sec_local_variable(const char *name, const struct cl_strv *all, char out[160]);

enum sec_access { SEC_R, SEC_RW, SEC_RWM };
const char *sec_access_name(enum sec_access a); /* "r", "rw", "rwm" */
/* The one of that name, as it is spelled there; false of everything else. */
bool sec_access_parse(const char *name, enum sec_access *out);

struct sec_device {
	char *name, *source, *target; /* target is the source unless it was remapped */
	enum sec_access access;
	unsigned line;
};
struct sec_devices {
	struct sec_device *v;
	size_t n, cap;
};
#define SEC_DEVICES_INIT ((struct sec_devices){0})
void sec_devices_release(struct sec_devices *d);
#define cleanup_devices __attribute__((cleanup(sec_devices_release)))

/* Reads name=/dev/source[:/dev/target][:mode] lines. CL_EDATA, slug "invalid_payload", line. */
int sec_devices_parse(const char *text, size_t len, struct sec_devices *out, struct cl_err *e);
/*
 * What the allowlist opens, sorted by name; without `writable` each is SEC_R, with it an
 * entry that the inventory has as SEC_R stays so. None, and more than 16, are CL_EREFUSED.
 */
int sec_devices_select(const struct sec_devices *all, const struct cl_strv *patterns, bool writable,
	const char *secret, struct sec_devices *out, struct cl_err *e);
/* Drops what is not among the names. */
void sec_devices_keep(struct sec_devices *d, const struct cl_strv *names);
/*
 * Why no sandbox may be given this device node, or NULL: memory, ports and the kernel's own
 * nodes, whole disks and what stands for them (DECISIONS C2). By the name alone; the driver
 * asks again by device number.
 */
const char *sec_device_forbidden(const char *path);

/* A name that an interface of the kernel's can have: 1-15 bytes, none of / : = , % and blanks. */
bool sec_ifname_ok(const char *name);

struct sec_interface {
	char *name, *source, *target; /* names of interfaces outside and inside */
	char *address;                /* "172.31.99.200/24" or NULL; host bits kept */
	char *gateway;                /* NULL: none */
	unsigned mtu;                 /* 0: as it is */
	bool raw;                     /* CAP_NET_RAW and AF_PACKET for the run */
	unsigned line;
};
struct sec_interfaces {
	struct sec_interface *v;
	size_t n, cap;
};
#define SEC_INTERFACES_INIT ((struct sec_interfaces){0})
void sec_interfaces_release(struct sec_interfaces *i);
#define cleanup_interfaces __attribute__((cleanup(sec_interfaces_release)))

/*
 * Reads name=ifname[,target=][,address=][,gateway=][,mtu=][,raw] lines (addr and gw are the
 * same). CL_EDATA, slug "invalid_payload", line.
 */
int sec_interfaces_parse(
	const char *text, size_t len, struct sec_interfaces *out, struct cl_err *e);
/* What the allowlist opens, sorted by name. None, more than 8, and two that would get the
 * same name inside, are CL_EREFUSED. */
int sec_interfaces_select(const struct sec_interfaces *all, const struct cl_strv *patterns,
	const char *secret, struct sec_interfaces *out, struct cl_err *e);
/* Drops what is not among the names. */
void sec_interfaces_keep(struct sec_interfaces *i, const struct cl_strv *names);

#endif
