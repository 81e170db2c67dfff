/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows on tasks to processes and threads; see model_procs.h. */
#include "report/procs/model_procs.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "format/base/search.h"
#include "report/base/names.h"
#include "report/trace/proc_texts.h"

struct procs {
	const struct names *names;
	struct proc *all;
	struct proc_thread *threads;
	size_t n, capacity, n_threads, thread_capacity;
	struct ebt_map by_key, by_task; /* names_process_key(), ebt_task.id */
	uint32_t *place;		/* of a process when sorted, by what by_key says */
	struct proc_texts texts;
};

const char *proc_policy(uint32_t policy)
{
	const struct ebt_table *table = ebt_table_by_id(EBT_T_task_exit);

	return ebt_value_name(&table->fields[EBT_F_task_exit_policy], policy);
}

/* --- finding and making --- */

/* *ret is valid until the next process is made; NULL where the task is not known. */
static struct ebt_error *get_proc(struct procs *procs, const struct ebt_task *task,
				  struct proc **ret)
{
	struct ebt_error *err;
	struct proc *p;
	uint32_t i;

	*ret = NULL;
	if (!task)
		return NULL;
	err = ebt_map_element(&procs->by_key, names_process_key(procs->names, task), &procs->all,
			      &procs->n, &procs->capacity, &i);
	if (err)
		return err;
	p = *ret = &procs->all[i];
	if (!p->task) {
		*p = (struct proc){
			.task = task,
			.uid = UINT32_MAX,
			.parent = PROC_NONE,
			.forked_from = PROC_NONE,
			.threads = PROC_NONE,
			.last_thread = PROC_NONE,
		};
	}
	if (task->tid == task->pid) {
		p->task = task;
		p->start_ns = task->start_ns;
	}
	return NULL;
}

static struct ebt_error *add_thread(struct procs *procs, const struct ebt_task *task)
{
	struct ebt_error *err;
	struct proc *p;

	err = ebt_array_reserve(&procs->threads, procs->n_threads, &procs->thread_capacity)
		      ?: get_proc(procs, task, &p);
	if (err)
		return err;
	procs->threads[procs->n_threads] = (struct proc_thread){
		.task = task,
		.start_ns = task->start_ns,
		.process = (uint32_t)(p - procs->all),
		.next = PROC_NONE,
	};
	if (p->last_thread == PROC_NONE)
		p->threads = (uint32_t)procs->n_threads;
	else
		procs->threads[p->last_thread].next = (uint32_t)procs->n_threads;
	p->last_thread = (uint32_t)procs->n_threads++;
	p->n_threads++;
	return NULL;
}

/* Both are valid until the next thread is made; NULL where the task is not known. */
static struct ebt_error *get_thread(struct procs *procs, const struct ebt_task *task,
				    struct proc_thread **ret, struct proc **ret_proc)
{
	struct ebt_error *err;
	uint32_t i;

	*ret = NULL;
	*ret_proc = NULL;
	if (!task)
		return NULL;
	err = ebt_map_add(&procs->by_task, task->id, (uint32_t)procs->n_threads, &i);
	if (!err && i == procs->n_threads)
		err = add_thread(procs, task);
	if (err)
		return err;
	*ret = &procs->threads[i];
	*ret_proc = &procs->all[procs->threads[i].process];
	return NULL;
}

/* --- figures --- */

static uint64_t add_bytes(uint64_t a, uint64_t b)
{
	return a == PROC_UNKNOWN || b == PROC_UNKNOWN ? PROC_UNKNOWN : a + b;
}

static void add_used(struct proc_used *sum, const struct proc_used *used)
{
	if (!used->known)
		return;
	sum->known = true;
	sum->run_ns += used->run_ns;
	sum->nvcsw += used->nvcsw;
	sum->nivcsw += used->nivcsw;
	sum->minor += used->minor;
	sum->major += used->major;
	sum->read_bytes = add_bytes(sum->read_bytes, used->read_bytes);
	sum->write_bytes = add_bytes(sum->write_bytes, used->write_bytes);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#define COMMON_USED(table, row)                                                         \
	{                                                                               \
		.known = true, .run_ns = ebt_##table##_run_time(row),                   \
		.nvcsw = ebt_##table##_nvcsw(row), .nivcsw = ebt_##table##_nivcsw(row), \
		.minor = ebt_##table##_minor(row), .major = ebt_##table##_major(row),   \
		.read_bytes = ebt_##table##_read_bytes(row),                            \
		.write_bytes = ebt_##table##_write_bytes(row)                           \
	}

#define COMMON_SCHED(table, row)                                        \
	{                                                               \
		.prio = (int32_t)ebt_##table##_prio(row),               \
		.nice = (int32_t)ebt_##table##_nice(row),               \
		.policy = (uint32_t)ebt_##table##_policy(row),          \
		.rt_priority = (uint32_t)ebt_##table##_rt_priority(row) \
	}

/* Older traces have zero in all of them, which no thread has. */
static void set_sched(struct proc_thread *t, struct proc_sched sched)
{
	sched.known = sched.prio || sched.nice || sched.policy || sched.rt_priority;
	if (sched.known)
		t->sched = sched;
}

/* --- rows --- */

static struct ebt_error *on_process(struct procs *procs, struct proc *p, const struct ebt_row *row)
{
	const struct ebt_str exe = ebt_process_exe(row), cgroup = ebt_process_cgroup(row);
	const struct ebt_str cmdline = ebt_process_cmdline(row);
	struct ebt_error *err = NULL;

	if (!p->described && !p->ppid)
		p->ppid = (uint32_t)ebt_process_ppid(row);
	p->described = true;
	p->kernel = ebt_process_kernel(row);
	p->uid = (uint32_t)ebt_process_uid(row);
	p->mnt_ns = ebt_process_mnt_ns(row);
	p->pid_ns = ebt_process_pid_ns(row);
	p->net_ns = ebt_process_net_ns(row);
	p->user_ns = ebt_process_user_ns(row);
	p->cgroup_ns = ebt_process_cgroup_ns(row);
	/* What it lacks is as it was before, or as the parent has it. */
	p->placed |= cgroup.len > 0;
	if (exe.len)
		err = proc_texts_add(&procs->texts, exe, &p->exe);
	if (!err && cgroup.len)
		err = proc_texts_add(&procs->texts, cgroup, &p->cgroup);
	if (!err && cmdline.len)
		err = proc_texts_add(&procs->texts, cmdline, &p->cmdline);
	return err;
}

static void on_thread(struct proc *p, struct proc_thread *t, const struct ebt_row *row)
{
	const struct proc_used used = COMMON_USED(thread, row);
	const struct proc_sched sched = COMMON_SCHED(thread, row);

	if (t->ended)
		return;
	t->used = used;
	set_sched(t, sched);
	if (ebt_thread_max_rss(row))
		p->max_rss = ebt_thread_max_rss(row);
}

/* Threads whose end was seen are in the kernel's sum too. */
static void on_ended_threads(struct procs *procs, struct proc *p, const struct ebt_row *row)
{
	const struct proc_used all = COMMON_USED(ended_threads, row);
	struct proc_used seen = { 0 };

	for (uint32_t t = p->threads; t != PROC_NONE; t = procs->threads[t].next) {
		if (procs->threads[t].ended)
			add_used(&seen, &procs->threads[t].used);
	}
	p->gone = (struct proc_used){
		.known = true,
		.run_ns = less(all.run_ns, seen.run_ns),
		.nvcsw = less(all.nvcsw, seen.nvcsw),
		.nivcsw = less(all.nivcsw, seen.nivcsw),
		.minor = less(all.minor, seen.minor),
		.major = less(all.major, seen.major),
		.read_bytes = less(all.read_bytes, seen.read_bytes),
		.write_bytes = less(all.write_bytes, seen.write_bytes),
	};
}

static void on_fork(struct procs *procs, struct proc *p, const struct ebt_row *row)
{
	const struct ebt_task *parent = ebt_task_fork_parent(row);
	const struct proc *from;
	uint32_t i;

	if (ebt_task_fork_thread(row) || p->forked_ns)
		return;
	p->forked_ns = row->time;
	if (!parent)
		return;
	p->ppid = parent->pid;
	i = procs_of(procs, parent);
	if (i == PROC_NONE || &procs->all[i] == p)
		return;
	from = &procs->all[i];
	p->forked_from = i;
	p->kernel = from->kernel;
	p->uid = from->uid;
	p->cmdline = from->cmdline;
	p->exe = from->exe;
	p->cgroup = from->cgroup;
	p->mnt_ns = from->mnt_ns;
}

/* The thread that calls exec goes on as the first one, whose end the kernel has told. */
static void take_over(struct procs *procs, struct proc *p, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_task_exec_task(row);
	uint64_t old_tid = ebt_task_exec_old_tid(row);

	if (old_tid == task->tid)
		return;
	for (uint32_t i = p->threads; i != PROC_NONE; i = procs->threads[i].next) {
		struct proc_thread *t = &procs->threads[i];

		if (t->task->id == task->id && t->ended) {
			add_used(&p->gone, &t->used);
			t->used = (struct proc_used){ .known = true };
			t->ended = false;
		} else if (t->task->tid == old_tid && !t->ended) {
			t->used = (struct proc_used){ .known = true };
			t->ended = true;
			t->end_ns = row->time;
		}
	}
}

static struct ebt_error *on_exec(struct procs *procs, struct proc *p, const struct ebt_row *row)
{
	take_over(procs, p, row);
	p->kernel = false;
	if (!p->exec_ns)
		p->exec_ns = row->time;
	return proc_texts_add(&procs->texts, ebt_task_exec_cmdline(row), &p->cmdline)
		       ?: proc_texts_add(&procs->texts, ebt_task_exec_filename(row), &p->exe);
}

static void on_exit_row(struct proc *p, struct proc_thread *t, const struct ebt_row *row)
{
	const struct proc_used used = COMMON_USED(task_exit, row);
	const struct proc_sched sched = COMMON_SCHED(task_exit, row);

	t->ended = true;
	t->end_ns = row->time;
	t->exit_code = (uint32_t)ebt_task_exit_exit_code(row);
	t->used = used;
	set_sched(t, sched);
	if (!p->ppid)
		p->ppid = (uint32_t)ebt_task_exit_ppid(row);
	if (!ebt_task_exit_group_dead(row))
		return;
	p->ended = true;
	p->end_ns = row->time;
	p->max_rss = ebt_task_exit_max_rss(row);
	/* Older traces have the last thread's alone. */
	p->status = t->sched.known ? (uint32_t)ebt_task_exit_status(row) : t->exit_code;
}

static void on_end(struct proc_thread *t, const struct ebt_row *row)
{
	if (!t->ended)
		return;
	t->used.run_ns = ebt_task_end_run_time(row);
	t->used.nvcsw = ebt_task_end_nvcsw(row);
	t->used.nivcsw = ebt_task_end_nivcsw(row);
}

static struct ebt_error *on_row(void *arg, const struct ebt_row *row)
{
	struct procs *procs = arg;
	struct proc_thread *t;
	struct ebt_error *err;
	struct proc *p;

	switch (row->batch->table->id) {
	case EBT_T_process:
		err = get_proc(procs, ebt_process_task(row), &p);
		return err || !p ? err : on_process(procs, p, row);
	case EBT_T_thread:
		err = get_thread(procs, ebt_thread_task(row), &t, &p);
		if (t)
			on_thread(p, t, row);
		return err;
	case EBT_T_ended_threads:
		err = get_proc(procs, ebt_ended_threads_task(row), &p);
		if (p)
			on_ended_threads(procs, p, row);
		return err;
	case EBT_T_task_fork:
		err = get_thread(procs, ebt_task_fork_child(row), &t, &p);
		if (p)
			on_fork(procs, p, row);
		return err;
	case EBT_T_task_exec:
		err = get_thread(procs, ebt_task_exec_task(row), &t, &p);
		return err || !p ? err : on_exec(procs, p, row);
	case EBT_T_task_exit:
		err = get_thread(procs, ebt_task_exit_task(row), &t, &p);
		if (t)
			on_exit_row(p, t, row);
		return err;
	default:
		err = get_thread(procs, ebt_task_end_task(row), &t, &p);
		if (t)
			on_end(t, row);
		return err;
	}
}

static struct ebt_error *read_rows(struct procs *procs, struct trace *trace, unsigned int flags)
{
	static const struct ebt_want wants[] = {
		{ EBT_T_process, ~UINT64_C(0) },
		{ EBT_T_thread, ~UINT64_C(0) },
		{ EBT_T_ended_threads, ~UINT64_C(0) },
		EBT_WANT(task_fork, parent, child, thread),
		EBT_WANT(task_exec, task, old_tid, filename, cmdline),
		{ EBT_T_task_exit, ~UINT64_C(0) },
		{ EBT_T_task_end, ~UINT64_C(0) },
	};
	return trace_read_rows(trace, wants, sizeof(wants) / sizeof(wants[0]),
			       TRACE_UNFILTERED | flags, on_row, procs);
}

/* --- when all is read --- */

static int compare_starts(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;
	int order = ebt_compare(x->start_ns, y->start_ns);

	order = order ?: ebt_compare(x->forked_ns, y->forked_ns);
	return order ?: ebt_compare(x->task->id, y->task->id);
}

static int compare_pids(const void *a, const void *b)
{
	const struct proc *const *x = a, *const *y = b;

	return ebt_compare((*x)->task->pid, (*y)->task->pid) ?: ebt_compare(*x, *y);
}

/* The last process of that pid before this one. by_pid is sorted by pid, then start. */
static uint32_t find_parent(const struct procs *procs, const struct proc **by_pid, uint32_t i)
{
	const uint32_t ppid = procs->all[i].ppid;
	size_t n = ebt_count_first(procs->n, k,
				   by_pid[k]->task->pid < ppid || (by_pid[k]->task->pid == ppid &&
								   by_pid[k] < &procs->all[i]));

	if (!ppid || !n || by_pid[n - 1]->task->pid != ppid)
		return PROC_NONE;
	return (uint32_t)(by_pid[n - 1] - procs->all);
}

/* A parent always stands before its children, so that a tree of them cannot have a cycle. */
static struct ebt_error *link_parents(struct procs *procs)
{
	_cleanup_free_ const struct proc **by_pid = calloc(procs->n + 1, sizeof(*by_pid));

	if (!by_pid)
		return &ebt_enomem;
	for (size_t i = 0; i < procs->n; i++)
		by_pid[i] = &procs->all[i];
	qsort(by_pid, procs->n, sizeof(*by_pid), compare_pids);
	for (uint32_t i = 0; i < procs->n; i++) {
		struct proc *p = &procs->all[i];

		if (p->forked_from != PROC_NONE)
			p->forked_from = procs->place[p->forked_from];
		if (p->forked_from != PROC_NONE && p->forked_from >= i)
			p->forked_from = PROC_NONE;
		p->parent = p->forked_from != PROC_NONE ? p->forked_from
							: find_parent(procs, by_pid, i);
	}
	return NULL;
}

/* Sorts; place[] then says where what by_key finds has gone. */
static struct ebt_error *sort(struct procs *procs)
{
	procs->place = calloc(procs->n + 1, sizeof(*procs->place));
	if (!procs->place)
		return &ebt_enomem;
	/* Until then, `parent` remembers where it was. */
	for (uint32_t i = 0; i < procs->n; i++)
		procs->all[i].parent = i;
	if (procs->n)
		qsort(procs->all, procs->n, sizeof(*procs->all), compare_starts);
	for (uint32_t i = 0; i < procs->n; i++)
		procs->place[procs->all[i].parent] = i;
	for (size_t i = 0; i < procs->n_threads; i++)
		procs->threads[i].process = procs->place[procs->threads[i].process];
	return link_parents(procs);
}

static void sum_up(struct procs *procs)
{
	for (size_t i = 0; i < procs->n; i++) {
		struct proc *p = &procs->all[i];

		p->used = p->gone;
		for (uint32_t t = p->threads; t != PROC_NONE; t = procs->threads[t].next) {
			const struct proc_thread *thread = &procs->threads[t];

			add_used(&p->used, &thread->used);
			if (thread->task->id == p->task->id || !p->sched.known)
				p->sched = thread->sched;
		}
	}
}

struct ebt_error *procs_create(struct trace *trace, unsigned int flags, struct procs **ret)
{
	_cleanup_(procs_destroyp) struct procs *procs = calloc(1, sizeof(*procs));
	struct ebt_error *err;

	if (!procs)
		return &ebt_enomem;
	err = trace_names(trace, &procs->names) ?: read_rows(procs, trace, flags) ?: sort(procs);
	if (err)
		return err;
	sum_up(procs);
	if (procs->texts.left_out)
		err = trace_warn(trace, "command lines of some processes are left out: they would "
					"take too much memory");
	if (err)
		return err;
	*ret = take_ptr(procs);
	return NULL;
}

void procs_destroy(struct procs *procs)
{
	if (!procs)
		return;
	free(procs->all);
	free(procs->threads);
	free(procs->place);
	ebt_map_deinit(&procs->by_key);
	ebt_map_deinit(&procs->by_task);
	proc_texts_deinit(&procs->texts);
	free(procs);
}

const struct proc *procs_all(const struct procs *procs, size_t *ret_n)
{
	*ret_n = procs->n;
	return procs->all;
}

const struct proc_thread *procs_thread(const struct procs *procs, uint32_t i)
{
	return &procs->threads[i];
}

struct ebt_str procs_text(const struct procs *procs, uint32_t text)
{
	return proc_texts_get(&procs->texts, text);
}

uint32_t procs_of(const struct procs *procs, const struct ebt_task *task)
{
	uint32_t i;

	if (!ebt_map_find(&procs->by_key, names_process_key(procs->names, task), &i))
		return PROC_NONE;
	return procs->place ? procs->place[i] : i;
}

/* start 0: it was there before anything else. */
static bool in_window(const struct trace *trace, uint64_t start_ns, bool ended, uint64_t end_ns)
{
	return start_ns < trace_to_ns(trace) && (!ended || end_ns >= trace_from_ns(trace));
}

bool procs_thread_wanted(struct trace *trace, const struct proc_thread *thread)
{
	return trace_task_wanted(trace, thread->task) &&
	       in_window(trace, thread->start_ns, thread->ended, thread->end_ns);
}

bool procs_wanted(const struct procs *procs, struct trace *trace, const struct proc *proc)
{
	bool wanted = trace_task_wanted(trace, proc->task);

	for (uint32_t i = proc->threads; !wanted && i != PROC_NONE; i = procs->threads[i].next)
		wanted = trace_task_wanted(trace, procs->threads[i].task);
	return wanted && in_window(trace, proc->start_ns, proc->ended, proc->end_ns);
}
