/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lease's id says where its row stands, so that there is no index of ids to write. */
#include "base/text.h"
#include "store/db.h"
#include "store/lease.h"
#include "sys/id.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX   "lease_"
#define DIGITS   24
#define OF_PLACE 16
/* Below the milliseconds: some of those digits, so that two of the same one rarely meet. */
#define DRAWN 21

int64_t store_lease_seq(const char *id)
{
	const char *hex = id + sizeof(PREFIX) - 1;

	if (!cl_starts(id, PREFIX) || strlen(hex) != DIGITS || !cl_all_in(hex, "0123456789abcdef"))
		return 0;
	return (int64_t)(strtoull(hex + DIGITS - OF_PLACE, NULL, 16) & INT64_MAX);
}

static void put_place(uint64_t place, char *out)
{
	unsigned char bytes[OF_PLACE / 2];

	for (size_t i = sizeof(bytes); i-- > 0; place >>= 8)
		bytes[i] = (unsigned char)place;
	cl_hex(bytes, sizeof(bytes), out);
}

int store_lease_new_id(int64_t at, char out[STORE_LEASE_ID], struct cl_err *e)
{
	const uint64_t drawn = (UINT64_C(1) << DRAWN) - 1, most = INT64_MAX >> DRAWN;
	uint64_t ms = at < 1 ? 1 : (uint64_t)at;

	if (sys_new_id(PREFIX, DIGITS, out, STORE_LEASE_ID, e))
		return -1;
	ms = ms > most ? most : ms;
	put_place(ms << DRAWN | ((uint64_t)store_lease_seq(out) & drawn),
		out + STORE_LEASE_ID - 1 - OF_PLACE);
	return 0;
}

static void lease_seq(sqlite3_context *c, int n, sqlite3_value **v)
{
	const char *id = (const char *)sqlite3_value_text(v[0]);
	int64_t seq = id ? store_lease_seq(id) : 0;

	(void)n;
	if (seq)
		sqlite3_result_int64(c, seq);
	else
		sqlite3_result_null(c);
}

int db_lease_seq(struct store *s, struct cl_err *e)
{
	if (sqlite3_create_function_v2(s->db, "lease_seq", 1,
		    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, lease_seq, NULL,
		    NULL, NULL) != SQLITE_OK)
		return db_fail(s, "prepare it", e);
	return 0;
}
