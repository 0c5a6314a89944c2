/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/blocked.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/net/net.h"
#include "work/paths.h"

#include <stdlib.h>
#include <string.h>

/* --- the kernel's side --- */

static void parse_into(const char *text, struct pol_addr *out)
{
	struct cl_err e;

	if (!text || pol_addr_parse(text, "recorded address", out, &e))
		*out = (struct pol_addr){0};
}

/* As its row says, else its network's record. */
bool blocked_sources(const struct store_handle *h, const char *run_base, struct pol_addr out[2])
{
	cleanup_free char *base = NULL;
	struct cl_err e;

	parse_into(h->address, &out[0]);
	parse_into(h->address6, &out[1]);
	base = h->runtime_dir ? work_base_of(h) : cl_strdup(run_base);
	if (!out[0].family && !out[1].family && net_addresses(base, h->id, out, &e))
		return false;
	return out[0].family || out[1].family;
}

static void add_row(const struct store_handle *h, const struct nft_blocked *b, int64_t now,
	struct store_blocked_list *out)
{
	char source[POL_ADDR_TEXT], destination[POL_ADDR_TEXT];

	pol_addr_text(&b->source, source);
	pol_addr_text(&b->dest, destination);
	out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*out->v));
	out->v[out->n++] = (struct store_blocked){.handle_id = cl_strdup(h->id),
		.run_id = cl_strdup_null(h->run_id),
		.project = cl_strdup(h->project),
		.executor_id = cl_strdup(h->executor_id),
		.source = cl_strdup(source),
		.destination = cl_strdup(destination),
		.proto = b->proto,
		.port = b->port,
		.packets = b->packets > INT64_MAX ? INT64_MAX : (int64_t)b->packets,
		.bytes = b->bytes > INT64_MAX ? INT64_MAX : (int64_t)b->bytes,
		.first_at = nft_blocked_first(b, now),
		.last_at = nft_blocked_last(b, now)};
}

int blocked_live(const struct store_handle *h, const char *run_base, struct store_blocked_list *out,
	int64_t *unrecorded, struct cl_err *e)
{
	cleanup_blocked struct nft_blocked_list l = NFT_BLOCKED_INIT;
	struct pol_addr sources[2] = {{0}, {0}};
	int64_t now;

	if (!h->nft_table || !blocked_sources(h, run_base, sources))
		return 0;
	if (nft_blocked_read(h->nft_table, sources, CL_ARRAY_LEN(sources), &l, e))
		return e->code == CL_ENOTFOUND ? 0 : -1;
	now = sys_now_ms();
	for (size_t i = 0; i < l.n; i++)
		add_row(h, &l.v[i], now, out);
	if (l.unrecorded > (uint64_t)h->unrecorded_before)
		*unrecorded += (int64_t)l.unrecorded - h->unrecorded_before;
	return 0;
}

/* --- sums and lists --- */

json_t *blocked_sums(const struct store_blocked_list *rows, int64_t unrecorded)
{
	json_int_t packets = 0;

	if (!rows->n)
		return NULL;
	for (size_t i = 0; i < rows->n; i++)
		packets = packets > INT64_MAX - rows->v[i].packets ? INT64_MAX
								   : packets + rows->v[i].packets;
	return json_pack("{s:I, s:I, s:I}", "destinations", (json_int_t)rows->n, "packets", packets,
		"unrecorded", (json_int_t)unrecorded);
}

static int by_key(const void *a, const void *b)
{
	return store_blocked_cmp(a, b);
}

static int by_time(const void *pa, const void *pb)
{
	const struct store_blocked *a = pa, *b = pb;

	if (a->last_at != b->last_at)
		return a->last_at < b->last_at ? -1 : 1;
	return store_blocked_cmp(a, b);
}

void blocked_merge(struct store_blocked_list *into, struct store_blocked_list *take_rows)
{
	struct store_blocked_list spare = STORE_BLOCKED_INIT;
	size_t kept = 0;

	if (take_rows->n)
		into->v = cl_grow(into->v, &into->cap, into->n + take_rows->n, sizeof(*into->v));
	for (size_t i = 0; i < take_rows->n; i++)
		into->v[into->n++] = take_rows->v[i];
	take_rows->n = 0;
	if (into->n)
		qsort(into->v, into->n, sizeof(*into->v), by_key);
	for (size_t i = 0; i < into->n; i++) {
		if (kept && !store_blocked_cmp(&into->v[kept - 1], &into->v[i])) {
			store_blocked_join(&into->v[kept - 1], &into->v[i]);
			spare.v = cl_grow(spare.v, &spare.cap, spare.n + 1, sizeof(*spare.v));
			spare.v[spare.n++] = into->v[i];
		} else {
			into->v[kept++] = into->v[i];
		}
	}
	into->n = kept;
	if (kept)
		qsort(into->v, kept, sizeof(*into->v), by_time);
	store_blocked_release(&spare);
}

/* --- the end of a workload --- */

static int store_sums(struct store *s, const char *run_id, json_t *sums, struct cl_err *e)
{
	static const char *const columns[] = {"blocked", NULL};
	cleanup_run_row struct store_run r = STORE_RUN_INIT;

	r.id = cl_strdup(run_id);
	r.blocked = cl_json_text(sums);
	return store_run_set(s, &r, columns, e);
}

int blocked_settle(
	struct store *s, const struct store_handle *h, const char *run_base, struct cl_err *e)
{
	cleanup_blocked_rows struct store_blocked_list rows = STORE_BLOCKED_INIT;
	struct pol_addr sources[2] = {{0}, {0}};
	cleanup_txn struct store_txn t = {0};
	int64_t unrecorded = 0;
	struct cl_err ignored;
	json_t *j;

	if (blocked_live(h, run_base, &rows, &unrecorded, e))
		return -1;
	j = blocked_sums(&rows, unrecorded);
	if (!j)
		return 0;
	if (store_begin(s, &t, e) || store_blocked_merge(s, &rows, e) ||
		(h->run_id && store_sums(s, h->run_id, j, e)) || store_commit(&t, e)) {
		json_decref(j);
		return -1;
	}
	json_decref(j);
	/* The next sandbox may get the address; one that is prepared starts without them anyway. */
	if (blocked_sources(h, run_base, sources))
		(void)nft_blocked_forget(h->nft_table, sources, CL_ARRAY_LEN(sources), &ignored);
	return 0;
}
