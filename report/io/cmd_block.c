/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport block: requests to disks by process, device and operation, or one by one. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "report/base/histogram.h"
#include "report/group/group.h"
#include "report/io/block_depth.h"
#include "report/io/block_names.h"
#include "report/io/block_trace.h"
#include "report/out/histogram.h"

#define DEPTH_SPANS 20
#define FLAGS_SYNC  0xdu /* synchronous, FUA, flush before: as the kernel says, like any read */

enum { BY_DEVICE = GROUP_OWN, BY_OPERATION };

enum {
	BYTES,
	SYNC,
	MERGES,
	REQUEUES,
	ERRORS,
	IN_FLIGHT,  /* when recording ended; in no other figure */
	READ_BYTES, /* these four as /proc/diskstats has them */
	WRITE_BYTES,
	READ_IOS,
	WRITE_IOS,
	DIRTIER_IOS, /* by cause */
	UNKNOWN_IOS,
	WAITED_NS, /* for a request, before total begins */
	N_COUNTS,
};

struct block_sum {
	uint64_t n[N_COUNTS];
	struct histogram total;	 /* its count is the number of requests */
	struct histogram queue;	 /* until the driver got it, of those that were seen to begin */
	struct histogram device; /* from then on */
	uint32_t index;		 /* of block_names: the last one */
};

struct block {
	struct report *report;
	struct block_names *names;
	bool devices;		   /* --by device alone */
	bool disks;		   /* requests to a partition are also its disk's */
	bool depths;		   /* also those of requests that end behind the window */
	struct block_depth *depth; /* by device; 16 bytes a request */
	size_t n_depth;
	struct block_depth_span *window; /* by device; NULL: there are no such columns */
	bool histogram;
	struct histogram times[4]; /* of reads in queue and device, of writes */
};

/* Of a row, what is counted. */
struct io {
	uint64_t op, bytes, flags, error, merges, requeues, state, cause;
	uint64_t total, device, waited;
	bool has_queue, reads, writes; /* reads, writes: as /proc/diskstats counts them */
	uint32_t index;
};

static void block_deinit(struct block *b)
{
	for (size_t i = 0; i < b->n_depth; i++)
		block_depth_deinit(&b->depth[i]);
	for (size_t i = 0; i < 4; i++)
		histogram_deinit(&b->times[i]);
	free(b->depth);
	free(b->window);
	block_names_destroy(b->names);
}

/* --- figures --- */

static struct ebt_error *merge(void *to, const void *from)
{
	const struct block_sum *f = from;
	struct block_sum *t = to;
	struct ebt_error *err;

	for (size_t i = 0; i < N_COUNTS; i++)
		t->n[i] += f->n[i];
	t->index = f->index;
	err = histogram_merge(&t->total, &f->total);
	if (err)
		return err;
	err = histogram_merge(&t->queue, &f->queue);
	return err ? err : histogram_merge(&t->device, &f->device);
}

static void deinit(void *figures)
{
	struct block_sum *sum = figures;

	histogram_deinit(&sum->total);
	histogram_deinit(&sum->queue);
	histogram_deinit(&sum->device);
}

static uint64_t queue_ns(const struct io *io)
{
	return io->total > io->device ? io->total - io->device : 0;
}

static struct ebt_error *add_io(void *arg, void *figures, uint32_t id)
{
	const struct io *io = arg;
	struct block_sum *sum = figures;
	struct ebt_error *err;

	(void)id;
	sum->index = io->index;
	if (io->state == EBT_V_block_io_state_in_flight) {
		sum->n[IN_FLIGHT]++;
		return NULL;
	}
	sum->n[BYTES] += io->bytes;
	sum->n[SYNC] += io->op == EBT_V_block_io_op_read || io->flags & FLAGS_SYNC;
	sum->n[MERGES] += io->merges;
	sum->n[REQUEUES] += io->requeues;
	sum->n[ERRORS] += io->error != 0;
	sum->n[READ_BYTES] += io->reads ? io->bytes : 0;
	sum->n[WRITE_BYTES] += io->writes ? io->bytes : 0;
	sum->n[READ_IOS] += io->reads;
	sum->n[WRITE_IOS] += io->writes;
	sum->n[DIRTIER_IOS] += io->cause == EBT_V_block_io_cause_dirtier;
	sum->n[UNKNOWN_IOS] += io->cause == EBT_V_block_io_cause_unknown;
	sum->n[WAITED_NS] += io->waited;
	err = histogram_add(&sum->total, io->total);
	if (!err && io->device)
		err = histogram_add(&sum->device, io->device);
	return err || !io->has_queue ? err : histogram_add(&sum->queue, queue_ns(io));
}

/* --- rows --- */

static struct ebt_error *add_depth(struct block *b, uint32_t device, uint64_t start, uint64_t end)
{
	struct ebt_error *err = ebt_array_reserve_zeroed(&b->depth, device, &b->n_depth);

	return err ? err : block_depth_add(&b->depth[device], start, end);
}

static struct ebt_error *add_times(struct block *b, const struct io *io)
{
	struct histogram *times = &b->times[io->writes ? 2 : 0];
	struct ebt_error *err = NULL;

	if (io->state == EBT_V_block_io_state_in_flight || !(io->reads || io->writes))
		return NULL;
	if (io->has_queue)
		err = histogram_add(&times[0], queue_ns(io));
	return err || !io->device ? err : histogram_add(&times[1], io->device);
}

static struct io read_io(const struct ebt_row *row)
{
	struct io io = {
		.op = ebt_block_io_op(row),
		.bytes = ebt_block_io_bytes(row),
		.flags = ebt_block_io_flags(row),
		.error = ebt_block_io_error(row),
		.merges = ebt_block_io_merges(row),
		.requeues = ebt_block_io_requeues(row),
		.state = ebt_block_io_state(row),
		.cause = ebt_block_io_cause(row),
		.total = ebt_block_io_duration(row),
		.device = ebt_block_io_device(row),
		.waited = ebt_block_io_waited(row),
	};

	io.has_queue = io.device && ebt_block_io_layer(row) == EBT_V_block_io_layer_request;
	io.reads = io.op == EBT_V_block_io_op_read;
	io.writes = io.op == EBT_V_block_io_op_write || io.op == EBT_V_block_io_op_secure_erase ||
		    io.op == EBT_V_block_io_op_write_zeroes ||
		    io.op == EBT_V_block_io_op_zone_append;
	return io;
}

/* devices[1]: the disk, if the first is a partition of it. */
static struct ebt_error *find_devices(struct block *b, const struct ebt_row *row,
				      uint32_t devices[2], unsigned int *ret_n)
{
	struct ebt_error *err;

	err = block_names_of(b->names, (uint32_t)ebt_block_io_dev_major(row),
			     (uint32_t)ebt_block_io_dev_minor(row), &devices[0]);
	if (!err)
		err = block_names_of(b->names, (uint32_t)ebt_block_io_disk_major(row),
				     (uint32_t)ebt_block_io_disk_minor(row), &devices[1]);
	if (!err)
		*ret_n = devices[1] == devices[0] ? 1 : 2;
	return err;
}

static struct ebt_error *count_row(void *arg, const struct ebt_row *row)
{
	struct grouping *g = arg;
	struct block *b = grouping_arg(g);
	struct group_row key = { .task = ebt_block_io_task(row) };
	struct io io;
	struct ebt_error *err;
	uint32_t devices[2];
	unsigned int n;

	/* The cursor let it pass for its submitter too. */
	if (!trace_task_wanted(b->report->trace, key.task))
		return NULL;
	io = read_io(row);
	err = find_devices(b, row, devices, &n);
	for (unsigned int i = 0; !err && b->depths && i < n; i++)
		err = add_depth(b, devices[i], row->time - (io.total < row->time ? io.total : 0),
				row->time);
	if (err || row->time >= trace_to_ns(b->report->trace))
		return err;
	/* Operations that are not known yet are counted together. */
	key.own[BY_OPERATION - GROUP_OWN] = io.op < 0xff ? io.op : 0xff;
	for (unsigned int i = 0; !err && i < (b->disks ? n : 1); i++) {
		key.own[BY_DEVICE - GROUP_OWN] = io.index = devices[i];
		err = grouping_add(g, &key, add_io, &io);
	}
	return err || !b->histogram ? err : add_times(b, &io);
}

static struct ebt_error *read_rows(struct block *b, struct grouping *g)
{
	static const struct ebt_want want = {
		EBT_T_block_io,
		EBT_COLS(block_io, task, cause, state, layer, dev_major, dev_minor, disk_major,
			 disk_minor, op, flags, error, merges, requeues, bytes, duration, device,
			 waited),
	};

	return trace_read_rows(b->report->trace, &want, 1, b->depths ? TRACE_TO_END : 0, count_row,
			       g);
}

/* --- depths --- */

static void depth_spans(struct block *b, uint32_t device, size_t n, struct block_depth_span *ret)
{
	struct block_depth none = { 0 };

	block_depth_spans(device < b->n_depth ? &b->depth[device] : &none,
			  trace_from_ns(b->report->trace), trace_to_ns(b->report->trace), n, ret);
}

/* Of the whole window, for the table. */
static struct ebt_error *find_window(struct block *b)
{
	size_t n = b->names->n;

	if (trace_to_ns(b->report->trace) <= trace_from_ns(b->report->trace))
		return NULL;
	b->window = calloc(n + 1, sizeof(*b->window));
	if (!b->window)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n; i++)
		depth_spans(b, i, 1, &b->window[i]);
	return NULL;
}

static double busy_percent(const struct block_depth_span *span)
{
	uint64_t length = span->to_ns - span->from_ns;

	return length ? 100.0 * (double)span->busy_ns / (double)length : 0;
}

#define DEPTHS(X)                                                             \
	X("from_ns", "FROM", OUT_TIME, out_u64(s->from_ns))                   \
	X("to_ns", "TO", OUT_TIME, out_u64(s->to_ns))                         \
	X("device", "DEVICE", OUT_STRING, out_str(b->names->devices[d].name)) \
	X("depth_mean", "DEPTH-AVG", OUT_FLOAT, out_f64(s->mean))             \
	X("depth_max", "DEPTH-MAX", OUT_U64, out_u64(s->max))                 \
	X("busy_percent", "BUSY-%", OUT_PERCENT, out_f64(busy_percent(s)))

static struct ebt_error *put_depths(struct block *b)
{
	const struct out_table table =
		OUT_TABLE_OF("depths", DEPTHS, .title = "\nRequests at a time",
			     .flags = OUT_FIXED | OUT_KEEP_ORDER);
	uint64_t from = trace_from_ns(b->report->trace), to = trace_to_ns(b->report->trace);
	size_t n = b->report->options->interval_ns ? 1 : DEPTH_SPANS;
	struct block_depth_span spans[DEPTH_SPANS], *s;
	struct out *out = b->report->out;
	struct ebt_error *err;

	err = out_begin(out, &table);
	for (uint32_t d = 0; !err && d < b->names->n; d++) {
		if (d >= b->n_depth || !b->depth[d].n || to <= from)
			continue;
		depth_spans(b, d, n, spans);
		for (s = spans; !err && s < spans + n; s++)
			err = out_row(out, 0, OUT_VALUES(DEPTHS));
	}
	return err ? err : out_end(out);
}

static struct ebt_error *put_histograms(struct block *b)
{
	static const char *const texts[4][2] = {
		{ "read_queue_histogram", "\nReads: time in the queue" },
		{ "read_device_histogram", "\nReads: time in the device" },
		{ "write_queue_histogram", "\nWrites: time in the queue" },
		{ "write_device_histogram", "\nWrites: time in the device" },
	};
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < 4; i++) {
		if (b->times[i].count)
			err = out_histogram(b->report->out, texts[i][0], texts[i][1], &b->times[i],
					    OUT_DURATION);
	}
	return err;
}

/* --- the table --- */

static const struct out_column device_columns[] = {
	{ "device", "DEVICE", OUT_STRING, 0 },	      { "disk", NULL, OUT_STRING, OUT_DETAIL },
	{ "alias", NULL, OUT_STRING, OUT_DETAIL },    { "scheduler", NULL, OUT_STRING, OUT_DETAIL },
	{ "model", NULL, OUT_STRING, OUT_DETAIL },    { "backing", NULL, OUT_STRING, OUT_DETAIL },
	{ "rotational", NULL, OUT_BOOL, OUT_DETAIL }, { "size", NULL, OUT_BYTES, OUT_DETAIL },
};

static struct ebt_error *put_device(const struct grouping *g, uint64_t value,
				    struct group_cells *cells)
{
	const struct block *b = grouping_arg(g);
	const struct block_device *device = &b->names->devices[value];

	text_add(cells->label, device->name.data, device->name.len);
	cells->values[0] = out_str(device->name);
	if (!device->known || !b->devices)
		return NULL;
	cells->values[1] = out_str(b->names->devices[device->disk].name);
	cells->values[2] = out_str_if(device->alias);
	cells->values[3] = out_str_if(device->scheduler);
	cells->values[4] = out_str_if(device->model);
	cells->values[5] = out_str_if(device->backing);
	cells->values[6] = out_u64(device->rotational);
	cells->values[7] = out_u64(device->size);
	return NULL;
}

static const struct out_column operation_columns[] = {
	{ "operation", "OPERATION", OUT_STRING, 0 },
};

static struct ebt_error *put_operation(const struct grouping *g, uint64_t value,
				       struct group_cells *cells)
{
	(void)g;
	text_cstr(cells->label, block_op_name(value));
	cells->values[0] = out_cstr(block_op_name(value));
	return NULL;
}

static const struct group_own own[] = {
	{ "device", "DEVICE", device_columns, 8, true, put_device },
	{ "operation", "OPERATION", operation_columns, 1, true, put_operation },
};

#define ALL (OUT_DETAIL | GROUP_ABOVE)

#define FIGURES(X)                                                                                \
	X("ios", "IOS", OUT_U64, out_u64(sum->total.count), OUT_ADDS)                             \
	X("bytes", "BYTES", OUT_BYTES, out_u64(sum->n[BYTES]), OUT_SORT | OUT_ADDS)               \
	X("sync_ios", "SYNC", OUT_U64, out_u64(sum->n[SYNC]), OUT_ADDS)                           \
	X("async_ios", "ASYNC", OUT_U64, out_u64(sum->total.count - sum->n[SYNC]), OUT_ADDS, 112) \
	X("merges", "MERGED", OUT_U64, out_u64(sum->n[MERGES]), OUT_ADDS, 120)                    \
	X("p50_ns", "P50", OUT_DURATION, out_percentile(&sum->total, 50), OUT_SPREAD, 90,         \
	  .percent = 50)                                                                          \
	X("p99_ns", "P99", OUT_DURATION, out_percentile(&sum->total, 99), OUT_SPREAD,             \
	  .of = "p50_ns", .percent = 99)                                                          \
	X("max_ns", "MAX", OUT_DURATION, out_maximum(&sum->total), OUT_PEAK, 100)                 \
	X("queue_p50_ns", "QUEUE-P50", OUT_DURATION, out_percentile(&sum->queue, 50), OUT_SPREAD, \
	  150, .percent = 50)                                                                     \
	X("queue_p99_ns", "QUEUE-P99", OUT_DURATION, out_percentile(&sum->queue, 99), OUT_SPREAD, \
	  .of = "queue_p50_ns", .percent = 99)                                                    \
	X("queue_max_ns", "QUEUE-MAX", OUT_DURATION, out_maximum(&sum->queue), OUT_PEAK, 170)     \
	X("device_p50_ns", "DEVICE-P50", OUT_DURATION, out_percentile(&sum->device, 50),          \
	  OUT_SPREAD, 140, .percent = 50)                                                         \
	X("device_p99_ns", "DEVICE-P99", OUT_DURATION, out_percentile(&sum->device, 99),          \
	  OUT_SPREAD, .of = "device_p50_ns", .percent = 99)                                       \
	X("device_max_ns", "DEVICE-MAX", OUT_DURATION, out_maximum(&sum->device), OUT_PEAK, 160)  \
	X("read_bytes", NULL, OUT_BYTES, out_u64(sum->n[READ_BYTES]), ALL | OUT_ADDS)             \
	X("write_bytes", NULL, OUT_BYTES, out_u64(sum->n[WRITE_BYTES]), ALL | OUT_ADDS)           \
	X("read_ios", NULL, OUT_U64, out_u64(sum->n[READ_IOS]), ALL | OUT_ADDS)                   \
	X("write_ios", NULL, OUT_U64, out_u64(sum->n[WRITE_IOS]), ALL | OUT_ADDS)                 \
	X("total_ns", NULL, OUT_DURATION, out_u64(sum->total.sum), OUT_DETAIL | OUT_ADDS)         \
	X("queue_total_ns", NULL, OUT_DURATION, out_u64(sum->queue.sum), OUT_DETAIL | OUT_ADDS)   \
	X("device_total_ns", NULL, OUT_DURATION, out_u64(sum->device.sum), OUT_DETAIL | OUT_ADDS) \
	X("waited_ns", NULL, OUT_DURATION, out_u64(sum->n[WAITED_NS]), ALL | OUT_ADDS)            \
	X("requeues", NULL, OUT_U64, out_u64(sum->n[REQUEUES]), OUT_DETAIL | OUT_ADDS)            \
	X("errors", NULL, OUT_U64, out_u64(sum->n[ERRORS]), OUT_DETAIL | OUT_ADDS)                \
	X("in_flight", NULL, OUT_U64, out_u64(sum->n[IN_FLIGHT]), OUT_DETAIL)                     \
	X("dirtier_ios", NULL, OUT_U64, out_u64(sum->n[DIRTIER_IOS]), ALL | OUT_ADDS)             \
	X("unknown_ios", NULL, OUT_U64, out_u64(sum->n[UNKNOWN_IOS]), ALL | OUT_ADDS)

#define FIGURES_AND_DEPTH(X)                                                                      \
	FIGURES(X)                                                                                \
	X("depth_mean", "DEPTH-AVG", OUT_FLOAT, span ? out_f64(span->mean) : out_null(),          \
	  GROUP_ABOVE)                                                                            \
	X("depth_max", "DEPTH-MAX", OUT_U64, span ? out_u64(span->max) : out_null(), GROUP_ABOVE) \
	X("busy_percent", "BUSY-%", OUT_PERCENT, span ? out_f64(busy_percent(span)) : out_null(), \
	  GROUP_ABOVE)

static void put_figures(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct block *b = grouping_arg(g);
	const struct block_sum *sum = figures;
	const struct block_depth_span *span = b->window ? &b->window[sum->index] : NULL;

	GROUP_PUT(values, FIGURES_AND_DEPTH);
}

static const struct group_columns columns = GROUP_COLUMNS(FIGURES, put_figures);
static const struct group_columns device_figures = GROUP_COLUMNS(FIGURES_AND_DEPTH, put_figures);

static const struct group_table requests = {
	.keys = GROUP_TASK_KEYS,
	.own = own,
	.n_own = 2,
	.by = "process,device",
	.detail = "operation",
	.columns = &columns,
	.size = sizeof(struct block_sum),
	.merge = merge,
	.deinit = deinit,
};

static void put_remarks(const struct block *b, const struct grouping *g)
{
	const struct block_sum *all = grouping_all(g);
	uint64_t unknown = all->n[UNKNOWN_IOS], in_flight = all->n[IN_FLIGHT];

	if (b->disks) /* which are there twice */
		return;
	if (unknown)
		out_printf(b->report->out,
			   "Of %" PRIu64 " %s, %" PRIu64
			   " %s under who submitted %s: for whom is not known.\n",
			   all->total.count, text_plural(all->total.count, "request", "requests"),
			   unknown, text_plural(unknown, "stands", "stand"),
			   text_plural(unknown, "it", "them"));
	if (in_flight)
		out_printf(b->report->out,
			   "%" PRIu64 " request%s in flight when recording ended.\n", in_flight,
			   text_plural(in_flight, " was", "s were"));
}

/* --- the command --- */

static struct ebt_error *put_all(struct block *b, struct grouping *g)
{
	struct ebt_error *err = NULL;

	if (b->devices)
		err = find_window(b);
	if (!err)
		err = grouping_put(g);
	if (err)
		return err;
	put_remarks(b, g);
	if (options_flag(b->report->options, "depth"))
		err = put_depths(b);
	return err || !b->histogram ? err : put_histograms(b);
}

static struct ebt_error *list_requests(struct report *report)
{
	const struct options *o = report->options;

	if (o->sort || o->interval_ns)
		return ebt_error_create(EBT_ERR_INVALID, "--trace is in order of time: --sort and "
							 "--interval do not apply");
	if (options_string(o, "by") || options_flag(o, "histogram") || options_flag(o, "depth"))
		return ebt_error_create(EBT_ERR_INVALID, "--trace lists requests: --by, "
							 "--histogram and --depth do not apply");
	return block_trace(report);
}

static struct ebt_error *cmd_block(struct report *report)
{
	__attribute__((cleanup(block_deinit))) struct block b = { .report = report };
	_cleanup_(grouping_destroyp) struct grouping *g = NULL;
	const char *by = options_string(report->options, "by");
	struct ebt_error *err;

	if (options_flag(report->options, "trace"))
		return list_requests(report);
	err = grouping_create(report, &requests, &b, NULL, &g);
	if (!err)
		err = block_names_create(report->trace, &b.names);
	if (err)
		return err;
	b.devices = by && !strcmp(by, "device");
	b.disks = grouping_has(g, BY_DEVICE) && !(grouping_keys(g) & GROUP_TASK_KEYS);
	b.depths = options_flag(report->options, "depth") || b.devices;
	b.histogram = options_flag(report->options, "histogram");
	if (b.devices)
		grouping_set_columns(g, &device_figures);
	err = read_rows(&b, g);
	return err ? err : put_all(&b, g);
}

static const struct option_def block_options[] = {
	GROUP_BY_OPTION("process,device", "device", "operation"),
	{ "devices", OPTION_GONE, NULL, "--by device" },
	{ "by-thread", OPTION_GONE, NULL, "--by thread,device" },
	{ "depth", OPTION_FLAG, NULL, "also: how many requests a device had at a time, over time" },
	{ "histogram", OPTION_FLAG, NULL, "also: distribution of time in queue and device" },
	{ "trace", OPTION_FLAG, NULL, "every request, a line each, as they complete" },
	{ 0 },
};

static const char help[] =
	"Record with `ebrec -e block`. A row for each process and device (--by), and below\n"
	"it one for each operation. P50, P99 and MAX are from when the kernel made the\n"
	"request until it completed; QUEUE is the part until the driver got it, DEVICE the\n"
	"rest. SYNC: somebody was waiting for it. MERGED: bios that joined another's\n"
	"request.\n"
	"\n"
	"What was written to the page cache is of the task that dirtied the file last, not\n"
	"of the kernel thread that writes it back, nor of who called sync. Where that is not\n"
	"known, because it was before the recording or because a file system keeps it to\n"
	"itself, the request stands under who submitted it, and is counted in a line below\n"
	"(unknown_ios).\n"
	"\n"
	"read_ios, write_ios and their bytes in JSON and CSV are what /proc/diskstats counts\n"
	"(a flush of a file system without data is a write of 0 bytes there). By device and\n"
	"nothing that is of tasks, a disk has the requests to its partitions too. With\n"
	"--by device alone DEPTH is the mean number of requests at a time.\n"
	"\n"
	"  ebreport block t.ebt\n"
	"  ebreport block --by device --depth t.ebt\n"
	"  ebreport block --by container,device t.ebt\n"
	"  ebreport block --interval 1s --top 3 t.ebt\n"
	"  ebreport block --trace --comm fio --from 2s --to 2.1s t.ebt\n";

static const struct command_subject subject = {
	.what = "disk requests",
	.source = "block",
	.tables = { EBT_T_block_io },
};

const struct command command_block = {
	.name = "block",
	.fn = cmd_block,
	.flags = COMMAND_NO_NAMES,
	.summary =
		"disk requests by process, device and operation: bytes, time in queue and device",
	.elsewhere = "disk disks biosnoop iostat",
	.help = help,
	.options = block_options,
	.subject = &subject,
};
