/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a registry is, and where it may send us. */
#include "policy/image/oci.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define HUB_API "registry-1.docker.io"
#define URL_MAX 4096

void oci_origin(const char *registry, bool plain, struct cl_buf *out)
{
	size_t len;

	cl_buf_addf(out, "%s://%s", plain ? "http" : "https",
		strcmp(registry, IR_DOCKER) != 0 ? registry : HUB_API);
	/* The grammar of references lets a port be empty. */
	len = out->len;
	if (out->p[len - 1] == ':')
		out->p[--out->len] = '\0';
}

bool oci_loopback(const char *registry)
{
	const char *colon = strrchr(registry, ':');
	size_t len = colon && registry[0] != '[' ? (size_t)(colon - registry) : strlen(registry);

	if (cl_starts(registry, "[::1]"))
		return !registry[5] || registry[5] == ':';
	if (len == 9 && !strncmp(registry, "localhost", 9))
		return true;
	/* Four numbers: 127.evil.example is a name. */
	return cl_starts(registry, "127.") && strspn(registry, CL_DIGITS ".") == len;
}

bool oci_plain(const struct cl_strv *plain, const char *registry)
{
	return plain && cl_strv_has(plain, registry) && oci_loopback(registry);
}

static int bad_url(const char *url, const char *what, const char *why, struct cl_err *e)
{
	/* A query may be a signature that lets whoever has it in. */
	(void)cl_fail(e, CL_EREFUSED, "%s '%.*s' %s", what, (int)strcspn(url, "?"), url, why);
	(void)cl_slug(e, "registry_redirect");
	return cl_fix(e, "see that it is the registry that was meant; a registry and all it sends "
			 "one to must speak https");
}

/* The authority in lower case without the scheme's own port; NULL: it is none. */
static char *authority(const char *p, size_t len, bool tls)
{
	cleanup_free char *text = cl_strndup(p, len);
	const char *own = tls ? ":443" : ":80";
	char host[IR_MAX + 1];

	cl_lower(text);
	if (len > IR_MAX || strchr(text, '@'))
		return NULL;
	if (cl_ends(text, own))
		text[len - strlen(own)] = '\0';
	/* ir_registry would fold Docker Hub's names into one; hosts of URLs are themselves. */
	if (!ir_registry(text, host) || cl_ends(text, ":"))
		return NULL;
	return cl_steal(&text);
}

int oci_url(const char *url, const struct cl_strv *plain, const char *what, char **origin,
	struct cl_err *e)
{
	bool tls = !strncmp(url, "https://", 8);
	const char *host = strstr(url, "://");
	cleanup_free char *name = NULL;

	if (strlen(url) > URL_MAX)
		return bad_url(url, what, "is too long", e);
	for (const char *p = url; *p; p++)
		if (*p <= ' ' || *p >= 0x7f || strchr("\"<>\\^`{|}#", *p))
			return bad_url(url, what, "is no URL", e);
	if (!host || (!tls && strncmp(url, "http://", 7) != 0))
		return bad_url(url, what, "is no https:// address", e);
	host += 3;
	name = authority(host, strcspn(host, "/?"), tls);
	if (!name)
		return bad_url(url, what, "names no host", e);
	if (!tls && !oci_plain(plain, name))
		return bad_url(url, what, "is no https:// address", e);
	*origin = cl_asprintf("%s://%s", tls ? "https" : "http", name);
	return 0;
}

int oci_redirect(const char *from, const char *location, const struct cl_strv *plain, char **to,
	bool *same, struct cl_err *e)
{
	static const char what[] = "the redirect to";
	cleanup_free char *before = NULL, *after = NULL, *url = NULL;

	if (oci_url(from, plain, "the address", &before, e))
		return -1;
	if (cl_starts(location, "//"))
		url = cl_asprintf(
			"%.*s%s", (int)(strchr(before, ':') + 1 - before), before, location);
	else if (*location == '/')
		url = cl_asprintf("%s%s", before, location);
	else
		url = cl_strdup(location);
	if (oci_url(url, plain, what, &after, e))
		return -1;
	/* From TLS to a plain port of this machine is a step down all the same. */
	if (cl_starts(before, "https:") && !cl_starts(after, "https:"))
		return bad_url(url, what, "is no https:// address", e);
	*same = !strcmp(before, after);
	*to = cl_steal(&url);
	return 0;
}
