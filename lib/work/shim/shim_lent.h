/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a run is lent, in the hands of its supervisor: asked for before anything starts, renewed at two
 * thirds of its time, narrowed when something of it was taken back, and over with the run. The
 * supervisor never has the key: a child of cloop-secret opens what is lent (DECISIONS K5), asked in a
 * thread, since a forge may take its time and a deadline does not wait for that.
 *
 * Four files, by role:
 *	shim_lent.c	its life: taken, planned, adopted, ended
 *	shim_deliver.c	a lease as files and variables (work/lease/delivery.h), and as what output must not have
 *	shim_renew.c	the next lease, in the place of the one that is there
 *	shim_return.c	what was taken back: found in the store, given up, answered for
 * Beside them shim_tokens.c ends what GitHub gave, shim_repos.c, shim_hardware.c and shim_interfaces.c
 * are about what is bound, passed in and moved.
 *
 * All of it runs in the supervisor's one thread, but for the thread of a renewal, which touches the
 * fields that say so until `answered` is set.
 */
#ifndef CL_WORK_SHIM_LENT_H
#define CL_WORK_SHIM_LENT_H

#include "policy/secret/scrub.h"
#include "work/lease/delivery.h"
#include "work/lease/lease.h"
#include "work/lease/lease_ask.h"
#include "work/shim/shim.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

struct shim;
struct shim_ending;

/* What the run is lent. */
struct shim_lent {
	char *id;      /* of the lease; NULL: nothing is lent */
	char *dir;     /* where the sandbox has its files; NULL in a shim that adopted */
	int env_watch; /* until the variables were read; -1 */
	int64_t expires_at;
	int64_t until; /* the same on the boot clock: nobody sets that back */
	struct shim_repos repos;
	struct shim_devices devices;
	struct shim_interfaces interfaces;
	char *stuck;     /* why interfaces that were taken back are not back; NULL: they are */
	json_t *said;    /* for who asked for the run: what was lent and what was refused */
	bool over;       /* it was taken back */
	bool narrowing;  /* because a part of it was taken back */
	unsigned tries;  /* that failed meanwhile and may be mended by another */
	bool ending;     /* the workload has to end because of that */
	size_t removed;  /* files that were taken back, and that no answer has told of yet */
	bool complained; /* of a renewal that failed */
	bool blind;      /* the store could not be asked, and that was said */
	/* a renewal on its way, in a thread of its own */
	bool asking;
	pthread_t thread;
	atomic_bool answered;
	bool failed; /* these two are the thread's until it has answered */
	struct lease *got;
	struct cl_err err;
	struct shim_ending *tokens; /* shim_tokens.c; NULL: no thread is about any */
};

/* ---- shim_lent.c ---- */

/* How its children of cloop-secret find hub and key; borrows of the job. */
struct lease_ask shim_asking(const struct shim *s);
/*
 * Asks for what the run is granted and puts it into the runtime folder, where the driver finds it;
 * CL_EREFUSED and others: then the workload does not start, and nothing of it is left.
 */
int shim_lent_take(struct shim *s, struct cl_err *e);
/* When it is renewed, and when it is first looked whether something of it was taken back. */
void shim_lent_plan(struct shim *s, int64_t expires_at);
/* Does what is due on the boot clock. */
void shim_lent_due(struct shim *s, int64_t now);
/* Takes up what an earlier supervisor was lent. Renews only where the key is in a file. */
void shim_lent_adopt(struct shim *s);
/* The workload is over: overwrites all of it, answers for what was asked back, gives the lease back. */
void shim_lent_end(struct shim *s);

/* ---- shim_deliver.c ---- */

/* A lease as it is delivered: pointers into its locked memory, of which nothing is copied. */
struct shim_parts {
	struct delivery d;
	struct delivery_file *files;
	struct delivery_env *env;
	struct delivery_text *redact;
};
void shim_parts_make(const struct lease *l, const struct shim_repos *r, struct shim_parts *p);
void shim_parts_release(struct shim_parts *p);
/* {"lease_id", "lent", "refused"}, for the command that asked for the run. */
json_t *shim_lent_said(const struct lease *l);
/* Waits for the sandbox to read its variables, which then are wiped. */
void shim_env_watch(struct shim *s);
int shim_env_watch_fd(const struct shim *s); /* -1: nothing is waited for */
void shim_env_read(struct shim *s);
/* What takes it out of one stream; NULL: there is nothing to take out. -1: it cannot be known. */
int shim_lent_scrubber(struct shim *s, struct scrub **out, struct cl_err *e);

/* ---- shim_renew.c ---- */

/* Starts a renewal, unless one is on its way. */
void shim_lent_renew(struct shim *s);
/* One may have come back: delivers it, tries again later, or gives up. */
void shim_lent_answered(struct shim *s);

/* ---- shim_return.c ---- */

/* Looks whether something was taken back, and acts on it. */
void shim_lent_look(struct shim *s);
/*
 * After a renewal: answers for what was asked back and is not in it; `removed` files went with it. A
 * renewal that was on its way when a grant was taken back brings it once more, and then another is due.
 */
void shim_lent_settle(struct shim *s, const struct lease *l, size_t removed);
/* All of it goes: the lease is over, whoever ended it. */
void shim_lent_give_up(struct shim *s, const char *why);
/* The workload that had to end for what was taken back is over. */
void shim_lent_settle_ended(struct shim *s);

#endif
