/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to block devices one by one; see block_trace.h. */
#include "report/io/block_trace.h"

#include <string.h>

#include "format/schema/schema.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/io/block_names.h"
#include "report/out/out.h"
#include "report/syscalls/names.h"

enum {
	COL_START,
	COL_DEVICE,
	COL_OP,
	COL_FLAGS,
	COL_SECTOR,
	COL_BYTES,
	COL_QUEUE,
	COL_DEVICE_TIME,
	COL_TOTAL,
	COL_PID,
	COL_TID,
	COL_COMM,
	COL_CAUSE,
	COL_SUBMITTER,
	COL_STATE,
	COL_ERROR,
	COL_MERGES,
	COL_END,
	COL_WAITED,
	COL_DIRTIED,
	COL_REQUEUES,
	COL_SUBMITTER_TID,
	COL_INODE,
	COL_CGROUP,
	N_COLUMNS,
};

static const struct out_column columns[N_COLUMNS] = {
	[COL_START] = { "time_ns", "START", OUT_TIME, 0 },
	[COL_DEVICE] = { "device", "DEVICE", OUT_STRING, 0 },
	[COL_OP] = { "operation", "OPERATION", OUT_STRING, 0 },
	[COL_FLAGS] = { "flags", "FLAGS", OUT_STRING, 0 },
	[COL_SECTOR] = { "sector", "SECTOR", OUT_U64, 0 },
	[COL_BYTES] = { "bytes", "BYTES", OUT_U64, 0 },
	[COL_QUEUE] = { "queue_ns", "QUEUE", OUT_DURATION, 0 },
	[COL_DEVICE_TIME] = { "device_ns", "IN DEVICE", OUT_DURATION, 0 },
	[COL_TOTAL] = { "duration_ns", "TOTAL", OUT_DURATION, OUT_DETAIL },
	[COL_PID] = { "pid", "PID", OUT_U64, 0 },
	[COL_TID] = { "tid", NULL, OUT_U64, OUT_DETAIL },
	[COL_COMM] = { "comm", "COMM", OUT_STRING, 0 },
	[COL_CAUSE] = { "cause", "KNOWN AS", OUT_STRING, 0 },
	[COL_SUBMITTER] = { "submitter", "SUBMITTER", OUT_STRING, 0 },
	[COL_STATE] = { "state", "STATE", OUT_STRING, 0 },
	[COL_ERROR] = { "error", "ERROR", OUT_STRING, 0 },
	[COL_MERGES] = { "merges", "MERGED", OUT_U64, OUT_DETAIL },
	[COL_END] = { "end_ns", NULL, OUT_TIME, OUT_DETAIL },
	[COL_WAITED] = { "waited_ns", NULL, OUT_DURATION, OUT_DETAIL },
	[COL_DIRTIED] = { "dirtied_ns", NULL, OUT_DURATION, OUT_DETAIL },
	[COL_REQUEUES] = { "requeues", NULL, OUT_U64, OUT_DETAIL },
	[COL_SUBMITTER_TID] = { "submitter_tid", NULL, OUT_U64, OUT_DETAIL },
	[COL_INODE] = { "inode", NULL, OUT_ID, OUT_DETAIL },
	[COL_CGROUP] = { "cgroup_id", NULL, OUT_ID, OUT_DETAIL },
};

static const struct out_table table = OUT_TABLE("rows", columns, .flags = OUT_STREAM);

static const char *value_name(unsigned int field, uint64_t value)
{
	const struct ebt_table *io = ebt_table_by_id(EBT_T_block_io);
	const char *name = ebt_value_name(&io->fields[field], value);

	return name ? name : "other";
}

const char *block_op_name(uint64_t op)
{
	return value_name(EBT_F_block_io_op, op);
}

/* As the table block_io numbers them. */
static void add_flags(struct text *text, uint64_t flags)
{
	static const char *const names[] = { "sync",	  "meta",	"fua",	"preflush",
					     "readahead", "background", "swap", "prio" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(flags & UINT64_C(1) << i))
			continue;
		if (text->len)
			text_addc(text, ',');
		text_cstr(text, names[i]);
	}
}

struct listing {
	struct report *report;
	const struct names *tasks;
	struct block_names *devices;
	struct text flags;
	uint64_t printed;
};

static void set_times(const struct ebt_row *row, struct out_value *values)
{
	uint64_t total = ebt_block_io_duration(row);
	uint64_t device = ebt_block_io_device(row);
	uint64_t waited = ebt_block_io_waited(row);
	uint64_t dirtied = ebt_block_io_dirtied(row);

	values[COL_START] = out_u64(row->time > total ? row->time - total : 0);
	values[COL_END] = out_u64(row->time);
	values[COL_TOTAL] = out_u64(total);
	values[COL_DEVICE_TIME] = out_u64_if(device, device);
	values[COL_QUEUE] = device && total >= device ? out_u64(total - device) : out_null();
	values[COL_WAITED] = waited ? out_u64(waited) : out_null();
	values[COL_DIRTIED] = dirtied ? out_u64(dirtied) : out_null();
}

static void set_tasks(const struct listing *l, const struct ebt_row *row, struct out_value *values)
{
	const struct ebt_task *task = ebt_block_io_task(row);
	const struct ebt_task *submitter = ebt_block_io_submitter(row);
	uint64_t pid = ebt_block_io_pid(row);

	values[COL_PID] = pid ? out_u64(pid) : out_null();
	if (task) {
		values[COL_TID] = out_u64(task->tid);
		values[COL_COMM] = out_str(names_task(l->tasks, task));
	}
	if (submitter) {
		values[COL_SUBMITTER] = out_str(names_task(l->tasks, submitter));
		values[COL_SUBMITTER_TID] = out_u64(submitter->tid);
	}
	values[COL_CAUSE] = out_cstr(value_name(EBT_F_block_io_cause, ebt_block_io_cause(row)));
}

static struct ebt_error *put_row(struct listing *l, const struct ebt_row *row)
{
	uint64_t error = ebt_block_io_error(row);
	const char *error_name = error ? errno_name(error) : NULL;
	struct out_value values[N_COLUMNS] = { [0 ... N_COLUMNS - 1] = { .null = true } };
	struct ebt_error *err;
	uint32_t device;

	err = block_names_of(l->devices, (uint32_t)ebt_block_io_dev_major(row),
			     (uint32_t)ebt_block_io_dev_minor(row), &device);
	if (err)
		return err;
	set_times(row, values);
	set_tasks(l, row, values);
	text_clear(&l->flags);
	add_flags(&l->flags, ebt_block_io_flags(row));
	values[COL_DEVICE] = out_str(block_names_get(l->devices, device)->name);
	values[COL_OP] = out_cstr(block_op_name(ebt_block_io_op(row)));
	values[COL_FLAGS] = l->flags.len ? out_cstr(text_get(&l->flags)) : out_null();
	values[COL_SECTOR] = out_u64(ebt_block_io_sector(row));
	values[COL_BYTES] = out_u64(ebt_block_io_bytes(row));
	values[COL_STATE] = out_cstr(value_name(EBT_F_block_io_state, ebt_block_io_state(row)));
	if (error)
		values[COL_ERROR] = out_cstr(error_name ? error_name : "unknown");
	values[COL_MERGES] = out_u64(ebt_block_io_merges(row));
	values[COL_REQUEUES] = out_u64(ebt_block_io_requeues(row));
	values[COL_INODE] = out_u64(ebt_block_io_inode(row));
	values[COL_CGROUP] = out_u64(ebt_block_io_cgroup(row));
	l->printed++;
	return out_row(l->report->out, 0, values);
}

static struct ebt_error *put_rows(struct listing *l)
{
	static const struct ebt_want want = { EBT_T_block_io, ~UINT64_C(0) };
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	uint64_t top = l->report->options->top;
	struct trace *trace = l->report->trace;
	struct ebt_error *err;
	struct ebt_row row;

	err = trace_cursor_create(trace, &want, 1, 0, &cursor);
	while (!err && (!top || l->printed < top)) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		/* The cursor let it pass for its submitter too. */
		if (trace_task_wanted(trace, ebt_block_io_task(&row)))
			err = put_row(l, &row);
	}
	return err;
}

struct ebt_error *block_trace(struct report *report)
{
	_cleanup_(block_names_destroyp) struct block_names *devices = NULL;
	struct listing l = { .report = report, .flags = TEXT_INIT };
	struct ebt_error *err;

	err = trace_names(report->trace, &l.tasks);
	if (!err)
		err = block_names_create(report->trace, &devices);
	l.devices = devices;
	if (!err)
		err = out_begin(report->out, &table);
	if (!err)
		err = put_rows(&l);
	if (!err)
		err = out_end(report->out);
	text_deinit(&l.flags);
	return err;
}
