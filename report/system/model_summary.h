/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording in a few figures: CPU time of each process and time off CPU of each thread, from one
 * pass over the switches.
 */
#ifndef REPORT_SYSTEM_MODEL_SUMMARY_H
#define REPORT_SYSTEM_MODEL_SUMMARY_H

#include "report/sched/model_offcpu.h"
#include "report/group/tasks.h"
#include "report/trace/trace.h"

struct summary_process {
	const struct ebt_task *task; /* its first thread, where that is known; NULL: not known */
	uint64_t run_ns;
	uint64_t threads; /* that were on a CPU */
	uint64_t end_ns;  /* of its first thread; 0: it did not end */
};

struct summary {
	uint64_t from_ns, to_ns; /* the part of the window in which switches are known */
	bool known;		 /* see sched_is_known(); else times are not */
	uint64_t run_ns;	 /* of all processes */
	uint64_t off_ns, off_count, off_min_ns, off_max_ns;
	struct group_tasks groups;	   /* processes */
	struct summary_process *processes; /* as many */
	struct offcpu *offcpu;
	bool *ran; /* by task id */
	size_t ran_capacity, processes_capacity;
};

/* Reads the rows that pass the filters. */
struct ebt_error *summary_read(struct trace *trace, struct summary *ret);
void summary_deinit(struct summary *summary);
#define _cleanup_summary_ __attribute__((cleanup(summary_deinit)))

/* Processes that ran. */
size_t summary_n_processes(const struct summary *summary);

#endif
