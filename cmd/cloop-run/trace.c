/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DECISIONS D16: the steps of this process, as the commands that do each of them alone. */
#include "run.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static void line(const char *before, const char *arg, const char *after)
{
	cleanup_free char *word = cl_shell_word(arg);

	(void)fprintf(stderr, "%s%s%s\n", before, word, after);
}

static void place(const struct cl_ctx *c, const struct run_plan *p)
{
	cleanup_free char *request = run_place_text(p);
	cleanup_buf struct cl_buf after = CL_BUF_INIT;

	cl_buf_adds(&after, " | cloop place");
	if (!cl_flag(c, "place")) {
		cleanup_free char *word = cl_shell_word(p->executor->id);

		cl_buf_addf(&after, " --bound %s", word);
	}
	line("printf %s ", request, after.p);
}

void run_trace(const struct cl_ctx *c, const struct run_plan *p)
{
	json_t *spec = run_spec_json(c, p);
	cleanup_free char *text = cl_json_text(spec), *driver = NULL;

	json_decref(spec);
	line("cloop -C ", p->hub.dir, " hub config show --json");
	line("cloop sandbox resolve --json ", p->project, "");
	place(c, p);
	if (p->egress) {
		cleanup_free char *auth = cl_json_text(p->egress);

		line("printf %s ", auth, " | cloop egress firewall --policy -");
	}
	line("spec=", text, "");
	driver = p->executor->row->program
			 ? cl_asprintf("cloop %s", p->executor->driver + strlen("cloop-"))
			 : cl_shell_word(p->executor->driver);
	(void)fprintf(stderr,
		"pinned=$(printf %%s \"$spec\" | %s prepare)\n"
		"printf %%s \"$spec\" | jq --argjson p \"$pinned\" '.image_pinned = $p' | %s "
		"start\n",
		driver, driver);
}
