/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of the kernel and of the consumer to rows of `lost`; see losses.h. */
#include "record/session/losses.h"

#include <stdlib.h>

#include "format/schema/wire.h"
#include "record/base/rows.h"

void losses_deinit(struct losses *l)
{
	free(l->drops);
}

static struct ebt_error *emit(const struct losses *l, struct ebt_stream *stream, uint64_t now,
			      struct capture_drop drop, const char *detail)
{
	const struct lost_row lost = { l->last,	  drop.count,  drop.table, drop.reason,
				       drop.ring, drop.source, detail };

	return drop.count ? add_lost(stream, now, &lost) : NULL;
}

/* How far the counter was when it was last read. */
static uint64_t last_count(const struct losses *l, const struct capture_drop *drop)
{
	for (size_t i = 0; i < l->n_drops; i++) {
		const struct capture_drop *last = &l->drops[i];

		if (last->table == drop->table && last->ring == drop->ring &&
		    last->reason == drop->reason)
			return last->count;
	}
	return 0;
}

/* What is counted for the recording as a whole. */
static struct ebt_error *emit_counts(struct losses *l, struct ebt_stream *stream, uint64_t now,
				     const struct consumer_counts *counts)
{
	const struct {
		uint64_t count, *last;
		uint32_t reason;
		const char *detail;
	} rows[] = {
		{ counts->malformed, &l->malformed, EBT_V_lost_reason_record_malformed,
		  "records that the writer did not take" },
		{ counts->left, &l->left, EBT_V_lost_reason_still_in_a_buffer_at_the_end,
		  "bytes of records" },
		{ capture_missed_runs(l->capture), &l->missed,
		  EBT_V_lost_reason_program_interrupted_itself, "runs of BPF programs" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct capture_drop drop = { .reason = rows[i].reason,
					     .count = rows[i].count - *rows[i].last,
					     .source = "" };
		struct ebt_error *err = emit(l, stream, now, drop, rows[i].detail);

		if (err)
			return err;
		*rows[i].last = rows[i].count;
	}
	return NULL;
}

struct ebt_error *losses_emit(struct losses *l, struct ebt_stream *stream, uint64_t now)
{
	struct capture_drop *drops;
	struct consumer_counts counts;
	struct ebt_error *err;
	size_t n;

	err = capture_drops(l->capture, &drops, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n && !err; i++) {
		struct capture_drop drop = drops[i];

		drop.count -= last_count(l, &drop);
		err = emit(l, stream, now, drop, "");
	}
	free(l->drops);
	l->drops = drops;
	l->n_drops = n;
	if (err)
		return err;
	consumer_counts(l->consumer, &counts);
	err = emit_counts(l, stream, now, &counts);
	l->last = now;
	return err;
}
