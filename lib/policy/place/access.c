/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/place/access.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

#define USER  "user:"
#define GROUP "group:"

static bool is_name(const char *s)
{
	size_t len = strlen(s);

	if (!len || len > ACCESS_MAX_LEN || !cl_utf8_valid(s, len))
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f || strchr(",:/", *s))
			return false;
	return true;
}

int access_parse(const char *text, char **out, struct cl_err *e)
{
	bool group = cl_starts(text, GROUP);
	const char *name = text + strlen(group ? GROUP : USER);

	if (group || cl_starts(text, USER)) {
		name += group && *name == '/';
		if (is_name(name)) {
			*out = cl_asprintf("%s%s", group ? GROUP : USER, name);
			return 0;
		}
	}
	(void)cl_fail(e, CL_EDATA, "'%.200s' names nobody who could be on an access list", text);
	return cl_fix(e, "write user:NAME or group:NAME");
}

bool access_allows(const struct cl_strv *entries, const struct access_who *who)
{
	for (size_t i = 0; i < entries->n; i++) {
		const char *s = entries->v[i];

		if (cl_starts(s, USER) && !strcmp(s + strlen(USER), who->user))
			return true;
		if (cl_starts(s, GROUP) && cl_strv_has(who->groups, s + strlen(GROUP)))
			return true;
	}
	return !entries->n;
}
