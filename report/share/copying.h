/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands share that write a trace made from others. */
#ifndef REPORT_SHARE_COPYING_H
#define REPORT_SHARE_COPYING_H

#include "format/read/reader.h"
#include "format/write/writer.h"
#include "report/cli/command.h"

struct ebt_copy_options;

/* Fills in where the copy goes. */
struct ebt_error *copying_open(struct report *report, struct ebt_copy_options *options);
/* Copies the report's trace to its output. The destination of `options` is filled in here. */
struct ebt_error *copying_run(struct report *report, struct ebt_copy_options *options);

/* Adds a row of table `meta`. */
struct ebt_error *copying_meta(struct report *report, struct ebt_stream *stream, const char *key,
			       const char *value);

/* The same, with a time: behind all rows of `meta` in the original, or in all originals. */
struct ebt_error *copying_meta_at(struct ebt_stream *stream, uint64_t time, const char *key,
				  const char *value);
uint64_t copying_meta_ns(const struct ebt_reader *original);

/* Writes into the copy what was missing in an original: a copy is a complete file without gaps,
 * which does not show that. Call it after the last chunk was read. */
struct ebt_error *copying_note_damage(struct ebt_reader *reader, struct ebt_stream *stream);

/* The earliest moment that the row tells of; or before it, where it has several durations. */
uint64_t copying_begin(const struct ebt_row *row);

#endif
