/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a part of a trace, and what explains them; see part.h. */
#include "report/share/part.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "format/encoding/layout.h"
#include "report/io/model_dbus.h"
#include "report/share/copying.h"
#include "report/trace/trace.h"

#define NO_ROW UINT32_MAX

/* Tables of class event whose rows tell more than what happened when they were written. Of all
 * others rows of the window are kept, and those behind it that tell of what began before its end.
 */
enum part_reach {
	PART_WINDOW,
	PART_STATE,  /* the last row of each task before the window, the first behind it */
	PART_BEFORE, /* all rows before the window too */
	PART_ALL,    /* all rows: what others refer to, at any time */
};

static const struct {
	uint16_t table;
	enum part_reach reach;
	bool all_tasks; /* what a task does ends what another began */
} reaches[] = {
	{ EBT_T_sched_switch, PART_STATE },
	{ EBT_T_sched_waking, PART_STATE },
	/* Who is who, and what is where. */
	{ EBT_T_task_fork, PART_ALL },
	{ EBT_T_task_exec, PART_ALL },
	{ EBT_T_task_exit, PART_ALL },
	{ EBT_T_task_rename, PART_ALL },
	{ EBT_T_task_end, PART_ALL },
	{ EBT_T_mmap, PART_ALL },
	{ EBT_T_ksymbol, PART_ALL },
	{ EBT_T_irq_name, PART_ALL },
	{ EBT_T_net_device, PART_ALL },
	{ EBT_T_net_connection, PART_ALL },
	{ EBT_T_net_end, PART_ALL },
	/* Begin and end stand in two rows. */
	{ EBT_T_mark, PART_ALL },
	/* What is there since then. */
	{ EBT_T_counter, PART_BEFORE },
	{ EBT_T_mark_counter, PART_BEFORE },
	{ EBT_T_kmem_alloc, PART_BEFORE, true },
	{ EBT_T_kmem_free, PART_BEFORE, true },
	{ EBT_T_page_alloc, PART_BEFORE, true },
	{ EBT_T_page_free, PART_BEFORE, true },
	{ EBT_T_rss_stat, PART_BEFORE },
	{ EBT_T_page_cache, PART_BEFORE, true },
};

static enum part_reach reach_of(const struct ebt_table *table)
{
	if (table->class != EBT_CLASS_EVENT)
		return PART_ALL;
	for (size_t i = 0; i < sizeof(reaches) / sizeof(reaches[0]); i++) {
		if (reaches[i].table == table->id)
			return reaches[i].reach;
	}
	return PART_WINDOW;
}

/* A row before the window, in a list of those of a task. */
struct edge_row {
	const struct ebt_chunk_info *chunk;
	uint32_t row;
	uint32_t before; /* index of the one before it, or NO_ROW */
	bool next;	 /* of sched_switch: it is about the task that runs next */
};

struct part {
	struct trace *trace;
	struct ebt_window window;
	/* While rows outside of the window are read. By id of the task: the newest row of its list,
	 * plus
	 * 1. The list begins with its last switch; wakings follow. */
	uint32_t *newest;
	size_t n_newest;
	struct edge_row *rows;
	size_t n_rows, rows_capacity;
	uint32_t free; /* a list of those that are out of date, or NO_ROW */
	uint8_t *seen; /* by id of the task: SEEN_*, behind the window */
	size_t n_seen;
	struct ebt_map cpus; /* that have switched there */
	/* Afterwards. */
	struct ebt_map kept;  /* place of a row: SIDE_* */
	struct ebt_map edges; /* offsets of chunks that have such rows */
};

DEFINE_CLEANUP(struct part *, part_destroy);

static void forget_lists(struct part *part)
{
	free(part->newest);
	free(part->rows);
	free(part->seen);
	ebt_map_deinit(&part->cpus);
	part->newest = NULL;
	part->rows = NULL;
	part->seen = NULL;
	part->cpus = (struct ebt_map){ 0 };
}

void part_destroy(struct part *part)
{
	if (!part)
		return;
	forget_lists(part);
	ebt_map_deinit(&part->kept);
	ebt_map_deinit(&part->edges);
	free(part);
}

/* --- how things stood when the window began --- */

/* What a row of sched_switch is kept for. */
enum {
	SIDE_PREV = 1,
	SIDE_NEXT = 2,
};

/* Chunks begin at multiples of 8, and have at least a header: no two rows have the same place. */
static uint64_t place_of(const struct ebt_chunk_info *chunk, uint32_t row)
{
	return chunk->offset / EBT_ALIGN * EBT_MAX_ROWS + row;
}

/* All rows of a task are out of date. */
static void release(struct part *part, uint32_t task)
{
	uint32_t next = part->newest[task] ? part->newest[task] - 1 : NO_ROW;

	while (next != NO_ROW) {
		struct edge_row *row = &part->rows[next];
		uint32_t place = next;

		next = row->before;
		row->before = part->free;
		part->free = place;
	}
	part->newest[task] = 0;
}

static struct ebt_error *take_place(struct part *part, uint32_t *ret)
{
	struct ebt_error *err;

	if (part->free != NO_ROW) {
		*ret = part->free;
		part->free = part->rows[part->free].before;
		return NULL;
	}
	err = ebt_array_reserve(&part->rows, part->n_rows, &part->rows_capacity);
	if (err)
		return err;
	if (part->n_rows == NO_ROW - 1)
		return ebt_error_create(EBT_ERR_UNSUPPORTED, "too many wakings before the window");
	*ret = (uint32_t)part->n_rows++;
	return NULL;
}

/* again: what was known of the task before is out of date. */
static struct ebt_error *add_edge(struct part *part, const struct ebt_row *row,
				  const struct ebt_task *task, bool next, bool again)
{
	struct edge_row edge = { .chunk = row->batch->chunk, .row = row->i, .next = next };
	struct ebt_error *err;
	uint32_t place;

	if (!task || !trace_task_wanted(part->trace, task))
		return NULL;
	err = ebt_array_reserve_zeroed(&part->newest, task->id, &part->n_newest);
	if (err)
		return err;
	if (again)
		release(part, task->id);
	err = take_place(part, &place);
	if (err)
		return err;
	edge.before = part->newest[task->id] ? part->newest[task->id] - 1 : NO_ROW;
	part->rows[place] = edge;
	part->newest[task->id] = place + 1;
	return NULL;
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct part *part = arg;

	if (row->batch->table->id == EBT_T_sched_waking)
		return add_edge(part, row, ebt_sched_waking_wakee(row), false, false);
	return add_edge(part, row, ebt_sched_switch_prev(row), false, true)
		       ?: add_edge(part, row, ebt_sched_switch_next(row), true, true);
}

static struct ebt_error *keep_edge(struct part *part, const struct edge_row *edge)
{
	const uint64_t place = place_of(edge->chunk, edge->row);
	uint32_t side = edge->next ? SIDE_NEXT : SIDE_PREV, had;
	struct ebt_error *err = ebt_map_add(&part->edges, edge->chunk->offset, 0, &had);

	if (!err)
		err = ebt_map_add(&part->kept, place, side, &had);
	if (!err && (had | side) != had)
		ebt_map_change(&part->kept, place, had, had | side);
	return err;
}

/* --- how they went on --- */

enum {
	SEEN_SWITCH = 1,
	SEEN_WAKING = 2,
};

/* Whether this tells something new of the task. */
static struct ebt_error *see(struct part *part, const struct ebt_task *task, uint8_t what,
			     bool *ret_new)
{
	struct ebt_error *err;

	if (!task || !trace_task_wanted(part->trace, task))
		return NULL;
	err = ebt_array_reserve_zeroed(&part->seen, task->id, &part->n_seen);
	if (err)
		return err;
	*ret_new |= !(part->seen[task->id] & (what | SEEN_SWITCH));
	part->seen[task->id] |= what;
	return NULL;
}

static struct ebt_error *take_later_row(void *arg, const struct ebt_row *row)
{
	struct part *part = arg;
	struct edge_row edge = { .chunk = row->batch->chunk, .row = row->i };
	const uint64_t cpus = part->cpus.n;
	struct ebt_error *err;
	bool is_new = false;
	uint32_t unused;

	if (row->batch->table->id == EBT_T_sched_waking) {
		err = see(part, ebt_sched_waking_wakee(row), SEEN_WAKING, &is_new);
	} else {
		err = see(part, ebt_sched_switch_prev(row), SEEN_SWITCH, &is_new)
			      ?: see(part, ebt_sched_switch_next(row), SEEN_SWITCH, &is_new)
			      ?: ebt_map_add(&part->cpus, ebt_sched_switch_cpu(row), 0, &unused);
		is_new |= part->cpus.n > cpus && !trace_has_task_filter(part->trace);
	}
	return err || !is_new ? err : keep_edge(part, &edge);
}

/* --- answers to what was asked in the window --- */

struct answers {
	struct part *part;
	struct dbus_pairs pairs;
};

static struct ebt_error *take_answer(struct answers *answers, const struct ebt_row *row)
{
	struct edge_row edge = { .chunk = row->batch->chunk, .row = row->i };
	struct dbus_call call;

	if (!dbus_pairs_answer(&answers->pairs, (uint32_t)ebt_dbus_message_bus(row),
			       ebt_dbus_message_destination(row),
			       (uint32_t)ebt_dbus_message_reply_serial(row), &call) ||
	    row->time < answers->part->window.to)
		return NULL;
	return keep_edge(answers->part, &edge);
}

static struct ebt_error *take_message(void *arg, const struct ebt_row *row)
{
	struct answers *answers = arg;
	const struct dbus_call call = { .time = row->time };

	switch (ebt_dbus_message_kind(row)) {
	case EBT_V_dbus_message_kind_call:
		if (row->time >= answers->part->window.to || ebt_dbus_message_no_reply(row))
			return NULL;
		return dbus_pairs_call(&answers->pairs, (uint32_t)ebt_dbus_message_bus(row),
				       ebt_dbus_message_sender(row),
				       (uint32_t)ebt_dbus_message_serial(row), &call);
	case EBT_V_dbus_message_kind_return:
	case EBT_V_dbus_message_kind_error:
		return take_answer(answers, row);
	}
	return NULL;
}

static struct ebt_error *find_answers(struct part *part)
{
	static const struct ebt_want want = EBT_WANT(dbus_message, bus, serial, reply_serial, kind,
						     no_reply, sender, destination);
	const struct ebt_query query = { .wants = &want,
					 .n_wants = 1,
					 .from_ns = part->window.from };
	struct answers answers = { .part = part };
	struct ebt_error *err = NULL;

	if (part->window.to != UINT64_MAX)
		err = ebt_read_rows(trace_reader(part->trace), &query, take_message, &answers);
	dbus_pairs_deinit(&answers.pairs);
	return err;
}

/* --- --- */

static struct ebt_error *find_edges(struct part *part)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(sched_switch, cpu, prev, next),
		EBT_WANT(sched_waking, wakee),
	};
	const struct ebt_query before = { .wants = wants,
					  .n_wants = 2,
					  .to_ns = part->window.from };
	const struct ebt_query behind = { .wants = wants,
					  .n_wants = 2,
					  .from_ns = part->window.to };
	struct ebt_reader *reader = trace_reader(part->trace);
	struct ebt_error *err = NULL;

	if (part->window.from)
		err = ebt_read_rows(reader, &before, take_row, part);
	if (!err && part->window.to != UINT64_MAX)
		err = ebt_read_rows(reader, &behind, take_later_row, part);
	for (size_t i = 0; i < part->n_newest && !err; i++) {
		uint32_t next = part->newest[i] ? part->newest[i] - 1 : NO_ROW;

		for (; next != NO_ROW && !err; next = part->rows[next].before)
			err = keep_edge(part, &part->rows[next]);
	}
	forget_lists(part);
	return err;
}

struct ebt_error *part_create(struct trace *trace, const struct ebt_window *window,
			      struct part **ret)
{
	_cleanup_(part_destroyp) struct part *part = calloc(1, sizeof(*part));
	struct ebt_error *err;

	if (!part)
		return &ebt_enomem;
	part->trace = trace;
	part->window = *window;
	part->free = NO_ROW;
	err = find_edges(part) ?: find_answers(part);
	if (!err)
		*ret = take_ptr(part);
	return err;
}

/* --- chunks and rows --- */

/* Do rows go over by their tasks? */
static bool is_by_task(const struct part *part, const struct ebt_table *table)
{
	for (size_t i = 0; i < sizeof(reaches) / sizeof(reaches[0]); i++) {
		if (reaches[i].table == table->id && reaches[i].all_tasks)
			return false;
	}
	return trace_has_task_filter(part->trace);
}

enum ebt_copy_action part_action(void *arg, const struct ebt_chunk_info *chunk,
				 const struct ebt_table *table)
{
	const struct part *part = arg;
	const struct ebt_window *window = &part->window;
	enum part_reach reach = table ? reach_of(table) : PART_ALL;
	bool begins = chunk->time_min >= window->from || reach == PART_BEFORE;
	bool tasks = table && is_by_task(part, table);
	uint32_t unused;

	if (reach == PART_ALL || !chunk->rows)
		return EBT_COPY_AS_IT_IS;
	if (begins && chunk->time_max < window->to && !tasks)
		return EBT_COPY_AS_IT_IS;
	if (ebt_map_find(&part->edges, chunk->offset, &unused))
		return EBT_COPY_EDIT;
	if (chunk->time_max < window->from && reach != PART_BEFORE)
		return EBT_COPY_NO_ROWS;
	if (chunk->time_min >= window->to && !ebt_table_has_type(table, EBT_TYPE_DURATION))
		return EBT_COPY_NO_ROWS;
	return EBT_COPY_EDIT;
}

/* As the filters of reports have it. */
static bool is_wanted(const struct part *part, const struct ebt_row *row)
{
	uint8_t fields[EBT_MAX_FIELDS];
	uint32_t n = trace_filter_fields(row->batch->table, fields);

	for (uint32_t i = 0; i < n; i++) {
		if (trace_task_wanted(part->trace, ebt_task(row, fields[i])))
			return true;
	}
	return !n;
}

/* Fields of sched_switch that tell of one of the two tasks only. */
static const uint64_t sides[] = {
	[SIDE_PREV] =
		EBT_COLS(sched_switch, prev, prev_state, preempt, kstack, ustack, udump, prev_run),
	[SIDE_NEXT] = EBT_COLS(sched_switch, next),
};

/* What goes over of a row: fields, or nothing. What an older row says of a task that a later one
 * tells more of is left out, as it would contradict that one. */
static uint64_t kept_fields(const struct part *part, const struct ebt_row *row,
			    enum part_reach reach)
{
	const struct ebt_window *window = &part->window;
	uint64_t fields = ~UINT64_C(0);
	uint32_t kept;

	if (row->time < window->from && reach != PART_BEFORE) {
		if (!ebt_map_find(&part->kept, place_of(row->batch->chunk, row->i), &kept))
			return 0;
		if (row->batch->table->id != EBT_T_sched_switch)
			return fields;
		fields &= ~(kept & SIDE_PREV ? 0 : sides[SIDE_PREV]);
		return fields & ~(kept & SIDE_NEXT ? 0 : sides[SIDE_NEXT]);
	}
	if (is_by_task(part, row->batch->table) && !is_wanted(part, row))
		return 0;
	if (row->time < window->to || copying_begin(row) < window->to)
		return fields;
	return ebt_map_find(&part->kept, place_of(row->batch->chunk, row->i), &kept) ? fields : 0;
}

struct ebt_error *part_edit(void *arg, struct ebt_edit *edit, bool *ret_changed)
{
	const struct part *part = arg;
	const struct ebt_batch *batch = ebt_edit_batch(edit);
	enum part_reach reach = reach_of(batch->table);

	for (uint32_t i = 0; i < batch->rows; i++) {
		const struct ebt_row row = { .batch = batch, .time = batch->col[0][i], .i = i };
		uint64_t fields = kept_fields(part, &row, reach);

		if (!fields)
			ebt_edit_drop_row(edit, i);
		for (uint32_t f = 1; f < batch->table->n_fields; f++) {
			if (fields >> f & 1)
				ebt_edit_keep_value(edit, f, i);
		}
	}
	*ret_changed = true;
	return NULL;
}
