/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rows of `cloop hub` that need the key. They belong to cloop-hub's table; what they run is in
 * cloop-hub-key, so that cloop-hub itself has no code that opens a key (DECISIONS K5). Both include
 * this file, and define KEY_RUN(name), the function of a verb, before they do.
 */
#ifndef CLOOP_HUB_KEY_SPEC_H
#define CLOOP_HUB_KEY_SPEC_H

#include "cli/cli.h"

static const struct cl_example key_status_examples[] = {
	{"cloop hub key status", "the keys, what is sealed under each, and past rotations", false},
	{"cloop hub key status --json", "the same, for a script", false},
	{0},
};

static const struct cl_opt key_rotate_opts[] = {
	{.name = "continue",
		.type = CL_FLAG,
		.help = "go on with a rotation that was interrupted instead of making a key"},
	{.name = "dry-run", .type = CL_FLAG, .help = "only count the rows that would move"},
	{.name = "batch",
		.type = CL_INT,
		.arg = "N",
		.def = "128",
		.min = 1,
		.max = 10000,
		.help = "rows a transaction"},
	{0},
};

static const struct cl_exit key_rotate_exits[] = {
	{0, "every row is under the primary key"},
	{1, "some are not: interrupted, or a row did not open; what was moved stays moved"},
	{0},
};

static const struct cl_example key_rotate_examples[] = {
	{"cloop hub key rotate", "seal under a new key from now on, and move every row to it",
		false},
	{"cloop hub key rotate --continue", "finish what was interrupted", false},
	{0},
};

static const struct cl_opt key_retire_opts[] = {
	{.name = "yes", .type = CL_FLAG, .help = "do it; without this only say what would happen"},
	{0},
};

static const struct cl_operand key_retire_operands[] = {
	{.name = "KEY", .help = "id of the key, or the first six digits of it"},
	{0},
};

static const struct cl_exit key_retire_exits[] = {
	{0, "retired, or without --yes: it could be"},
	{1, "it is the primary, retired already, or something is sealed under it"},
	{0},
};

static const struct cl_example key_retire_examples[] = {
	{"cloop hub key retire kek_3f9a1c --yes", "forget a key that nothing is sealed under",
		false},
	{0},
};

static const struct cl_opt key_export_opts[] = {
	{.name = "out",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.help = "write to this new file, mode 0600, instead of standard output"},
	{.name = "passphrase-file",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.help = "read the passphrase from there; - or left out: standard input, asked for "
			"on "
			"a terminal"},
	{0},
};

static const struct cl_example key_export_examples[] = {
	{"cloop hub key escrow export --out /media/usb/cloop.escrow",
		"seal the root key to a passphrase that is asked for", false},
	{0},
};

static const struct cl_opt key_import_opts[] = {
	{.name = "check",
		.type = CL_FLAG,
		.help = "only say whether it opens and is this hub's key; write nothing"},
	{.name = "out",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.help = "write the key to this new file instead of the configured one"},
	{.name = "passphrase-file",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.help = "read the passphrase from there; - or left out: standard input, asked for "
			"on "
			"a terminal"},
	{0},
};

static const struct cl_operand key_import_operands[] = {
	{.name = "FILE", .help = "the escrow", .complete = CL_COMP_FILE},
	{0},
};

static const struct cl_example key_import_examples[] = {
	{"cloop hub key escrow import /media/usb/cloop.escrow --check",
		"see that the copy is good, before it is needed", false},
	{"cloop hub key escrow import /media/usb/cloop.escrow", "put the key file back", false},
	{0},
};

static const struct cl_opt unguarded_opts[] = {
	{.name = "reason", .type = CL_STR, .arg = "TEXT", .help = "why, for whoever asks later"},
	{.name = "withdraw", .type = CL_FLAG, .help = "take the acknowledgement back"},
	{0},
};

static const struct cl_operand unguarded_operands[] = {
	{.name = "GRANT",
		.help = "id of a grant of a kubeconfig, or the first six digits of it",
		.complete = CL_COMP_GRANT},
	{0},
};

static const struct cl_exit unguarded_exits[] = {
	{0, "recorded"},
	{1, "refused: it is revoked, not signed by this hub, or claims nothing to enforce"},
	{0},
};

static const struct cl_example unguarded_examples[] = {
	{"cloop hub grant unguarded grant_187bd2 --reason 'lab cluster, monitor next sprint'",
		"deliver a kubeconfig whose namespaces nothing enforces", false},
	{0},
};

/* clang-format off */
#define KEY_VERBS \
	{.name = "grant unguarded", \
		.summary = "let a kubeconfig be delivered though nothing enforces its limits", \
		.opts = unguarded_opts, \
		.operands = unguarded_operands, \
		.exits = unguarded_exits, \
		.examples = unguarded_examples, \
		.run = KEY_RUN(unguarded)}, \
	{.name = "key status", \
		.summary = "show the keys, what is sealed under each and past rotations", \
		.examples = key_status_examples, \
		.run = KEY_RUN(status)}, \
	{.name = "key rotate", \
		.summary = "make a new key and wrap every row's data key under it", \
		.opts = key_rotate_opts, \
		.exits = key_rotate_exits, \
		.examples = key_rotate_examples, \
		.run = KEY_RUN(rotate)}, \
	{.name = "key retire", \
		.summary = "forget a key that nothing is sealed under", \
		.opts = key_retire_opts, \
		.operands = key_retire_operands, \
		.exits = key_retire_exits, \
		.examples = key_retire_examples, \
		.run = KEY_RUN(retire)}, \
	{.name = "key escrow export", \
		.summary = "seal the root key to a passphrase, to be kept elsewhere", \
		.opts = key_export_opts, \
		.examples = key_export_examples, \
		.run = KEY_RUN(escrow_export)}, \
	{.name = "key escrow import", \
		.summary = "restore the root key from its escrow, or check one", \
		.opts = key_import_opts, \
		.operands = key_import_operands, \
		.examples = key_import_examples, \
		.run = KEY_RUN(escrow_import)}
/* clang-format on */

#endif
