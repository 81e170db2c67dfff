/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of all tables for ClickHouse; see clickhouse.h. */
#include "report/export/clickhouse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/array.h"
#include "report/out/out.h"
#include "report/trees/feed.h"

#define BLOCK_ROWS  65536
#define BLOCK_BYTES (32u << 20) /* a block does not grow beyond, whatever strings it has */
#define PART_BYTES  (4u << 20)	/* of a minute of `offcpu` */
#define DAY_NS	    UINT64_C(86400000000000)
#define MINUTE_NS   UINT64_C(60000000000)

/* Rows of one chunk that have come so far: tables are merged by time, and so are the chunks of
 * one. A chunk is a block, so that views of a server, which see one block at a time, see all of a
 * chunk at once. */
struct open_chunk {
	const struct ebt_chunk_info *chunk; /* NULL: free */
	struct native_block *block;
	uint32_t rows;
};

struct clickhouse {
	struct export *e;
	const char *path;
	int folder;
	uint64_t to_realtime; /* add to CLOCK_MONOTONIC */
	uint16_t day;
	const char *host;
	uint64_t freq; /* of samples */
	FILE *frames, *stack_file;
	struct clickhouse_stacks *stacks;
	/* The table at hand. */
	struct clickhouse_table table;
	FILE *f;
	struct open_chunk *open;
	size_t n_open, capacity;
	struct native_block *block; /* of one that is made by hand */
	uint64_t minute, part, row, rows;
};

static void close_file(FILE **f)
{
	if (*f)
		fclose(*f);
	*f = NULL;
}

static void free_open(struct clickhouse *c)
{
	for (size_t i = 0; i < c->n_open; i++)
		native_block_destroy(c->open[i].block);
	free(c->open);
	c->open = NULL;
	c->n_open = c->capacity = 0;
}

static void clickhouse_deinit(struct clickhouse *c)
{
	free_open(c);
	close_file(&c->f);
	close_file(&c->frames);
	close_file(&c->stack_file);
	clickhouse_stacks_destroy(c->stacks);
	native_block_destroy(c->block);
	if (c->folder >= 0)
		close(c->folder);
}

/* --- files --- */

static struct ebt_error *open_file(struct clickhouse *c, const char *name, const char *ending,
				   FILE **ret)
{
	char full[NATIVE_NAME + 16];
	struct ebt_error *err;
	int fd;

	snprintf(full, sizeof(full), "%s.%s", name, ending);
	err = out_make_file(c->folder, c->path, full, c->e->report->options->force, &fd);
	if (err)
		return err;
	*ret = fdopen(fd, "w");
	if (*ret)
		return NULL;
	close(fd);
	return &ebt_enomem;
}

static struct ebt_error *finish_file(struct clickhouse *c, FILE **f)
{
	const bool failed = ferror(*f);
	FILE *file = *f;

	*f = NULL;
	return fclose(file) || failed ? ebt_error_errno(errno, "cannot write in '%s'", c->path)
				      : NULL;
}

/* --- rows of events --- */

static uint64_t realtime(const struct clickhouse *c, uint64_t time)
{
	return time + c->to_realtime;
}

static void put_first(struct clickhouse *c, struct native_block *block, uint64_t chunk,
		      uint64_t row, uint64_t time)
{
	native_u64(block, COLUMN_DAY, c->day);
	native_cstr(block, COLUMN_HOST, c->host);
	native_uuid(block, COLUMN_TRACE, ebt_reader_info(trace_reader(c->e->trace))->uuid);
	native_u64(block, COLUMN_CHUNK, chunk);
	native_u64(block, COLUMN_ROW, row);
	native_u64(block, COLUMN_TIME, realtime(c, time));
}

static void put_value(struct clickhouse *c, struct native_block *block, size_t column,
		      const struct ebt_row *row, uint8_t i)
{
	const struct ebt_field *field = &row->batch->table->fields[i];
	const uint64_t v = ebt_u64(row, i);
	char number[24];

	switch (field->type) {
	case EBT_TYPE_ENUM:
		snprintf(number, sizeof(number), "%" PRIu64, v);
		native_cstr(block, column, ebt_value_name(field, v) ?: number);
		break;
	case EBT_TYPE_STRING:
	case EBT_TYPE_BYTES:
		native_str(block, column, ebt_str(row, i));
		break;
	case EBT_TYPE_TIME:
		native_u64(block, column, v ? realtime(c, v) : 0);
		break;
	case EBT_TYPE_U64:
	case EBT_TYPE_I64:
	case EBT_TYPE_HEX:
	case EBT_TYPE_DURATION:
	case EBT_TYPE_TASK:
	case EBT_TYPE_STACK:
	case EBT_N_TYPES:
		native_u64(block, column, v);
		break;
	}
}

static void put_task(struct native_block *block, size_t column, enum clickhouse_part part,
		     const struct ebt_task *task)
{
	if (part == CLICKHOUSE_COMM)
		native_str(block, column, task ? task->comm : (struct ebt_str){ "", 0 });
	else
		native_u64(block, column,
			   !task		    ? 0
			   : part == CLICKHOUSE_TID ? task->tid
						    : task->pid);
}

static bool has(const struct ebt_row *row, int field)
{
	return field >= 0 && row->batch->col[field];
}

/* Hashes of stacks are the same in each tree. */
static struct ebt_error *renew_tree(struct clickhouse *c, uint32_t most)
{
	bool renewed;
	struct ebt_error *err = export_renew_tree(c->e, most, &renewed);

	if (renewed)
		clickhouse_stacks_forget(c->stacks);
	return err;
}

static struct ebt_error *put_stack(struct clickhouse *c, struct native_block *block, size_t column,
				   const struct ebt_row *row)
{
	const struct clickhouse_table *t = &c->table;
	const struct calltree_stack stack = {
		.batch = row->batch,
		.task = has(row, t->task) ? ebt_task(row, (unsigned int)t->task) : NULL,
		.time = row->time,
		.kernel = has(row, t->kstack) ? ebt_u64(row, (unsigned int)t->kstack) : 0,
		.user = has(row, t->ustack) ? ebt_u64(row, (unsigned int)t->ustack) : 0,
	};
	struct ebt_error *err = NULL;
	uint32_t node = 0;
	uint64_t hash = 0;

	if (stack.kernel || stack.user)
		err = renew_tree(c, CLICKHOUSE_MOST_NODES)
			      ?: calltree_place(c->e->tree, &stack, &node)
			      ?: clickhouse_stack(c->stacks, c->e->tree, node, &hash);
	native_u64(block, column, hash);
	return err;
}

static struct ebt_error *put_column(struct clickhouse *c, struct native_block *block, size_t i,
				    const struct ebt_row *row)
{
	const enum clickhouse_part part = c->table.parts[i].part;
	const uint8_t field = c->table.parts[i].field;

	switch (part) {
	case CLICKHOUSE_STACK:
		return put_stack(c, block, i, row);
	case CLICKHOUSE_NS:
		native_u64(block, i, tree_feed_sample_ns(row, c->freq));
		break;
	case CLICKHOUSE_TID:
	case CLICKHOUSE_PID:
	case CLICKHOUSE_COMM:
		put_task(block, i, part, has(row, field) ? ebt_task(row, field) : NULL);
		break;
	case CLICKHOUSE_VALUE:
		if (has(row, field))
			put_value(c, block, i, row, field);
		else if (c->table.columns[i].type == NATIVE_STRING ||
			 c->table.columns[i].type == NATIVE_WORD)
			native_cstr(block, i, NULL);
		else
			native_u64(block, i, 0);
		break;
	}
	return NULL;
}

static struct ebt_error *find_chunk(struct clickhouse *c, const struct ebt_chunk_info *chunk,
				    struct open_chunk **ret)
{
	struct open_chunk *found = NULL; /* the chunk's, or a free one */
	struct ebt_error *err;

	for (size_t i = 0; i < c->n_open && (!found || !found->chunk); i++) {
		if (!c->open[i].chunk || c->open[i].chunk == chunk)
			found = &c->open[i];
	}
	if (!found) {
		err = ebt_array_reserve_zeroed(&c->open, c->n_open, &c->capacity);
		if (err)
			return err;
		found = &c->open[c->n_open];
		err = native_block_create(c->table.columns, c->table.n, &found->block);
		if (err)
			return err;
		c->n_open++;
	}
	found->rows = found->chunk == chunk ? found->rows : 0;
	found->chunk = chunk;
	*ret = found;
	return NULL;
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct clickhouse *c = arg;
	struct open_chunk *open;
	struct ebt_error *err = find_chunk(c, row->batch->chunk, &open);

	if (err)
		return err;
	put_first(c, open->block, row->batch->chunk->seq, row->i, row->time);
	for (size_t i = N_FIRST; !err && i < c->table.n; i++)
		err = put_column(c, open->block, i, row);
	native_row_end(open->block);
	c->rows++;
	if (++open->rows == row->batch->rows) {
		open->chunk = NULL;
		return err ?: native_block_write(open->block, c->f);
	}
	if (!err && native_block_size(open->block) > BLOCK_BYTES)
		err = native_block_write(open->block, c->f);
	return err ?: ferror(c->f) ? &trace_enough : NULL;
}

static struct ebt_error *put_table(struct clickhouse *c, const struct ebt_table *table)
{
	const unsigned int flags = table->class == EBT_CLASS_EVENT ? 0 : TRACE_UNFILTERED;
	struct ebt_error *err = NULL;

	if (!ebt_reader_has_rows(trace_reader(c->e->trace), table->id))
		return NULL;
	clickhouse_table_init(table, &c->table);
	if (ebt_table_has_type(table, EBT_TYPE_STACK))
		err = export_stacks(c->e, table->id);
	err = err ?: open_file(c, table->name, "native", &c->f);
	if (err)
		return err;
	err = trace_read_rows(c->e->trace, &(struct ebt_want){ table->id, c->table.fields }, 1,
			      flags, take_row, c);
	for (size_t i = 0; !err && i < c->n_open; i++)
		err = native_block_write(c->open[i].block, c->f);
	free_open(c);
	return err ?: finish_file(c, &c->f);
}

/* --- time off CPU --- */

static struct ebt_error *begin_made(struct clickhouse *c, int which)
{
	const struct clickhouse_made *made = &clickhouse_made[which];

	native_block_destroy(c->block);
	c->block = NULL;
	return native_block_create(made->columns, made->n, &c->block)
		       ?: open_file(c, made->name, "native", &c->f);
}

static struct ebt_error *end_made(struct clickhouse *c)
{
	return native_block_write(c->block, c->f) ?: finish_file(c, &c->f);
}

enum {
	OFF_CPU = N_FIRST,
	OFF_TID,
	OFF_PID,
	OFF_COMM,
	OFF_WHY,
	OFF_DURATION,
	OFF_QUEUED,
	OFF_WAKER_TID,
	OFF_WAKER_PID,
	OFF_WAKER_COMM,
	OFF_STACK,
};

/* It can only wait for a CPU from when it is runnable. */
static uint64_t queued_ns(const struct sched_off *off)
{
	const uint64_t from = off->runnable		   ? off->runnable
			      : off->why == SCHED_RUNNABLE ? off->start
							   : off->end;

	return off->end - from;
}

/* A minute is a chunk, which is one block, as sums are made of blocks; one with more than a block
 * has parts, which are chunks of their own. An interval that does not end in the trace may end in a
 * longer copy of it: it is not there yet. */
static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	struct clickhouse *c = arg;
	struct native_block *block = c->block;
	const uint64_t minute = (off->end - c->e->start_ns) / MINUTE_NS;
	struct ebt_error *err = NULL;
	uint64_t hash;

	if (off->flags & SCHED_OPEN_END)
		return NULL;
	if (minute != c->minute || native_block_size(block) > PART_BYTES) {
		err = native_block_write(block, c->f);
		c->part = minute == c->minute ? c->part + 1 : 0;
		c->row = 0;
	}
	err = err ?: clickhouse_stack(c->stacks, c->e->tree, node, &hash);
	if (err)
		return err;
	c->minute = minute;
	put_first(c, block, c->part << 32 | minute, c->row++, off->end);
	native_u64(block, OFF_CPU, off->cpu);
	put_task(block, OFF_TID, CLICKHOUSE_TID, off->task);
	put_task(block, OFF_PID, CLICKHOUSE_PID, off->task);
	put_task(block, OFF_COMM, CLICKHOUSE_COMM, off->task);
	native_cstr(block, OFF_WHY, sched_why_name(off->why));
	native_u64(block, OFF_DURATION, off->end - off->start);
	native_u64(block, OFF_QUEUED, queued_ns(off));
	put_task(block, OFF_WAKER_TID, CLICKHOUSE_TID, off->waker);
	put_task(block, OFF_WAKER_PID, CLICKHOUSE_PID, off->waker);
	put_task(block, OFF_WAKER_COMM, CLICKHOUSE_COMM, off->waker);
	native_u64(block, OFF_STACK, hash);
	native_row_end(block);
	c->rows++;
	return NULL;
}

static struct ebt_error *put_offcpu(struct clickhouse *c)
{
	const struct export_intervals intervals = { .off = take_off, .arg = c };

	if (!ebt_reader_has_rows(trace_reader(c->e->trace), EBT_T_sched_switch))
		return NULL;
	/* The tree grows here until the end. */
	return renew_tree(c, 0) ?: begin_made(c, MADE_OFFCPU) ?: export_intervals(c->e, &intervals) ?: end_made(c);
}

/* --- the machine and the trace --- */

static struct ebt_error *put_meta(struct clickhouse *c, size_t column, const char *key)
{
	const char *value;
	struct ebt_error *err = ebt_reader_meta(trace_reader(c->e->trace), key, &value);

	if (!err)
		native_cstr(c->block, column, value);
	return err;
}

static struct ebt_error *put_meta_number(struct clickhouse *c, size_t column, const char *key)
{
	uint64_t value;
	struct ebt_error *err = ebt_reader_meta_number(trace_reader(c->e->trace), key, &value);

	if (!err)
		native_u64(c->block, column, value);
	return err;
}

static struct ebt_error *put_host(struct clickhouse *c)
{
	struct ebt_error *err = begin_made(c, MADE_HOST);

	if (err)
		return err;
	native_cstr(c->block, 0, c->host);
	native_u64(c->block, 1, realtime(c, trace_end_ns(c->e->trace)));
	err = put_meta(c, 2, "host.release") ?: put_meta(c, 3, "host.machine") ?:
	      put_meta(c, 4, "host.os") ?: put_meta(c, 5, "host.cpu_model") ?:
	      put_meta_number(c, 6, "host.cpus_online") ?:
	      put_meta_number(c, 7, "host.memory");
	native_row_end(c->block);
	return err ?: end_made(c);
}

enum {
	TRACE_DAY,
	TRACE_HOST,
	TRACE_UUID,
	TRACE_START,
	TRACE_END,
	TRACE_KERNEL,
	TRACE_MACHINE,
	TRACE_COMMAND_LINE,
	TRACE_COMPLETE,
	TRACE_ROWS,
	TRACE_SIZE,
	TRACE_SOURCES,
	TRACE_LOST_TABLES,
	TRACE_LOST_ROWS,
};

static struct ebt_error *take_source(void *arg, const struct ebt_row *row)
{
	const struct clickhouse *c = arg;
	const uint64_t status = ebt_source_status(row);

	if (status == EBT_V_source_status_on || status == EBT_V_source_status_partial)
		native_str(c->block, TRACE_SOURCES, ebt_source_name(row));
	return NULL;
}

static struct ebt_error *put_losses(struct clickhouse *c)
{
	_cleanup_free_ struct trace_loss *losses = NULL;
	size_t n;
	struct ebt_error *err = trace_losses(c->e->trace, LOSSES_OF_ALL, &losses, &n);

	for (size_t i = 0; !err && i < n; i++) {
		native_cstr(c->block, TRACE_LOST_TABLES, losses[i].table->name);
		native_u64(c->block, TRACE_LOST_ROWS, losses[i].lost);
	}
	native_array_end(c->block, TRACE_LOST_TABLES);
	native_array_end(c->block, TRACE_LOST_ROWS);
	return err;
}

/* Last of all: a folder that has it is whole. */
static struct ebt_error *put_trace(struct clickhouse *c)
{
	static const struct ebt_want want = EBT_WANT(source, status, name);
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(c->e->trace));
	struct ebt_error *err = begin_made(c, MADE_TRACE);

	if (err)
		return err;
	native_u64(c->block, TRACE_DAY, c->day);
	native_cstr(c->block, TRACE_HOST, c->host);
	native_uuid(c->block, TRACE_UUID, info->uuid);
	native_u64(c->block, TRACE_START, realtime(c, c->e->start_ns));
	native_u64(c->block, TRACE_END, realtime(c, trace_end_ns(c->e->trace)));
	native_u64(c->block, TRACE_COMPLETE, info->complete);
	native_u64(c->block, TRACE_ROWS, c->rows);
	native_u64(c->block, TRACE_SIZE, info->size);
	err = put_meta(c, TRACE_KERNEL, "host.release") ?:
	      put_meta(c, TRACE_MACHINE, "host.machine") ?:
	      put_meta(c, TRACE_COMMAND_LINE, "ebrec.command_line") ?:
	      trace_read_rows(c->e->trace, &want, 1, TRACE_UNFILTERED, take_source, c);
	native_array_end(c->block, TRACE_SOURCES);
	err = err ?: put_losses(c);
	native_row_end(c->block);
	return err ?: end_made(c);
}

/* --- all --- */

static struct ebt_error *put_schema(struct clickhouse *c)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err = clickhouse_schema(&text) ?: open_file(c, "tables", "sql", &c->f);

	if (err)
		return err;
	fwrite(text_get(&text), 1, text.len, c->f);
	return finish_file(c, &c->f);
}

static struct ebt_error *check(const struct export *e)
{
	const struct options *o = e->report->options;

	if (!o->output)
		return ebt_error_create(EBT_ERR_INVALID,
					"--to clickhouse writes a folder: name it with -o");
	if (trace_has_task_filter(e->trace) || trace_has_cpu_filter(e->trace) || o->from.set ||
	    o->to.set)
		return ebt_error_create(
			EBT_ERR_INVALID,
			"--to clickhouse is of whole traces: a part of one would take "
			"the place of the whole (`ebreport cut` makes a trace of its "
			"own of a part)");
	return NULL;
}

static struct ebt_error *begin(struct clickhouse *c)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(c->e->trace));
	const char *event;

	c->to_realtime = info->start_realtime_ns - info->start_ns;
	c->day = (uint16_t)(info->start_realtime_ns / DAY_NS);
	return ebt_reader_meta(trace_reader(c->e->trace), "host.name", &c->host) ?:
	       tree_feed_sampling(c->e->trace, &event, &c->freq) ?:
	       out_open_folder(c->path, &c->folder) ?: put_schema(c) ?:
	       /* `upload` takes a folder with frames alone for whole. */
	       open_file(c, "stack", "native", &c->stack_file) ?:
	       open_file(c, "frame", "native", &c->frames) ?:
	       clickhouse_stacks_create(c->frames, c->stack_file, &c->stacks);
}

struct ebt_error *export_clickhouse(struct export *e)
{
	__attribute__((cleanup(clickhouse_deinit))) struct clickhouse c = {
		.e = e, .path = e->report->options->output, .folder = -1
	};
	struct ebt_error *err;

	e->deciding = true;
	err = check(e);
	if (!err && options_flag(e->report->options, "from-sql"))
		return clickhouse_names(e);
	/* What has no build-id could have no name later. */
	trace_own_names(e->trace);
	err = err ?: begin(&c);
	for (size_t i = 0; !err && i < ebt_n_tables; i++) {
		if (clickhouse_has_table(&ebt_tables[i]))
			err = put_table(&c, &ebt_tables[i]);
	}
	return err ?: put_offcpu(&c) ?: clickhouse_stacks_finish(c.stacks) ?:
	       finish_file(&c, &c.frames) ?: finish_file(&c, &c.stack_file) ?:
	       put_host(&c) ?: put_trace(&c);
}
