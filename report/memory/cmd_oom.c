/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport oom`: who was killed as there was no memory left, a row each. */
#include "format/read/rows.h"
#include "report/cli/command.h"
#include "report/out/out.h"

static struct out_value sum(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t all;

	if (__builtin_add_overflow(a, b, &all) || __builtin_add_overflow(all, c, &all))
		all = UINT64_MAX;
	return out_u64(all);
}

#define KILLS(X)                                                                                   \
	X("time_ns", "TIME", OUT_TIME, out_u64(row->time), OUT_BEGINS)                             \
	X("pid", "PID", OUT_U64, out_u64(ebt_oom_kill_victim_pid(row)))                            \
	X("comm", "KILLED", OUT_STRING, out_str(ebt_oom_kill_comm(row)), OUT_FLEX)                 \
	X("resident_bytes", "RESIDENT", OUT_BYTES,                                                 \
	  sum(ebt_oom_kill_anon(row), ebt_oom_kill_file(row), ebt_oom_kill_shmem(row)))            \
	X("swap_bytes", "SWAPPED", OUT_BYTES, out_u64(ebt_oom_kill_swap(row)), 0, 122)             \
	X("total_bytes", "OF", OUT_BYTES, out_u64_if(total, total), 0, 96)                         \
	X("points_percent", "POINTS-%", OUT_FLOAT,                                                 \
	  chosen ? out_f64((double)points * 100 / (double)total) : out_null())                     \
	X("score_adj", "ADJ", OUT_I64, out_i64(ebt_oom_kill_score_adj(row)), 0, 112)               \
	X("constraint", "FULL", OUT_STRING, out_cstr(name ? name : "not known"))                   \
	X("limit", "LIMIT-OF", OUT_STRING, out_str_if(ebt_oom_kill_limit(row)), OUT_FLEX)          \
	X("by_pid", "FOR-PID", OUT_U64, out_u64(ebt_oom_kill_task_pid(row)), 0, 104)               \
	X("by_comm", "FOR", OUT_STRING, out_str(ebt_oom_kill_task_comm(row)), OUT_FLEX)            \
	X("order", "ORDER", OUT_I64, told ? out_i64(ebt_oom_kill_order(row)) : out_null(), 0, 130) \
	X("tid", NULL, OUT_U64, out_tid(victim), OUT_DETAIL)                                       \
	X("uid", NULL, OUT_U64, out_u64(ebt_oom_kill_uid(row)), OUT_DETAIL)                        \
	X("by_tid", NULL, OUT_U64, out_tid(by), OUT_DETAIL)                                        \
	X("by_score_adj", NULL, OUT_I64, out_i64(ebt_oom_kill_task_score_adj(row)), OUT_DETAIL)    \
	X("cpu", NULL, OUT_U64, out_u64(ebt_oom_kill_cpu(row)), OUT_DETAIL)                        \
	X("anon_bytes", NULL, OUT_BYTES, out_u64(ebt_oom_kill_anon(row)), OUT_DETAIL)              \
	X("file_bytes", NULL, OUT_BYTES, out_u64(ebt_oom_kill_file(row)), OUT_DETAIL)              \
	X("shmem_bytes", NULL, OUT_BYTES, out_u64(ebt_oom_kill_shmem(row)), OUT_DETAIL)            \
	X("page_table_bytes", NULL, OUT_BYTES, out_u64(ebt_oom_kill_page_tables(row)), OUT_DETAIL) \
	X("total_vm_bytes", NULL, OUT_BYTES, out_u64(ebt_oom_kill_total_vm(row)), OUT_DETAIL)      \
	X("points_bytes", NULL, OUT_I64, chosen ? out_i64(points) : out_null(), OUT_DETAIL)        \
	X("gfp", NULL, OUT_HEX, out_u64_if(told, ebt_oom_kill_gfp(row)), OUT_DETAIL)               \
	X("whole_cgroup", NULL, OUT_BOOL, out_u64(!!ebt_oom_kill_group(row)), OUT_DETAIL)          \
	X("cgroup", NULL, OUT_STRING, out_str_if(ebt_oom_kill_cgroup(row)), OUT_DETAIL)            \
	X("limit_cgroup", NULL, OUT_ID, out_u64_if(limit, limit), OUT_DETAIL)                      \
	X("message", NULL, OUT_STRING, out_str_if(ebt_oom_kill_message(row)), OUT_DETAIL)

static struct ebt_error *put_row(void *arg, const struct ebt_row *row)
{
	const struct ebt_task *by = ebt_oom_kill_task(row), *victim = ebt_oom_kill_victim(row);
	const struct ebt_field *fields = ebt_table_by_id(EBT_T_oom_kill)->fields;
	uint64_t constraint = ebt_oom_kill_constraint(row), total = ebt_oom_kill_total(row);
	uint64_t limit = ebt_oom_kill_limit_cgroup(row);
	/* Who is killed with its group was not chosen. */
	bool chosen = total && !ebt_oom_kill_group(row);
	bool told = constraint != EBT_V_oom_kill_constraint_not_known;
	const char *name = ebt_value_name(&fields[EBT_F_oom_kill_constraint], constraint);
	int64_t points = ebt_oom_kill_points(row);
	struct out *out = arg;

	return out_row(out, 0, OUT_VALUES(KILLS));
}

/* That nobody was killed is an answer, where somebody looked. */
static struct ebt_error *warn_not_recorded(struct trace *trace)
{
	bool on;
	struct ebt_error *err = trace_source_is_on(trace, "oom", &on);

	if (err || on || ebt_reader_has_rows(trace_reader(trace), EBT_T_oom_kill))
		return err;
	return trace_warn(trace,
			  "the trace does not say who was killed as there was no memory left: "
			  "ebrec records that with -e oom");
}

static struct ebt_error *cmd_oom(struct report *report)
{
	const struct out_table table = OUT_TABLE_OF("rows", KILLS, .flags = OUT_KEEP_ORDER);
	struct ebt_error *err;

	err = out_begin(report->out, &table);
	if (err)
		return err;
	err = trace_read_table(report->trace, EBT_T_oom_kill, 0, put_row, report->out);
	if (err)
		return err;
	err = out_end(report->out);
	return err ? err : warn_not_recorded(report->trace);
}

const struct command command_oom = {
	.name = "oom",
	.fn = cmd_oom,
	.flags = COMMAND_NO_NAMES,
	.summary = "processes that were killed as there was no memory left",
	.help = "Record with `ebrec -e oom`. A row for each process that the kernel killed: its "
		"memory,\n"
		"what was FULL, the machine or the LIMIT-OF a cgroup, and FOR whom memory was "
		"needed.\n"
		"POINTS are what the kernel chose by: the victim's memory, and ADJ thousandths "
		"(its\n"
		"oom_score_adj), of all that could be used. --json and --csv have more columns.\n"
		"\n"
		"  ebreport oom t.ebt\n"
		"  ebreport oom --sort resident_bytes t.ebt\n",
};
