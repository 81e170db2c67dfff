/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report as one JSON object, written as it comes. */
#include "report/out/private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/cli/command.h"

/* docs/json.schema.json. It goes up when a key changes its meaning. */
#define JSON_VERSION 2

void out_json_time(struct out *out, uint64_t time)
{
	json_time(&out->json, time, trace_start_ns(out->trace));
}

static void put_head(struct out *out)
{
	struct json *json = &out->json;

	json_put(json, "command", cstr, out->options->command->name);
	json_put(json, "version", u64, JSON_VERSION);
	json_put(json, "file", cstr, out->options->file);
}

static void put_host(struct out *out)
{
	json_put(&out->json, "host_number", u64, out->host);
	json_put(&out->json, "host_name", str, text_get(&out->host_name), out->host_name.len);
}

static void open_hosts(struct out *out)
{
	struct json *json = &out->json;

	if (!out->hosts_opened) {
		out->hosts_opened = true;
		json_open_object(json);
		put_head(out);
		json_put(json, "hosts", open_array);
	}
	json_newline(json);
	json_open_object(json);
	out->host_depth = json->depth;
	put_host(out);
}

void out_json_open(struct out *out)
{
	if (out->opened)
		return;
	out->opened = true;
	if (out->host) {
		open_hosts(out);
	} else {
		json_open_object(&out->json);
		put_head(out);
	}
	json_put(&out->json, "start_ns", wide_u64, trace_start_ns(out->trace));
	json_put(&out->json, "duration_ns", u64,
		 trace_end_ns(out->trace) - trace_start_ns(out->trace));
}

void out_json_line_begin(struct out *out)
{
	out->opened = true;
	json_open_object(&out->json);
	json_put(&out->json, "seq", u64, out->n_json_lines++);
	put_head(out);
	if (out->host)
		put_host(out);
	json_put(&out->json, "start_ns", wide_u64, trace_start_ns(out->trace));
	json_key(&out->json, "from_ns");
	out_json_time(out, trace_from_ns(out->trace));
	json_key(&out->json, "to_ns");
	out_json_time(out, trace_window_end_ns(out->trace));
}

void out_json_intervals_begin(struct out *out)
{
	out_json_open(out);
	json_put(&out->json, "interval_ns", u64, out->options->interval_ns);
	json_newline(&out->json);
	json_put(&out->json, "intervals", open_array);
}

void out_json_interval_begin(struct out *out)
{
	json_newline(&out->json);
	json_open_object(&out->json);
	json_key(&out->json, "from_ns");
	out_json_time(out, out->interval_from);
	json_key(&out->json, "to_ns");
	out_json_time(out, out->interval_to);
}

static void put_remarks(struct out *out)
{
	struct json *json = &out->json;
	const char *const *remarks;
	size_t n;

	remarks = trace_remarks(out->trace, &n);
	if (!n)
		return;
	json_put(json, "remarks", open_array);
	for (size_t i = 0; i < n; i++)
		json_cstr(json, remarks[i]);
	json_end(json);
}

struct ebt_error *out_json_close(struct out *out)
{
	_cleanup_free_ struct trace_loss *losses = NULL;
	const char *const *warnings = NULL;
	struct json *json = &out->json;
	size_t n_losses = 0, n_warnings = 0;
	struct ebt_error *err;

	out_json_open(out);
	err = trace_losses(out->trace, LOSSES_OF_READ, &losses, &n_losses)
		      ?: trace_warnings(out->trace, &warnings, &n_warnings);
	if (err)
		return err;
	json_newline(json);
	if (trace_n_left_out(out->trace))
		json_put(json, "kernel_threads_left_out", u64, trace_n_left_out(out->trace));
	json_put(json, "lost", open_object);
	for (size_t i = 0; i < n_losses; i++) {
		json_put(json, losses[i].table->name, u64, losses[i].lost);
	}
	json_end(json);
	json_put(json, "warnings", open_array);
	for (size_t i = 0; i < n_warnings; i++)
		json_cstr(json, warnings[i]);
	json_end(json);
	put_remarks(out);
	json_end(json);
	return NULL;
}

void out_json_fail(struct out *out, const char *message)
{
	struct json *json = &out->json;

	if (!out->opened)
		open_hosts(out);
	if (json->after_key)
		json_put_null(json);
	while (json->skipped || json->depth > out->host_depth)
		json_end(json);
	json_put(json, "error", cstr, message);
	json_end(json);
}

void out_json_close_hosts(struct out *out)
{
	json_end(&out->json);
	json_end(&out->json);
}

static void put_points(struct json *json, uint64_t start_ns, const struct out_points *points)
{
	json_open_array(json);
	for (size_t i = 0; i < points->n; i++) {
		json_open_array(json);
		json_time(json, points->list[i].time, start_ns);
		json_exact(json, points->list[i].value);
		json_end(json);
	}
	json_end(json);
}

static void put_list(struct json *json, struct ebt_str items)
{
	json_open_array(json);
	while (items.len) {
		size_t n = strnlen(items.data, items.len);

		json_str(json, items.data, n);
		n += n < items.len;
		items = (struct ebt_str){ items.data + n, items.len - n };
	}
	json_end(json);
}

void out_json_value(struct json *json, uint64_t start_ns, enum out_type type,
		    const struct out_value *value)
{
	char hex[24];

	if (value->null) {
		json_put_null(json);
		return;
	}
	switch (type) {
	case OUT_STRING:
		json_str(json, value->s.data, value->s.len);
		break;
	case OUT_LIST:
		put_list(json, value->s);
		break;
	case OUT_ID:
		json_wide_u64(json, value->u);
		break;
	case OUT_SIGNED_ID:
		json_wide_i64(json, value->i);
		break;
	case OUT_I64:
		json_i64(json, value->i);
		break;
	case OUT_HEX:
		snprintf(hex, sizeof(hex), "0x%" PRIx64, value->u);
		json_cstr(json, hex);
		break;
	case OUT_PERCENT:
	case OUT_FLOAT:
		json_f64(json, value->f);
		break;
	case OUT_BOOL:
		json_bool(json, value->u);
		break;
	case OUT_NUMBER:
		json_exact(json, value->f);
		break;
	case OUT_SERIES:
		put_points(json, start_ns, &value->points);
		break;
	case OUT_TIME:
		json_time(json, value->u, start_ns);
		break;
	case OUT_U64:
	case OUT_DURATION:
	case OUT_BYTES:
		json_u64(json, value->u);
		break;
	}
}

static void put_members(struct out *out, const struct out_value *values)
{
	const struct out_table *table = out->table;
	const uint64_t start_ns = trace_start_ns(out->trace);

	for (size_t i = 0; i < table->n_columns; i++) {
		if (values[i].null || (table->columns[i].flags & (OUT_TEXT_ONLY | OUT_HIDDEN)))
			continue;
		json_key(&out->json, table->columns[i].key);
		out_json_value(&out->json, start_ns, table->columns[i].type, &values[i]);
	}
}

static void put_tree(struct out *out, const struct out_lines *lines)
{
	struct json *json = &out->json;

	for (size_t n = 0; n < lines->n; n++) {
		const struct out_line *line = &lines->all[lines->order[n]];

		out->last[line->depth] = (uint32_t)n;
		json_newline(json);
		json_open_object(json);
		json_put(json, "id", u64, n);
		if (line->depth) {
			json_put(json, "parent", u64, out->last[line->depth - 1]);
		}
		put_members(out, line->values);
		json_end(json);
	}
}

static void put_nested(struct out *out, const struct out_lines *lines)
{
	struct json *json = &out->json;
	unsigned int depth = 0;

	for (size_t n = 0; n < lines->n; n++) {
		const struct out_line *line = &lines->all[lines->order[n]];

		if (n && line->depth > depth) {
			json_put(json, out->table->children, open_array);
		} else if (n) {
			json_end(json);
			for (; depth > line->depth; depth--) {
				json_end(json);
				json_end(json);
			}
		}
		depth = line->depth;
		json_newline(json);
		json_open_object(json);
		put_members(out, line->values);
	}
	for (; lines->n && depth; depth--) {
		json_end(json);
		json_end(json);
	}
	if (lines->n)
		json_end(json);
}

struct ebt_error *out_json_write(struct out *out, const struct out_lines *lines)
{
	out_json_stream_begin(out);
	if (out->table->flags & OUT_TREE)
		put_tree(out, lines);
	else
		put_nested(out, lines);
	out_json_stream_end(out);
	return NULL;
}

void out_json_stream_begin(struct out *out)
{
	json_newline(&out->json);
	json_put(&out->json, out->table->key, open_array);
}

void out_json_stream_row(struct out *out, const struct out_value *values)
{
	json_newline(&out->json);
	json_open_object(&out->json);
	put_members(out, values);
	json_end(&out->json);
}

void out_json_stream_end(struct out *out)
{
	json_end(&out->json);
}
