/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: rate place : judges one workload over 1,000 nodes, every reason of each, for half a
 * second of processor time, and prints how much of it one such placement takes, in microseconds
 *        rate image : the same of one image reference under a policy with every rule
 */
#include "base/mem.h"
#include "policy/image/imagepolicy.h"
#include "policy/place/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NODES 1000

/* Processor time: what else runs on the machine does not count. */
static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* A fleet in which most nodes fail some of what is asked, and one takes it. */
static void fleet(struct cl_buf *b)
{
	cl_buf_adds(b, "{\"requirements\":{\"network_egress\":true,\"image_override\":true,"
		       "\"resource_limits\":true,\"disk_limit\":true,\"kernel_isolation\":true,"
		       "\"labels\":{\"zone\":\"b\",\"gpu\":\"true\"},\"harnesses\":[\"git\"],"
		       "\"arch\":\"amd64\",\"min_memory_mb\":4096},\"candidates\":[");
	for (int i = 0; i < NODES; i++)
		cl_buf_addf(b,
			"%s{\"executor_id\":\"node-%04d\",\"kind\":\"container\",\"labels\":{"
			"\"zone\":\"%c\",\"gpu\":\"%s\"},\"harnesses\":[\"git\",\"claude\"],"
			"\"memory_mb\":%d,\"in_flight\":%d,\"in_flight_known\":true,"
			"\"max_concurrent\":8,\"capabilities\":{\"isolation\":\"container\","
			"\"arch\":\"x86_64\",\"disk_enforcement\":\"%s\",\"network_egress\":%s,"
			"\"supports_image_override\":true,\"supports_resource_limits\":true,"
			"\"kernel_isolated\":%s}}",
			i ? "," : "", i, 'a' + i % 3, i % 2 ? "true" : "false", 1024 * (i % 16 + 1),
			i % 9, i % 5 ? "sampled" : "", i % 4 ? "true" : "false",
			i % 7 ? "false" : "true");
	cl_buf_adds(b, "]}");
}

static int place(void)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_pl_request struct pl_request r = PL_REQUEST_INIT;
	size_t rounds = 0, fit = 0;
	double start, took;
	struct cl_err e;

	fleet(&text);
	if (pl_request_read("fleet", text.p, text.len, &r, &e)) {
		(void)fprintf(stderr, "rate: %s\n", e.msg);
		return 1;
	}
	start = now_us();
	do {
		cleanup_pl_result struct pl_result x = PL_RESULT_INIT;
		struct pl_query q;

		pl_query_init(&q, &r.requirements, &r.policy);
		pl_select(&q, r.v, r.n, 0, &x);
		fit += x.nfit;
		rounds++;
		took = now_us() - start;
	} while (took < 5e5);
	if (!fit)
		return 1;
	(void)printf("%.3f\n", took / (double)rounds);
	return 0;
}

#define DIGEST "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static int image(void)
{
	static const char policy[] = "{\"allowed_registries\":[\"ghcr.io\",\"*.example.com\","
				     "\"quay.io\"],\"allowed_repos\":[\"ghcr.io/acme/*\","
				     "\"example/tools\"],\"default_registry\":\"ghcr.io\"}";
	static const char *const refs[] = {"ghcr.io/acme/tools:3.12", "acme/tools",
		("ghcr.io/acme/a/b@sha256:" DIGEST), "reg.example.com/example/tools:v1.2.3-rc.4",
		"ghcr.io/acme/tools:latest", "evil.example/ghcr.io/tools",
		"gh\xd1\x81r.io/acme/tools", "ghcr.io/acme-evil/x:1"};
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_ip_policy struct ip_policy p = IP_POLICY_INIT;
	struct ip_decision *dec = cl_malloc(sizeof(*dec));
	size_t n = 0, allowed = 0;
	double start, took;
	struct cl_err e;

	if (cl_doc_parse(&d, CL_DOC_JSON, "policy", policy, sizeof(policy) - 1, NULL, &e) ||
		ip_policy_read(&d, d.root, &p, &e)) {
		(void)fprintf(stderr, "rate: %s\n", e.msg);
		return 1;
	}
	start = now_us();
	do {
		for (size_t i = 0; i < 8000; i++) {
			ip_decide(&p, refs[i % CL_ARRAY_LEN(refs)], dec);
			allowed += dec->allowed;
		}
		n += 8000;
		took = now_us() - start;
	} while (took < 5e5);
	free(dec);
	if (allowed * 8 != n * 5)
		return 1;
	(void)printf("%.4f\n", took / (double)n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "place"))
		return place();
	if (argc == 2 && !strcmp(argv[1], "image"))
		return image();
	(void)fputs("usage: rate place|image\n", stderr);
	return 64;
}
