/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace with the filters of the command line; see trace.h. Warnings are in warnings.c. */
#include "report/trace/private.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/array.h"
#include "report/base/names.h"
#include "report/cli/command.h"
#include "report/trace/complete_stacks.h"
#include "report/trace/cut_lists.h"
#include "report/trace/programs.h"
#include "symbolize/symbolize.h"

/* Batches whose tasks were looked at: more than can overlap in practice, so that each batch is
 * looked at once. */
#define SLOTS 64

/* Where the fields of one table are that filters look at. */
struct filter {
	const struct ebt_table *table;
	uint8_t tasks[EBT_MAX_FIELDS];
	uint32_t n_tasks;
	int cpu; /* -1: the table has no such field */
};

/* What filters say about the task dictionary of one batch. */
struct slot {
	uint64_t batch;
	const struct filter *filter; /* NULL: unused */
	bool *wanted;		     /* by value of a TASK column: [0] is none */
	size_t capacity;
};

struct trace_cursor {
	struct trace *trace;
	struct ebt_cursor *cursor;
	struct complete_stacks stacks;
	bool check_tasks, check_cpus;
	struct filter *filters;
	size_t n_filters;
	struct slot slots[SLOTS];
};

/* Times count from when the first machine of a file began. */
static uint64_t resolve_time(const struct option_time *time, const struct ebt_reader_info *info)
{
	const uint64_t start = info->start_ns, end = info->end_ns;
	uint64_t offset = time->ns > info->later_ns ? time->ns - info->later_ns : 0;

	/* Rounding must not carry a share beyond what it is of. */
	if (time->percent) {
		double part = (double)(end - start) * time->share;

		offset = part < (double)(end - start) ? (uint64_t)part : end - start;
	}
	return start > UINT64_MAX - offset ? UINT64_MAX : start + offset;
}

uint64_t trace_option_ns(const struct trace *trace, const struct option_time *time)
{
	return resolve_time(time, ebt_reader_info(trace->reader));
}

/* Whatever the trace. A window may be before its machine began. */
static bool is_backwards(const struct options *options)
{
	const struct option_time *from = &options->from, *to = &options->to;

	if (!from->set || !to->set || from->percent != to->percent)
		return false;
	return from->percent ? to->share <= from->share : to->ns <= from->ns;
}

/* Names and times that are shares or ends need the whole trace. */
static bool can_be_live(const struct options *options)
{
	struct stat st;

	if (!(options->command->flags & COMMAND_LIVE) || options->whole ||
	    options_flag(options, "symbols") || options->from.set || options->to.set ||
	    options->host)
		return false;
	if (strcmp(options->file, "-") == 0)
		return !fstat(STDIN_FILENO, &st) && !S_ISREG(st.st_mode);
	return !stat(options->file, &st) && !S_ISREG(st.st_mode);
}

static bool window_ends(const struct ebt_reader_info *info)
{
	return ebt_window_is_set(&info->window) && info->window.to != UINT64_MAX;
}

/* Rows as they are, and copies of all of them: also those from outside the recording's own time. */
static bool is_whole(const struct options *options)
{
	return options->command->flags & COMMAND_COPY ||
	       (options->command->flags & COMMAND_ALL_ROWS && !options->recorded_time);
}

static void set_window(struct trace *trace, uint64_t from, uint64_t to, unsigned int place)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace->reader);
	const bool whole = is_whole(trace->options);

	trace->from = from;
	trace->to = to;
	trace->asked_from = (trace->options->from.set && (whole || from > info->start_ns)) ||
			    info->window.from || !(place & TRACE_FIRST_WINDOW);
	trace->asked_to = (trace->options->to.set && (whole || to <= info->end_ns)) ||
			  window_ends(info) || !(place & TRACE_LAST_WINDOW);
	trace->cut_from = trace->asked_from || (info->start_told && !whole);
	trace->cut_to = trace->asked_to || (info->end_told && !whole);
	trace->window_place = place;
}

/* One more than the last time that there is. */
static uint64_t find_end(const struct options *options, const struct ebt_reader_info *info)
{
	const uint64_t end =
		is_whole(options) && !window_ends(info) ? info->recorded_to_ns : info->end_ns;

	return end < UINT64_MAX ? end + 1 : end;
}

static struct ebt_error *open_reader(struct trace *trace)
{
	const struct options *options = trace->options;
	struct ebt_error *err;

	trace->live = can_be_live(options);
	err = trace->live ? ebt_reader_open_live(options->file, &trace->reader)
			  : ebt_reader_open(options->file, &trace->reader);
	if (!err && (trace_n_hosts(trace) || !(options->command->flags & COMMAND_COMPARES)))
		err = trace_find_host(trace->reader, options->host);
	return err;
}

/* The window, and what a part says of itself. */
static struct ebt_error *find_window(struct trace *trace)
{
	const struct options *options = trace->options;
	const struct ebt_reader_info *info;
	struct ebt_error *err = NULL;

	if (!trace->live) /* what is still being written says it at its end */
		err = cut_list_read(trace->reader, CUT_PIDS, &trace->cut_pids)
			      ?: cut_list_read(trace->reader, CUT_TABLES, &trace->cut_tables);
	if (err)
		return err;
	info = ebt_reader_info(trace->reader);
	trace->from = info->start_ns;
	if (options->from.set)
		trace->from = resolve_time(&options->from, info);
	else if (is_whole(options) && !info->window.from)
		trace->from = info->recorded_ns;
	trace->to = find_end(options, info);
	trace->whole_from = trace->from;
	if (options->to.set)
		trace->to = resolve_time(&options->to, info);
	/* What came behind the end that was asked for is in no report, however late --to is. */
	if (info->end_told && trace->to > find_end(options, info))
		trace->to = find_end(options, info);
	if (window_ends(info) && trace->to > info->window.to)
		trace->to = info->window.to;
	set_window(trace, trace->from, trace->to, TRACE_FIRST_WINDOW | TRACE_LAST_WINDOW);
	if (is_backwards(options) ||
	    (options->from.set && options->to.set && trace->to <= trace->from && !info->later_ns))
		return ebt_error_create(EBT_ERR_INVALID, "--to is not later than --from");
	return NULL;
}

static struct ebt_error *open_trace(const struct options *options, struct trace *beside,
				    struct trace **ret)
{
	_cleanup_(trace_closep) struct trace *trace = calloc(1, sizeof(*trace));
	struct ebt_error *err = NULL;

	if (!trace)
		return &ebt_enomem;
	trace->options = options;
	trace->beside = beside;
	if (beside)
		trace->reader = beside->reader;
	else
		err = open_reader(trace);
	err = err ?: find_window(trace);
	if (!err)
		*ret = take_ptr(trace);
	return err;
}

struct ebt_error *trace_open(const struct options *options, struct trace **ret)
{
	return open_trace(options, NULL, ret);
}

struct ebt_error *trace_open_beside(const struct options *options, struct trace *beside,
				    struct trace **ret)
{
	return open_trace(options, beside, ret);
}

static void destroy_kept(struct trace *trace)
{
	while (trace->kept) {
		struct trace_state *state = trace->kept;

		trace->kept = state->next;
		state->destroy(state);
	}
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	destroy_kept(trace);
	for (size_t i = 0; i < trace->n_notes; i++)
		free(trace->notes[i].text);
	for (size_t i = 0; i < trace->n_warnings; i++)
		free(trace->warnings[i]);
	for (size_t i = 0; i < trace->n_remarks; i++)
		free(trace->remarks[i]);
	free(trace->notes);
	free(trace->remarks);
	free(trace->warnings);
	programs_destroy(trace->programs);
	free(trace->verdicts);
	free(trace->cut_pids.v);
	free(trace->cut_tables.v);
	names_destroy(trace->names);
	sym_destroy(trace->sym);
	if (!trace->beside)
		ebt_reader_close(trace->reader);
	free(trace);
}

bool trace_is_live(const struct trace *trace)
{
	return trace->live;
}

struct ebt_error *trace_more(struct trace *trace, uint64_t *ret_until, bool *ret_end)
{
	struct ebt_error *err = ebt_reader_more(trace->reader, ret_end);
	const struct ebt_chunk_info *chunks;
	size_t n;

	if (err)
		return err;
	chunks = ebt_reader_chunks(trace->reader, &n);
	for (; trace->seen < n; trace->seen++) {
		if (chunks[trace->seen].watermark > trace->until)
			trace->until = chunks[trace->seen].watermark;
	}
	*ret_until = trace->until;
	return NULL;
}

struct ebt_reader *trace_reader(const struct trace *trace)
{
	return trace->reader;
}

uint64_t trace_start_ns(const struct trace *trace)
{
	return ebt_reader_info(trace->reader)->start_ns;
}

uint64_t trace_recorded_ns(const struct trace *trace)
{
	return ebt_reader_info(trace->reader)->recorded_ns;
}

uint64_t trace_end_ns(const struct trace *trace)
{
	return ebt_reader_info(trace->reader)->end_ns;
}

uint64_t trace_from_ns(const struct trace *trace)
{
	return trace->from;
}

uint64_t trace_to_ns(const struct trace *trace)
{
	return trace->to;
}

uint64_t trace_window_end_ns(const struct trace *trace)
{
	uint64_t end = trace_end_ns(trace);

	return trace->to < end ? trace->to : end;
}

uint64_t trace_window_ns(const struct trace *trace)
{
	uint64_t end = trace_window_end_ns(trace);

	return end > trace->from ? end - trace->from : 0;
}

void trace_set_window(struct trace *trace, uint64_t from, uint64_t to, unsigned int place)
{
	set_window(trace, from, to, place);
	trace->window++;
}

void trace_look_at(struct trace *trace, uint64_t from, uint64_t to)
{
	set_window(trace, from, to, TRACE_FIRST_WINDOW | TRACE_LAST_WINDOW);
}

uint64_t trace_whole_from_ns(const struct trace *trace)
{
	return trace->whole_from;
}

uint64_t trace_rows_to_ns(const struct trace *trace)
{
	return trace->cut_to ? trace->to : UINT64_MAX;
}

bool trace_has_before(const struct trace *trace)
{
	return trace->cut_from && trace->from > trace_recorded_ns(trace);
}

bool trace_has_behind(const struct trace *trace)
{
	return trace->cut_to && trace->to <= trace_end_ns(trace);
}

bool trace_has_more(const struct trace *trace)
{
	return !(trace->window_place & TRACE_LAST_WINDOW);
}

void trace_keep(struct trace *trace, struct trace_state *state)
{
	struct trace_state **end = &trace->kept;

	while (*end)
		end = &(*end)->next;
	state->window = trace->window;
	*end = state;
}

struct trace_state *trace_kept(struct trace *trace, void (*destroy)(struct trace_state *state))
{
	struct trace_state *state = trace->kept;

	while (state && (state->destroy != destroy || state->window == trace->window))
		state = state->next;
	if (state)
		state->window = trace->window;
	return state;
}

bool trace_is_cut(const struct trace *trace)
{
	return trace->cut_from || trace->cut_to;
}

bool trace_overlaps(const struct trace *trace, uint64_t from, uint64_t to)
{
	return (!trace->cut_from || to >= trace->from) && (!trace->cut_to || from < trace->to);
}

bool trace_is_part(const struct trace *trace)
{
	return ebt_window_is_set(&ebt_reader_info(trace->reader)->window);
}

bool trace_has_rows(const struct trace *trace, uint16_t table)
{
	return ebt_reader_has_rows(trace->reader, table) ||
	       option_u32s_has(&trace->cut_tables, table);
}

bool trace_has_task_filter(const struct trace *trace)
{
	return trace->options->pids.n || trace->options->tids.n || trace->options->comms.n ||
	       trace->cut_pids.n;
}

bool trace_has_pid_filter(const struct trace *trace)
{
	return trace->options->pids.n || trace->cut_pids.n;
}

bool trace_has_cpu_filter(const struct trace *trace)
{
	return trace->options->cpu_first.n;
}

static bool list_has(const struct option_u32s *list, uint32_t v)
{
	return !list->n || option_u32s_has(list, v);
}

/* Names of threads are at most 15 bytes (63 for kernel workers); longer ones are compared as far
 * as they fit. */
static bool comm_matches(const struct option_strings *globs, struct ebt_str comm)
{
	char name[256];
	size_t len = comm.len < sizeof(name) - 1 ? comm.len : sizeof(name) - 1;

	if (!globs->n)
		return true;
	memcpy(name, comm.data, len);
	name[len] = '\0';
	for (size_t i = 0; i < globs->n; i++) {
		if (!fnmatch(globs->v[i], name, 0))
			return true;
	}
	return false;
}

bool trace_task_wanted(struct trace *trace, const struct ebt_task *task)
{
	const struct options *o = trace->options;
	bool wanted;

	if (!trace_has_task_filter(trace))
		return true;
	wanted = task && list_has(&o->pids, task->pid) && list_has(&trace->cut_pids, task->pid) &&
		 list_has(&o->tids, task->tid) && comm_matches(&o->comms, task->comm);
	trace->task_seen |= wanted;
	return wanted;
}

/* Of a task, whether tables of tasks leave it out. */
enum shown { NOT_ASKED, SHOWN, LEFT_OUT };

struct ebt_error *trace_find_kernel_threads(struct trace *trace)
{
	const struct programs *programs;

	if (trace->options->kernel_threads || trace_has_task_filter(trace))
		return NULL;
	trace->leaves_out = true;
	return trace_programs(trace, &programs);
}

bool trace_leaves_out(struct trace *trace, const struct ebt_task *task)
{
	const struct trace *owner;
	uint8_t *verdict;
	bool kernel;

	if (!trace->leaves_out || !task)
		return false;
	if (task->id < trace->n_verdicts && trace->verdicts[task->id])
		return trace->verdicts[task->id] == LEFT_OUT;
	owner = trace->beside ? trace->beside : trace;
	kernel = programs_is_kernel(owner->programs, task);
	if (!ebt_array_reserve_zeroed(&trace->verdicts, task->id, &trace->n_verdicts)) {
		verdict = &trace->verdicts[task->id];
		*verdict = kernel ? LEFT_OUT : SHOWN;
	}
	trace->n_left_out += kernel;
	return kernel;
}

uint64_t trace_n_left_out(const struct trace *trace)
{
	return trace->n_left_out;
}

bool trace_cpu_wanted(const struct trace *trace, uint64_t cpu)
{
	const struct options *o = trace->options;

	for (size_t i = 0; i < o->cpu_first.n; i++) {
		if (cpu >= o->cpu_first.v[i] && cpu <= o->cpu_last.v[i])
			return true;
	}
	return !o->cpu_first.n;
}

/* --- cursors --- */

uint32_t trace_filter_fields(const struct ebt_table *table, uint8_t ret[EBT_MAX_FIELDS])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < table->n_fields && i < EBT_MAX_FIELDS; i++) {
		if (table->fields[i].type != EBT_TYPE_TASK)
			continue;
		ret[n++] = (uint8_t)i;
		if (table->class == EBT_CLASS_STATE)
			break;
	}
	return n;
}

static void filter_init(struct filter *filter, const struct ebt_table *table)
{
	*filter = (struct filter){ .table = table, .cpu = ebt_field_by_name(table, "cpu") };
	filter->n_tasks = trace_filter_fields(table, filter->tasks);
}

static uint64_t filter_columns(const struct trace_cursor *cursor, const struct filter *filter)
{
	uint64_t columns = 0;

	for (uint32_t i = 0; cursor->check_tasks && i < filter->n_tasks; i++)
		columns |= UINT64_C(1) << filter->tasks[i];
	if (cursor->check_cpus && filter->cpu >= 0)
		columns |= UINT64_C(1) << filter->cpu;
	return columns;
}

void trace_tells_losses(struct trace *trace)
{
	trace->tells_losses = true;
}

void trace_note_table(struct trace *trace, uint16_t table)
{
	trace->read[table / 64] |= UINT64_C(1) << table % 64;
}

void trace_note_all(struct trace *trace)
{
	memset(trace->read, 0xff, sizeof(trace->read));
}

/* Fills the filters and the wants of the query. */
static void plan(struct trace *trace, struct trace_cursor *cursor, const struct ebt_want *wants,
		 size_t n, unsigned int flags, struct ebt_want *ret_wants)
{
	for (size_t i = 0; i < n; i++) {
		const struct ebt_table *table = ebt_reader_table(trace->reader, wants[i].table);

		ret_wants[i] = wants[i];
		if (!(flags & TRACE_QUIET))
			trace_note_table(trace, wants[i].table);
		if (!table)
			continue;
		complete_stacks_want(&cursor->stacks, &ret_wants[i]);
		filter_init(&cursor->filters[cursor->n_filters], table);
		ret_wants[i].columns |= filter_columns(cursor, &cursor->filters[cursor->n_filters]);
		cursor->n_filters++;
	}
}

/* Columns are those of the wants, and more; times are as the query has them. */
static struct ebt_error *create_cursor(struct trace *trace, const struct ebt_want *wants, size_t n,
				       struct ebt_query query, unsigned int flags,
				       struct trace_cursor **ret)
{
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = calloc(1, sizeof(*cursor));
	_cleanup_free_ struct ebt_want *all = calloc(n + 1, sizeof(*all));
	const struct options *options = trace->options;
	const struct option_u32s *pids;
	struct ebt_error *err;

	if (!cursor || !all)
		return &ebt_enomem;
	cursor->filters = calloc(n + 1, sizeof(*cursor->filters));
	if (!cursor->filters)
		return &ebt_enomem;
	cursor->trace = cursor->stacks.trace = trace;
	cursor->check_tasks = trace_has_task_filter(trace) && !(flags & TRACE_ALL_TASKS);
	cursor->check_cpus = trace_has_cpu_filter(trace) && !(flags & TRACE_ALL_CPUS);
	plan(trace, cursor, wants, n, flags, all);
	query.wants = all;
	query.n_wants = n;
	pids = options->pids.n ? &options->pids : &trace->cut_pids;
	if (cursor->check_tasks && pids->n == 1)
		query.pid = pids->v[0];
	err = ebt_cursor_create(trace->reader, &query, &cursor->cursor);
	if (err)
		return err;
	*ret = take_ptr(cursor);
	return NULL;
}

/* What was there is told a little before the recording begins, and a little behind its end: only
 * a shorter window leaves rows of that out. */
struct ebt_error *trace_cursor_create(struct trace *trace, const struct ebt_want *wants, size_t n,
				      unsigned int flags, struct trace_cursor **ret)
{
	const uint32_t meta = 1 << EBT_CLASS_META;
	const uint32_t state = flags & TRACE_STATE_INSIDE ? 0 : 1 << EBT_CLASS_STATE;
	const struct ebt_query query = {
		.from_ns = trace->cut_from && !(flags & TRACE_FROM_START) ? trace->from : 0,
		.to_ns = trace->cut_to && !(flags & TRACE_TO_END) ? trace->to : 0,
		.any_from = trace->asked_from ? meta : meta | state,
		.any_to = trace->asked_to ? meta : meta | state,
	};

	return create_cursor(trace, wants, n, query, flags, ret);
}

struct ebt_error *trace_cursor_create_at(struct trace *trace, const struct ebt_want *wants,
					 size_t n, uint64_t from, uint64_t to,
					 struct trace_cursor **ret)
{
	const struct ebt_query query = {
		.from_ns = from,
		.to_ns = to,
		.any_from = 1 << EBT_CLASS_META,
		.any_to = 1 << EBT_CLASS_META,
	};

	return create_cursor(trace, wants, n, query, TRACE_ALL_TASKS | TRACE_ALL_CPUS | TRACE_QUIET,
			     ret);
}

void trace_cursor_destroy(struct trace_cursor *cursor)
{
	if (!cursor)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		free(cursor->slots[i].wanted);
	free(cursor->filters);
	complete_stacks_deinit(&cursor->stacks);
	ebt_cursor_destroy(cursor->cursor);
	free(cursor);
}

/* Asks the filters about every task of the batch at once. */
static struct ebt_error *slot_fill(struct trace_cursor *cursor, struct slot *slot,
				   const struct ebt_batch *batch)
{
	struct ebt_error *err;

	slot->filter = NULL;
	for (size_t i = 0; i < cursor->n_filters; i++) {
		if (cursor->filters[i].table->id == batch->table->id)
			slot->filter = &cursor->filters[i];
	}
	slot->batch = batch->id;
	if (!cursor->check_tasks)
		return NULL;
	err = ebt_array_reserve(&slot->wanted, batch->n_tasks, &slot->capacity);
	if (err)
		return err;
	slot->wanted[0] = false;
	for (uint32_t i = 0; i < batch->n_tasks; i++)
		slot->wanted[i + 1] = trace_task_wanted(cursor->trace, batch->tasks[i]);
	return NULL;
}

static bool row_passes(const struct trace_cursor *cursor, const struct slot *slot,
		       const struct ebt_row *row)
{
	const struct filter *filter = slot->filter;
	bool passes = !cursor->check_tasks || !filter->n_tasks;

	if (cursor->check_cpus && filter->cpu >= 0 &&
	    !trace_cpu_wanted(cursor->trace, ebt_u64(row, (unsigned int)filter->cpu)))
		return false;
	for (uint32_t i = 0; !passes && i < filter->n_tasks; i++)
		passes = slot->wanted[ebt_u64(row, filter->tasks[i])];
	return passes;
}

#define PROGRESS_ROWS 65536

struct ebt_error *trace_next(struct trace_cursor *cursor, struct ebt_row *ret)
{
	bool check = cursor->check_tasks || cursor->check_cpus;
	struct ebt_error *err;

	if (cursor->trace->stop) {
		cursor->trace->was_stopped = true;
		*ret = (struct ebt_row){ 0 };
		return NULL;
	}
	for (;;) {
		struct slot *slot;

		err = ebt_cursor_next(cursor->cursor, ret);
		if (err || !ret->batch)
			return err;
		err = complete_stacks_row(&cursor->stacks, ret);
		if (err)
			return err;
		if (!check)
			break;
		slot = &cursor->slots[ret->batch->id % SLOTS];
		if (!slot->filter || slot->batch != ret->batch->id) {
			err = slot_fill(cursor, slot, ret->batch);
			if (err)
				return err;
		}
		if (!slot->filter || row_passes(cursor, slot, ret))
			break;
	}
	if (!(++cursor->trace->n_read % PROGRESS_ROWS) && cursor->trace->progress)
		cursor->trace->progress(cursor->trace->progress_arg, cursor->trace, ret->time);
	cursor->trace->got[ret->batch->table->id / 64] |= UINT64_C(1) << ret->batch->table->id % 64;
	return complete_stacks_make(&cursor->stacks, ret);
}

void trace_tell_progress(struct trace *trace, trace_progress_fn *progress, void *arg)
{
	trace->progress = progress;
	trace->progress_arg = arg;
}

void trace_stop(struct trace *trace)
{
	trace->stop = true;
}

struct ebt_error trace_enough = { .message = (char *)"no more rows are wanted" };

struct ebt_error *trace_read_rows(struct trace *trace, const struct ebt_want *wants, size_t n,
				  unsigned int flags, ebt_row_fn *take, void *arg)
{
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_error *err;
	struct ebt_row row;

	err = trace_cursor_create(trace, wants, n, flags, &cursor);
	while (!err) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = take(arg, &row);
	}
	return err == &trace_enough ? NULL : err;
}

struct ebt_error *trace_read_table(struct trace *trace, uint16_t table, unsigned int flags,
				   ebt_row_fn *take, void *arg)
{
	const struct ebt_want want = { table, ~UINT64_C(0) };

	return trace_read_rows(trace, &want, 1, flags, take, arg);
}
