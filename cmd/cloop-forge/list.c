/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an App is installed, and what an installation has: nothing is kept of either. */
#include "base/mem.h"
#include "forge.h"

#include <stdlib.h>

static int read_installations(struct forge *f, struct gh_installations *out, struct cl_err *e)
{
	out->page = GH_PAGE;
	for (size_t n = 1; out->page == GH_PAGE && n <= GH_PAGES; n++) {
		cleanup_free char *path =
			cl_asprintf("/app/installations?per_page=%d&page=%zu", GH_PAGE, n);
		const struct forge_call call = {.call = GH_INSTALLATIONS,
			.method = "GET",
			.path = path,
			.bearer = forge_jwt(f, e)};
		cleanup_http_answer struct http_answer http = HTTP_ANSWER_INIT;
		struct gh_answer a;

		if (!call.bearer || forge_ask(f, &call, &http, &a, e) ||
			gh_installations_read(&f->ask, &a, out, e))
			return -1;
	}
	return 0;
}

int cmd_forge_installations(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_forge struct forge f = FORGE_INIT;
	cleanup_gh_installations struct gh_installations all = GH_INSTALLATIONS_INIT;
	json_t *list;

	(void)c;
	if (forge_read(&f, e) || forge_read_app(&f, false, e) || read_installations(&f, &all, e))
		return -1;
	list = json_array();
	for (size_t i = 0; i < all.n; i++)
		(void)json_array_append_new(
			list, json_pack("{s:I, s:o, s:o, s:s, s:o, s:O}", "installation_id",
				      (json_int_t)all.v[i].id, "account",
				      cl_json_string(all.v[i].account), "type",
				      cl_json_string(all.v[i].type), "repositories",
				      all.v[i].selected ? "selected" : "all", "suspended_at",
				      all.v[i].suspended_at ? cl_json_string(all.v[i].suspended_at)
							    : json_null(),
				      "permissions", all.v[i].permissions));
	cl_take_json(json_pack("{s:o, s:b}", "installations", list, "more", all.page == GH_PAGE));
	return 0;
}

int cmd_forge_repositories(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_forge struct forge f = FORGE_INIT;
	cleanup_gh_repositories struct gh_repositories all = GH_REPOSITORIES_INIT;
	json_t *list;

	(void)c;
	if (forge_read(&f, e) || forge_read_app(&f, true, e) || forge_inventory(&f, &all, e))
		return -1;
	list = json_array();
	for (size_t i = 0; i < all.n; i++)
		(void)json_array_append_new(list,
			json_pack("{s:I, s:s, s:b}", "repository_id", (json_int_t)all.v[i].id,
				"full_name", all.v[i].full_name, "private", all.v[i].private));
	cl_take_json(json_pack("{s:o}", "repositories", list));
	return 0;
}
