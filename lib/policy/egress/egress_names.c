/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and texts as nft(8), the kernel and the engines take them. */
#include "policy/egress/egress_internal.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"

#include <string.h>

void eg_clean(const char *text, const char *syntax, struct cl_buf *out)
{
	bool utf8 = cl_utf8_valid(text, strlen(text));
	size_t start = out->len;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f || strchr(syntax, c))
			c = ' ';
		else if (c >= 0x80 && !utf8)
			c = '?';
		if (c == ' ' && (out->len == start || out->p[out->len - 1] == ' '))
			continue;
		cl_buf_addc(out, (char)c);
	}
	if (out->len > start && out->p[out->len - 1] == ' ')
		out->p[--out->len] = '\0';
}

void eg_comment(const char *reason, char out[121])
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	size_t n;

	eg_clean(reason, "\"\\;{}#", &b);
	n = b.len > 120 ? cl_utf8_cut(b.p, b.len, 117) : b.len;
	memcpy(out, b.p, n);
	memcpy(out + n, n < b.len ? "..." : "", n < b.len ? 4 : 1);
}

int eg_check_table(const char *name, struct cl_err *e)
{
	size_t len = strlen(name);

	if (len <= 64 && *name != '-' && cl_all_in(name, CL_ALNUM "_-"))
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%.80s' is no name for an nft table", name);
	return cl_fix(e, "use 1 to 64 of letters, digits, '_' and '-', not '-' first");
}

int eg_check_interface(const char *name, struct cl_err *e)
{
	if (strlen(name) <= 15 && cl_all_in(name, CL_ALNUM "_.-") && strcmp(name, ".") != 0 &&
		strcmp(name, "..") != 0)
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%.80s' is no name of a network interface", name);
	return cl_fix(e, "use 1 to 15 of letters, digits, '_', '.' and '-'");
}

static void add_hash(const char *text, struct cl_buf *out)
{
	char hex[CL_SHA256_HEX];

	cl_sha256_hex(text, strlen(text), hex);
	cl_buf_add(out, hex, 8);
}

/*
 * id in lower case, everything but letters and digits turned into `fill`; added to out.
 * What is longer than max keeps its head and ends in a hash of the whole, so that two
 * long names never become one network.
 */
static void fold(const char *id, char fill, size_t max, struct cl_buf *out)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	size_t skip = 0, len;

	for (const char *p = id; *p; p++) {
		char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;

		cl_buf_addc(&b, strchr(CL_LOWER CL_DIGITS, c) ? c : fill);
	}
	while (b.p[skip] == fill)
		skip++;
	len = b.len;
	while (len > skip && b.p[len - 1] == fill)
		len--;
	if (len - skip <= max) {
		cl_buf_add(out, b.p + skip, len - skip);
		return;
	}
	cl_buf_add(out, b.p + skip, max - 9);
	cl_buf_addc(out, fill);
	add_hash(id, out);
}

char *eg_network_name(const char *id, const char *key)
{
	struct cl_buf b = CL_BUF_INIT;
	size_t head;

	cl_buf_adds(&b, "cloop-sbx-");
	head = b.len;
	fold(id, '-', 32, &b);
	if (b.len == head)
		cl_buf_adds(&b, "default");
	if (key && *key) {
		cl_buf_addc(&b, '-');
		fold(key, '-', 32, &b);
	}
	return cl_buf_detach(&b);
}

char *eg_table_name(const char *id, const char *key)
{
	cleanup_free char *whole = key && *key ? cl_asprintf("%s_%s", id, key) : cl_strdup(id);
	struct cl_buf b = CL_BUF_INIT;

	cl_buf_adds(&b, "cloop_sbx_");
	fold(whole, '_', 54, &b);
	if (b.p[b.len - 1] == '_')
		b.p[--b.len] = '\0';
	return cl_buf_detach(&b);
}
