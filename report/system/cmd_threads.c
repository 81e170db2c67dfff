/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport threads: the stacks of all threads at the beginning and the end, as a debugger shows
 * them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/calls/names.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/sched/wait_reason.h"
#include "report/stacks/doubts.h"
#include "report/system/info.h"
#include "report/system/model_threads.h"
#include "report/trace/programs.h"

#define NONE	  UINT32_MAX
#define MAX_NAMED 8 /* threads of a block that are named */

struct thread_view {
	struct report *report;
	struct out *out;
	const struct names *names;
	const struct syscall_machine *machine;
	struct threads *threads;
	const struct thread_seen *all;
	size_t n;
	const struct thread_frame *frames;
	const struct programs *programs;
	bool samples; /* the trace has some */
};

/* --- one of them --- */

/* Why the stack lacks what it might have; NULL: it does not. */
static const char *missing(const struct thread_seen *seen)
{
	const struct ebt_field *fields = ebt_table_by_id(EBT_T_thread_stack)->fields;

	if (seen->user == EBT_V_thread_stack_user_none)
		return NULL;
	if (seen->user != EBT_V_thread_stack_user_walked)
		return ebt_value_name(&fields[EBT_F_thread_stack_user], seen->user) ?: "not known";
	return seen->stop == EBT_STOP_ROOT ? NULL : info_stop_name(seen->stop) ?: "not known";
}

static bool is_shown(const struct thread_view *v, const struct thread_seen *seen)
{
	return !trace_leaves_out(v->report->trace, seen->task);
}

static uint64_t wait_ns(const struct thread_seen *seen)
{
	return seen->since && seen->since < seen->time ? seen->time - seen->since : 0;
}

static size_t n_args(const struct thread_view *v, const struct thread_seen *seen)
{
	const struct syscall_desc *desc =
		seen->call >= 0 ? syscall_desc(v->machine, seen->compat, (uint64_t)seen->call)
				: NULL;

	return desc && desc->n_args < 6 ? desc->n_args : desc ? 6 : 0;
}

/* Small ones are numbers of files and the like, others addresses and bits. */
static void add_arg(struct text *text, uint64_t arg)
{
	if (arg < 1024)
		text_u64(text, arg);
	else
		text_printf(text, "0x%" PRIx64, arg);
}

static void add_call_name(struct text *text, const struct thread_view *v,
			  const struct thread_seen *seen)
{
	if (seen->call >= 0)
		syscall_name_add(text, v->machine, seen->compat, (uint32_t)seen->call);
}

static void add_place(struct text *text, const struct thread_frame *frame)
{
	if (frame->file)
		text_printf(text, "%s:%" PRIu32, frame->file, frame->line);
}

/* The variable that a lock is; without a name, what is its argument tells as much. */
static struct ebt_error *add_lock(struct text *text, const struct thread_view *v,
				  const struct thread_seen *seen)
{
	struct sym_variable variable;
	struct ebt_error *err;
	struct sym *sym;

	if (!seen->owner)
		return NULL;
	err = trace_sym(v->report->trace, &sym)
		      ?: sym_variable(sym, seen->task, seen->time, seen->args[0], &variable);

	if (err)
		return err;
	if (variable.name && !variable.offset)
		text_cstr(text, variable.name);
	else if (variable.name)
		text_printf(text, "%s+0x%" PRIx64, variable.name, variable.offset);
	return NULL;
}

/* --- for programs --- */

#define COLUMNS(X)                                                                               \
	X("time_ns", "TIME", OUT_TIME, out_u64_if(seen, seen ? seen->time : 0), OUT_PARENT)      \
	X("at", "AT", OUT_STRING, at, OUT_PARENT)                                                \
	X("pid", "PID", OUT_U64, out_u64_if(seen, seen ? seen->task->pid : 0), OUT_PARENT)       \
	X("tid", "TID", OUT_U64, out_u64_if(seen, seen ? seen->task->tid : 0), OUT_PARENT)       \
	X("comm", "COMM", OUT_STRING, comm, OUT_PARENT)                                          \
	X("state", "STATE", OUT_STRING, seen ? out_cstr(thread_state_name(seen)) : out_null())   \
	X("from_ns", "SINCE", OUT_TIME, out_u64_if(seen && seen->since, seen ? seen->since : 0)) \
	X("wait_ns", "WAIT", OUT_DURATION,                                                       \
	  out_u64_if(seen && seen->since, seen ? wait_ns(seen) : 0))                             \
	X("call", "CALL", OUT_STRING, out_str_if(text_str(&call)))                               \
	X("args", "ARGS", OUT_LIST, args)                                                        \
	X("lock", "LOCK", OUT_STRING, out_str_if(text_str(&lock)))                               \
	X("holder", "HOLDER", OUT_STRING, out_str_if(text_str(&holder)))                         \
	X("incomplete", "INCOMPLETE", OUT_STRING,                                                \
	  seen &&missing(seen) ? out_cstr(missing(seen)) : out_null())                           \
	X("number", "FRAME", OUT_U64, out_u64_if(frame, number))                                 \
	X("function", "FUNCTION", OUT_STRING, frame ? out_cstr(frame->func->name) : out_null())  \
	X("address", "ADDRESS", OUT_HEX, out_u64_if(frame &&address, address))                   \
	X("object", "OBJECT", OUT_STRING, frame ? out_cstr(frame->func->object) : out_null())    \
	X("lines", "LINES", OUT_STRING, out_str_if(text_str(&place)))                            \
	X("inlined", "INLINED", OUT_BOOL, out_u64_if(frame, frame && frame->inlined))            \
	X("kernel", "KERNEL", OUT_BOOL,                                                          \
	  frame ? out_u64(frame->kernel)                                                         \
		: out_u64_if(seen, seen &&programs_is_kernel(v->programs, seen->task)))

/* A thread, or a frame of the one before. */
static struct ebt_error *put_row(const struct thread_view *v, const struct thread_seen *seen,
				 const struct thread_frame *frame, uint64_t number,
				 uint64_t address)
{
	_cleanup_text_ struct text call = TEXT_INIT, list = TEXT_INIT, place = TEXT_INIT;
	_cleanup_text_ struct text lock = TEXT_INIT, holder = TEXT_INIT;
	struct ebt_error *err = seen ? add_lock(&lock, v, seen) : NULL;
	const bool end = seen && seen->moment == EBT_V_thread_stack_moment_end;
	struct out_value at = seen ? out_cstr(end ? "end" : "begin") : out_null(),
			 comm = seen ? out_str(seen->task->comm) : out_null(), args = out_null();

	if (err)
		return err;
	if (seen)
		add_call_name(&call, v, seen);
	if (seen && seen->owner)
		text_thread(&holder, seen->owner->comm, seen->owner->tid);
	for (size_t i = 0; seen && i < n_args(v, seen); i++) {
		add_arg(&list, seen->args[i]);
		text_addc(&list, '\0');
	}
	if (list.len)
		args = out_str(text_str(&list));
	if (frame)
		add_place(&place, frame);
	return out_row(v->out, frame ? 1 : 0, OUT_VALUES(COLUMNS));
}

/* Functions that are inlined stand before the one that they are in, whose the address is. */
static struct ebt_error *put_frames(const struct thread_view *v, const struct thread_seen *seen)
{
	const uint64_t *addresses = threads_addresses(v->threads) + seen->first;
	struct ebt_error *err = NULL;
	uint64_t number = 0;
	uint32_t i = 0;

	for (uint32_t at = seen->frame; !err && at; at = v->frames[at].parent) {
		err = put_row(v, NULL, &v->frames[at], number++, i < seen->n ? addresses[i] : 0);
		i += !v->frames[at].inlined;
	}
	return err;
}

static struct ebt_error *put_rows(const struct thread_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("rows", COLUMNS, .children = "calls", .flags = OUT_KEEP_ORDER);
	struct ebt_error *err = out_begin(v->out, &table);

	for (size_t i = 0; !err && i < v->n; i++) {
		const struct thread_seen *seen = &v->all[i];

		if (!is_shown(v, seen))
			continue;
		err = put_row(v, seen, NULL, 0, 0) ?: put_frames(v, seen);
	}
	return err ?: out_end(v->out);
}

/* --- for people --- */

/* Threads of one stack, at the same moments. */
struct thread_block {
	const struct thread_seen *first;
	unsigned int moments;
	uint32_t head, *tail; /* of items */
	uint64_t n, min_ns, max_ns;
	bool args_differ;
};

struct item {
	const struct thread_seen *seen;
	uint32_t next;
};

struct thread_blocks {
	struct item *items;
	struct thread_block *list;
	size_t n, n_items;
	struct ebt_map by_stack;
};

static void blocks_deinit(struct thread_blocks *b)
{
	free(b->items);
	free(b->list);
	ebt_map_deinit(&b->by_stack);
}

static struct ebt_error *find_block(struct thread_blocks *b, const struct thread_seen *seen,
				    unsigned int moments, struct thread_block **ret)
{
	const uint64_t key[] = { moments, seen->frame, (uint64_t)seen->call, seen->user,
				 seen->owner ? seen->args[0] : 0 };
	const uint64_t hash = ebt_hash_bytes(0, key, sizeof(key));
	size_t at = 0;
	uint32_t i;

	while ((i = ebt_map_next(&b->by_stack, hash, &at)) != EBT_MAP_NONE) {
		*ret = &b->list[i];
		if ((*ret)->moments == moments && thread_is_equal((*ret)->first, seen))
			return NULL;
	}
	*ret = &b->list[b->n];
	**ret = (struct thread_block){ .first = seen, .moments = moments, .head = NONE };
	(*ret)->min_ns = UINT64_MAX;
	return ebt_map_insert(&b->by_stack, hash, (uint32_t)b->n++);
}

static struct ebt_error *add_thread(struct thread_blocks *b, const struct thread_seen *seen,
				    unsigned int moments)
{
	const uint64_t ns = wait_ns(seen);
	const uint32_t number = (uint32_t)b->n_items++;
	struct thread_block *block;
	struct ebt_error *err = find_block(b, seen, moments, &block);

	if (err)
		return err;
	b->items[number] = (struct item){ seen, NONE };
	if (block->head == NONE)
		block->head = number;
	else
		*block->tail = number;
	block->tail = &b->items[number].next;
	block->n++;
	block->min_ns = ns < block->min_ns ? ns : block->min_ns;
	block->max_ns = ns > block->max_ns ? ns : block->max_ns;
	if (memcmp(seen->args, block->first->args, sizeof(seen->args)) != 0)
		block->args_differ = true;
	return NULL;
}

/* A thread that is where it was is told of once. */
static struct ebt_error *make_blocks(const struct thread_view *v, struct thread_blocks *b)
{
	struct ebt_error *err = NULL;

	b->items = calloc(v->n + 1, sizeof(*b->items));
	b->list = calloc(v->n + 1, sizeof(*b->list));
	if (!b->items || !b->list)
		return &ebt_enomem;
	for (size_t i = 0; i < v->n && !err; i++) {
		const struct thread_seen *seen = &v->all[i];
		const struct thread_seen *next = i + 1 < v->n ? seen + 1 : NULL;
		unsigned int moments = 1u << seen->moment;

		if (next && next->task == seen->task && next->moment != seen->moment &&
		    thread_is_equal(seen, next)) {
			moments = THREAD_BEGIN | THREAD_END;
			seen = next;
			i++;
		}
		if (is_shown(v, seen))
			err = add_thread(b, seen, moments);
	}
	return err;
}

/* Of two times that differ by less than what is printed, one. */
static void add_waits(struct text *text, const struct thread_block *block)
{
	_cleanup_text_ struct text min = TEXT_INIT, max = TEXT_INIT;

	if (!block->max_ns)
		return;
	text_duration(&min, block->min_ns);
	text_duration(&max, block->max_ns);
	text_cstr(text, " for ");
	if (strcmp(text_get(&min), text_get(&max)) != 0)
		text_printf(text, "%s to ", text_get(&min));
	text_cstr(text, text_get(&max));
}

static void add_call(struct text *text, const struct thread_view *v,
		     const struct thread_block *block)
{
	const struct thread_seen *seen = block->first;

	if (seen->call < 0)
		return;
	text_cstr(text, ", in ");
	add_call_name(text, v, seen);
	if (block->args_differ)
		return;
	text_addc(text, '(');
	for (size_t i = 0; i < n_args(v, seen); i++) {
		if (i)
			text_cstr(text, ", ");
		add_arg(text, seen->args[i]);
	}
	text_addc(text, ')');
}

static void add_terminal(struct text *text, struct ebt_str s)
{
	text_terminal(text, text_comm(s));
}

/* "sleep (6004)", "worker (6010) of server (6004)" */
static void add_name(struct text *text, const struct thread_view *v, const struct ebt_task *task,
		     bool with_process)
{
	add_terminal(text, task->comm);
	text_printf(text, " (%" PRIu32 ")", task->tid);
	if (!with_process || task->tid == task->pid)
		return;
	text_cstr(text, " of ");
	add_terminal(text, names_process(v->names, task));
	text_printf(text, " (%" PRIu32 ")", task->pid);
}

/* "; accounts_lock is held by worker (6010)" */
static struct ebt_error *add_owner(struct text *text, const struct thread_view *v,
				   const struct thread_seen *seen)
{
	_cleanup_text_ struct text lock = TEXT_INIT;
	struct ebt_error *err;

	err = add_lock(&lock, v, seen);
	if (err || !seen->owner)
		return err;
	text_cstr(text, "; ");
	if (!lock.len)
		text_cstr(&lock, "the lock");
	text_terminal(text, text_str(&lock));
	if (!seen->owner->pid) {
		text_printf(text, " was locked by thread %" PRIu32 ", which has ended",
			    seen->owner->tid);
		return NULL;
	}
	text_cstr(text, " is held by ");
	add_name(text, v, seen->owner, seen->owner->pid != seen->task->pid);
	return NULL;
}

static void add_names(struct text *text, const struct thread_view *v, const struct thread_blocks *b,
		      const struct thread_block *block)
{
	uint64_t n = 0;

	if (block->n > 1)
		text_printf(text, "%" PRIu64 " threads: ", block->n);
	for (uint32_t at = block->head; at != NONE; at = b->items[at].next, n++) {
		const struct ebt_task *task = b->items[at].seen->task;
		const uint32_t next = b->items[at].next;

		if (n)
			text_cstr(text, ", ");
		if (n == MAX_NAMED && block->n > MAX_NAMED + 1) {
			text_printf(text, "and %" PRIu64 " more", block->n - n);
			break;
		}
		/* The process stands behind the last of its threads. */
		add_name(text, v, task,
			 next == NONE || b->items[next].seen->task->pid != task->pid);
	}
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_cstr(struct text *text, const char *s)
{
	text_terminal(text, ebt_str_of(s));
}

static void print_frames(const struct thread_view *v, const struct thread_seen *seen)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	unsigned int number = 0;
	char head[16];

	for (uint32_t at = seen->frame; at; at = v->frames[at].parent) {
		const struct thread_frame *frame = &v->frames[at];
		/* What Python runs is in the file of its lines. */
		const bool python = frame->func->kind == SYM_PYTHON;
		const char *object = python ? "" : last_part(frame->func->object);

		snprintf(head, sizeof(head), "#%-3u ", number++);
		text_clear(&line);
		add_cstr(&line, frame->func->name);
		if (frame->inlined)
			text_cstr(&line, " (inlined)");
		if (frame->file) {
			text_cstr(&line, "  ");
			add_cstr(&line, last_part(frame->file));
			text_printf(&line, ":%" PRIu32, frame->line);
		}
		if (*object)
			text_cstr(&line, "  ");
		add_cstr(&line, object);
		out_fill(v->out, head, 9, text_get(&line));
	}
}

/* Of a thread in state "disk", which is what the kernel calls this wait, too. */
static bool is_frozen(const struct thread_view *v, const struct thread_seen *seen)
{
	for (uint32_t at = seen->frame; at; at = v->frames[at].parent) {
		const struct thread_frame *frame = &v->frames[at], *caller;

		caller = frame->parent ? &v->frames[frame->parent] : NULL;
		if (!caller || !frame->kernel || !caller->kernel)
			return false;
		if (wait_is_freeze(frame->func->name, caller->func->name))
			return true;
	}
	return false;
}

static struct ebt_error *print_block(const struct thread_view *v, const struct thread_blocks *b,
				     const struct thread_block *block)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const char *why = missing(block->first);
	struct ebt_error *err;

	add_names(&text, v, b, block);
	text_printf(&text, ": %s%s", thread_state_name(block->first),
		    is_frozen(v, block->first) ? " (frozen file system)" : "");
	add_waits(&text, block);
	add_call(&text, v, block);
	err = add_owner(&text, v, block->first);
	if (err)
		return err;
	out_fill(v->out, "", 2, text_get(&text));
	print_frames(v, block->first);
	if (why)
		out_printf(v->out, "     (user stack: %s%s)\n", why,
			   block->first->on_cpu && v->samples ? "; ebreport callgraph has samples"
							      : "");
	out_printf(v->out, "\n");
	return NULL;
}

/* Those of the same moments stand together; among them, in order of process and thread. */
static struct ebt_error *print(const struct thread_view *v)
{
	static const struct {
		unsigned int moments;
		const char *title;
	} sections[] = {
		{ THREAD_BEGIN | THREAD_END, "At the beginning and at the end" },
		{ THREAD_BEGIN, "At the beginning" },
		{ THREAD_END, "At the end" },
	};
	struct thread_blocks b = { 0 };
	struct ebt_error *err = make_blocks(v, &b);
	const uint64_t top = v->report->options->top ?: UINT64_MAX;
	uint64_t n = 0;

	for (size_t s = 0; !err && s < sizeof(sections) / sizeof(sections[0]); s++) {
		bool titled = false;

		for (size_t i = 0; !err && i < b.n; i++) {
			if (b.list[i].moments != sections[s].moments || n++ >= top)
				continue;
			if (!titled)
				out_printf(v->out, "%s:\n\n", sections[s].title);
			titled = true;
			err = print_block(v, &b, &b.list[i]);
		}
	}
	if (n > top)
		out_printf(v->out, "%" PRIu64 " more stack%s (--top shows more).\n", n - top,
			   text_plural(n - top, "", "s"));
	blocks_deinit(&b);
	return err;
}

/* --- the command --- */

static struct ebt_error *tell_missing(const struct thread_view *v)
{
	uint64_t left_out = 0;

	for (size_t i = 0; i < v->n; i++)
		left_out += v->all[i].user == EBT_V_thread_stack_user_left_out;
	if (left_out)
		return trace_warn(v->report->trace,
				  "%" PRIu64 " user %s not walked: there were too many "
				  "threads for the time that ebrec takes",
				  left_out, text_plural(left_out, "stack was", "stacks were"));
	if (v->n)
		return NULL;
	if (ebt_reader_has_rows(trace_reader(v->report->trace), EBT_T_thread_stack))
		return trace_warn(v->report->trace,
				  "none of these threads was there, in this part, when ebrec "
				  "looked: as it began, and as it ended");
	return trace_warn(
		v->report->trace,
		"the trace does not say where threads were: ebrec looks at those that are "
		"there when it begins (-p, --cgroup, -a) and when it ends");
}

static struct ebt_error *tell_nameless(const struct thread_view *v)
{
	_cleanup_nameless_ struct nameless nameless = { 0 };
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < v->n; i++) {
		if (!is_shown(v, &v->all[i]))
			continue;
		for (uint32_t at = v->all[i].frame; !err && at; at = v->frames[at].parent)
			err = nameless_add(&nameless, v->frames[at].func->object,
					   v->frames[at].func->reason, 1);
	}
	return err ? err : nameless_warn(&nameless, v->report->trace);
}

static unsigned int moments(const struct options *o)
{
	const char *at = options_string(o, "at");

	return !at ? THREAD_BEGIN | THREAD_END : *at == 'b' ? THREAD_BEGIN : THREAD_END;
}

static struct ebt_error *cmd_threads(struct report *report)
{
	const bool text = out_format(report->out) == FORMAT_TABLE;
	_cleanup_(threads_destroyp) struct threads *threads = NULL;
	struct thread_view v = { .report = report, .out = report->out };
	const char *machine;
	struct ebt_error *err;

	if (text && report->options->sort)
		return ebt_error_create(EBT_ERR_INVALID,
					"stacks are not sorted: use --sort with --json or --csv");
	err = ebt_reader_meta(trace_reader(report->trace), "host.machine", &machine)
		      ?: trace_names(report->trace, &v.names)
		      ?: trace_programs(report->trace, &v.programs)
		      ?: threads_read(report->trace, moments(report->options), &threads);
	if (!err && !options_flag(report->options, "all"))
		err = trace_find_kernel_threads(report->trace);
	if (err)
		return err;
	v.samples = ebt_reader_has_rows(trace_reader(report->trace), EBT_T_sample);
	v.machine = machine ? syscall_machine(machine) : NULL;
	v.threads = threads;
	v.all = threads_all(threads, &v.n);
	v.frames = threads_frames(threads);
	err = text ? print(&v) : put_rows(&v);
	return err ?: tell_nameless(&v) ?: tell_missing(&v);
}

static const char *const ats[] = { "begin", "end", NULL };

static const struct option_def threads_options[] = {
	{ "at", OPTION_CHOICE, "MOMENT", "only those at this moment", ats },
	{ "all", OPTION_FLAG, NULL, "as --kernel-threads" },
	{ 0 },
};

const struct command command_threads = {
	.name = "threads",
	.fn = cmd_threads,
	.flags = COMMAND_NO_INTERVALS,
	.summary = "where each thread was, with its stack, at the beginning and at the end",
	.elsewhere = "bt backtrace stacks stack jstack pstack",
	.help = "What each thread was doing as the recording began and ended: its state and since\n"
		"when, the system call that it was in, and its stack, functions of the kernel\n"
		"first. Threads of the same stack stand together. Of one that waits for a mutex "
		"of\n"
		"glibc without a time limit it says which, and who holds it. A thread that was\n"
		"running has no stack here: see `ebreport callgraph`. Functions of Python stand\n"
		"where its interpreter would, with the line that they had come to.\n"
		"\n"
		"  ebrec -p PID -d 1 && ebreport threads trace.ebt\n"
		"  ebreport threads --at end --comm worker t.ebt\n"
		"  ebreport callgraph --event thread_stack t.ebt\n",
	.options = threads_options,
};
