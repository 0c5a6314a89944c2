/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request for a sandbox out of hostile words, a NUL between. What is accepted keeps its
 * shape: every word before the image is one of the engine's flags, the forced ones are
 * there, and the command stands behind the second "--" as it was given. And whatever an
 * engine could have written is told without a control character.
 */
#include "policy/sandbox/container.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int yes)
{
	if (!yes)
		abort();
}

static const char *const forced[] = {"--cap-drop=ALL", "--security-opt=no-new-privileges",
	"--read-only", "--pull=never", "--pids-limit=1024", "--user=1000:1000", "--ipc=private"};

static void check_shape(const struct ct_request *r, const struct cl_strv *v)
{
	size_t i, run = 0;

	for (i = 1; i < v->n && strcmp(v->v[i], "--") != 0; i++) {
		run += !strcmp(v->v[i], "run");
		must(cl_starts(v->v[i], "--") || !strcmp(v->v[i], "run"));
		must(!cl_starts(v->v[i], "--privileged") && !cl_starts(v->v[i], "--cap-add"));
	}
	must(run == 1 && i + 2 + r->nargv < v->n);
	must(!strcmp(v->v[i + 1], r->image) && !strcmp(v->v[i + 2], "--"));
	for (size_t k = 0; k < r->nargv; k++)
		must(!strcmp(v->v[i + 3 + k], r->argv[k]));
	must(i + 3 + r->nargv == v->n);
	for (size_t k = 0; k < CL_ARRAY_LEN(forced); k++)
		must(cl_strv_has(v, forced[k]));
}

static void one_request(const struct cl_strv *w)
{
	cleanup_strv struct cl_strv v = CL_STRV_INIT;
	const char *word[12];
	struct ct_mount mount = {0};
	struct ct_label label = {0};
	struct cl_err e;
	struct ct_request r = {.mode = CT_DETACHED, .uid = 1000, .gid = 1000, .init_dir = "/i"};

	for (size_t i = 0; i < CL_ARRAY_LEN(word); i++)
		word[i] = w->n ? w->v[i % w->n] : "";
	r.name = word[0];
	r.image = word[1];
	r.workspace = word[2];
	r.oci_runtime = *word[3] ? word[3] : NULL;
	r.net = w->n % 2 ? CT_NET_NAMED : CT_NET_NONE;
	r.network = word[4];
	r.hostname = *word[5] ? word[5] : NULL;
	mount.source = word[6];
	mount.target = word[7];
	label.key = word[8];
	label.value = word[9];
	r.mounts = &mount;
	r.nmounts = w->n % 3 == 0;
	r.labels = &label;
	r.nlabels = w->n % 5 == 0;
	r.extra_args = &word[10];
	r.nextra = w->n % 7 == 0;
	r.env = &word[11];
	r.nenv = w->n % 11 == 0;
	r.argv = word;
	r.nargv = CL_ARRAY_LEN(word);
	if (!ct_argv(&r, &v, &e))
		check_shape(&r, &v);
	else
		must(!v.n && e.msg[0]);
}

static void one_text(const char *text)
{
	char slug[33];
	struct cl_err e;
	cleanup_free char *name = ct_name(text, "c-0123456789ab"), *value = ct_label_value(text);
	cleanup_free char *key = ct_label_spec_key(text);

	ct_slug(text, slug);
	must(ct_name_ok(name) && strlen(value) <= 256 && ct_label_key_ok(key));
	(void)ct_classify(CT_DOCKER, "x", 1, text, NULL, &e);
	for (const char *p = e.msg; *p; p++)
		must((unsigned char)*p >= 0x20 && *p != 0x7f);
	if (ct_path_ok(text))
		must(*text == '/' && !strstr(text, "/../"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_strv struct cl_strv words = CL_STRV_INIT;
	size_t start = 0;

	for (size_t i = 0; i <= size; i++) {
		if (i < size && data[i])
			continue;
		cl_strv_addn(&words, (const char *)data + start, i - start);
		start = i + 1;
	}
	one_request(&words);
	for (size_t i = 0; i < words.n && i < 16; i++)
		one_text(words.v[i]);
	return 0;
}
