/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cosign(1) by its arguments: facts/executors.md 2.3. */
#include "verify.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/proc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONE_MS 120000

static const char install[] = "install cosign (docs.sigstore.dev), or name it as "
			      "sandbox.registry.cosign; a key in a file "
			      "needs none";

/* Ours, which is closed already, and how registries are reached; owned by *out. */
static void environment(const struct client *c, struct cl_strv *out)
{
	for (char **p = environ; *p; p++)
		if (!cl_starts(*p, "CLOOP_") && !cl_starts(*p, "PATH="))
			cl_strv_add(out, *p);
	cl_strv_add(out, "PATH=" SYS_PATH);
	if (c->auth_file)
		cl_strv_addf(out, "REGISTRY_AUTH_FILE=%s", c->auth_file);
	if (c->proxy)
		cl_strv_addf(out, "HTTPS_PROXY=%s", c->proxy);
}

/* The last line that says something: cosign ends with what went wrong. */
static char *last_line(const struct sys_run *r)
{
	const struct cl_buf *b = r->err.len ? &r->err : &r->out;
	cleanup_strv struct cl_strv lines = CL_STRV_INIT;

	cl_split(b->p, '\n', &lines);
	for (size_t i = lines.n; i > 0; i--) {
		cleanup_free char *line = cl_trim_dup(lines.v[i - 1]);

		if (*line)
			return cl_steal(&line);
	}
	return cl_asprintf("it ended with status %d and said nothing", r->status);
}

/*
 * What its no means: by its status (cosign's doc/cosign_exit_codes.md), and where a release has none
 * for it, by its words, which stand before a line for each signature. Whatever else it says, it
 * could not tell.
 */
static enum verify_flaw flaw_of(int status, const char *said)
{
	static const struct {
		int status;
		const char *words;
		enum verify_flaw flaw;
	} known[] = {
		/* First: what it quotes of a signature is the words of who made that. */
		{12, "no matching signatures", VERIFY_WRONG},
		{13, "no certificate found on signature", VERIFY_WRONG},
		{10, "no signatures found", VERIFY_MISSING},
		{11, NULL, VERIFY_MISSING}, /* no such tag: the place of signatures is one */
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(known); i++)
		if (status == known[i].status)
			return known[i].flaw;
	for (size_t i = 0; status == 1 && i < CL_ARRAY_LEN(known); i++)
		if (known[i].words && strstr(said, known[i].words))
			return known[i].flaw;
	return VERIFY_UNCHECKED;
}

/* True when it says yes. `who` is for the reason. */
static bool run(struct verify *v, const char *program, const char *const *trust, const char *who)
{
	cleanup_buf struct cl_buf ref = CL_BUF_INIT;
	cleanup_strv struct cl_strv argv = CL_STRV_INIT, env = CL_STRV_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_free char *said = NULL;
	struct cl_err e;

	ir_canonical(&v->c.ref, &ref);
	cl_strv_add(&argv, "cosign");
	cl_strv_add(&argv, "verify");
	for (; *trust; trust++)
		cl_strv_add(&argv, *trust);
	cl_strv_add(&argv, "--output");
	cl_strv_add(&argv, "text");
	cl_strv_add(&argv, "--");
	cl_strv_add(&argv, ref.p);
	environment(&v->c, &env);
	r.spawn.path = program;
	r.spawn.argv = argv.v;
	r.spawn.envp = env.v;
	r.spawn.new_session = true;
	r.spawn.die_with_parent = true;
	r.timeout_ms = ONE_MS;
	r.max_output = (size_t)1 << 20;
	r.keep_tail = true;
	if (sys_run(&r, &e)) {
		verify_note(v, VERIFY_UNCHECKED, e.fix, "cosign for %s: %s", who, e.msg);
		return false;
	}
	if (!r.status)
		return true;
	said = last_line(&r);
	cl_mask(said, "");
	verify_note(v, flaw_of(r.status, r.err.p),
		"see what cosign says: cosign verify, with the same key or identity",
		"cosign for %s: %.300s", who, said);
	return false;
}

/* How many it is to be asked about. */
static size_t wanted(const struct verify *v, bool found)
{
	size_t n = json_array_size(v->identities);

	for (size_t i = 0; i < v->nkeys; i++)
		n += v->keys[i].remote || !found;
	return n;
}

bool verify_by_cosign(struct verify *v, bool found, const char **who)
{
	cleanup_free char *program = NULL;
	const json_t *o;
	size_t i;

	if (!wanted(v, found))
		return false;
	program = v->c.cosign ? cl_strdup(v->c.cosign) : sys_find_program("cosign");
	if (!program || access(program, X_OK)) {
		/* For files alone it is only another way to look. */
		if (json_array_size(v->identities) || v->c.cosign)
			verify_note(v, VERIFY_UNCHECKED, install,
				"%s is not there to check the rest", program ? program : "cosign");
		return false;
	}
	for (i = 0; i < v->nkeys; i++) {
		*who = v->keys[i].path;
		if ((v->keys[i].remote || !found) &&
			run(v, program, (const char *const[]){"--key", *who, NULL}, *who))
			return true;
	}
	json_array_foreach (v->identities, i, o) {
		const char *issuer = json_string_value(json_object_get(o, "issuer"));
		const char *subject = json_string_value(json_object_get(o, "subject_regexp"));

		*who = subject;
		if (run(v, program,
			    (const char *const[]){"--certificate-oidc-issuer", issuer,
				    "--certificate-identity-regexp", subject, NULL},
			    subject))
			return true;
	}
	return false;
}
