/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/hardware.h"
#include "base/mem.h"
#include "sys/proc.h"
#include "work/key_pass.h"
#include "work/part.h"
#include "work/paths.h"

#define PROGRAM "cloop-secret"
#define ASK_MS  60000

static char *question_of(const struct hardware_ask *a)
{
	json_t *projects = json_array(), *o;
	char *text;

	for (size_t i = 0; i < a->projects->n; i++)
		(void)json_array_append_new(projects, cl_json_string(a->projects->v[i]));
	o = json_pack("{s:s, s:o}", "executor", a->executor, "projects", projects);
	text = cl_json_text(o);
	json_decref(o);
	return text;
}

int hardware_ask(const struct hardware_ask *a, json_t **out, struct cl_err *e)
{
	cleanup_free char *dir = cl_strdup(a->hub_dir);
	cleanup_free char *question = question_of(a), *base = work_run_base();
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	char *argv[] = {(char *)(uintptr_t)PROGRAM, (char *)(uintptr_t) "-C", dir,
		(char *)(uintptr_t) "hardware", (char *)(uintptr_t) "--json", NULL};
	const struct sys_pass key = {a->key_fd, KEY_PASS_FD};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	json_t *answer;

	cl_strv_add(&env, "PATH=" SYS_PATH);
	cl_strv_addf(&env, "CLOOP_RUN_DIR=%s", base);
	if (a->key_file && *a->key_file)
		cl_strv_addf(&env, "CLOOP_SECRET_KEY_FILE=%s", a->key_file);
	if (a->key_fd >= 0) {
		cl_strv_addf(&env, KEY_PASS_ENV "=%d", KEY_PASS_FD);
		r.spawn.pass = &key;
		r.spawn.npass = 1;
	}
	r.spawn.envp = env.v;
	r.timeout_ms = ASK_MS;
	if (work_part_ask(&r, argv, argv[3], question, &answer, e))
		return -1;
	*out = json_incref(json_object_get(answer, "hardware"));
	json_decref(answer);
	return 0;
}
