/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport cache`: the page cache, by task and by file. */
#include <inttypes.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/group/group.h"
#include "report/memory/model_cache.h"

static struct ebt_error *merge(void *to, const void *from)
{
	const struct cache_sum *f = from;
	struct cache_sum *t = to;

	t->hits += f->hits;
	t->misses += f->misses;
	t->ahead += f->ahead;
	t->added += f->added;
	t->demanded += f->demanded;
	t->written += f->written;
	t->deleted += f->deleted;
	t->dirtied += f->dirtied;
	return NULL;
}

/* Files of other tasks, or of other times. */
static bool hidden(const struct grouping *g, const void *figures)
{
	static const struct cache_sum none;

	return grouping_has(g, GROUP_FILE) && !memcmp(figures, &none, sizeof(none));
}

/* --- figures --- */

/* The kernel told of lookups. */
static bool has_lookups(const struct grouping *g)
{
	return *(const bool *)grouping_arg(g);
}

static uint64_t lookups(const struct cache_sum *sum)
{
	return sum->hits + sum->misses;
}

static double hit_percent(const struct cache_sum *sum)
{
	return lookups(sum) ? (double)sum->hits * 100 / (double)lookups(sum) : 0;
}

#define FIGURES(X)                                                                    \
	X("lookups", "LOOKUPS", OUT_U64, out_u64_if(known, lookups(sum)), OUT_SORT)   \
	X("hits", "HITS", OUT_U64, out_u64_if(known, sum->hits))                      \
	X("hit_percent", "HIT-%", OUT_PERCENT,                                        \
	  out_f64_if(lookups(sum) > 0 && known, hit_percent(sum)))                    \
	X("misses", "MISSES", OUT_U64, out_u64(known ? sum->misses : read))           \
	X("misses_ahead", "IN-TIME", OUT_U64, out_u64_if(known, sum->ahead), 0, 92)   \
	X("readahead", "READAHEAD", OUT_U64, out_u64_if(known, cache_readahead(sum))) \
	X("added", "ADDED", OUT_U64, out_u64(sum->added), OUT_ADDS, 84)               \
	X("dirtied", "DIRTIED", OUT_U64, out_u64(sum->dirtied), OUT_ADDS)             \
	X("deleted", "DELETED", OUT_U64, out_u64(sum->deleted), OUT_ADDS, 100)

static void put_figures(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct cache_sum *sum = figures;
	const bool known = has_lookups(g);
	/* Without lookups, what was added not to be written has been read for somebody. */
	const uint64_t read = sum->added > sum->written ? sum->added - sum->written : 0;

	GROUP_PUT(values, FIGURES);
}

static const struct group_columns columns = GROUP_COLUMNS(FIGURES, put_figures);

static const struct group_table cache = {
	.keys = GROUP_TASK_KEYS | 1u << GROUP_FILE,
	.by = "process",
	.columns = &columns,
	.size = sizeof(struct cache_sum),
	.merge = merge,
	.hidden = hidden,
};

/* --- the command --- */

static void print_all(struct out *out, const struct grouping *g)
{
	const struct cache_sum *all = grouping_all(g);
	_cleanup_text_ struct text line = TEXT_INIT;

	if (has_lookups(g))
		text_printf(&line, "%" PRIu64 " %s, %.1f %% hits; ", lookups(all),
			    text_plural(lookups(all), "lookup", "lookups"), hit_percent(all));
	else
		text_cstr(&line, "The recorded kernel does not tell of lookups; ");
	text_printf(&line, "%" PRIu64 " %s added, %" PRIu64 " dirtied, %" PRIu64 " removed.",
		    all->added, text_plural(all->added, "page", "pages"), all->dirtied,
		    all->deleted);
	out_fill(out, "", 2, text_get(&line));
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
	const struct ebt_want want = EBT_WANT(source, status, name);

	*ret = true;
	return trace_read_rows(trace, &want, 1, TRACE_UNFILTERED | TRACE_QUIET, see_source, ret);
}

static struct ebt_error *cmd_cache(struct report *report)
{
	_cleanup_(grouping_destroyp) struct grouping *g = NULL;
	struct ebt_error *err;
	bool told;

	err = find_lookups(report->trace, &told);
	if (!err)
		err = grouping_create(report, &cache, &told, NULL, &g);
	if (err)
		return err;
	if (!told)
		grouping_sort_by(g, "added");
	err = cache_read(report->trace, g);
	if (!err)
		err = grouping_put(g);
	if (!err)
		print_all(report->out, g);
	return err;
}

static const struct option_def cache_options[] = {
	GROUP_BY_OPTION("process", "file"),
	{ "files", OPTION_GONE, NULL, "--by file" },
	{ "by-thread", OPTION_GONE, NULL, "--by thread" },
	{ 0 },
};

static const struct command_subject subject = {
	.what = "accesses to the page cache",
	.source = "pagecache",
	.tables = { EBT_T_page_cache },
};

const struct command command_cache = {
	.name = "cache",
	.fn = cmd_cache,
	.flags = COMMAND_NO_NAMES,
	.summary = "page cache: hits, misses, readahead and dirtied pages by process or file",
	.elsewhere = "pagecache cachestat",
	.help = "Record with `ebrec -e pagecache`. All figures are pages. MISSES: pages that had\n"
		"to be read for who looked them up; IN-TIME: of these, how many had been read\n"
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
		"  ebreport cache --by file --sort misses --top 20 t.ebt\n"
		"  ebreport cache --by process,file --pid 1234 t.ebt\n"
		"  ebreport cache --interval 1s --pid 1234 t.ebt\n",
	.options = cache_options,
	.subject = &subject,
};
