/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evidence as the probe prints it. It comes out of a sandbox: nothing in it is taken on trust. */
#include "policy/place/isolation.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"

#include <stddef.h>
#include <string.h>

static const char *const keys[] = {"evidence", "nonce", "uname", "proc_version", "boot_id",
	"uptime_ms", "hypervisor_flag", "hypervisor_vendor", "dmi_vendor", "dmi_product",
	"gvisor_boot_log", "unread"};
static const char *const uname_keys[] = {"sysname", "release", "version", "machine"};

struct reading {
	struct cl_doc doc;
	struct iso_evidence *out;
	struct cl_err *e;
};

/* A text of at most size - 1 bytes, masked; absent or null: "". */
static int text(struct reading *r, const json_t *obj, const char *key, char *out, size_t size)
{
	const char *s = NULL;
	size_t n;

	if (cl_doc_str(&r->doc, obj, key, &s, r->e))
		return -1;
	n = s ? strlen(s) : 0;
	if (n >= size)
		return cl_doc_fail(&r->doc, obj, key, 0, CL_EDATA, r->e,
			"%s has %zu bytes, and no kernel says more than %zu", key, n, size - 1);
	memcpy(out, s ? s : "", n);
	out[n] = '\0';
	cl_mask(out, "");
	return 0;
}

/* -1: absent or null. */
static int tristate(struct reading *r, const char *key, int *out)
{
	bool yes = false;

	*out = -1;
	if (!cl_doc_has(r->doc.root, key))
		return 0;
	if (cl_doc_bool(&r->doc, r->doc.root, key, &yes, r->e))
		return -1;
	*out = yes;
	return 0;
}

/* As random(4) has it: 8-4-4-4-12 lower-case hex digits. */
static bool boot_id_ok(const char *s)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	for (size_t i = 0; i < sizeof(shape); i++)
		if (shape[i] == 'x' ? !strchr("0123456789abcdef", s[i]) || !s[i] : s[i] != shape[i])
			return false;
	return true;
}

static int texts(struct reading *r)
{
	struct iso_evidence *o = r->out;
	const struct {
		const char *key;
		char *out;
		size_t size;
	} rows[] = {
		{"nonce", o->nonce, sizeof(o->nonce)},
		{"proc_version", o->proc_version, sizeof(o->proc_version)},
		{"boot_id", o->boot_id, sizeof(o->boot_id)},
		{"hypervisor_vendor", o->hypervisor_vendor, sizeof(o->hypervisor_vendor)},
		{"dmi_vendor", o->dmi_vendor, sizeof(o->dmi_vendor)},
		{"dmi_product", o->dmi_product, sizeof(o->dmi_product)},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++)
		if (text(r, r->doc.root, rows[i].key, rows[i].out, rows[i].size))
			return -1;
	if (*o->boot_id && !boot_id_ok(o->boot_id))
		return cl_doc_fail(&r->doc, r->doc.root, "boot_id", 0, CL_EDATA, r->e,
			"boot_id '%s' is none that a kernel makes", o->boot_id);
	return 0;
}

static int read_uname(struct reading *r)
{
	struct iso_evidence *o = r->out;
	char sysname[80];
	json_t *u = NULL;

	if (cl_doc_map(&r->doc, r->doc.root, "uname", &u, r->e) ||
		cl_doc_closed(&r->doc, u, "uname", uname_keys, CL_ARRAY_LEN(uname_keys), r->e))
		return -1;
	if (!u)
		return 0;
	return text(r, u, "sysname", sysname, sizeof(sysname)) ||
			       text(r, u, "release", o->release, sizeof(o->release)) ||
			       text(r, u, "version", o->version, sizeof(o->version)) ||
			       text(r, u, "machine", o->machine, sizeof(o->machine))
		       ? -1
		       : 0;
}

static int read_unread(struct reading *r)
{
	char ignored[80];
	const char *key;
	json_t *u = NULL, *v;

	if (cl_doc_map(&r->doc, r->doc.root, "unread", &u, r->e) ||
		cl_doc_closed(&r->doc, u, "unread", keys, CL_ARRAY_LEN(keys), r->e))
		return -1;
	json_object_foreach (u, key, v) {
		bool boot = !strcmp(key, "boot_id");

		if (text(r, u, key, boot ? r->out->no_boot_id : ignored, sizeof(ignored)))
			return -1;
	}
	return 0;
}

static int read_all(struct reading *r)
{
	struct iso_evidence *o = r->out;
	json_t *root = r->doc.root;
	int64_t version = 0;

	if (!json_is_object(root))
		return cl_fail(r->e, CL_EDATA, "%s: evidence is one JSON object", r->doc.name);
	if (cl_doc_closed(&r->doc, root, "", keys, CL_ARRAY_LEN(keys), r->e) ||
		cl_doc_int(&r->doc, root, "evidence", 1, 1, &version, r->e))
		return -1;
	if (!version)
		return cl_fail(r->e, CL_EDATA, "%s: evidence says evidence: 1", r->doc.name);
	if (texts(r) || read_uname(r) || read_unread(r) ||
		cl_doc_int(&r->doc, root, "uptime_ms", 0, INT64_MAX / 2, &o->uptime_ms, r->e) ||
		tristate(r, "hypervisor_flag", &o->hypervisor) ||
		tristate(r, "gvisor_boot_log", &o->gvisor_boot_log))
		return -1;
	return 0;
}

int iso_evidence_read(
	const char *name, const char *in, size_t len, struct iso_evidence *out, struct cl_err *e)
{
	static const struct cl_doc_limits limits = {ISO_MAX_EVIDENCE, 3, 64};
	struct reading r = {.doc = CL_DOC_INIT, .out = out, .e = e};
	int rc;

	*out = (struct iso_evidence){.uptime_ms = -1, .hypervisor = -1, .gvisor_boot_log = -1};
	rc = cl_doc_parse(&r.doc, CL_DOC_JSON, name, in, len, &limits, e) || read_all(&r);
	cl_doc_release(&r.doc);
	if (!rc)
		return 0;
	return e->fix[0] ? -1 : cl_fix(e, "give it what 'cloop probe' prints inside the sandbox");
}
