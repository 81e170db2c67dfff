/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of processes and threads; see view.h. */
#include "report/procs/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/out/out.h"

#define CORE_DUMPED 0x80

/* From a process to those that it was forked from, in search of a container. */
#define MAX_HOPS 64

/* How it ended, for people: "3", "SIGSEGV", "SIGABRT (core)". */
static void add_status(struct text *text, uint32_t status)
{
	static const char *const signals[] = {
		NULL,	    "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",  "SIGTRAP",   "SIGABRT",
		"SIGBUS",   "SIGFPE",  "SIGKILL",   "SIGUSR1", "SIGSEGV", "SIGUSR2",   "SIGPIPE",
		"SIGALRM",  "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP",   "SIGTSTP",
		"SIGTTIN",  "SIGTTOU", "SIGURG",    "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF",
		"SIGWINCH", "SIGIO",   "SIGPWR",    "SIGSYS",
	};
	const uint32_t number = status & 0x7f;

	if (!number)
		text_printf(text, "%" PRIu32, status >> 8 & 0xff);
	else if (number < sizeof(signals) / sizeof(signals[0]))
		text_cstr(text, signals[number]);
	else
		text_printf(text, "signal %" PRIu32, number);
	if (number && status & CORE_DUMPED)
		text_cstr(text, " (core)");
}

/* As shells have it. */
static uint64_t exit_code(uint32_t status)
{
	return status & 0x7f ? 128 + (status & 0x7f) : status >> 8 & 0xff;
}

struct ebt_str proc_view_comm(const struct proc_view *v, const struct proc *p)
{
	return names_process(v->names, p->task);
}

static void add_arguments(struct text *text, struct ebt_str cmdline)
{
	while (cmdline.len && !cmdline.data[cmdline.len - 1])
		cmdline.len--;
	for (size_t i = 0; i < cmdline.len; i++)
		text_addc(text, cmdline.data[i] ? cmdline.data[i] : ' ');
}

void proc_view_command(struct text *text, const struct proc_view *v, const struct proc *p)
{
	struct ebt_str comm = proc_view_comm(v, p);

	add_arguments(text, procs_text(v->procs, p->cmdline));
	if (text->len)
		return;
	text_addc(text, '[');
	text_add(text, comm.data, comm.len);
	text_addc(text, ']');
}

/* What processes and threads have in common, at the end of both tables. */
#define USED_COLUMNS                                                                     \
	{ "run_ns", "RUN", OUT_DURATION, 0 }, { "nvcsw", "VOL", OUT_U64, OUT_OPTIONAL }, \
		{ "nivcsw", "INVOL", OUT_U64, OUT_OPTIONAL },                            \
		{ "prio", "PRIO", OUT_I64, OUT_OPTIONAL },                               \
		{ "nice", "NICE", OUT_I64, OUT_OPTIONAL },                               \
		{ "policy", "POLICY", OUT_STRING, OUT_OPTIONAL },                        \
		{ "rt_priority", NULL, OUT_U64, OUT_DETAIL },                            \
		{ "minor", "MINOR", OUT_U64, OUT_OPTIONAL },                             \
		{ "major", "MAJOR", OUT_U64, OUT_OPTIONAL },                             \
		{ "read_bytes", "READ", OUT_BYTES, OUT_OPTIONAL },                       \
	{                                                                                \
		"write_bytes", "WRITTEN", OUT_BYTES, OUT_OPTIONAL                        \
	}

enum {
	USED_RUN,
	USED_VOLUNTARY,
	USED_INVOLUNTARY,
	USED_PRIO,
	USED_NICE,
	USED_POLICY,
	USED_RT_PRIORITY,
	USED_MINOR,
	USED_MAJOR,
	USED_READ,
	USED_WRITTEN,
	N_USED,
};

static void set_used(struct out_value *values, const struct proc_used *u,
		     const struct proc_sched *sched)
{
	const char *policy = sched->known ? proc_policy(sched->policy) : NULL;

	values[USED_RUN] = out_u64_if(u->known, u->run_ns);
	values[USED_VOLUNTARY] = out_u64_if(u->known, u->nvcsw);
	values[USED_INVOLUNTARY] = out_u64_if(u->known, u->nivcsw);
	values[USED_PRIO] = sched->known ? out_i64(sched->prio) : out_null();
	values[USED_NICE] = sched->known ? out_i64(sched->nice) : out_null();
	values[USED_POLICY] = out_cstr_if(policy);
	values[USED_RT_PRIORITY] = out_u64_if(sched->known, sched->rt_priority);
	values[USED_MINOR] = out_u64_if(u->known, u->minor);
	values[USED_MAJOR] = out_u64_if(u->known, u->major);
	values[USED_READ] = out_u64_if(u->known && u->read_bytes != PROC_UNKNOWN, u->read_bytes);
	values[USED_WRITTEN] =
		out_u64_if(u->known && u->write_bytes != PROC_UNKNOWN, u->write_bytes);
}

/* --- processes --- */

enum {
	PROC_START,
	PROC_END,
	PROC_PID,
	PROC_PPID,
	PROC_COMM,
	PROC_CMDLINE,
	PROC_CONTAINER,
	PROC_CONTAINER_ID,
	PROC_EXIT,
	PROC_EXIT_CODE,
	PROC_SIGNAL,
	PROC_RSS,
	PROC_THREADS,
	PROC_UID,
	PROC_KERNEL,
	PROC_EXE,
	PROC_CGROUP,
	PROC_USED,
	PROC_LABEL = PROC_USED + N_USED,
	N_PROC,
};

static const struct out_column proc_columns[N_PROC] = {
	[PROC_START] = { "begin_ns", "START", OUT_TIME, 0 },
	[PROC_END] = { "end_ns", "END", OUT_TIME, 0 },
	[PROC_PID] = { "pid", "PID", OUT_U64, 0 },
	[PROC_PPID] = { "ppid", "PPID", OUT_U64, 0 },
	[PROC_COMM] = { "comm", NULL, OUT_STRING, OUT_DETAIL },
	[PROC_CMDLINE] = { "args", NULL, OUT_LIST, OUT_DETAIL },
	[PROC_CONTAINER] = { "container", "CONTAINER", OUT_STRING, 0 },
	[PROC_CONTAINER_ID] = { "container_id", NULL, OUT_STRING, OUT_DETAIL },
	[PROC_EXIT] = { "exit", "EXIT", OUT_STRING, OUT_TEXT_ONLY | OUT_RIGHT },
	[PROC_EXIT_CODE] = { "exit_code", NULL, OUT_U64, OUT_DETAIL },
	[PROC_SIGNAL] = { "signal", NULL, OUT_U64, OUT_DETAIL },
	[PROC_RSS] = { "max_rss_bytes", "RSS", OUT_BYTES, OUT_OPTIONAL },
	[PROC_THREADS] = { "thread_count", "THREADS", OUT_U64, OUT_OPTIONAL },
	[PROC_UID] = { "uid", NULL, OUT_U64, OUT_DETAIL },
	[PROC_KERNEL] = { "kernel", NULL, OUT_BOOL, OUT_DETAIL },
	[PROC_EXE] = { "exe", NULL, OUT_STRING, OUT_DETAIL },
	[PROC_CGROUP] = { "cgroup", NULL, OUT_STRING, OUT_DETAIL },
	USED_COLUMNS,
	[PROC_LABEL] = { "command", "COMMAND", OUT_STRING, OUT_TEXT_ONLY | OUT_INDENT | OUT_FLEX },
};

static void set_status(struct out_value *values, const struct proc *p, struct text *text)
{
	if (!p->ended) {
		values[PROC_EXIT] = values[PROC_EXIT_CODE] = values[PROC_SIGNAL] = out_null();
		return;
	}
	add_status(text, p->status);
	values[PROC_EXIT] = out_str_if(text_str(text));
	values[PROC_EXIT_CODE] = out_u64(exit_code(p->status));
	values[PROC_SIGNAL] = out_u64_if(p->status & 0x7f, p->status & 0x7f);
}

/* One that was forked and never looked at is where its parent was. */
static const struct proc_container *container_of_proc(const struct proc_view *v,
						      const struct proc *p)
{
	size_t n;
	const struct proc *all = procs_all(v->procs, &n);

	for (int hops = 0; hops < MAX_HOPS; hops++) {
		const struct proc_container *container = proc_containers_of(v->containers, p->task);

		if (container || p->described || p->forked_from == PROC_NONE)
			return container;
		p = &all[p->forked_from];
	}
	return NULL;
}

static void set_container(struct out_value *values, const struct proc_view *v, const struct proc *p)
{
	const struct proc_container *container = container_of_proc(v, p);

	values[PROC_CONTAINER] = values[PROC_CONTAINER_ID] = out_null();
	if (!container)
		return;
	values[PROC_CONTAINER] = *container->name ? out_cstr(container->name)
						  : out_str((struct ebt_str){ container->id, 12 });
	values[PROC_CONTAINER_ID] = out_cstr(container->id);
}

static struct ebt_error *put_proc(const struct proc_view *v, const struct proc *p,
				  unsigned int depth)
{
	_cleanup_text_ struct text label = TEXT_INIT, status = TEXT_INIT;
	struct out_value values[N_PROC];

	proc_view_command(&label, v, p);
	values[PROC_START] = out_u64_if(p->start_ns, p->start_ns);
	values[PROC_END] = out_u64_if(p->ended, p->end_ns);
	values[PROC_PID] = out_u64(p->task->pid);
	values[PROC_PPID] = out_u64(p->ppid);
	values[PROC_LABEL] = out_str_if(text_str(&label));
	values[PROC_COMM] = out_str(proc_view_comm(v, p));
	values[PROC_CMDLINE] = out_str(procs_text(v->procs, p->cmdline));
	set_container(values, v, p);
	set_status(values, p, &status);
	values[PROC_RSS] = out_u64_if(p->max_rss, p->max_rss);
	values[PROC_THREADS] = out_u64(p->n_threads);
	values[PROC_UID] = out_u64_if(p->uid != UINT32_MAX, p->uid);
	values[PROC_KERNEL] = out_u64(p->kernel);
	values[PROC_EXE] = out_str_if(procs_text(v->procs, p->exe));
	values[PROC_CGROUP] = out_str_if(procs_text(v->procs, p->cgroup));
	set_used(values + PROC_USED, &p->used, &p->sched);
	if (text_error(&label) || text_error(&status))
		return &ebt_enomem;
	return out_row(v->out, depth, values);
}

struct ebt_error *proc_view_table(const struct proc_view *v, bool tree)
{
	struct out_column columns[N_PROC];
	const struct out_table table =
		OUT_TABLE("rows", columns, .flags = OUT_KEEP_ORDER | (tree ? OUT_TREE : 0));
	size_t n;
	const struct proc *all = procs_all(v->procs, &n);

	memcpy(columns, proc_columns, sizeof(columns));
	if (!v->containers->n)
		columns[PROC_CONTAINER].flags |= OUT_DETAIL;
	return out_rows(v->out, &table, v->n_shown, i,
			put_proc(v, &all[v->shown[i]], tree ? v->depths[i] : 0));
}

/* --- threads --- */

enum {
	THREAD_START,
	THREAD_END,
	THREAD_TID,
	THREAD_PID,
	THREAD_COMM,
	THREAD_EXIT,
	THREAD_EXIT_CODE,
	THREAD_USED,
	N_THREAD = THREAD_USED + N_USED,
};

static const struct out_column thread_columns[N_THREAD] = {
	[THREAD_START] = { "begin_ns", "START", OUT_TIME, 0 },
	[THREAD_END] = { "end_ns", "END", OUT_TIME, 0 },
	[THREAD_TID] = { "tid", "TID", OUT_U64, 0 },
	[THREAD_PID] = { "pid", "PID", OUT_U64, 0 },
	[THREAD_COMM] = { "comm", "COMM", OUT_STRING, OUT_FLEX },
	[THREAD_EXIT] = { "exit", "EXIT", OUT_STRING, OUT_TEXT_ONLY | OUT_RIGHT },
	[THREAD_EXIT_CODE] = { "exit_code", NULL, OUT_U64, OUT_DETAIL },
	USED_COLUMNS,
};

static struct ebt_error *put_thread(const struct proc_view *v, const struct proc_thread *t)
{
	_cleanup_text_ struct text status = TEXT_INIT;
	struct out_value values[N_THREAD];

	if (t->ended)
		add_status(&status, t->exit_code);
	values[THREAD_START] = out_u64_if(t->start_ns, t->start_ns);
	values[THREAD_END] = out_u64_if(t->ended, t->end_ns);
	values[THREAD_TID] = out_u64(t->task->tid);
	values[THREAD_PID] = out_u64(t->task->pid);
	values[THREAD_COMM] = out_str(names_task(v->names, t->task));
	values[THREAD_EXIT] = out_str_if(text_str(&status));
	values[THREAD_EXIT_CODE] = out_u64_if(t->ended, exit_code(t->exit_code));
	set_used(values + THREAD_USED, &t->used, &t->sched);
	if (text_error(&status))
		return text_error(&status);
	return out_row(v->out, 0, values);
}

struct ebt_error *proc_view_threads(const struct proc_view *v, const char *key)
{
	const bool main = !strcmp(key, "rows");
	const struct out_table table =
		OUT_TABLE(key, thread_columns, .title = main ? NULL : "\nThreads",
			  .flags = OUT_KEEP_ORDER | (main ? 0 : OUT_FIXED));
	size_t n;
	const struct proc *all = procs_all(v->procs, &n);
	struct ebt_error *err = out_begin(v->out, &table);

	for (size_t i = 0; i < v->n_shown; i++) {
		uint32_t t = all[v->shown[i]].threads;

		for (; !err && t != PROC_NONE; t = procs_thread(v->procs, t)->next) {
			const struct proc_thread *thread = procs_thread(v->procs, t);

			if (procs_thread_wanted(v->trace, thread))
				err = put_thread(v, thread);
		}
	}
	return err ? err : out_end(v->out);
}
