/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/logs.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "sys/clock.h"
#include "work/control.h"
#include "work/paths.h"

#include <poll.h>
#include <unistd.h>

static char *encode(const unsigned char *p, size_t n)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct cl_buf b = CL_BUF_INIT;

	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
			     (i + 2 < n ? p[i + 2] : 0);

		cl_buf_addc(&b, alphabet[v >> 18]);
		cl_buf_addc(&b, alphabet[v >> 12 & 63]);
		cl_buf_addc(&b, i + 1 < n ? alphabet[v >> 6 & 63] : '=');
		cl_buf_addc(&b, i + 2 < n ? alphabet[v & 63] : '=');
	}
	return cl_buf_detach(&b);
}

json_t *work_log_json(const struct spool_record *r)
{
	json_t *j = json_pack("{s:I, s:s, s:I}", "seq", (json_int_t)r->seq, "stream",
		spool_stream_name(r->stream), "at_ms", (json_int_t)r->time_ms);

	if (cl_utf8_valid(r->data, r->len)) {
		(void)json_object_set_new(j, "text", json_stringn(r->data, r->len));
	} else {
		cleanup_free char *b = encode((const unsigned char *)r->data, r->len);

		(void)json_object_set_new(j, "base64", json_string(b));
	}
	return j;
}

int work_logs_json(const char *dir, uint64_t from, struct cl_err *e)
{
	struct spool_reader *r = NULL;
	struct spool_record rec;
	bool got = true;
	int rc = 0;

	if (spool_reader_open(dir, from, &r, e))
		return -1;
	while (!rc && got) {
		rc = spool_next(r, &rec, &got, e);
		if (!rc && got)
			cl_take_json(work_log_json(&rec));
	}
	spool_reader_close(r);
	return rc;
}

void work_nap(struct store *s, const char *handle)
{
	json_t *msg = json_pack("{s:s}", "op", "wait"), *got = NULL;
	cleanup_rundir struct rundir rd = {0};
	int fd = -1, fds[CONTROL_FDS];
	struct cl_err e;
	size_t n;

	work_rundir_of(s, handle, NULL, &rd);
	if (!control_connect(rd.sock, &fd, &e) && !control_send(fd, msg, NULL, 0, &e) &&
		!control_recv(fd, &got, fds, &n, &e) && got) {
		struct pollfd p = {fd, POLLIN, 0};

		(void)poll(&p, 1, 5000);
	} else {
		sys_sleep_ms(300);
	}
	json_decref(msg);
	json_decref(got);
	if (fd >= 0)
		(void)close(fd);
}
