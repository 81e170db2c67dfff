/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces written row by row; see small_trace.h. */
#include "tests/tools/small_trace.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/tools/make_trace.h"

static void resolve_task(void *arg, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret)
{
	const struct small_trace *t = arg;

	(void)time_ns;
	*ret = (struct ebt_task_id){ .tid = tid, .pid = tid - tid % 10, .start_ns = 1 };
	if (tid < 100 && t->comms[tid])
		snprintf(ret->comm, sizeof(ret->comm), "%s", t->comms[tid]);
	else
		snprintf(ret->comm, sizeof(ret->comm), "t%u", tid);
}

void small_begin(struct small_trace *t)
{
	struct ebt_writer_options options = { .resolve_task = resolve_task, .resolve_arg = t };

	t->path = make_temporary_path("t.ebt");
	t->fd = open(t->path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	assert_true(t->fd >= 0);
	options.fd = t->fd;
	options.name = t->path;
	assert_no_error(ebt_writer_create(&options, &t->writer));
	assert_no_error(ebt_writer_add_stream(t->writer, &t->stream));
}

struct ebt_reader *small_open(struct small_trace *t)
{
	struct ebt_reader *reader;

	small_flush(t);
	assert_no_error(ebt_writer_finish(t->writer));
	assert_no_error(ebt_reader_open(t->path, &reader));
	return reader;
}

void small_end(struct small_trace *t)
{
	ebt_writer_destroy(t->writer);
	ebt_record_deinit(&t->rec);
	close(t->fd);
	free_temporary_path(t->path);
	memset(t, 0, sizeof(*t));
}

void small_flush(struct small_trace *t)
{
	assert_no_error(ebt_stream_flush(t->stream, UINT64_MAX, true));
}

static void *begin(struct small_trace *t, enum ebt_table_id table, uint64_t time)
{
	return ebt_record_begin(&t->rec, table, SMALL_START + time);
}

static void add(struct small_trace *t)
{
	assert_no_error(ebt_record_add(&t->rec, t->stream));
}

static void add_stack(struct small_trace *t, size_t ref, uint32_t attrs, struct small_stack stack)
{
	if (stack.n)
		ebt_record_stack(&t->rec, ref, attrs, stack.addresses, stack.n);
}

void small_switch(struct small_trace *t, uint64_t time, uint32_t cpu, uint32_t prev, uint32_t next,
		  uint32_t prev_state, uint32_t preempt)
{
	struct ebt_wire_sched_switch *row = begin(t, EBT_T_sched_switch, time);

	row->cpu = cpu;
	row->prev = prev;
	row->next = next;
	row->prev_state = prev_state;
	row->preempt = preempt;
	add(t);
}

void small_switch_at(struct small_trace *t, uint64_t time, uint32_t prev, uint32_t next,
		     uint32_t prev_state, struct small_stack kernel, struct small_stack user)
{
	struct ebt_wire_sched_switch *row = begin(t, EBT_T_sched_switch, time);

	row->prev = prev;
	row->next = next;
	row->prev_state = prev_state;
	add_stack(t, offsetof(struct ebt_wire_sched_switch, kstack), 0, kernel);
	add_stack(t, offsetof(struct ebt_wire_sched_switch, ustack), EBT_STACK_USER, user);
	add(t);
}

void small_waking(struct small_trace *t, uint64_t time, uint32_t waker, uint32_t wakee)
{
	struct ebt_wire_sched_waking *row = begin(t, EBT_T_sched_waking, time);

	row->waker = waker;
	row->wakee = wakee;
	add(t);
}

void small_migrate(struct small_trace *t, uint64_t time, uint32_t tid, uint32_t from, uint32_t to)
{
	struct ebt_wire_sched_migrate *row = begin(t, EBT_T_sched_migrate, time);

	row->task = tid;
	row->orig_cpu = from;
	row->dest_cpu = to;
	add(t);
}

void small_fork(struct small_trace *t, uint64_t time, uint32_t parent, uint32_t child)
{
	struct ebt_wire_task_fork *row = begin(t, EBT_T_task_fork, time);

	row->parent = parent;
	row->child = child;
	row->child_pid = child - child % 10;
	row->child_start = 1;
	add(t);
}

void small_exit(struct small_trace *t, uint64_t time, uint32_t tid)
{
	struct ebt_wire_task_exit *row = begin(t, EBT_T_task_exit, time);

	row->task = tid;
	row->run_time = 1000 + time;
	add(t);
}

void small_exec(struct small_trace *t, uint64_t time, uint32_t cpu, uint32_t tid, uint32_t old_tid)
{
	struct ebt_wire_task_exec *row = begin(t, EBT_T_task_exec, time);

	row->cpu = cpu;
	row->task = tid;
	row->pid = tid;
	row->old_tid = old_tid;
	add(t);
}

void small_thread(struct small_trace *t, uint64_t time, uint32_t tid, uint32_t state, uint32_t cpu,
		  uint32_t on_cpu)
{
	struct ebt_wire_thread *row = begin(t, EBT_T_thread, time);

	row->task = tid;
	row->state = state;
	row->cpu = cpu;
	row->on_cpu = on_cpu;
	row->run_time = 1000;
	add(t);
}

void small_process(struct small_trace *t, uint64_t time, uint32_t tid)
{
	struct ebt_wire_process *row = begin(t, EBT_T_process, time);

	row->task = tid;
	add(t);
}

void small_lost(struct small_trace *t, uint64_t from, uint64_t to, uint32_t table, uint64_t count)
{
	struct ebt_wire_lost *row = begin(t, EBT_T_lost, to);

	row->from = SMALL_START + from;
	row->table_id = table;
	row->count = count;
	add(t);
}

void small_sample(struct small_trace *t, uint64_t time, uint32_t tid, uint64_t period,
		  struct small_stack kernel, struct small_stack user)
{
	struct ebt_wire_sample *row = begin(t, EBT_T_sample, time);

	row->task = tid;
	row->period = period;
	add_stack(t, offsetof(struct ebt_wire_sample, kstack), 0, kernel);
	add_stack(t, offsetof(struct ebt_wire_sample, ustack), EBT_STACK_USER, user);
	add(t);
}

void small_offcpu_stack(struct small_trace *t, uint64_t time, uint32_t tid, uint64_t duration,
			struct small_stack kernel)
{
	struct ebt_wire_offcpu_stack *row = begin(t, EBT_T_offcpu_stack, time);

	row->task = tid;
	row->duration = duration;
	add_stack(t, offsetof(struct ebt_wire_offcpu_stack, kstack), 0, kernel);
	add(t);
}

void small_meta(struct small_trace *t, const char *key, const char *value)
{
	begin(t, EBT_T_meta, 0);
	ebt_record_str(&t->rec, offsetof(struct ebt_wire_meta, key), key);
	ebt_record_str(&t->rec, offsetof(struct ebt_wire_meta, value), value);
	add(t);
}
