/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport faults`: page faults by task, by mapping, by stack. */
#include <inttypes.h>

#include "format/base/cleanup.h"
#include "report/group/group.h"

#define SILENT UINT32_MAX /* a file_kind: counted by the kernel where there was no fault */

struct fault_sum {
	uint64_t minor, major;	       /* as the kernel counts them */
	uint64_t silent;	       /* of these, what was no fault of the program's own */
	uint64_t writes, kernel;       /* faults that tried to write; in kernel mode */
	uint64_t ns, major_ns, max_ns; /* from exception to the end; of major ones; the longest */
	uint64_t max_at;	       /* when that ended */
};

static struct ebt_error *merge(void *to, const void *from)
{
	const struct fault_sum *f = from;
	struct fault_sum *t = to;

	t->minor += f->minor;
	t->major += f->major;
	t->silent += f->silent;
	t->writes += f->writes;
	t->kernel += f->kernel;
	t->ns += f->ns;
	t->major_ns += f->major_ns;
	if (f->max_ns > t->max_ns) {
		t->max_ns = f->max_ns;
		t->max_at = f->max_at;
	}
	return NULL;
}

/* --- rows --- */

static struct ebt_error *add_fault(void *arg, void *figures, uint32_t id)
{
	const struct ebt_row *row = arg;
	struct fault_sum *sum = figures;
	uint64_t ns = ebt_fault_duration(row);
	bool major = ebt_fault_kind(row) == EBT_V_fault_kind_major;

	(void)id;
	sum->major += major;
	sum->minor += !major;
	sum->major_ns += major ? ns : 0;
	sum->writes += ebt_fault_access(row) == EBT_V_fault_access_write;
	sum->kernel += !ebt_fault_user(row);
	sum->ns += ns;
	if (ns > sum->max_ns) {
		sum->max_ns = ns;
		sum->max_at = row->time;
	}
	return NULL;
}

static struct ebt_error *add_silent(void *arg, void *figures, uint32_t id)
{
	(void)id;
	return merge(figures, arg);
}

static struct ebt_error *count_silent(struct grouping *g, const struct ebt_task *task,
				      uint64_t minor, uint64_t major)
{
	const struct group_row row = { .task = task, .file_kind = SILENT, .no_stack = true };
	struct fault_sum sum = { .minor = minor, .major = major, .silent = minor + major };

	return minor || major ? grouping_add(g, &row, add_silent, &sum) : NULL;
}

static struct ebt_error *count_fault(struct grouping *g, const struct ebt_row *row)
{
	struct group_row group = { .task = ebt_fault_task(row) };
	struct calltree_stack stack = { row->batch, group.task, row->time, 0, 0 };
	struct ebt_error *err = NULL;

	if (grouping_has(g, GROUP_MAPPING)) {
		group.file_kind = (uint32_t)ebt_fault_mapping(row);
		if (group.file_kind == EBT_V_fault_mapping_file)
			group.file = INODE_KEY(fault, row);
	}
	if (grouping_tree(g)) {
		stack.kernel = ebt_fault_kstack_id(row);
		stack.user = ebt_fault_ustack_id(row);
		err = grouping_place(g, &stack, &group.node);
	}
	if (!err)
		err = grouping_add(g, &group, add_fault, (void *)row);
	return err ? err
		   : count_silent(g, group.task, ebt_fault_silent_minor(row),
				  ebt_fault_silent_major(row));
}

static struct ebt_error *count_row(void *arg, const struct ebt_row *row)
{
	if (row->batch->table->id != EBT_T_fault_rest)
		return count_fault(arg, row);
	return count_silent(arg, ebt_fault_rest_task(row), ebt_fault_rest_silent_minor(row),
			    ebt_fault_rest_silent_major(row));
}

static struct ebt_error *read_rows(struct trace *trace, struct grouping *g)
{
	struct ebt_want wants[] = {
		EBT_WANT(fault, task, kind, access, user, duration, silent_minor, silent_major),
		{ EBT_T_fault_rest, ~UINT64_C(0) },
	};

	if (grouping_has(g, GROUP_MAPPING))
		wants[0].columns |=
			EBT_COLS(fault, mapping, inode, dev_major, dev_minor, generation);
	if (grouping_tree(g))
		wants[0].columns |= EBT_COLS(fault, kstack, ustack);
	return trace_read_rows(trace, wants, 2, 0, count_row, g);
}

/* --- the table --- */

static uint64_t total(const void *figures)
{
	const struct fault_sum *sum = figures;

	return sum->minor + sum->major;
}

static const char *mapping_name(uint32_t kind)
{
	static const char *const names[] = {
		[EBT_V_fault_mapping_not_known] = "(not known)",
		[EBT_V_fault_mapping_anonymous] = "[anon]",
		[EBT_V_fault_mapping_heap] = "[heap]",
		[EBT_V_fault_mapping_stack] = "[stack]",
		[EBT_V_fault_mapping_special] = "[special]",
		[EBT_V_fault_mapping_file] = NULL,
	};

	if (kind == SILENT)
		return "(filled by the kernel)";
	return names[kind < sizeof(names) / sizeof(names[0]) ? kind : 0];
}

static void headline(const struct grouping *g, const void *figures, uint64_t all, struct text *text)
{
	const struct fault_sum *sum = figures;

	(void)g;
	text_printf(text, "%" PRIu64 " minor, %" PRIu64 " major (%.1f %%), %" PRIu64 " %s, ",
		    sum->minor, sum->major, all ? 100.0 * (double)total(sum) / (double)all : 0.0,
		    sum->writes, text_plural(sum->writes, "write", "writes"));
	text_duration(text, sum->ns);
	text_cstr(text, ", longest ");
	text_duration(text, sum->max_ns);
}

#define FIGURES(X)                                                                            \
	X("minor", "MINOR", OUT_U64, out_u64(sum->minor), OUT_ADDS)                           \
	X("major", "MAJOR", OUT_U64, out_u64(sum->major), OUT_ADDS)                           \
	X("total", "TOTAL", OUT_U64, out_u64(total(sum)), OUT_SORT | OUT_ADDS)                \
	X("minor_per_s", "MINOR/s", OUT_FLOAT,                                                \
	  out_f64(grouping_per_second(g, (double)sum->minor)), OUT_RATE, 108, .of = "minor")  \
	X("major_per_s", "MAJOR/s", OUT_FLOAT,                                                \
	  out_f64(grouping_per_second(g, (double)sum->major)), OUT_RATE, 98, .of = "major")   \
	X("total_per_s", "TOTAL/s", OUT_FLOAT,                                                \
	  out_f64(grouping_per_second(g, (double)total(sum))), OUT_RATE, 90, .of = "total")   \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64(sum->ns), OUT_ADDS)                \
	X("major_ns", "IN-MAJOR", OUT_DURATION, out_u64(sum->major_ns), OUT_ADDS)             \
	X("max_ns", "MAX", OUT_DURATION, out_u64(sum->max_ns), OUT_PEAK, 80)                  \
	X("max_at_ns", "MAX-AT", OUT_TIME, out_u64_if(sum->max_ns, sum->max_at), OUT_AT, 150, \
	  .of = "max_ns")                                                                     \
	X("writes", "WRITES", OUT_U64, out_u64(sum->writes), OUT_ADDS, 118)                   \
	X("in_kernel", "IN-KERNEL", OUT_U64, out_u64(sum->kernel), OUT_ADDS, 130)             \
	X("silent", "SILENT", OUT_U64, out_u64(sum->silent), OUT_ADDS, 140)

static void put_figures(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct fault_sum *sum = figures;

	GROUP_PUT(values, FIGURES);
}

static const struct group_columns columns = GROUP_COLUMNS(FIGURES, put_figures);

static const struct group_table faults = {
	.keys = GROUP_TASK_KEYS | 1u << GROUP_MAPPING | 1u << GROUP_STACK,
	.by = "process",
	.mapping = mapping_name,
	.columns = &columns,
	.size = sizeof(struct fault_sum),
	.merge = merge,
	.stack_tables = (const uint16_t[]){ EBT_T_fault, 0 },
	.unit = "faults",
	.weight = total,
	.headline = headline,
};

static struct ebt_error *cmd_faults(struct report *report)
{
	_cleanup_(grouping_destroyp) struct grouping *g = NULL;
	_cleanup_text_ struct text line = TEXT_INIT;
	const struct fault_sum *all;
	struct ebt_error *err;

	err = grouping_create(report, &faults, NULL, NULL, &g);
	if (err)
		return err;
	err = read_rows(report->trace, g);
	if (err)
		return err;
	err = grouping_put(g);
	if (err || !grouping_has_rows(g))
		return err;
	all = grouping_all(g);
	text_printf(&line, "%" PRIu64 " minor and %" PRIu64 " major %s", all->minor, all->major,
		    text_plural(all->major, "fault", "faults"));
	if (all->silent)
		text_printf(&line,
			    ", %" PRIu64 " of them silent: the kernel filled the memory itself",
			    all->silent);
	text_addc(&line, '.');
	out_fill(report->out, "", 2, text_get(&line));
	return text_error(&line);
}

static const struct option_def faults_options[] = {
	GROUP_BY_OPTION("process", "mapping", "stack"),
	GROUP_STACK_OPTIONS,
	{ 0 },
};

static const struct command_subject subject = {
	.what = "page faults",
	.source = "fault",
	.tables = { EBT_T_fault, EBT_T_fault_rest },
};

const struct command command_faults = {
	.name = "faults",
	.fn = cmd_faults,
	.summary = "page faults by process, by mapping and by stack",
	.help = "Record with `ebrec -e fault`. MINOR and MAJOR are as the kernel counts them, and\n"
		"as getrusage() gives them to the program: a major fault had to wait for a disk,\n"
		"or for somebody who did. DURATION: from the exception until the program could go\n"
		"on; IN-MAJOR: of that, in major ones. WRITES: faults that tried to write. "
		"IN-KERNEL:\n"
		"a system call touched the memory, as read() does. SILENT: counted by the kernel\n"
		"where the program had no fault, since memory was filled for it (MAP_POPULATE,\n"
		"mlock(), direct I/O, arguments of exec); known at its next fault, or its end.\n"
		"\n"
		"  ebreport faults t.ebt\n"
		"  ebreport faults --by mapping --pid 1234 t.ebt\n"
		"  ebreport faults --by container,mapping --top 20 t.ebt\n"
		"  ebreport faults --interval 1s --sort major t.ebt\n"
		"  ebreport faults --stacks --top 5 --flame faults.svg t.ebt\n",
	.options = faults_options,
	.subject = &subject,
};
