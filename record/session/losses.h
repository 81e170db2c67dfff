/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was lost, as rows of `lost`: the growth of each counter over a span of time. */
#ifndef RECORD_SESSION_LOSSES_H
#define RECORD_SESSION_LOSSES_H

#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/session/capture.h"
#include "record/session/consumer.h"

struct losses;

/* now: nothing was lost before. */
struct ebt_error *losses_create(const struct capture *capture, const struct consumer *consumer,
				uint64_t now, struct losses **ret);
/* Accepts NULL. */
void losses_destroy(struct losses *losses);
DEFINE_CLEANUP(struct losses *, losses_destroy);

/* Adds a row for each counter that has grown since the last call. */
struct ebt_error *losses_emit(struct losses *losses, struct ebt_stream *stream, uint64_t now);

#endif
