/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sources' parts in user space (struct source_worker), run by the session's thread. */
#ifndef RECORD_SESSION_WORKERS_H
#define RECORD_SESSION_WORKERS_H

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/config/source.h"
#include "record/session/capture.h"

struct workers;

/* Opens those of all sources that are on. A source may say then that it is there in part or not at
 * all. The capture must live longer. */
struct ebt_error *workers_create(struct capture *capture, struct workers **ret);
/* Accepts NULL. */
void workers_destroy(struct workers *workers);
DEFINE_CLEANUP(struct workers *, workers_destroy);

/* Readable when a worker has something to read: workers_run() with SOURCE_READY is due. */
int workers_fd(const struct workers *workers);

/* SOURCE_READY reaches those only that have something to read. */
struct ebt_error *workers_run(struct workers *workers, struct ebt_stream *stream,
			      enum source_moment moment);

/* A file is met first. *ret: one of them wants to be told of each mapping of it. */
struct ebt_error *workers_on_file(struct workers *workers, struct ebt_stream *stream,
				  const struct source_file *file, bool *ret);

#endif
