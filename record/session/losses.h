/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was lost, as rows of `lost`: the growth of each counter over a span of time. */
#ifndef RECORD_SESSION_LOSSES_H
#define RECORD_SESSION_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/session/capture.h"
#include "record/session/consumer.h"

/* Neither is owned. */
struct losses {
	const struct capture *capture;
	const struct consumer *consumer;
	uint64_t last; /* when the counters were read: nothing was lost before the first time */
	struct capture_drop *drops;
	size_t n_drops;
	uint64_t malformed, left, missed;
};

/* Accepts one that is all zero. */
void losses_deinit(struct losses *losses);

/* Adds a row for each counter that has grown since the last call. */
struct ebt_error *losses_emit(struct losses *losses, struct ebt_stream *stream, uint64_t now);

#endif
