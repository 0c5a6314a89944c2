/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A lease for a process that holds no key (DECISIONS K5): a child of cloop-secret finds the key as
 * the configuration says, judges, writes the rows, and hands the lease over through a pipe.
 */
#ifndef WORK_LEASE_ASK_H
#define WORK_LEASE_ASK_H

#include "sys/proc.h"
#include "work/lease/lease.h"

struct lease_ask {
	const char *hub_dir;
	/* CLOOP_SECRET_KEY_FILE of who started the run, or NULL; work/key_pass.h, or 0. The
	 * configuration's file needs neither. */
	const char *key_file;
	int key_fd;
};

/*
 * What any child of cloop-secret is started with, so that it finds the key where it is: fills `env`
 * and `key`, which the caller keeps until the child runs, and names them in `s`.
 */
void lease_ask_env(
	const struct lease_ask *a, struct cl_strv *env, struct sys_pass *key, struct sys_spawn *s);

/* As lease_take; `labels` and `now` of the request are the child's to find. */
int lease_ask_take(const struct lease_ask *a, const struct lease_request *r, struct lease **out,
	struct cl_err *e);
/* As lease_renew_to, with the labels of now. */
int lease_ask_renew(const struct lease_ask *a, const char *id, const struct lease_holder *holder,
	struct lease **out, struct cl_err *e);

#endif
