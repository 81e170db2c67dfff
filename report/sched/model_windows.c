/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where windows of a trace, and the trace itself, begin and end; see model_sched.h. */
#include "report/sched/model_sched_impl.h"

/* Where the run ends that goes on at the end of a window; UINT64_MAX: not known. A task that was
 * seen to exit runs on until the switch, or ends there if none is told. */
static uint64_t run_end(const struct sched_task_state *s)
{
	const uint64_t exit = s->exit ? s->exit : s->ahead_exit;

	switch ((enum ahead)s->ahead) {
	case AHEAD_STOPS:
		return s->ahead_end;
	case AHEAD_LOST: /* As in lose_run(). */
		return exit ? exit : s->since;
	case AHEAD_NOTHING:
		return exit ? exit : UINT64_MAX;
	case AHEAD_UNKNOWN:
	case AHEAD_WAITS:
		break;
	}
	return UINT64_MAX;
}

/* Only this window ends. */
static struct ebt_error *cut_run(struct sched_model *model, const struct sched_task_state *s)
{
	const uint64_t to = model->options.to_ns, end = run_end(s);
	struct sched_run run = {
		.task = s->task,
		.start = s->since,
		.end = end < to ? end : to,
		.whole_end = end,
		.charge = s->ahead == AHEAD_STOPS ? s->ahead_charge : 0,
		.cpu = s->cpu,
		.flags = s->open ? SCHED_OPEN_START : 0,
		.why = end < to ? SCHED_DEAD : SCHED_UNKNOWN,
	};

	if (end >= to)
		run.flags |= SCHED_OPEN_END | SCHED_CUT_END;
	if (run.start >= run.end || model->window_ns >= run.end)
		return NULL;
	return sched_give_run(model, &run);
}

static struct ebt_error *close_run(struct sched_model *model, const struct sched_task_state *s)
{
	struct sched_run run = {
		.task = s->task,
		.start = s->since,
		.end = s->exit ? s->exit : model->options.to_ns,
		.cpu = s->cpu,
		.flags = s->open ? SCHED_OPEN_START : 0,
		.why = s->exit ? SCHED_DEAD : SCHED_UNKNOWN,
	};

	if (!s->exit)
		run.flags |= SCHED_OPEN_END;
	if (run.start > run.end)
		run.start = run.end;
	return sched_give_run(model, &run);
}

static struct ebt_error *close_task(struct sched_model *model, struct sched_task_state *s, bool cut)
{
	struct sched_off off;

	if (s->kind == KIND_RUNNING)
		return cut ? cut_run(model, s) : close_run(model, s);
	if (cut && s->ahead == AHEAD_WAITS)
		s->runnable = s->since;
	/* Of a task that no row shows on or off a CPU nothing is known. */
	if (s->kind == KIND_UNSEEN && !s->woken)
		return NULL;
	if (!sched_off_interval(model, s, model->options.to_ns, &off))
		return NULL;
	off.flags |= cut ? SCHED_OPEN_END | SCHED_CUT_END : SCHED_OPEN_END;
	return sched_give_off(model, &off);
}

static struct ebt_error *close_tasks(struct sched_model *model, bool cut)
{
	for (uint32_t i = 0; i < model->n_tasks; i++) {
		struct ebt_error *err;

		if (!model->tasks[i].task)
			continue;
		err = close_task(model, &model->tasks[i], cut);
		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *sched_model_cut(struct sched_model *model)
{
	return close_tasks(model, true);
}

void sched_model_window(struct sched_model *model, uint64_t from_ns, uint64_t to_ns)
{
	model->window_ns = from_ns;
	model->options.to_ns = to_ns;
}

void sched_model_skip(struct sched_model *model)
{
	for (uint32_t i = 0; i < model->n_tasks; i++) {
		if (model->tasks[i].kind == KIND_RUNNING)
			model->tasks[i].woken = false;
	}
	for (size_t i = 0; i < model->n_cpus; i++)
		model->cpus[i].current = NO_TASK;
}

void sched_model_forget(struct sched_model *model, const bool *there, size_t n_there)
{
	for (uint32_t i = 0; i < model->n_tasks; i++) {
		struct sched_task_state *s = &model->tasks[i];
		struct cpu_state *c;

		if (!s->task || s->kind == KIND_STRANGER)
			continue;
		if (i >= n_there || !there[i])
			s->kind = KIND_DEAD;
		if (s->kind != KIND_RUNNING)
			continue;
		/* Of several, all but the latest will be seen to have stopped. */
		c = &model->cpus[s->cpu];
		if (c->current == NO_TASK || model->tasks[c->current].since < s->since)
			c->current = i;
	}
}

void sched_model_begin(struct sched_model *model)
{
	model->gaps_ns = model->window_ns;
	model->runs = model->broken = 0;
}

struct ebt_error *sched_model_each(const struct sched_model *model,
				   struct ebt_error *(*fn)(void *arg, const struct ebt_task *task,
							   uint64_t stopped),
				   void *arg)
{
	for (uint32_t i = 0; i < model->n_tasks; i++) {
		const struct sched_task_state *s = &model->tasks[i];
		struct ebt_error *err;

		if (!s->task || s->kind == KIND_UNSEEN || s->kind == KIND_STRANGER ||
		    s->kind == KIND_DEAD)
			continue;
		err = fn(arg, s->task, s->kind == KIND_OFF && !s->open ? s->since : 0);
		if (err)
			return err;
	}
	return NULL;
}

/* --- behind a window --- */

/* A waking that came before the task stopped counts unless another one follows. */
static bool is_unsettled(const struct sched_task_state *s)
{
	return s->task && s->ahead == AHEAD_UNKNOWN &&
	       (s->kind == KIND_RUNNING || (s->kind == KIND_OFF && s->woken && !s->runnable));
}

size_t sched_model_unsettled(struct sched_model *model)
{
	for (size_t i = 0; i < model->n_cpus; i++)
		model->cpus[i].ahead_seen = model->cpus[i].seen;
	model->unsettled = 0;
	for (uint32_t i = 0; i < model->n_tasks; i++)
		model->unsettled += is_unsettled(&model->tasks[i]);
	return model->unsettled;
}

void sched_model_ahead_wants(struct ebt_want ret[SCHED_MODEL_AHEAD_WANTS])
{
	ret[0] = (struct ebt_want)EBT_WANT(sched_switch, cpu, prev, next, prev_state, prev_run);
	ret[1] = (struct ebt_want)EBT_WANT(sched_waking, wakee, kind);
	ret[2] = (struct ebt_want)EBT_WANT(task_exit, task);
	ret[3] = (struct ebt_want)EBT_WANT(task_exec, cpu, task, old_tid);
	ret[4] = (struct ebt_want)EBT_WANT(thread, task, state, cpu, on_cpu);
}

/*
 * The first row of a task says what it has done since the trace begins: it runs until it stops, or
 * is off CPU until it is woken or runs. It is that from now on. (At a fork or its first waking it
 * has just come.)
 */
static struct ebt_error *ahead_of_unseen(struct sched_model *model, const struct ebt_task *task,
					 uint64_t cpu, bool stops)
{
	struct sched_task_state *s;
	struct ebt_error *err = task ? sched_state(model, task, &s) : NULL;

	if (err || !task || s->kind != KIND_UNSEEN || s->ahead != AHEAD_UNKNOWN)
		return err;
	s->ahead = AHEAD_NOTHING;
	if (stops && (cpu >= model->n_cpus || model->cpus[cpu].ahead_seen ||
		      model->cpus[cpu].current != NO_TASK))
		return NULL;
	s->kind = stops ? KIND_RUNNING : KIND_OFF;
	s->why = SCHED_UNKNOWN;
	s->since = sched_visible_from(model, task);
	s->open = true;
	if (!stops)
		return NULL;
	s->ahead = AHEAD_UNKNOWN;
	s->cpu = (uint32_t)cpu;
	model->cpus[cpu].current = task->id;
	model->unsettled++;
	return NULL;
}

/* NULL: there is none, or it is settled. */
static struct sched_task_state *find_unsettled(const struct sched_model *model, uint32_t id)
{
	if (id >= model->n_tasks || !is_unsettled(&model->tasks[id]))
		return NULL;
	return &model->tasks[id];
}

static void settle(struct sched_model *model, struct sched_task_state *s, enum ahead ahead)
{
	s->ahead = (uint8_t)ahead;
	model->unsettled--;
}

/* The first switch of the CPU on which a task runs. */
static void ahead_of_cpu(struct sched_model *model, const struct ebt_row *row, uint32_t current)
{
	const struct ebt_task *prev = ebt_sched_switch_prev(row);
	struct sched_task_state *s = find_unsettled(model, current);

	if (!s || s->kind != KIND_RUNNING)
		return;
	if (prev && prev->id == current) {
		s->ahead_end = row->time;
		s->ahead_charge = sched_charged(model, row);
		settle(model, s, AHEAD_STOPS);
	} else {
		settle(model, s, AHEAD_LOST);
	}
}

static struct ebt_error *ahead_of_switch(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *next = ebt_sched_switch_next(row);
	const uint64_t cpu = ebt_sched_switch_cpu(row);
	struct sched_task_state *s;
	struct ebt_error *err = ahead_of_unseen(model, ebt_sched_switch_prev(row), cpu, true)
					?: ahead_of_unseen(model, next, cpu, false);

	if (err)
		return err;
	if (cpu < model->n_cpus && model->cpus[cpu].current != NO_TASK)
		ahead_of_cpu(model, row, model->cpus[cpu].current);
	s = next ? find_unsettled(model, next->id) : NULL;
	if (s)
		settle(model, s, s->kind == KIND_RUNNING ? AHEAD_LOST : AHEAD_WAITS);
	if (cpu < model->n_cpus)
		model->cpus[cpu].ahead_seen = true;
	return NULL;
}

static struct ebt_error *ahead_of_waking(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *wakee = ebt_sched_waking_wakee(row);
	struct sched_task_state *s = wakee ? find_unsettled(model, wakee->id) : NULL;

	if (s && s->kind == KIND_OFF)
		settle(model, s, AHEAD_NOTHING);
	if (ebt_sched_waking_kind(row) == EBT_V_sched_waking_kind_new)
		return NULL;
	return ahead_of_unseen(model, wakee, 0, false);
}

static void ahead_of_exit(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_task_exit_task(row);
	struct sched_task_state *s = task ? find_unsettled(model, task->id) : NULL;

	if (s && s->kind == KIND_RUNNING)
		s->ahead_exit = row->time;
}

/* As in on_exec(). */
static void ahead_of_exec(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_task_exec_task(row);
	const uint64_t cpu = ebt_task_exec_cpu(row);
	struct sched_task_state *s;

	if (!task || cpu >= model->n_cpus || ebt_task_exec_old_tid(row) == task->tid)
		return;
	s = find_unsettled(model, model->cpus[cpu].current);
	if (!s || s->kind != KIND_RUNNING || s->task->tid != ebt_task_exec_old_tid(row))
		return;
	s->ahead_end = row->time;
	s->ahead_charge = 0;
	settle(model, s, AHEAD_STOPS);
}

/* Nothing is known of the CPU behind its first switch. */
static struct ebt_error *ahead_of_thread(struct sched_model *model, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_thread_task(row);
	const uint64_t cpu = ebt_thread_cpu(row);
	struct sched_task_state *s;
	struct ebt_error *err = task ? sched_state(model, task, &s) : NULL;

	if (err || !task || s->kind != KIND_UNSEEN || s->ahead != AHEAD_UNKNOWN ||
	    (ebt_thread_on_cpu(row) && cpu < model->n_cpus && model->cpus[cpu].ahead_seen))
		return err;
	err = sched_thread(model, row);
	model->unsettled += !err && model->tasks[task->id].kind == KIND_RUNNING;
	return err;
}

struct ebt_error *sched_model_ahead(struct sched_model *model, const struct ebt_row *row,
				    size_t *ret)
{
	struct ebt_error *err = NULL;

	switch (row->batch->table->id) {
	case EBT_T_sched_switch:
		err = ahead_of_switch(model, row);
		break;
	case EBT_T_sched_waking:
		err = ahead_of_waking(model, row);
		break;
	case EBT_T_task_exit:
		ahead_of_exit(model, row);
		break;
	case EBT_T_task_exec:
		ahead_of_exec(model, row);
		break;
	case EBT_T_thread:
		err = ahead_of_thread(model, row);
		break;
	}
	*ret = model->unsettled;
	return err;
}

void sched_model_ahead_end(struct sched_model *model)
{
	for (uint32_t i = 0; model->unsettled && i < model->n_tasks; i++) {
		if (is_unsettled(&model->tasks[i]))
			settle(model, &model->tasks[i], AHEAD_NOTHING);
	}
}

struct ebt_error *sched_model_finish(struct sched_model *model)
{
	return close_tasks(model, false);
}
