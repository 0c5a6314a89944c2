/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the verbs of cloop-sandbox share. */
#ifndef CLOOP_SANDBOX_CMD_H
#define CLOOP_SANDBOX_CMD_H

#include "cli/cli.h"
#include "policy/image/imagepolicy.h"
#include "policy/sandbox/sandbox.h"

/* One file that was asked about, and what came of it. */
struct sbx_target {
	char *name;    /* how it is called in reports */
	char *project; /* its project's directory, NULL when it stands alone */
	bool found;    /* false: the project has no file */
	bool invalid;  /* err says why */
	struct cl_doc doc;
	struct sb_spec spec; /* with notes of every kind */
	struct cl_err err;
};
#define SBX_TARGET_INIT ((struct sbx_target){.doc = CL_DOC_INIT, .spec = SB_SPEC_INIT})
void sbx_target_release(struct sbx_target *t);

/*
 * Loads a directory's spec, a file, or standard input ("-"), and judges it. 0 with
 * `invalid` set for a spec that breaks a rule; -1 for a file that cannot be read at all.
 */
int sbx_load(const char *operand, struct sbx_target *t, struct cl_err *e);

/* One line of a report. Borrows from the target. */
struct sbx_finding {
	bool error;
	const char *rule, *text, *fix; /* fix NULL: none */
	unsigned line, column;
};
/* The findings of a target in order; returns how many. SBX_FINDINGS is enough for all. */
#define SBX_FINDINGS 128
size_t sbx_findings(const struct sbx_target *t, struct sbx_finding out[SBX_FINDINGS]);

/* The reports of `check`; each prints on stdout. */
void sbx_report_text(const struct sbx_target *t);
void sbx_report_json(const struct sbx_target *t);
void sbx_report_github(const struct sbx_target *t);
void sbx_report_sarif(const struct sbx_target *t, size_t n);

/* Prints with control characters masked: a report quotes untrusted text. */
void sbx_put(const char *text, size_t len);

/* image_resolve.c: which digest a reference stands for. */
#define SBX_DIGEST 136
struct sbx_pin {
	char *pinned;              /* what a run here would record; NULL: not known */
	char store[SBX_DIGEST];    /* of that name in the engine's store; "": none */
	char registry[SBX_DIGEST]; /* what the registry has for it; "" */
	char id[SBX_DIGEST];       /* of the store's image; "" */
	char platform[SBX_DIGEST]; /* of an index, the image for this machine; "" */
	char *registry_error;      /* why the registry's is not known; NULL */
	char *signed_by;           /* who signed it; NULL: nobody was asked for, or nobody did */
	char *unproved; /* of cloop's own images: why its publisher is not proved; NULL */
	struct cl_strv
		digests; /* of the store, else of the registry: what a signature may be over */
	bool in_store, moved;
};
#define SBX_PIN_INIT ((struct sbx_pin){0})
void sbx_pin_release(struct sbx_pin *p);
#define cleanup_sbx_pin __attribute__((cleanup(sbx_pin_release)))
struct sbx_pinner {
	const char *runtime; /* the engine; NULL: whichever there is */
	json_t *reach;       /* work_registry_reach() */
	bool provenance_required;
};
/* Asks the engine's store and the registry; what is not known is in *out. */
void sbx_pin(const struct sbx_pinner *q, const struct ir_ref *ref, struct sbx_pin *out);
/* Asks who signed what was found: for a decision that needs a signature. CL_EREFUSED. */
int sbx_pin_verify(const struct sbx_pinner *q, const struct ip_policy *policy,
	const struct ir_ref *ref, struct sbx_pin *pin, struct cl_err *e);
/* Of one of cloop's own images whether its publisher signed it. CL_EREFUSED, as a run is refused. */
int sbx_pin_prove(const struct sbx_pinner *q, const struct ir_ref *ref, struct sbx_pin *pin,
	struct cl_err *e);
json_t *sbx_pin_json(const struct sbx_pin *p);
/* Lines of two blanks that follow the verdict, each with its '\n' in front. */
void sbx_pin_text(const struct sbx_pin *p, struct cl_buf *out);

int sbx_check(struct cl_ctx *c, struct cl_err *e);
int sbx_resolve(struct cl_ctx *c, struct cl_err *e);
int sbx_image_check(struct cl_ctx *c, struct cl_err *e);
extern const struct cl_spec sandbox_spec;

#endif
