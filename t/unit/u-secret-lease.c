/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_lease.h"
#include "policy/secret/secret_pattern.h"
#include "tsv.h"

#define NOW 1000000

/* A grant and what it offers, made from short texts. */
struct made {
	struct sec_subject subject;
	struct sec_constraints constraints;
	struct sec_grant grant;
};

static void make(struct made *m, struct sec_offer *o, const char *id, const char *kind,
	const char *constraints, const char *payload)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	enum sec_kind k = SEC_ENV;
	struct cl_err e;

	*m = (struct made){.subject = SEC_SUBJECT_INIT};
	CHECK_INT(sec_kind_parse(kind, &k, &e), 0);
	CHECK_INT(sec_subject_parse("project:/srv/app", &m->subject, &e), 0);
	CHECK_INT(
		cl_doc_parse(&d, CL_DOC_JSON, "c", constraints, strlen(constraints), NULL, &e), 0);
	CHECK_INT(sec_constraints_read(&d, d.root, &m->constraints, &e), 0);
	if (sec_constraints_check(k, &m->constraints, NULL, &e))
		UNIT_FAIL("%s", e.msg);
	m->grant = (struct sec_grant){.id = id,
		.secret_id = "sec_1",
		.secret_name = id,
		.kind = k,
		.subject = &m->subject,
		.constraints = &m->constraints};
	*o = (struct sec_offer){.grant = &m->grant, .payload = payload, .len = strlen(payload)};
}

static void unmake(struct made *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		sec_subject_release(&m[i].subject);
		sec_constraints_release(&m[i].constraints);
	}
}

static const char *var(const struct sec_lease *l, const char *name)
{
	const struct sec_var *v = sec_lease_var(l, name);

	return v ? v->value.p : NULL;
}

static const char *file(const struct sec_lease *l, size_t material, const char *name)
{
	for (size_t i = 0; material < l->nmaterials && i < l->materials[material].nfiles; i++)
		if (!strcmp(l->materials[material].files[i].name, name))
			return l->materials[material].files[i].data.p;
	return NULL;
}

static bool scrubbed(const struct sec_lease *l, const char *text)
{
	for (size_t i = 0; i < l->nsecrets; i++)
		if (!strcmp(l->secrets[i].p, text))
			return true;
	return false;
}

static char *names(const struct sec_lease *l)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	for (size_t i = 0; i < l->nvars; i++)
		cl_buf_addf(&b, "%s%s", i ? " " : "", l->vars[i].name);
	return cl_buf_detach(&b);
}

void test_env__one_row_a_payload(void)
{
	static const struct {
		const char *secret, *constraints, *payload, *want; /* NULL: refused */
	} rows[] = {
		{"app-env", "{\"env_keys\":[\"API_KEY\"]}",
			"{\"API_KEY\":\"abc\",\"WEBHOOK_SECRET\":\"def\"}", "API_KEY=abc;"},
		{"app-env", "{}", "{\"API_KEY\":\"abc\",\"WEBHOOK_SECRET\":\"def\"}",
			"API_KEY=abc;WEBHOOK_SECRET=def;"},
		{"app-env", "{}", "KEY=value\nB=c\n", "APP_ENV=KEY=value\nB=c;"},
		{"app-env", "{\"env_keys\":[\"API_KEY\"]}", "API_KEY=value\n", NULL},
		{"anthropic_api_key", "{}", "sk-x\n", "ANTHROPIC_API_KEY=sk-x;"},
		{"my.db-url", "{}", "v", "MY_DB_URL=v;"},
		{"2fa", "{}", "v", "_2FA=v;"},
		{"x", "{}", "{\"A\":1}", "X={\"A\":1};"},
		{"x", "{}", "{\"a-b\":\"c\",\"_ok\":\"d\"}", "_ok=d;"},
		{"x", "{}", "{\"a-b\":\"c\"}", NULL},
		{"x", "{\"env_keys\":[\"API_KEY\"]}", "{\"api_key\":\"c\"}", NULL},
		{"x", "{}", "{}", NULL},
		{"x", "{}", " ", NULL},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
		cleanup_buf struct cl_buf got = CL_BUF_INIT;
		struct made m;
		struct sec_offer o;

		make(&m, &o, rows[i].secret, "env", rows[i].constraints, rows[i].payload);
		sec_lease_build(&o, 1, NOW, &l);
		CHECK_INT(l.expires_at, NOW + 900);
		CHECK_INT(l.nrefused, rows[i].want ? 0 : 1);
		CHECK_INT(l.nmaterials, rows[i].want ? 1 : 0);
		for (size_t k = 0; k < l.nvars; k++) {
			cl_buf_addf(&got, "%s=%s;", l.vars[k].name, l.vars[k].value.p);
			CHECK(l.vars[k].sensitive && scrubbed(&l, l.vars[k].value.p));
		}
		CHECK_STR(got.p, rows[i].want ? rows[i].want : "");
		if (l.nrefused && m.constraints.list[SEC_ENV_KEYS].n)
			CHECK_HAS(l.refused[0].error.msg, "has no key matching API_KEY");
		unmake(&m, 1);
	}
}

void test_env__what_it_has_is_said(void)
{
	static const struct {
		const char *payload, *says, *fix, *grant_fix;
	} rows[] = {
		{"API_KEY=value\n", "it is no JSON object of names to values, but one value, X",
			"or: cloop secret grant edit x --env-keys X", "write --env-keys X;"},
		{"{\"z\":\"\",\"API_KEYS\":\"c\"}", "it has API_KEYS, z",
			"cloop secret grant edit x --env-keys API_KEYS",
			"write --env-keys API_KEYS;"},
		{"{\"b\":\"\",\"a\":\"c\"}", "it has a, b", "--env-keys a,b",
			"write --env-keys a,b;"},
		{"{\"ghp_abcdefghijklmnopqrstuvwxyz0123456789\":\"c\"}", "it has [redacted]",
			"--env-keys [redacted]", "write --env-keys [redacted];"},
		{"{\"a-b\":\"c\"}", "no key matching API_KEY", "mint a JSON object",
			"mint a JSON object"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
		struct made m;
		struct sec_offer o;
		struct cl_err e;

		make(&m, &o, "x", "env", "{\"env_keys\":[\"API_KEY\"]}", rows[i].payload);
		sec_lease_build(&o, 1, NOW, &l);
		CHECK_INT(l.nrefused, 1);
		CHECK_HAS(l.refused[0].error.msg, rows[i].says);
		CHECK_HAS(l.refused[0].error.fix, rows[i].fix);
		CHECK_INT(sec_env_has(&m.constraints.list[SEC_ENV_KEYS], "x", o.payload, o.len, &e),
			-1);
		CHECK_HAS(e.msg, rows[i].says);
		CHECK_HAS(e.fix, rows[i].grant_fix);
		CHECK_INT(e.code, CL_EREFUSED);
		unmake(&m, 1);
	}
}

void test_pat__as_the_guide_lists_it(void)
{
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	cleanup_free char *all = NULL;
	struct made m;
	struct sec_offer o;

	make(&m, &o, "deploy-pat", "github_pat",
		"{\"repos\":[\"myorg/*\"],\"permissions\":[\"contents:read\"]}",
		"ghp_examplesecret\n");
	sec_lease_build(&o, 1, NOW, &l);
	CHECK_INT(l.nmaterials, 1);
	CHECK_STR(l.materials[0].constraints.p, "repos=myorg/* perms=contents:read");
	CHECK_STR(l.materials[0].delivers.p, "github repos: myorg/* (helper-scoped=true)");
	CHECK_STR(file(&l, 0, "github-token"), "ghp_examplesecret\n");
	CHECK(!strstr(file(&l, 0, "git-credential-cloop"), "ghp_"));
	CHECK_HAS(file(&l, 0, "gitconfig"), "useHttpPath = true");
	CHECK_INT(l.materials[0].nfiles, 3);
	CHECK(l.materials[0].files[1].executable && !l.materials[0].files[0].executable);
	all = names(&l);
	CHECK_STR(all, "CLOOP_GITHUB_PERMISSIONS CLOOP_GITHUB_REPO_ALLOWLIST GIT_CONFIG_GLOBAL");
	sec_lease_place(&l, "lease_1", "/run/cloop/x");
	CHECK_STR(var(&l, "GIT_CONFIG_GLOBAL"), "/run/cloop/x/gitconfig");
	CHECK_STR(var(&l, "CLOOP_LEASE_DIR"), "/run/cloop/x");
	CHECK_STR(var(&l, "CLOOP_LEASE_EXPIRES_AT"), "1970-01-12T14:01:40Z");
	CHECK(!var(&l, "CLOOP_REDACT_ENV") && !var(&l, "GITHUB_TOKEN"));
	CHECK(scrubbed(&l, "ghp_examplesecret"));
	unmake(&m, 1);
}

void test_pat__bare_tokens_only_for_everything(void)
{
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	struct made m[3];
	struct sec_offer o[3];

	make(&m[0], &o[0], "all", "github_pat", "{\"repos\":[\"*\"]}", "ghp_all_all_all");
	make(&m[1], &o[1], "one", "github_pat",
		"{\"repos\":[\"a/b\"],\"permissions\":[\"contents:read\"]}", "ghp_one_one_one");
	make(&m[2], &o[2], "ghes", "github_pat", "{\"repos\":[\"*/*\"]}",
		"{\"token\":\"ghp_ent_ent\",\"host\":\"GHES.example.com\"}");
	sec_lease_build(o, 3, NOW, &l);
	CHECK_INT(l.nmaterials, 3);
	CHECK(l.merged);
	/* What names its repositories outright comes first and keeps the plain names. */
	CHECK_STR(l.materials[0].secret_name, "one");
	CHECK_STR(file(&l, 0, "github-token"), "ghp_one_one_one\n");
	CHECK_STR(file(&l, 1, "github-token-2"), "ghp_all_all_all\n");
	CHECK_STR(file(&l, 2, "github-token-3"), "ghp_ent_ent\n");
	CHECK_HAS(file(&l, 2, "git-credential-cloop-3"), "'ghes.example.com'");
	CHECK_HAS(file(&l, 0, "gitconfig"), "git-credential-cloop-3");
	CHECK(!file(&l, 1, "gitconfig"));
	CHECK_STR(var(&l, "GITHUB_TOKEN"), "ghp_all_all_all");
	CHECK_STR(var(&l, "GH_TOKEN"), "ghp_all_all_all");
	CHECK_STR(var(&l, "GH_ENTERPRISE_TOKEN"), "ghp_ent_ent");
	CHECK_STR(var(&l, "CLOOP_GITHUB_REPO_ALLOWLIST"), "a/b,*,*/*");
	CHECK(!var(&l, "CLOOP_GITHUB_PERMISSIONS"));
	sec_lease_place(&l, "x", "/d");
	CHECK_STR(var(&l, "CLOOP_REDACT_ENV"), "GH_ENTERPRISE_TOKEN,GH_TOKEN,GITHUB_TOKEN");
	unmake(m, 3);
}

/* The payload of an App at github.com, with a key from the vectors. */
static char *app_payload(void)
{
	FILE *f = fopen(T_CASES "/secret/rsa/pkcs8-2048.pem", "r");
	char pem[4096];
	json_t *o;
	char *text;
	size_t n;

	if (!f)
		UNIT_FAIL("no key among the vectors");
	n = fread(pem, 1, sizeof(pem) - 1, f);
	(void)fclose(f);
	pem[n] = '\0';
	o = json_pack("{s:i, s:i, s:s}", "app_id", 42, "installation_id", 7, "private_key", pem);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

/* When the first of them ends is when something has to be done; a PAT does not say. */
void test_app__several_say_when_the_first_of_their_tokens_ends(void)
{
	static const char one[] = "{\"repos\":[\"a/b\"]}", all[] = "{\"repos\":[\"*\"]}";
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	cleanup_free char *payload = app_payload();
	struct made m[4];
	struct sec_offer o[4];

	make(&m[0], &o[0], "pat", "github_pat", one, "ghp_one_one_one");
	make(&m[1], &o[1], "late", "github_app", one, payload);
	make(&m[2], &o[2], "soon", "github_app", one, payload);
	make(&m[3], &o[3], "all", "github_app", all, payload);
	for (size_t i = 1; i < 4; i++)
		o[i].token = i == 1 ? "ghs_late.a.b" : i == 2 ? "ghs_soon.a.b" : "ghs_all.a.b";
	o[1].token_expires_at = 1700003600;
	o[2].token_expires_at = 1700000060;
	o[3].token_expires_at = 1700007200;
	sec_lease_build(o, 4, NOW, &l);
	CHECK_INT(l.nmaterials, 4);
	CHECK_STR(var(&l, "CLOOP_GITHUB_TOKEN_EXPIRES_AT"), "2023-11-14T22:14:20Z");
	CHECK_STR(file(&l, 2, "github-token-3"), "ghs_soon.a.b\n");
	CHECK_STR(file(&l, 3, "github-token-4"), "ghs_all.a.b\n");
	CHECK_HAS(file(&l, 3, "git-credential-cloop-4"), "'github.com'");
	CHECK_STR(var(&l, "GH_TOKEN"), "ghs_all.a.b");
	CHECK(!var(&l, "GH_ENTERPRISE_TOKEN"));
	unmake(m, 4);
}

void test_pat__a_branch_list_is_not_delivered(void)
{
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	cleanup_reasons struct sec_reasons why = SEC_REASONS_INIT;
	struct made m;
	struct sec_offer o;

	make(&m, &o, "p", "github_pat",
		"{\"repos\":[\"a/b\"],\"permissions\":[\"contents:write\"],\"branches\":[\"cloop/"
		"*\"]}",
		"ghp_x");
	sec_grant_judge(&m.grant, NULL, NOW, &why);
	CHECK_INT(why.n, 1);
	CHECK_STR(why.v[0].code, "branches");
	sec_lease_build(&o, 1, NOW, &l);
	CHECK_INT(l.nmaterials, 0);
	CHECK_INT(l.nrefused, 1);
	CHECK_HAS(l.refused[0].error.msg, "grant p limits pushes to branches cloop/*");
	CHECK_HAS(l.refused[0].error.msg, "executors.git_proxy");
	unmake(&m, 1);
}

void test_registry__cut_and_wrapped(void)
{
	static const char config[] = "{\"auths\":{\"ghcr.io\":{\"auth\":\"dTpwYXNzd29yZDE=\"},"
				     "\"https://index.docker.io/v1/\":"
				     "{\"auth\":\"eDp5\"},\"quay.io\":{}},\"credsStore\":"
				     "\"desktop\",\"HttpHeaders\":{\"X\":"
				     "\"secret\"}}";
	static const struct {
		const char *constraints, *payload, *want;
	} rows[] = {
		{"{\"registries\":[\"ghcr.io\"]}", config,
			"{\"auths\":{\"ghcr.io\":{\"auth\":\"dTpwYXNzd29yZDE=\"}}}"},
		{"{\"registries\":[\"index.docker.io\"]}", config,
			"{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"eDp5\"}}}"},
		{"{\"registries\":[\"*.gcr.io\",\"evil.test\"]}", config, NULL},
		{"{\"registries\":[\"*.gcr.io\",\"ghcr.io\",\"quay.io\"]}", "u:pa:ss",
			"{\"auths\":{\"ghcr.io\":{\"auth\":\"dTpwYTpzcw==\",\"password\":\"pa:ss\","
			"\"username\":\"u\"}}}"},
		{"{\"registries\":[\"*\"]}", "u:pass", NULL},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
		struct made m;
		struct sec_offer o;

		make(&m, &o, "ghcr-login", "registry", rows[i].constraints, rows[i].payload);
		sec_lease_build(&o, 1, NOW, &l);
		CHECK_STR(file(&l, 0, "config.json"), rows[i].want);
		CHECK_INT(l.nrefused, rows[i].want ? 0 : 1);
		if (rows[i].want) {
			sec_lease_place(&l, "x", "/run/cloop/y");
			CHECK_STR(var(&l, "DOCKER_CONFIG"), "/run/cloop/y");
		}
		CHECK_INT(i ? 1 : scrubbed(&l, "password1"), 1);
		unmake(&m, 1);
	}
}

void test_proxy__variables_and_one_winner(void)
{
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	struct made m[2];
	struct sec_offer o[2];

	make(&m[0], &o[0], "old", "egress_proxy", "{\"hosts\":[\"a.test\"]}", "http://old.test");
	make(&m[1], &o[1], "new", "egress_proxy", "{\"hosts\":[\"*.b.test\",\"c.test\"]}",
		"http://u:p4ssw%4frd%2f%@new.test:3128\n");
	sec_lease_build(o, 2, NOW, &l);
	CHECK_STR(var(&l, "HTTPS_PROXY"), "http://u:p4ssw%4frd%2f%@new.test:3128");
	CHECK_STR(var(&l, "http_proxy"), "http://u:p4ssw%4frd%2f%@new.test:3128");
	CHECK_STR(var(&l, "CLOOP_EGRESS_ALLOW"), "*.b.test,c.test");
	CHECK_STR(file(&l, 0, "egress-allow.txt"), "*.b.test\nc.test\n");
	/* As it stands, and as a client gives it to the proxy. */
	CHECK(scrubbed(&l, "p4ssw%4frd%2f%") && scrubbed(&l, "p4sswOrd/%"));
	CHECK_INT(l.nrefused, 1);
	CHECK_STR(l.refused[0].secret_name, "old");
	CHECK_HAS(l.refused[0].error.msg, "secret 'new' takes the place");
	sec_lease_place(&l, "x", "/d");
	CHECK_STR(var(&l, "CLOOP_EGRESS_ALLOW_FILE"), "/d/egress-allow.txt");
	unmake(m, 2);
}

void test_host__repos_devices_interfaces(void)
{
	static const struct sec_candidate repos[] = {
		{"api-service", "/home/dev/src/api-service", "fd01:1a"},
		{"shared-proto", "/home/dev/src/shared-proto", NULL},
		{"other", "/home/dev/src/other", ""}};
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	struct made m[4];
	struct sec_offer o[4];

	make(&m[0], &o[0], "local-src", "local_repo", "{\"repos\":[\"api-service\",\"shared-*\"]}",
		"/home/dev/src");
	make(&m[1], &o[1], "bench-hw", "host_device",
		"{\"devices\":[\"serial0\",\"analyser\"],\"writable\":true}",
		"serial0=/dev/ttyUSB0\nanalyser=/dev/ttyACM0:r\n");
	make(&m[2], &o[2], "bench-net", "host_interface", "{\"interfaces\":[\"dut\"]}",
		"dut=bench-sbx,target=eth1,raw\n");
	make(&m[3], &o[3], "twice", "local_repo", "{\"repos\":[\"api-*\"],\"writable\":true}",
		"/home/dev/src");
	o[0].candidates = o[3].candidates = repos;
	o[0].ncandidates = o[3].ncandidates = CL_ARRAY_LEN(repos);
	sec_lease_build(o, 4, NOW, &l);
	CHECK_INT(l.nmaterials, 3);
	CHECK_STR(l.materials[0].delivers.p, "local repos (read-only): api-service,shared-proto");
	CHECK_STR(l.materials[0].mounts[0].id, "fd01:1a");
	CHECK_STR(l.materials[0].mounts[1].id, "");
	CHECK_STR(l.materials[0].mounts[1].target, "/repos/shared-proto");
	CHECK_STR(l.materials[1].delivers.p, "host devices: analyser,serial0");
	CHECK_INT(l.materials[1].devices.v[0].access, SEC_R);
	CHECK_INT(l.materials[1].devices.v[1].access, SEC_RW);
	CHECK(l.materials[2].interfaces.v[0].raw);
	CHECK_STR(var(&l, "CLOOP_LOCAL_REPOS"), "api-service,shared-proto");
	CHECK_STR(var(&l, "CLOOP_HOST_DEVICES"), "analyser,serial0");
	CHECK_STR(var(&l, "CLOOP_HOST_INTERFACES"), "dut");
	CHECK_INT(l.nrefused, 1);
	CHECK_HAS(l.refused[0].error.msg, "/repos/api-service already");
	CHECK_INT(l.nsecrets, 0);
	unmake(m, 4);
}

/* What a project picks only takes away: no access grows, and a grant that is left with nothing is
 * neither delivered nor refused. */
void test_host__a_project_picks(void)
{
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT, none = SEC_LEASE_INIT;
	cleanup_strv struct cl_strv picked = CL_STRV_INIT, nothing = CL_STRV_INIT;
	struct made m[3];
	struct sec_offer o[3];

	make(&m[0], &o[0], "bench-hw", "host_device", "{\"devices\":[\"*\"]}",
		"serial0=/dev/ttyUSB0\nserial1=/dev/ttyUSB1\n");
	/* The same name as one of the first, which nobody takes of it then. */
	make(&m[1], &o[1], "bench-2", "host_device", "{\"devices\":[\"*\"],\"writable\":true}",
		"other=/dev/ttyUSB1\n");
	make(&m[2], &o[2], "bench-net", "host_interface", "{\"interfaces\":[\"*\"]}",
		"dut=bench-sbx\nlab=enp3s0\n");
	cl_strv_add(&picked, "serial0");
	cl_strv_add(&picked, "lab");
	cl_strv_add(&picked, "nobody's");
	l.pick = (struct sec_pick){&picked, &picked};
	sec_lease_build(o, 3, NOW, &l);
	CHECK_INT(l.nrefused, 0);
	CHECK_INT(l.nmaterials, 2);
	CHECK_STR(l.materials[0].delivers.p, "host devices: serial0");
	CHECK_INT(l.materials[0].devices.n, 1);
	CHECK_INT(l.materials[0].devices.v[0].access, SEC_R);
	CHECK_STR(l.materials[1].delivers.p, "host interfaces: lab");
	CHECK_STR(var(&l, "CLOOP_HOST_DEVICES"), "serial0");
	CHECK_STR(var(&l, "CLOOP_HOST_INTERFACES"), "lab");
	none.pick = (struct sec_pick){&nothing, &nothing};
	sec_lease_build(o, 3, NOW, &none);
	CHECK_INT(none.nrefused, 0);
	CHECK_INT(none.nmaterials, 0);
	CHECK(!sec_lease_var(&none, "CLOOP_HOST_DEVICES"));
	unmake(m, 3);
}

static const char kube[] =
	"current-context: prod\ncontexts:\n- {name: prod, context: {cluster: p, user: pu, "
	"namespace: x}}\n"
	"- {name: staging, context: {cluster: s, user: su}}\nclusters:\n- {name: p, cluster: "
	"{server: "
	"'https://p.test'}}\n- {name: s, cluster: {server: 'https://s.test'}}\nusers:\n"
	"- {name: pu, user: {token: prod-token-1}}\n- {name: su, user: {token: staging-token-2}}\n";

void test_kube__needs_a_word_without_the_monitor(void)
{
	struct made m[2];
	struct sec_offer o[2];

	make(&m[0], &o[0], "prod-kube", "kubeconfig",
		"{\"contexts\":[\"prod\"],\"namespaces\":[\"team-a\"]}", kube);
	make(&m[1], &o[1], "staging-kube", "kubeconfig", "{\"contexts\":[\"staging\"]}", kube);
	for (int acknowledged = 0; acknowledged < 2; acknowledged++) {
		cleanup_lease struct sec_lease l = SEC_LEASE_INIT;

		m[0].grant.unguarded = acknowledged;
		sec_lease_build(o, 1, NOW, &l);
		CHECK_INT(l.nmaterials, acknowledged);
		if (!acknowledged) {
			CHECK_HAS(l.refused[0].error.msg,
				"namespaces team-a and read-only access (get, list, watch)");
			CHECK_HAS(l.refused[0].error.fix, "cloop hub grant unguarded prod-kube");
			continue;
		}
		CHECK_STR(l.materials[0].delivers.p, "kube contexts: prod/team-a");
		CHECK(!strstr(file(&l, 0, "kubeconfig"), "staging"));
		CHECK_STR(var(&l, "CLOOP_K8S_NAMESPACE"), "team-a");
		CHECK_STR(var(&l, "CLOOP_K8S_VERBS"), "get,list,watch");
		CHECK(!var(&l, "CLOOP_K8S_GRANTS") && scrubbed(&l, "prod-token-1"));
		CHECK(!scrubbed(&l, "staging-token-2"));
	}
	m[1].grant.unguarded = true;
	{
		cleanup_lease struct sec_lease l = SEC_LEASE_INIT;

		sec_lease_build(o, 2, NOW, &l);
		CHECK_INT(l.nmaterials, 2);
		CHECK(file(&l, 0, "kubeconfig") && !file(&l, 1, "kubeconfig") && l.merged);
		CHECK_STR(var(&l, "CLOOP_K8S_CONTEXTS"), "prod-kube,staging-kube");
		CHECK_HAS(var(&l, "CLOOP_K8S_GRANTS"), "\"secret\":\"staging-kube\"");
		CHECK_STR(var(&l, "CLOOP_K8S_ALLOWED_NAMESPACES"), "team-a");
	}
	unmake(m, 2);
}

void test_time__ends_with_the_first_grant(void)
{
	static const struct {
		int64_t expires, revoked;
		int64_t ends; /* 0: not delivered */
	} rows[] = {{0, 0, NOW + 900}, {NOW + 10000, 0, NOW + 900}, {NOW + 60, 0, NOW + 60},
		{NOW, 0, 0}, {NOW - 1, 0, 0}, {0, NOW, 0}, {0, NOW + 1, NOW + 900}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
		struct made m[2];
		struct sec_offer o[2];

		make(&m[0], &o[0], "a", "env", "{}", "v");
		make(&m[1], &o[1], "b", "env", "{}", "v");
		m[0].grant.expires_at = rows[i].expires;
		m[0].grant.revoked_at = rows[i].revoked;
		sec_lease_build(o, 2, NOW, &l);
		CHECK_INT(l.nmaterials, rows[i].ends ? 2 : 1);
		CHECK_INT(l.expires_at, rows[i].ends ? rows[i].ends : NOW + 900);
		unmake(m, 2);
	}
}

void test_judge__every_reason_and_what_changes_it(void)
{
	cleanup_reasons struct sec_reasons why = SEC_REASONS_INIT;
	struct sec_requester r = {"/srv/other", "edge-01", NULL};
	struct made m;
	struct sec_offer o;

	make(&m, &o, "k", "kubeconfig", "{\"namespaces\":[\"team-a\"]}", kube);
	m.grant.expires_at = NOW - 5;
	m.grant.revoked_at = NOW - 9;
	m.grant.revoked_cause = "superseded";
	sec_grant_judge(&m.grant, &r, NOW, &why);
	CHECK_INT(why.n, 4);
	CHECK_STR(why.v[0].code, "subject");
	CHECK_HAS(why.v[0].text, "/srv/other");
	CHECK_STR(why.v[0].fix, "cloop secret grant k --to project:/srv/other --namespaces team-a");
	CHECK_HAS(why.v[1].text, "when another grant took its place");
	CHECK_HAS(why.v[1].fix, "--to project:/srv/app");
	CHECK_HAS(why.v[2].text, "expired at 1970-01-12T13:46:35Z");
	CHECK_STR(why.v[3].fix, "cloop hub grant unguarded k --reason 'WHY'");
	CHECK(!sec_grant_aimed(&m.grant, &r));
	unmake(&m, 1);
}

void test_judge__the_command_survives_a_shell(void)
{
	cleanup_reasons struct sec_reasons why = SEC_REASONS_INIT;
	struct sec_requester r = {"/srv/it's; id", NULL, NULL};
	struct made m;
	struct sec_offer o;

	make(&m, &o, "k", "github_pat", "{\"repos\":[\"a/*\"]}", "ghp_x");
	sec_grant_judge(&m.grant, &r, NOW, &why);
	CHECK_STR(why.v[0].fix,
		"cloop secret grant k --to 'project:/srv/it'\\''s; id' --repos 'a/*'");
	unmake(&m, 1);
}

/* The kernel takes no longer text in an environment (MAX_ARG_STRLEN, execve(2)). */
void test_env__a_value_that_no_process_could_get(void)
{
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	char *big = cl_malloc(131072);
	struct made m;
	struct sec_offer o;

	memset(big, 'x', 131071);
	big[131071] = '\0';
	make(&m, &o, "big", "env", "{}", big);
	sec_lease_build(&o, 1, NOW, &l);
	CHECK_INT(l.nmaterials, 0);
	CHECK_INT(l.nrefused, 1);
	CHECK_HAS(l.refused[0].error.msg, "BIG");
	CHECK_HAS(l.refused[0].error.msg, "131067");
	unmake(&m, 1);
	free(big);
}

void test_empty__is_a_lease_too(void)
{
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;

	sec_lease_build(NULL, 0, NOW, &l);
	CHECK_INT(l.nmaterials + l.nrefused + l.nvars, 0);
	CHECK_INT(l.expires_at, NOW + 900);
}
