/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of net_lend.h share: the record of what an interface was. */
#ifndef CL_SYS_NET_LEND_INTERNAL_H
#define CL_SYS_NET_LEND_INTERNAL_H

#include "sys/net/net_internal.h"
#include "sys/net/net_lend.h"

/* One interface that is away, or is about to be. */
struct lent {
	char *name;                              /* what its grant calls it */
	char source[IFNAMSIZ], target[IFNAMSIZ]; /* here and inside */
	unsigned index, mtu;                     /* here */
	bool up;
	uint8_t mac[32];
	size_t nmac;
	struct cl_strv altnames;
	struct cl_buf addresses, routes; /* as the kernel listed them: netlink messages */
};
struct lents {
	uint64_t dev, ino; /* the namespace they came from */
	struct lent *v;
	size_t n, cap;
};
void lents_release(struct lents *l);
#define cleanup_lents __attribute__((cleanup(lents_release)))
/* A new one at the end, empty. */
struct lent *lents_add(struct lents *l);
/* Without the one at i. */
void lents_drop(struct lents *l, size_t i);

/* --- the record (net_lend_state.c) --- */

/* The namespace that this thread is in. */
int lents_here(struct lents *l, struct cl_err *e);
/* Nothing recorded: n is 0. CL_EDATA for a record that cannot be read. */
int lents_read(const struct net_dirs *d, const char *handle, struct lents *out, struct cl_err *e);
/* On disk before this returns; an empty one is removed. */
int lents_write(
	const struct net_dirs *d, const char *handle, const struct lents *l, struct cl_err *e);
/* The handle, other than this, whose record has the interface as its source; owned or NULL. */
char *lents_holder(const struct net_dirs *d, const char *handle, const char *source);

/* --- what a move loses (net_lend_keep.c) --- */

/* Addresses and routes of the interface into *l. CL_EREFUSED for what could not be put back. */
int lent_keep(struct sys_nl *nl, struct lent *l, struct cl_err *e);
/*
 * Everything that it was, on the link of that index; what is so already is success. What cannot be
 * had is a line in said.
 */
void lent_restore(struct sys_nl *nl, unsigned index, const struct lent *l, struct cl_strv *said);

/* --- who may be moved (net_lend_judge.c) --- */

/*
 * Looks each of v up, judges it, and adds it to *out with all that it is. `inside` is a socket in
 * the run's namespace; NULL: there is none yet.
 */
int lent_judge(const struct net_dirs *d, const char *handle, struct sys_nl *host,
	struct sys_nl *inside, const struct net_lend *v, size_t n, struct lents *out,
	struct cl_err *e);
/* Is it still the interface that was judged? Asked right before it is moved. */
int lent_same(struct sys_nl *nl, const struct lent *l, struct cl_err *e);

/* --- the way back (net_lend_back.c) --- */

/* The run's namespace, and a socket in it. CL_ENOTFOUND. */
int lent_inside(
	const struct net_dirs *d, const char *handle, int *fd, struct sys_nl *nl, struct cl_err *e);
/*
 * Puts back all of *l that `keep` does not name, the last first; those are taken out of *l, and the
 * record is what is left.
 */
int lents_back(const struct net_dirs *d, const char *handle, struct lents *l,
	const struct cl_strv *keep, struct cl_strv *said, struct cl_err *e);

#endif
