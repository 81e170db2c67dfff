/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that a format has met, with numbers from 0 on: keys of a spool, indices of tables. */
#ifndef REPORT_EXPORT_THREADS_H
#define REPORT_EXPORT_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"
#include "format/read/rows.h"

/* All zero: none. */
struct export_threads {
	const struct ebt_task **list; /* NULL: idle */
	size_t n, capacity;
	struct ebt_map by_task;
};

void export_threads_deinit(struct export_threads *threads);

/* The number of a thread, which it gets here where it has none yet. There are 2^24 at the most:
 * more are an error. task NULL: idle. */
struct ebt_error *export_thread(struct export_threads *threads, const struct ebt_task *task,
				uint32_t *ret);

#endif
