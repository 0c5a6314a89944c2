/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/place/capability.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/runtime_name.h"

#include <string.h>

static const char *const names[CAP_N] = {
	[CAP_VIRTUALIZED] = "virtualized",
	[CAP_KERNEL_ISOLATED] = "kernel_isolated",
	[CAP_STREAM] = "supports_stream",
	[CAP_SIGNAL] = "supports_signal",
	[CAP_RESOURCE_LIMITS] = "supports_resource_limits",
	[CAP_HOST_FILESYSTEM] = "shares_host_filesystem",
	[CAP_NETWORK_EGRESS] = "network_egress",
	[CAP_FILTERED_EGRESS] = "filtered_egress",
	[CAP_EGRESS_SCOPE] = "supports_egress_scope",
	[CAP_IMAGE_OVERRIDE] = "supports_image_override",
	[CAP_SANDBOX_BUILD] = "supports_sandbox_build",
	[CAP_SANDBOX_MOUNTS] = "supports_sandbox_mounts",
	[CAP_HOST_MOUNTS] = "supports_host_mounts",
	[CAP_SECRET_FILES] = "supports_secret_files",
	[CAP_REVOCATION] = "supports_revocation",
	[CAP_DEVICES] = "supports_devices",
	[CAP_INTERFACES] = "supports_interfaces",
	[CAP_FILES_FROM_HOST_PATH] = "secret_files_from_host_path",
	[CAP_WORKSPACE_PROVISIONING] = "supports_workspace_provisioning",
	[CAP_BRANCH_BUNDLE] = "supports_branch_bundle",
	[CAP_WRITE_BACK] = "supports_write_back",
	[CAP_PROJECT_SEED] = "supports_project_seed",
	[CAP_PROJECT_STATE] = "returns_project_state",
};

static const char *const isolations[CAP_NISOLATIONS] = {"none", "container", "vm", "remote"};
static const char *const disks[CAP_NDISKS] = {"", "sampled", "eviction"};

const char *cap_name(enum cap c)
{
	return names[c];
}

const char *cap_isolation_name(enum cap_isolation i)
{
	return isolations[i];
}

/* The index of a word, or n. */
static size_t index_of(const char *const *words, size_t n, const char *word)
{
	size_t i = 0;

	while (i < n && strcmp(words[i], word) != 0)
		i++;
	return i;
}

bool cap_isolation_find(const char *name, enum cap_isolation *out)
{
	size_t i = index_of(isolations, CAP_NISOLATIONS, name);

	*out = i < CAP_NISOLATIONS ? (enum cap_isolation)i : CAP_ISOLATION_NONE;
	return i < CAP_NISOLATIONS;
}

void cap_of_container(
	const struct cfg_executor *x, bool root, const char *arch, struct cap_set *out)
{
	bool rootless = !root && strcmp(x->runtime, "docker") != 0;
	const struct {
		enum cap cap;
		bool is;
	} rows[] = {
		{CAP_VIRTUALIZED, rn_virtualized(x->oci_runtime)},
		{CAP_KERNEL_ISOLATED, rn_kernel_isolated(x->oci_runtime)},
		{CAP_STREAM, true},
		{CAP_SIGNAL, true},
		{CAP_RESOURCE_LIMITS, true},
		{CAP_HOST_FILESYSTEM, true},
		{CAP_NETWORK_EGRESS, strcmp(x->network, "none") != 0},
		{CAP_FILTERED_EGRESS, x->egress.enabled && !rootless},
		{CAP_EGRESS_SCOPE, !rootless},
		{CAP_IMAGE_OVERRIDE, true},
		{CAP_SANDBOX_BUILD, true},
		{CAP_SANDBOX_MOUNTS, true},
		{CAP_SECRET_FILES, true},
		{CAP_REVOCATION, true},
		{CAP_HOST_MOUNTS, true},
		/* A guest kernel and a Sentry have a /dev of their own, and without root there is
		 * no node to be made and no device rule. */
		{CAP_DEVICES, !rootless && !rn_kernel_isolated(x->oci_runtime)},
		/* They see the network as it was when they began, too; and an interface is only
		 * moved into a network that is prepared before the engine starts, or with docker
		 * into that of a sandbox which is held until it is there. */
		{CAP_INTERFACES, root && !rn_kernel_isolated(x->oci_runtime) &&
					 (!strcmp(x->runtime, "docker") ||
						 x->network_backend != CFG_BACKEND_ENGINE)},
	};

	*out = CAP_SET_INIT;
	out->isolation =
		rn_virtualized(x->oci_runtime) ? CAP_ISOLATION_VM : CAP_ISOLATION_CONTAINER;
	out->disk = CAP_DISK_SAMPLED;
	out->platform = "linux";
	out->arch = arch;
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++)
		out->bits |= rows[i].is ? CAP_BIT(rows[i].cap) : 0;
}

void cap_of_process(bool limits, const char *arch, struct cap_set *out)
{
	static const enum cap has[] = {
		CAP_STREAM, CAP_SIGNAL, CAP_HOST_FILESYSTEM, CAP_NETWORK_EGRESS};

	*out = CAP_SET_INIT;
	out->isolation = CAP_ISOLATION_NONE;
	out->disk = CAP_DISK_SAMPLED;
	out->platform = "linux";
	out->arch = arch;
	for (size_t i = 0; i < CL_ARRAY_LEN(has); i++)
		out->bits |= CAP_BIT(has[i]);
	out->bits |= limits ? CAP_BIT(CAP_RESOURCE_LIMITS) : 0;
}

json_t *cap_json(const struct cap_set *c, const char *driver, const char *executor_id)
{
	json_t *out = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I}", "driver", driver,
		"executor_id", executor_id, "isolation", isolations[c->isolation],
		"disk_enforcement", disks[c->disk], "platform", c->platform, "arch", c->arch,
		"max_concurrent", (json_int_t)c->max_concurrent);

	for (size_t i = 0; i < CAP_N; i++)
		(void)json_object_set_new(out, names[i], json_boolean(c->bits & CAP_BIT(i)));
	return out;
}

/* ---- reading ---- */

enum { K_DRIVER = CAP_N, K_ID, K_ISOLATION, K_DISK, K_PLATFORM, K_ARCH, K_MAX, K_N };
static const char *const others[K_N - CAP_N] = {"driver", "executor_id", "isolation",
	"disk_enforcement", "platform", "arch", "max_concurrent"};

/* The slot of a key; the one behind the last is tried first, for that is how they are printed. */
static int slot(const char *key, int hint)
{
	if (hint < CAP_N && !strcmp(names[hint], key))
		return hint;
	for (int i = 0; i < K_N; i++)
		if (!strcmp(i < CAP_N ? names[i] : others[i - CAP_N], key))
			return i;
	return -1;
}

static int unknown(const struct cl_scan *s, size_t at, const char *key, struct cl_err *e)
{
	const char *known[K_N], *near;

	for (size_t i = 0; i < K_N; i++)
		known[i] = i < CAP_N ? names[i] : others[i - CAP_N];
	near = cl_nearest(key, known, K_N);
	(void)cl_scan_fail(s, at, e, "'%.80s' is no capability", key);
	return near ? cl_fix(e, "did you mean '%s'?", near)
		    : cl_fix(e, "cloop-exec(7) has the names of capabilities");
}

static int read_word(struct cl_scan *s, const char *what, const char *const *words, size_t n,
	size_t *out, struct cl_err *e)
{
	const char *text;

	if (cl_scan_string(s, what, &text, e))
		return -1;
	*out = index_of(words, n, text);
	return *out < n ? 0
			: cl_scan_fail(
				  s, s->last, e, "%s '%.80s' is none that there is", what, text);
}

static int read_other(struct cl_scan *s, int k, struct cap_set *out, struct cl_err *e)
{
	const char *text;
	size_t i = 0;

	if (k == K_ISOLATION) {
		if (read_word(s, "isolation", isolations, CAP_NISOLATIONS, &i, e))
			return -1;
		out->isolation = (enum cap_isolation)i;
		return 0;
	}
	if (k == K_DISK) {
		if (read_word(s, "disk_enforcement", disks, CAP_NDISKS, &i, e))
			return -1;
		out->disk = (enum cap_disk)i;
		return 0;
	}
	if (k == K_MAX)
		return cl_scan_int(s, "max_concurrent", 0, INT32_MAX, &out->max_concurrent, e);
	return cl_scan_string(s, others[k - CAP_N],
		k == K_PLATFORM ? &out->platform
		: k == K_ARCH   ? &out->arch
				: &text,
		e);
}

int cap_read(struct cl_scan *s, struct cap_set *out, struct cl_err *e)
{
	uint64_t seen = 0;
	bool first = true, yes;
	int k = -1;

	*out = CAP_SET_INIT;
	if (cl_scan_open(s, '{', "capabilities", e))
		return -1;
	for (;;) {
		const char *key;

		if (cl_scan_key(s, &first, &key, e))
			return -1;
		if (!key)
			return 0;
		k = slot(key, k + 1);
		if (k < 0)
			return unknown(s, s->last, key, e);
		if (seen & UINT64_C(1) << k)
			return cl_scan_fail(s, s->last, e, "the key '%s' stands twice", key);
		seen |= UINT64_C(1) << k;
		if (k >= CAP_N) {
			if (read_other(s, k, out, e))
				return -1;
			continue;
		}
		if (cl_scan_bool(s, key, &yes, e))
			return -1;
		out->bits |= yes ? CAP_BIT(k) : 0;
	}
}
