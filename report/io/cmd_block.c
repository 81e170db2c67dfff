/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport block: requests to disks by process, device and operation, or one by one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/io/block_trace.h"
#include "report/io/model_block.h"
#include "report/out/histogram.h"
#include "report/out/narrow.h"

#define DEPTH_SPANS 20

struct block_view {
	struct report *report;
	struct out *out;
	enum block_grouping grouping;
	struct block_model *model;
};

enum {
	COL_LABEL,
	COL_DEVICE,
	COL_PID,
	COL_TID,
	COL_COMM,
	COL_OP,
	COL_IOS,
	COL_BYTES,
	COL_SYNC,
	COL_ASYNC,
	COL_MERGES,
	COL_P50,
	COL_P99,
	COL_MAX,
	COL_QUEUE_P50,
	COL_QUEUE_P99,
	COL_QUEUE_MAX,
	COL_DEVICE_P50,
	COL_DEVICE_P99,
	COL_DEVICE_MAX,
	COL_DEPTH_MEAN,
	COL_DEPTH_MAX,
	COL_BUSY,
	COL_READ_BYTES,
	COL_WRITE_BYTES,
	COL_READ_IOS,
	COL_WRITE_IOS,
	COL_TOTAL,
	COL_QUEUE_TOTAL,
	COL_DEVICE_TOTAL,
	COL_WAITED,
	COL_REQUEUES,
	COL_ERRORS,
	COL_IN_FLIGHT,
	COL_DIRTIER,
	COL_UNKNOWN,
	COL_DISK,
	COL_ALIAS,
	COL_SCHEDULER,
	COL_MODEL,
	COL_BACKING,
	COL_ROTATIONAL,
	COL_SIZE,
	N_COLUMNS,
};

static const struct out_column all_columns[N_COLUMNS] = {
	[COL_LABEL] = { "who", "PROCESS", OUT_STRING, OUT_TEXT_ONLY | OUT_INDENT | OUT_FLEX },
	[COL_DEVICE] = { "device", "DEVICE", OUT_STRING, OUT_PARENT },
	[COL_PID] = { "pid", NULL, OUT_U64, OUT_DETAIL | OUT_PARENT },
	[COL_TID] = { "tid", NULL, OUT_U64, OUT_DETAIL | OUT_PARENT },
	[COL_COMM] = { "comm", NULL, OUT_STRING, OUT_DETAIL | OUT_PARENT },
	[COL_OP] = { "operation", NULL, OUT_STRING, OUT_DETAIL },
	[COL_IOS] = { "ios", "IOS", OUT_U64, 0 },
	[COL_BYTES] = { "bytes", "BYTES", OUT_BYTES, OUT_SORT },
	[COL_SYNC] = { "sync_ios", "SYNC", OUT_U64, 0 },
	[COL_ASYNC] = { "async_ios", "ASYNC", OUT_U64, 0 },
	[COL_MERGES] = { "merges", "MERGED", OUT_U64, 0 },
	[COL_P50] = { "p50_ns", "P50", OUT_DURATION, 0 },
	[COL_P99] = { "p99_ns", "P99", OUT_DURATION, 0 },
	[COL_MAX] = { "max_ns", "MAX", OUT_DURATION, 0 },
	[COL_QUEUE_P50] = { "queue_p50_ns", "QUEUE-P50", OUT_DURATION, 0 },
	[COL_QUEUE_P99] = { "queue_p99_ns", "Q-P99", OUT_DURATION, 0 },
	[COL_QUEUE_MAX] = { "queue_max_ns", "Q-MAX", OUT_DURATION, 0 },
	[COL_DEVICE_P50] = { "device_p50_ns", "DEVICE-P50", OUT_DURATION, 0 },
	[COL_DEVICE_P99] = { "device_p99_ns", "D-P99", OUT_DURATION, 0 },
	[COL_DEVICE_MAX] = { "device_max_ns", "D-MAX", OUT_DURATION, 0 },
	[COL_DEPTH_MEAN] = { "depth_mean", "DEPTH", OUT_FLOAT, 0 },
	[COL_DEPTH_MAX] = { "depth_max", "DEPTH-MAX", OUT_U64, 0 },
	[COL_BUSY] = { "busy_percent", "BUSY-%", OUT_PERCENT, 0 },
	[COL_READ_BYTES] = { "read_bytes", NULL, OUT_BYTES, OUT_DETAIL },
	[COL_WRITE_BYTES] = { "write_bytes", NULL, OUT_BYTES, OUT_DETAIL },
	[COL_READ_IOS] = { "read_ios", NULL, OUT_U64, OUT_DETAIL },
	[COL_WRITE_IOS] = { "write_ios", NULL, OUT_U64, OUT_DETAIL },
	[COL_TOTAL] = { "total_ns", NULL, OUT_DURATION, OUT_DETAIL },
	[COL_QUEUE_TOTAL] = { "queue_total_ns", NULL, OUT_DURATION, OUT_DETAIL },
	[COL_DEVICE_TOTAL] = { "device_total_ns", NULL, OUT_DURATION, OUT_DETAIL },
	[COL_WAITED] = { "waited_ns", NULL, OUT_DURATION, OUT_DETAIL },
	[COL_REQUEUES] = { "requeues", NULL, OUT_U64, OUT_DETAIL },
	[COL_ERRORS] = { "errors", NULL, OUT_U64, OUT_DETAIL },
	[COL_IN_FLIGHT] = { "in_flight", NULL, OUT_U64, OUT_DETAIL },
	[COL_DIRTIER] = { "dirtier_ios", NULL, OUT_U64, OUT_DETAIL },
	[COL_UNKNOWN] = { "unknown_ios", NULL, OUT_U64, OUT_DETAIL },
	[COL_DISK] = { "disk", NULL, OUT_STRING, OUT_DETAIL },
	[COL_ALIAS] = { "alias", NULL, OUT_STRING, OUT_DETAIL },
	[COL_SCHEDULER] = { "scheduler", NULL, OUT_STRING, OUT_DETAIL },
	[COL_MODEL] = { "model", NULL, OUT_STRING, OUT_DETAIL },
	[COL_BACKING] = { "backing", NULL, OUT_STRING, OUT_DETAIL },
	[COL_ROTATIONAL] = { "rotational", NULL, OUT_BOOL, OUT_DETAIL },
	[COL_SIZE] = { "size", NULL, OUT_BYTES, OUT_DETAIL },
};

static const struct narrow narrow[] = {
	{ "queue_max_ns", 170 },  { "device_max_ns", 160 }, { "queue_p50_ns", 150 },
	{ "device_p50_ns", 140 }, { "merges", 120 },	    { "async_ios", 112 },
	{ "max_ns", 100 },	  { "p50_ns", 90 },	    { NULL, 0 },
};

/* --- rows --- */

static struct out_value text_or_null(struct ebt_str s)
{
	return s.len ? out_str(s) : out_null();
}

static void set_times(const struct histogram *h, struct out_value *p50, struct out_value *p99,
		      struct out_value *max)
{
	if (!h->count)
		return;
	*p50 = out_u64(histogram_percentile(h, 50));
	*p99 = out_u64(histogram_percentile(h, 99));
	*max = out_u64(h->max);
}

static void set_figures(const struct block_stat *stat, struct out_value *values)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		values[i] = out_null();
	values[COL_IOS] = out_u64(stat->total.count);
	values[COL_BYTES] = out_u64(stat->bytes);
	values[COL_SYNC] = out_u64(stat->sync);
	values[COL_ASYNC] = out_u64(stat->total.count - stat->sync);
	values[COL_MERGES] = out_u64(stat->merges);
	set_times(&stat->total, &values[COL_P50], &values[COL_P99], &values[COL_MAX]);
	set_times(&stat->queue, &values[COL_QUEUE_P50], &values[COL_QUEUE_P99],
		  &values[COL_QUEUE_MAX]);
	set_times(&stat->device, &values[COL_DEVICE_P50], &values[COL_DEVICE_P99],
		  &values[COL_DEVICE_MAX]);
	values[COL_TOTAL] = out_u64(stat->total.sum);
	values[COL_QUEUE_TOTAL] = out_u64(stat->queue.sum);
	values[COL_DEVICE_TOTAL] = out_u64(stat->device.sum);
	values[COL_REQUEUES] = out_u64(stat->requeues);
	values[COL_ERRORS] = out_u64(stat->errors);
	values[COL_IN_FLIGHT] = out_u64(stat->in_flight);
}

static void set_depth(const struct block_view *v, uint32_t device, struct out_value *values)
{
	struct block_depth *depth = block_model_depth(v->model, device);
	uint64_t from = trace_from_ns(v->report->trace), to = trace_to_ns(v->report->trace);
	struct block_depth_span span;

	if (!depth || to <= from)
		return;
	block_depth_spans(depth, from, to, 1, &span);
	values[COL_DEPTH_MEAN] = out_f64(span.mean);
	values[COL_DEPTH_MAX] = out_u64(span.max);
	values[COL_BUSY] = out_f64(100.0 * (double)span.busy_ns / (double)(to - from));
}

static void set_device(const struct block_view *v, uint32_t index, struct out_value *values)
{
	const struct block_names *names = block_model_names(v->model);
	const struct block_device *device = block_names_get(names, index);

	values[COL_DEVICE] = out_str(device->name);
	if (v->grouping != BLOCK_BY_DEVICE)
		return;
	set_depth(v, index, values);
	if (!device->known)
		return;
	values[COL_DISK] = out_str(block_names_get(names, device->disk)->name);
	values[COL_ALIAS] = text_or_null(device->alias);
	values[COL_SCHEDULER] = text_or_null(device->scheduler);
	values[COL_MODEL] = text_or_null(device->model);
	values[COL_BACKING] = text_or_null(device->backing);
	values[COL_ROTATIONAL] = out_u64(device->rotational);
	values[COL_SIZE] = out_u64(device->size);
}

/* "comm (pid)". Nothing is known of a task that had ended long before its pages were written. */
static void set_task(const struct block_view *v, uint32_t owner, struct text *label,
		     struct out_value *values)
{
	const struct task_groups *tasks = block_model_tasks(v->model);
	const struct ebt_task *task = task_groups_task(tasks, owner);
	struct ebt_str comm = task_groups_name(tasks, owner);

	if (!task) {
		text_cstr(label, "(not known)");
		return;
	}
	text_task(label, comm,
		  v->grouping == BLOCK_BY_THREAD || !task->pid ? task->tid : task->pid);
	values[COL_PID] = out_u64(task->pid ? task->pid : task->tid);
	values[COL_COMM] = out_str(comm);
	if (v->grouping == BLOCK_BY_THREAD)
		values[COL_TID] = out_u64(task->tid);
}

static struct ebt_error *put_group(struct block_view *v, const struct block_group *group)
{
	_cleanup_text_ struct text label = TEXT_INIT;
	struct out_value values[N_COLUMNS];

	set_figures(&group->all, values);
	set_device(v, group->device, values);
	if (v->grouping == BLOCK_BY_DEVICE)
		values[COL_LABEL] = values[COL_DEVICE];
	else
		set_task(v, group->task, &label, values);
	if (text_error(&label))
		return text_error(&label);
	if (v->grouping != BLOCK_BY_DEVICE)
		values[COL_LABEL] = out_str((struct ebt_str){ text_get(&label), label.len });
	values[COL_READ_BYTES] = out_u64(group->read_bytes);
	values[COL_WRITE_BYTES] = out_u64(group->write_bytes);
	values[COL_READ_IOS] = out_u64(group->read_ios);
	values[COL_WRITE_IOS] = out_u64(group->write_ios);
	values[COL_WAITED] = out_u64(group->waited_ns);
	values[COL_DIRTIER] = out_u64(group->dirtier_ios);
	values[COL_UNKNOWN] = out_u64(group->unknown_ios);
	return out_row(v->out, 0, values);
}

static struct ebt_error *put_stat(struct block_view *v, const struct block_stat *stat)
{
	struct out_value values[N_COLUMNS];

	set_figures(stat, values);
	values[COL_LABEL] = values[COL_OP] = out_cstr(block_op_name(stat->op));
	return out_row(v->out, 1, values);
}

static int compare_stats(const void *a, const void *b)
{
	const struct block_stat *const *x = a, *const *y = b;

	return ((*x)->group > (*y)->group) - ((*x)->group < (*y)->group);
}

/* Each process and device with its operations below it. */
static struct ebt_error *put_rows(struct block_view *v)
{
	size_t n_groups, n_stats, at = 0;
	const struct block_group *groups = block_model_groups(v->model, &n_groups);
	const struct block_stat *stats = block_model_stats(v->model, &n_stats);
	_cleanup_free_ const struct block_stat **sorted = calloc(n_stats + 1, sizeof(*sorted));
	struct ebt_error *err = NULL;

	if (!sorted)
		return &ebt_enomem;
	for (size_t i = 0; i < n_stats; i++)
		sorted[i] = &stats[i];
	qsort(sorted, n_stats, sizeof(sorted[0]), compare_stats);
	for (size_t g = 0; !err && g < n_groups; g++) {
		err = put_group(v, &groups[g]);
		for (; !err && at < n_stats && sorted[at]->group == g; at++)
			err = put_stat(v, sorted[at]);
	}
	return err;
}

static struct ebt_error *put_table(struct block_view *v)
{
	struct out_column columns[N_COLUMNS];
	const struct out_table table = {
		.key = "rows",
		.columns = columns,
		.n_columns = N_COLUMNS,
		.children = "operations",
	};
	struct ebt_error *err;

	memcpy(columns, all_columns, sizeof(columns));
	if (v->grouping == BLOCK_BY_DEVICE) {
		columns[COL_LABEL].header = "DEVICE";
		columns[COL_DEVICE].flags |= OUT_DETAIL;
	} else {
		for (int i = COL_DEPTH_MEAN; i <= COL_BUSY; i++)
			columns[i].flags |= OUT_DETAIL;
	}
	if (v->grouping == BLOCK_BY_THREAD)
		columns[COL_LABEL].header = "THREAD";
	narrow_columns(v->out, narrow, columns, N_COLUMNS);
	err = out_begin(v->out, &table);
	if (!err)
		err = put_rows(v);
	return err ? err : out_end(v->out);
}

/* --- depths, histograms, remarks --- */

static struct ebt_error *put_depths(struct block_view *v)
{
	static const struct out_column columns[] = {
		{ "from_ns", "FROM", OUT_TIME, 0 },    { "to_ns", "TO", OUT_TIME, 0 },
		{ "device", "DEVICE", OUT_STRING, 0 }, { "depth_mean", "DEPTH", OUT_FLOAT, 0 },
		{ "depth_max", "MAX", OUT_U64, 0 },    { "busy_percent", "BUSY-%", OUT_PERCENT, 0 },
	};
	static const struct out_table table = {
		"depths", "\nRequests at a time", columns, 6, NULL, OUT_FIXED | OUT_KEEP_ORDER,
	};
	uint64_t from = trace_from_ns(v->report->trace), to = trace_to_ns(v->report->trace);
	size_t n = v->report->options->interval_ns ? 1 : DEPTH_SPANS;
	const struct block_names *names = block_model_names(v->model);
	struct block_depth_span spans[DEPTH_SPANS];
	struct ebt_error *err;

	err = out_begin(v->out, &table);
	for (uint32_t d = 0; !err && d < block_names_n(names); d++) {
		struct block_depth *depth = block_model_depth(v->model, d);

		if (!depth || !depth->n || to <= from)
			continue;
		block_depth_spans(depth, from, to, n, spans);
		for (size_t i = 0; !err && i < n; i++) {
			double length = (double)(spans[i].to_ns - spans[i].from_ns);
			double busy = length > 0 ? 100.0 * (double)spans[i].busy_ns / length : 0;

			err = out_row(v->out, 0,
				      (struct out_value[]){
					      out_u64(spans[i].from_ns), out_u64(spans[i].to_ns),
					      out_str(block_names_get(names, d)->name),
					      out_f64(spans[i].mean), out_u64(spans[i].max),
					      out_f64(busy) });
		}
	}
	return err ? err : out_end(v->out);
}

static struct ebt_error *put_histogram(struct block_view *v, const char *direction,
				       bool wanted(uint64_t), bool device)
{
	struct histogram sum = { 0 };
	struct ebt_error *err = NULL;
	char key[64], title[64];
	size_t n;
	const struct block_stat *stats = block_model_stats(v->model, &n);

	for (size_t i = 0; !err && i < n; i++) {
		if (wanted(stats[i].op))
			err = histogram_merge(&sum, device ? &stats[i].device : &stats[i].queue);
	}
	snprintf(key, sizeof(key), "%s_%s_histogram", direction, device ? "device" : "queue");
	snprintf(title, sizeof(title), "\n%ss: time in the %s", direction,
		 device ? "device" : "queue");
	title[1] -= 'a' - 'A';
	if (!err && sum.count)
		err = out_histogram(v->out, key, title, &sum, OUT_DURATION);
	histogram_deinit(&sum);
	return err;
}

static struct ebt_error *put_histograms(struct block_view *v)
{
	struct ebt_error *err;

	err = put_histogram(v, "read", block_op_reads, false);
	if (!err)
		err = put_histogram(v, "read", block_op_reads, true);
	if (!err)
		err = put_histogram(v, "write", block_op_writes, false);
	return err ? err : put_histogram(v, "write", block_op_writes, true);
}

static void put_remarks(struct block_view *v)
{
	uint64_t unknown = 0, ios = 0, in_flight = 0;
	size_t n;
	const struct block_group *groups = block_model_groups(v->model, &n);

	for (size_t i = 0; i < n && v->grouping != BLOCK_BY_DEVICE; i++) {
		unknown += groups[i].unknown_ios;
		ios += groups[i].all.total.count;
		in_flight += groups[i].all.in_flight;
	}
	if (unknown)
		out_printf(v->out,
			   "Of %" PRIu64 " requests, %" PRIu64
			   " stand under who submitted them: for "
			   "whom is not known.\n",
			   ios, unknown);
	if (in_flight)
		out_printf(v->out, "%" PRIu64 " request%s in flight when recording ended.\n",
			   in_flight, in_flight == 1 ? " was" : "s were");
}

/* --- the command --- */

static struct ebt_error *check_options(const struct options *o)
{
	bool trace = options_flag(o, "trace");

	if (options_flag(o, "devices") + options_flag(o, "by-thread") + trace > 1)
		return ebt_error_create(EBT_ERR_INVALID, "--devices, --by-thread and --trace "
							 "exclude each other");
	if (trace && (o->sort || o->interval_ns))
		return ebt_error_create(EBT_ERR_INVALID, "--trace is in order of time: --sort and "
							 "--interval do not apply");
	if (trace && (options_flag(o, "histogram") || options_flag(o, "depth")))
		return ebt_error_create(EBT_ERR_INVALID,
					"--trace lists requests: --histogram and --depth do not "
					"apply");
	return NULL;
}

static struct ebt_error *cmd_block(struct report *report)
{
	_cleanup_(block_model_destroyp) struct block_model *model = NULL;
	struct block_view v = { .report = report, .out = report->out };
	const struct options *o = report->options;
	bool depth = options_flag(o, "depth");
	struct ebt_error *err;

	err = check_options(o);
	if (err)
		return err;
	if (options_flag(o, "trace"))
		return block_trace(report);
	if (options_flag(o, "devices"))
		v.grouping = BLOCK_BY_DEVICE;
	else if (options_flag(o, "by-thread"))
		v.grouping = BLOCK_BY_THREAD;
	err = block_model_create(report->trace, v.grouping, depth || v.grouping == BLOCK_BY_DEVICE,
				 &model);
	if (err)
		return err;
	v.model = model;
	err = put_table(&v);
	if (!err)
		put_remarks(&v);
	if (!err && depth)
		err = put_depths(&v);
	if (!err && options_flag(o, "histogram"))
		err = put_histograms(&v);
	return err;
}

static const struct option_def block_options[] = {
	{ "devices", OPTION_FLAG, NULL, "disks and partitions instead of processes", NULL },
	{ "by-thread", OPTION_FLAG, NULL, "threads instead of processes", NULL },
	{ "depth", OPTION_FLAG, NULL, "also: how many requests a device had at a time, over time",
	  NULL },
	{ "histogram", OPTION_FLAG, NULL, "also: distribution of time in queue and device", NULL },
	{ "trace", OPTION_FLAG, NULL, "every request, a line each, as they complete", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_block = {
	.name = "block",
	.fn = cmd_block,
	.summary =
		"disk requests by process, device and operation: bytes, time in queue and device",
	.help = "Record with `ebrec -e block`. A row for each process and device, and below it "
		"one\n"
		"for each operation. P50, P99 and MAX are from when the kernel made the request\n"
		"until it completed; QUEUE is the part until the driver got it, DEVICE the rest.\n"
		"SYNC: somebody was waiting for it. MERGED: bios that joined another's request.\n"
		"\n"
		"What was written to the page cache is of the task that dirtied the file last, "
		"not\n"
		"of the kernel thread that writes it back, nor of who called sync. Where that is "
		"not\n"
		"known, because it was before the recording or because a file system keeps it to\n"
		"itself, the request stands under who submitted it, and is counted in a line "
		"below\n"
		"(unknown_ios).\n"
		"\n"
		"read_ios, write_ios and their bytes in JSON and CSV are what /proc/diskstats "
		"counts\n"
		"(a flush of a file system without data is a write of 0 bytes there). With "
		"--devices\n"
		"a disk has the requests to its partitions too; DEPTH is the mean number of "
		"requests\n"
		"at a time.\n"
		"\n"
		"  ebreport block t.ebt\n"
		"  ebreport block --devices --depth t.ebt\n"
		"  ebreport block --interval 1s --top 3 t.ebt\n"
		"  ebreport block --trace --comm fio --from 2s --to 2.1s t.ebt\n",
	.options = block_options,
};
