/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that a format has met, with numbers from 0 on: keys of a spool, indices of tables; and
 * numbers for readers that know processes and threads by theirs. */
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

/* --- numbers that are in use --- */

/* Beyond the kernel's: numbers in the place of those that were used again, and of what is neither a
 * process nor a thread. Readers take 31 bits. */
#define EXPORT_OWN_NUMBERS UINT32_C(0x40000000)

/* All zero: none. */
struct export_numbers {
	struct ebt_map taken;
	uint32_t n_taken, n_own;
};

static inline void export_numbers_deinit(struct export_numbers *numbers)
{
	ebt_map_deinit(&numbers->taken);
}

/* The number that is wanted, or, where it is in use or not below EXPORT_OWN_NUMBERS, one of our
 * own. Numbers of different scopes may be the same. */
struct ebt_error *export_number(struct export_numbers *numbers, uint32_t scope, uint32_t wanted,
				uint32_t *ret);

#endif
