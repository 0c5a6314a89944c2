/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers, sizes, durations and times: what is read prints as text that reads the same. */
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void sizes(const char *s)
{
	int64_t v = 0, again = 0;
	char text[24];
	struct cl_err e;

	if (cl_parse_size(s, CL_SIZE_MB, "size", &v, &e))
		return;
	cl_format_size(v, text);
	assert(!cl_parse_size(text, CL_SIZE_BYTES, "size", &again, &e) && again == v);
	assert(v < 0 || cl_bytes_to_mb(v) >= v >> 20);
}

static void durations(const char *s)
{
	int64_t v = 0, again = 0;
	char text[40];
	struct cl_err e;

	if (cl_parse_duration(s, true, "time", &v, &e))
		return;
	assert(v >= 0);
	cl_format_duration(v, text);
	assert(!cl_parse_duration(text, true, "time", &again, &e) && again == v);
}

static void times(const char *s)
{
	int64_t v = 0, again = 0;
	char text[32];
	struct cl_err e;

	if (cl_parse_time(s, "when", &v, &e))
		return;
	cl_format_time(v, text);
	/* An offset can carry a time out of the years that the format has. */
	assert(!cl_parse_time(text, "when", &again, &e));
	assert(again == v || v < -62167219200 || v > 253402300799);
}

static void numbers(const char *s)
{
	uint64_t u = 0;
	int64_t i = 0;
	double f = 0, again = 0;
	char text[32];
	struct cl_err e;

	if (!cl_parse_u64(s, 10, 1000, "n", &u, &e))
		assert(u >= 10 && u <= 1000);
	if (!cl_parse_i64(s, -10, 10, "n", &i, &e))
		assert(i >= -10 && i <= 10);
	if (cl_parse_double(s, "n", &f, &e)) {
		assert(e.msg[0] && cl_utf8_valid(e.msg, strlen(e.msg)));
		return;
	}
	cl_format_double(f, text);
	assert(!cl_parse_double(text, "n", &again, &e) && !(again < f) && !(again > f));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *s = cl_strndup((const char *)data, size);

	sizes(s);
	durations(s);
	times(s);
	numbers(s);
	return 0;
}
