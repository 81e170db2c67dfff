/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing a trace as the output of a command; see copying.h. */
#include "report/share/copying.h"

#include <inttypes.h>
#include <stddef.h>

#include "format/edit/copy.h"
#include "format/encoding/layout.h"
#include "report/base/text.h"
#include "report/out/out.h"
#include "report/trace/trace.h"

struct ebt_error *copying_open(struct report *report, struct ebt_copy_options *options)
{
	const char *output = report->options->output;

	options->name = output ? output : "standard output";
	return out_copy_fd(report->out, &options->fd);
}

struct ebt_error *copying_run(struct report *report, struct ebt_copy_options *options)
{
	return copying_open(report, options) ?: ebt_copy(trace_reader(report->trace), options);
}

/* Of several rows with one key the last counts. A part of a part ends before that one did. */
uint64_t copying_meta_ns(const struct ebt_reader *original)
{
	uint64_t last = ebt_reader_info(original)->end_ns;
	const struct ebt_chunk_info *chunks;
	size_t n;

	chunks = ebt_reader_chunks(original, &n);
	for (size_t i = 0; i < n; i++) {
		if (chunks[i].type == EBT_CHUNK_TABLE && chunks[i].table == EBT_T_meta &&
		    chunks[i].time_max >= last && chunks[i].time_max < UINT64_MAX)
			last = chunks[i].time_max + 1;
	}
	return last;
}

struct ebt_error *copying_meta_at(struct ebt_stream *stream, uint64_t time, const char *key,
				  const char *value)
{
	struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_error *err;

	ebt_record_begin(&rec, EBT_T_meta, time);
	ebt_record_str(&rec, offsetof(struct ebt_wire_meta, key), key);
	ebt_record_str(&rec, offsetof(struct ebt_wire_meta, value), value);
	err = ebt_record_add(&rec, stream);
	ebt_record_deinit(&rec);
	return err;
}

struct ebt_error *copying_meta(struct report *report, struct ebt_stream *stream, const char *key,
			       const char *value)
{
	return copying_meta_at(stream, copying_meta_ns(trace_reader(report->trace)), key, value);
}

struct ebt_error *copying_note_damage(struct ebt_reader *reader, struct ebt_stream *stream)
{
	_cleanup_text_ struct text note = TEXT_INIT;
	const struct ebt_damage *damage;
	struct ebt_error *err;
	uint64_t total, bytes = 0;
	size_t n;

	if (!ebt_reader_info(reader)->complete)
		text_cstr(&note, "had no end");
	damage = ebt_reader_damage(reader, &n, &total);
	for (size_t i = 0; i < n; i++)
		bytes += damage[i].length;
	if (n)
		text_printf(&note,
			    "%swas damaged: %" PRIu64 " part%s (%" PRIu64
			    " bytes) could not be read",
			    note.len ? " and " : "", total, text_plural(total, "", "s"), bytes);
	err = text_error(&note);
	return err || !note.len ? err
				: copying_meta_at(stream, copying_meta_ns(reader), "copy.damage",
						  text_get(&note));
}

uint64_t copying_begin(const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	uint64_t begin = row->time;

	for (uint32_t f = 0; f < table->n_fields; f++) {
		uint64_t duration;

		if (table->fields[f].type != EBT_TYPE_DURATION)
			continue;
		duration = ebt_u64(row, f);
		begin = begin > duration ? begin - duration : 0;
	}
	return begin;
}
