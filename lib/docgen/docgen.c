/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Build tool: makes the man page of a command, or the completions of all, from the JSON
 * that `--cl-spec` prints. Usage:
 *   docgen man SPEC.json [PROSE.mdoc|- [PAGE...]] > man/cloop-NAME.1
 *   docgen config KEYS.jsonl [PROSE.mdoc]  > man/cloop-config.yaml.5
 *   docgen bash|zsh|fish SPEC.json...      > completions/...
 */
#include "docgen.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

const char *dg_str(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static json_t *load(const char *path)
{
	json_error_t je;
	json_t *j = json_load_file(path, 0, &je);

	if (!j) {
		(void)fprintf(stderr, "docgen: %s: %s\n", path, je.text);
		exit(1);
	}
	return j;
}

static const struct {
	const char *name;
	void (*fn)(json_t *const *specs, size_t n);
} shells[] = {{"bash", dg_bash}, {"zsh", dg_zsh}, {"fish", dg_fish}};

int main(int argc, char **argv)
{
	json_t *specs[64];
	size_t n = 0;

	if (argc >= 3 && !strcmp(argv[1], "man")) {
		json_t *j = load(argv[2]);

		dg_man(j, argc > 3 && strcmp(argv[3], "-") != 0 ? argv[3] : NULL, argv + 4,
			argc > 4 ? (size_t)argc - 4 : 0);
		json_decref(j);
		return 0;
	}
	if (argc >= 3 && !strcmp(argv[1], "config")) {
		FILE *f = fopen(argv[2], "r");

		if (!f)
			return 1;
		dg_config(f, argc > 3 ? argv[3] : NULL);
		(void)fclose(f);
		return 0;
	}
	for (int i = 2; i < argc && n < CL_ARRAY_LEN(specs); i++)
		specs[n++] = load(argv[i]);
	for (size_t i = 0; i < CL_ARRAY_LEN(shells) && argc > 2; i++) {
		if (strcmp(argv[1], shells[i].name) != 0)
			continue;
		shells[i].fn(specs, n);
		while (n)
			json_decref(specs[--n]);
		return fflush(stdout) ? 1 : 0;
	}
	(void)fprintf(stderr,
		"usage: docgen man SPEC [PROSE|- [PAGE...]] | docgen config KEYS [PROSE] | "
		"docgen bash|zsh|fish SPEC...\n");
	return 64;
}
