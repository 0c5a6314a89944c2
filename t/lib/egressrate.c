/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What egress policies cost, in processor time of this process:
 *
 *	egressrate checks POLICY            microseconds a thousand questions, in the library
 *	egressrate compile POLICY           microseconds to compile and flatten it
 *	egressrate load POLICY BRIDGE       microseconds to make it the kernel's, compiling included
 *	egressrate replace P1 P2 BRIDGE     an object: P2 in the place of P1, beside P1 into nothing
 *
 * POLICY is a file of JSON. Each is the best of some rounds: what else runs on the machine makes a
 * round slower, never faster. What is compared are the two of a round, and printed is the median
 * of their ratios.
 */
#include "alone.h"
#include "base/doc.h"
#include "base/mem.h"
#include "policy/flat/flat.h"
#include "sys/nft/nft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUESTIONS (1 << 21)
#define A_BLOCK   (1 << 15)
#define ROUNDS    25
#define LOADS     11
#define LOADED    "cloop_sbx_preview"

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void die(const char *what)
{
	(void)fprintf(stderr, "egressrate: %s\n", what);
	exit(1);
}

static uint32_t seed = 7;

static uint32_t chance(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 4;
}

static void read_auth(const char *path, struct eg_auth *a)
{
	static const struct cl_doc_limits limits = {
		.max_bytes = 32u << 20, .nodes = 2 * EG_MAX_CIDRS_FILE + 65536};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	FILE *f = fopen(path, "re");
	struct cl_err e;
	size_t n;

	if (!f)
		die(path);
	while ((n = fread(cl_buf_reserve(&text, 65536), 1, 65536, f)))
		text.len += n;
	(void)fclose(f);
	cl_buf_addc(&text, '\0');
	a->max_cidrs = EG_MAX_CIDRS_FILE;
	if (cl_doc_parse(&d, CL_DOC_JSON, path, text.p, text.len - 1, &limits, &e) ||
		eg_auth_read(&d, d.root, a, &e))
		die(e.msg);
}

static void compile(const struct eg_auth *a, struct eg_policy *p)
{
	struct cl_err e;

	if (eg_compile(a, p, &e))
		die(e.msg);
}

/* An address of one of the ranges, or close behind it. */
static struct pol_addr near(const struct eg_auth *a)
{
	const struct pol_prefix *p = &a->allow[chance() % a->nallow];
	struct pol_addr to = p->addr;
	uint32_t more = chance();

	to.b[(p->len - 1) / 8] |= (uint8_t)(more & 1);
	to.b[pol_bits(to.family) / 8 - 1] = (uint8_t)(more >> 1);
	return to;
}

static int checks(const struct eg_auth *a)
{
	static const uint16_t ports[] = {443, 80, 22, 53};
	cleanup_free struct eg_question *q = cl_calloc(QUESTIONS, sizeof(*q));
	cleanup_free bool *yes = cl_calloc(A_BLOCK, sizeof(*yes));
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_flat struct flat f = FLAT_INIT;
	size_t allowed = 0;
	double best = 0;

	compile(a, &p);
	flat_build(&p, true, &f);
	for (size_t i = 0; i < QUESTIONS; i++)
		q[i] = (struct eg_question){.to = {near(a), ports[i % 4]}, .proto = EG_PROTO_TCP};
	for (size_t i = 0; i < QUESTIONS; i += A_BLOCK) {
		double start = now_us(), took;

		flat_allows_all(&f, q + i, A_BLOCK, yes);
		took = now_us() - start;
		for (size_t k = 0; k < A_BLOCK; k++)
			allowed += yes[k];
		best = i && best < took ? best : took;
	}
	if (!allowed || allowed == QUESTIONS)
		die("the questions have one answer");
	(void)printf("%.3f\n", best / A_BLOCK * 1000);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int compiling(const struct eg_auth *a)
{
	double took[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
		cleanup_flat struct flat f = FLAT_INIT;
		double start = now_us();

		compile(a, &p);
		flat_build(&p, true, &f);
		took[i] = now_us() - start;
	}
	qsort(took, ROUNDS, sizeof(*took), by_value);
	(void)printf("%.0f\n", took[0]);
	return 0;
}

/* Until the table is the kernel's, and what it stood for is handed over to be freed. */
static double load_one(const struct eg_auth *a, const char *bridge)
{
	const struct nft_filter to = {.table = LOADED, .bridge = bridge};
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	double start = now_us();
	struct cl_err e;

	compile(a, &p);
	if (nft_apply(&to, &p, &e))
		die(e.msg);
	return now_us() - start;
}

static void unload(void)
{
	struct cl_err e;

	if (nft_remove(LOADED, &e))
		die(e.msg);
	/* A worker of the kernel's frees it, and would be at it in the next round. */
	(void)usleep(100000);
}

static int load(const struct eg_auth *a, const char *bridge)
{
	double took[LOADS];

	for (int i = 0; i < LOADS; i++) {
		took[i] = load_one(a, bridge);
		unload();
	}
	qsort(took, LOADS, sizeof(*took), by_value);
	(void)printf("%.0f\n", took[0]);
	return 0;
}

static int replace(const struct eg_auth *before, const struct eg_auth *after, const char *bridge)
{
	double load[LOADS], more[LOADS], ratio[LOADS], took;

	be_alone();
	for (int i = 0; i < LOADS; i++) {
		load[i] = load_one(before, bridge);
		took = load_one(after, bridge);
		more[i] = took - load[i];
		ratio[i] = took / load[i];
		unload();
	}
	qsort(load, LOADS, sizeof(*load), by_value);
	qsort(more, LOADS, sizeof(*more), by_value);
	qsort(ratio, LOADS, sizeof(*ratio), by_value);
	(void)printf("{\"ours_us\":%.0f,\"peer_us\":%.0f,\"ratio\":%.2f}\n",
		load[LOADS / 2] + more[LOADS / 2], load[LOADS / 2], ratio[LOADS / 2]);
	return 0;
}

int main(int argc, char **argv)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT, after = EG_AUTH_INIT;

	if (argc == 3 && !strcmp(argv[1], "checks")) {
		read_auth(argv[2], &a);
		return checks(&a);
	}
	if (argc == 3 && !strcmp(argv[1], "compile")) {
		read_auth(argv[2], &a);
		return compiling(&a);
	}
	if (argc == 4 && !strcmp(argv[1], "load")) {
		read_auth(argv[2], &a);
		return load(&a, argv[3]);
	}
	if (argc == 5 && !strcmp(argv[1], "replace")) {
		read_auth(argv[2], &a);
		read_auth(argv[3], &after);
		return replace(&a, &after, argv[4]);
	}
	die("usage: checks POLICY | compile POLICY | load POLICY BRIDGE | replace POLICY POLICY "
	    "BRIDGE");
}
