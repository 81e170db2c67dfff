/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport locks`: which locks were waited for, how long, by whom, and who had them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/narrow.h"
#include "report/sched/model_locks.h"
#include "report/stacks/calltree_trace.h"
#include "report/stacks/out_stacks.h"
#include "report/trace/prepare.h"
#include "symbolize/symbolize.h"

#define DEFAULT_STACKS 20 /* printed without --top */

DEFINE_CLEANUP(struct calltree *, calltree_destroy);

struct locks_command {
	struct report *report;
	const struct names *names;
	struct calltree *tree;
	struct lock_model *model;
	uint64_t all_ns;
};

enum {
	COL_LABEL,
	COL_LOCK,
	COL_KIND,
	COL_KERNEL,
	COL_PID,
	COL_TID,
	COL_COMM,
	COL_ROLE,
	COL_ADDRESS,
	COL_COUNT,
	COL_WAIT,
	COL_PERCENT,
	COL_AVG,
	COL_P99,
	COL_MAX,
	COL_MAX_AT,
	COL_WAITERS,
	COL_HOLDER,
	COL_HOLDER_TID,
	COL_HOLDER_NS,
	COL_OWNED,
	COL_WOKE,
	COL_AT_ONCE,
	COL_TIMEOUTS,
	COL_INTERRUPTED,
	N_COLUMNS,
};

static const struct out_column all_columns[N_COLUMNS] = {
	[COL_LABEL] = { "label", "LOCK", OUT_STRING, OUT_TEXT_ONLY | OUT_INDENT | OUT_FLEX },
	[COL_LOCK] = { "lock", NULL, OUT_STRING, OUT_DETAIL | OUT_PARENT },
	[COL_KIND] = { "kind", "KIND", OUT_STRING, OUT_PARENT },
	[COL_KERNEL] = { "kernel", NULL, OUT_BOOL, OUT_DETAIL | OUT_PARENT },
	[COL_PID] = { "pid", NULL, OUT_U64, OUT_DETAIL },
	[COL_TID] = { "tid", NULL, OUT_U64, OUT_DETAIL },
	[COL_COMM] = { "comm", NULL, OUT_STRING, OUT_DETAIL },
	[COL_ROLE] = { "role", NULL, OUT_STRING, OUT_DETAIL },
	[COL_ADDRESS] = { "address", NULL, OUT_HEX, OUT_DETAIL },
	[COL_COUNT] = { "count", "WAITS", OUT_U64, 0 },
	[COL_WAIT] = { "wait_ns", "WAIT", OUT_DURATION, OUT_SORT },
	[COL_PERCENT] = { "percent", "%", OUT_PERCENT, 0 },
	[COL_AVG] = { "avg_ns", "AVG", OUT_DURATION, 0 },
	[COL_P99] = { "p99_ns", "P99", OUT_DURATION, 0 },
	[COL_MAX] = { "max_ns", "MAX", OUT_DURATION, 0 },
	[COL_MAX_AT] = { "max_at_ns", "MAX AT", OUT_TIME, 0 },
	[COL_WAITERS] = { "waiters", "THREADS", OUT_U64, 0 },
	[COL_HOLDER] = { "holder", "HOLDER", OUT_STRING, OUT_FLEX },
	[COL_HOLDER_TID] = { "holder_tid", NULL, OUT_U64, OUT_DETAIL },
	[COL_HOLDER_NS] = { "holder_ns", NULL, OUT_DURATION, OUT_DETAIL },
	[COL_OWNED] = { "owned", NULL, OUT_U64, OUT_DETAIL },
	[COL_WOKE] = { "woke", NULL, OUT_U64, OUT_DETAIL },
	[COL_AT_ONCE] = { "at_once", NULL, OUT_U64, OUT_DETAIL },
	[COL_TIMEOUTS] = { "timeouts", NULL, OUT_U64, OUT_DETAIL },
	[COL_INTERRUPTED] = { "interrupted", NULL, OUT_U64, OUT_DETAIL },
};

static const struct narrow narrow[] = {
	{ "max_at_ns", 140 }, { "p99_ns", 125 }, { "avg_ns", 112 },
	{ "waiters", 100 },   { "percent", 90 }, { NULL, 0 },
};

/* --- what things are called --- */

static void add_task(const struct locks_command *c, struct text *text, const struct ebt_task *task)
{
	if (task)
		text_thread(text, names_task(c->names, task), task->tid);
	else
		text_cstr(text, "[interrupt]");
}

/* A lock's name by itself, without the process. */
static struct ebt_error *add_lock(const struct locks_command *c, struct text *text,
				  const struct lock *lock)
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
	err = trace_sym(c->report->trace, &sym);
	if (!err)
		err = sym_variable(sym, lock->task, lock->first_time, lock->address, &variable);
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

/* --- tables --- */

static void set_figures(const struct locks_command *c, const struct lock *lock,
			struct out_value *values)
{
	const struct histogram *h = &lock->wait;

	values[COL_COUNT] = out_u64(h->count);
	values[COL_WAIT] = out_u64(h->sum);
	values[COL_PERCENT] = out_f64(c->all_ns ? 100 * (double)h->sum / (double)c->all_ns : 0);
	values[COL_AVG] = out_u64(histogram_avg(h));
	values[COL_P99] = out_u64(histogram_percentile(h, 99));
	values[COL_MAX] = out_u64(h->max);
	values[COL_MAX_AT] = h->count ? out_u64(lock->max_at_ns) : out_null();
	values[COL_WAITERS] = out_u64(lock->n_waiters);
	values[COL_INTERRUPTED] = out_u64(lock->interrupted);
	if (lock_is_kernel(lock->kind))
		return;
	values[COL_AT_ONCE] = out_u64(lock->at_once);
	values[COL_TIMEOUTS] = out_u64(lock->timeouts);
}

static struct ebt_error *put_person(const struct locks_command *c, const struct lock_person *p)
{
	_cleanup_text_ struct text label = TEXT_INIT;
	struct out_value values[N_COLUMNS];

	for (size_t i = 0; i < N_COLUMNS; i++)
		values[i] = out_null();
	add_task(c, &label, p->task);
	values[COL_KIND] = out_cstr(p->holder ? "holder" : "waiter");
	values[COL_ROLE] = values[COL_KIND];
	if (out_format(c->report->out) != FORMAT_TABLE)
		values[COL_KIND] = out_null();
	if (p->task) {
		values[COL_PID] = out_u64(p->task->pid);
		values[COL_TID] = out_u64(p->task->tid);
		values[COL_COMM] = out_str(names_task(c->names, p->task));
	}
	values[COL_COUNT] = out_u64(p->count);
	values[COL_WAIT] = out_u64(p->ns);
	values[COL_AVG] = out_u64(p->count ? p->ns / p->count : 0);
	values[COL_MAX] = out_u64(p->max_ns);
	if (p->holder) {
		values[COL_OWNED] = out_u64(p->owned);
		values[COL_WOKE] = out_u64(p->woke);
	}
	if (text_error(&label))
		return text_error(&label);
	values[COL_LABEL] = out_str((struct ebt_str){ text_get(&label), label.len });
	return out_row(c->report->out, 1, values);
}

static struct ebt_error *put_persons(const struct locks_command *c, const struct lock *lock)
{
	const struct lock_person *persons = lock_model_persons(c->model) + lock->persons;
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < lock->n_waiters + lock->n_holders; i++)
		err = put_person(c, &persons[i]);
	return err;
}

static void set_holder(const struct locks_command *c, const struct lock *lock, struct text *text,
		       struct out_value *values)
{
	const struct lock_person *p;

	if (!lock->n_holders)
		return;
	p = lock_model_persons(c->model) + lock->persons + lock->n_waiters;
	add_task(c, text, p->task);
	values[COL_HOLDER] = out_str((struct ebt_str){ text_get(text), text->len });
	values[COL_HOLDER_TID] = p->task ? out_u64(p->task->tid) : out_null();
	values[COL_HOLDER_NS] = out_u64(p->ns);
	values[COL_OWNED] = out_u64(p->owned);
	values[COL_WOKE] = out_u64(p->woke);
}

static struct ebt_error *put_lock(const struct locks_command *c, const struct lock *lock)
{
	_cleanup_text_ struct text label = TEXT_INIT, name = TEXT_INIT, holder = TEXT_INIT;
	struct out_value values[N_COLUMNS];
	struct ebt_error *err = add_lock(c, &name, lock);
	struct ebt_str comm;

	if (err)
		return err;
	for (size_t i = 0; i < N_COLUMNS; i++)
		values[i] = out_null();
	text_add(&label, text_get(&name), name.len);
	if (!lock_is_kernel(lock->kind))
		values[COL_ADDRESS] = out_u64(lock->address);
	if (!lock_is_kernel(lock->kind) && lock->task) {
		comm = names_process(c->names, lock->task);
		values[COL_PID] = out_u64(lock->task->pid);
		values[COL_COMM] = out_str(comm);
		text_cstr(&label, " ");
		text_task(&label, comm, lock->task->pid);
	}
	values[COL_LABEL] = out_str((struct ebt_str){ text_get(&label), label.len });
	values[COL_LOCK] = out_str((struct ebt_str){ text_get(&name), name.len });
	values[COL_KIND] = out_cstr(lock_kind_name(lock->kind));
	values[COL_KERNEL] = out_u64(lock_is_kernel(lock->kind));
	set_figures(c, lock, values);
	set_holder(c, lock, &holder, values);
	if (text_error(&label) || text_error(&name) || text_error(&holder))
		return &ebt_enomem;
	err = out_row(c->report->out, 0, values);
	if (!err && options_flag(c->report->options, "threads"))
		err = put_persons(c, lock);
	return err;
}

static struct ebt_error *put_locks(struct locks_command *c)
{
	bool threads = options_flag(c->report->options, "threads");
	struct out *out = c->report->out;
	struct out_column columns[N_COLUMNS];
	const struct out_table table = {
		.key = "rows",
		.columns = columns,
		.n_columns = N_COLUMNS,
		.children = threads ? "threads" : NULL,
	};
	size_t n;
	const struct lock *locks = lock_model_locks(c->model, &n);
	struct ebt_error *err;

	memcpy(columns, all_columns, sizeof(columns));
	narrow_columns(out, narrow, columns, N_COLUMNS);
	for (size_t i = 0; i < n; i++)
		c->all_ns += locks[i].wait.sum;
	err = out_begin(out, &table);
	for (size_t i = 0; !err && i < n; i++) {
		/* On a terminal, only what was waited for. */
		if (locks[i].wait.count || out_format(out) != FORMAT_TABLE)
			err = put_lock(c, &locks[i]);
	}
	return err ? err : out_end(out);
}

/* --- by stack --- */

static const struct out_column stack_columns[] = {
	{ "kind", "KIND", OUT_STRING, 0 },	{ "count", "WAITS", OUT_U64, 0 },
	{ "wait_ns", "WAIT", OUT_DURATION, 0 }, { "max_ns", "MAX", OUT_DURATION, 0 },
	{ "max_at_ns", "MAX AT", OUT_TIME, 0 }, { "stack", "STACK", OUT_STRING, 0 },
};

static struct ebt_error *put_stack_row(struct locks_command *c, const struct lock_stack *stack)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	stack_joined(&path, c->tree, stack->node);
	if (text_error(&path))
		return text_error(&path);
	return out_row(c->report->out, 0,
		       (struct out_value[]){ out_cstr(lock_kind_name(stack->kind)),
					     out_u64(stack->count), out_u64(stack->ns),
					     out_u64(stack->max_ns), out_u64(stack->max_at_ns),
					     out_cstr(text_get(&path)) });
}

static void print_stack(struct locks_command *c, const struct lock_stack *stack)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	text_duration(&line, stack->ns);
	text_printf(&line, " (%.1f %%), %" PRIu64 " waits, longest ",
		    c->all_ns ? 100.0 * (double)stack->ns / (double)c->all_ns : 0.0, stack->count);
	text_duration(&line, stack->max_ns);
	out_printf(c->report->out, "%s, %s\n", text_get(&line), lock_kind_name(stack->kind));
	out_stack_frames(c->report->out, c->tree, stack->node);
}

static struct ebt_error *put_stacks(struct locks_command *c)
{
	struct out *out = c->report->out;
	const struct out_table table = {
		out_format(out) == FORMAT_CSV ? "rows" : "stacks", NULL, stack_columns,
		sizeof(stack_columns) / sizeof(stack_columns[0]),  NULL, OUT_FIXED | OUT_KEEP_ORDER,
	};
	uint64_t top = c->report->options->top;
	size_t n;
	const struct lock_stack *stacks = lock_model_stacks(c->model, &n);
	struct ebt_error *err;

	if (out_format(out) == FORMAT_TABLE) {
		for (size_t i = 0; i < n; i++)
			c->all_ns += stacks[i].ns;
		top = top ? top : DEFAULT_STACKS;
		for (size_t i = 0; i < n && i < top; i++)
			print_stack(c, &stacks[i]);
		if (n > top)
			out_printf(out, "%" PRIu64 " more stacks (--top shows them).\n", n - top);
		return NULL;
	}
	err = out_begin(out, &table);
	for (size_t i = 0; !err && i < n && (!top || i < top); i++)
		err = put_stack_row(c, &stacks[i]);
	return err ? err : out_end(out);
}

/* --- the command --- */

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

static struct ebt_error *run_locks(struct report *report)
{
	bool stacks = options_flag(report->options, "stacks");
	const struct lock_options options = {
		.no_user = options_flag(report->options, "kernel"),
		.no_kernel = options_flag(report->options, "user"),
		.stacks = stacks,
	};
	struct lock_options chosen = options;
	struct locks_command c = { .report = report };
	_cleanup_(calltree_destroyp) struct calltree *tree = NULL;
	_cleanup_(lock_model_destroyp) struct lock_model *model = NULL;
	struct ebt_error *err = check_options(report->options);

	if (!err)
		err = trace_names(report->trace, &c.names);
	if (!err)
		err = calltree_create_for(report->trace,
					  stacks ? CALLTREE_BY_COMM : CALLTREE_NO_ROOTS, &tree);
	if (!err && stacks)
		err = prepare_names(report->trace, EBT_T_futex_wait, 0);
	if (!err && stacks)
		err = prepare_names(report->trace, EBT_T_lock_wait, 0);
	chosen.tree = tree;
	if (!err)
		err = lock_model_create(report->trace, &chosen, &model);
	if (err)
		return err;
	c.tree = tree;
	c.model = model;
	if (!stacks || out_format(report->out) == FORMAT_JSON)
		err = put_locks(&c);
	if (!err && stacks)
		err = put_stacks(&c);
	return err;
}

static const struct option_def locks_options[] = {
	{ "threads", OPTION_FLAG, NULL, "also: who waited for each lock, and who had it", NULL },
	{ "stacks", OPTION_FLAG, NULL, "by stack instead of by lock (JSON: both)", NULL },
	{ "user", OPTION_FLAG, NULL, "locks of programs only", NULL },
	{ "kernel", OPTION_FLAG, NULL, "locks of the kernel only", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_locks = {
	.name = "locks",
	.fn = run_locks,
	.summary = "locks that were waited for, how long, by whom, and who had them",
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
		"did are not in the file.\n"
		"\n"
		"  ebreport locks --user --threads t.ebt\n"
		"  ebreport locks --kernel --stacks --top 5 t.ebt\n"
		"  ebreport locks --sort max_ns --comm 'nginx*' t.ebt\n",
	.options = locks_options,
};
