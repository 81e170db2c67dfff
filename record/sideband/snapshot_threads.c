/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that are there: what they are, and what they have used so far. */

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/procfs.h"
#include "record/sideband/snapshot_state.h"

/* For the memory of processes, 15 us each, at the end. */
#define MEMORY_NS 500000000u

static void fill_thread(struct ebt_wire_thread *row, const struct ebrec_task *task)
{
	row->task = task->tid;
	row->state = task->state | task->exit_state;
	row->cpu = task->cpu;
	row->on_cpu = task->on_cpu;
	row->run_time = task->used.run_time;
	row->prio = task->prio;
	row->nice = task->nice;
	row->policy = task->policy;
	row->rt_priority = task->rt_priority;
	row->nvcsw = task->used.nvcsw;
	row->nivcsw = task->used.nivcsw;
	row->minor = task->used.minor;
	row->major = task->used.major;
	row->read_bytes = task->used.read_bytes;
	row->write_bytes = task->used.write_bytes;
	row->rchar = task->used.rchar;
	row->wchar = task->used.wchar;
}

struct ebt_error *snapshot_threads(struct ebt_stream *stream, const struct ebrec_task *tasks,
				   size_t n, const struct ebrec_task *first, uint64_t time)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	const struct ebrec_used *ended = &first->ended;
	struct ebt_wire_ended_threads *row;

	for (size_t i = 0; i < n; i++) {
		struct ebt_error *err;

		fill_thread(ebt_record_begin(&rec, EBT_T_thread, time), &tasks[i]);
		err = ebt_record_add(&rec, stream);
		if (err)
			return err;
	}
	/* None that ran has ended without having been switched away from. */
	if (!ended->run_time && !ended->nvcsw && !ended->nivcsw)
		return NULL;
	row = ebt_record_begin(&rec, EBT_T_ended_threads, time);
	row->task = first->tid;
	row->run_time = ended->run_time;
	row->nvcsw = ended->nvcsw;
	row->nivcsw = ended->nivcsw;
	row->minor = ended->minor;
	row->major = ended->major;
	row->read_bytes = ended->read_bytes;
	row->write_bytes = ended->write_bytes;
	row->rchar = ended->rchar;
	row->wchar = ended->wchar;
	return ebt_record_add(&rec, stream);
}

/* The kernel's counters of it are for each CPU apart; /proc adds them up. */
static uint64_t max_rss(const struct ebrec_task *task)
{
	_cleanup_close_ int dir = -1;
	struct procfs_status status;

	if (task->tid != task->pid || task->kernel || task->exit_state)
		return 0;
	dir = procfs_open(task->pid);
	return dir >= 0 && procfs_status(dir, "status", &status) ? status.max_rss : 0;
}

struct ebt_error *snapshot_end(struct snapshot_state *state)
{
	struct sideband_context *context = state->context;
	_cleanup_(task_list_deinit) struct task_list list = { 0 };
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	const uint64_t time = clocks_now();
	struct ebt_error *err = task_lister_read(&state->lister, &list);

	for (size_t i = 0; i < list.n && !err; i++) {
		struct ebt_wire_thread *row;

		if (!context->wanted(context->arg, list.tasks[i].pid))
			continue;
		row = ebt_record_begin(&rec, EBT_T_thread, time);
		fill_thread(row, &list.tasks[i]);
		if (clocks_now() - time < MEMORY_NS)
			row->max_rss = max_rss(&list.tasks[i]);
		err = ebt_record_add(&rec, context->stream);
	}
	return err;
}
