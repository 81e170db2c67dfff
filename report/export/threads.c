/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads by number, and numbers in use; see threads.h. */
#include "report/export/threads.h"

#include <stdlib.h>

#include "format/base/array.h"

#define MOST_THREADS (1u << 24)

void export_threads_deinit(struct export_threads *threads)
{
	free(threads->list);
	ebt_map_deinit(&threads->by_task);
}

struct ebt_error *export_thread(struct export_threads *threads, const struct ebt_task *task,
				uint32_t *ret)
{
	const uint64_t key = task ? task->id + UINT64_C(1) : 0;
	struct ebt_error *err =
		ebt_array_reserve(&threads->list, threads->n, &threads->capacity)
			?: ebt_map_add(&threads->by_task, key, (uint32_t)threads->n, ret);

	if (err || *ret < threads->n)
		return err;
	if (threads->n == MOST_THREADS)
		return ebt_error_create(EBT_ERR_LIMIT, "there are too many threads: use a filter");
	threads->list[threads->n++] = task;
	return NULL;
}

struct ebt_error *export_number(struct export_numbers *numbers, uint32_t scope, uint32_t wanted,
				uint32_t *ret)
{
	const uint32_t turn = numbers->n_taken;
	uint32_t holder = EBT_MAP_NONE;
	struct ebt_error *err = NULL;

	if (wanted < EXPORT_OWN_NUMBERS)
		err = ebt_map_add(&numbers->taken, (uint64_t)scope << 32 | wanted, turn, &holder);
	if (err)
		return err;
	numbers->n_taken += holder == turn;
	*ret = holder == turn ? wanted : EXPORT_OWN_NUMBERS + numbers->n_own++;
	return NULL;
}
