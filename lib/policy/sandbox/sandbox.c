/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/sandbox/sandbox_internal.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/image/imageref.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct sb_rule sb_rules[] = {
	{"yaml", "the file is YAML 1.2 in the core schema: one mapping", true},
	{"unknown-key", "the schema is closed", true},
	{"reference-syntax", "image is a usable image reference", true},
	{"setup", "setup is a list of at most 32 commands of one line", true},
	{"env", "env is a list of at most 64 names of variables", true},
	{"resources", "resources are numbers and sizes within their bounds", true},
	{"capabilities", "capabilities are switches, names and identifiers", true},
	{"mounts", "mounts stay inside the workspace and have distinct absolute targets", true},
	{"clamped", "a value above its bound is lowered to the bound", false},
	{"never-placed", "no executor of any kind can provide this combination", false},
	{"setup-network", "setup has the network of the run, which is none here", false},
	{"setup-file", "setup runs without the workspace", false},
	{"mount-target", "a mount hides what the sandbox itself provides", false},
	{"network-id", "network takes the id of an egress grant", false},
	{"empty-key", "a key without a value is as if it were not there", false},
	{0},
};

void sb_spec_release(struct sb_spec *s)
{
	free(s->image);
	free(s->network);
	cl_strv_release(&s->setup);
	cl_strv_release(&s->env);
	cl_strv_release(&s->devices);
	cl_strv_release(&s->interfaces);
	for (size_t i = 0; i < s->nmounts; i++) {
		free(s->mounts[i].source);
		free(s->mounts[i].target);
	}
	free(s->mounts);
	for (size_t i = 0; i < s->nnotes; i++) {
		struct sb_note *n = &s->notes[i];

		free(n->key);
		free(n->text);
		free(n->fix);
		free(n->asked);
		free(n->given);
	}
	free(s->notes);
	*s = SB_SPEC_INIT;
}

struct sb_note *sb_note(struct cl_doc *d, struct sb_spec *s, const char *rule, const char *path,
	const json_t *parent, const char *key, size_t index, const char *fmt, ...)
{
	struct sb_note *n;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* A cut in the middle of a character would be no text. */
	while (!cl_utf8_valid(text, strlen(text)))
		text[strlen(text) - 1] = '\0';
	s->notes = cl_grow(s->notes, &s->notes_cap, s->nnotes + 1, sizeof(*s->notes));
	n = &s->notes[s->nnotes++];
	*n = (struct sb_note){.rule = rule, .key = cl_strdup(path), .text = cl_strdup(text)};
	cl_doc_where(d, parent, key, index, false, &n->line, &n->column);
	return n;
}

int sb_refuse(struct sb_reading *r, const json_t *parent, const char *key, size_t index,
	const char *fix, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)cl_doc_fail(r->d, parent, key, index, CL_EDATA, r->e, "%s", text);
	return cl_fix(r->e, "%s", fix);
}

/* Sets *out to obj[key] trimmed, or to NULL when that is absent or blank; owned. */
static int read_text(struct sb_reading *r, const json_t *obj, const char *key, char **out)
{
	const char *raw = NULL;
	char *s;

	*out = NULL;
	if (cl_doc_str(r->d, obj, key, &raw, r->e))
		return -1;
	if (!raw)
		return 0;
	s = cl_trim_dup(raw);
	if (*s)
		*out = s;
	else
		free(s);
	return 0;
}

static int read_image(struct sb_reading *r)
{
	struct ir_ref ref;
	unsigned line, column;

	if (read_text(r, r->root, "image", &r->s->image))
		return -1;
	if (!r->s->image)
		return 0;
	if (r->s->image[0] == '-')
		return sb_refuse(r, r->root, "image", 0,
			"name an image such as ghcr.io/acme/tools:1", "image '%s' starts with '-'",
			r->s->image);
	if (ir_parse(r->s->image, &ref, r->e)) {
		cl_doc_where(r->d, r->root, "image", 0, false, &line, &column);
		return cl_at(r->e, r->d->name, line, column);
	}
	/* A bracketed IPv6 registry parses, but a project's file cannot name one. */
	if (!cl_all_in(r->s->image, CL_ALNUM "._-/:@"))
		return sb_refuse(r, r->root, "image", 0, "name the registry by its host name",
			"image '%s' has a character other than letters, digits and ._-/:@",
			r->s->image);
	return 0;
}

/* What one list of strings is. */
struct list {
	const char *key, *path;
	size_t max;
	bool trim, unique;
	const char *(*flaw)(const char *text); /* NULL when fine */
	const char *fix;
};

static const char *command_flaw(const char *s)
{
	if (!*s)
		return "is blank";
	if (strlen(s) > SB_MAX_SETUP_BYTES)
		return "is longer than 4096 bytes";
	return strpbrk(s, "\r\n") ? "has a line break" : NULL;
}

static const char *env_flaw(const char *s)
{
	if (strchr(s, '='))
		return "has a value: only names belong here, the hub's grants supply the values";
	if (!*s || strchr(CL_DIGITS, *s) || !cl_all_in(s, CL_ALNUM "_"))
		return "is not the name of a variable";
	return strlen(s) > 256 ? "is longer than 256 bytes" : NULL;
}

static const char *selector_flaw(const char *s)
{
	if (!*s || strlen(s) > 64)
		return "is not of 1 to 64 bytes";
	if (strpbrk(s, ":/\\= "))
		return "has one of ':', '/', '\\', '=' and blank: it is a name, never a path";
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return "has a control character";
	return NULL;
}

static const struct list setup_list = {"setup", "setup", SB_MAX_SETUP, true, false, command_flaw,
	"write each command as one line of a list; chain with &&"};
static const struct list env_list = {
	"env", "env", SB_MAX_ENV, false, true, env_flaw, "list names only, such as GITHUB_TOKEN"};
static const struct list device_list = {"devices", "capabilities.devices", SB_MAX_DEVICES, false,
	true, selector_flaw, "list the names of host_device grants, such as serial0"};
static const struct list interface_list = {"interfaces", "capabilities.interfaces",
	SB_MAX_INTERFACES, false, true, selector_flaw,
	"list the names of host_interface grants, such as dut"};

static int read_entry(struct sb_reading *r, const json_t *arr, const struct list *l, size_t i,
	struct cl_strv *out)
{
	cleanup_free char *text = NULL;
	const char *raw = NULL, *flaw;

	if (cl_doc_str_at(r->d, arr, i, &raw, r->e))
		return cl_wrap(r->e, "%s[%zu]", l->path, i);
	text = l->trim ? cl_trim_dup(raw) : cl_strdup(raw);
	flaw = l->flaw(text);
	if (flaw)
		return sb_refuse(r, arr, NULL, i, l->fix, "%s[%zu] '%.*s' %s", l->path, i,
			(int)cl_utf8_cut(text, strlen(text), 120), text, flaw);
	if (!l->unique || !cl_strv_has(out, text))
		cl_strv_add(out, text);
	return 0;
}

static int read_list(
	struct sb_reading *r, const json_t *obj, const struct list *l, struct cl_strv *out)
{
	json_t *arr = NULL;

	if (cl_doc_list(r->d, obj, l->key, &arr, r->e))
		return -1;
	if (json_array_size(arr) > l->max)
		return sb_refuse(r, obj, l->key, 0, l->fix,
			"%s has %zu entries, more than the %zu allowed", l->path,
			json_array_size(arr), l->max);
	for (size_t i = 0; i < json_array_size(arr); i++)
		if (read_entry(r, arr, l, i, out))
			return -1;
	return 0;
}

static int read_setup(struct sb_reading *r)
{
	return read_list(r, r->root, &setup_list, &r->s->setup);
}

static int read_env(struct sb_reading *r)
{
	r->s->has_env = cl_doc_has(r->root, "env");
	return read_list(r, r->root, &env_list, &r->s->env);
}

/* Says that resources.KEY was lowered from `asked` to `given`. */
static void lowered(struct sb_reading *r, const char *key, const char *asked, const char *given)
{
	char path[32];
	struct sb_note *n;

	(void)snprintf(path, sizeof(path), "resources.%s", key);
	n = sb_note(r->d, r->s, "clamped", path, r->resources, key, 0,
		"%s '%s' is above the bound %s, which holds instead", path, asked, given);
	n->fix = cl_asprintf("write %s or less", given);
	n->asked = cl_strdup(asked);
	n->given = cl_strdup(given);
}

static int read_cpu(struct sb_reading *r)
{
	char text[32];

	r->s->has_cpu = cl_doc_has(r->resources, "cpu");
	if (cl_doc_double(r->d, r->resources, "cpu", &r->s->cpu, r->e))
		return -1;
	cl_format_double(r->s->cpu, text);
	if (r->s->cpu < 0)
		return sb_refuse(r, r->resources, "cpu", 0, "leave the key out for no limit",
			"resources.cpu '%s' is negative", text);
	if (r->s->cpu > SB_MAX_CPU) {
		lowered(r, "cpu", text, "1024");
		r->s->cpu = SB_MAX_CPU;
	}
	if (r->s->cpu == 0)
		r->s->cpu = 0; /* -0.0 is the same number and must hash the same */
	return 0;
}

static int read_size(struct sb_reading *r, const char *key, bool *has, int64_t *mb)
{
	cleanup_free char *text = NULL;
	char path[32];
	unsigned line, column;
	bool large;

	*has = cl_doc_has(r->resources, key);
	if (read_text(r, r->resources, key, &text))
		return -1;
	if (!text)
		return 0;
	(void)snprintf(path, sizeof(path), "resources.%s", key);
	if (sb_size_mb(text, path, mb, &large, r->e)) {
		cl_doc_where(r->d, r->resources, key, 0, false, &line, &column);
		return cl_at(r->e, r->d->name, line, column);
	}
	if (large)
		lowered(r, key, text, "1048576m");
	return 0;
}

static int read_memory(struct sb_reading *r)
{
	return read_size(r, "memory", &r->s->has_memory, &r->s->memory_mb);
}

static int read_disk(struct sb_reading *r)
{
	return read_size(r, "disk", &r->s->has_disk, &r->s->disk_mb);
}

static int read_pids(struct sb_reading *r)
{
	char text[32];

	r->s->has_pids = cl_doc_has(r->resources, "pids");
	if (cl_doc_int(r->d, r->resources, "pids", INT64_MIN, INT64_MAX, &r->s->pids, r->e))
		return -1;
	(void)snprintf(text, sizeof(text), "%" PRId64, r->s->pids);
	if (r->s->pids < 0)
		return sb_refuse(r, r->resources, "pids", 0,
			"write a number from 1 to 65536, or leave the key out for the executor's "
			"cap",
			"resources.pids '%s' is negative: a project cannot waive the cap", text);
	if (r->s->pids > SB_MAX_PIDS) {
		lowered(r, "pids", text, "65536");
		r->s->pids = SB_MAX_PIDS;
	}
	return 0;
}

static int read_network(struct sb_reading *r)
{
	const char *raw = NULL;

	if (cl_doc_bool(r->d, r->caps, "git", &r->s->git, r->e) ||
		cl_doc_bool(r->d, r->caps, "virtualized", &r->s->virtualized, r->e) ||
		cl_doc_bool(r->d, r->caps, "kernel_isolated", &r->s->kernel_isolated, r->e) ||
		cl_doc_str(r->d, r->caps, "network", &raw, r->e))
		return -1;
	if (!raw || !*raw)
		return 0;
	if (strlen(raw) > 128 || !cl_all_in(raw, CL_ALNUM "-_.:"))
		return sb_refuse(r, r->caps, "network", 0,
			"write the id of an egress grant: egress_ and 24 hex digits",
			"capabilities.network '%.140s' is not an id (1-128 of letters, digits and "
			"-_.:)",
			raw);
	r->s->network = cl_strdup(raw);
	return 0;
}

static int read_egress(struct sb_reading *r)
{
	cleanup_free char *text = NULL;

	if (read_text(r, r->caps, "egress", &text))
		return -1;
	if (!text)
		return 0;
	cl_lower(text);
	if (!strcmp(text, "public"))
		r->s->egress = SB_EGRESS_PUBLIC;
	else if (!strcmp(text, "none"))
		r->s->egress = SB_EGRESS_NONE;
	else
		return sb_refuse(r, r->caps, "egress", 0,
			"write public or none; for private addresses name a grant in "
			"capabilities.network",
			"capabilities.egress '%s' is neither public nor none", text);
	if (r->s->egress == SB_EGRESS_NONE && r->s->network)
		return sb_refuse(r, r->caps, "egress", 0, "drop one of the two",
			"capabilities.egress is none, and capabilities.network names '%s'",
			r->s->network);
	return 0;
}

static int read_devices(struct sb_reading *r)
{
	r->s->has_devices = cl_doc_has(r->caps, "devices");
	return read_list(r, r->caps, &device_list, &r->s->devices);
}

static int read_interfaces(struct sb_reading *r)
{
	r->s->has_interfaces = cl_doc_has(r->caps, "interfaces");
	return read_list(r, r->caps, &interface_list, &r->s->interfaces);
}

/* An interface moves into the sandbox's network, so there must be one (DECISIONS E5). */
static int cross_check(struct sb_reading *r)
{
	if (r->s->interfaces.n && r->s->network && !strcasecmp(r->s->network, "none"))
		return sb_refuse(r, r->caps, "network", 0,
			"take capabilities.network out for a run with interfaces and write "
			"capabilities.egress: public, or take capabilities.interfaces out",
			"capabilities.network '%s' renounces the network that "
			"capabilities.interfaces needs",
			r->s->network);
	if (!r->s->interfaces.n || r->s->network || r->s->egress == SB_EGRESS_PUBLIC)
		return 0;
	return sb_refuse(r, r->caps, "interfaces", 0,
		"add capabilities.network with a grant's id, or capabilities.egress: public",
		"capabilities.interfaces needs a network, and neither capabilities.network nor "
		"capabilities.egress: public asks for one");
}

/* The order of validation, and the rule that each step's refusals name. */
static const struct {
	const char *rule;
	int (*read)(struct sb_reading *r);
} steps[] = {
	{"reference-syntax", read_image},
	{"setup", read_setup},
	{"env", read_env},
	{"resources", read_cpu},
	{"resources", read_memory},
	{"resources", read_disk},
	{"resources", read_pids},
	{"capabilities", read_network},
	{"capabilities", read_egress},
	{"capabilities", read_devices},
	{"capabilities", read_interfaces},
	{"mounts", sb_read_mounts},
	{"capabilities", cross_check},
};

/* Unknown keys on every level come before any value. */
static int check_keys(struct sb_reading *r)
{
	static const char *const top[] = {
		"image", "setup", "env", "resources", "capabilities", "mounts"};
	static const char *const resources[] = {"cpu", "memory", "pids", "disk"};
	static const char *const caps[] = {"git", "network", "virtualized", "kernel_isolated",
		"egress", "devices", "interfaces"};

	if (cl_doc_closed(r->d, r->root, "", top, CL_ARRAY_LEN(top), r->e) ||
		cl_doc_map(r->d, r->root, "resources", &r->resources, r->e) ||
		cl_doc_closed(r->d, r->resources, "resources", resources, CL_ARRAY_LEN(resources),
			r->e) ||
		cl_doc_map(r->d, r->root, "capabilities", &r->caps, r->e) ||
		cl_doc_closed(r->d, r->caps, "capabilities", caps, CL_ARRAY_LEN(caps), r->e))
		return -1;
	return sb_close_mounts(r);
}

static int refused(struct cl_err *e, const char *rule)
{
	(void)cl_slug(e, SB_INVALID);
	if (!*e->fix)
		(void)cl_fix(e, "man 5 cloop-sandbox.yaml has the format");
	return cl_rule(e, rule);
}

int sb_parse(struct cl_doc *d, struct sb_spec *out, struct cl_err *e)
{
	struct sb_reading r = {.d = d, .root = d->root, .s = out, .e = e};

	if (!d->root)
		return 0;
	if (!json_is_object(d->root)) {
		(void)cl_fail(e, CL_EDATA, "the file holds no mapping of keys");
		(void)cl_fix(e, "write 'key: value' lines; man 5 cloop-sandbox.yaml has them all");
		(void)cl_at(e, d->name, 1, 1);
		return refused(e, "yaml");
	}
	if (check_keys(&r))
		return refused(e, "unknown-key");
	for (size_t i = 0; i < CL_ARRAY_LEN(steps); i++)
		if (steps[i].read(&r))
			return refused(e, steps[i].rule);
	return 0;
}

int sb_read(const char *name, const char *text, size_t len, struct cl_doc *d, struct sb_spec *out,
	struct cl_err *e)
{
	/* The schema nests three deep; what nests deeper is broken in any case. */
	static const struct cl_doc_limits limits = {.max_bytes = SB_MAX_BYTES, .depth = 8};

	if (cl_doc_parse(d, CL_DOC_YAML, name, text, len, &limits, e))
		return refused(e, "yaml");
	return sb_parse(d, out, e);
}
