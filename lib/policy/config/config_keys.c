/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every key of config.yaml, ordered by path: what the reader takes, what
 * `cloop hub config keys` lists and what cloop-config.yaml(5) says.
 */
#include "policy/config/config.h"
#include "base/mem.h"
#include "policy/config/config_internal.h"

#include <stdlib.h>
#include <string.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* path, type, default, feature, help, then what else the row says */
#define K(p, t, d, f, h, ...)                                                          \
	{                                                                              \
		.path = (p), .type = CFG_##t, .def = (d), .feature = (f), .help = (h), \
		##__VA_ARGS__                                                          \
	}

#define CON "executors.container."
#define DRV "executors.drivers."
#define LOC "executors.local."
#define EGR "executors.container.egress_filter."
#define PRX "executors.egress."
#define GIT "executors.git_proxy."
#define KUG "executors.kube_guard."
#define KUB "executors.kubernetes."
#define IMG "sandbox.image_policy."
#define REG "sandbox.registry."

/* clang-format off */
static const struct cfg_key keys[] = {
	K("executors", MAP, NULL, "container", "where workloads may run, and within which bounds"),
	K("executors.allow_host_process", BOOL, "true", "host-process",
		"let a run be a plain process of this host, without a sandbox", .bad = "false"),
	K("executors.auto_install_harness", BOOL, "true", "harness",
		"let a device install the agent program that a run needs"),
	K("executors.container", ONE_OR_MAPS, NULL, "container",
		"sandboxes that podman or docker runs on this host: one mapping, or a list of mappings with an id each"),
	K(CON "address_pool", STR, "10.211.0.0/16", "container",
		"private IPv4 range that sandbox networks take their addresses from", .check = cfg_check_pool),
	K(CON "allow_hosts", STRS, NULL, "container",
		"entries of the sandbox's hosts file, as name:address", .items = 64, .check = cfg_check_host_entry),
	K(CON "allow_root_user", BOOL, "false", "container",
		"let a workload be uid 0 where root owns the project"),
	K(CON "cpus", NUMBER, "0", "container", "CPU cores of a run that asks for none; 0 sets no limit",
		.max = 1024, .unit = "cores", .bad = "1"),
	K(CON "egress_filter", MAP, NULL, "container", "the packet filter of this executor's sandboxes"),
	K(EGR "allow_cidrs", STRS, NULL, "container",
		"ranges that a sandbox may reach on allow_ports, private ones included", .check = cfg_check_cidr),
	K(EGR "allow_ports", INTS, NULL, "container", "TCP ports that every allowed destination is bound to",
		.items = 64, .min = 1, .max = 65535),
	K(EGR "allow_public_internet", BOOL, "false", "container",
		"every address that is not blocked, on allow_ports"),
	K(EGR "block_special_use", BOOL, "false", "container",
		"also block the special-purpose ranges that are not public; bootstrap writes it on", .bad = "true"),
	K(EGR "broker", STR, NULL, "container", "an egress proxy that is not cloop's, as address:port",
		.check = cfg_check_endpoint),
	K(EGR "enabled", BOOL, "false", "container", "filter; it needs a network other than none", .bad = "true"),
	K(EGR "host_patterns", STRS, NULL, "container",
		"names that this filter stands in for; they only make it warn", .check = cfg_check_host_pattern),
	K(EGR "internal", BOOL, "false", "container",
		"no route off the host, so that the egress proxy is the only way out", .bad = "true"),
	K(EGR "resolvers", STRS, NULL, "container",
		"DNS servers that a sandbox may ask, as address or address:port", .check = cfg_check_resolver),
	K(EGR "silent", BOOL, "false", "container",
		"let denied packets vanish instead of failing at once; they are recorded either way"),
	K(CON "enabled", BOOL, "false", "container", "use this executor; it is checked even when it is off"),
	K(CON "extra_args", STRS, NULL, "container",
		"further engine flags, as --flag=value; only those that cannot weaken a sandbox", .items = 32,
		.check = cfg_check_extra_arg),
	K(CON "id", STR, "container", "container", "the name that commands, bindings and grants use",
		.check = cfg_check_id, .harm = CFG_HARM_EXECUTOR),
	K(CON "image", STR, "ghcr.io/blechschmidt/cloop-harness:latest", "container",
		"image of a project that names none; a run never pulls", .check = cfg_check_image),
	K(CON "labels", LABELS, NULL, "labels", "labels that grants may select this executor by",
		.check = cfg_check_label),
	K(CON "memory", SIZE, "0", "container", "memory of a run that asks for none, swap included; 0 sets no limit",
		.unit = "MB", .bad = "512m"),
	K(CON "network", STR, "none", "container",
		"none, bridge, or a network of the engine's; its name is not used once the filter is on",
		.check = cfg_check_network),
	K(CON "network_backend", ENUM, "auto", "container",
		"who builds the network: cloop (prepared), the engine, or cloop where no other firewall is in the way (auto)",
		.values = WORDS("auto", "prepared", "engine")),
	K(CON "oci_runtime", STR, NULL, "container",
		"low-level runtime by its registered name, such as runsc or kata", .check = cfg_check_oci_runtime,
		.harm = CFG_HARM_EXECUTOR),
	K(CON "orphan_grace_period_seconds", INT, "600", "container",
		"age at which a running container that nobody owns is removed; 0 means the default",
		.max = 604800, .unit = "seconds"),
	K(CON "pids_limit", INT, "1024", "container",
		"processes and threads of a run that asks for none; 0 means the default, -1 no limit",
		.min = -1, .max = 65536),
	K(CON "runtime", ENUM, NULL, "container", "the engine; unset takes podman where it is there, else docker",
		.values = WORDS("podman", "docker"), .harm = CFG_HARM_EXECUTOR),
	K(CON "seccomp", ENUM, "strict", "container",
		"system call profile: cloop's, cloop's with user namespaces, or the engine's",
		.values = WORDS("strict", "userns", "engine")),
	K(CON "selinux_label", ENUM, NULL, "container", "how the workspace is relabelled where SELinux enforces",
		.values = WORDS("", "z", "Z")),
	K("executors.drivers", ONE_OR_MAPS, NULL, "drivers",
		"executors of drivers that are not cloop's, by the contract of cloop-exec(7): one mapping, or a list of mappings with an id each"),
	K(DRV "driver", STR, NULL, "drivers",
		"absolute path of a cloop-exec-NAME, which root owns and nobody else can write",
		.check = cfg_check_driver, .harm = CFG_HARM_EXECUTOR),
	K(DRV "enabled", BOOL, "false", "drivers", "use this executor"),
	K(DRV "id", STR, "driver", "drivers", "the name that commands, bindings and grants use",
		.check = cfg_check_id, .harm = CFG_HARM_EXECUTOR),
	K(DRV "labels", LABELS, NULL, "labels", "labels that grants may select this executor by",
		.check = cfg_check_label),
	K(DRV "options", ANY, NULL, "drivers", "whatever the driver wants to be told; it reads this itself"),
	K("executors.egress", MAP, NULL, "egress-proxy", "the forward proxy behind egress grants"),
	K(PRX "advertise_addr", STR, NULL, "egress-proxy", "the proxy's address as sandboxes are told it"),
	K(PRX "default_max_bytes_down", SIZE, NULL, "egress-proxy", "download quota of a grant that names none",
		.unit = "bytes"),
	K(PRX "default_max_bytes_up", SIZE, NULL, "egress-proxy", "upload quota of a grant that names none",
		.unit = "bytes"),
	K(PRX "dial_timeout_seconds", INT, "15", "egress-proxy", "longest wait for a destination to answer",
		.min = 1, .max = 300, .unit = "seconds"),
	K(PRX "enabled", BOOL, "false", "egress-proxy", "serve it"),
	K(PRX "listen_addr", STR, "127.0.0.1:0", "egress-proxy",
		"where it listens; a bridged sandbox cannot reach loopback", .check = cfg_check_listen),
	K(PRX "max_session_minutes", INT, "15", "egress-proxy",
		"longest session; one is renewed while its run lives; 0 means the default", .max = 240,
		.unit = "minutes"),
	K("executors.failover", MAP, NULL, "failover", "what becomes of a run whose executor is lost"),
	K("executors.failover.max_attempts", INT, "2", "failover", "how often such a run is started elsewhere",
		.max = 10),
	K("executors.feature_bundle_mb", INT, "32", "features", "largest bundle of a feature run", .min = 1,
		.max = 128, .unit = "MB"),
	K("executors.git_proxy", MAP, NULL, "git-proxy", "the proxy that keeps forge credentials on this host"),
	K(GIT "advertise_url", STR, NULL, "git-proxy", "the proxy's URL as sandboxes are told it",
		.check = cfg_check_https_base),
	K(GIT "allow_delete", BOOL, "false", "git-proxy", "let a push delete refs that it may write"),
	K(GIT "allowed_refs", STRS, "[refs/heads/cloop/**]", "git-proxy", "refs beyond which no grant reaches"),
	K(GIT "cert_file", STR, NULL, "git-proxy", "certificate, where tls is not auto", .check = cfg_check_path),
	K(GIT "enabled", BOOL, "false", "git-proxy", "serve it"),
	K(GIT "key_file", STR, NULL, "git-proxy", "private key, where tls is not auto", .check = cfg_check_path),
	K(GIT "listen_addr", STR, "127.0.0.1:0", "git-proxy", "where it listens", .check = cfg_check_listen),
	K(GIT "min_tls_version", ENUM, "1.2", "git-proxy", "oldest TLS that is spoken", .values = WORDS("1.2", "1.3")),
	K(GIT "session_minutes", INT, "60", "git-proxy",
		"length of a session, renewed while its run lives; 0 means the default", .max = 720, .unit = "minutes"),
	K(GIT "tls", ENUM, NULL, "git-proxy", "auto: the hub issues the certificate itself", .values = WORDS("auto")),
	K("executors.harness_credential_exempt", STRS, NULL, "harness",
		"executors with a login of their own, by id", .check = cfg_check_id),
	K("executors.image_provenance", ENUM, "warn", "image-provenance",
		"what becomes of one of cloop's own images that is not signed, or cannot be checked",
		.values = WORDS("warn", "required"), .bad = "required", .harm = CFG_HARM_ALL),
	K("executors.isolation_evidence", ENUM, "warn", "isolation",
		"what becomes of an isolation claim that no probe has verified", .values = WORDS("warn", "required"),
		.bad = "required", .harm = CFG_HARM_ALL),
	K("executors.kube_guard", MAP, NULL, "kube-guard", "the proxy that keeps cluster credentials on this host"),
	K(KUG "advertise_url", STR, NULL, "kube-guard", "the proxy's URL as sandboxes are told it",
		.check = cfg_check_https_base),
	K(KUG "ca_file", STR, NULL, "kube-guard", "CA that sandboxes are given; unset takes cert_file",
		.check = cfg_check_path),
	K(KUG "cert_file", STR, NULL, "kube-guard", "certificate, where tls is not auto", .check = cfg_check_path),
	K(KUG "enabled", BOOL, "false", "kube-guard", "serve it"),
	K(KUG "key_file", STR, NULL, "kube-guard", "private key, where tls is not auto", .check = cfg_check_path),
	K(KUG "listen_addr", STR, "127.0.0.1:0", "kube-guard", "where it listens", .check = cfg_check_listen),
	K(KUG "min_tls_version", ENUM, "1.2", "kube-guard", "oldest TLS that is spoken", .values = WORDS("1.2", "1.3")),
	K(KUG "namespaces", STRS, NULL, "kube-guard", "namespaces beyond which no grant reaches"),
	K(KUG "resources", STRS, NULL, "kube-guard", "resources beyond which no grant reaches"),
	K(KUG "session_minutes", INT, "60", "kube-guard",
		"length of a session, renewed while its run lives; 0 means the default", .max = 720, .unit = "minutes"),
	K(KUG "tls", ENUM, NULL, "kube-guard", "auto: the hub issues the certificate itself", .values = WORDS("auto")),
	K(KUG "verbs", STRS, NULL, "kube-guard", "verbs beyond which no grant reaches"),
	K("executors.kubernetes", MAP, NULL, "kubernetes", "one pod for each run, in a cluster"),
	K(KUB "egress_filter", MAP, NULL, "kubernetes", "the network policy of every pod"),
	K(KUB "egress_filter.allow_cluster_dns", BOOL, "true", "kubernetes", "keep the cluster's own DNS in reach"),
	K(KUB "egress_filter.allow_public_internet", BOOL, "false", "kubernetes",
		"every address that is not blocked, on ports"),
	K(KUB "egress_filter.block_special_use", BOOL, "false", "kubernetes",
		"also block the special-purpose ranges that are not public", .bad = "true"),
	K(KUB "egress_filter.cidrs", STRS, NULL, "kubernetes", "ranges that a pod may reach on ports",
		.check = cfg_check_cidr),
	K(KUB "egress_filter.enabled", BOOL, "false", "kubernetes", "apply it", .bad = "true"),
	K(KUB "egress_filter.ports", INTS, NULL, "kubernetes", "TCP ports that every allowed destination is bound to",
		.items = 64, .min = 1, .max = 65535),
	K(KUB "egress_filter.resolvers", STRS, NULL, "kubernetes", "DNS servers that a pod may ask",
		.check = cfg_check_resolver),
	K(KUB "enabled", BOOL, "false", "kubernetes", "use this executor"),
	K(KUB "git_ca_bundle", STR, NULL, "kubernetes", "CA that a pod's fetch trusts for the git proxy"),
	K(KUB "image", STR, NULL, "kubernetes", "image of a project that names none; it must carry cloop",
		.check = cfg_check_image),
	K(KUB "image_pull_policy", ENUM, NULL, "kubernetes", "when nodes pull",
		.values = WORDS("Always", "IfNotPresent", "Never")),
	K(KUB "keep_completed_pods", BOOL, "false", "kubernetes", "leave pods that have ended"),
	K(KUB "labels", LABELS, NULL, "kubernetes", "labels that grants may select this executor by",
		.check = cfg_check_label),
	K(KUB "namespace", STR, NULL, "kubernetes", "where pods are made"),
	K(KUB "network_policy_enforced", BOOL, NULL, "kubernetes",
		"whether the cluster enforces network policies; unset: what the probe found"),
	K(KUB "node_selector", LABELS, NULL, "kubernetes", "labels that a pod's node must have"),
	K(KUB "orphan_grace_period_seconds", INT, "600", "kubernetes",
		"age at which a pod that nobody owns is removed; 0 means the default", .max = 604800, .unit = "seconds"),
	K(KUB "registry_secret", STR, NULL, "kubernetes", "secret with the login that looks up what a tag points to"),
	K(KUB "runtime_class", STR, NULL, "kubernetes", "runtime class of every pod, such as kata"),
	K(KUB "tolerations", MAPS, NULL, "kubernetes", "node taints that a pod puts up with"),
	K(KUB "tolerations[].effect", ENUM, NULL, "kubernetes", "effect of the taint; unset: any",
		.values = WORDS("NoSchedule", "PreferNoSchedule", "NoExecute")),
	K(KUB "tolerations[].key", STR, NULL, "kubernetes", "key of the taint"),
	K(KUB "tolerations[].operator", ENUM, NULL, "kubernetes", "how the value is compared",
		.values = WORDS("Exists", "Equal")),
	K(KUB "tolerations[].value", STR, NULL, "kubernetes", "value of the taint"),
	K("executors.limits", MAP, NULL, "limits",
		"what no workload may exceed, whatever a project or an executor says; one that cannot be read stops every executor",
		.harm = CFG_HARM_ALL),
	K("executors.limits.max_cpu", NUMBER, NULL, "limits", "most CPU cores", .min = 0.001, .max = 1024,
		.unit = "cores", .harm = CFG_HARM_ALL),
	K("executors.limits.max_disk", SIZE, NULL, "limits", "how far a workspace may grow", .unit = "MB",
		.harm = CFG_HARM_ALL),
	K("executors.limits.max_memory", SIZE, NULL, "limits", "most memory", .unit = "MB", .harm = CFG_HARM_ALL),
	K("executors.limits.max_pids", INT, NULL, "limits", "most processes and threads", .min = 1, .max = 65536,
		.harm = CFG_HARM_ALL),
	K("executors.local", ONE_OR_MAPS, NULL, "host-process",
		"plain processes of this host as an executor, where allow_host_process lets it; nothing is chosen for them but by name"),
	K(LOC "allow_root_user", BOOL, "false", "host-process",
		"let a workload be uid 0 where root owns the project"),
	K(LOC "cpus", NUMBER, "0", "host-process", "CPU cores of a run that asks for none; 0 sets no limit",
		.max = 1024, .unit = "cores", .bad = "1"),
	K(LOC "enabled", BOOL, "false", "host-process", "use this executor"),
	K(LOC "id", STR, "local", "host-process", "the name that commands, bindings and grants use",
		.check = cfg_check_id, .harm = CFG_HARM_EXECUTOR),
	K(LOC "labels", LABELS, NULL, "labels", "labels that grants may select this executor by",
		.check = cfg_check_label),
	K(LOC "memory", SIZE, "0", "host-process", "memory of a run that asks for none; 0 sets no limit",
		.unit = "MB", .bad = "512m"),
	K(LOC "pids_limit", INT, "-1", "host-process",
		"processes and threads of a run that asks for none; 0 means 1024, -1 no limit",
		.min = -1, .max = 65536),
	K("executors.min_agent_build", STR, NULL, "remote", "oldest release that a device may run and still get work",
		.check = cfg_check_build),
	K("executors.model_relay", MAP, NULL, "model-relay", "model calls through this hub, on the git proxy's port"),
	K("executors.model_relay.enabled", BOOL, "false", "model-relay", "serve it"),
	K("executors.orphan_sweep_interval_minutes", INT, "15", "sweep-interval",
		"how often a hub's guardian looks for what nobody owns; 0 leaves that to 'cloop sweep'", .max = 10080,
		.unit = "minutes"),
	K("executors.remote", MAP, NULL, "remote", "memory spent on work that devices send back"),
	K("executors.remote.max_pinned_writeback_bytes", INT, "268435456", "remote", "for one device", .min = 1,
		.max = 9007199254740992, .unit = "bytes"),
	K("executors.remote.max_pinned_writeback_total_bytes", INT, "1073741824", "remote", "for all of them",
		.min = 1, .max = 9007199254740992, .unit = "bytes"),
	K("notifications", ANY, NULL, "notifications", "channels that are told about approvals"),
	K("orchestrator", MAP, NULL, "orchestrator", "what holds while workloads run"),
	K("orchestrator.min_free_disk_mb", INT, "1024", "orchestrator",
		"free space below which runs are stopped; 0 turns it off", .max = 1073741824, .unit = "MB"),
	K("sandbox", MAP, NULL, "image-policy", "what a project's own file may ask for"),
	K("sandbox.image_policy", MAP, NULL, "image-policy",
		"images that projects may name; one that cannot be read refuses them all"),
	K(IMG "allowed_registries", STRS, NULL, "image-policy", "registries, as host, host:port, *.suffix or *"),
	K(IMG "allowed_repos", STRS, NULL, "image-policy", "repositories, exact or with a final /*"),
	K(IMG "cosign_identities", MAPS, NULL, "image-policy", "keyless signers, any of whom is enough"),
	K(IMG "cosign_identities[].issuer", STR, NULL, "image-policy", "who vouched for the signer"),
	K(IMG "cosign_identities[].subject_regexp", STR, NULL, "image-policy", "which signer of that issuer"),
	K(IMG "cosign_public_keys", STRS, NULL, "image-policy", "files of public keys, any of which is enough"),
	K(IMG "default_registry", STR, NULL, "image-policy", "registry of a reference that names none"),
	K(IMG "govern_operator_images", BOOL, "false", "image-policy",
		"hold the images of this file to the same rules"),
	K(IMG "require_digest", BOOL, "false", "image-policy", "refuse an image that is only named by a tag"),
	K(IMG "require_signature", BOOL, "false", "image-policy",
		"refuse an image without a signature that verifies; needs a key or an identity"),
	K("sandbox.registry", MAP, NULL, "image-policy", "how image registries are asked for digests and signatures"),
	K(REG "auth_file", STR, NULL, "image-policy",
		"logins, as podman login writes them; unset takes those of docker and podman of the hub's user",
		.check = cfg_check_path),
	K(REG "certs_dir", STR, NULL, "image-policy",
		"folders of certificates by host, as /etc/containers/certs.d has them and before it",
		.check = cfg_check_path),
	K(REG "cosign", STR, NULL, "image-policy", "the cosign that is run for cosign_identities; unset: the one on the system's path",
		.check = cfg_check_path),
	K(REG "plain_http", STRS, NULL, "image-policy", "registries on loopback that are spoken to without TLS",
		.items = 64, .check = cfg_check_plain_registry),
	K(REG "proxy", STR, NULL, "image-policy",
		"HTTP proxy on the way there, as http://host:port; the environment's is never used",
		.check = cfg_check_origin),
	K("secrets", MAP, NULL, "secrets", "where the secret store finds its root key, and how it reaches GitHub"),
	K("secrets.github", MAP, NULL, "secrets", "how GitHub's API is reached for a github_app"),
	K("secrets.github.ca_file", STR, NULL, "secrets",
		"certificates that may vouch for a GitHub Enterprise Server, besides the system's; never for github.com",
		.check = cfg_check_path),
	K("secrets.github.proxy", STR, NULL, "secrets",
		"HTTP proxy on the way there, as http://host:port; the environment's is never used",
		.check = cfg_check_origin),
	K("secrets.key_file", STR, NULL, "secrets",
		"file of the root key, mode 0400 or 0600, beside .cloop and never inside", .check = cfg_check_path),
	K("secrets.lease_seconds", INT, "900", "secrets",
		"how long a lease lasts before it must be renewed: what nobody takes back is dead by then",
		.min = 10, .max = 900, .unit = "seconds"),
	K("ui", MAP, NULL, "ui", "the web interface and its API"),
	K("ui.allow_unauthenticated_network", BOOL, "false", "ui", "listen beyond loopback without sign-in"),
	K("ui.allowed_origins", STRS, NULL, "ui", "further origins of any websocket"),
	K("ui.allowed_ws_origins", STRS, NULL, "ui", "further origins of the dashboard's websocket"),
	K("ui.auto_resume_on_cap_reset", BOOL, "true", "ui", "start a run again once its usage cap is reset"),
	K("ui.cluster", MAP, NULL, "cluster", "several hubs on one control plane"),
	K("ui.cluster.advertise_url", STR, NULL, "cluster", "where the other hubs reach this one"),
	K("ui.cluster.exclusive", BOOL, "false", "cluster", "be the only hub, without the bus"),
	K("ui.cluster.peer_ca_file", STR, NULL, "cluster", "CA of the other hubs", .check = cfg_check_path),
	K("ui.cluster.peer_server_name", STR, NULL, "cluster", "name in the other hubs' certificates"),
	K("ui.external_url", STR, NULL, "ui", "where people and devices reach this hub", .check = cfg_check_origin),
	K("ui.listen", STR, "127.0.0.1", "ui", "where it listens; without sign-in only loopback"),
	K("ui.oidc", ANY, NULL, "oidc", "sign-in by OpenID Connect"),
	K("ui.projects_root", STR, NULL, "projects", "where new projects are made", .check = cfg_check_path),
	K("ui.telemetry", MAP, NULL, "telemetry", "diagnostics that the dashboard sends to this hub"),
	K("ui.telemetry.enabled", BOOL, "true", "telemetry", "take them"),
	K("ui.tls", MAP, NULL, "ui-tls", "TLS of the web interface: both files or neither"),
	K("ui.tls.cert_file", STR, NULL, "ui-tls", "certificate", .check = cfg_check_path),
	K("ui.tls.key_file", STR, NULL, "ui-tls", "private key", .check = cfg_check_path),
	K("ui.tls.min_version", ENUM, "1.2", "ui-tls", "oldest TLS that is spoken", .values = WORDS("1.2", "1.3")),
	K("ui.trusted_proxies", STRS, NULL, "ui", "proxies whose X-Forwarded headers count; loopback always does",
		.check = cfg_check_any_cidr),
};
/* clang-format on */

/* What this release has; a feature that is not here is known and not built. */
static const char *const built[] = {"container", "drivers", "failover", "host-process",
	"image-policy", "image-provenance", "isolation", "labels", "limits", "orchestrator",
	"projects", "secrets", "sweep-interval"};

bool cfg_built(const char *feature)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(built); i++)
		if (!strcmp(built[i], feature))
			return true;
	return false;
}

const struct cfg_key *cfg_keys(size_t *n)
{
	*n = CL_ARRAY_LEN(keys);
	return keys;
}

static const struct cfg_key *exact(const char *path)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(keys); i++)
		if (!strcmp(keys[i].path, path))
			return &keys[i];
	return NULL;
}

const struct cfg_key *cfg_key_find(const char *path)
{
	cleanup_buf struct cl_buf with = CL_BUF_INIT, without = CL_BUF_INIT;
	const struct cfg_key *k = exact(path);

	if (k || !strchr(path, '['))
		return k;
	/* "[1]" is "[]" below a list and nothing below one that may be a mapping. */
	for (const char *p = path; *p; p++) {
		if (*p == '[') {
			p += strcspn(p, "]");
			if (!*p)
				return NULL;
			cl_buf_adds(&with, "[]");
			continue;
		}
		cl_buf_addc(&with, *p);
		cl_buf_addc(&without, *p);
	}
	k = exact(with.p);
	return k ? k : exact(without.p);
}

static const char *const type_names[] = {
	[CFG_MAP] = "mapping",
	[CFG_MAPS] = "list of mappings",
	[CFG_ONE_OR_MAPS] = "mapping or list of mappings",
	[CFG_BOOL] = "true or false",
	[CFG_INT] = "whole number",
	[CFG_NUMBER] = "number",
	[CFG_SIZE] = "size",
	[CFG_STR] = "string",
	[CFG_ENUM] = "word",
	[CFG_STRS] = "list of strings",
	[CFG_INTS] = "list of whole numbers",
	[CFG_LABELS] = "mapping of strings",
	[CFG_ANY] = "mapping",
};

const char *cfg_type_name(enum cfg_type t)
{
	return type_names[t];
}

static void set_text(json_t *o, const char *key, const char *text)
{
	(void)json_object_set_new(o, key, text ? json_string(text) : json_null());
}

json_t *cfg_key_json(const struct cfg_key *k)
{
	json_t *o = json_object(), *values = json_array();

	set_text(o, "key", k->path);
	set_text(o, "type", cfg_type_name(k->type));
	set_text(o, "default", k->def);
	set_text(o, "feature", k->feature);
	(void)json_object_set_new(o, "built", json_boolean(cfg_built(k->feature)));
	set_text(o, "unit", k->unit);
	set_text(o, "help", k->help);
	(void)json_object_set_new(o, "min", k->max > 0 ? json_real(k->min) : json_null());
	(void)json_object_set_new(o, "max", k->max > 0 ? json_real(k->max) : json_null());
	for (size_t i = 0; k->values && k->values[i]; i++)
		(void)json_array_append_new(values, json_string(k->values[i]));
	(void)json_object_set_new(o, "values", values);
	set_text(o, "if_bad", k->bad ? k->bad : k->def);
	return o;
}
