/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which network a workload gets, and making it (facts 6.7; DECISIONS E5, E12, E13). The
 * rules stand before anything can join, and what cannot be had whole is refused.
 */
#include "job.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "store/audit.h"
#include "store/journal.h"
#include "sys/clock.h"
#include "sys/hub.h"
#include "work/standing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The kernel takes a port away some time after its sandbox has ended. */
#define PORT_GOES_MS 3000

static bool engine_takes_namespaces(const struct job *j)
{
	return j->engine.kind == CT_PODMAN && !j->engine.rootless &&
	       j->spec->executor->network_backend != CFG_BACKEND_ENGINE;
}

static int refuse_rootless(const struct job *j, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"executor '%s' runs podman without root, where no egress filter can be installed",
		j->spec->executor->id);
	(void)cl_constraint(e, "egress_scope");
	return cl_fix(e, "run cloop as root, or give the project 'capabilities: {egress: none}'");
}

/* A drop in anybody's forward chain ends the packet, whatever our table says (E13). */
static int choose_backend(struct job *j, struct cl_err *e)
{
	cleanup_strv struct cl_strv drops = CL_STRV_INIT;
	cleanup_free char *first = NULL;
	struct cl_err ignored;
	char bridge[16];

	j->net_kind = engine_takes_namespaces(j) ? JOB_NET_PREPARED : JOB_NET_OURS;
	if (j->net_kind != JOB_NET_PREPARED || nft_foreign_drops(&drops, NULL, &ignored) ||
		!drops.n)
		return 0;
	if (j->spec->executor->network_backend == CFG_BACKEND_AUTO) {
		j->net_kind = JOB_NET_OURS;
		return 0;
	}
	net_bridge_name(j->network, bridge);
	first = cl_join((const char *const *)drops.v, drops.n, ", ");
	(void)cl_fail(e, CL_EREFUSED, "another firewall drops what is forwarded: %s", first);
	(void)cl_constraint(e, "network_backend");
	return cl_fix(e,
		"let the sandboxes' bridge through there, for iptables: iptables -I FORWARD -i %s "
		"-j "
		"ACCEPT && iptables -I FORWARD -o %s -m conntrack --ctstate ESTABLISHED,RELATED -j "
		"ACCEPT; or set network_backend: auto",
		bridge, bridge);
}

/*
 * Stored rule sets differ from run to run, and what a network's filter says holds for all
 * that share it: its name carries what the levels say. NULL: no levels.
 */
static char *rules_key(const struct eg_stack *s)
{
	cleanup_free char *text = NULL;
	char hex[CL_SHA256_HEX];
	json_t *j;

	if (!s->n || !s->v[0].name)
		return NULL;
	j = eg_stack_json(s);
	text = cl_json_text(j);
	json_decref(j);
	cl_sha256_hex(text, strlen(text), hex);
	return cl_asprintf("r%.12s", hex);
}

/* On record, for people who look for a table of the plain name. */
static int note_mark(const struct job *j, const char *mark, const char *other, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("%s/.cloop/state.db", j->spec->hub);
	cleanup_free char *text = cl_asprintf("networks and packet filters of this hub have '%s' "
					      "in their names from now on: '%s' is "
					      "another hub's, %s",
		mark, j->network, other);
	json_t *detail =
		json_pack("{s:s, s:s, s:s}", "mark", mark, "network", j->network, "why", other);
	const struct store_audit_row row = {.actor = "driver",
		.action = "hub.mark",
		.entity = "executor",
		.entity_id = j->spec->executor->id,
		.project = j->spec->project,
		.detail = detail};
	cleanup_store struct store *s = NULL;
	int rc = store_open(path, STORE_RW, &s, e);

	if (!rc)
		rc = store_audit_add(s, sys_now_ms(), &row, e) ||
				     store_journal_add(s, sys_now_ms(), j->spec->project, NULL,
					     "network_name", text, detail, e)
			     ? -1
			     : 0;
	json_decref(detail);
	return rc;
}

/*
 * The network's names. A hub that has the plain ones (it is the caller's only one) may find a
 * network of that name which is another's: it takes a mark then, for good.
 */
static int name_network(struct job *j, const char *key, struct cl_err *e)
{
	cleanup_free char *mark = NULL, *id = NULL, *other = NULL;

	if (hub_mark(j->spec->hub, geteuid(), &mark, e))
		return -1;
	id = hub_network_id(mark, j->spec->executor->id);
	j->network = eg_network_name(id, key);
	if (!*mark && engine_takes_namespaces(j)) {
		if (net_of_another(j->run_base, j->network, j->spec->hub, &other, e))
			return -1;
		if (other) {
			free(mark);
			mark = NULL;
			if (hub_take_mark(j->spec->hub, geteuid(), &mark, e) ||
				note_mark(j, mark, other, e))
				return -1;
			free(id);
			free(j->network);
			id = hub_network_id(mark, j->spec->executor->id);
			j->network = eg_network_name(id, key);
		}
	}
	j->table = eg_table_name(id, key);
	return 0;
}

/*
 * podman has networks of both makes. A table is one network's: were the engine's called the same,
 * each start of one make would take the rules from live sandboxes of the other.
 */
static int name_beside(struct job *j, const char *key, struct cl_err *e)
{
	cleanup_free char *beside = NULL;

	if (j->net_kind != JOB_NET_OURS || j->engine.kind != CT_PODMAN)
		return 0;
	beside = cl_asprintf("%s%sengine", key ? key : "", key ? "-" : "");
	free(j->network);
	free(j->table);
	j->network = j->table = NULL;
	return name_network(j, beside, e);
}

int job_plan_network(struct job *j, struct cl_err *e)
{
	const struct work_spec *s = j->spec;
	const char *configured = s->executor->network;
	cleanup_free char *rules = rules_key(&s->egress);
	const char *key = rules ? rules : s->scope == SB_EGRESS_PUBLIC ? "public" : NULL;

	j->net_kind = JOB_NET_NONE;
	if (s->network_disabled || s->scope == SB_EGRESS_NONE || !strcmp(configured, "none"))
		return 0;
	if (ct_network_check(configured, e))
		return -1;
	if (s->has_egress) {
		if (j->engine.rootless)
			return refuse_rootless(j, e);
		if (eg_stack_compile(&s->egress, &j->policy, e))
			return -1;
		j->has_policy = true;
		/* Rules that reach nothing are the same as no network, and safer. */
		if (!eg_reaches_anything(&j->policy))
			return 0;
		eg_stack_resolvers(&s->egress, &j->policy, &j->names);
	} else if (strcmp(configured, "bridge") != 0 || !engine_takes_namespaces(j)) {
		j->net_kind = JOB_NET_ENGINE;
		j->network = cl_strdup(configured);
		return 0;
	}
	return name_network(j, key, e) || choose_backend(j, e) || name_beside(j, key, e) ? -1 : 0;
}

/*
 * Our network of the engine's is shared: while one start lays its rules and joins it, no
 * end may find it empty and take network and rules away.
 */
static int lock_network(const struct job *j, struct cl_err *e)
{
	cleanup_free char *path = NULL;
	cleanup_fd int fd = -1;
	char bridge[16];

	net_bridge_name(j->network, bridge);
	path = cl_asprintf("%s/%s.lock", j->run_base, bridge);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", path);
	while (flock(fd, LOCK_EX))
		if (errno != EINTR)
			return cl_fail_sys(e, CL_EOS, errno, "cannot lock '%s'", path);
	return cl_steal_fd(&fd);
}

static void refuse_shared(const struct job *j, const char *hub, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "the network '%s' is that of the hub '%s'", j->network, hub);
	(void)cl_constraint(e, "network_name");
	(void)cl_fix(e,
		"write CLOOP_HUB_MARK=, and up to 16 lower-case letters and digits, to "
		"%s/.cloop/hub.env: networks of this hub have it in their names then",
		j->spec->hub);
}

/* Made by hand, or before networks said whose they are: who is in it, nobody knows. */
static void refuse_unnamed(const struct job *j, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"the network '%s' does not say whose it is: it has no label %s", j->network,
		CT_LABEL_HUB);
	(void)cl_constraint(e, "network_name");
	(void)cl_fix(e, "%s network rm %s, once nothing runs in it: the next run makes it again",
		ct_engine_name(j->engine.kind), j->network);
}

/* The bridge of a network of the engine's, by its own inspect; refused if it is not this hub's. */
static char *engine_bridge(const struct job *j, struct cl_err *e)
{
	const char *args[] = {"network", "inspect", "--format", "{{json .}}", j->network, NULL};
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const char *name = NULL, *id = NULL, *hub;
	json_t *net, *options, *labels;

	if (engine_call(&j->engine, "look at the network", NULL, args, ENGINE_ASK_MS, &out, e) ||
		cl_doc_parse(&d, CL_DOC_JSON, "network inspect", out.p, out.len, NULL, e))
		return NULL;
	/* podman 4 prints a list, whatever the format is. */
	net = json_is_array(d.root) ? json_array_get(d.root, 0) : d.root;
	labels = json_object_get(net, j->engine.kind == CT_PODMAN ? "labels" : "Labels");
	hub = json_string_value(json_object_get(labels, CT_LABEL_HUB));
	if (!hub)
		refuse_unnamed(j, e);
	else if (strcmp(hub, j->spec->hub) != 0)
		refuse_shared(j, hub, e);
	if (!hub || strcmp(hub, j->spec->hub) != 0)
		return NULL;
	if (j->engine.kind == CT_PODMAN) {
		name = json_string_value(json_object_get(net, "network_interface"));
	} else {
		options = json_object_get(net, "Options");
		name = json_string_value(
			json_object_get(options, "com.docker.network.bridge.name"));
		id = json_string_value(json_object_get(net, "Id"));
	}
	if (name && *name)
		return cl_strdup(name);
	if (id && strlen(id) >= 12)
		return cl_asprintf("br-%.12s", id);
	(void)cl_fail(
		e, CL_EUNAVAIL, "network '%s' has no bridge that can be filtered", j->network);
	(void)cl_fix(e, "%s network rm %s: the next run makes it again",
		ct_engine_name(j->engine.kind), j->network);
	return NULL;
}

/*
 * Sandboxes on one bridge of the engine's reach each other past the filter unless the kernel hands
 * bridged packets to it: where it does not, the bridge takes one at a time (DECISIONS E13). docker
 * gives its sandboxes no IPv6.
 */
static int alone_on(const struct job *j, const char *bridge, struct cl_err *e)
{
	int64_t until = sys_mono_ms() + PORT_GOES_MS;
	bool used;

	if (!net_bridge_bypasses(j->engine.kind == CT_PODMAN))
		return 0;
	for (;;) {
		if (net_bridge_used(bridge, &used, e))
			return -1;
		if (!used)
			return 0;
		if (sys_mono_ms() >= until)
			break;
		sys_sleep_ms(50);
	}
	(void)cl_fail(e, CL_EREFUSED,
		"another sandbox is on the network '%s', and the two would reach each other past "
		"the "
		"filter",
		j->network);
	(void)cl_constraint(e, "network_shared");
	return cl_fix(e,
		"wait for its end, or have bridged packets filtered: modprobe br_netfilter && "
		"sysctl net.bridge.bridge-nf-call-iptables=1 "
		"net.bridge.bridge-nf-call-ip6tables=1");
}

/* Our own network of the engine: made when it is not there. */
static int engine_network(struct job *j, struct cl_err *e)
{
	const char *look[] = {"network", "inspect", j->network, NULL};
	cleanup_free char *bridge = NULL, *option = NULL;
	cleanup_free char *label = cl_asprintf(CT_LABEL_HUB "=%s", j->spec->hub);
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct nft_filter f = {.table = j->table};
	char name[16];

	net_bridge_name(j->network, name);
	option = cl_asprintf("com.docker.network.bridge.name=%s", name);
	if (engine_run(&j->engine, look, &r, e))
		return -1;
	if (r.status) {
		const char *podman[] = {"network", "create", "--driver", "bridge", "--disable-dns",
			"--label", label, j->network, NULL};
		const char *docker[] = {"network", "create", "--driver", "bridge", "-o", option,
			"-o", "com.docker.network.bridge.enable_icc=false", "--label", label,
			j->network, NULL};

		if (engine_call(&j->engine, "make the network", NULL,
			    j->engine.kind == CT_PODMAN ? podman : docker, ENGINE_WORK_MS, NULL, e))
			return -1;
	}
	bridge = engine_bridge(j, e);
	if (!bridge) {
		/* What is somebody else's is not taken away when this run is cleaned up. */
		if (e->code == CL_EREFUSED)
			j->net_kind = JOB_NET_NONE;
		return -1;
	}
	if (alone_on(j, bridge, e))
		return -1;
	f.bridge = bridge;
	(void)snprintf(j->net.bridge, sizeof(j->net.bridge), "%s", bridge);
	return j->has_policy ? nft_apply(&f, &j->policy, e) : 0;
}

int job_make_network(struct job *j, enum ct_net *net, const char **network, struct cl_err *e)
{
	struct net_want w = {.handle = j->handle,
		.network = j->network,
		.table = j->table,
		.pool = j->spec->executor->address_pool,
		.policy = j->has_policy ? &j->policy : NULL,
		.ipv6 = true,
		.rundir = j->run_base,
		.hub = j->spec->hub};

	*network = NULL;
	switch (j->net_kind) {
	case JOB_NET_PREPARED:
		if (net_prepare(&w, &j->net, e))
			return cl_wrap(e, "the sandbox's network");
		*net = CT_NET_NAMESPACE;
		*network = j->net.netns;
		return 0;
	case JOB_NET_OURS:
		*net = CT_NET_NAMED;
		*network = j->network;
		j->net_lock = lock_network(j, e);
		return j->net_lock < 0 ? -1 : engine_network(j, e);
	case JOB_NET_ENGINE:
		*net = CT_NET_NAMED;
		*network = j->network;
		return 0;
	case JOB_NET_NONE:
	default:
		*net = CT_NET_NONE;
		return 0;
	}
}

int job_note_filter(const struct job *j, const struct store_handle *row, struct cl_err *e)
{
	if (!j->table || (j->net_kind != JOB_NET_PREPARED && j->net_kind != JOB_NET_OURS))
		return 0;
	return standing_write(j->run_base, j->spec->hub, row, j->net.bridge,
		j->has_policy ? &j->spec->egress : NULL, e);
}

void job_note_addresses(const struct job *j, struct shim_started *out)
{
	struct pol_addr a[2] = {j->net.address, j->net.address6};
	char *const to[] = {out->address, out->address6};
	uint64_t packets = 0;
	struct cl_err e;

	if (!j->table)
		return;
	(void)snprintf(out->bridge, sizeof(out->bridge), "%s", j->net.bridge);
	/* The engine gives out the addresses of its own networks. */
	if (j->net_kind == JOB_NET_OURS && (!out->init || net_addresses_of(out->init, a, &e)))
		return;
	for (size_t i = 0; i < CL_ARRAY_LEN(a); i++)
		if (a[i].family)
			pol_addr_text(&a[i], to[i]);
	if (!nft_blocked_unrecorded(j->table, &packets, &e))
		out->unrecorded_before = (int64_t)packets;
}

int job_drop_network(struct job *j, struct cl_err *e)
{
	const char *args[] = {"network", "rm", j->network, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_fd int lock = -1;

	/* Its interfaces first: with its network the engine ends what they stand in. */
	if (j->engine.kind == CT_DOCKER && !geteuid() && net_let_go(j->run_base, j->handle, e))
		return -1;
	/* Before the rules go: whoever verifies meanwhile would take it for an attack. */
	standing_drop(j->run_base, j->handle);
	if (j->net_kind == JOB_NET_PREPARED)
		return net_teardown(j->run_base, j->handle, NULL, NULL, e);
	if (j->net_kind != JOB_NET_OURS)
		return 0;
	lock = lock_network(j, e);
	if (lock < 0)
		return -1;
	/* The engine refuses while another sandbox is on it: then its rules stay too. */
	if (engine_run(&j->engine, args, &r, e))
		return -1;
	return r.status ? 0 : nft_remove(j->table, e);
}
