/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport faults`: page faults by process or thread, by mapping, by stack. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/memory/model_faults.h"
#include "report/out/narrow.h"
#include "report/stacks/calltree_trace.h"
#include "report/stacks/out_stacks.h"
#include "report/trace/prepare.h"

#define DEFAULT_STACKS 20 /* printed without --top */

DEFINE_CLEANUP(struct calltree *, calltree_destroy);

enum {
	COL_PID,
	COL_TID,
	COL_COMM,
	COL_MAPPING,
	COL_DEVICE,
	COL_INODE,
	COL_MINOR,
	COL_MAJOR,
	COL_TOTAL,
	COL_MINOR_RATE,
	COL_MAJOR_RATE,
	COL_RATE,
	COL_TIME,
	COL_MAJOR_TIME,
	COL_MAX,
	COL_MAX_AT,
	COL_WRITES,
	COL_KERNEL,
	COL_SILENT,
	N_COLUMNS,
};

static const struct out_column all_columns[N_COLUMNS] = {
	[COL_PID] = { "pid", "PID", OUT_U64, 0 },
	[COL_TID] = { "tid", "TID", OUT_U64, 0 },
	[COL_COMM] = { "comm", "COMM", OUT_STRING, OUT_FLEX },
	[COL_MAPPING] = { "mapping", "MAPPING", OUT_STRING, OUT_FLEX },
	[COL_DEVICE] = { "device", NULL, OUT_STRING, OUT_DETAIL },
	[COL_INODE] = { "inode", NULL, OUT_U64, OUT_DETAIL },
	[COL_MINOR] = { "minor", "MINOR", OUT_U64, 0 },
	[COL_MAJOR] = { "major", "MAJOR", OUT_U64, 0 },
	[COL_TOTAL] = { "total", "TOTAL", OUT_U64, OUT_SORT },
	[COL_MINOR_RATE] = { "minor_per_s", "MINOR/s", OUT_FLOAT, 0 },
	[COL_MAJOR_RATE] = { "major_per_s", "MAJOR/s", OUT_FLOAT, 0 },
	[COL_RATE] = { "total_per_s", "TOTAL/s", OUT_FLOAT, 0 },
	[COL_TIME] = { "time_ns", "TIME", OUT_DURATION, 0 },
	[COL_MAJOR_TIME] = { "major_ns", "IN MAJOR", OUT_DURATION, 0 },
	[COL_MAX] = { "max_ns", "MAX", OUT_DURATION, 0 },
	[COL_MAX_AT] = { "max_at_ns", "MAX AT", OUT_TIME, 0 },
	[COL_WRITES] = { "writes", "WRITES", OUT_U64, 0 },
	[COL_KERNEL] = { "in_kernel", "IN KERNEL", OUT_U64, 0 },
	[COL_SILENT] = { "silent", "SILENT", OUT_U64, 0 },
};

static const struct narrow narrow_table[] = {
	{ "max_at_ns", 150 },  { "silent", 140 },      { "in_kernel", 130 },
	{ "writes", 118 },     { "minor_per_s", 108 }, { "major_per_s", 98 },
	{ "total_per_s", 90 }, { "max_ns", 80 },       { NULL, 0 },
};

static void clear_values(struct out_value *values)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		values[i] = out_null();
}

static struct out_value rate(const struct trace *trace, uint64_t n)
{
	uint64_t ns = trace_to_ns(trace) - trace_from_ns(trace);

	return out_f64(ns ? (double)n * 1e9 / (double)ns : 0);
}

static void set_figures(const struct trace *trace, const struct fault_sum *sum,
			struct out_value *values)
{
	values[COL_MINOR] = out_u64(sum->minor);
	values[COL_MAJOR] = out_u64(sum->major);
	values[COL_TOTAL] = out_u64(sum->minor + sum->major);
	values[COL_MINOR_RATE] = rate(trace, sum->minor);
	values[COL_MAJOR_RATE] = rate(trace, sum->major);
	values[COL_RATE] = rate(trace, sum->minor + sum->major);
	values[COL_TIME] = out_u64(sum->ns);
	values[COL_MAJOR_TIME] = out_u64(sum->major_ns);
	values[COL_MAX] = out_u64(sum->max_ns);
	values[COL_MAX_AT] = sum->max_ns ? out_u64(sum->max_at) : out_null();
	values[COL_WRITES] = out_u64(sum->writes);
	values[COL_KERNEL] = out_u64(sum->kernel);
	values[COL_SILENT] = out_u64(sum->silent);
}

/* The columns of one way to group; *ret_from maps them to all columns. */
static size_t choose_columns(const struct out *out, enum faults_by by, struct out_column *ret,
			     size_t *ret_from)
{
	size_t n = 0;

	for (size_t i = 0; i < N_COLUMNS; i++) {
		bool task = i == COL_PID || i == COL_COMM;
		bool mapping = i == COL_MAPPING || i == COL_DEVICE || i == COL_INODE;

		if ((task && by == FAULTS_BY_MAPPING) || (mapping && by != FAULTS_BY_MAPPING) ||
		    (i == COL_TID && by != FAULTS_BY_THREAD))
			continue;
		ret_from[n] = i;
		ret[n++] = all_columns[i];
	}
	narrow_columns(out, narrow_table, ret, n);
	return n;
}

/* --- by process or thread --- */

static void set_task(const struct fault_model *model, size_t i, bool thread,
		     struct out_value *values)
{
	const struct task_groups *tasks = fault_model_tasks(model);
	const struct ebt_task *task = task_groups_task(tasks, i);

	if (!task) {
		values[COL_COMM] = out_cstr("(not known)");
		return;
	}
	values[COL_PID] = out_u64(task->pid);
	if (thread)
		values[COL_TID] = out_u64(task->tid);
	values[COL_COMM] = out_str(task_groups_name(tasks, i));
}

/* --- by mapping --- */

static void add_mapping(const struct inode_paths *paths, const struct fault_mapping *mapping,
			struct text *text)
{
	static const char *const kinds[] = {
		[EBT_V_fault_mapping_not_known] = "(not known)",
		[EBT_V_fault_mapping_anonymous] = "[anon]",
		[EBT_V_fault_mapping_heap] = "[heap]",
		[EBT_V_fault_mapping_stack] = "[stack]",
		[EBT_V_fault_mapping_special] = "[special]",
		[EBT_V_fault_mapping_file] = NULL,
	};

	if (mapping->kind == FAULT_SILENT)
		text_cstr(text, "(filled by the kernel)");
	else if (mapping->kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[mapping->kind])
		text_cstr(text, kinds[mapping->kind]);
	else if (mapping->kind < sizeof(kinds) / sizeof(kinds[0]))
		inode_paths_add(paths, &mapping->file, text);
	else
		text_cstr(text, kinds[EBT_V_fault_mapping_not_known]);
}

static void set_mapping(const struct fault_mapping *mapping, const struct text *name,
			const struct text *device, struct out_value *values)
{
	values[COL_MAPPING] = out_str((struct ebt_str){ text_get(name), name->len });
	if (!mapping->file.inode)
		return;
	values[COL_DEVICE] = out_cstr(text_get(device));
	values[COL_INODE] = out_u64(mapping->file.inode);
}

static struct ebt_error *put_rows(struct report *report, enum faults_by by,
				  const struct fault_model *model, const struct inode_paths *paths)
{
	struct out_column columns[N_COLUMNS];
	size_t from[N_COLUMNS], n_columns, n;
	const struct fault_group *groups = fault_model_groups(model, &n);
	struct out_table table = { .key = "rows", .columns = columns };
	struct ebt_error *err;

	n_columns = choose_columns(report->out, by, columns, from);
	table.n_columns = n_columns;
	err = out_begin(report->out, &table);
	for (size_t i = 0; !err && i < n; i++) {
		_cleanup_text_ struct text name = TEXT_INIT, device = TEXT_INIT;
		struct out_value values[N_COLUMNS], row[N_COLUMNS];

		clear_values(values);
		set_figures(report->trace, &groups[i].sum, values);
		if (by == FAULTS_BY_MAPPING) {
			const struct fault_mapping *mapping = &groups[i].mapping;

			add_mapping(paths, mapping, &name);
			text_printf(&device, "%" PRIu32 ":%" PRIu32, mapping->file.dev_major,
				    mapping->file.dev_minor);
			set_mapping(mapping, &name, &device, values);
		} else {
			set_task(model, i, by == FAULTS_BY_THREAD, values);
		}
		for (size_t c = 0; c < n_columns; c++)
			row[c] = values[from[c]];
		err = out_row_n(report->out, 0, row, n_columns);
	}
	return err ? err : out_end(report->out);
}

/* --- by stack --- */

static int compare_groups(const void *a, const void *b)
{
	const struct fault_group *x = a, *y = b;
	uint64_t of_x = x->sum.minor + x->sum.major, of_y = y->sum.minor + y->sum.major;

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void print_stack(struct out *out, const struct calltree *tree,
			const struct fault_group *group, uint64_t all)
{
	const struct fault_sum *sum = &group->sum;
	uint64_t total = sum->minor + sum->major;
	_cleanup_text_ struct text line = TEXT_INIT;

	text_printf(&line, "%" PRIu64 " minor, %" PRIu64 " major (%.1f %%), %" PRIu64 " writes, ",
		    sum->minor, sum->major, all ? 100.0 * (double)total / (double)all : 0.0,
		    sum->writes);
	text_duration(&line, sum->ns);
	text_cstr(&line, ", longest ");
	text_duration(&line, sum->max_ns);
	out_printf(out, "%s\n", text_get(&line));
	out_stack_frames(out, tree, group->node);
}

static const struct out_column stack_columns[] = {
	{ "minor", "MINOR", OUT_U64, 0 },     { "major", "MAJOR", OUT_U64, 0 },
	{ "writes", "WRITES", OUT_U64, 0 },   { "time_ns", "TIME", OUT_DURATION, 0 },
	{ "max_ns", "MAX", OUT_DURATION, 0 }, { "max_at_ns", "MAX AT", OUT_TIME, 0 },
	{ "stack", "STACK", OUT_STRING, 0 },
};
#define N_STACK_COLUMNS (sizeof(stack_columns) / sizeof(stack_columns[0]))

static struct ebt_error *put_stack_row(struct out *out, const struct calltree *tree,
				       const struct fault_group *group)
{
	const struct fault_sum *sum = &group->sum;
	_cleanup_text_ struct text path = TEXT_INIT;

	stack_joined(&path, tree, group->node);
	if (text_error(&path))
		return text_error(&path);
	return out_row(out, 0,
		       (struct out_value[]){
			       out_u64(sum->minor),
			       out_u64(sum->major),
			       out_u64(sum->writes),
			       out_u64(sum->ns),
			       out_u64(sum->max_ns),
			       sum->max_ns ? out_u64(sum->max_at) : out_null(),
			       out_str((struct ebt_str){ text_get(&path), path.len }),
		       });
}

static struct ebt_error *put_groups(struct report *report, const struct calltree *tree,
				    const struct fault_group *groups, size_t n, uint64_t all)
{
	struct out *out = report->out;
	const struct out_table table = {
		out_format(out) == FORMAT_CSV ? "rows" : "stacks",
		NULL,
		stack_columns,
		N_STACK_COLUMNS,
		NULL,
		OUT_FIXED | OUT_KEEP_ORDER,
	};
	uint64_t top = report->options->top;
	struct ebt_error *err;

	if (out_format(out) == FORMAT_TABLE) {
		top = top ? top : DEFAULT_STACKS;
		for (size_t i = 0; i < n && i < top; i++)
			print_stack(out, tree, &groups[i], all);
		if (n > top)
			out_printf(out, "%" PRIu64 " more stacks (--top shows them).\n",
				   (uint64_t)n - top);
		return NULL;
	}
	err = out_begin(out, &table);
	for (size_t i = 0; !err && i < n && (!top || i < top); i++)
		err = put_stack_row(out, tree, &groups[i]);
	return err ? err : out_end(out);
}

static struct ebt_error *put_stacks(struct report *report)
{
	_cleanup_(fault_model_destroyp) struct fault_model *model = NULL;
	_cleanup_(calltree_destroyp) struct calltree *tree = NULL;
	_cleanup_free_ struct fault_group *sorted = NULL;
	const struct fault_group *groups;
	struct ebt_error *err;
	uint64_t all = 0;
	size_t n;

	err = calltree_create_for(report->trace, CALLTREE_BY_COMM, &tree);
	if (!err)
		err = prepare_names(report->trace, EBT_T_fault, 0);
	if (!err)
		err = fault_model_create(report->trace, FAULTS_BY_STACK, tree, &model);
	if (err)
		return err;
	groups = fault_model_groups(model, &n);
	sorted = calloc(n + 1, sizeof(*sorted));
	if (!sorted)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		sorted[i] = groups[i];
		all += groups[i].sum.minor + groups[i].sum.major;
	}
	qsort(sorted, n, sizeof(*sorted), compare_groups);
	return put_groups(report, tree, sorted, n, all);
}

/* --- the command --- */

static const char *const groupings[] = { "process", "thread", "mapping", NULL };

static enum faults_by chosen_grouping(const struct options *options)
{
	const char *by = options_string(options, "by");

	if (by && !strcmp(by, "thread"))
		return FAULTS_BY_THREAD;
	return by && !strcmp(by, "mapping") ? FAULTS_BY_MAPPING : FAULTS_BY_PROCESS;
}

static struct ebt_error *put_table(struct report *report)
{
	_cleanup_(fault_model_destroyp) struct fault_model *model = NULL;
	_cleanup_(inode_paths_destroyp) struct inode_paths *paths = NULL;
	enum faults_by by = chosen_grouping(report->options);
	const struct fault_sum *all;
	struct ebt_error *err = NULL;

	if (by == FAULTS_BY_MAPPING)
		err = inode_paths_create(report->trace, &paths);
	if (!err)
		err = fault_model_create(report->trace, by, NULL, &model);
	if (!err)
		err = put_rows(report, by, model, paths);
	if (err)
		return err;
	all = fault_model_all(model);
	out_printf(report->out, "%" PRIu64 " minor and %" PRIu64 " major faults", all->minor,
		   all->major);
	if (all->silent)
		out_printf(report->out,
			   ", %" PRIu64 " of them silent: the kernel filled the memory itself",
			   all->silent);
	out_printf(report->out, ".\n");
	return NULL;
}

static struct ebt_error *cmd_faults(struct report *report)
{
	bool stacks = options_flag(report->options, "stacks");
	struct ebt_error *err = NULL;

	if (stacks && options_string(report->options, "by") &&
	    out_format(report->out) != FORMAT_JSON)
		return ebt_error_create(EBT_ERR_INVALID, "--stacks and --by exclude each other");
	if (!stacks || out_format(report->out) == FORMAT_JSON)
		err = put_table(report);
	if (!err && stacks)
		err = put_stacks(report);
	return err;
}

static const struct option_def faults_options[] = {
	{ "by", OPTION_CHOICE, "WHAT", "process (default), thread or mapping", groupings },
	{ "stacks", OPTION_FLAG, NULL, "by stack (JSON: besides)", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_faults = {
	.name = "faults",
	.fn = cmd_faults,
	.summary = "page faults by process, by mapping and by stack",
	.help = "Record with `ebrec -e fault`. MINOR and MAJOR are as the kernel counts them, and\n"
		"as getrusage() gives them to the program: a major fault had to wait for a disk,\n"
		"or for somebody who did. TIME: from the exception until the program could go on;\n"
		"IN MAJOR: of that, in major ones. WRITES: faults that tried to write. IN KERNEL:\n"
		"a system call touched the memory, as read() does. SILENT: counted by the kernel\n"
		"where the program had no fault, since memory was filled for it (MAP_POPULATE,\n"
		"mlock(), direct I/O, arguments of exec); known at its next fault, or its end.\n"
		"\n"
		"  ebreport faults t.ebt\n"
		"  ebreport faults --by mapping --pid 1234 t.ebt\n"
		"  ebreport faults --interval 1s --sort major t.ebt\n"
		"  ebreport faults --stacks --top 5 t.ebt\n",
	.options = faults_options,
};
