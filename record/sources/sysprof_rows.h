/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of Sysprof's protocol as rows of tables mark, mark_counter and log. */
#ifndef RECORD_SOURCES_SYSPROF_ROWS_H
#define RECORD_SOURCES_SYSPROF_ROWS_H

#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/sources/sysprof_frames.h"

/* What was seen and has no row, or not the row that it should have. */
enum sysprof_count {
	SYSPROF_OTHER_KINDS,
	SYSPROF_BAD_FRAMES,
	SYSPROF_BAD_TIMES,
	SYSPROF_UNDEFINED,
	SYSPROF_FULL,
	SYSPROF_BROKEN,
	SYSPROF_REFUSED,
	SYSPROF_BAD_MESSAGES,
	SYSPROF_SKIPPED,
	SYSPROF_STRANGERS,
	SYSPROF_N_COUNTS,
};

struct sysprof_counters;

struct sysprof_rows {
	struct ebt_stream *stream; /* where they go to; of the caller */
	uint64_t begin;		   /* of the recording: no program's time is before it */
	struct sysprof_counters *counters;
	struct ebt_record rec;
	uint64_t counts[SYSPROF_N_COUNTS], told[SYSPROF_N_COUNTS];
	uint64_t last; /* when they were told */
};

/* Who wrote a frame. */
struct sysprof_writer {
	uint64_t ring; /* its number from 1; 0: it is of a file */
	uint32_t pid, task;
};

struct ebt_error *sysprof_rows_init(uint64_t begin, struct sysprof_rows *ret);
/* Accepts zeroed rows. */
void sysprof_rows_deinit(struct sysprof_rows *rows);

/* now: a moment after the frame was read. */
struct ebt_error *sysprof_rows_add(struct sysprof_rows *rows, const struct sysprof_writer *writer,
				   const struct sysprof_frame *frame, uint64_t now);

/* Rows of `lost` for what has been counted since the last time. */
struct ebt_error *sysprof_rows_tell(struct sysprof_rows *rows);

/* The last of them, and meta: sysprof.*, for what is not lost rows. */
struct ebt_error *sysprof_rows_end(struct sysprof_rows *rows);

#endif
