/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scheduler rows to intervals; see model_sched.h. */
#include "report/sched/model_sched.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/sched/model_sched_impl.h"

/* CPU numbers above this are no CPUs: the kernel's own limit is 8192. */
#define MAX_CPUS 65536u

/* Bits of task_struct.__state, the same in all kernels from 4.14 on. */
enum {
	STATE_INTERRUPTIBLE = 0x1,
	STATE_UNINTERRUPTIBLE = 0x2,
	STATE_STOPPED = 0x4,
	STATE_TRACED = 0x8,
	STATE_EXIT_DEAD = 0x10,
	STATE_EXIT_ZOMBIE = 0x20,
	STATE_PARKED = 0x40,
	STATE_DEAD = 0x80,
	STATE_NOLOAD = 0x400,
	STATE_NEW = 0x800,
	STATE_RTLOCK_WAIT = 0x1000,
	STATE_FROZEN = 0x8000,
};

const char *sched_why_name(enum sched_why why)
{
	static const char *const names[SCHED_N_WHYS] = {
		[SCHED_RUNNABLE] = "runnable", [SCHED_SLEEP] = "sleep",	    [SCHED_DISK] = "disk",
		[SCHED_IDLE] = "idle",	       [SCHED_STOPPED] = "stopped", [SCHED_NEW] = "new",
		[SCHED_DEAD] = "dead",	       [SCHED_UNKNOWN] = "unknown",
	};

	return names[why];
}

enum sched_why sched_why(uint64_t prev_state, bool preempt)
{
	if (preempt || prev_state == 0)
		return SCHED_RUNNABLE;
	if (prev_state & (STATE_DEAD | STATE_EXIT_DEAD | STATE_EXIT_ZOMBIE))
		return SCHED_DEAD;
	if (prev_state & (STATE_STOPPED | STATE_TRACED | STATE_PARKED | STATE_FROZEN))
		return SCHED_STOPPED;
	if (prev_state & STATE_NEW)
		return SCHED_NEW;
	if (prev_state & (STATE_UNINTERRUPTIBLE | STATE_RTLOCK_WAIT))
		return prev_state & STATE_NOLOAD ? SCHED_IDLE : SCHED_DISK;
	if (prev_state & STATE_INTERRUPTIBLE)
		return SCHED_SLEEP;
	return SCHED_UNKNOWN;
}

size_t sched_model_wants(bool stacks, struct ebt_want ret[SCHED_MODEL_MAX_WANTS])
{
	uint64_t columns = EBT_COLS(sched_switch, cpu, prev, next, prev_state, preempt, prev_run);

	if (stacks)
		columns |= EBT_COLS(sched_switch, kstack, ustack);
	ret[0] = (struct ebt_want){ EBT_T_sched_switch, columns };
	ret[1] = (struct ebt_want)EBT_WANT(sched_waking, waker, wakee, kind, call);
	ret[2] = (struct ebt_want)EBT_WANT(task_fork, child);
	ret[3] = (struct ebt_want)EBT_WANT(task_exec, cpu, task, old_tid);
	ret[4] = (struct ebt_want)EBT_WANT(task_exit, task, run_time);
	ret[5] = (struct ebt_want)EBT_WANT(thread, task, state, cpu, on_cpu, run_time);
	return 6;
}

struct ebt_error *sched_model_create(struct ebt_reader *reader, const struct sched_options *options,
				     struct sched_model **ret)
{
	struct sched_model *model = calloc(1, sizeof(*model));
	size_t n;
	struct ebt_error *err;

	if (!model)
		return &ebt_enomem;
	model->reader = reader;
	model->options = *options;
	model->cut.handler = options->handler;
	model->cut.arg = options->arg;
	model->last_batch = UINT64_MAX;
	err = losses_load(reader, EBT_T_sched_switch, &model->cut.losses);
	if (err) {
		free(model);
		return err;
	}
	ebt_reader_damage(reader, &n, &model->damage);
	*ret = model;
	return NULL;
}

void sched_model_destroy(struct sched_model *model)
{
	if (!model)
		return;
	losses_deinit(&model->cut.losses);
	free(model->tasks);
	free(model->cpus);
	free(model);
}

/* --- state --- */

static struct ebt_error *grow_tasks(struct sched_model *model, uint32_t id)
{
	uint32_t n = ebt_reader_n_tasks(model->reader);

	return ebt_array_reserve_zeroed(&model->tasks, n > id ? n - 1 : id, &model->n_tasks);
}

struct ebt_error *sched_state(struct sched_model *model, const struct ebt_task *task,
			      struct sched_task_state **ret)
{
	struct sched_task_state *s;

	if (task->id >= model->n_tasks) {
		struct ebt_error *err = grow_tasks(model, task->id);

		if (err)
			return err;
	}
	s = &model->tasks[task->id];
	if (!s->task && model->options.followed &&
	    !model->options.followed(model->options.arg, task))
		s->kind = KIND_STRANGER;
	s->task = task;
	*ret = s;
	return NULL;
}

/* *ret is NULL for what is no CPU, and valid until the next call. */
static struct ebt_error *cpu_state(struct sched_model *model, uint64_t cpu, struct cpu_state **ret)
{
	size_t n = model->n_cpus;
	struct ebt_error *err;

	if (cpu >= MAX_CPUS) {
		*ret = NULL;
		return NULL;
	}
	err = ebt_array_reserve(&model->cpus, cpu, &model->n_cpus);
	if (err)
		return err;
	for (; n < model->n_cpus; n++)
		model->cpus[n] = (struct cpu_state){ .current = NO_TASK };
	*ret = &model->cpus[cpu];
	return NULL;
}

uint64_t sched_visible_from(const struct sched_model *model, const struct ebt_task *task)
{
	uint64_t from = model->options.from_ns;

	return task->start_ns > from ? task->start_ns : from;
}

struct ebt_error *sched_give_run(struct sched_model *model, struct sched_run *run)
{
	if (run->end < model->window_ns)
		return NULL;
	model->runs++;
	run->whole_start = run->start;
	if (!run->whole_end)
		run->whole_end = run->end;
	if (run->start < model->window_ns) {
		run->start = model->window_ns < run->end ? model->window_ns : run->end;
		if (!(run->flags & SCHED_OPEN_START))
			run->flags |= SCHED_OPEN_START | SCHED_CUT_START;
	}
	return sched_cut_run(&model->cut, run);
}

struct ebt_error *sched_give_off(struct sched_model *model, struct sched_off *off)
{
	if (off->end < model->window_ns)
		return NULL;
	off->whole_start = off->start;
	off->whole_runnable = off->runnable;
	if (off->start < model->window_ns) {
		off->start = model->window_ns < off->end ? model->window_ns : off->end;
		if (off->runnable && off->runnable < off->start)
			off->runnable = off->start;
		if (!(off->flags & SCHED_OPEN_START))
			off->flags |= SCHED_OPEN_START | SCHED_CUT_START;
	}
	return sched_cut_off(&model->cut, off);
}

/* --- what rows mean --- */

/* A task was thought to run on a CPU, and another row says that it does not: its end is missing. */
static struct ebt_error *lose_run(struct sched_model *model, uint32_t id, uint32_t cpu)
{
	struct sched_task_state *s = &model->tasks[id];
	struct sched_run run = {
		.task = s->task, .start = s->since, .end = s->exit, .cpu = s->cpu, .why = SCHED_DEAD
	};

	if (s->kind != KIND_RUNNING || s->cpu != cpu)
		return NULL;
	s->kind = KIND_GAP;
	s->runnable = 0;
	s->woken = false;
	if (s->exit) {
		s->kind = KIND_DEAD;
		model->cpus[cpu].seen = true;
		run.flags = s->open ? SCHED_OPEN_START : 0;
		return sched_give_run(model, &run);
	}
	/* What the state tables say of a moment may be overtaken by the first switch. */
	if (!s->open) {
		model->runs++;
		model->broken++;
	}
	return NULL;
}

uint64_t sched_charged(const struct sched_model *model, const struct ebt_row *row)
{
	uint64_t from = model->options.from_ns, charge = ebt_sched_switch_prev_run(row);
	uint64_t most = row->time > from ? row->time - from : 0;

	if (sched_why(ebt_sched_switch_prev_state(row), false) == SCHED_DEAD)
		return 0;
	return charge < most ? charge : most;
}

static struct ebt_error *stop(struct sched_model *model, const struct ebt_row *row,
			      const struct ebt_task *task, uint32_t cpu, bool cpu_seen)
{
	struct sched_run run = { .task = task,
				 .row = row,
				 .end = row->time,
				 .charge = sched_charged(model, row),
				 .cpu = cpu };
	uint64_t prev_state = ebt_sched_switch_prev_state(row);
	bool preempt = ebt_sched_switch_preempt(row);
	struct sched_task_state *s;
	struct ebt_error *err;

	err = sched_state(model, task, &s);
	if (err || s->kind == KIND_STRANGER)
		return err;
	run.voluntary = !preempt && prev_state != 0;
	run.why = sched_why(prev_state, preempt);
	if (s->kind == KIND_RUNNING && s->cpu == cpu) {
		run.start = s->since;
		run.flags = s->open ? SCHED_OPEN_START : 0;
	} else if (s->kind == KIND_UNSEEN && !cpu_seen) {
		run.start = sched_visible_from(model, task);
		run.flags = SCHED_OPEN_START;
	} else {
		model->broken++;
		run.start = row->time;
		run.flags = SCHED_OPEN_START;
	}
	if (run.start > run.end)
		run.start = run.end;

	/* A waking that came while it ran is kept: see task_state. */
	if (s->kind != KIND_RUNNING || run.why == SCHED_RUNNABLE)
		s->woken = false;
	s->kind = run.why == SCHED_DEAD ? KIND_DEAD : KIND_OFF;
	s->why = run.why;
	s->since = row->time;
	s->runnable = run.why == SCHED_RUNNABLE ? row->time : 0;
	s->open = false;
	s->ahead = AHEAD_UNKNOWN;
	return sched_give_run(model, &run);
}

bool sched_off_interval(const struct sched_model *model, const struct sched_task_state *s,
			uint64_t end, struct sched_off *ret)
{
	struct sched_off off = {
		.task = s->task,
		.start = s->since,
		.end = end,
		.runnable = s->runnable,
		.waker = s->woken && s->runnable ? s->waker : NULL,
		.woken = s->woken && s->runnable,
		.waking = s->waking,
		.call = s->call,
		.cpu = UINT32_MAX,
		.flags = s->open ? SCHED_OPEN_START : 0,
		.why = s->why,
	};

	switch ((enum kind)s->kind) {
	case KIND_OFF:
		break;
	case KIND_UNSEEN:
		off.start = sched_visible_from(model, s->task);
		off.flags = SCHED_OPEN_START;
		off.why = SCHED_UNKNOWN;
		break;
	case KIND_GAP:
		if (!s->woken)
			return false;
		off.start = s->runnable;
		off.flags = SCHED_OPEN_START;
		off.why = SCHED_UNKNOWN;
		break;
	case KIND_STRANGER:
	case KIND_RUNNING:
	case KIND_DEAD:
		return false;
	}
	if (off.start > off.end)
		off.start = off.end;
	if (off.runnable && off.runnable < off.start)
		off.runnable = off.start;
	*ret = off;
	return true;
}

static void run_since(struct sched_task_state *s, uint64_t time, uint32_t cpu)
{
	s->kind = KIND_RUNNING;
	s->since = time;
	s->cpu = cpu;
	s->exit = s->ahead_exit = 0;
	s->open = s->woken = false;
	s->ahead = AHEAD_UNKNOWN;
}

static struct ebt_error *start(struct sched_model *model, uint64_t time,
			       const struct ebt_task *task, uint32_t cpu)
{
	struct sched_off off;
	struct sched_task_state *s;
	struct ebt_error *err;
	bool known;

	err = sched_state(model, task, &s);
	if (err || s->kind == KIND_STRANGER)
		return err;
	if (s->kind == KIND_RUNNING) {
		struct cpu_state *before = &model->cpus[s->cpu];

		if (before->current == task->id)
			before->current = NO_TASK;
		err = lose_run(model, task->id, s->cpu);
		if (err)
			return err;
	}
	/* A sleep that ends without a waking was ended by the one just before it. */
	if (s->kind == KIND_OFF && s->woken && s->runnable == 0)
		s->runnable = s->since;
	known = sched_off_interval(model, s, time, &off);
	run_since(s, time, cpu);
	if (!known)
		return NULL;
	off.cpu = cpu;
	return sched_give_off(model, &off);
}

/* Chunks that turned out to be damaged are losses like others. */
static struct ebt_error *look_for_damage(struct sched_model *model, uint64_t batch)
{
	struct losses losses;
	struct ebt_error *err;
	uint64_t total;
	size_t n;

	model->last_batch = batch;
	ebt_reader_damage(model->reader, &n, &total);
	if (total == model->damage)
		return NULL;
	err = losses_load(model->reader, EBT_T_sched_switch, &losses);
	if (err)
		return err;
	losses_deinit(&model->cut.losses);
	model->cut.losses = losses;
	model->damage = total;
	return NULL;
}

static struct ebt_error *on_switch(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *prev = ebt_sched_switch_prev(row);
	const struct ebt_task *next = ebt_sched_switch_next(row);
	uint64_t cpu = ebt_sched_switch_cpu(row);
	struct cpu_state *c;
	struct ebt_error *err = NULL;
	bool seen;

	if (row->batch->id != model->last_batch)
		err = look_for_damage(model, row->batch->id);
	if (err)
		return err;
	err = cpu_state(model, cpu, &c);
	if (err || !c)
		return err;
	if (c->current != NO_TASK && (!prev || prev->id != c->current)) {
		err = lose_run(model, c->current, (uint32_t)cpu);
		if (err)
			return err;
	}
	seen = c->seen;
	c->seen = true;
	c->current = NO_TASK;
	if (prev)
		err = stop(model, row, prev, (uint32_t)cpu, seen);
	if (err || !next)
		return err;
	err = start(model, row->time, next, (uint32_t)cpu);
	if (!err && model->tasks[next->id].kind == KIND_RUNNING)
		c->current = next->id;
	return err;
}

static struct ebt_error *on_waking(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *wakee = ebt_sched_waking_wakee(row);
	const struct ebt_task *waker = ebt_sched_waking_waker(row);
	uint64_t kind = ebt_sched_waking_kind(row);
	struct sched_task_state *s;
	struct ebt_error *err;

	if (!wakee)
		return NULL;
	if (kind == EBT_V_sched_waking_kind_by_interrupt)
		waker = NULL;
	err = sched_state(model, wakee, &s);
	if (err)
		return err;
	switch ((enum kind)s->kind) {
	case KIND_STRANGER:
	case KIND_DEAD:
		return NULL;
	case KIND_RUNNING:
		if (waker == wakee)
			return NULL;
		break;
	case KIND_UNSEEN:
		if (kind == EBT_V_sched_waking_kind_new) {
			s->kind = KIND_OFF;
			s->why = SCHED_NEW;
			s->since = row->time;
		}
		break;
	case KIND_OFF:
	case KIND_GAP:
		break;
	}
	if (s->kind != KIND_RUNNING) {
		if (s->runnable)
			return NULL;
		s->runnable = row->time;
	}
	s->waker = waker;
	s->waking = (uint8_t)kind;
	s->call = (uint16_t)ebt_sched_waking_call(row);
	s->woken = true;
	return NULL;
}

static struct ebt_error *on_fork(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *child = ebt_task_fork_child(row);
	struct sched_task_state *s;
	struct ebt_error *err;

	if (!child)
		return NULL;
	err = sched_state(model, child, &s);
	if (err || s->kind != KIND_UNSEEN)
		return err;
	s->kind = KIND_OFF;
	s->why = SCHED_NEW;
	s->since = row->time;
	return NULL;
}

/* A thread that calls exec becomes the first thread of its process: its old incarnation is over
 * without an exit, and from now on its runs count for the new incarnation. */
static struct ebt_error *on_exec(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_task_exec_task(row);
	uint64_t cpu = ebt_task_exec_cpu(row);
	struct sched_task_state *s, *old;
	struct sched_run run;
	struct ebt_error *err;

	if (!task || ebt_task_exec_old_tid(row) == task->tid || cpu >= model->n_cpus ||
	    model->cpus[cpu].current == NO_TASK || model->cpus[cpu].current == task->id)
		return NULL;
	err = sched_state(model, task, &s);
	if (err || s->kind == KIND_STRANGER)
		return err;
	old = &model->tasks[model->cpus[cpu].current];
	if (old->kind != KIND_RUNNING || old->cpu != cpu ||
	    old->task->tid != ebt_task_exec_old_tid(row))
		return NULL;
	run = (struct sched_run){
		.task = old->task,
		.start = old->since,
		.end = row->time,
		.cpu = (uint32_t)cpu,
		.flags = old->open ? SCHED_OPEN_START : 0,
		.why = SCHED_DEAD,
	};
	old->kind = KIND_DEAD;
	run_since(s, row->time, (uint32_t)cpu);
	model->cpus[cpu].current = task->id;
	model->cpus[cpu].seen = true;
	return sched_give_run(model, &run);
}

static struct ebt_error *on_exit_row(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_task_exit_task(row);
	struct sched_task_state *s;
	struct ebt_error *err;

	if (!task)
		return NULL;
	err = sched_state(model, task, &s);
	if (!err && s->kind == KIND_RUNNING)
		s->exit = row->time;
	return err;
}

struct ebt_error *sched_thread(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_thread_task(row);
	uint64_t cpu = ebt_thread_cpu(row);
	struct sched_task_state *s;
	struct cpu_state *c;
	struct ebt_error *err;

	if (!task)
		return NULL;
	err = sched_state(model, task, &s);
	if (err || s->kind != KIND_UNSEEN)
		return err;
	err = cpu_state(model, cpu, &c);
	if (err)
		return err;
	if (ebt_thread_on_cpu(row)) {
		if (!c || c->seen || c->current != NO_TASK)
			return NULL;
		s->kind = KIND_RUNNING;
		s->cpu = (uint32_t)cpu;
		s->woken = false;
		c->current = task->id;
	} else {
		s->why = sched_why(ebt_thread_state(row), false);
		s->kind = s->why == SCHED_DEAD ? KIND_DEAD : KIND_OFF;
		if (s->why == SCHED_RUNNABLE)
			s->runnable = sched_visible_from(model, task);
	}
	s->since = sched_visible_from(model, task);
	s->open = true;
	return NULL;
}

struct ebt_error *sched_model_row(struct sched_model *model, const struct ebt_row *row)
{
	switch (row->batch->table->id) {
	case EBT_T_sched_switch:
		return on_switch(model, row);
	case EBT_T_sched_waking:
		return on_waking(model, row);
	case EBT_T_task_fork:
		return on_fork(model, row);
	case EBT_T_task_exec:
		return on_exec(model, row);
	case EBT_T_task_exit:
		return on_exit_row(model, row);
	case EBT_T_thread:
		return sched_thread(model, row);
	default:
		return NULL;
	}
}

struct sched_gaps sched_model_gaps(const struct sched_model *model)
{
	struct sched_gaps gaps = { .runs = model->runs,
				   .broken = model->broken,
				   .doubtful = model->cut.doubtful };

	for (size_t i = 0; i < model->cut.losses.n; i++) {
		const struct loss_span *span = &model->cut.losses.spans[i];
		uint64_t from = span->from, to = span->to;

		if (from < model->options.from_ns)
			from = model->options.from_ns;
		if (from < model->gaps_ns)
			from = model->gaps_ns;
		if (to > model->options.to_ns)
			to = model->options.to_ns;
		if (from < to)
			gaps.lost_ns += to - from;
	}
	return gaps;
}
