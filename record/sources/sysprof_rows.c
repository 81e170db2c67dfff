/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of Sysprof's frames; see sysprof_rows.h. */
#include "record/sources/sysprof_rows.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/rows.h"

/* A ring's counters are its thread's: Sysprof's library up to version 48 numbers those of each
 * thread from 1. Others than the thread that defined one may set it, too. */
#define OF_RING(ring) ((ring) | UINT64_C(1) << 63)

/* --- definitions of counters: by who defined them, and their numbers --- */

/* A large GTK program has some fifty. A megabyte and a half. */
#define MAX_COUNTERS 8192

/* What a counter of programs is called, NUL-terminated; longer ones than Sysprof's do not exist. */
struct counter_definition {
	bool is_double;
	char category[33], name[33], description[53];
};

struct counter_entry {
	uint64_t writer;
	uint32_t id;
	struct counter_definition definition;
};

struct sysprof_counters {
	struct counter_entry entries[MAX_COUNTERS];
	struct ebt_map found; /* hash of writer and id to indices of them */
	uint32_t n;	      /* that are used */
	uint32_t turn;	      /* the entry to use next, which is the oldest */
};

static uint64_t hash_of(uint64_t writer, uint32_t id)
{
	return ebt_hash_u64(ebt_hash_u64(0, writer), id);
}

static uint32_t find_entry(const struct sysprof_counters *c, uint64_t writer, uint32_t id)
{
	uint64_t hash = hash_of(writer, id);
	uint32_t i;

	for (size_t at = 0; (i = ebt_map_next(&c->found, hash, &at)) != EBT_MAP_NONE;) {
		if (c->entries[i].writer == writer && c->entries[i].id == id)
			break;
	}
	return i;
}

static struct ebt_error *take_oldest(struct sysprof_counters *c, uint64_t writer, uint32_t id,
				     uint32_t *ret)
{
	struct counter_entry *entry = &c->entries[c->turn];
	struct ebt_error *err = ebt_map_insert(&c->found, hash_of(writer, id), c->turn);

	if (err)
		return err;
	if (c->n < MAX_COUNTERS)
		c->n++;
	else
		ebt_map_remove(&c->found, hash_of(entry->writer, entry->id), c->turn);
	entry->writer = writer;
	entry->id = id;
	*ret = c->turn;
	c->turn = (c->turn + 1) % MAX_COUNTERS;
	return NULL;
}

static void set(char *to, size_t size, struct sysprof_text text)
{
	size_t len = text.len < size ? text.len : size - 1;

	memcpy(to, text.s, len);
	to[len] = '\0';
}

/* Where there are too many, the oldest is forgotten. */
static struct ebt_error *define_counter(struct sysprof_counters *c, uint64_t writer,
					const struct sysprof_counter *counter)
{
	uint32_t i = find_entry(c, writer, counter->id);
	struct counter_definition *d;
	struct ebt_error *err;

	if (i == EBT_MAP_NONE) {
		err = take_oldest(c, writer, counter->id, &i);
		if (err)
			return err;
	}
	d = &c->entries[i].definition;
	d->is_double = counter->is_double;
	set(d->category, sizeof(d->category), counter->category);
	set(d->name, sizeof(d->name), counter->name);
	set(d->description, sizeof(d->description), counter->description);
	return NULL;
}

/* NULL: there is none. Good until the next is defined. */
static const struct counter_definition *find_counter(const struct sysprof_counters *c,
						     uint64_t writer, uint32_t id)
{
	uint32_t i = find_entry(c, writer, id);

	return i == EBT_MAP_NONE ? NULL : &c->entries[i].definition;
}

/* --- rows --- */

struct ebt_error *sysprof_rows_init(uint64_t begin, struct sysprof_rows *ret)
{
	*ret = (struct sysprof_rows){
		.begin = begin,
		.last = begin,
		.counters = calloc(1, sizeof(*ret->counters)),
	};
	return ret->counters ? NULL : &ebt_enomem;
}

void sysprof_rows_deinit(struct sysprof_rows *rows)
{
	if (rows->counters)
		ebt_map_deinit(&rows->counters->found);
	free(rows->counters);
	ebt_record_deinit(&rows->rec);
}

/* A program may say any time. */
static uint64_t possible(struct sysprof_rows *rows, int64_t time, uint64_t now)
{
	if (time >= 0 && (uint64_t)time >= rows->begin && (uint64_t)time <= now)
		return (uint64_t)time;
	rows->counts[SYSPROF_BAD_TIMES]++;
	return time < 0 || (uint64_t)time < rows->begin ? rows->begin : now;
}

static void put(struct sysprof_rows *rows, size_t ref, struct sysprof_text text)
{
	ebt_record_bytes(&rows->rec, ref, text.s, text.len);
}

static struct ebt_error *add_mark(struct sysprof_rows *rows, const struct sysprof_writer *writer,
				  const struct sysprof_frame *frame, uint64_t now)
{
	struct ebt_wire_mark *row;
	struct sysprof_mark mark;
	uint64_t start, end;
	int64_t ended;

	if (!sysprof_frame_mark(frame, &mark)) {
		rows->counts[SYSPROF_BAD_FRAMES]++;
		return NULL;
	}
	start = end = possible(rows, frame->time, now);
	if (mark.duration < 0)
		rows->counts[SYSPROF_BAD_TIMES]++;
	else if (mark.duration && !__builtin_add_overflow(frame->time, mark.duration, &ended))
		end = possible(rows, ended, now);
	else if (mark.duration)
		end = possible(rows, INT64_MAX, now);
	row = ebt_record_begin(&rows->rec, EBT_T_mark, now);
	row->cpu = (uint32_t)frame->cpu;
	row->task = writer->task;
	row->kind = mark.duration > 0 ? EBT_V_mark_kind_span : EBT_V_mark_kind_instant;
	row->origin = EBT_V_mark_origin_sysprof;
	row->late = now - end;
	row->duration = end - start;
	put(rows, offsetof(struct ebt_wire_mark, group), mark.group);
	put(rows, offsetof(struct ebt_wire_mark, name), mark.name);
	put(rows, offsetof(struct ebt_wire_mark, message), mark.message);
	return ebt_record_add(&rows->rec, rows->stream);
}

/* From a GLogLevelFlags to syslog's levels, as GLib does for the journal. */
static uint32_t severity_of(uint16_t level)
{
	static const uint8_t severities[] = {
		[2] = EBT_V_log_severity_error,	  /* G_LOG_LEVEL_ERROR */
		[3] = EBT_V_log_severity_warning, /* _CRITICAL */
		[4] = EBT_V_log_severity_warning, /* _WARNING */
		[5] = EBT_V_log_severity_notice,  /* _MESSAGE */
		[6] = EBT_V_log_severity_info,	  /* _INFO */
		[7] = EBT_V_log_severity_debug,	  /* _DEBUG */
	};

	for (uint32_t bit = 2; bit < sizeof(severities); bit++) {
		if (level & 1u << bit)
			return severities[bit];
	}
	return EBT_V_log_severity_none;
}

static struct ebt_error *add_log(struct sysprof_rows *rows, const struct sysprof_writer *writer,
				 const struct sysprof_frame *frame, uint64_t now)
{
	struct ebt_wire_log *row;
	struct sysprof_log log;

	if (!sysprof_frame_log(frame, &log)) {
		rows->counts[SYSPROF_BAD_FRAMES]++;
		return NULL;
	}
	row = ebt_record_begin(&rows->rec, EBT_T_log, now);
	row->cpu = (uint32_t)frame->cpu;
	row->task = writer->task;
	row->severity = severity_of(log.severity);
	row->origin = EBT_V_log_origin_sysprof;
	row->late = now - possible(rows, frame->time, now);
	put(rows, offsetof(struct ebt_wire_log, domain), log.domain);
	put(rows, offsetof(struct ebt_wire_log, message), log.message);
	return ebt_record_add(&rows->rec, rows->stream);
}

static struct ebt_error *define(struct sysprof_rows *rows, const struct sysprof_writer *writer,
				const struct sysprof_frame *frame)
{
	struct sysprof_counter counter;
	struct ebt_error *err = NULL;
	size_t n;

	if (!sysprof_frame_count(frame, &n)) {
		rows->counts[SYSPROF_BAD_FRAMES]++;
		return NULL;
	}
	for (size_t i = 0; i < n && !err; i++) {
		sysprof_frame_counter(frame, i, &counter);
		err = define_counter(rows->counters, writer->pid, &counter);
		if (!err && writer->ring)
			err = define_counter(rows->counters, OF_RING(writer->ring), &counter);
	}
	return err;
}

static const struct counter_definition *find(const struct sysprof_rows *rows,
					     const struct sysprof_writer *writer, uint32_t id)
{
	const struct counter_definition *found = NULL;

	if (writer->ring)
		found = find_counter(rows->counters, OF_RING(writer->ring), id);
	return found ? found : find_counter(rows->counters, writer->pid, id);
}

static struct ebt_error *add_values(struct sysprof_rows *rows, const struct sysprof_writer *writer,
				    const struct sysprof_frame *frame, uint64_t now)
{
	uint64_t late = now - possible(rows, frame->time, now);
	struct ebt_error *err = NULL;
	struct sysprof_value value;
	size_t n;

	if (!sysprof_frame_count(frame, &n)) {
		rows->counts[SYSPROF_BAD_FRAMES]++;
		return NULL;
	}
	for (size_t i = 0; i < n && !err; i++) {
		const struct counter_definition *d;
		struct ebt_wire_mark_counter *row;

		sysprof_frame_value(frame, i, &value);
		if (!value.id)
			continue;
		d = find(rows, writer, value.id);
		if (!d) {
			rows->counts[SYSPROF_UNDEFINED]++;
			continue;
		}
		row = ebt_record_begin(&rows->rec, EBT_T_mark_counter, now);
		row->cpu = (uint32_t)frame->cpu;
		row->task = writer->task;
		row->type = d->is_double ? EBT_V_mark_counter_type_double
					 : EBT_V_mark_counter_type_integer;
		row->origin = EBT_V_mark_counter_origin_sysprof;
		row->late = late;
		row->value = value.bits;
		ebt_record_str(&rows->rec, offsetof(struct ebt_wire_mark_counter, group),
			       d->category);
		ebt_record_str(&rows->rec, offsetof(struct ebt_wire_mark_counter, name), d->name);
		ebt_record_str(&rows->rec, offsetof(struct ebt_wire_mark_counter, doc),
			       d->description);
		err = ebt_record_add(&rows->rec, rows->stream);
	}
	return err;
}

struct ebt_error *sysprof_rows_add(struct sysprof_rows *rows, const struct sysprof_writer *writer,
				   const struct sysprof_frame *frame, uint64_t now)
{
	switch (frame->type) {
	case SYSPROF_MARK:
		return add_mark(rows, writer, frame, now);
	case SYSPROF_LOG:
		return add_log(rows, writer, frame, now);
	case SYSPROF_COUNTER_SET:
		return add_values(rows, writer, frame, now);
	case SYSPROF_COUNTER_DEFINE:
		return define(rows, writer, frame);
	case SYSPROF_TIMESTAMP:
		return NULL;
	default:
		rows->counts[SYSPROF_OTHER_KINDS]++;
		return NULL;
	}
}

struct ebt_error *sysprof_rows_tell(struct sysprof_rows *rows)
{
	static const char *const details[SYSPROF_N_COUNTS] = {
		[SYSPROF_BAD_FRAMES] = "frames shorter than what they are to hold",
		[SYSPROF_UNDEFINED] = "values of counters that nobody defined",
		[SYSPROF_FULL] = "times that a ring was full: its thread may have lost some",
		[SYSPROF_BROKEN] = "rings with what is no frame, not read on",
		[SYSPROF_REFUSED] = "rings refused: too many are open",
		[SYSPROF_BAD_MESSAGES] = "messages at the socket that ask for nothing known",
		[SYSPROF_SKIPPED] = "places in the capture file with what is no frame",
	};
	uint64_t now = clocks_now();

	for (int i = 0; i < SYSPROF_N_COUNTS; i++) {
		const struct lost_row lost = {
			.from = rows->last,
			.count = rows->counts[i] - rows->told[i],
			.table_id = EBT_T_mark,
			.reason = i == SYSPROF_FULL ? EBT_V_lost_reason_ring_buffer_full
						    : EBT_V_lost_reason_other,
			.source = "sysprof",
			.detail = details[i],
		};
		struct ebt_error *err;

		if (!lost.detail || !lost.count)
			continue;
		rows->told[i] = rows->counts[i];
		err = add_lost(rows->stream, now, &lost);
		if (err)
			return err;
	}
	rows->last = now;
	return NULL;
}

struct ebt_error *sysprof_rows_end(struct sysprof_rows *rows)
{
	static const char *const keys[SYSPROF_N_COUNTS] = {
		[SYSPROF_OTHER_KINDS] = "sysprof.frames_not_kept",
		[SYSPROF_BAD_TIMES] = "sysprof.times_moved",
		[SYSPROF_STRANGERS] = "sysprof.writers_not_known",
	};
	struct ebt_error *err = sysprof_rows_tell(rows);

	for (int i = 0; i < SYSPROF_N_COUNTS && !err; i++) {
		if (keys[i] && rows->counts[i])
			err = add_meta_rows(rows->stream,
					    (const struct meta_row[]){
						    { keys[i], NULL, rows->counts[i] }, { NULL } });
	}
	return err;
}
