/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/yaml_write.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static int sink(void *data, unsigned char *text, size_t len)
{
	cl_buf_add(data, text, len);
	return 1;
}

/* What a text cannot be told from without quotes: YAML 1.1's types "bool" and "null". */
static bool reserved(const char *s)
{
	static const char *const words[] = {
		"true", "false", "yes", "no", "on", "off", "y", "n", "null"};
	char lower[8];

	if (strlen(s) >= sizeof(lower))
		return false;
	(void)snprintf(lower, sizeof(lower), "%s", s);
	cl_lower(lower);
	for (size_t i = 0; i < CL_ARRAY_LEN(words); i++)
		if (!strcmp(lower, words[i]))
			return true;
	return false;
}

/* 10.8.0.0/16: the slash makes it no number of any kind. */
static bool ipv4_range(const char *s)
{
	size_t head = strspn(s, CL_DIGITS ".");

	return head && s[head] == '/' && s[head + 1] && cl_all_in(s + head + 1, CL_DIGITS);
}

static bool plain(const char *s, size_t len)
{
	if (strlen(s) != len || !len)
		return false;
	if (ipv4_range(s))
		return true;
	return strchr(CL_LOWER CL_UPPER, s[0]) && cl_all_in(s, CL_ALNUM "-_./") && !reserved(s);
}

/* Emits takes the event over; it fails only for want of memory, the tree being one. */
static void put(yaml_emitter_t *em, yaml_event_t *ev, int made)
{
	if (!made || !yaml_emitter_emit(em, ev))
		abort();
}

static void put_scalar(yaml_emitter_t *em, const char *s, size_t len, bool quoted)
{
	yaml_event_t ev;
	cleanup_free char *copy = cl_strndup(s, len);

	put(em, &ev,
		yaml_scalar_event_initialize(&ev, NULL, NULL, (yaml_char_t *)copy, (int)len,
			!quoted, quoted,
			quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE));
}

static void put_text(yaml_emitter_t *em, const char *s, size_t len)
{
	put_scalar(em, s, len, !plain(s, len));
}

static void put_number(yaml_emitter_t *em, const json_t *j)
{
	char text[32];

	if (json_is_integer(j))
		(void)snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(j));
	else
		cl_format_double(json_real_value(j), text);
	put_scalar(em, text, strlen(text), false);
}

static void put_value(yaml_emitter_t *em, const json_t *j);

static void put_map(yaml_emitter_t *em, const json_t *j)
{
	yaml_event_t ev;
	const char *key;
	json_t *value;

	put(em, &ev,
		yaml_mapping_start_event_initialize(&ev, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
	json_object_foreach ((json_t *)(uintptr_t)j, key, value) {
		put_text(em, key, strlen(key));
		put_value(em, value);
	}
	put(em, &ev, yaml_mapping_end_event_initialize(&ev));
}

static void put_list(yaml_emitter_t *em, const json_t *j)
{
	yaml_event_t ev;

	put(em, &ev,
		yaml_sequence_start_event_initialize(
			&ev, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
	for (size_t i = 0; i < json_array_size(j); i++)
		put_value(em, json_array_get(j, i));
	put(em, &ev, yaml_sequence_end_event_initialize(&ev));
}

static void put_value(yaml_emitter_t *em, const json_t *j)
{
	if (json_is_object(j))
		put_map(em, j);
	else if (json_is_array(j))
		put_list(em, j);
	else if (json_is_string(j))
		put_text(em, json_string_value(j), json_string_length(j));
	else if (json_is_number(j))
		put_number(em, j);
	else if (json_is_boolean(j))
		put_scalar(em, json_is_true(j) ? "true" : "false", json_is_true(j) ? 4 : 5, false);
	else
		put_scalar(em, "null", 4, false);
}

void cl_yaml_write(const json_t *j, struct cl_buf *out)
{
	yaml_emitter_t em;
	yaml_event_t ev;

	if (!yaml_emitter_initialize(&em))
		abort();
	yaml_emitter_set_output(&em, sink, out);
	yaml_emitter_set_unicode(&em, 1);
	yaml_emitter_set_width(&em, -1);
	put(&em, &ev, yaml_stream_start_event_initialize(&ev, YAML_UTF8_ENCODING));
	put(&em, &ev, yaml_document_start_event_initialize(&ev, NULL, NULL, NULL, 1));
	put_value(&em, j);
	put(&em, &ev, yaml_document_end_event_initialize(&ev, 1));
	put(&em, &ev, yaml_stream_end_event_initialize(&ev));
	yaml_emitter_delete(&em);
}
