/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport io`: what was read and written, by file, and what was looked for in vain. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/calls/names.h"
#include "report/group/group.h"
#include "report/io/io_peers.h"
#include "report/io/left_stacks.h"
#include "report/io/model_io.h"
#include "report/sched/feed.h"

enum { OWN_FILE, OWN_DIRECTORY, OWN_DEVICE, OWN_FILESYSTEM };

enum { HAS_FAULTS, HAS_CACHE, HAS_BLOCK, N_HAS };

#define NO_DEVICE UINT64_MAX

struct io_sum {
	uint64_t opens, failed;
	uint64_t reads, read_bytes, writes, write_bytes, others;
	uint64_t ns, off_ns;
	uint64_t follow, in_order; /* reads and writes, as in struct io_use */
	uint64_t max_bytes;	   /* of one read or write */
	uint64_t faults, pages, disk_bytes;
	uint32_t file; /* the last one */
};

/* Of names that were not there, or of descriptors that were left open. */
struct count_sum {
	uint64_t count, ns;
	uint64_t first; /* when the first one was opened */
};

/* What the functions of the tables have. */
struct io_view {
	struct io_model *model;
	struct grouping *g;
	bool off_known;	      /* when tasks were off CPU */
	bool has[N_HAS];      /* rows of other tables that name files */
	struct left_fds left; /* those whose stacks are asked for */
};

/* --- keys --- */

static struct io_model *model_of(const struct grouping *g)
{
	const struct io_view *v = grouping_arg(g);

	return v->model;
}

static struct ebt_error *put_name(const struct grouping *g, uint32_t name,
				  struct group_cells *cells)
{
	const struct ebt_str s = io_name(model_of(g), name);

	if (s.len)
		text_add(&cells->texts[0], s.data, s.len);
	else
		text_cstr(&cells->texts[0], "(not known)");
	text_cstr(cells->label, text_get(&cells->texts[0]));
	return NULL;
}

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {
		[EBT_V_fd_type_other] = "other",
		[EBT_V_fd_type_fifo] = "pipe",
		[EBT_V_fd_type_character] = "character device",
		[EBT_V_fd_type_directory] = "directory",
		[EBT_V_fd_type_block] = "block device",
		[EBT_V_fd_type_regular] = "regular",
		[EBT_V_fd_type_link] = "link",
		[EBT_V_fd_type_socket] = "socket",
	};

	return type < sizeof(names) / sizeof(*names) ? names[type] : NULL;
}

static struct ebt_error *put_file(const struct grouping *g, uint64_t value,
				  struct group_cells *cells)
{
	const struct io_file *file = io_file(model_of(g), (uint32_t)value);
	const char *type = file->known ? type_name(file->type) : NULL;

	if (type)
		cells->values[1] = out_cstr(type);
	return put_name(g, file->name, cells);
}

static struct ebt_error *put_directory(const struct grouping *g, uint64_t value,
				       struct group_cells *cells)
{
	return put_name(g, (uint32_t)value, cells);
}

static struct ebt_error *put_device(const struct grouping *g, uint64_t value,
				    struct group_cells *cells)
{
	(void)g;
	if (value == NO_DEVICE)
		text_cstr(&cells->texts[0], "(not known)");
	else
		text_printf(&cells->texts[0], "%" PRIu64 ":%" PRIu64, value >> 32,
			    value & UINT32_MAX);
	text_cstr(cells->label, text_get(&cells->texts[0]));
	return NULL;
}

static const struct out_column file_columns[] = {
	{ "path", "FILE", OUT_STRING, OUT_FLEX },
	{ "type", NULL, OUT_STRING, OUT_DETAIL },
};
static const struct out_column directory_column = { "directory", "DIRECTORY", OUT_STRING,
						    OUT_FLEX };
static const struct out_column device_column = { "device", "DEVICE", OUT_STRING, 0 };
static const struct out_column filesystem_column = { "filesystem", "FILESYSTEM", OUT_STRING,
						     OUT_FLEX };

static const struct group_own own_keys[] = {
	[OWN_FILE] = { "file", "FILE", file_columns, 2, true, put_file },
	[OWN_DIRECTORY] = { "directory", "DIRECTORY", &directory_column, 1, true, put_directory },
	[OWN_DEVICE] = { "device", "DEVICE", &device_column, 1, false, put_device },
	[OWN_FILESYSTEM] = { "filesystem", "FILESYSTEM", &filesystem_column, 1, true,
			     put_directory },
};

static struct ebt_error *find_group(struct grouping *g, const struct ebt_task *task,
				    uint32_t number, uint32_t *ret)
{
	const struct io_file *file = io_file(model_of(g), number);
	const struct group_row row = {
		.task = task,
		.own = {
			[OWN_FILE] = number,
			[OWN_DIRECTORY] = file->directory,
			[OWN_DEVICE] = file->known && number != IO_OTHERS ?
				(uint64_t)file->dev_major << 32 | file->dev_minor : NO_DEVICE,
			[OWN_FILESYSTEM] = file->filesystem,
		},
	};

	return grouping_find(g, &row, ret);
}

/* --- what was read and written --- */

static struct ebt_error *merge(void *to, const void *from)
{
	const struct io_sum *f = from;
	struct io_sum *t = to;

	t->opens += f->opens;
	t->failed += f->failed;
	t->reads += f->reads;
	t->read_bytes += f->read_bytes;
	t->writes += f->writes;
	t->write_bytes += f->write_bytes;
	t->others += f->others;
	t->ns += f->ns;
	t->off_ns += f->off_ns;
	t->follow += f->follow;
	t->in_order += f->in_order;
	t->faults += f->faults;
	t->pages += f->pages;
	t->disk_bytes += f->disk_bytes;
	t->max_bytes = f->max_bytes > t->max_bytes ? f->max_bytes : t->max_bytes;
	return NULL;
}

static struct ebt_error *take_use(void *arg, const struct io_use *use)
{
	struct grouping *g = arg;
	struct io_sum *sum;
	struct ebt_error *err;
	uint32_t i;

	err = find_group(g, use->call->task, use->file, &i);
	if (err)
		return err;
	sum = grouping_figures(g, i);
	sum->file = use->file;
	sum->opens += use->act == IO_OPEN;
	sum->failed += use->act == IO_OPEN_FAILED;
	sum->reads += use->act == IO_READ;
	sum->writes += use->act == IO_WRITE;
	sum->others += use->act == IO_OTHER;
	sum->read_bytes += use->act == IO_READ ? use->bytes : 0;
	sum->write_bytes += use->act == IO_WRITE ? use->bytes : 0;
	sum->ns += use->ns;
	sum->off_ns += use->off_ns;
	sum->follow += use->follows;
	sum->in_order += use->in_order;
	sum->max_bytes = use->bytes > sum->max_bytes ? use->bytes : sum->max_bytes;
	return NULL;
}

/* What other sources say of files. */
static struct ebt_error *on_file_row(void *arg, const struct ebt_row *row)
{
	const struct io_view *v = arg;
	const uint16_t table = row->batch->table->id;
	const struct ebt_task *task;
	struct inode_key key;
	struct io_sum *sum;
	struct ebt_error *err;
	uint32_t file, i;

	if (table == EBT_T_fault) {
		task = ebt_fault_task(row);
		key = INODE_KEY(fault, row);
	} else if (table == EBT_T_page_cache) {
		task = ebt_page_cache_task(row);
		key = INODE_KEY(page_cache, row);
	} else {
		task = ebt_block_io_task(row);
		key = INODE_KEY(block_io, row);
		key.dev_major = (uint32_t)ebt_block_io_file_major(row);
		key.dev_minor = (uint32_t)ebt_block_io_file_minor(row);
	}
	if (!key.inode ||
	    (table == EBT_T_page_cache && ebt_page_cache_kind(row) != EBT_V_page_cache_kind_add))
		return NULL;
	err = io_model_inode(v->model, &key, &file) ?: find_group(v->g, task, file, &i);
	if (err)
		return err;
	sum = grouping_figures(v->g, i);
	sum->faults += table == EBT_T_fault;
	sum->pages += table == EBT_T_page_cache ? ebt_page_cache_pages(row) : 0;
	sum->disk_bytes += table == EBT_T_block_io ? ebt_block_io_bytes(row) : 0;
	return NULL;
}

static struct ebt_error *read_file_rows(struct report *report, struct io_view *v)
{
	const struct ebt_want wants[] = {
		EBT_WANT(fault, task, inode, dev_major, dev_minor, generation),
		EBT_WANT(page_cache, task, kind, pages, inode, dev_major, dev_minor, generation),
		EBT_WANT(block_io, task, bytes, inode, file_major, file_minor, dev_major, dev_minor,
			 generation),
	};

	v->has[HAS_FAULTS] = trace_has_rows(report->trace, EBT_T_fault);
	v->has[HAS_CACHE] = trace_has_rows(report->trace, EBT_T_page_cache);
	v->has[HAS_BLOCK] = trace_has_rows(report->trace, EBT_T_block_io);
	if (!v->has[HAS_FAULTS] && !v->has[HAS_CACHE] && !v->has[HAS_BLOCK])
		return NULL;
	return trace_read_rows(report->trace, wants, 3, 0, on_file_row, v);
}

static double per_cent(uint64_t part, uint64_t all)
{
	return all ? (double)part * 100 / (double)all : 0;
}

static uint64_t average(const struct io_sum *sum)
{
	const uint64_t n = sum->reads + sum->writes;

	return n ? (sum->read_bytes + sum->write_bytes) / n : 0;
}

#define FIGURES(X)                                                                                \
	X("opens", "OPENS", OUT_U64, out_u64(sum->opens), OUT_ADDS)                               \
	X("failed_opens", "FAILED", OUT_U64, out_u64(sum->failed), OUT_ADDS)                      \
	X("reads", "READS", OUT_U64, out_u64(sum->reads), OUT_ADDS)                               \
	X("read_bytes", "READ", OUT_BYTES, out_u64(sum->read_bytes), OUT_ADDS)                    \
	X("writes", "WRITES", OUT_U64, out_u64(sum->writes), OUT_ADDS)                            \
	X("write_bytes", "WRITTEN", OUT_BYTES, out_u64(sum->write_bytes), OUT_ADDS)               \
	X("other_calls", "OTHER", OUT_U64, out_u64(sum->others), OUT_ADDS, 90)                    \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(sum->ns), OUT_SORT | OUT_ADDS)               \
	X("off_cpu_ns", "OFF-CPU", OUT_DURATION, out_u64_if(v->off_known, sum->off_ns), 0, 80)    \
	X("in_order_percent", "IN-ORDER-%", OUT_PERCENT,                                          \
	  out_f64_if(sum->follow, per_cent(sum->in_order, sum->follow)), 0, 100)                  \
	X("avg_bytes", "AVG", OUT_BYTES, out_u64_if(sum->reads + sum->writes, average(sum)),      \
	  OUT_MEAN, 110, .of = "read_bytes write_bytes", .by = "reads writes")                    \
	X("faults", "FAULTS", OUT_U64, out_u64_if(v->has[HAS_FAULTS], sum->faults), OUT_ADDS, 85) \
	X("pages_in", "PAGES-IN", OUT_U64, out_u64_if(v->has[HAS_CACHE], sum->pages), OUT_ADDS,   \
	  95)                                                                                     \
	X("disk_bytes", "DISK", OUT_BYTES, out_u64_if(v->has[HAS_BLOCK], sum->disk_bytes),        \
	  OUT_ADDS, 84)                                                                           \
	X("max_bytes", "MAX", OUT_BYTES, out_u64_if(sum->reads + sum->writes, sum->max_bytes),    \
	  OUT_PEAK, 111)

static void put_figures(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct io_view *v = grouping_arg(g);
	const struct io_sum *sum = figures;

	GROUP_PUT(values, FIGURES);
}

static const struct group_columns columns = GROUP_COLUMNS(FIGURES, put_figures);

static const struct group_table uses = {
	.keys = GROUP_TASK_KEYS,
	.own = own_keys,
	.n_own = 4,
	.by = "file",
	.columns = &columns,
	.size = sizeof(struct io_sum),
	.merge = merge,
};

/* Rows of --shared: who wrote a file that others wrote, too. */
static bool is_alone(const struct grouping *g, const void *figures)
{
	const struct io_sum *sum = figures;
	const struct io_file *file = io_file(model_of(g), sum->file);

	return !sum->writes || file->type != EBT_V_fd_type_regular || file->writers < 2;
}

static const struct group_table shared = {
	.keys = GROUP_TASK_KEYS,
	.own = own_keys,
	.n_own = 4,
	.by = "file,process",
	.columns = &columns,
	.size = sizeof(struct io_sum),
	.merge = merge,
	.hidden = is_alone,
};

/* --- names that were not there, descriptors that were left open --- */

static struct ebt_error *merge_count(void *to, const void *from)
{
	const struct count_sum *f = from;
	struct count_sum *t = to;

	t->count += f->count;
	t->ns += f->ns;
	if (!t->first || (f->first && f->first < t->first))
		t->first = f->first;
	return NULL;
}

static struct ebt_error *take_missing(void *arg, const struct io_use *use)
{
	struct grouping *g = arg;
	struct count_sum *sum;
	struct ebt_error *err;
	uint32_t i;

	err = find_group(g, use->call->task, use->file, &i);
	if (err)
		return err;
	sum = grouping_figures(g, i);
	sum->count++;
	sum->ns += use->ns;
	return NULL;
}

static void add_left(struct count_sum *sum, uint64_t since)
{
	sum->count++;
	if (!sum->first || since < sum->first)
		sum->first = since;
}

static struct ebt_error *take_left(void *arg, const struct io_held *held)
{
	struct grouping *g = arg;
	struct io_view *v = grouping_arg(g);
	struct count_sum *sum;
	struct ebt_error *err;
	uint32_t i;

	if (!trace_task_wanted(grouping_report(g)->trace, held->fd->task))
		return NULL;
	err = find_group(g, held->fd->task, held->file, &i);
	if (err)
		return err;
	sum = grouping_figures(g, i);
	add_left(sum, held->fd->since);
	return grouping_has_stacks(g) ? left_fds_add(&v->left, held->fd->task, held->fd->since)
				      : NULL;
}

static struct ebt_error *take_left_stack(void *arg, void *figures, uint32_t id)
{
	const struct left_fd *fd = arg;

	(void)id;
	add_left(figures, fd->since);
	return NULL;
}

#define MISSING(X)                                                  \
	X("count", "COUNT", OUT_U64, out_u64(sum->count), OUT_SORT) \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(sum->ns))

static void put_missing(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct count_sum *sum = figures;

	(void)g;
	GROUP_PUT(values, MISSING);
}

#define LEFT(X)                                                     \
	X("count", "COUNT", OUT_U64, out_u64(sum->count), OUT_SORT) \
	X("from_ns", "SINCE", OUT_TIME, out_u64(sum->first))

static void put_left(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct count_sum *sum = figures;

	(void)g;
	GROUP_PUT(values, LEFT);
}

static const struct group_columns missing_columns = GROUP_COLUMNS(MISSING, put_missing);
static const struct group_columns left_columns = GROUP_COLUMNS(LEFT, put_left);

static uint64_t left_count(const void *figures)
{
	return ((const struct count_sum *)figures)->count;
}

static void left_headline(const struct grouping *g, const void *figures, uint64_t all,
			  struct text *text)
{
	const struct count_sum *sum = figures;

	(void)g;
	(void)all;
	text_printf(text, "%" PRIu64 " %s", sum->count,
		    text_plural(sum->count, "descriptor", "descriptors"));
}

static const struct group_table missing = {
	.keys = GROUP_TASK_KEYS,
	.own = own_keys,
	.n_own = 2,
	.by = "program,file",
	.columns = &missing_columns,
	.size = sizeof(struct count_sum),
	.merge = merge_count,
};

static const struct group_table left = {
	.keys = GROUP_TASK_KEYS | 1u << GROUP_STACK,
	.own = own_keys,
	.n_own = 4,
	.by = "process,file",
	.columns = &left_columns,
	.size = sizeof(struct count_sum),
	.merge = merge_count,
	.stack_tables = (const uint16_t[]){ 0 },
	.unit = "descriptors",
	.weight = left_count,
	.headline = left_headline,
};

/* --- what was open --- */

struct open_view {
	struct report *report;
	const struct io_model *model;
};

#define OPEN(X)                                                                         \
	X("pid", "PID", OUT_U64, out_u64(fd->pid))                                      \
	X("comm", "COMM", OUT_STRING, out_comm(fd->task))                               \
	X("fd", "FD", OUT_STRING, out_cstr(number))                                     \
	X("mode", "MODE", OUT_STRING, out_cstr(modes[fd->file->flags & 3]))             \
	X("from_ns", "SINCE", OUT_TIME, out_u64_if(fd->made, fd->since))                \
	X("path", "FILE", OUT_STRING, out_str(io_name(v->model, file->name)), OUT_FLEX) \
	X("type", NULL, OUT_STRING, out_cstr_if(type_name(file->type)), OUT_DETAIL)     \
	X("device", NULL, OUT_STRING, out_cstr(device), OUT_DETAIL)

static const struct out_table open_table = OUT_TABLE_OF("rows", OPEN, .flags = OUT_KEEP_ORDER);

static struct ebt_error *put_held(void *arg, const struct io_held *held)
{
	static const char *const modes[] = { "read", "write", "both", "path" };
	const struct open_view *v = arg;
	const struct fd_held *fd = held->fd;
	const struct io_file *file = io_file(v->model, held->file);
	char number[24] = "cwd", device[32];

	if (!trace_task_wanted(v->report->trace, fd->task))
		return NULL;
	if (fd->fd >= 0)
		snprintf(number, sizeof(number), "%" PRId64, fd->fd);
	snprintf(device, sizeof(device), "%" PRIu32 ":%" PRIu32, file->dev_major, file->dev_minor);
	return out_row(v->report->out, 0, OUT_VALUES(OPEN));
}

static struct ebt_error *put_open(struct report *report, struct io_model *model, const char *text)
{
	struct open_view v = { report, model };
	struct option_time time;
	struct ebt_error *err = option_time(&time, text);

	if (err)
		return ebt_error_prefix(err, "--open");
	return out_begin(report->out, &open_table) ?:
	       io_model_held(model, trace_option_ns(report->trace, &time), put_held, &v) ?:
	       out_end(report->out);
}

/* --- the command --- */

/* One question at a time. */
static struct ebt_error *check_options(const struct options *o, const char **ret)
{
	static const char *const questions[] = { "missing", "leaks", "shared", "peers" };

	*ret = options_string(o, "open") ? "open" : "";
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		if (!options_flag(o, questions[i]))
			continue;
		if (**ret)
			return ebt_error_create(EBT_ERR_INVALID, "--%s and --%s are two tables",
						*ret, questions[i]);
		*ret = questions[i];
	}
	if (!strcmp(*ret, "open") && options_string(o, "by"))
		return ebt_error_create(EBT_ERR_INVALID,
					"--open is a line a descriptor: --by does not apply");
	if ((!strcmp(*ret, "open") || !strcmp(*ret, "leaks")) && o->interval_ns)
		return ebt_error_create(EBT_ERR_INVALID,
					"--%s is of one moment: --interval does "
					"not apply",
					*ret);
	if ((options_flag(o, "stacks") || options_string(o, "flame")) && strcmp(*ret, "leaks"))
		return ebt_error_create(EBT_ERR_INVALID, "--stacks and --flame go with --leaks");
	if (options_flag(o, "folded") && strcmp(*ret, "peers"))
		return ebt_error_create(EBT_ERR_INVALID, "--folded goes with --peers");
	return NULL;
}

static struct ebt_error *on_off(void *arg, const struct sched_off *off)
{
	const struct io_view *v = arg;

	/* Not before calls that had returned by then: what is told belongs to a later one. */
	return io_model_read_to(v->model, off->end, take_use, v->g)
		       ?: io_model_off(v->model, off->task, off->start, off->end);
}

/* With the time that tasks were off CPU in calls, if switches were recorded. */
static struct ebt_error *read_uses(struct report *report, struct io_view *v)
{
	const struct sched_feed feed = { .handler = { .off = on_off }, .arg = v, .still = true };
	struct ebt_error *err;
	bool partial;

	err = sched_is_known(report->trace, &v->off_known);
	if (!err && v->off_known)
		err = sched_feed_run(report->trace, &feed, &partial);
	err = err ?: io_model_read(v->model, false, take_use, v->g) ?: read_file_rows(report, v);
	if (!err && io_model_off_dropped(v->model))
		err = trace_warn(report->trace,
				 "%.3f s off CPU may be missing in OFF-CPU: there were too many "
				 "waits between calls",
				 (double)io_model_off_dropped(v->model) / 1e9);
	return err;
}

/* What is left, and where it was made. */
static struct ebt_error *read_left(struct report *report, struct io_view *v)
{
	struct ebt_error *err = io_model_left(v->model, take_left, v->g);

	if (err || !grouping_has_stacks(v->g))
		return err;
	if (!trace_has_rows(report->trace, EBT_T_syscall_stack))
		err = trace_warn(report->trace, "where descriptors were made was not recorded: "
						"record with -e syscalls:stacks");
	return err ?: left_stacks_read(report->trace, &v->left, v->g, take_left_stack);
}

static struct ebt_error *put_table(struct report *report, struct io_model *model, const char *what)
{
	const bool is_missing = !strcmp(what, "missing"), is_left = !strcmp(what, "leaks");
	_cleanup_(grouping_destroyp) struct grouping *g = NULL;
	struct io_view v = { .model = model };
	struct ebt_error *err;

	err = grouping_create(report,
			      is_missing ? &missing
			      : is_left	 ? &left
			      : *what	 ? &shared
					 : &uses,
			      &v, NULL, &g);
	if (err)
		return err;
	v.g = g;
	if (is_left)
		err = read_left(report, &v);
	else if (is_missing)
		err = io_model_read(model, true, take_missing, g);
	else
		err = read_uses(report, &v);
	left_fds_deinit(&v.left);
	return err ?: grouping_put(g);
}

static struct ebt_error *cmd_io(struct report *report)
{
	_cleanup_(io_model_destroyp) struct io_model *model = NULL;
	const struct syscall_machine *machine;
	unsigned int flags = 0;
	const char *what;
	struct ebt_error *err;

	err = check_options(report->options, &what);
	if (err)
		return err;
	/* What a descriptor is depends on all that came before. */
	if (!strcmp(what, "open") || !strcmp(what, "leaks"))
		flags = TRACE_ALL_TASKS | TRACE_ALL_CPUS | TRACE_FROM_START;
	else if (!strcmp(what, "peers"))
		flags = TRACE_ALL_TASKS;
	err = calls_machine(report->trace, &machine)
		      ?: io_model_create(report->trace, machine, flags, &model);
	if (err)
		return err;
	if (!strcmp(what, "open"))
		return put_open(report, model, options_string(report->options, "open"));
	return !strcmp(what, "peers") ? io_peers_put(report, model)
				      : put_table(report, model, what);
}

static const struct option_def io_options[] = {
	GROUP_BY_OPTION("file", "file", "directory", "device", "filesystem"),
	{ "missing", OPTION_FLAG, NULL, "names that were looked for, and were not there", NULL },
	{ "leaks", OPTION_FLAG, NULL, "what was opened, and not closed to the end", NULL },
	{ "stacks", OPTION_FLAG, NULL, "with --leaks: where they were opened", NULL },
	{ "flame", OPTION_STRING, "FILE", "with --leaks: also a flame graph of that", NULL },
	{ "open", OPTION_STRING, "TIME", "what each process had open at this time", NULL },
	{ "shared", OPTION_FLAG, NULL, "files that several processes wrote, and which", NULL },
	{ "peers", OPTION_FLAG, NULL, "who sends to whom through pipes and sockets", NULL },
	{ "folded", OPTION_FLAG, NULL, "with --peers: a line each, for other tools", NULL },
	{ 0 },
};

static const struct command_subject subject = {
	.what = "files of system calls",
	.source = "syscalls",
	.tables = { EBT_T_syscall_arg, EBT_T_fd },
};

const struct command command_io = {
	.name = "io",
	.fn = cmd_io,
	.summary = "reads, writes, opens and time by file, directory, process; missing names",
	.elsewhere = "filetop fileslower opensnoop fatrace lsof",
	.help = "Record with `ebrec -e syscalls`. Calls whose argument is a descriptor,\n"
		"by the file that it stood for: READ and WRITTEN is what read(), write(),\n"
		"recv(), send(), sendfile(), splice() and the like returned, OTHER all\n"
		"other calls (close, fstat, poll of one …), TOTAL the time in any of\n"
		"them, OFF-CPU how much of that the thread did not run (with `-e\n"
		"default,syscalls`). FAILED: open() of this name that did not succeed.\n"
		"IN-ORDER-%: of reads and writes of a file, how many went on where the\n"
		"one before them on the same descriptor had ended. With sources fault,\n"
		"pagecache and block: FAULTS on what is mapped of the file, PAGES-IN that\n"
		"came into memory, DISK what requests for it transferred. What io_uring\n"
		"does is not known.\n"
		"\n"
		"A file has the name that it was opened under. Where it is not known\n"
		"which file a descriptor was, a row says (not known).\n"
		"\n"
		"--missing: names that any call looked for, and got ENOENT or ENOTDIR, as\n"
		"the program said them, behind its working directory. --leaks:\n"
		"descriptors that a process made, besides its standard streams, and had\n"
		"when it or the recording ended; with --stacks where it made them (`ebrec\n"
		"-e syscalls:stacks`). --open: what processes had open at a time, also\n"
		"from before. --peers: bytes that one process wrote to a pipe or socket\n"
		"and another one read, in the order in which they went in; --by process,\n"
		"program, container … of both. Of whom nobody recorded there is an\n"
		"address. sendmmsg() and recvmmsg() are not in it; nor is what sendmsg()\n"
		"sends from a socket that is not connected.\n"
		"\n"
		"  ebreport io t.ebt\n"
		"  ebreport io --by process,directory --sort read t.ebt\n"
		"  ebreport io --missing --by program,directory t.ebt\n"
		"  ebreport io --leaks --stacks t.ebt\n"
		"  ebreport io --open 2s --comm nginx t.ebt\n"
		"  ebreport io --peers --by program t.ebt\n",
	.options = io_options,
	.subject = &subject,
};
