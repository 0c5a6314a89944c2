/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reap-images: built images of setup commands that this hub has not used for long. */
#include "engine_verbs.h"
#include "base/mem.h"
#include "sys/engine/built.h"
#include "work/paths.h"

#include <unistd.h>

struct answer {
	json_t *removed, *failed;
};

static void told(void *arg, const char *tag, const struct cl_err *failed)
{
	const struct answer *a = arg;

	if (failed)
		(void)json_array_append_new(a->failed, json_pack("{s:s, s:s, s:s}", "kind", "image",
							       "name", tag, "error", failed->msg));
	else
		(void)json_array_append_new(
			a->removed, json_pack("{s:s, s:s, s:s}", "kind", "image", "name", tag,
					    "why", "nothing has used it for 14 days"));
}

static int collect(const struct work_spec *spec, struct answer *a, struct cl_err *e)
{
	cleanup_free char *cache = cl_asprintf("%s/.cloop/cache", spec->hub);
	cleanup_free char *base = work_run_base(), *locks = cl_asprintf("%s/lock", base);
	cleanup_engine struct engine en = ENGINE_INIT;
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	/* Mostly there are none, and then the engine has nothing to do. */
	built_stale(cache, BUILT_UNUSED_MS, &names);
	if (!names.n)
		return 0;
	if (engine_find(spec->executor->runtime, environ, &en, e))
		return -1;
	return built_collect(&en, cache, locks, BUILT_UNUSED_MS, &names, told, a, e);
}

int cmd_reap_images(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec spec = WORK_SPEC_INIT;
	struct answer a;

	(void)c;
	if (work_executor_in("container", &spec, e))
		return -1;
	a = (struct answer){json_array(), json_array()};
	return work_reaped_out(collect(&spec, &a, e), spec.executor->id, a.removed, a.failed);
}
