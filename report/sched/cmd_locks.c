/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport locks`: which locks were waited for, how long, by whom, and who had them. */
#include <inttypes.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/out/histogram.h"
#include "report/sched/model_locks.h"
#include "symbolize/symbolize.h"

#define MAX_COLUMNS 80

struct locks {
	struct report *report;
	const struct names *names;
	struct lock_model *model;
	struct text holder; /* of the row that is being made */
};

/* --- what things are called --- */

static void add_task(const struct locks *c, struct text *text, const struct ebt_task *task)
{
	if (task)
		text_thread(text, names_task(c->names, task), task->tid);
	else
		text_cstr(text, "[interrupt]");
}

/* A lock's name by itself, without the process. */
static struct ebt_error *add_lock(const struct locks *c, struct text *text, const struct lock *lock)
{
	struct sym_variable variable;
	struct ebt_error *err;
	struct sym *sym;

	if (lock_is_kernel(lock->kind)) {
		text_cstr(text, lock->caller);
		return NULL;
	}
	if (lock->shared) {
		text_printf(text, "inode %" PRIu64 " (%" PRIu32 ":%" PRIu32 ")+0x%" PRIx64,
			    lock->inode, lock->dev_major, lock->dev_minor, lock->offset);
		return NULL;
	}
	err = trace_sym(c->report->trace, &sym)
		      ?: sym_variable(sym, lock->task, lock->first_time, lock->address, &variable);
	if (err)
		return err;
	if (variable.name && !variable.offset)
		text_cstr(text, variable.name);
	else if (variable.found)
		text_printf(text, "%s+0x%" PRIx64,
			    variable.name ? variable.name : variable.short_object, variable.offset);
	else
		text_printf(text, "0x%" PRIx64, lock->address);
	return NULL;
}

/* --- figures --- */

static struct ebt_error *merge(void *to, const void *from)
{
	const struct lock_sum *f = from;
	struct lock_sum *t = to;

	return histogram_merge(&t->wait, &f->wait);
}

static void deinit(void *figures)
{
	histogram_deinit(&((struct lock_sum *)figures)->wait);
}

static uint64_t weight(const void *figures)
{
	return ((const struct lock_sum *)figures)->wait.sum;
}

/* On a terminal, only what was waited for. */
static bool hidden(const struct grouping *g, const void *figures)
{
	return !((const struct lock_sum *)figures)->wait.count &&
	       out_format(grouping_report(g)->out) == FORMAT_TABLE;
}

/* NULL: there is none. */
static const struct lock_thread *holder_of(const struct grouping *g, const struct lock_sum *sum)
{
	const struct locks *c = grouping_arg(g);

	return sum->n_holders ? lock_model_threads(c->model) + sum->threads + sum->n_waiters : NULL;
}

static struct out_value holder_name(const struct grouping *g, const struct lock_thread *holder)
{
	struct locks *c = grouping_arg(g);

	if (!holder)
		return out_null();
	text_clear(&c->holder);
	add_task(c, &c->holder, holder->task);
	return out_str(text_str(&c->holder));
}

#define FIGURES(X)                                                                                 \
	X("count", "COUNT", OUT_U64, out_u64(sum->wait.count), OUT_ADDS)                           \
	X("wait_ns", "WAIT", OUT_DURATION, out_u64(sum->wait.sum), OUT_SORT | OUT_ADDS)            \
	X("percent", "%", OUT_PERCENT,                                                             \
	  out_f64(all ? 100 * (double)sum->wait.sum / (double)all : 0), OUT_SHARE, 90,             \
	  .of = "wait_ns")                                                                         \
	X("avg_ns", "AVG", OUT_DURATION, out_u64(histogram_avg(&sum->wait)), OUT_MEAN, 112,        \
	  .of = "wait_ns", .by = "count")                                                          \
	X("p99_ns", "P99", OUT_DURATION, out_percentile(&sum->wait, 99), OUT_SPREAD, 125,          \
	  .percent = 99)                                                                           \
	X("max_ns", "MAX", OUT_DURATION, out_maximum(&sum->wait), OUT_PEAK)                        \
	X("max_at_ns", "MAX-AT", OUT_TIME, out_u64_if(sum->wait.count, sum->max_at_ns), OUT_AT,    \
	  140, .of = "max_ns")                                                                     \
	X("waiters", "THREADS", OUT_U64, out_u64(sum->n_waiters), 0, 100)                          \
	X("holder", "HOLDER", OUT_STRING, holder_name(g, holder), OUT_FLEX)                        \
	X("holder_tid", NULL, OUT_U64,                                                             \
	  holder && holder->task ? out_u64(holder->task->tid) : out_null(), OUT_DETAIL)            \
	X("holder_ns", NULL, OUT_DURATION, holder ? out_u64(holder->ns) : out_null(), OUT_DETAIL)  \
	X("owned", NULL, OUT_U64, holder ? out_u64(holder->owned) : out_null(), OUT_DETAIL)        \
	X("woke", NULL, OUT_U64, holder ? out_u64(holder->woke) : out_null(), OUT_DETAIL)          \
	X("at_once", NULL, OUT_U64, out_u64_if(of_program, sum->at_once), OUT_DETAIL)              \
	X("timeouts", NULL, OUT_U64, out_u64_if(of_program, sum->timeouts), OUT_DETAIL | OUT_ADDS) \
	X("interrupted", NULL, OUT_U64, out_u64(sum->interrupted), OUT_DETAIL | OUT_ADDS)

static void put_figures(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct lock_sum *sum = figures;
	const struct lock_thread *holder = holder_of(g, sum);
	const uint64_t all = weight(grouping_all(g));
	/* Locks of the kernel are not told from waits at once, nor from those that end by time. */
	const bool one = grouping_has(g, LOCK_BY_LOCK) || grouping_has(g, LOCK_BY_KIND);
	const bool of_program = !one || !lock_is_kernel(sum->kind);

	GROUP_PUT(values, FIGURES);
}

#define STACK_FIGURES(X)                                           \
	X("count", "COUNT", OUT_U64, out_u64(sum->wait.count))     \
	X("wait_ns", "WAIT", OUT_DURATION, out_u64(sum->wait.sum)) \
	X("max_ns", "MAX", OUT_DURATION, out_maximum(&sum->wait))  \
	X("max_at_ns", "MAX-AT", OUT_TIME, out_u64_if(sum->wait.count, sum->max_at_ns))

static void put_stack(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct lock_sum *sum = figures;

	(void)g;
	GROUP_PUT(values, STACK_FIGURES);
}

static const struct group_columns columns = GROUP_COLUMNS(FIGURES, put_figures);
static const struct group_columns stack_columns = GROUP_COLUMNS(STACK_FIGURES, put_stack);

static void headline(const struct grouping *g, const void *figures, uint64_t all, struct text *text)
{
	const struct lock_sum *sum = figures;

	(void)g;
	text_duration(text, sum->wait.sum);
	text_printf(text, " (%.1f %%), %" PRIu64 " %s, longest ",
		    all ? 100.0 * (double)sum->wait.sum / (double)all : 0.0, sum->wait.count,
		    text_plural(sum->wait.count, "wait", "waits"));
	text_duration(text, sum->wait.max);
	text_printf(text, ", %s", lock_kind_name(sum->kind));
}

/* --- keys --- */

enum { LABEL, LOCK, KIND, KERNEL, PID, TID, COMM, ROLE, ADDRESS, N_LOCK_COLUMNS };

static const struct out_column lock_columns[N_LOCK_COLUMNS] = {
	[LABEL] = { "lock_name", "LOCK", OUT_STRING, OUT_TEXT_ONLY | OUT_FLEX },
	[LOCK] = { "lock", NULL, OUT_STRING, OUT_DETAIL },
	[KIND] = { "kind", "KIND", OUT_STRING, GROUP_BESIDE },
	[KERNEL] = { "kernel", NULL, OUT_BOOL, OUT_DETAIL },
	[PID] = { "pid", NULL, OUT_U64, OUT_DETAIL },
	[TID] = { "tid", NULL, OUT_U64, OUT_DETAIL },
	[COMM] = { "comm", NULL, OUT_STRING, OUT_DETAIL },
	[ROLE] = { "role", NULL, OUT_STRING, OUT_DETAIL },
	[ADDRESS] = { "address", NULL, OUT_HEX, OUT_DETAIL },
};

static struct ebt_error *put_lock(const struct grouping *g, uint64_t value,
				  struct group_cells *cells)
{
	const struct locks *c = grouping_arg(g);
	const struct lock *lock = lock_model_lock(c->model, value);
	struct text *name = &cells->texts[LOCK];
	struct ebt_error *err = add_lock(c, name, lock);
	struct ebt_str comm;

	if (err)
		return err;
	text_add(cells->label, text_get(name), name->len);
	cells->values[KIND] = out_cstr(lock_kind_name(lock->kind));
	cells->values[KERNEL] = out_u64(lock_is_kernel(lock->kind));
	if (!lock_is_kernel(lock->kind))
		cells->values[ADDRESS] = out_u64(lock->address);
	if (!lock_is_kernel(lock->kind) && lock->task) {
		comm = names_process(c->names, lock->task);
		cells->values[PID] = out_u64(lock->task->pid);
		cells->values[COMM] = out_str(comm);
		text_cstr(cells->label, " ");
		text_task(cells->label, comm, lock->task->pid);
	}
	text_add(&cells->texts[LABEL], text_get(cells->label), cells->label->len);
	return NULL;
}

static const struct out_column kind_columns[] = { { "kind", "KIND", OUT_STRING, 0 } };

static struct ebt_error *put_kind(const struct grouping *g, uint64_t value,
				  struct group_cells *cells)
{
	(void)g;
	cells->values[0] = out_cstr(lock_kind_name((enum lock_kind)value));
	text_cstr(cells->label, lock_kind_name((enum lock_kind)value));
	return NULL;
}

static const struct group_own own[] = {
	{ "lock", "LOCK", lock_columns, N_LOCK_COLUMNS, true, put_lock },
	{ "kind", "KIND", kind_columns, 1, true, put_kind },
};

/* --- threads --- */

struct cells {
	const struct out_column *columns;
	size_t n;
	struct out_value values[MAX_COLUMNS];
};

static void set(struct cells *cells, const char *key, struct out_value value)
{
	for (size_t i = 0; i < cells->n; i++) {
		if (!strcmp(cells->columns[i].key, key))
			cells->values[i] = value;
	}
}

static struct ebt_error *put_thread(const struct locks *c, const struct lock_thread *thread,
				    struct cells *cells)
{
	_cleanup_text_ struct text label = TEXT_INIT;
	struct out_value role = out_cstr(thread->holder ? "holder" : "waiter");

	for (size_t i = 0; i < cells->n; i++)
		cells->values[i] = out_null();
	add_task(c, &label, thread->task);
	if (text_error(&label))
		return text_error(&label);
	set(cells, "label", out_str((struct ebt_str){ text_get(&label), label.len }));
	set(cells, "role", role);
	if (out_format(c->report->out) == FORMAT_TABLE)
		set(cells, "kind", role);
	if (thread->task) {
		set(cells, "pid", out_u64(thread->task->pid));
		set(cells, "tid", out_u64(thread->task->tid));
		set(cells, "comm", out_str(names_task(c->names, thread->task)));
	}
	set(cells, "count", out_u64(thread->count));
	set(cells, "wait_ns", out_u64(thread->ns));
	set(cells, "avg_ns", out_u64(thread->count ? thread->ns / thread->count : 0));
	set(cells, "max_ns", out_u64(thread->max_ns));
	if (thread->holder) {
		set(cells, "owned", out_u64(thread->owned));
		set(cells, "woke", out_u64(thread->woke));
	}
	return out_row_n(c->report->out, 1, cells->values, cells->n);
}

static struct ebt_error *put_threads(const struct grouping *g, uint32_t group,
				     const struct out_column *out_columns, size_t n)
{
	const struct locks *c = grouping_arg(g);
	const struct lock_sum *sum = grouping_figures(g, group);
	const struct lock_thread *threads = lock_model_threads(c->model);
	struct cells cells = { .columns = out_columns, .n = n };
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < sum->n_waiters + sum->n_holders; i++)
		err = put_thread(c, &threads[sum->threads + i], &cells);
	return err;
}

/* --- the command --- */

static const struct group_table locks = {
	.keys = GROUP_TASK_KEYS | 1u << GROUP_STACK,
	.own = own,
	.n_own = 2,
	.by = "lock",
	.no_task = "[interrupt]",
	.columns = &columns,
	.size = sizeof(struct lock_sum),
	.merge = merge,
	.deinit = deinit,
	.hidden = hidden,
	.stack_tables = (const uint16_t[]){ EBT_T_futex_wait, EBT_T_lock_wait, 0 },
	.stack_by = "kind,stack",
	.stack_columns = &stack_columns,
	.weight = weight,
	.headline = headline,
};

static struct ebt_error *check_options(const struct options *o)
{
	if (options_flag(o, "user") && options_flag(o, "kernel"))
		return ebt_error_create(EBT_ERR_INVALID, "--user and --kernel exclude each other");
	if (options_flag(o, "stacks") && options_flag(o, "threads") && o->format != FORMAT_JSON)
		return ebt_error_create(EBT_ERR_INVALID,
					"--stacks and --threads are two tables: only --json has "
					"both");
	return NULL;
}

static struct ebt_error *put_table(struct locks *c, const struct group_table *table)
{
	const struct lock_options options = {
		.no_user = options_flag(c->report->options, "kernel"),
		.no_kernel = options_flag(c->report->options, "user"),
	};
	_cleanup_(grouping_destroyp) struct grouping *g = NULL;
	_cleanup_(lock_model_destroyp) struct lock_model *model = NULL;
	struct ebt_error *err;

	err = grouping_create(c->report, table, c, NULL, &g);
	if (err)
		return err;
	if (table->below && grouping_has_rows(g) && !grouping_has(g, LOCK_BY_LOCK))
		return ebt_error_create(EBT_ERR_INVALID, "--threads is of locks: --by needs lock");
	err = lock_model_create(c->report->trace, &options, g, &model);
	if (err)
		return err;
	c->model = model;
	err = grouping_put(g);
	/* Stacks have the callers among their frames. */
	if (err || !grouping_has(g, LOCK_BY_LOCK) || grouping_has_stacks(g))
		return err;
	return lock_model_tell_callers(model);
}

static struct ebt_error *count_waiting(void *arg, const struct ebt_row *row)
{
	uint64_t *n = arg;

	*n += lock_owner_of_stack(row) &&
	      ebt_thread_stack_moment(row) == EBT_V_thread_stack_moment_end;
	return NULL;
}

/* In a deadlock no wait ends, and so none is here. */
static struct ebt_error *tell_waiting(struct trace *trace)
{
	const struct ebt_want want = EBT_WANT(thread_stack, task, moment, owner, owner_by);
	uint64_t n = 0;
	struct ebt_error *err = trace_read_rows(trace, &want, 1, 0, count_waiting, &n);

	if (err || !n)
		return err;
	return trace_warn(trace,
			  "%" PRIu64 " thread%s still waited for a lock at the end: `ebreport "
			  "threads` says who holds it",
			  n, text_plural(n, "", "s"));
}

static struct ebt_error *run_locks(struct report *report)
{
	struct locks c = { .report = report, .holder = TEXT_INIT };
	struct group_table table = locks;
	struct ebt_error *err =
		check_options(report->options) ?: trace_names(report->trace, &c.names);

	if (err)
		return err;
	if (options_flag(report->options, "threads")) {
		table.below = "threads";
		table.put_below = put_threads;
	}
	err = put_table(&c, &table) ?: text_error(&c.holder);
	if (!err && !options_flag(report->options, "kernel"))
		err = tell_waiting(report->trace);
	text_deinit(&c.holder);
	return err;
}

static const struct option_def locks_options[] = {
	GROUP_BY_OPTION("lock", "lock", "kind", "stack"),
	{ "threads", OPTION_FLAG, NULL, "also: who waited for each lock, and who had it" },
	GROUP_STACK_OPTIONS,
	{ "user", OPTION_FLAG, NULL, "locks of programs only" },
	{ "kernel", OPTION_FLAG, NULL, "locks of the kernel only" },
	{ 0 },
};

static const struct command_subject subject = {
	.what = "waits for locks",
	.source = "lock",
	.tables = { EBT_T_futex_wait, EBT_T_lock_wait },
};

const struct command command_locks = {
	.name = "locks",
	.fn = run_locks,
	.summary = "locks that were waited for, how long, by whom, and who had them",
	.elsewhere = "futex mutex contention",
	.help = "Record with `ebrec -e lock`. A lock of a program is a futex: an address of a\n"
		"process, or a place in a file that processes share. What a futex is made into\n"
		"only the program knows; `mutex` is one that looks like a pthread_mutex_t of\n"
		"glibc, `futex` may be a condition, where waiting is no contention. Only waits in\n"
		"which the thread slept count; at_once in JSON and CSV are the others. Locks of\n"
		"the kernel stand under the function that wanted one.\n"
		"\n"
		"HOLDER: because of whom was waited longest: who owned the lock when the wait\n"
		"began, which is known of mutexes, else who ended the wait, which for a condition\n"
		"is who signalled it. --threads says of each how many waits it was the cause of\n"
		"(owned) and how many it ended (woke). Waits that had not ended when recording\n"
		"did are not in the file: `ebreport threads` has them. --by process, and the "
		"like:\n"
		"who waited.\n"
		"\n"
		"  ebreport locks --user --threads t.ebt\n"
		"  ebreport locks --by process,kind t.ebt\n"
		"  ebreport locks --kernel --stacks --top 5 t.ebt\n"
		"  ebreport locks --sort max_ns --comm 'nginx*' t.ebt\n",
	.options = locks_options,
	.subject = &subject,
};
