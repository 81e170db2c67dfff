/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recording's description of itself: rows of `meta` and `source`. */
#ifndef RECORD_SESSION_DESCRIBE_H
#define RECORD_SESSION_DESCRIBE_H

#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/base/kernel.h"
#include "record/config/options.h"
#include "record/session/capture.h"
#include "record/session/deferred.h"

/* meta: ebrec.*, target.*, options.*, sample.*. */
struct ebt_error *describe_options(struct ebt_stream *stream, const struct record_options *options,
				   const struct kernel *kernel, const char *command_line);

/* A row of `source` for each source, also those that are off. */
struct ebt_error *describe_sources(struct ebt_stream *stream, const struct capture *capture);

/* meta: stacks.*: unwind tables, and what became of stacks that were not walked whole at once.
 * deferred may be NULL. */
struct ebt_error *describe_stacks(struct ebt_stream *stream, const struct capture *capture,
				  struct deferred *deferred);

/* meta: recorder.*: what its threads have used until now. */
struct ebt_error *describe_recorder(struct ebt_stream *stream);

/* meta: end.*. exit_status -1: none. */
struct ebt_error *describe_end(struct ebt_stream *stream, const char *reason, int exit_status);

#endif
