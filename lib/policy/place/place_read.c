/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Placement requests out of their JSON: closed, bounded, and read without a tree, for a
 * fleet may have a hundred thousand executors.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/place_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 8

void pl_request_release(struct pl_request *r)
{
	for (size_t i = 0; i < r->nlists; i++)
		free(r->lists[i]);
	free(r->lists);
	free(r->v);
	cl_scan_release(&r->scan);
	*r = PL_REQUEST_INIT;
}

/* Memory that goes with the request; n is not 0. */
static void *keep(struct pl_request *r, const void *from, size_t n, size_t size)
{
	void *p = cl_malloc(n * size);

	memcpy(p, from, n * size);
	r->lists = cl_grow(r->lists, &r->lists_cap, r->nlists + 1, sizeof(*r->lists));
	r->lists[r->nlists++] = p;
	return p;
}

/* ---- values ---- */

static int word(struct cl_scan *s, const char *what, size_t max, const char **out, struct cl_err *e)
{
	if (cl_scan_string(s, what, out, e))
		return -1;
	if (strlen(*out) <= max)
		return 0;
	return cl_scan_fail(s, s->last, e, "%s is longer than %zu bytes", what, max);
}
/* A list of words, none of them empty. */
static int words(struct pl_request *r, const char *what, struct pl_words *out, struct cl_err *e)
{
	struct cl_scan *s = &r->scan;
	const char *v[PL_MAX_LIST];
	bool first = true, more;
	size_t n = 0;

	if (cl_scan_open(s, '[', what, e))
		return -1;
	for (;;) {
		if (cl_scan_item(s, &first, &more, e))
			return -1;
		if (!more)
			break;
		if (n == PL_MAX_LIST)
			return cl_scan_fail(
				s, s->at, e, "%s has more than %d entries", what, PL_MAX_LIST);
		if (word(s, what, PL_MAX_WORD, &v[n], e))
			return -1;
		if (!*v[n++])
			return cl_scan_fail(s, s->last, e, "%s has an empty entry", what);
	}
	*out = (struct pl_words){n ? keep(r, v, n, sizeof(v[0])) : NULL, n};
	return 0;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct pl_label *)a)->key, ((const struct pl_label *)b)->key);
}

/* By key: the members of an object have no order, so an answer must not follow the text's. */
static int labels(struct pl_request *r, struct pl_labels *out, struct cl_err *e)
{
	struct cl_scan *s = &r->scan;
	struct pl_label v[PL_MAX_LIST];
	bool first = true;
	size_t n = 0;

	if (cl_scan_open(s, '{', "labels", e))
		return -1;
	for (;;) {
		const char *key;

		if (cl_scan_key(s, &first, &key, e))
			return -1;
		if (!key)
			break;
		if (n == PL_MAX_LIST)
			return cl_scan_fail(
				s, s->last, e, "labels has more than %d entries", PL_MAX_LIST);
		if (!*key || strlen(key) > PL_MAX_WORD)
			return cl_scan_fail(
				s, s->last, e, "a label's name has 1 to %d bytes", PL_MAX_WORD);
		for (size_t i = 0; i < n; i++)
			if (!strcmp(v[i].key, key))
				return cl_scan_fail(
					s, s->last, e, "the label '%.80s' stands twice", key);
		v[n].key = key;
		if (word(s, "a label's value", PL_MAX_WORD, &v[n++].value, e))
			return -1;
	}
	qsort(v, n, sizeof(v[0]), by_key);
	*out = (struct pl_labels){n ? keep(r, v, n, sizeof(v[0])) : NULL, n};
	return 0;
}

/* The index of a word in a closed list. */
static int choice(struct cl_scan *s, const char *what, const char *const *list, size_t n,
	unsigned *out, struct cl_err *e)
{
	const char *text, *near;

	if (cl_scan_string(s, what, &text, e))
		return -1;
	for (*out = 0; *out < n; ++*out)
		if (!strcmp(list[*out], text))
			return 0;
	(void)cl_scan_fail(s, s->last, e, "%s '%.80s' is none that there is", what, text);
	near = cl_nearest(text, list, n);
	return near ? cl_fix(e, "did you mean '%s'?", near)
		    : cl_fix(e, "it is one of cloop-place(1)'s");
}

/* ---- closed objects ---- */

/* A key and what reads its value into the thing at hand. */
struct field {
	const char *key;
	int (*read)(struct pl_request *r, const char *key, void *at, struct cl_err *e);
	size_t offset;
};

static int unknown(const struct cl_scan *s, size_t at, const char *where, const char *key,
	const struct field *f, size_t n, struct cl_err *e)
{
	const char *known[64], *near;

	for (size_t i = 0; i < n; i++)
		known[i] = f[i].key;
	near = cl_nearest(key, known, n);
	(void)cl_scan_fail(s, at, e, "%s has no key '%.80s'", where, key);
	if (near)
		return cl_fix(e, "did you mean '%s'?", near);
	return cl_fix(e, "cloop-place(1) lists the keys");
}

/*
 * Reads an object whose keys are f[0..n); *seen gets a bit for each that has a value. A null
 * is as if the key were not there.
 */
static int object(struct pl_request *r, const char *where, const struct field *f, size_t n,
	void *base, uint64_t *seen, struct cl_err *e)
{
	struct cl_scan *s = &r->scan;
	uint64_t keys = 0;
	bool first = true;
	size_t k = n;

	*seen = 0;
	if (cl_scan_open(s, '{', where, e))
		return -1;
	for (;;) {
		const char *key;

		if (cl_scan_key(s, &first, &key, e))
			return -1;
		if (!key)
			return 0;
		/* Keys mostly come in the order of the table. */
		k = k + 1 < n && !strcmp(f[k + 1].key, key) ? k + 1 : 0;
		while (k < n && strcmp(f[k].key, key) != 0)
			k++;
		if (k == n)
			return unknown(s, s->last, where, key, f, n, e);
		if (keys & UINT64_C(1) << k)
			return cl_scan_fail(s, s->last, e, "%s has the key '%s' twice", where, key);
		keys |= UINT64_C(1) << k;
		if (cl_scan_peek(s) == CL_SCAN_NULL) {
			if (cl_scan_skip(s, e))
				return -1;
			continue;
		}
		*seen |= UINT64_C(1) << k;
		if (f[k].read(r, key, (char *)base + f[k].offset, e)) {
			return -1;
		}
	}
}

static int read_word(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	return word(&r->scan, key, PL_MAX_WORD, at, e);
}

/* What a probe or a person wrote about it. */
static int read_text(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	return word(&r->scan, key, 4 * PL_MAX_WORD, at, e);
}

/* An id is printed, typed and compared: no blanks, nothing that is not printable ASCII. */
static int read_id(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	const char **out = at;

	if (word(&r->scan, key, PL_MAX_ID, out, e))
		return -1;
	for (const char *p = *out; *p; p++)
		if (*p < 0x21 || *p > 0x7e)
			return cl_scan_fail(&r->scan, r->scan.last, e,
				"%s '%.80s' holds a byte that is not printable ASCII, or a blank",
				key, *out);
	return **out ? 0 : cl_scan_fail(&r->scan, r->scan.last, e, "%s is empty", key);
}

static int read_int(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	return cl_scan_int(&r->scan, key, 0, INT64_C(1) << 40, at, e);
}

static int read_bool(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	return cl_scan_bool(&r->scan, key, at, e);
}

static int read_words(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	return words(r, key, at, e);
}

static int read_labels(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	(void)key;
	return labels(r, at, e);
}

/* ---- a candidate ---- */

static int read_health(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	const char *names[PL_NHEALTHS];
	unsigned i;

	for (i = 0; i < PL_NHEALTHS; i++)
		names[i] = pl_health_name((enum pl_health)i);
	if (choice(&r->scan, key, names, PL_NHEALTHS, &i, e))
		return -1;
	*(enum pl_health *)at = (enum pl_health)i;
	return 0;
}

static int read_standing(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	static const char *const names[PL_NSTANDINGS] = {"unverified", "verified", "contradicted"};
	unsigned i;

	if (choice(&r->scan, key, names, PL_NSTANDINGS, &i, e))
		return -1;
	*(enum pl_standing *)at = (enum pl_standing)i;
	return 0;
}

#define AT(m) offsetof(struct pl_candidate, m)

static int read_evidence(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	static const struct field f[] = {{"standing", read_standing, AT(standing)},
		{"verdict", read_word, AT(verdict)}, {"detail", read_text, AT(evidence)},
		{"at", read_word, AT(evidence_at)}};
	uint64_t seen;

	return object(r, key, f, CL_ARRAY_LEN(f), at, &seen, e);
}

static int read_caps(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	(void)key;
	return cap_read(&r->scan, at, e);
}

/* What stands beside the capabilities is the operator's, and counts before the driver's. */
struct beside {
	struct pl_candidate c;
	int64_t max_concurrent;
	const char *platform, *arch;
};
#define BESIDE(m) offsetof(struct beside, m)

static const struct field candidate_fields[] = {
	{"executor_id", read_id, AT(executor_id)},
	{"kind", read_word, AT(kind)},
	{"health", read_health, AT(health)},
	{"health_reason", read_text, AT(health_reason)},
	{"health_fix", read_text, AT(health_fix)},
	{"labels", read_labels, AT(labels)},
	{"harnesses", read_words, AT(harnesses)},
	{"container_runtimes", read_words, AT(runtimes)},
	{"memory_mb", read_int, AT(memory_mb)},
	{"in_flight", read_int, AT(in_flight)},
	{"in_flight_known", read_bool, AT(in_flight_known)},
	{"max_concurrent", read_int, BESIDE(max_concurrent)},
	{"platform", read_word, BESIDE(platform)},
	{"arch", read_word, BESIDE(arch)},
	{"build", read_word, AT(build)},
	{"evidence", read_evidence, 0},
	{"capabilities", read_caps, AT(caps)},
};

static int candidate(struct pl_request *r, struct cl_err *e)
{
	struct beside b = {PL_CANDIDATE_INIT, -1, NULL, NULL};
	struct pl_candidate *c = &b.c;
	uint64_t seen;

	if (object(r, "a candidate", candidate_fields, CL_ARRAY_LEN(candidate_fields), &b, &seen,
		    e))
		return -1;
	if (!*c->executor_id)
		return cl_scan_fail(&r->scan, r->scan.at, e, "a candidate has no executor_id");
	if (b.max_concurrent >= 0)
		c->caps.max_concurrent = b.max_concurrent;
	if (b.platform)
		c->caps.platform = b.platform;
	if (b.arch)
		c->caps.arch = b.arch;
	c->release = pl_release(c->build);
	r->v = cl_grow(r->v, &r->cap, r->n + 1, sizeof(*r->v));
	r->v[r->n++] = *c;
	return 0;
}

static int read_candidates(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	bool first = true, more;

	(void)at;
	if (cl_scan_open(&r->scan, '[', key, e))
		return -1;
	for (;;) {
		if (cl_scan_item(&r->scan, &first, &more, e))
			return -1;
		if (!more)
			return 0;
		if (r->n + r->nulls == PL_MAX_CANDIDATES)
			return cl_scan_fail(&r->scan, r->scan.at, e, "more than %d candidates",
				PL_MAX_CANDIDATES);
		if (cl_scan_peek(&r->scan) == CL_SCAN_NULL) {
			r->nulls++;
			if (cl_scan_skip(&r->scan, e))
				return -1;
		} else if (candidate(r, e)) {
			return -1;
		}
	}
}

/* ---- what is asked ---- */

#undef AT
#define AT(m) offsetof(struct pl_requirements, m)

static int read_isolations(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	struct pl_words w;
	uint32_t *bits = at;

	if (words(r, key, &w, e))
		return -1;
	for (size_t i = 0; i < w.n; i++) {
		enum cap_isolation x;

		if (!cap_isolation_find(w.v[i], &x))
			return cl_scan_fail(&r->scan, r->scan.last, e,
				"%s: '%.80s' is no isolation: none, container, vm or remote", key,
				w.v[i]);
		*bits |= UINT32_C(1) << x;
	}
	return 0;
}

static int read_need(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	uint32_t *needs = at;
	unsigned i = 0;
	bool yes;

	if (cl_scan_bool(&r->scan, key, &yes, e))
		return -1;
	while (strcmp(pl_need_name((enum pl_need)i), key) != 0)
		i++;
	*needs |= yes ? PL_NEED_BIT(i) : 0;
	return 0;
}

static int read_requirements(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	struct field f[9 + PL_NNEEDS] = {
		{"executor_id", read_id, AT(executor_id)},
		{"labels", read_labels, AT(labels)},
		{"harnesses", read_words, AT(harnesses)},
		{"platform", read_word, AT(platform)},
		{"arch", read_word, AT(arch)},
		{"min_memory_mb", read_int, AT(min_memory_mb)},
		{"allowed_isolations", read_isolations, AT(isolations)},
		{"forbid_degraded", read_bool, AT(forbid_degraded)},
		{"ignore_capacity", read_bool, AT(ignore_capacity)},
	};
	uint64_t seen;

	for (unsigned i = 0; i < PL_NNEEDS; i++)
		f[9 + i] = (struct field){pl_need_name((enum pl_need)i), read_need, AT(needs)};
	return object(r, key, f, CL_ARRAY_LEN(f), at, &seen, e);
}

#undef AT
#define AT(m) offsetof(struct pl_policy, m)

static int read_evidence_policy(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	static const char *const names[] = {"warn", "required"};
	unsigned i;

	if (choice(&r->scan, key, names, 2, &i, e))
		return -1;
	*(bool *)at = i == 1;
	return 0;
}

static int read_floor(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	const char *text;

	if (word(&r->scan, key, PL_MAX_WORD, &text, e))
		return -1;
	*(uint64_t *)at = pl_release(text);
	if (*text && !pl_release(text))
		return cl_scan_fail(&r->scan, r->scan.last, e,
			"%s '%.80s' is no release such as v0.2.0", key, text);
	return 0;
}

static int read_policy(struct pl_request *r, const char *key, void *at, struct cl_err *e)
{
	static const struct field f[] = {
		{"allow_host_process", read_bool, AT(allow_host_process)},
		{"isolation_evidence", read_evidence_policy, AT(evidence_required)},
		{"min_agent_build", read_floor, AT(floor)},
	};
	uint64_t seen;

	return object(r, key, f, CL_ARRAY_LEN(f), at, &seen, e);
}

/* ---- the whole ---- */

static int by_id(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int no_twins(const struct pl_request *r, struct cl_err *e)
{
	cleanup_free const char **ids = cl_calloc(r->n + 1, sizeof(const char *));

	for (size_t i = 0; i < r->n; i++)
		ids[i] = r->v[i].executor_id;
	qsort(ids, r->n, sizeof(*ids), by_id);
	for (size_t i = 1; i < r->n; i++) {
		if (strcmp(ids[i - 1], ids[i]) != 0)
			continue;
		(void)cl_fail(e, CL_EDATA, "two candidates have the executor_id '%s'", ids[i]);
		(void)cl_fix(e, "an executor is one candidate: give each id once");
		return cl_at(e, r->scan.name, 0, 0);
	}
	return 0;
}

int pl_request_read(
	const char *name, char *text, size_t len, struct pl_request *out, struct cl_err *e)
{
	static const struct field f[] = {
		{"candidates", read_candidates, 0},
		{"requirements", read_requirements, offsetof(struct pl_request, requirements)},
		{"policy", read_policy, offsetof(struct pl_request, policy)},
	};
	uint64_t seen;

	cl_scan_start(&out->scan, name, text, len, DEPTH);
	if (object(out, "the request", f, CL_ARRAY_LEN(f), out, &seen, e) ||
		cl_scan_end(&out->scan, e))
		return -1;
	if (!(seen & 1)) {
		(void)cl_scan_fail(&out->scan, 0, e, "the request has no candidates");
		return cl_fix(e, "give {\"candidates\": [...], \"requirements\": {...}}");
	}
	return no_twins(out, e);
}
