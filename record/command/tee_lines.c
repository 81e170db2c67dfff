/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of `log` from what a command has written; see tee_lines.h. */
#include "record/command/tee_lines.h"

#include <linux/types.h>
#include <string.h>

#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/rows.h"

/* A row may be so old when it is written (struct source_worker); log.late says the rest. */
#define MAX_AGE_NS UINT64_C(400000000)

static struct ebt_error *add_row(struct tee_lines *l, struct ebt_stream *stream)
{
	uint64_t now = clocks_now(), oldest = now - MAX_AGE_NS, time = l->last;
	struct ebt_wire_log *row;

	if (l->end && time > l->end)
		time = l->end;
	row = ebt_record_begin(&l->rec, EBT_T_log, time < oldest ? oldest : time);
	row->cpu = UINT32_MAX;
	row->task = l->task;
	row->severity = EBT_V_log_severity_none;
	row->origin = l->origin;
	row->late = time < oldest ? oldest - time : 0;
	row->cut = l->cut < UINT32_MAX ? (uint32_t)l->cut : UINT32_MAX;
	ebt_record_bytes(&l->rec, offsetof(struct ebt_wire_log, message), l->text, l->len);
	l->len = 0;
	l->cut = l->first = 0;
	l->rows++;
	return ebt_record_add(&l->rec, stream);
}

static void add_text(struct tee_lines *l, uint64_t time, const char *data, size_t len)
{
	size_t room = sizeof(l->text) - l->len, kept = len < room ? len : room;

	if (!len)
		return;
	if (!l->first)
		l->first = time;
	l->last = time;
	memcpy(l->text + l->len, data, kept);
	l->len += kept;
	l->cut += len - kept;
	l->state = TEE_NOT_AFTER_CR;
}

static struct ebt_error *end_line(struct tee_lines *l, struct ebt_stream *stream, uint64_t time)
{
	l->last = time;
	return add_row(l, stream);
}

/* A part without \n, which may end with \r. */
static struct ebt_error *add_part(struct tee_lines *l, struct ebt_stream *stream, uint64_t time,
				  const char *data, size_t len)
{
	while (len) {
		const char *cr = memchr(data, '\r', len);
		size_t before = cr ? (size_t)(cr - data) : len;
		struct ebt_error *err;

		add_text(l, time, data, before);
		if (!cr)
			return NULL;
		data += before + 1;
		len -= before + 1;
		if (!l->first) {
			l->state = l->state == TEE_NOT_AFTER_CR ? TEE_AFTER_CR : l->state;
			continue;
		}
		err = end_line(l, stream, time);
		if (err)
			return err;
		l->state = TEE_AFTER_LINE;
	}
	return NULL;
}

struct ebt_error *tee_lines_add(struct tee_lines *l, struct ebt_stream *stream, uint64_t time,
				const char *data, size_t len)
{
	const char *end = data + len;
	struct ebt_error *err = NULL;

	while (!err && data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));

		err = add_part(l, stream, time, data, (size_t)((newline ? newline : end) - data));
		if (err || !newline)
			return err;
		if (l->state != TEE_AFTER_LINE)
			err = end_line(l, stream, time);
		l->state = TEE_NOT_AFTER_CR;
		data = newline + 1;
	}
	return err;
}

struct ebt_error *tee_lines_flush(struct tee_lines *l, struct ebt_stream *stream)
{
	return l->first ? add_row(l, stream) : NULL;
}

struct ebt_error *tee_lines_lost(struct tee_lines *l, struct ebt_stream *stream, uint64_t ends)
{
	struct ebt_error *err = tee_lines_flush(l, stream);
	const struct lost_row lost = {
		.from = l->last,
		/* What is left of a line that was cut in two is a row, and not the line. */
		.count = ends ? ends : 1,
		.table_id = EBT_T_log,
		.reason = EBT_V_lost_reason_ring_buffer_full,
		.source = "output",
		.detail = "the command wrote faster than its lines were taken",
	};

	if (err)
		return err;
	l->state = TEE_NOT_AFTER_CR;
	return add_lost(stream, clocks_now(), &lost);
}
