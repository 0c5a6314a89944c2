/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_inventory.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KIND "host_device"
#define FORM "write name=/dev/source[:/dev/target][:mode], mode r, rw or rwm"
#define MAX  16

const char *sec_access_name(enum sec_access a)
{
	static const char *const names[] = {[SEC_R] = "r", [SEC_RW] = "rw", [SEC_RWM] = "rwm"};

	return names[a];
}

bool sec_access_parse(const char *name, enum sec_access *out)
{
	*out = SEC_R;
	while (*out < SEC_RWM && strcmp(name, sec_access_name(*out)) != 0)
		(*out)++;
	return !strcmp(name, sec_access_name(*out));
}

static void device_release(struct sec_device *d)
{
	free(d->name);
	free(d->source);
	free(d->target);
	*d = (struct sec_device){0};
}

void sec_devices_release(struct sec_devices *d)
{
	for (size_t i = 0; i < d->n; i++)
		device_release(&d->v[i]);
	free(d->v);
	*d = SEC_DEVICES_INIT;
}

/* ---- what no sandbox may be given ---- */

static const struct {
	const char *name; /* below /dev; with a '/' at its end all below it, and itself */
	const char *why;
} named[] = {
	{"mem", SEC_NODE_MEMORY},
	{"kmem", SEC_NODE_MEMORY},
	{"kcore", SEC_NODE_MEMORY},
	{"port", SEC_NODE_MEMORY},
	{"oldmem", SEC_NODE_MEMORY},
	{"crash", SEC_NODE_MEMORY},
	{"msr", SEC_NODE_MEMORY},
	{"nvram", SEC_NODE_MEMORY},
	{"cpu/", SEC_NODE_MEMORY},
	{"kmsg", SEC_NODE_KERNEL},
	{"snapshot", SEC_NODE_KERNEL},
	{"loop-control", SEC_NODE_DISKS},
	{"btrfs-control", SEC_NODE_DISKS},
	{"nvme-fabrics", SEC_NODE_DISKS},
	{"ubi_ctrl", SEC_NODE_DISKS},
	{"mapper/", SEC_NODE_DISKS},
	{"md/", SEC_NODE_DISKS},
	{"bsg/", SEC_NODE_DISKS},
	{"raw/", SEC_NODE_DISKS},
	{"block/", SEC_NODE_DISKS},
	{"char/", "names a node by its number"},
};

/*
 * Whole disks: a family's name, then at most three letters or only digits; a partition has
 * more.
 */
static const struct {
	const char *prefix, *set;
} disks[] = {
	{"sd", CL_LOWER},
	{"hd", CL_LOWER},
	{"vd", CL_LOWER},
	{"xvd", CL_LOWER},
	{"mmcblk", CL_DIGITS},
	{"loop", CL_DIGITS},
	{"dm-", CL_DIGITS},
	{"md", CL_DIGITS},
	{"md_d", CL_DIGITS},
	{"nbd", CL_DIGITS},
	{"zram", CL_DIGITS},
	{"ram", CL_DIGITS},
	{"pmem", CL_DIGITS},
	{"bcache", CL_DIGITS},
	{"drbd", CL_DIGITS},
	{"rbd", CL_DIGITS},
	{"ubi", CL_DIGITS},
	{"ubiblock", CL_DIGITS "_"},
	{"mtdblock", CL_DIGITS},
	{"mtd", CL_DIGITS},
	{"sg", CL_DIGITS},
	{"dasd", CL_LOWER},
};

/* A whole mmcblk's boot areas and its replay protected one are the disk's firmware. */
static bool mmc_part(const char *s)
{
	size_t n = cl_starts(s, "mmcblk") ? 6 + strspn(s + 6, CL_DIGITS) : 0;

	return n && (!strncmp(s + n, "boot", 4) || !strncmp(s + n, "rpmb", 4));
}

/* nvme0 (the controller), nvme0n1, nvme0c0n1, ng0n1: digits, and one letter of n and c each. */
static bool nvme_disk(const char *s)
{
	size_t skip = cl_starts(s, "nvme") ? 4 : cl_starts(s, "ng") ? 2 : 0;

	return skip && s[skip] && strspn(s + skip, CL_DIGITS "nc") == strlen(s + skip) &&
	       strchr(CL_DIGITS, s[skip]);
}

/* A link such as by-id/ata-X: its partitions end in -part and digits. */
static bool disk_link(const char *s)
{
	const char *part = strrchr(s, '-');

	if (!cl_starts(s, "disk/"))
		return false;
	if (cl_starts(s, "disk/by-uuid/") || cl_starts(s, "disk/by-label/") ||
		cl_starts(s, "disk/by-partuuid/") || cl_starts(s, "disk/by-partlabel/"))
		return false;
	return !part || !cl_starts(part, "-part") || !cl_all_in(part + 5, CL_DIGITS);
}

const char *sec_device_forbidden(const char *path)
{
	const char *s = path + strlen("/dev/");

	if (!cl_starts(path, "/dev/"))
		return NULL;
	for (size_t i = 0; i < CL_ARRAY_LEN(named); i++) {
		size_t n = strlen(named[i].name);
		bool below = named[i].name[n - 1] == '/';

		if (below ? !strncmp(s, named[i].name, n - 1) && (!s[n - 1] || s[n - 1] == '/')
			  : !strcmp(s, named[i].name))
			return named[i].why;
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(disks); i++) {
		const char *rest = s + strlen(disks[i].prefix);

		if (cl_starts(s, disks[i].prefix) && cl_all_in(rest, disks[i].set) &&
			(strcmp(disks[i].set, CL_LOWER) != 0 || strlen(rest) <= 3))
			return SEC_NODE_DISK;
	}
	return mmc_part(s) || nvme_disk(s) || disk_link(s) ? SEC_NODE_DISK : NULL;
}

/* ---- the inventory ---- */

struct reading {
	struct sec_devices *out;
	unsigned line;
	struct cl_err *e;
};

static int bad(const struct reading *r, const char *name, const char *what, const char *value,
	const char *why)
{
	(void)sec_payload_bad(
		r->e, KIND, "line %u: device '%s': %s '%s' %s", r->line, name, what, value, why);
	(void)cl_at(r->e, NULL, r->line, 0);
	return cl_fix(r->e, FORM);
}

static int taken(const struct reading *r, const char *name, const char *what, const char *value)
{
	(void)bad(r, name, what, value, "is taken by an earlier line");
	return cl_fix(r->e, "give each line a name and a target path of its own");
}

static int bad_line(const struct reading *r, const char *why)
{
	(void)sec_payload_bad(r->e, KIND, "line %u %s", r->line, why);
	(void)cl_at(r->e, NULL, r->line, 0);
	return cl_fix(r->e, FORM);
}

static bool canonical(const char *p)
{
	for (const char *s = p; s; s = strchr(s + 1, '/')) {
		size_t n = strcspn(s + 1, "/");

		if (!n || (n == 1 && s[1] == '.') || (n == 2 && s[1] == '.' && s[2] == '.'))
			return false;
	}
	return true;
}

static int check_path(const struct reading *r, const char *name, const char *what, const char *p)
{
	const char *why;

	if (!*p)
		return bad(r, name, what, p, "is empty");
	if (strlen(p) > 256)
		return bad(r, name, what, p, "is longer than 256 bytes");
	if (*p != '/')
		return bad(r, name, what, p, "is not absolute");
	if (!canonical(p) || strchr(p, '\\'))
		return bad(r, name, what, p,
			"is not written plainly: no '.', '..', doubled or final slash, or "
			"backslash");
	if (!cl_starts(p, "/dev/")) {
		(void)bad(r, name, what, p, "is not under /dev");
		return cl_fix(r->e, "open a file or a directory of the host as a local_repo");
	}
	why = sec_device_forbidden(p);
	if (!why)
		return 0;
	(void)bad(r, name, what, p, why);
	return cl_fix(r->e,
		"name a partition, a serial line, an instrument; or open a directory as a "
		"local_repo");
}

static bool mode_of(const char *word, enum sec_access *out)
{
	for (int a = SEC_R; a <= SEC_RWM; a++)
		if (!strcasecmp(word, sec_access_name((enum sec_access)a))) {
			*out = (enum sec_access)a;
			return true;
		}
	return false;
}

static int check_name(const struct reading *r, const char *name)
{
	if (!*name)
		return bad_line(r, "has no name before '='");
	if (strlen(name) > 64)
		return bad_line(r, "has a name longer than 64 bytes");
	if (strpbrk(name, ":/\\ \t\v\f"))
		return bad_line(r, "has a name with ':', '/', '\\' or a blank in it");
	return 0;
}

static int check_new(const struct reading *r, const struct sec_device *d)
{
	for (size_t i = 0; i < r->out->n; i++) {
		const struct sec_device *o = &r->out->v[i];

		if (!strcmp(o->name, d->name))
			return taken(r, d->name, "name", d->name);
		if (!strcmp(o->target, d->target))
			return taken(r, d->name, "target path", d->target);
	}
	return 0;
}

/* The fields after '=': a source, then a target, a mode, or both. */
static int take_fields(const struct reading *r, struct sec_device *d, const char *text)
{
	cleanup_strv struct cl_strv f = CL_STRV_INIT;
	const char *target;

	cl_split(text, ':', &f);
	if (f.n > 3)
		return bad_line(r, "has more than three fields");
	d->source = cl_strdup(f.v[0]);
	d->access = SEC_RW;
	target = f.v[0];
	if (f.n == 2 && !mode_of(f.v[1], &d->access))
		target = f.v[1];
	if (f.n == 3) {
		target = f.v[1];
		if (!mode_of(f.v[2], &d->access))
			return bad(r, d->name, "mode", f.v[2], "is none of r, rw, rwm");
	}
	d->target = cl_strdup(target);
	if (f.n == 2 && target == f.v[1] && *target != '/')
		return bad(r, d->name, "field", target,
			"is neither a target path nor one of the modes r, rw, rwm");
	return check_path(r, d->name, "source path", d->source) ||
			       check_path(r, d->name, "target path", d->target)
		       ? -1
		       : check_new(r, d);
}

static int read_line(void *ctx, const char *line, unsigned no, struct cl_err *e)
{
	struct reading *r = ctx;
	const char *eq = strchr(line, '=');
	struct sec_device d = {.line = no};
	int rc;

	r->line = no;
	r->e = e;
	if (!eq)
		return bad_line(r, "has no '='");
	d.name = cl_strndup(line, (size_t)(eq - line));
	rc = check_name(r, d.name);
	if (!rc)
		rc = take_fields(r, &d, eq + 1);
	if (rc) {
		device_release(&d);
		return -1;
	}
	r->out->v = cl_grow(r->out->v, &r->out->cap, r->out->n + 1, sizeof(*r->out->v));
	r->out->v[r->out->n++] = d;
	return 0;
}

int sec_devices_parse(const char *text, size_t len, struct sec_devices *out, struct cl_err *e)
{
	struct reading r = {out, 0, e};

	if (sec_inventory_lines(KIND, text, len, read_line, &r, e))
		return -1;
	if (out->n)
		return 0;
	(void)sec_payload_bad(e, KIND, "the inventory names no device");
	return cl_fix(e, "write a line such as serial0=/dev/ttyUSB0");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sec_device *)a)->name, ((const struct sec_device *)b)->name);
}

int sec_devices_select(const struct sec_devices *all, const struct cl_strv *patterns, bool writable,
	const char *secret, struct sec_devices *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	for (size_t i = 0; i < all->n; i++) {
		const struct sec_device *d = &all->v[i];

		cl_strv_add(&names, d->name);
		if (!sec_name_allowed(patterns, d->name))
			continue;
		out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*out->v));
		out->v[out->n++] = (struct sec_device){cl_strdup(d->name), cl_strdup(d->source),
			cl_strdup(d->target), writable ? d->access : SEC_R, d->line};
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_name);
	return sec_selected(out->n, MAX, "devices", "--devices", patterns, &names, secret, e);
}

void sec_devices_keep(struct sec_devices *d, const struct cl_strv *names)
{
	size_t left = 0;

	for (size_t i = 0; i < d->n; i++)
		if (cl_strv_has(names, d->v[i].name))
			d->v[left++] = d->v[i];
		else
			device_release(&d->v[i]);
	d->n = left;
}
