/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of processes and threads; see view.h. */
#include "report/procs/view.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "report/out/out.h"

#define CORE_DUMPED 0x80

/* From a process to those that it was forked from, in search of a container. */
#define MAX_HOPS 64

/* How it ended, for people: "3", "SIGSEGV", "SIGABRT (core)". */
static void add_status(struct text *text, uint32_t status)
{
	const uint32_t number = status & 0x7f;
	const char *name = sigabbrev_np((int)number);

	if (!number)
		text_printf(text, "%" PRIu32, status >> 8 & 0xff);
	else if (name)
		text_printf(text, "SIG%s", number == SIGIO ? "IO" : name);
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

void proc_view_arguments(struct text *text, struct ebt_str cmdline)
{
	while (cmdline.len && !cmdline.data[cmdline.len - 1])
		cmdline.len--;
	for (size_t i = 0; i < cmdline.len; i++)
		text_addc(text, cmdline.data[i] ? cmdline.data[i] : ' ');
}

void proc_view_command(struct text *text, const struct proc_view *v, const struct proc *p)
{
	struct ebt_str comm = proc_view_comm(v, p);

	proc_view_arguments(text, procs_text(v->procs, p->cmdline));
	if (text->len)
		return;
	text_addc(text, '[');
	text_add(text, comm.data, comm.len);
	text_addc(text, ']');
}

/* What processes and threads have in common, at the end of both tables. */
#define USED(X, u, s)                                                                          \
	X("run_ns", "RUN", OUT_DURATION, out_u64_if(u.known, u.run_ns))                        \
	X("nvcsw", "VOL", OUT_U64, out_u64_if(u.known, u.nvcsw), OUT_OPTIONAL)                 \
	X("nivcsw", "INVOL", OUT_U64, out_u64_if(u.known, u.nivcsw), OUT_OPTIONAL)             \
	X("prio", "PRIO", OUT_I64, s.known ? out_i64(s.prio) : out_null(), OUT_OPTIONAL)       \
	X("nice", "NICE", OUT_I64, s.known ? out_i64(s.nice) : out_null(), OUT_OPTIONAL)       \
	X("policy", "POLICY", OUT_STRING, out_cstr_if(s.known ? proc_policy(s.policy) : NULL), \
	  OUT_OPTIONAL)                                                                        \
	X("rt_priority", NULL, OUT_U64, out_u64_if(s.known, s.rt_priority), OUT_DETAIL)        \
	X("minor", "MINOR", OUT_U64, out_u64_if(u.known, u.minor), OUT_OPTIONAL)               \
	X("major", "MAJOR", OUT_U64, out_u64_if(u.known, u.major), OUT_OPTIONAL)               \
	X("read_bytes", "READ", OUT_BYTES, bytes(&u, u.read_bytes), OUT_OPTIONAL)              \
	X("write_bytes", "WRITTEN", OUT_BYTES, bytes(&u, u.write_bytes), OUT_OPTIONAL)

static struct out_value bytes(const struct proc_used *used, uint64_t n)
{
	return out_u64_if(used->known && n != PROC_UNKNOWN, n);
}

/* --- processes --- */

/* One that was forked, and whose cgroup nobody looked at, is where its parent was. */
static const struct proc_container *container_of_proc(const struct proc_view *v,
						      const struct proc *p)
{
	size_t n;
	const struct proc *all = procs_all(v->procs, &n);

	for (int hops = 0; hops < MAX_HOPS; hops++) {
		const struct proc_container *container =
			proc_containers_of(&v->containers, p->task);

		if (container || p->placed || p->forked_from == PROC_NONE)
			return container;
		p = &all[p->forked_from];
	}
	return NULL;
}

#define PROCESSES(X)                                                                            \
	X("begin_ns", "START", OUT_TIME, out_u64_if(p->start_ns, p->start_ns), OUT_BEGINS)      \
	X("end_ns", "END", OUT_TIME, out_u64_if(p->ended, p->end_ns), OUT_ENDS)                 \
	X("pid", "PID", OUT_U64, out_u64(p->task->pid))                                         \
	X("ppid", "PPID", OUT_U64, out_u64(p->ppid))                                            \
	X("comm", NULL, OUT_STRING, out_str(proc_view_comm(v, p)), OUT_DETAIL)                  \
	X("args", NULL, OUT_LIST, out_str(procs_text(v->procs, p->cmdline)), OUT_DETAIL)        \
	X("container", "CONTAINER", OUT_STRING, name_of(in))                                    \
	X("container_id", NULL, OUT_STRING, out_cstr_if(in ? in->id : NULL), OUT_DETAIL)        \
	X("exit", "EXIT", OUT_STRING, out_str_if(text_str(&status)), OUT_TEXT_ONLY | OUT_RIGHT) \
	X("exit_code", NULL, OUT_U64, out_u64_if(p->ended, exit_code(p->status)), OUT_DETAIL)   \
	X("signal", NULL, OUT_U64, out_u64_if(signal, signal), OUT_DETAIL)                      \
	X("max_rss_bytes", "RSS", OUT_BYTES, out_u64_if(p->max_rss, p->max_rss), OUT_OPTIONAL)  \
	X("thread_count", "THREADS", OUT_U64, out_u64(p->n_threads), OUT_OPTIONAL)              \
	X("uid", NULL, OUT_U64, out_u64_if(p->uid != UINT32_MAX, p->uid), OUT_DETAIL)           \
	X("kernel", NULL, OUT_BOOL, out_u64(p->kernel), OUT_DETAIL)                             \
	X("exe", NULL, OUT_STRING, out_str_if(procs_text(v->procs, p->exe)), OUT_DETAIL)        \
	X("cgroup", NULL, OUT_STRING, out_str_if(procs_text(v->procs, p->cgroup)), OUT_DETAIL)  \
	USED(X, p->used, p->sched)                                                              \
	X("command", "COMMAND", OUT_STRING, out_str_if(text_str(&label)),                       \
	  OUT_TEXT_ONLY | OUT_INDENT | OUT_FLEX)

static struct out_value name_of(const struct proc_container *container)
{
	if (!container)
		return out_null();
	return *container->name ? out_cstr(container->name)
				: out_str((struct ebt_str){ container->id, 12 });
}

static struct ebt_error *put_proc(const struct proc_view *v, const struct proc *p,
				  unsigned int depth)
{
	const struct proc_container *in = container_of_proc(v, p);
	_cleanup_text_ struct text label = TEXT_INIT, status = TEXT_INIT;
	const uint32_t signal = p->ended ? p->status & 0x7f : 0;

	proc_view_command(&label, v, p);
	if (p->ended)
		add_status(&status, p->status);
	if (text_error(&label) || text_error(&status))
		return &ebt_enomem;
	return out_row(v->out, depth, OUT_VALUES(PROCESSES));
}

struct ebt_error *proc_view_table(const struct proc_view *v, bool tree)
{
	struct out_column columns[] = { PROCESSES(OUT_COLUMN) };
	const struct out_table table =
		OUT_TABLE("rows", columns, .flags = OUT_KEEP_ORDER | (tree ? OUT_TREE : 0));

	for (struct out_column *c = columns; !v->containers.n && c < columns + table.n_columns;
	     c++) {
		if (!strcmp(c->key, "container"))
			c->flags |= OUT_DETAIL;
	}
	return out_rows(v->out, &table, v->n_shown, i,
			put_proc(v, v->shown[i].proc, v->shown[i].depth));
}

/* --- threads --- */

#define THREADS(X)                                                                               \
	X("begin_ns", "START", OUT_TIME, out_u64_if(t->start_ns, t->start_ns), OUT_BEGINS)       \
	X("end_ns", "END", OUT_TIME, out_u64_if(t->ended, t->end_ns), OUT_ENDS)                  \
	X("tid", "TID", OUT_U64, out_u64(t->task->tid))                                          \
	X("pid", "PID", OUT_U64, out_u64(t->task->pid))                                          \
	X("comm", "COMM", OUT_STRING, out_str(names_task(v->names, t->task)), OUT_FLEX)          \
	X("exit", "EXIT", OUT_STRING, out_str_if(text_str(&status)), OUT_TEXT_ONLY | OUT_RIGHT)  \
	X("exit_code", NULL, OUT_U64, out_u64_if(t->ended, exit_code(t->exit_code)), OUT_DETAIL) \
	USED(X, t->used, t->sched)

static struct ebt_error *put_thread(const struct proc_view *v, const struct proc_thread *t)
{
	_cleanup_text_ struct text status = TEXT_INIT;

	if (t->ended)
		add_status(&status, t->exit_code);
	return text_error(&status) ?: out_row(v->out, 0, OUT_VALUES(THREADS));
}

struct ebt_error *proc_view_threads(const struct proc_view *v, const char *key)
{
	const bool main = !strcmp(key, "rows");
	const struct out_table table =
		OUT_TABLE_OF(key, THREADS, .title = main ? NULL : "\nThreads",
			     .flags = OUT_KEEP_ORDER | (main ? 0 : OUT_FIXED));
	struct ebt_error *err = out_begin(v->out, &table);

	for (size_t i = 0; i < v->n_shown; i++) {
		uint32_t t = v->shown[i].proc->threads;

		for (; !err && t != PROC_NONE; t = procs_thread(v->procs, t)->next) {
			const struct proc_thread *thread = procs_thread(v->procs, t);

			if (procs_thread_wanted(v->trace, thread))
				err = put_thread(v, thread);
		}
	}
	return err ? err : out_end(v->out);
}
