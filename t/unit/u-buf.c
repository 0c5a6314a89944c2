/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/buf.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "unit.h"

void test_buf__is_always_terminated(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	CHECK_STR(b.p, "");
	cl_buf_add(&b, "", 0);
	CHECK_STR(b.p, "");
	cl_buf_reset(&b);
	cl_buf_adds(&b, "ab");
	cl_buf_addc(&b, 'c');
	cl_buf_addf(&b, "-%d-%s", 42, "x");
	CHECK_STR(b.p, "abc-42-x");
	CHECK_INT(b.len, 8);
	cl_buf_reset(&b);
	CHECK_STR(b.p, "");
	CHECK(b.cap > 0);
	cl_buf_release(&b);
	CHECK_STR(b.p, "");
	cl_buf_adds(&b, "again");
	CHECK_STR(b.p, "again");
	/* The empty buffer's shared byte was never written. */
	CHECK(!cl_buf_empty[0]);
}

void test_buf__holds_any_byte_and_grows(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	for (int i = 0; i < 100000; i++)
		cl_buf_addc(&b, (char)i);
	CHECK_INT(b.len, 100000);
	CHECK_INT((unsigned char)b.p[65535], 255);
	CHECK(b.cap > b.len && !b.p[b.len]);
	cl_buf_add(&b, "a\0b", 3);
	CHECK_INT(b.len, 100003);
	CHECK_INT(b.p[100002], 'b');
}

void test_buf__reserve_keeps_what_is_there(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	char *p;

	cl_buf_adds(&b, "head");
	p = cl_buf_reserve(&b, 4096);
	memcpy(p, "tail", 5);
	b.len += 4;
	CHECK_STR(b.p, "headtail");
}

void test_buf__detach(void)
{
	struct cl_buf b = CL_BUF_INIT;
	cleanup_free char *empty = cl_buf_detach(&b), *full = NULL;

	CHECK_STR(empty, "");
	cl_buf_adds(&b, "mine");
	full = cl_buf_detach(&b);
	CHECK_STR(full, "mine");
	CHECK_STR(b.p, "");
	CHECK_INT(b.cap, 0);
}

void test_buf__long_format(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	cl_buf_addf(&b, "%0*d", 70000, 7);
	CHECK_INT(b.len, 70000);
	CHECK_STR(b.p + 69998, "07");
}

void test_strv__add_has_sort_uniq(void)
{
	cleanup_strv struct cl_strv v = CL_STRV_INIT;
	static const char *const in[] = {"b", "a", "", "b", "c", "a", "\xff", "B"};

	cl_strv_sort(&v);
	cl_strv_uniq(&v);
	CHECK_INT(v.n, 0);
	CHECK(!cl_strv_has(&v, ""));
	for (size_t i = 0; i < CL_ARRAY_LEN(in); i++)
		cl_strv_add(&v, in[i]);
	cl_strv_addf(&v, "%s%d", "n", 1);
	cl_strv_addn(&v, "bxx", 1);
	cl_strv_uniq(&v);
	CHECK_INT(v.n, 7);
	CHECK_STR(v.v[0], "b");
	CHECK_STR(v.v[1], "a");
	CHECK_STR(v.v[2], "");
	CHECK_STR(v.v[3], "c");
	CHECK_STR(v.v[4], "\xff");
	CHECK_STR(v.v[6], "n1");
	CHECK(!v.v[7]);
	cl_strv_sort(&v);
	CHECK_STR(v.v[0], "");
	CHECK_STR(v.v[1], "B");
	CHECK_STR(v.v[6], "\xff");
	CHECK(cl_strv_has(&v, "n1") && !cl_strv_has(&v, "n"));
	cl_strv_add(&v, "after");
	CHECK(!v.v[v.n]);
}

void test_strv__uniq_of_many_equal(void)
{
	cleanup_strv struct cl_strv v = CL_STRV_INIT;

	for (int i = 0; i < 100000; i++)
		cl_strv_addf(&v, "%d", i % 50000);
	cl_strv_uniq(&v);
	CHECK_INT(v.n, 50000);
	CHECK_STR(v.v[0], "0");
	CHECK_STR(v.v[49999], "49999");
}

void test_mem__grow_keeps_and_counts(void)
{
	size_t cap = 0;
	int *p = cl_grow(NULL, &cap, 0, sizeof(*p));

	CHECK(cap >= 1);
	p[0] = 5;
	p = cl_grow(p, &cap, 1000, sizeof(*p));
	CHECK(cap >= 1000);
	CHECK_INT(p[0], 5);
	free(p);
}

void test_mem__odd_sizes(void)
{
	cleanup_free char *none = cl_strndup(NULL, 0), *nul = cl_strndup("a\0b", 3);
	cleanup_free char *zero = cl_malloc(0), *cleared = cl_calloc(0, 8);

	CHECK_STR(none, "");
	CHECK(!memcmp(nul, "a\0b", 4));
	CHECK(zero && cleared);
}

/* Every length about the ends of blocks, by either way. */
void test_sha256__known_answers(void)
{
	static const char a[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	cleanup_free char *million = cl_malloc(1000000);
	char hex[CL_SHA256_HEX];

	/* FIPS 180-2, appendix B */
	cl_sha256_hex("abc", 3, hex);
	CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	cl_sha256_hex(a, sizeof(a) - 1, hex);
	CHECK_STR(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(million, 'a', 1000000);
	cl_sha256_hex(million, 1000000, hex);
	CHECK_STR(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	cl_sha256_hex("", 0, hex);
	CHECK_STR(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* The bytes of a secret buffer are gone from where they were, whatever moves it. */
void test_buf__secret_wipes(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_SECRET;
	size_t cap;
	char *p;

	cl_buf_adds(&b, "hunter22");
	p = b.p;
	cap = b.cap;
	cl_buf_reset(&b);
	CHECK(b.p == p && b.cap == cap && b.secret);
	for (size_t i = 0; i < cap; i++)
		CHECK_INT(p[i], 0);
	for (int i = 0; i < 1000; i++)
		cl_buf_addf(&b, "%d,", i);
	CHECK(!strncmp(b.p, "0,1,2,", 6) && b.len > 3000);
	cl_buf_release(&b);
	CHECK(b.secret);
	cl_buf_adds(&b, "again");
	CHECK_STR(b.p, "again");
}
