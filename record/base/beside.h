/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work that goes on beside the main thread's, and ends by itself. */
#ifndef RECORD_BASE_BESIDE_H
#define RECORD_BASE_BESIDE_H

#include <pthread.h>
#include <stdbool.h>

#include "format/base/error.h"

/* Zeroed memory is one that has not begun. */
struct beside {
	pthread_t thread;
	bool started;
	struct ebt_error *(*work)(void *arg);
	void *arg;
	struct ebt_error *err;
};

/* Begins it; where no thread can be made it is done at once. */
void beside_start(struct beside *ret, struct ebt_error *(*work)(void *arg), void *arg);
/* Waits for it; what it ended with is returned once. */
struct ebt_error *beside_join(struct beside *beside);

/* From now on this thread gets a CPU before others, which it needs little of and soon. Without the
 * privilege it stays as it is. Returns how nice it was, for thread_as_before(). */
int thread_before_others(void);
void thread_as_before(int nice);

#endif
