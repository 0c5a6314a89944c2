/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: secrettool lease DIR < GRANTS : builds a lease of the grants, an array of {id, secret,
 *            kind, constraints, payload[, unguarded, token]}, writes its files to DIR and
 *            prints {vars, materials, refused}
 *        secrettool scrub VALUES : standard input without the values, which are the lines of
 *            a file, and without what looks like a credential
 *        secrettool scrubbed VALUES MEGABYTES : how long scrubbing so much of generated text
 *            takes, and copying it; nanoseconds both
 */
#include "base/doc.h"
#include "base/mem.h"
#include "policy/secret/scrub.h"
#include "policy/secret/secret_lease.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	(void)fprintf(stderr, "secrettool: %s\n", what);
	exit(1);
}

static char *read_stdin(size_t *len)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	ssize_t n;

	while ((n = read(0, cl_buf_reserve(&b, 65536), 65536)) > 0)
		b.len += (size_t)n;
	*len = b.len;
	return cl_buf_detach(&b);
}

struct given {
	struct sec_subject subject;
	struct sec_constraints constraints;
	struct sec_grant grant;
};

static const char *text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static void give(struct given *g, struct sec_offer *o, json_t *j)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	json_t *c = json_object_get(j, "constraints");
	struct cl_err e;
	enum sec_kind k;

	if (sec_kind_parse(text(j, "kind"), &k, &e) || sec_subject_parse("any", &g->subject, &e) ||
		(c && sec_constraints_read(&d, c, &g->constraints, &e)) ||
		sec_constraints_check(k, &g->constraints, NULL, &e))
		die(e.msg);
	g->grant = (struct sec_grant){.id = text(j, "id"),
		.secret_id = "sec_0",
		.secret_name = text(j, "secret"),
		.kind = k,
		.subject = &g->subject,
		.constraints = &g->constraints,
		.unguarded = json_is_true(json_object_get(j, "unguarded"))};
	*o = (struct sec_offer){.grant = &g->grant,
		.payload = text(j, "payload"),
		.len = strlen(text(j, "payload")),
		.token = json_string_value(json_object_get(j, "token"))};
}

static void write_file(const char *dir, const struct sec_file *f)
{
	cleanup_free char *path = cl_asprintf("%s/%s", dir, f->name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, f->executable ? 0700 : 0600);

	if (fd < 0 || write(fd, f->data.p, f->data.len) != (ssize_t)f->data.len || close(fd))
		die(path);
}

static json_t *material_json(const char *dir, const struct sec_material *m)
{
	json_t *files = json_array();

	for (size_t i = 0; i < m->nfiles; i++) {
		write_file(dir, &m->files[i]);
		(void)json_array_append_new(files, json_string(m->files[i].name));
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "grant", m->grant_id, "secret", m->secret_name,
		"delivers", m->delivers.p, "files", files);
}

static void show(const char *dir, const struct sec_lease *l)
{
	json_t *vars = json_object(), *materials = json_array(), *refused = json_array(), *all;
	cleanup_free char *out = NULL;

	for (size_t i = 0; i < l->nvars; i++)
		(void)json_object_set_new(vars, l->vars[i].name, json_string(l->vars[i].value.p));
	for (size_t i = 0; i < l->nmaterials; i++)
		(void)json_array_append_new(materials, material_json(dir, &l->materials[i]));
	for (size_t i = 0; i < l->nrefused; i++)
		(void)json_array_append_new(
			refused, json_pack("{s:s, s:s}", "grant", l->refused[i].grant_id, "reason",
					 l->refused[i].error.msg));
	all = json_pack(
		"{s:o, s:o, s:o}", "vars", vars, "materials", materials, "refused", refused);
	out = cl_json_text(all);
	json_decref(all);
	(void)puts(out);
}

static int lease(const char *dir)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	cleanup_free char *in = NULL;
	struct sec_offer *offers;
	struct given *given;
	struct cl_err e;
	size_t len, n;

	in = read_stdin(&len);
	if (cl_doc_parse(&d, CL_DOC_JSON, "-", in, len, NULL, &e))
		die(e.msg);
	n = json_array_size(d.root);
	given = cl_calloc(n + 1, sizeof(*given));
	offers = cl_calloc(n + 1, sizeof(*offers));
	for (size_t i = 0; i < n; i++)
		give(&given[i], &offers[i], json_array_get(d.root, i));
	sec_lease_build(offers, n, 1700000000, &l);
	sec_lease_place(&l, "lease_0", dir);
	show(dir, &l);
	for (size_t i = 0; i < n; i++) {
		sec_subject_release(&given[i].subject);
		sec_constraints_release(&given[i].constraints);
	}
	free(given);
	free(offers);
	return 0;
}

static struct scrub *scrubber(const char *values)
{
	struct scrub *s = scrub_new(true);
	char line[4096];
	FILE *f = fopen(values, "re");

	if (!f)
		die(values);
	while (fgets(line, sizeof(line), f))
		(void)scrub_add(s, line, strlen(line));
	(void)fclose(f);
	return s;
}

static void write_out(const struct cl_buf *b)
{
	for (size_t at = 0; at < b->len;) {
		ssize_t n = write(1, b->p + at, b->len - at);

		if (n <= 0)
			die("cannot write");
		at += (size_t)n;
	}
}

static int scrub(const char *values)
{
	cleanup_scrub struct scrub *s = scrubber(values);
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	static char in[65536];
	ssize_t n;

	while ((n = read(0, in, sizeof(in))) > 0) {
		scrub_feed(s, in, (size_t)n, &out);
		write_out(&out);
		cl_buf_reset(&out);
	}
	scrub_flush(s, &out);
	write_out(&out);
	return 0;
}

static long long now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Lines as builds print them. */
static void logs(struct cl_buf *b)
{
	static const char *const words[] = {"info: compiling", "src/module_42.c",
		"warning: unused "
		"variable",
		"[ 57%]", "https://example.com/index.html", "0x7ffe12ab",
		"token bucket of "
		"the limiter",
		"linked in 0.42s", "sha256:9f86d081884c7d65", "ok"};

	for (unsigned i = 0; b->len < 1u << 20; i = i * 1103515245u + 12345u)
		cl_buf_addf(b, "%s%c", words[(i >> 16) % CL_ARRAY_LEN(words)], i % 7 ? ' ' : '\n');
}

static int scrubbed(const char *values, unsigned long megabytes)
{
	cleanup_scrub struct scrub *s = scrubber(values);
	cleanup_buf struct cl_buf text = CL_BUF_INIT, out = CL_BUF_INIT;
	long long start, scrubbing = 0, copying = 0;

	logs(&text);
	for (unsigned long i = 0; i < megabytes; i++) {
		for (size_t at = 0; at < text.len; at += 65536) {
			size_t n = text.len - at < 65536 ? text.len - at : 65536;

			cl_buf_reset(&out);
			start = now();
			scrub_feed(s, text.p + at, n, &out);
			scrubbing += now() - start;
			cl_buf_reset(&out);
			start = now();
			cl_buf_add(&out, text.p + at, n);
			copying += now() - start;
		}
	}
	(void)printf("%lld %lld\n", scrubbing, copying);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "lease"))
		return lease(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "scrub"))
		return scrub(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "scrubbed"))
		return scrubbed(argv[2], strtoul(argv[3], NULL, 10));
	die("usage: secrettool lease DIR | scrub VALUES | scrubbed VALUES MEGABYTES");
	return 1;
}
