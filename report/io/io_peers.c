/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edges of model_peers.h, by what --by says of both ends; see io_peers.h. */
#include "report/io/io_peers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/group/tasks.h"
#include "report/io/model_peers.h"
#include "report/stacks/out_stacks.h"

/* Edges whose ends and ways are called the same. Their names lie one behind another in `names`. */
struct peers_row {
	size_t at;
	uint32_t from_len, to_len, via_len;
	uint64_t bytes;
};

struct peers_view {
	struct report *report;
	const struct io_model *model;
	struct peers *peers;
	struct group_tasks processes; /* who wrote and read */
	struct group_tasks ends;      /* and by what they are told */
	struct peers_row *rows;
	size_t n, capacity;
	struct ebt_map by_names;
	struct text names;
};

static void view_deinit(struct peers_view *v)
{
	peers_destroy(v->peers);
	group_tasks_deinit(&v->processes);
	group_tasks_deinit(&v->ends);
	free(v->rows);
	ebt_map_deinit(&v->by_names);
	text_deinit(&v->names);
}

static struct ebt_error *view_init(struct peers_view *v, struct report *report)
{
	const char *by = options_string(report->options, "by");
	enum group_key key = GROUP_PROCESS;

	v->report = report;
	if (by && !group_tasks_key(by, &key))
		return ebt_error_create(EBT_ERR_INVALID,
					"--peers goes by one of thread, process, program, user, "
					"cgroup, container, for both ends: not '%s'",
					by);
	return peers_create(&v->peers) ?:
	       group_tasks_init(&v->processes, report->trace,
				key == GROUP_THREAD ? key : GROUP_PROCESS) ?:
	       group_tasks_init(&v->ends, report->trace, key);
}

static struct ebt_error *take_use(void *arg, const struct io_use *use)
{
	struct peers_view *v = arg;
	struct ebt_error *err;
	uint32_t who;

	err = group_tasks_of(&v->processes, use->call->task, &who);
	return err ?: peers_take(v->peers, v->model, use, who + 1);
}

static const struct ebt_task *task_of(const struct peers_view *v, uint32_t who)
{
	return who == PEERS_NOBODY ? NULL : v->processes.tasks[who - 1];
}

static struct ebt_error *add_end(struct peers_view *v, const struct peers_edge *edge, bool writer)
{
	const uint32_t who = writer ? edge->from : edge->to;
	struct ebt_error *err;
	uint32_t i;

	if (who == PEERS_NOBODY) {
		peers_far_add(v->peers, edge->stream, writer, &v->names);
		return text_error(&v->names);
	}
	err = group_tasks_of(&v->ends, task_of(v, who), &i);
	return err ?: group_tasks_label_add(&v->ends, i, &v->names);
}

static bool is_wanted(const struct peers_view *v, const struct peers_edge *edge)
{
	struct trace *trace = v->report->trace;

	return (edge->from && trace_task_wanted(trace, task_of(v, edge->from))) ||
	       (edge->to && trace_task_wanted(trace, task_of(v, edge->to)));
}

/* The row that has the same names, which are the last ones in `names` and are taken off again; or
 * a new one. */
static struct ebt_error *add_row(struct peers_view *v, const struct peers_row *row)
{
	const char *names = text_get(&v->names);
	const size_t len = row->from_len + row->to_len + row->via_len;
	const uint64_t hash = ebt_hash_bytes(0, names + row->at, len);
	const struct peers_row *list = v->rows;
	const uint32_t found =
		ebt_map_search(&v->by_names, hash, i,
			       list[i].from_len == row->from_len && list[i].to_len == row->to_len &&
				       list[i].via_len == row->via_len &&
				       !memcmp(names + list[i].at, names + row->at, len));
	struct ebt_error *err;

	if (found != EBT_MAP_NONE) {
		v->rows[found].bytes += row->bytes;
		v->names.len = row->at;
		return NULL;
	}
	err = ebt_array_reserve(&v->rows, v->n, &v->capacity)
		      ?: ebt_map_insert(&v->by_names, hash, (uint32_t)v->n);
	if (!err)
		v->rows[v->n++] = *row;
	return err;
}

static struct ebt_error *take_edge(struct peers_view *v, const struct peers_edge *edge)
{
	struct peers_row row = { .at = v->names.len, .bytes = edge->bytes };
	struct ebt_error *err;

	if (!is_wanted(v, edge))
		return NULL;
	err = add_end(v, edge, true);
	row.from_len = (uint32_t)(v->names.len - row.at);
	err = err ?: add_end(v, edge, false);
	row.to_len = (uint32_t)(v->names.len - row.at) - row.from_len;
	peers_via_add(v->peers, edge->stream, &v->names);
	row.via_len = (uint32_t)(v->names.len - row.at) - row.from_len - row.to_len;
	return err ?: text_error(&v->names) ?: add_row(v, &row);
}

static struct ebt_error *take_edges(struct peers_view *v)
{
	const struct peers_edge *edges;
	struct ebt_error *err;
	size_t n;

	err = peers_edges(v->peers, &edges, &n);
	for (size_t i = 0; !err && i < n; i++)
		err = take_edge(v, &edges[i]);
	return err;
}

/* --- output --- */

#define PEERS(X)                                                \
	X("from", "FROM", OUT_STRING, out_str(from), OUT_FLEX)  \
	X("to", "TO", OUT_STRING, out_str(to), OUT_FLEX)        \
	X("via", "THROUGH", OUT_STRING, out_str(via), OUT_FLEX) \
	X("bytes", "BYTES", OUT_BYTES, out_u64(row->bytes), OUT_SORT)

static const struct out_table peers_table = OUT_TABLE_OF("rows", PEERS);

static struct ebt_error *put_row(const struct peers_view *v, const struct peers_row *row)
{
	const char *names = text_get(&v->names) + row->at;
	const struct ebt_str from = { names, row->from_len };
	const struct ebt_str to = { from.data + from.len, row->to_len };
	const struct ebt_str via = { to.data + to.len, row->via_len };

	return out_row(v->report->out, 0, OUT_VALUES(PEERS));
}

static void add_folded(struct text *line, const char *name, size_t len, char end)
{
	_cleanup_text_ struct text one = TEXT_INIT;

	text_add(&one, name, len);
	stack_folded_name(line, text_get(&one));
	text_addc(line, end);
}

static struct ebt_error *put_folded(const struct peers_view *v, const struct peers_row *row)
{
	const char *name = text_get(&v->names) + row->at;
	_cleanup_text_ struct text line = TEXT_INIT;

	add_folded(&line, name, row->from_len, ';');
	add_folded(&line, name + row->from_len + row->to_len, row->via_len, ';');
	add_folded(&line, name + row->from_len, row->to_len, ' ');
	text_u64(&line, row->bytes);
	if (!text_error(&line))
		out_printf(v->report->out, "%s\n", text_get(&line));
	return text_error(&line);
}

static struct ebt_error *put_rows(const struct peers_view *v)
{
	const bool folded = options_flag(v->report->options, "folded");
	struct ebt_error *err = folded ? NULL : out_begin(v->report->out, &peers_table);

	for (size_t i = 0; !err && i < v->n; i++)
		err = folded ? put_folded(v, &v->rows[i]) : put_row(v, &v->rows[i]);
	return err || folded ? err : out_end(v->report->out);
}

struct ebt_error *io_peers_put(struct report *report, struct io_model *model)
{
	_cleanup_(view_deinit) struct peers_view v = { .model = model };
	struct ebt_error *err = view_init(&v, report);

	err = err ?: io_model_read(model, false, take_use, &v) ?: take_edges(&v);
	if (!err && peers_dropped(v.peers))
		err = trace_warn(report->trace,
				 "%" PRIu64 " bytes are missing: there were more than %u pipes and "
				 "connections",
				 peers_dropped(v.peers), PEERS_MAX);
	return err ?: put_rows(&v);
}
