/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: netpoleval FILE ADDR:PORT/PROTO... : what a NetworkPolicy (JSON or YAML) lets its
 * Pod reach, one "allow" or "drop" a question, by the evaluator of the unit tests.
 */
#include "../unit/netpol-eval.h"
#include "base/doc.h"

#include <stdio.h>

static int protocol(const char *s)
{
	return !strcmp(s, "tcp") ? IPPROTO_TCP : !strcmp(s, "udp") ? IPPROTO_UDP : IPPROTO_ICMP;
}

/* "[v6]:PORT/PROTO" or "v4:PORT/PROTO", cut in place; a mapped address is the IPv4 inside. */
static bool question(char *s, struct npe_packet *k)
{
	char *slash = strrchr(s, '/'), *colon = strrchr(s, ':'), *end = colon;

	if (!slash || !colon)
		return false;
	*slash = *colon = '\0';
	if (*s == '[') {
		s++;
		end[-1] = '\0';
	}
	k->proto = protocol(slash + 1);
	k->port = (int)strtol(colon + 1, NULL, 10);
	if (!strncmp(s, "::ffff:", 7) && strchr(s, '.'))
		s += 7;
	return npe_parse_addr(s, &k->addr);
}

int main(int argc, char **argv)
{
	static char text[1 << 24];
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct npe_policy p;
	struct cl_err e;
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
	size_t n = f ? fread(text, 1, sizeof(text), f) : 0;

	if (f)
		(void)fclose(f);
	if (!n || cl_doc_parse(&d, text[0] == '{' ? CL_DOC_JSON : CL_DOC_YAML, argv[1], text, n,
			  NULL, &e)) {
		(void)fprintf(stderr, "netpoleval: cannot read the policy\n");
		return 2;
	}
	npe_read(d.root, &p);
	if (p.wrong) {
		(void)fprintf(stderr, "netpoleval: not understood: %s\n", p.wrong);
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		struct npe_packet k = {0};

		if (!question(argv[i], &k)) {
			(void)fprintf(stderr, "netpoleval: no question: %s\n", argv[i]);
			return 2;
		}
		(void)puts(npe_allows(&p, 1, NPE_EGRESS, &k) ? "allow" : "drop");
	}
	npe_release(&p);
	return 0;
}
