/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the tids of rows to tasks: what a writer asks its owner. */
#ifndef FORMAT_WRITE_TASK_ID_H
#define FORMAT_WRITE_TASK_ID_H

#include <stdint.h>

/* Who a tid was. A task is one incarnation of a tid: (tid, start_ns) is unique in a trace. */
struct ebt_task_id {
	uint32_t tid, pid;
	uint64_t start_ns; /* task_struct.start_time, CLOCK_MONOTONIC; 0: not known */
	char comm[32];	   /* NUL-terminated; empty: not known */
};

/*
 * Called, when a chunk is sealed, for each distinct task of it: who had this tid at this time?
 * Never called for tid 0. Must fill *ret (tid always). Called by whichever thread seals.
 */
typedef void ebt_resolve_task_fn(void *arg, uint32_t tid, uint64_t time_ns,
				 struct ebt_task_id *ret);

#endif
