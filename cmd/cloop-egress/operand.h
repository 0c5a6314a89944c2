/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies as operands: files, executors' filters, stored rule sets, files at a revision. */
#ifndef CMD_EGRESS_OPERAND_H
#define CMD_EGRESS_OPERAND_H

#include "egress.h"
#include "policy/egress/change.h"

struct operand {
	struct eg_stack stack;
	char *name; /* as answers call it */
};
#define OPERAND_INIT ((struct operand){EG_STACK_INIT, NULL})
void operand_release(struct operand *o);
#define cleanup_operand __attribute__((cleanup(operand_release)))

/*
 * Reads the policy that operand n of the command line means; warnings about its text are
 * printed. *out is OPERAND_INIT. Standard input is read once: CL_EUSAGE when two ask for it.
 */
int operand_read(struct cl_ctx *c, size_t n, struct operand *out, struct cl_err *e);
/* The same, compiled and flattened; an error names the operand. */
int operand_side(const struct operand *o, struct change_side *out, struct cl_err *e);

/* A name of an operand as a terminal can be shown it; owned. */
char *operand_shown(const char *name);

/* What the man page says of them, for every table that takes them. */
#define OPERAND_HELP                                                                 \
	"a file (JSON or YAML, '-' for standard input), git:REV:PATH, executor:ID, " \
	"rules:executor:ID (device, virtual), "                                      \
	"rules:project:DIR, or none"

#endif
