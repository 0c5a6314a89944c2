/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/secret/secret_kind.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/credpat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sec_kind_row sec_kinds[SEC_NKINDS] = {
	[SEC_GITHUB_PAT] = {"github_pat", "a GitHub personal access token",
		SEC_BY_FILE | SEC_BY_ENV, false},
	[SEC_GITHUB_APP] = {"github_app",
		"JSON with app_id, installation_id, private_key and an optional base_url",
		SEC_BY_FILE | SEC_BY_ENV | SEC_BY_FORGE, true},
	[SEC_KUBECONFIG] = {"kubeconfig", "a kubeconfig YAML document", SEC_BY_FILE | SEC_BY_ENV,
		true},
	[SEC_REGISTRY] = {"registry", "a docker config.json, or user:password",
		SEC_BY_FILE | SEC_BY_ENV, true},
	[SEC_ENV] = {"env", "a JSON object of names to values, or one value", SEC_BY_ENV, true},
	[SEC_EGRESS_PROXY] = {"egress_proxy", "the URL of an outbound proxy",
		SEC_BY_FILE | SEC_BY_ENV, false},
	[SEC_LOCAL_REPO] = {"local_repo",
		"an absolute path on this host to git repositories, or to one",
		SEC_BY_MOUNT | SEC_BY_ENV, false},
	[SEC_HOST_DEVICE] = {"host_device",
		"an inventory, one name=/dev/path[:/dev/target][:mode] "
		"a line",
		SEC_BY_DEVICE | SEC_BY_ENV, true},
	[SEC_HOST_INTERFACE] = {"host_interface",
		"an inventory, one name=ifname[,target=][,address=][,gateway=][,mtu=][,raw] a line",
		SEC_BY_INTERFACE | SEC_BY_ENV, true},
};

const struct sec_list_row sec_lists[SEC_NLISTS] = {
	[SEC_REPOS] = {"repos", "repos", "--repos", 256},
	[SEC_PERMISSIONS] = {"permissions", "perms", "--permissions", 64},
	[SEC_BRANCHES] = {"branches", "branches", "--branches", 32},
	[SEC_NAMESPACES] = {"namespaces", "ns", "--namespaces", 256},
	[SEC_CONTEXTS] = {"contexts", "ctx", "--contexts", 256},
	[SEC_VERBS] = {"verbs", "verbs", "--verbs", 8},
	[SEC_HOSTS] = {"hosts", "hosts", "--hosts", 256},
	[SEC_REGISTRIES] = {"registries", "registries", "--registries", 256},
	[SEC_ENV_KEYS] = {"env_keys", "env", "--env-keys", 256},
	[SEC_DEVICES] = {"devices", "devices", "--devices", 256},
	[SEC_INTERFACES] = {"interfaces", "interfaces", "--interfaces", 256},
};

/*
 * facts 3, a letter a constraint in the order of enum sec_list, `writable` last: Y required,
 * 1 one of those, o optional, x refused, '.' ignored.
 */
static const char rules[SEC_NKINDS][SEC_NLISTS + 2] = {
	[SEC_GITHUB_PAT] = "Yoo..x...xxx",
	[SEC_GITHUB_APP] = "Yoo..x...xxx",
	[SEC_KUBECONFIG] = "..x11o...xxx",
	[SEC_REGISTRY] = "..x..x.Y.xxx",
	[SEC_ENV] = "..x..x..oxxx",
	[SEC_EGRESS_PROXY] = "..x..xY..xxx",
	[SEC_LOCAL_REPO] = "Y.x..x...xxo",
	[SEC_HOST_DEVICE] = "..x..x...Yxo",
	[SEC_HOST_INTERFACE] = "..x..x...xYx",
};

static enum sec_rule rule(char c)
{
	switch (c) {
	case 'Y':
		return SEC_REQUIRED;
	case '1':
		return SEC_ONE_OF;
	case 'o':
		return SEC_OPTIONAL;
	case 'x':
		return SEC_REFUSED;
	default:
		return SEC_IGNORED;
	}
}

enum sec_rule sec_rule_of(enum sec_kind k, enum sec_list l)
{
	return rule(rules[k][l]);
}

enum sec_rule sec_writable_rule(enum sec_kind k)
{
	return rule(rules[k][SEC_NLISTS]);
}

int sec_kind_parse(const char *word, enum sec_kind *out, struct cl_err *e)
{
	cleanup_free char *w = cl_trim_dup(word), *all = NULL;
	const char *names[SEC_NKINDS], *near;
	char echo[CP_ECHO];

	cl_lower(w);
	for (int k = 0; k < SEC_NKINDS; k++) {
		names[k] = sec_kinds[k].name;
		if (strcmp(w, names[k]) != 0)
			continue;
		*out = (enum sec_kind)k;
		return 0;
	}
	all = cl_join(names, SEC_NKINDS, ", ");
	near = cl_nearest(w, names, SEC_NKINDS);
	/* Whoever mixed up the operands may have typed the credential here. */
	cp_echo(w, echo);
	(void)cl_fail(e, CL_EDATA, "'%s' is no kind of secret", echo);
	(void)cl_slug(e, "unknown_kind");
	if (near)
		return cl_fix(e, "did you mean %s? The kinds are %s", near, all);
	return cl_fix(e, "the kinds are %s", all);
}

static int bad_name(struct cl_err *e, const char *name, const char *why)
{
	char echo[CP_ECHO];

	cp_echo(name, echo);
	(void)cl_fail(e, CL_EDATA, "the secret's name '%s' %s", echo, why);
	(void)cl_slug(e, "invalid_name");
	return cl_fix(e, "a name is 1 to 128 letters, digits, '-', '_' and '.', for example "
			 "deploy-pat");
}

int sec_typed_check(const char *what, const char *text, struct cl_err *e)
{
	cleanup_buf struct cl_buf scrubbed = CL_BUF_SECRET;

	if (!cp_scrub(text, strlen(text), &scrubbed))
		return 0;
	(void)cl_fail(e, CL_EDATA,
		"%s has the form of a credential, and is in the shell's history now", what);
	(void)cl_slug(e, "credential_typed");
	return cl_fix(e, "replace it where it was issued, then write there what it is for");
}

static int name_is_none(const char *name, struct cl_err *e)
{
	if (!sec_typed_check("the secret's name", name, e))
		return 0;
	(void)cl_slug(e, "invalid_name");
	return cl_fix(e, "replace it where it was issued, then mint the new one under a name that "
			 "says what it is for, such as deploy-pat");
}

int sec_name_check(const char *name, struct cl_err *e)
{
	size_t len = strlen(name), ok = strspn(name, CL_ALNUM "-_."), n;
	char why[80];

	if (!len)
		return bad_name(e, name, "is empty");
	if (len > 128)
		return bad_name(e, name, "is longer than 128 bytes");
	if (!name[ok])
		return name_is_none(name, e);
	n = cl_utf8_next(name + ok, len - ok);
	(void)snprintf(why, sizeof(why), "has '%.*s' in it (character %zu)", n ? (int)n : 1,
		name + ok, ok + 1);
	return bad_name(e, name, why);
}

void sec_fingerprint(const void *sealed, size_t len, char out[SEC_FINGERPRINT])
{
	char hex[CL_SHA256_HEX];

	cl_sha256_hex(sealed, len, hex);
	(void)snprintf(out, SEC_FINGERPRINT, "sha256:%.16s", hex);
}

#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

const struct sec_ttl_row sec_ttls[SEC_NTTLS] = {
	[SEC_TTL_GRANT] = {"a grant", DAY, 0},
	[SEC_TTL_GRANT_PANEL] = {"a grant made over HTTP", DAY, 90 * DAY},
	[SEC_TTL_LEASE] = {"a lease", 15 * MINUTE, 15 * MINUTE},
	[SEC_TTL_EGRESS_GRANT] = {"an egress grant", DAY, 0},
	[SEC_TTL_EGRESS_SESSION] = {"an egress session", 15 * MINUTE, 4 * HOUR},
	[SEC_TTL_ENROLLMENT] = {"an enrollment token", 15 * MINUTE, DAY},
	[SEC_TTL_REQUEST] = {"an access request", 3 * DAY, 30 * DAY},
	[SEC_TTL_APPROVAL] = {"the grant of an approved request", 7 * DAY, 90 * DAY},
};

int sec_ttl_parse(enum sec_ttl row, const char *text, int64_t *ms, struct cl_err *e)
{
	const struct sec_ttl_row *r = &sec_ttls[row];
	char most[40];
	int64_t v;

	*ms = r->default_ms;
	if (!text || !*text)
		return 0;
	if (cl_parse_duration(text, false, "the length of time", &v, e))
		return cl_fix(e, "give a length of time such as 90s, 15m, 24h or 7d");
	if (r->ceiling_ms && v > r->ceiling_ms) {
		cl_format_duration(r->ceiling_ms, most);
		(void)cl_fail(e, CL_EDATA, "%s may live for %s at most, and '%s' is longer",
			r->what, most, text);
		return cl_fix(e, "ask for %s or less", most);
	}
	*ms = v;
	return 0;
}
