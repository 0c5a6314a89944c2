/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sandbox_cmd.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/specfile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void sbx_target_release(struct sbx_target *t)
{
	free(t->name);
	free(t->project);
	cl_doc_release(&t->doc);
	sb_spec_release(&t->spec);
	*t = SBX_TARGET_INIT;
}

/* A file named in full still belongs to its project: DIR of "DIR/.cloop/sandbox.yaml". */
static char *project_of(const char *file)
{
	char *real = realpath(file, NULL);

	if (real && cl_ends(real, "/" SB_FILE)) {
		real[strlen(real) - strlen(SB_FILE)] = '\0';
		return real;
	}
	free(real);
	return NULL;
}

static int load_file(const char *operand, struct sbx_target *t, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	t->name = cl_strdup(operand);
	t->found = true;
	if (cl_read_file(operand, SB_MAX_BYTES, &text, e))
		return -1;
	t->project = strcmp(operand, "-") != 0 ? project_of(operand) : NULL;
	return sb_read(t->name, text.p, text.len, &t->doc, &t->spec, e);
}

static int load_dir(const char *operand, struct sbx_target *t, struct cl_err *e)
{
	int rc = sys_spec_load(operand, &t->doc, &t->spec, &t->found, e);

	t->project = cl_strdup(operand);
	if (rc || !t->found)
		t->name = cl_strdup(*e->file && rc ? e->file : operand);
	else
		t->name = cl_strdup(t->doc.name);
	return rc;
}

static int judge(struct sbx_target *t, struct cl_err *e)
{
	if (t->project && sys_spec_mounts(t->project, &t->spec, t->name, e))
		return -1;
	sb_sense(&t->doc, &t->spec);
	if (t->project)
		sys_spec_setup_files(t->project, &t->doc, &t->spec);
	return 0;
}

int sbx_load(const char *operand, struct sbx_target *t, struct cl_err *e)
{
	struct stat st;
	bool dir = strcmp(operand, "-") != 0 && !stat(operand, &st) && S_ISDIR(st.st_mode);

	cl_err_init(e);
	if ((dir ? load_dir : load_file)(operand, t, e) || (t->found && judge(t, e))) {
		t->invalid = !strcmp(cl_err_slug(e), SB_INVALID);
		t->err = *e;
		return t->invalid ? 0 : -1;
	}
	return 0;
}

/* Findings read best from the top of the file to its end. */
static int by_place(const void *a, const void *b)
{
	const struct sbx_finding *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->column > y->column) - (x->column < y->column);
}

size_t sbx_findings(const struct sbx_target *t, struct sbx_finding out[SBX_FINDINGS])
{
	size_t n = 0;

	if (t->invalid)
		out[n++] = (struct sbx_finding){true, *t->err.rule ? t->err.rule : "yaml",
			t->err.msg, *t->err.fix ? t->err.fix : NULL, t->err.line, t->err.column};
	for (size_t i = 0; i < t->spec.nnotes && n < SBX_FINDINGS; i++) {
		const struct sb_note *note = &t->spec.notes[i];

		out[n++] = (struct sbx_finding){
			false, note->rule, note->text, note->fix, note->line, note->column};
	}
	qsort(out, n, sizeof(out[0]), by_place);
	return n;
}
