/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was refused: why, in words, and kept in the store within its bounds. */
#include "store-fixture.h"
#include "store/blocked.h"
#include "work/blocked.h"

#include <netinet/in.h>

static void compile(const char *json, struct eg_policy *out)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	if (cl_doc_parse(&d, CL_DOC_JSON, "policy", json, strlen(json), NULL, &e) ||
		eg_auth_read(&d, d.root, &a, &e) || eg_compile(&a, out, &e))
		UNIT_FAIL("%s: %s", json, e.msg);
}

static struct eg_packet packet(const char *dest, uint16_t port, uint8_t proto)
{
	struct eg_packet p = {.port = port, .proto = proto};
	struct cl_err e;

	if (pol_addr_parse(dest, "dest", &p.dest, &e))
		UNIT_FAIL("%s", e.msg);
	return p;
}

static void says(const char *json, const char *dest, uint16_t port, uint8_t proto, const char *want)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct eg_packet k = packet(dest, port, proto);

	compile(json, &p);
	cl_buf_adds(&b, "blocked ");
	eg_packet_text(&k, &b);
	cl_buf_adds(&b, ", ");
	(void)eg_cause(&p, "virtual executor vx-wj7bbgym43", &k, &b);
	CHECK_STR(b.p, want);
}

#define VX  "virtual executor vx-wj7bbgym43"
#define TCP IPPROTO_TCP
#define SGX                                                                                   \
	"{\"allow_public_internet\":true,\"allow_ports\":[443],\"deny_cidrs\":[\"1.0.0.1\"]," \
	"\"resolvers\":[\"1.1.1.1\",\"10.0.0.53\"]}"
#define RANGES                                             \
	"{\"allow_cidrs\":[\"10.8.0.0/24\",\"169.254.0.0/" \
	"16\"],\"allow_ports\":[1,2,3,4,5,6,7,8,9,10]}"

/* The two lines of the guide, and one for each other way to be refused. */
void test_cause__words(void)
{
	says(SGX, "1.0.0.1", 443, TCP,
		"blocked 1.0.0.1:443/tcp, in " VX "'s deny list (1.0.0.1/32)");
	says(SGX, "8.8.8.8", 80, TCP,
		"blocked 8.8.8.8:80/tcp, port 80 is not one " VX "'s allow list opens (443)");
	says(SGX, "2001:4860::1", 443, IPPROTO_UDP,
		"blocked [2001:4860::1]:443/udp, udp is not a protocol " VX
		"'s allow list opens there");
	says(SGX, "1.1.1.1", 443, IPPROTO_UDP,
		"blocked 1.1.1.1:443/udp, port 443 is not one " VX "'s allow list opens (53)");
	says(SGX, "1.1.1.1", 22, TCP,
		"blocked 1.1.1.1:22/tcp, port 22 is not one " VX "'s allow list opens (53, 443)");
	says(SGX, "10.0.0.53", 443, TCP,
		"blocked 10.0.0.53:443/tcp, port 443 is not one " VX "'s allow list opens (53)");
	says(SGX, "8.8.8.8", 0, IPPROTO_ICMP,
		"blocked 8.8.8.8/icmp, icmp is not a protocol " VX "'s allow list opens there");
	says(SGX, "8.8.8.8", 0, 47,
		"blocked 8.8.8.8/gre, gre is not a protocol " VX "'s allow list opens there");
	says(SGX, "10.1.2.3", 0, 250,
		"blocked 10.1.2.3/proto-250, private (RFC1918/ULA), not in " VX "'s allow list");
	says(SGX, "64:ff9b::808:808", 443, TCP,
		"blocked [64:ff9b::808:808]:443/tcp, NAT64 translation prefix, closed by " VX
		" whatever it allows");
	says(SGX, "::ffff:8.8.8.8", 443, TCP,
		"blocked [::ffff:8.8.8.8]:443/tcp, IPv4-mapped address, closed by " VX
		" whatever it allows");
	says(RANGES, "169.254.169.254", 5, TCP,
		"blocked 169.254.169.254:5/tcp, cloud metadata service (169.254.169.254), inside "
		"an "
		"allowed range that does not name it, closed by " VX " whatever it allows");
	says(RANGES, "10.8.0.9", 22, TCP,
		"blocked 10.8.0.9:22/tcp, port 22 is not one " VX
		"'s allow list opens (1, 2, 3, 4, 5, 6, 7, 8 and 2 more)");
	says(RANGES, "8.8.8.8", 443, IPPROTO_SCTP,
		"blocked 8.8.8.8:443/sctp, not in " VX "'s allow list");
	says(RANGES, "127.0.0.1", 1, TCP,
		"blocked 127.0.0.1:1/tcp, loopback, not in " VX "'s allow list");
}

void test_cause__not_by_this_policy(void)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct eg_packet k = packet("8.8.8.8", 443, TCP);

	compile(SGX, &p);
	CHECK_INT(eg_cause(&p, "executor x", &k, &b).verdict, EG_ALLOW);
	CHECK_HAS(b.p, "executor x allows it: ");
	cl_buf_reset(&b);
	CHECK_INT(eg_cause(NULL, "executor x", &k, &b).rule, -1);
	CHECK_HAS(b.p, "executor x that is not known any more");
}

static const char *const handle = "c-0123456789ab", *const run = "run_0123456789abcdef01234567";

static void add(struct store_blocked_list *l, const char *dest, int64_t port, int64_t packets,
	int64_t first, int64_t last)
{
	l->v = cl_grow(l->v, &l->cap, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = (struct store_blocked){.handle_id = cl_strdup(handle),
		.run_id = cl_strdup(run),
		.project = cl_strdup("/srv/p"),
		.executor_id = cl_strdup("container"),
		.source = cl_strdup("10.211.0.2"),
		.destination = cl_strdup(dest),
		.proto = TCP,
		.port = port,
		.packets = packets,
		.bytes = packets * 40,
		.first_at = first,
		.last_at = last};
}

static struct store *with_run(void)
{
	struct store *s;
	struct cl_err e;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(insert_run(s, run, 1, &e), 0);
	CHECK_INT(insert_handle(s, handle, run, &e), 0);
	return s;
}

static size_t rows_of(struct store *s, const char *run_id, struct store_blocked_list *out)
{
	struct cl_err e;

	store_blocked_release(out);
	CHECK_INT(store_blocked_read(s, run_id, NULL, NULL, out, &e), 0);
	return out->n;
}

void test_blocked__readings_are_joined(void)
{
	cleanup_store struct store *s = with_run();
	cleanup_blocked_rows struct store_blocked_list l = STORE_BLOCKED_INIT,
						       got = STORE_BLOCKED_INIT;
	struct cl_err e;

	add(&l, "10.0.0.1", 443, 2, 100, 200);
	CHECK_INT(store_blocked_merge(s, &l, &e), 0);
	CHECK_INT(store_blocked_merge(s, &l, &e), 0);
	store_blocked_release(&l);
	add(&l, "10.0.0.1", 443, 5, 101, 300);
	add(&l, "10.0.0.1", 80, 1, 250, 250);
	CHECK_INT(store_blocked_merge(s, &l, &e), 0);
	CHECK_INT(rows_of(s, run, &got), 2);
	CHECK_INT(got.v[0].port, 80);
	CHECK_INT(got.v[1].packets, 5);
	CHECK_INT(got.v[1].bytes, 200);
	CHECK_INT(got.v[1].first_at, 100);
	CHECK_INT(got.v[1].last_at, 300);
	CHECK_INT(rows_of(s, "run_ffffffffffffffffffffffff", &got), 0);
	expect_sound();
	gone();
}

void test_blocked__the_newest_are_kept(void)
{
	cleanup_store struct store *s = with_run();
	cleanup_blocked_rows struct store_blocked_list l = STORE_BLOCKED_INIT,
						       got = STORE_BLOCKED_INIT;
	int64_t forgotten = 0;
	struct cl_err e;

	for (int i = 0; i < STORE_BLOCKED_EACH + 50; i++)
		add(&l, "10.0.0.1", i + 1, 1, i, 1000 + i);
	CHECK_INT(store_blocked_merge(s, &l, &e), 0);
	CHECK_INT(rows_of(s, run, &got), STORE_BLOCKED_EACH);
	CHECK_INT(got.v[0].last_at, 1050);
	CHECK_INT(store_blocked_expire(s, 1060, &forgotten, &e), 0);
	CHECK_INT(forgotten, 10);
	CHECK_INT(rows_of(s, run, &got), STORE_BLOCKED_EACH - 10);
	gone();
}

void test_blocked__more_than_all(void)
{
	cleanup_store struct store *s = with_run();
	cleanup_blocked_rows struct store_blocked_list got = STORE_BLOCKED_INIT;
	int64_t forgotten = 0;
	struct cl_err e;

	outside("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100007) "
		"INSERT INTO blocked SELECT 'c-0123456789ab', NULL, '/p', 'x', 's', 'd' || i, 6, "
		"1, 1, "
		"1, i, i FROM n");
	CHECK_INT(store_blocked_expire(s, 0, &forgotten, &e), 0);
	CHECK_INT(forgotten, 7);
	CHECK_INT(rows_of(s, NULL, &got), STORE_BLOCKED_ALL);
	CHECK_INT(got.v[0].last_at, 8);
	gone();
}

void test_blocked__live_and_stored_are_one_list(void)
{
	cleanup_blocked_rows struct store_blocked_list l = STORE_BLOCKED_INIT,
						       m = STORE_BLOCKED_INIT;
	json_t *sums;

	CHECK(!blocked_sums(&l, 7));
	add(&l, "10.0.0.2", 443, 3, 10, 50);
	add(&l, "10.0.0.1", 443, 2, 20, 90);
	add(&m, "10.0.0.1", 443, 4, 30, 80);
	add(&m, "10.0.0.3", 443, 1, 60, 60);
	blocked_merge(&l, &m);
	CHECK_INT(m.n, 0);
	CHECK_INT(l.n, 3);
	CHECK_STR(l.v[0].destination, "10.0.0.2");
	CHECK_STR(l.v[1].destination, "10.0.0.3");
	CHECK_STR(l.v[2].destination, "10.0.0.1");
	CHECK_INT(l.v[2].packets, 4);
	CHECK_INT(l.v[2].first_at, 20);
	CHECK_INT(l.v[2].last_at, 90);
	sums = blocked_sums(&l, 7);
	CHECK_INT(json_integer_value(json_object_get(sums, "destinations")), 3);
	CHECK_INT(json_integer_value(json_object_get(sums, "packets")), 8);
	CHECK_INT(json_integer_value(json_object_get(sums, "unrecorded")), 7);
	json_decref(sums);
	blocked_merge(&l, &m);
	CHECK_INT(l.n, 3);
}

void test_blocked__explained_by_the_policy_of_its_run(void)
{
	cleanup_store struct store *s = with_run();
	cleanup_blocked_rows struct store_blocked_list l = STORE_BLOCKED_INIT;
	cleanup_blocked_reader struct blocked_reader reader = BLOCKED_READER_INIT;
	cleanup_meaning struct blocked_meaning m = {0}, unknown = {0};
	json_t *j;

	outside("UPDATE run SET egress = '{\"allow_cidrs\":[\"10.8.0.0/16\"],\"allow_ports\":[443],"
		"\"deny_cidrs\":[\"10.8.7.0/24\"]}'");
	reader.store = s;
	add(&l, "10.8.7.1", 443, 2, 1700000000000, 1700000001000);
	blocked_explain(&reader, &l.v[0], &m);
	CHECK_STR(m.what, "10.8.7.1:443/tcp");
	CHECK_STR(m.cause, "in executor container's deny list (10.8.7.0/24)");
	CHECK_STR(m.reason, "operator deny list");
	CHECK_INT(m.rule, 3);
	j = blocked_json(&l.v[0], &m, true);
	CHECK_STR(json_string_value(json_object_get(j, "first_at")), "2023-11-14T22:13:20Z");
	CHECK_STR(json_string_value(json_object_get(j, "protocol")), "tcp");
	CHECK_STR(json_string_value(json_object_get(j, "level")), "executor container");
	CHECK(json_is_true(json_object_get(j, "live")));
	json_decref(j);
	blocked_meaning_release(&m);
	outside("UPDATE run SET egress = '{\"levels\":[{\"level\":\"executor "
		"container\",\"policy\":"
		"{\"allow_public_internet\":true,\"allow_ports\":[443]}},{\"level\":\"rules of "
		"project "
		"/srv/p\",\"version\":4,\"policy\":{\"allow_public_internet\":true,\"allow_ports\":"
		"[443],\"deny_cidrs\":[\"10.0.0.0/8\",\"8.8.8.8\"]}}]}'");
	blocked_reader_release(&reader);
	blocked_explain(&reader, &l.v[0], &m);
	CHECK_STR(m.cause, "private (RFC1918/ULA), not in executor container's allow list");
	CHECK_STR(m.level, "executor container");
	blocked_meaning_release(&m);
	free(l.v[0].destination);
	l.v[0].destination = cl_strdup("8.8.8.8");
	blocked_explain(&reader, &l.v[0], &m);
	CHECK_STR(m.cause, "in rules of project /srv/p's deny list (8.8.8.8/32)");
	CHECK_STR(m.level, "rules of project /srv/p");
	CHECK(m.rule > 0);
	{
		struct blocked_meaning hostile = {
			.what = m.what, .cause = cl_strdup("in \x1b[31mred\n's")};
		cleanup_free char *text = blocked_text(&hostile);

		CHECK(!strchr(text, '\x1b') && !strchr(text, '\n'));
		free(hostile.cause);
	}
	free(l.v[0].run_id);
	l.v[0].run_id = NULL;
	blocked_explain(&reader, &l.v[0], &unknown);
	CHECK_HAS(unknown.cause, "not known any more");
	gone();
}
