/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share/config.yaml.in with its blanks filled in. */
#include "base/mem.h"
#include "base/doc.h"
#include "base/text.h"
#include "sys/hub_internal.h"

#include <string.h>

static const char *const lines[] = {
#include "config-template.inc"
};

/* The host of "https://host:port", or what stands for it where none is known. */
static char *host_of(const char *url)
{
	const char *host = url ? strstr(url, "://") : NULL;
	const char *end;

	if (!host)
		return cl_strdup("HOST");
	host += 3;
	end = *host == '[' ? strchr(host, ']') : NULL;
	return cl_strndup(host, end ? (size_t)(end - host) + 1 : strcspn(host, ":/"));
}

/*
 * The key file's path as a YAML double-quoted scalar, which takes what JSON writes; NULL for
 * one that is no UTF-8, which YAML cannot say.
 */
static char *key_text(const char *dir)
{
	cleanup_free char *path = cl_asprintf("%s/" HUB_KEY_FILE, dir);
	char *text;
	json_t *j;

	if (!cl_utf8_valid(path, strlen(path)))
		return NULL;
	j = cl_json_string(path);
	text = cl_json_text(j);
	json_decref(j);
	return text;
}

char *hub_template(const struct hub_boot *b, const char *dir, bool root)
{
	cleanup_free char *host = host_of(b->external_url);
	cleanup_free char *git = cl_asprintf("%d", b->git_proxy_port);
	cleanup_free char *kube = cl_asprintf("%d", b->kube_guard_port);
	cleanup_free char *key = key_text(dir);
	const struct {
		const char *name, *value;
	} blanks[] = {
		{"@NETWORK@", root ? "bridge" : "none"},
		{"@FILTER@", root ? "true" : "false"},
		{"@FILTER_NOTE@",
			root ? "" : "      # Only root can filter; so no network at all.\n"},
		{"@KEY_OFF@", key ? "" : "#"},
		{"@KEY_FILE@", key ? key : "/srv/cloop/" HUB_KEY_FILE},
		{"@HOST@", host},
		{"@GIT_PORT@", git},
		{"@KUBE_PORT@", kube},
		{"@EXTERNAL_URL@", b->external_url ? b->external_url : "https://HOST:8080"},
	};
	struct cl_buf out = CL_BUF_INIT;

	for (size_t n = 0; n < CL_ARRAY_LEN(lines); n++) {
		const char *p = lines[n];

		while (*p) {
			size_t i = 0;

			while (i < CL_ARRAY_LEN(blanks) && !cl_starts(p, blanks[i].name))
				i++;
			if (i == CL_ARRAY_LEN(blanks)) {
				cl_buf_addc(&out, *p++);
				continue;
			}
			cl_buf_adds(&out, blanks[i].value);
			p += strlen(blanks[i].name);
		}
	}
	return cl_buf_detach(&out);
}
