/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kubeconfigs. Whatever is read and cut down must read back as the same, and must hold no
 * context that the grant does not allow and no user that no context needs.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_kube.h"
#include "policy/secret/secret_pattern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *name_of(const json_t *entry)
{
	return json_string_value(json_object_get(entry, "name"));
}

static void check_users(const struct sec_kube *k)
{
	json_t *user, *context;
	size_t i, j;

	json_array_foreach (json_object_get(k->doc, "users"), i, user) {
		bool needed = false;

		json_array_foreach (json_object_get(k->doc, "contexts"), j, context) {
			const char *u = json_string_value(
				json_object_get(json_object_get(context, "context"), "user"));

			needed = needed || (u && !strcmp(u, name_of(user)));
		}
		if (!needed)
			abort();
	}
}

static void use(const char *text, size_t len, const char *contexts, const char *namespaces)
{
	cleanup_kube struct sec_kube k = SEC_KUBE_INIT, again = SEC_KUBE_INIT;
	cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
	cleanup_buf struct cl_buf yaml = CL_BUF_INIT;
	cleanup_strv struct cl_strv secrets = CL_STRV_INIT;
	json_t *v;
	size_t i;
	struct cl_err e;

	if (sec_kube_read(text, len, &k, &e))
		return;
	sec_kube_notes(&k, &secrets);
	cl_strv_release(&secrets);
	if ((*contexts && sec_constraints_add(&c, SEC_CONTEXTS, contexts, &e)) ||
		(*namespaces && sec_constraints_add(&c, SEC_NAMESPACES, namespaces, &e)))
		abort();
	if (sec_kube_minimise(&k, &c, "fuzz", &e)) {
		if (e.code != CL_EREFUSED || !*e.fix)
			abort();
		return;
	}
	json_array_foreach (json_object_get(k.doc, "contexts"), i, v)
		if (*contexts && !sec_name_allowed(&c.list[SEC_CONTEXTS], name_of(v)))
			abort();
	check_users(&k);
	sec_kube_secrets(&k, &secrets);
	sec_kube_write(&k, &yaml);
	if (sec_kube_read(yaml.p, yaml.len, &again, &e) || !json_equal(k.doc, again.doc))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const lists[][2] = {
		{"*", ""}, {"", "team-a"}, {"prod*,test", "team-*,default"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(lists); i++)
		use((const char *)data, size, lists[i][0], lists[i][1]);
	return 0;
}
