/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The configuration: t/cases/config/NAME.case holds a file, a line "====", and what must be
 * found. Every issue must be expected, and every expectation met:
 *
 *	none                        no issue at all
 *	error|warning L:C KEY TEXT  an issue with that place and key, and TEXT in its message
 *	fix KEY TEXT                TEXT in the fix of an issue of that key
 *	in ID | out ID TEXT         the executor is in service, or out of it with TEXT as reason
 *	is PATH JSON                the value in force
 *	limits CPU MEM DISK PIDS    the ceilings
 *	refused FEATURE             asked for and not built
 *	images refused|judged       what the image policy does
 *	fails L:C TEXT              the file has no meaning
 */
#include "unit.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/config/config.h"
#include "policy/config/config_internal.h"
#include "policy/sandbox/extra_args.h"

#include <dirent.h>

struct found {
	struct cfg cfg;
	struct cl_err e;
	int rc;
	bool met[200]; /* issues that were expected */
};

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *text = cl_calloc(1, 1 << 16);

	*len = f ? fread(text, 1, (1 << 16) - 1, f) : 0;
	if (f)
		(void)fclose(f);
	return text;
}

static void read_text(struct found *f, const char *text, size_t len)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	f->rc = cl_doc_parse(&d, CL_DOC_YAML, "config.yaml", text, len, NULL, &f->e);
	if (!f->rc)
		f->rc = cfg_read(&d, &f->cfg, &f->e);
}

/* Cuts the next word off *line. */
static char *word(char **line)
{
	char *w = *line + strspn(*line, " ");
	size_t n = strcspn(w, " ");

	*line = w[n] ? w + n + 1 : w + n;
	w[n] = '\0';
	return w;
}

static bool expect_issue(struct found *f, enum cfg_severity severity, char *line)
{
	char *place = word(&line), *key = word(&line), at[40];

	for (size_t i = 0; i < f->cfg.nissues; i++) {
		const struct cfg_issue *s = &f->cfg.issues[i];

		(void)snprintf(at, sizeof(at), "%u:%u", s->line, s->column);
		if (f->met[i] || s->severity != severity || strcmp(at, place) != 0 ||
			strcmp(s->key, key) != 0 || !strstr(s->msg, line))
			continue;
		f->met[i] = true;
		return true;
	}
	return false;
}

static bool expect_fix(const struct found *f, char *line)
{
	const char *key = word(&line);

	for (size_t i = 0; i < f->cfg.nissues; i++)
		if (!strcmp(f->cfg.issues[i].key, key) && f->cfg.issues[i].fix &&
			strstr(f->cfg.issues[i].fix, line))
			return true;
	return false;
}

static bool expect_executor(const struct found *f, bool in, char *line)
{
	const struct cfg_executor *x;
	const char *id = word(&line);
	struct cl_err e;

	if (!cfg_executor(&f->cfg, id, &x, &e))
		return in;
	return !in && strstr(e.msg, line) && !strcmp(e.constraint, "executor") && e.fix[0];
}

static bool expect_value(const struct found *f, char *line)
{
	const struct cfg_value *v = cfg_value(&f->cfg, word(&line));
	cleanup_free char *json = v && v->value ? cl_json_text(v->value) : cl_strdup("null");

	if (strcmp(json, line) != 0)
		printf("# it is %s\n", json);
	return v && !strcmp(json, line);
}

static bool expect_limits(const struct found *f, const char *line)
{
	char got[120];

	(void)snprintf(got, sizeof(got), "%lld %lld %lld %lld", (long long)f->cfg.limits.v[SB_CPU],
		(long long)f->cfg.limits.v[SB_MEMORY], (long long)f->cfg.limits.v[SB_DISK],
		(long long)f->cfg.limits.v[SB_PIDS]);
	return !strcmp(got, line);
}

static bool expect_images(const struct found *f, const char *line)
{
	struct ip_decision d;

	ip_decide(&f->cfg.image_policy,
		"quay.io/a/b@sha256:"
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		&d);
	if (!strcmp(line, "refused"))
		return !d.allowed && !strcmp(d.rule, IP_RULE_CONFIG);
	return !d.allowed && !strcmp(d.rule, IP_RULE_REGISTRY);
}

static bool expect_failure(const struct found *f, char *line)
{
	char at[40];

	(void)snprintf(at, sizeof(at), "%u:%u", f->e.line, f->e.column);
	if (strcmp(at, word(&line)) != 0)
		return false;
	return f->rc == -1 && strstr(f->e.msg, line);
}

static bool expect(struct found *f, char *line)
{
	const char *what = word(&line);

	if (!strcmp(what, "fails"))
		return expect_failure(f, line);
	if (f->rc)
		return false;
	if (!strcmp(what, "none"))
		return f->cfg.nissues == 0;
	if (!strcmp(what, "error") || !strcmp(what, "warning"))
		return expect_issue(f, *what == 'e' ? CFG_ERROR : CFG_WARNING, line);
	if (!strcmp(what, "fix"))
		return expect_fix(f, line);
	if (!strcmp(what, "in") || !strcmp(what, "out"))
		return expect_executor(f, *what == 'i', line);
	if (!strcmp(what, "is"))
		return expect_value(f, line);
	if (!strcmp(what, "limits"))
		return expect_limits(f, line);
	if (!strcmp(what, "images"))
		return expect_images(f, line);
	if (!strcmp(what, "refused"))
		return cl_strv_has(&f->cfg.refused, line);
	return false;
}

static void one(const char *name, const char *path)
{
	size_t len;
	cleanup_free char *text = slurp(path, &len);
	cleanup_strv struct cl_strv lines = CL_STRV_INIT;
	struct found *f = cl_calloc(1, sizeof(*f));
	char *mark = !strncmp(text, "====\n", 5) ? text : strstr(text, "\n====\n");
	size_t yaml = mark == text ? 0 : (size_t)(mark - text) + 1;

	cl_split(text + yaml + 5, '\n', &lines);
	read_text(f, text, yaml);
	if (f->rc && !strstr(text + yaml, "\nfails "))
		UNIT_FAIL("%s: %s", name, f->e.msg);
	for (size_t i = 0; i < lines.n; i++) {
		cleanup_free char *copy = cl_strdup(lines.v[i]);

		if (*copy && !expect(f, copy))
			UNIT_FAIL("%s: not met: %s", name, lines.v[i]);
	}
	for (size_t i = 0; i < f->cfg.nissues; i++)
		if (!f->met[i])
			UNIT_FAIL("%s: not expected: %u:%u %s %s", name, f->cfg.issues[i].line,
				f->cfg.issues[i].column, f->cfg.issues[i].key,
				f->cfg.issues[i].msg);
	cfg_release(&f->cfg);
	free(f);
}

void test_config__cases(void)
{
	DIR *d = opendir(T_CASES "/config");
	const struct dirent *de;
	int n = 0;

	while (d && (de = readdir(d))) {
		cleanup_free char *path = cl_asprintf("%s/%s", T_CASES "/config", de->d_name);

		if (!cl_ends(de->d_name, ".case"))
			continue;
		one(de->d_name, path);
		n++;
	}
	if (d)
		(void)closedir(d);
	CHECK(n >= 25);
}

/* Each default and each confining value passes the grammar of its own row. */
void test_config__table(void)
{
	size_t n;
	const struct cfg_key *k = cfg_keys(&n);

	for (size_t i = 0; i < n; i++) {
		json_t *def = k[i].def ? cfg_value_default(&k[i], k[i].def) : NULL;
		json_t *bad = k[i].bad ? cfg_value_default(&k[i], k[i].bad) : NULL;
		json_t *shown = cfg_key_json(&k[i]);

		if (i && strcmp(k[i - 1].path, k[i].path) >= 0)
			UNIT_FAIL("%s is out of order", k[i].path);
		if ((k[i].def && !def) || (k[i].bad && !bad))
			UNIT_FAIL("%s: its own default is refused", k[i].path);
		if (!k[i].help || !k[i].feature || !shown)
			UNIT_FAIL("%s: says nothing", k[i].path);
		if (k[i].type == CFG_ENUM && !k[i].values)
			UNIT_FAIL("%s: no values", k[i].path);
		if ((k[i].type == CFG_INT || k[i].type == CFG_INTS || k[i].type == CFG_NUMBER) &&
			!(k[i].max > k[i].min))
			UNIT_FAIL("%s: no bounds", k[i].path);
		if (k[i].type == CFG_SIZE && !k[i].unit)
			UNIT_FAIL("%s: no unit", k[i].path);
		if (cfg_key_find(k[i].path) != &k[i])
			UNIT_FAIL("%s: not found", k[i].path);
		json_decref(def);
		json_decref(bad);
		json_decref(shown);
	}
	CHECK_STR(cfg_key_find("executors.container[12].cpus")->path, "executors.container.cpus");
	CHECK_STR(cfg_key_find("sandbox.image_policy.cosign_identities[0].issuer")->path,
		"sandbox.image_policy.cosign_identities[].issuer");
	CHECK(!cfg_key_find("executors.container["));
	CHECK(!cfg_key_find(""));
}

void test_config__extra_args(void)
{
	static const char *const good[] = {"--shm-size=256m", "--ulimit=core=0:0", "--hostname=a",
		"--cpuset-cpus=0-1", "--annotation=owner=ops", "--annotation=owner=ops,run=nightly",
		"--annotation=see=acme.run.oci.txt"};
	static const char *const bad[] = {"", "-", "--", "--shm-size",
		"--shm-size=", "--privileged", "--privileged=true", "--user=0", "-u0", "-v/etc:/x",
		"-dit", "-v=/a:/b", " --net=host", "--net=host ", "--net", "--volumes-from=x",
		"--runtime=runc", "--gpus=all", "--device-cgroup-rule=a", "--sysctl=a=1",
		"--group-add=0", "--add-host=a:1", "--label=a=b", "--memory=1g", "shm-size=1g",
		"--SHM-SIZE=1g", "--shm-size=1g\n--privileged", "--shm", "--ulimit2=x",
		"--cap-add=ALL", "--annotation=run.oci.keep_original_groups=1",
		"--annotation=io.podman.annotations.privileged=TRUE",
		"--annotation=io.katacontainers.config.hypervisor.path=/x",
		"--annotation=owner=ops,run.oci.keep_original_groups=1",
		"--annotation=\"run.oci.keep_original_groups=1\"",
		"--annotation=a=b,\"io.podman.annotations.privileged=TRUE\""};
	struct cl_strv many = CL_STRV_INIT;
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(good); i++)
		if (px_extra_arg_check(good[i], &e))
			UNIT_FAIL("%s", e.msg);
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++)
		if (!px_extra_arg_check(bad[i], &e) || e.code != CL_EDATA || !e.msg[0])
			UNIT_FAIL("'%s' passes", bad[i]);
	CHECK_INT(px_extra_arg_check("--shm_size=1g", &e), -1);
	CHECK_HAS(e.fix, "--shm-size");
	for (int i = 0; i < 32; i++)
		cl_strv_add(&many, "--hostname=a");
	CHECK_INT(px_extra_args_check(&many, &e), 0);
	cl_strv_add(&many, "--hostname=a");
	CHECK_INT(px_extra_args_check(&many, &e), -1);
	cl_strv_release(&many);
	cl_strv_add(&many, "--hostname=a");
	cl_strv_add(&many, "-it");
	CHECK_INT(px_extra_args_check(&many, &e), -1);
	CHECK_HAS(e.msg, "entry 2");
	cl_strv_release(&many);
}

void test_config__default_executor(void)
{
	struct found f = {0};
	const struct cfg_executor *x = NULL;
	static const char yaml[] = "executors:\n  container:\n  - {id: b, enabled: true, cpus: 1.5,"
				   " memory: 4g}\n  - {id: a, enabled: true}\n";

	read_text(&f, yaml, strlen(yaml));
	CHECK_INT(cfg_executor(&f.cfg, NULL, &x, &f.e), 0);
	CHECK_STR(x->id, "b");
	CHECK_INT(x->defaults.v[SB_CPU], 1500);
	CHECK_INT(x->defaults.v[SB_MEMORY], 4096);
	CHECK_INT(x->defaults.v[SB_PIDS], 1024);
	CHECK_INT(x->orphan_grace_seconds, 600);
	CHECK_STR(x->runtime, "");
	CHECK_INT(cfg_executor(&f.cfg, "c", &x, &f.e), -1);
	CHECK_HAS(f.e.fix, "b, a");
	/* Whoever asks gets the same status, and never that of an answer. */
	CHECK_INT(f.e.code, CL_ENOTFOUND);
	cfg_release(&f.cfg);
	read_text(&f, "", 0);
	CHECK_INT(cfg_executor(&f.cfg, NULL, &x, &f.e), -1);
	CHECK_HAS(f.e.msg, "no executor");
	cfg_release(&f.cfg);
	read_text(&f, "executors: {container: {}}", 26);
	CHECK_INT(cfg_executor(&f.cfg, NULL, &x, &f.e), -1);
	CHECK_HAS(f.e.msg, "is off");
	CHECK_INT(f.e.code, CL_ECONFIG);
	cfg_release(&f.cfg);
}

void test_config__noise_is_bounded(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct found *f = cl_calloc(1, sizeof(*f));

	for (int i = 0; i < 5000; i++)
		cl_buf_addf(&b, "k%d: 1\n", i);
	read_text(f, b.p, b.len);
	CHECK_INT(f->rc, 0);
	CHECK_INT(f->cfg.nissues, 100);
	CHECK(f->cfg.more_issues);
	cfg_release(&f->cfg);
	cl_buf_reset(&b);
	cl_buf_adds(&b, "executors: {container: [");
	for (int i = 0; i < 20000; i++)
		cl_buf_adds(&b, "{},");
	cl_buf_adds(&b, "]}");
	read_text(f, b.p, b.len);
	CHECK_INT(f->rc, 0);
	CHECK_INT(f->cfg.nexecutors, 0);
	CHECK(cfg_has_errors(&f->cfg));
	cfg_release(&f->cfg);
	free(f);
}
