/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to block devices one by one; see block_trace.h. */
#include "report/io/block_trace.h"

#include <string.h>

#include "format/schema/schema.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/calls/names.h"
#include "report/io/block_names.h"
#include "report/out/out.h"

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

#define REQUESTS(X)                                                                            \
	X("time_ns", "START", OUT_TIME, out_u64(row->time > total ? row->time - total : 0))    \
	X("device", "DEVICE", OUT_STRING, out_str(l->devices->devices[device].name))           \
	X("operation", "OPERATION", OUT_STRING, out_cstr(block_op_name(ebt_block_io_op(row)))) \
	X("flags", "FLAGS", OUT_STRING, out_str_if(text_str(&l->flags)))                       \
	X("sector", "SECTOR", OUT_U64, out_u64(ebt_block_io_sector(row)))                      \
	X("bytes", "BYTES", OUT_BYTES, out_u64(ebt_block_io_bytes(row)))                       \
	X("queue_ns", "QUEUE", OUT_DURATION,                                                   \
	  out_u64_if(in_device != 0 && total >= in_device, total - in_device))                 \
	X("device_ns", "IN-DEVICE", OUT_DURATION, out_u64_if(in_device, in_device))            \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64(total), OUT_DETAIL)                 \
	X("pid", "PID", OUT_U64, out_u64_if(pid, pid))                                         \
	X("tid", NULL, OUT_U64, out_tid(task), OUT_DETAIL)                                     \
	X("comm", "COMM", OUT_STRING, last_name(l, task))                                      \
	X("cause", "KNOWN-AS", OUT_STRING,                                                     \
	  out_cstr(value_name(EBT_F_block_io_cause, ebt_block_io_cause(row))))                 \
	X("submitter", "SUBMITTER", OUT_STRING, last_name(l, submitter))                       \
	X("state", "STATE", OUT_STRING,                                                        \
	  out_cstr(value_name(EBT_F_block_io_state, ebt_block_io_state(row))))                 \
	X("error", "ERROR", OUT_STRING,                                                        \
	  error ? out_cstr(errno_name(error) ?: "unknown") : out_null())                       \
	X("merges", "MERGED", OUT_U64, out_u64(ebt_block_io_merges(row)), OUT_DETAIL)          \
	X("end_ns", NULL, OUT_TIME, out_u64(row->time), OUT_DETAIL)                            \
	X("waited_ns", NULL, OUT_DURATION, out_u64_if(waited, waited), OUT_DETAIL)             \
	X("dirtied_ns", NULL, OUT_DURATION, out_u64_if(dirtied, dirtied), OUT_DETAIL)          \
	X("requeues", NULL, OUT_U64, out_u64(ebt_block_io_requeues(row)), OUT_DETAIL)          \
	X("submitter_tid", NULL, OUT_U64, out_tid(submitter), OUT_DETAIL)                      \
	X("inode", NULL, OUT_ID, out_u64(ebt_block_io_inode(row)), OUT_DETAIL)                 \
	X("cgroup_id", NULL, OUT_ID, out_u64(ebt_block_io_cgroup(row)), OUT_DETAIL)

static struct out_value last_name(const struct listing *l, const struct ebt_task *task)
{
	return task ? out_str(names_task(l->tasks, task)) : out_null();
}

static struct ebt_error *put_row(void *arg, const struct ebt_row *row)
{
	struct listing *l = arg;
	const struct ebt_task *task = ebt_block_io_task(row);
	const struct ebt_task *submitter = ebt_block_io_submitter(row);
	uint64_t total = ebt_block_io_duration(row), in_device = ebt_block_io_device(row);
	uint64_t waited = ebt_block_io_waited(row), dirtied = ebt_block_io_dirtied(row);
	uint64_t pid = ebt_block_io_pid(row), error = ebt_block_io_error(row);
	struct ebt_error *err;
	uint32_t device;

	/* The cursor let it pass for its submitter too. */
	if (!trace_task_wanted(l->report->trace, task))
		return NULL;
	err = block_names_of(l->devices, (uint32_t)ebt_block_io_dev_major(row),
			     (uint32_t)ebt_block_io_dev_minor(row), &device);
	if (err)
		return err;
	text_clear(&l->flags);
	add_flags(&l->flags, ebt_block_io_flags(row));
	err = out_row(l->report->out, 0, OUT_VALUES(REQUESTS));
	return err ? err : ++l->printed == l->report->options->top ? &trace_enough : NULL;
}

struct ebt_error *block_trace(struct report *report)
{
	_cleanup_(block_names_destroyp) struct block_names *devices = NULL;
	const struct out_table table = OUT_TABLE_OF("rows", REQUESTS, .flags = OUT_STREAM);
	struct listing l = { .report = report, .flags = TEXT_INIT };
	struct ebt_error *err;

	err = trace_names(report->trace, &l.tasks);
	if (!err)
		err = block_names_create(report->trace, &devices);
	l.devices = devices;
	if (!err)
		err = out_begin(report->out, &table);
	if (!err)
		err = trace_read_table(report->trace, EBT_T_block_io, 0, put_row, &l);
	if (!err)
		err = out_end(report->out);
	text_deinit(&l.flags);
	return err;
}
