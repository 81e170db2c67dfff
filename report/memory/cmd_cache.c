/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport cache`: the page cache, by process and by file. */
#include <inttypes.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/memory/model_cache.h"
#include "report/out/narrow.h"

enum {
	COL_PID,
	COL_TID,
	COL_COMM,
	COL_PATH,
	COL_DEVICE,
	COL_INODE,
	COL_LOOKUPS,
	COL_HITS,
	COL_PERCENT,
	COL_MISSES,
	COL_AHEAD,
	COL_READAHEAD,
	COL_ADDED,
	COL_DIRTIED,
	COL_DELETED,
	N_COLUMNS,
};

static const struct out_column all_columns[N_COLUMNS] = {
	[COL_PID] = { "pid", "PID", OUT_U64, 0 },
	[COL_TID] = { "tid", "TID", OUT_U64, 0 },
	[COL_COMM] = { "comm", "COMM", OUT_STRING, OUT_FLEX },
	[COL_PATH] = { "path", "FILE", OUT_STRING, OUT_FLEX },
	[COL_DEVICE] = { "device", NULL, OUT_STRING, OUT_DETAIL },
	[COL_INODE] = { "inode", NULL, OUT_ID, OUT_DETAIL },
	[COL_LOOKUPS] = { "lookups", "LOOKUPS", OUT_U64, OUT_SORT },
	[COL_HITS] = { "hits", "HITS", OUT_U64, 0 },
	[COL_PERCENT] = { "hit_percent", "HIT %", OUT_PERCENT, 0 },
	[COL_MISSES] = { "misses", "MISSES", OUT_U64, 0 },
	[COL_AHEAD] = { "misses_ahead", "IN TIME", OUT_U64, 0 },
	[COL_READAHEAD] = { "readahead", "READAHEAD", OUT_U64, 0 },
	[COL_ADDED] = { "added", "ADDED", OUT_U64, 0 },
	[COL_DIRTIED] = { "dirtied", "DIRTIED", OUT_U64, 0 },
	[COL_DELETED] = { "deleted", "DELETED", OUT_U64, 0 },
};

static const struct narrow narrow_table[] = {
	{ "deleted", 100 },
	{ "misses_ahead", 92 },
	{ "added", 84 },
	{ NULL, 0 },
};

enum cache_grouping { BY_PROCESS, BY_THREAD, BY_FILE };

struct cache_view {
	struct report *report;
	bool lookups; /* the kernel told of them */
	enum cache_grouping by;
	struct out_column columns[N_COLUMNS];
	size_t from[N_COLUMNS], n_columns; /* of all_columns */
};

static void choose_columns(struct cache_view *v)
{
	v->n_columns = 0;
	for (size_t i = 0; i < N_COLUMNS; i++) {
		bool task = i == COL_PID || i == COL_COMM;
		bool file = i == COL_PATH || i == COL_DEVICE || i == COL_INODE;

		if ((task && v->by == BY_FILE) || (file && v->by != BY_FILE) ||
		    (i == COL_TID && v->by != BY_THREAD))
			continue;
		v->from[v->n_columns] = i;
		v->columns[v->n_columns] = all_columns[i];
		/* Sorted by what is there. */
		if (!v->lookups && i == COL_LOOKUPS)
			v->columns[v->n_columns].flags &= ~(unsigned int)OUT_SORT;
		if (!v->lookups && i == COL_ADDED)
			v->columns[v->n_columns].flags |= OUT_SORT;
		v->n_columns++;
	}
	narrow_columns(v->report->out, narrow_table, v->columns, v->n_columns);
}

static void set_figures(const struct cache_view *v, const struct cache_sum *sum,
			struct out_value *values)
{
	uint64_t lookups = sum->hits + sum->misses;
	uint64_t read = sum->added > sum->written ? sum->added - sum->written : 0;

	for (size_t i = 0; i < N_COLUMNS; i++)
		values[i] = out_null();
	values[COL_MISSES] = out_u64(v->lookups ? sum->misses : read);
	values[COL_ADDED] = out_u64(sum->added);
	values[COL_DIRTIED] = out_u64(sum->dirtied);
	values[COL_DELETED] = out_u64(sum->deleted);
	if (!v->lookups)
		return;
	values[COL_LOOKUPS] = out_u64(lookups);
	values[COL_HITS] = out_u64(sum->hits);
	if (lookups)
		values[COL_PERCENT] = out_f64((double)sum->hits * 100 / (double)lookups);
	values[COL_AHEAD] = out_u64(sum->ahead);
	values[COL_READAHEAD] = out_u64(cache_readahead(sum));
}

static struct ebt_error *put_row(const struct cache_view *v, const struct out_value *values)
{
	struct out_value row[N_COLUMNS];

	for (size_t i = 0; i < v->n_columns; i++)
		row[i] = values[v->from[i]];
	return out_row_n(v->report->out, 0, row, v->n_columns);
}

static struct ebt_error *put_tasks(struct cache_view *v, const struct cache_model *model)
{
	const struct task_groups *tasks = cache_model_tasks(model);
	struct out_table table = { .key = "rows", .columns = v->columns };
	struct ebt_error *err;
	size_t n;
	const struct cache_sum *groups = cache_model_groups(model, &n);

	choose_columns(v);
	table.n_columns = v->n_columns;
	err = out_begin(v->report->out, &table);
	for (size_t i = 0; !err && i < n; i++) {
		const struct ebt_task *task = task_groups_task(tasks, i);
		struct out_value values[N_COLUMNS];

		set_figures(v, &groups[i], values);
		values[COL_COMM] = out_cstr("(not known)");
		if (task) {
			values[COL_PID] = out_u64(task->pid);
			values[COL_TID] = out_u64(task->tid);
			values[COL_COMM] = out_str(task_groups_name(tasks, i));
		}
		err = put_row(v, values);
	}
	return err ? err : out_end(v->report->out);
}

static bool is_empty(const struct cache_sum *sum)
{
	static const struct cache_sum none;

	return !memcmp(sum, &none, sizeof(none));
}

static struct ebt_error *put_files(struct cache_view *v, const struct cache_model *model,
				   const struct inode_paths *paths)
{
	bool json = out_format(v->report->out) == FORMAT_JSON;
	struct out_table table = {
		.key = json ? "files" : "rows",
		.columns = v->columns,
		.flags = json ? OUT_FIXED : 0,
	};
	struct ebt_error *err;
	size_t n;
	const struct cache_file *files = cache_model_files(model, &n);

	v->by = BY_FILE;
	choose_columns(v);
	table.n_columns = v->n_columns;
	err = out_begin(v->report->out, &table);
	for (size_t i = 0; !err && i < n; i++) {
		_cleanup_text_ struct text path = TEXT_INIT, device = TEXT_INIT;
		struct out_value values[N_COLUMNS];

		if (is_empty(&files[i].sum)) /* of other tasks, or at other times */
			continue;
		set_figures(v, &files[i].sum, values);
		inode_paths_add(paths, &files[i].key, &path);
		text_printf(&device, "%" PRIu32 ":%" PRIu32, files[i].key.dev_major,
			    files[i].key.dev_minor);
		values[COL_PATH] = out_str((struct ebt_str){ text_get(&path), path.len });
		values[COL_DEVICE] = out_cstr(text_get(&device));
		values[COL_INODE] = out_u64(files[i].key.inode);
		err = put_row(v, values);
	}
	return err ? err : out_end(v->report->out);
}

static void print_all(const struct cache_view *v, const struct cache_sum *all)
{
	struct out *out = v->report->out;
	uint64_t lookups = all->hits + all->misses;

	if (v->lookups)
		out_printf(out, "%" PRIu64 " lookups, %.1f %% hits; ", lookups,
			   lookups ? (double)all->hits * 100 / (double)lookups : 0.0);
	else
		out_printf(out, "The recorded kernel does not tell of lookups; ");
	out_printf(out, "%" PRIu64 " pages added, %" PRIu64 " dirtied, %" PRIu64 " removed.\n",
		   all->added, all->dirtied, all->deleted);
}

static struct ebt_error *see_source(void *arg, const struct ebt_row *row)
{
	struct ebt_str name = ebt_source_name(row);
	bool *lookups = arg;

	if (name.len == 9 && !memcmp(name.data, "pagecache", 9) &&
	    ebt_source_status(row) == EBT_V_source_status_partial)
		*lookups = false;
	return NULL;
}

/* Without some tracepoints a kernel does not say what was looked up. */
static struct ebt_error *find_lookups(struct trace *trace, bool *ret)
{
	const struct ebt_want want = { EBT_T_source,
				       EBT_COL(source, status) | EBT_COL(source, name) };

	*ret = true;
	return trace_read_rows(trace, &want, 1, TRACE_UNFILTERED | TRACE_QUIET, see_source, ret);
}

static struct ebt_error *cmd_cache(struct report *report)
{
	_cleanup_(cache_model_destroyp) struct cache_model *model = NULL;
	_cleanup_(inode_paths_destroyp) struct inode_paths *paths = NULL;
	bool files = options_flag(report->options, "files");
	bool json = out_format(report->out) == FORMAT_JSON;
	struct cache_view v = { .report = report };
	struct ebt_error *err;

	if (options_flag(report->options, "by-thread"))
		v.by = BY_THREAD;
	if (files && v.by == BY_THREAD && !json)
		return ebt_error_create(EBT_ERR_INVALID,
					"--files and --by-thread exclude each other");
	err = find_lookups(report->trace, &v.lookups);
	if (!err)
		err = cache_model_create(report->trace, v.by == BY_THREAD, &model);
	if (!err && files)
		err = inode_paths_create(report->trace, &paths);
	if (!err && (!files || json))
		err = put_tasks(&v, model);
	if (!err && files)
		err = put_files(&v, model, paths);
	if (!err)
		print_all(&v, cache_model_all(model));
	return err;
}

static const struct option_def cache_options[] = {
	{ "files", OPTION_FLAG, NULL, "by file instead of by process (JSON: besides)", NULL },
	{ "by-thread", OPTION_FLAG, NULL, "by thread instead of by process", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_cache = {
	.name = "cache",
	.fn = cmd_cache,
	.summary = "page cache: hits, misses, readahead and dirtied pages by process or file",
	.help = "Record with `ebrec -e pagecache`. All figures are pages. MISSES: pages that had\n"
		"to be read for who looked them up; IN TIME: of these, how many had been read\n"
		"ahead. Any other lookup is a HIT. A page is looked up each time that a read()\n"
		"takes something of it, and when a program touches it that is not mapped yet.\n"
		"READAHEAD: pages read before anybody wanted them. ADDED: all that came into the\n"
		"cache, those that were about to be written too.\n"
		"\n"
		"Kernels before 6.11 do not tell of lookups: hits are not known then, and MISSES\n"
		"are pages that were read. Files in tmpfs are nowhere but in memory, and have no\n"
		"lookups, misses or dirty pages.\n"
		"\n"
		"  ebreport cache t.ebt\n"
		"  ebreport cache --files --sort misses --top 20 t.ebt\n"
		"  ebreport cache --interval 1s --pid 1234 t.ebt\n",
	.options = cache_options,
};
