/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What GitHub says of an App: where it is installed, and what an installation has. */
#include "base/mem.h"
#include "policy/secret/secret_github.h"
#include "secret.h"
#include "work/token.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct app {
	struct cl_ctx *ctx;
	struct keyed k;
	const char *name; /* of the secret; "": not stored */
	char *id;         /* of the secret, or NULL */
	struct seal_buf payload;
	uint64_t installation_id; /* of the payload; 0: it names none */
	json_t *answer;
};

static void app_release(struct app *a)
{
	json_decref(a->answer);
	seal_buf_release(&a->payload);
	free(a->id);
	keyed_release(&a->k);
}
#define APP_INIT(c) \
	((struct app){.ctx = (c), .k = KEYED_INIT, .name = "", .payload = SEAL_BUF_INIT})
#define cleanup_app __attribute__((cleanup(app_release)))

static int read_file(struct app *a, const char *file, struct cl_err *e)
{
	if (!strcmp(file, "-") && isatty(STDIN_FILENO)) {
		(void)cl_fail(e, CL_EUSAGE,
			"standard input is a terminal, which would show what is typed");
		return cl_fix(e, "name the file, or pipe it in");
	}
	return seal_read_file(file, SEC_PAYLOAD_MAX, &a->payload, e);
}

static int open_stored(struct app *a, const char *ref, struct cl_err *e)
{
	cleanup_secret_row struct store_secret row = STORE_SECRET_INIT;

	if (secret_find(&a->k, ref, &row, e))
		return -1;
	if (strcmp(row.kind, "github_app") != 0) {
		(void)cl_fail(e, CL_EDATA, "the secret '%s' is a %s and no github_app", row.name,
			row.kind);
		return cl_fix(e, "cloop secret list");
	}
	a->id = cl_strdup(row.id);
	return secret_open(&a->k, &row, &a->payload, e);
}

/* Which one the payload names; a broken one is told before anybody is asked. */
static int look(struct app *a, bool installed, struct cl_err *e)
{
	cleanup_github_app struct sec_github_app app = SEC_GITHUB_APP_INIT;
	const char *text = (const char *)a->payload.p;
	size_t len = a->payload.len;

	if (installed ? sec_github_app_read(text, len, &app, e)
		      : sec_github_app_seek(text, len, &app, e))
		return -1;
	a->installation_id = app.installation_id;
	return 0;
}

static json_t *about(const struct app *a, const char *what)
{
	json_t *o = json_pack("{s:s, s:s}", "kind", "github_app", "asked", what);

	if (*a->name)
		(void)json_object_set_new(o, "secret_name", cl_json_string(a->name));
	if (a->id)
		(void)json_object_set_new(o, "secret_id", json_string(a->id));
	return o;
}

/* A token that was asked for on the way and is not destroyed is told of, whatever came of it. */
static int discover(struct app *a, enum forge_list what, struct cl_err *e)
{
	cleanup_forge_lefts struct forge_lefts left = FORGE_LEFTS_INIT;
	const struct token_of of = {"", a->id ? a->id : "", a->name};
	cleanup_strv struct cl_strv notes = CL_STRV_INIT;
	int rc = forge_discover(&a->k, what, a->name, (const char *)a->payload.p, a->payload.len,
		&a->answer, &left, e);

	token_keep_left(&a->k, &left, &of, &notes);
	for (size_t i = 0; i < notes.n; i++)
		cl_warn(a->ctx, "%s", notes.v[i]);
	return rc;
}

static int ask(struct app *a, enum forge_list what, const char *word, struct cl_err *e)
{
	const char *file = cl_str(a->ctx, "file"), *ref = cl_operand(a->ctx, 0);

	if (!file == !ref)
		return cl_usage(
			a->ctx, e, "name a secret, or a file that is not stored with --file");
	if (ref ? keyed_open(a->ctx, &a->k, e) : keyed_without(a->ctx, STORE_RW, &a->k, e))
		return -1;
	a->name = ref ? ref : "";
	if ((ref ? open_stored(a, ref, e) : read_file(a, file, e)) ||
		look(a, what == FORGE_REPOSITORIES, e))
		return -1;
	if (discover(a, what, e))
		return secret_deny(
			&a->k, "secret.access_check", a->id ? a->id : "", about(a, word), e);
	return keyed_audit(
		&a->k, "secret.access_check", "secret", a->id ? a->id : "", about(a, word), e);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void print_all(struct cl_table *t)
{
	cl_table_print(t, stdout);
	cl_table_release(t);
}

static void add_number(struct cl_table *t, const json_t *o, const char *key)
{
	cleanup_free char *text =
		cl_asprintf("%lld", (long long)json_integer_value(json_object_get(o, key)));

	cl_table_add(t, text);
}

/* ---- installations ---- */

static void add_installation(struct cl_table *t, const json_t *o)
{
	const char *since = text_of(o, "suspended_at");
	cleanup_free char *state =
		*since ? cl_asprintf("suspended since %s", since) : cl_strdup("active");

	add_number(t, o, "installation_id");
	cl_table_add(t, text_of(o, "account"));
	cl_table_add(t, text_of(o, "type"));
	cl_table_add(t, text_of(o, "repositories"));
	cl_table_add(t, state);
}

static void print_installations(const struct app *a, const json_t *list)
{
	static const char *const heads[] = {
		"INSTALLATION", "ACCOUNT", "TYPE", "REPOSITORIES", "STATE"};
	struct cl_table t;
	bool found = false;
	const json_t *o;
	size_t i;

	cl_table_init(&t, CL_ARRAY_LEN(heads));
	for (i = 0; i < CL_ARRAY_LEN(heads); i++)
		cl_table_add(&t, heads[i]);
	json_array_foreach (list, i, o) {
		add_installation(&t, o);
		found = found || (uint64_t)json_integer_value(json_object_get(
					 o, "installation_id")) == a->installation_id;
	}
	print_all(&t);
	(void)printf("\n%zu installation(s)%s\n", json_array_size(list),
		!a->installation_id ? ""
		: found             ? ""
				    : ", and none of them is the one that the secret names");
}

int cmd_secret_app_installations(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_app struct app a = APP_INIT(c);
	const json_t *list;
	json_t *o;
	size_t i;

	if (ask(&a, FORGE_INSTALLATIONS, "installations", e))
		return -1;
	list = json_object_get(a.answer, "installations");
	if (json_is_true(json_object_get(a.answer, "more")))
		cl_warn(c,
			"there may be more installations than these %zu, and no more are looked "
			"through",
			json_array_size(list));
	if (!c->json)
		print_installations(&a, list);
	else
		json_array_foreach (list, i, o)
			cl_take_json(json_incref(o));
	return 0;
}

/* ---- repositories ---- */

static void print_repositories(const json_t *list)
{
	static const char *const heads[] = {"ID", "REPOSITORY", "VISIBILITY"};
	struct cl_table t;
	const json_t *o;
	size_t i;

	cl_table_init(&t, CL_ARRAY_LEN(heads));
	for (i = 0; i < CL_ARRAY_LEN(heads); i++)
		cl_table_add(&t, heads[i]);
	json_array_foreach (list, i, o) {
		add_number(&t, o, "repository_id");
		cl_table_add(&t, text_of(o, "full_name"));
		cl_table_add(
			&t, json_is_true(json_object_get(o, "private")) ? "private" : "public");
	}
	print_all(&t);
	(void)printf("\n%zu repository(s)\n", json_array_size(list));
}

int cmd_secret_app_repositories(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_app struct app a = APP_INIT(c);
	const json_t *list;
	json_t *o;
	size_t i;

	if (ask(&a, FORGE_REPOSITORIES, "repositories", e))
		return -1;
	list = json_object_get(a.answer, "repositories");
	if (!c->json)
		print_repositories(list);
	else
		json_array_foreach (list, i, o)
			cl_take_json(json_incref(o));
	return 0;
}
