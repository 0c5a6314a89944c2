/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executors of a hub as they are now: what is configured, with what the store has of each:
 * health, load, signed labels. The one way to them, for a run, for placement and for every
 * command that shows them.
 */
#ifndef WORK_FLEET_H
#define WORK_FLEET_H

#include "policy/place/health.h"
#include "policy/place/registry.h"
#include "policy/secret/secret_subject.h"
#include "seal/fleet.h"
#include "store/health.h"
#include "sys/hub.h"

#include <sys/utsname.h>

struct work_node {
	const struct cfg_executor *x; /* borrowed */
	struct hl_health health;
	int64_t version;          /* of the health's row; 0: there is none */
	int64_t load;             /* workloads that are live or about to be */
	struct sec_labels labels; /* configured ones, with the stored ones over them */
	bool forged;              /* the stored ones are not as the hub signed them: none count */
	struct cap_set caps;      /* of a container; what others can do is asked of their drivers */
};

struct work_fleet {
	struct work_node *v; /* in the order of the configuration, those that are off too */
	size_t n;
	unsigned char pub[SEAL_KEY];
	bool known; /* pub is: something was signed once */
	bool strict;
	size_t strays; /* health rows of executors that are not configured any more */
	struct utsname machine;
	int64_t now;
};
#define WORK_FLEET_INIT ((struct work_fleet){.v = NULL})
void work_fleet_release(struct work_fleet *f);
#define cleanup_fleet __attribute__((cleanup(work_fleet_release)))

/*
 * Health and load of each. *out is WORK_FLEET_INIT; the configuration must outlive it. Labels
 * are those of the configuration until work_fleet_sign has been asked.
 */
int work_fleet_look(struct store *s, const struct cfg *c, int64_t now, struct work_fleet *out,
	struct cl_err *e);
/* The hub's public key, without which no signed row counts, and the labels that it vouches for. */
int work_fleet_sign(struct store *s, const char *hub_dir, struct work_fleet *f, struct cl_err *e);
/* Both. */
int work_fleet_read(struct store *s, const char *hub_dir, const struct cfg *c, int64_t now,
	struct work_fleet *out, struct cl_err *e);
/* The configured one with that id; CL_ENOTFOUND with the nearest. */
int work_fleet_find(
	const struct work_fleet *f, const char *id, struct work_node **out, struct cl_err *e);

/* What a person is told of a node that is `forged`; of its id. */
#define WORK_FORGED_LABELS                                                                   \
	"the stored labels of executor '%s' are not as this hub signed them; until they are" \
	" set anew or cleared (cloop executor labels), none of its labels count"

/* Its health as the row has it; NULL: nobody has probed or held it. */
void work_node_health(struct work_node *n, const struct store_health *h);
/* "none", "container", "vm"; "-" where only its driver knows. Static. */
const char *work_node_isolation(const struct work_node *n);
/* Whether it may get work at all: configured, on, in service. */
bool work_node_serves(const struct work_node *n);
/*
 * As placement sees it. `labels` has room for PL_MAX_LIST; fix is what to type about its
 * health, owned by the caller, who keeps it as long as the candidate.
 */
void work_node_candidate(const struct work_fleet *f, const struct work_node *n,
	struct pl_label *labels, char **fix, struct pl_candidate *out);
/* 0 when it takes new work; CL_EREFUSED with constraint "health" when it is held or unreachable. */
int work_node_admits(const struct work_node *n, struct cl_err *e);
/* The same of what the store has at this moment; in the transaction that writes a run's row. */
int work_admits(struct store *s, const struct cfg_executor *x, struct cl_err *e);

/*
 * What the project is bound to, and the default that is set: owned, NULL where there is none.
 * CL_EREFUSED, slug "forged_binding", for a row that this hub did not sign; it is audited.
 */
int work_binding(struct store *s, const struct work_fleet *f, const char *project, char **executor,
	struct cl_err *e);
/*
 * Which executor: asked (or NULL), else what the project (NULL: none) is bound to, else the
 * default. Errors as reg_resolve and work_binding.
 */
int work_resolve(struct store *s, const struct work_fleet *f, const char *asked,
	const char *project, struct work_node **out, enum reg_how *how, struct cl_err *e);

/*
 * An executor's row of labels, and whether it is genuine (DECISIONS K8): signed by this hub (pub NULL: it
 * signs nothing yet), and the last that the audit trail knows of. *genuine is true too where there is no
 * row (*found) and nothing says that there was. *row is STORE_LABELS_INIT.
 */
int work_labels_get(struct store *s, const unsigned char *pub, const char *executor,
	struct store_labels *row, bool *found, bool *genuine, struct cl_err *e);
/*
 * Lays the labels that are stored for an executor over those in *out, if they are as this hub
 * signed them last; *forged: they are not, or were taken away without a word in the audit trail, and
 * *out has none, since nobody knows what had been stored over those that it had.
 */
int work_labels(struct store *s, const char *hub_dir, const char *executor, struct sec_labels *out,
	bool *forged, struct cl_err *e);
/* The same for who has read the key that signs: NULL when there is none. */
int work_labels_by(struct store *s, const unsigned char *pub, const char *executor,
	struct sec_labels *out, bool *forged, struct cl_err *e);

#endif
