/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Grammar of names, handles, labels and variables of a container: facts/executors.md 6.2. */
#include "policy/sandbox/container.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "policy/addr.h"

#include <stdio.h>
#include <string.h>

bool ct_handle_ok(const char *handle)
{
	return strlen(handle) == CT_HANDLE_LEN - 1 && cl_starts(handle, "c-") &&
	       cl_all_in(handle + 2, CL_DIGITS "abcdef");
}

void ct_slug(const char *project, char out[33])
{
	size_t end = strlen(project), start, n = 0;

	while (end && project[end - 1] == '/')
		end--;
	for (start = end; start && project[start - 1] != '/'; start--)
		;
	for (size_t i = start; i < end && n < 32; i++) {
		char c = project[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			out[n++] = c;
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n && out[n - 1] == '-')
		n--;
	out[n] = '\0';
	if (!n)
		memcpy(out, "project", sizeof("project"));
}

char *ct_name(const char *project, const char *handle)
{
	char slug[33];

	ct_slug(project, slug);
	return cl_asprintf("cloop-%s-%s", slug, cl_starts(handle, "c-") ? handle + 2 : handle);
}

bool ct_name_ok(const char *name)
{
	return strlen(name) <= 128 && !strchr("_.-", *name) && cl_all_in(name, CL_ALNUM "_.-");
}

bool ct_label_key_ok(const char *key)
{
	return strlen(key) <= 128 && *key != '-' && cl_all_in(key, CL_ALNUM "._/-");
}

char *ct_label_value(const char *value)
{
	char *out = cl_strndup(value, cl_utf8_cut(value, strlen(value), 256));

	for (char *p = out; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '_';
	return out;
}

char *ct_label_spec_key(const char *key)
{
	char *out = cl_asprintf(CT_LABEL_SPEC "%.64s", key);

	for (char *p = out + strlen(CT_LABEL_SPEC); *p; p++)
		if (!strchr(CL_ALNUM "._-", *p))
			*p = '_';
	return out;
}

bool ct_env_name_ok(const char *name)
{
	return strlen(name) <= 128 && !strchr(CL_DIGITS, *name) && cl_all_in(name, CL_ALNUM "_");
}

bool ct_env_harmless(const char *name)
{
	static const char *const known[] = {"PATH", "HOME", "TERM", "LANG", "TZ"};
	/* A value under such a name is somebody's credential until proved otherwise. */
	static const char *const secret[] = {"KEY", "SECRET", "TOKEN", "PASS", "CRED", "AUTH",
		"COOKIE", "PROXY", "URL", "SESSION", "GRANTS"};

	for (size_t i = 0; i < CL_ARRAY_LEN(known); i++)
		if (!strcmp(name, known[i]))
			return true;
	if (!cl_starts(name, "CLOOP_"))
		return false;
	for (size_t i = 0; i < CL_ARRAY_LEN(secret); i++)
		if (strstr(name, secret[i]))
			return false;
	return true;
}

void ct_build_key(const char *id, const char *repo_digest, const char *const *steps, size_t nsteps,
	char out[CT_BUILD_KEY_LEN])
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	char hex[CL_SHA256_HEX];

	cl_buf_adds(&b, id);
	cl_buf_addc(&b, '\0');
	cl_buf_adds(&b, repo_digest);
	for (size_t i = 0; i < nsteps; i++) {
		cl_buf_addc(&b, '\0');
		cl_buf_adds(&b, steps[i]);
	}
	cl_sha256_hex(b.p, b.len, hex);
	(void)snprintf(out, CT_BUILD_KEY_LEN, "%.16s", hex);
}

void ct_hosts_file(
	const char *hostname, const char *const *allow_hosts, size_t n, struct cl_buf *out)
{
	cl_buf_addf(out, "127.0.0.1\tlocalhost %s\n::1\tlocalhost\n", hostname);
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(allow_hosts[i], ":");

		if (allow_hosts[i][len])
			cl_buf_addf(out, "%s\t%.*s\n", allow_hosts[i] + len + 1, (int)len,
				allow_hosts[i]);
	}
}

void ct_resolv_file(const struct pol_endpoint *resolvers, size_t n, struct cl_buf *out)
{
	char text[POL_ADDR_TEXT];

	cl_buf_adds(out, "# written by cloop\n");
	for (size_t i = 0; i < n; i++) {
		if (resolvers[i].port != 53)
			continue;
		pol_addr_text(&resolvers[i].addr, text);
		cl_buf_addf(out, "nameserver %s\n", text);
	}
	cl_buf_adds(out, "options edns0\n");
}
