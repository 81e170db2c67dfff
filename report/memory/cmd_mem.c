/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport mem`: memory of the kernel by task, by cache, and where what is left was allocated.
 */
#include <inttypes.h>
#include <math.h>

#include "format/base/cleanup.h"
#include "report/memory/mem_stacks.h"
#include "report/memory/model_mem.h"

/* --- the machine --- */

#define SYSTEM(X)                                                                                 \
	X("time_ns", "TIME", OUT_TIME, out_u64(s->time))                                          \
	X("total_bytes", "TOTAL", OUT_BYTES, out_u64(s->total))                                   \
	X("free_bytes", "FREE", OUT_BYTES, out_u64(s->free))                                      \
	X("available_bytes", "AVAILABLE", OUT_BYTES, out_u64(s->available))                       \
	X("cached_bytes", "CACHED", OUT_BYTES, out_u64(s->cached))                                \
	X("anon_bytes", "ANON", OUT_BYTES, out_u64(s->anon))                                      \
	X("slab_bytes", "SLAB", OUT_BYTES, out_u64(s->slab))                                      \
	X("slab_unreclaimable_bytes", "UNRECLAIMABLE", OUT_BYTES, out_u64(s->slab_unreclaimable), \
	  OUT_OPTIONAL)                                                                           \
	X("page_tables_bytes", "PAGE-TABLES", OUT_BYTES, out_u64(s->page_tables), OUT_OPTIONAL)   \
	X("swap_used_bytes", "SWAPPED", OUT_BYTES, out_u64(s->swap_used), OUT_OPTIONAL)

static struct ebt_error *put_moment(struct out *out, const struct mem_system *s)
{
	return out_row(out, 0, OUT_VALUES(SYSTEM));
}

static struct ebt_error *put_system(struct out *out, const struct mem_model *m)
{
	const struct out_table table =
		OUT_TABLE_OF("system", SYSTEM, .title = "The machine, from its /proc/meminfo:",
			     .flags = OUT_FIXED | OUT_KEEP_ORDER);
	struct ebt_error *err;

	if (!m->first.time || out_format(out) == FORMAT_CSV)
		return NULL;
	err = out_begin(out, &table);
	if (!err)
		err = put_moment(out, &m->first);
	if (!err && m->last.time != m->first.time)
		err = put_moment(out, &m->last);
	if (!err)
		err = out_end(out);
	out_printf(out, "\n");
	return err;
}

/* --- figures --- */

#define FIGURES(X)                                                                                 \
	X("live_bytes", "LIVE", OUT_BYTES, out_rounded(f->objects.live_bytes), OUT_SORT)           \
	X("live_count", "OBJECTS", OUT_U64, out_rounded(f->objects.live_count))                    \
	X("allocated_bytes", "ALLOCATED", OUT_BYTES, out_rounded(f->objects.allocated_bytes),      \
	  OUT_ADDS)                                                                                \
	X("allocated_count", "ALLOCS", OUT_U64, out_rounded(f->objects.allocated_count), OUT_ADDS, \
	  136)                                                                                     \
	X("freed_bytes", "FREED", OUT_BYTES, out_rounded(f->objects.freed_bytes), OUT_ADDS)        \
	X("freed_count", NULL, OUT_U64, out_rounded(f->objects.freed_count),                       \
	  OUT_DETAIL | OUT_ADDS)                                                                   \
	X("allocated_bytes_per_s", "ALLOCATED/s", OUT_BYTES,                                       \
	  out_rounded(grouping_per_second(g, f->objects.allocated_bytes)))                         \
	X("waste_bytes", "WASTE", OUT_BYTES, out_rounded(f->objects.waste_bytes), OUT_ADDS, 116)   \
	X("live_waste_bytes", NULL, OUT_BYTES, out_rounded(f->objects.live_waste_bytes),           \
	  OUT_DETAIL)                                                                              \
	X("page_live_bytes", "PAGES", OUT_BYTES, out_rounded(f->pages.live_bytes), 0, 106)         \
	X("page_live_count", NULL, OUT_U64, out_rounded(f->pages.live_count), OUT_DETAIL)          \
	X("page_allocated_bytes", "PAGES-ALLOCATED", OUT_BYTES,                                    \
	  out_rounded(f->pages.allocated_bytes), OUT_ADDS, 146)                                    \
	X("page_freed_bytes", "PAGES-FREED", OUT_BYTES, out_rounded(f->pages.freed_bytes),         \
	  OUT_ADDS, 168)                                                                           \
	X("unknown_frees", NULL, OUT_U64, out_u64(f->unknown_frees), OUT_DETAIL | OUT_ADDS)        \
	X("live_error_bytes", NULL, OUT_BYTES, out_rounded(sqrt(f->objects.live_variance)),        \
	  OUT_DETAIL)                                                                              \
	X("rate_bytes", NULL, OUT_U64, out_u64(m->rate), OUT_DETAIL)

#define FIGURES_AND_RSS(X)                                                                         \
	FIGURES(X)                                                                                 \
	X("rss_bytes", "RSS", OUT_BYTES, out_u64_if(f->has_rss, mem_rss(f)), 0, 96)                \
	X("rss_peak_bytes", "RSS-PEAK", OUT_BYTES, out_u64_if(f->has_rss, f->rss_peak), 0, 156)    \
	X("vm_bytes", "VM", OUT_BYTES, out_u64_if(f->has_rss, f->vm_size), 0, 126)                 \
	X("swap_bytes", NULL, OUT_BYTES, out_u64_if(f->has_rss, f->rss[EBT_V_rss_stat_kind_swap]), \
	  OUT_DETAIL)

static void put_figures(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct mem_figures *f = figures;
	const struct mem_model *m = grouping_arg(g);

	GROUP_PUT(values, FIGURES_AND_RSS);
}

static const struct group_columns columns = GROUP_COLUMNS(FIGURES, put_figures);
static const struct group_columns process_columns = GROUP_COLUMNS(FIGURES_AND_RSS, put_figures);

/* Pages are of no cache. */
#define CACHE_FIGURES(X)                                                                      \
	X("live_bytes", "LIVE", OUT_BYTES, out_rounded(f->objects.live_bytes), OUT_SORT)      \
	X("live_count", "OBJECTS", OUT_U64, out_rounded(f->objects.live_count))               \
	X("allocated_bytes", "ALLOCATED", OUT_BYTES, out_rounded(f->objects.allocated_bytes)) \
	X("allocated_count", "ALLOCS", OUT_U64, out_rounded(f->objects.allocated_count))      \
	X("freed_bytes", "FREED", OUT_BYTES, out_rounded(f->objects.freed_bytes))             \
	X("freed_count", "FREES", OUT_U64, out_rounded(f->objects.freed_count))               \
	X("waste_bytes", "WASTE", OUT_BYTES, out_rounded(f->objects.waste_bytes))             \
	X("live_waste_bytes", NULL, OUT_BYTES, out_rounded(f->objects.live_waste_bytes),      \
	  OUT_DETAIL)                                                                         \
	X("live_error_bytes", NULL, OUT_BYTES, out_rounded(sqrt(f->objects.live_variance)),   \
	  OUT_DETAIL)                                                                         \
	X("rate_bytes", NULL, OUT_U64, out_u64(m->rate), OUT_DETAIL)

static void put_cache_figures(const struct grouping *g, const void *figures,
			      struct out_value *values)
{
	const struct mem_figures *f = figures;
	const struct mem_model *m = grouping_arg(g);

	GROUP_PUT(values, CACHE_FIGURES);
}

static const struct group_columns cache_columns = GROUP_COLUMNS(CACHE_FIGURES, put_cache_figures);

/* --- by stack --- */

/* How old something of this time is at the end of the window. */
static uint64_t age(const struct grouping *g, uint64_t time)
{
	uint64_t end = trace_to_ns(grouping_report(g)->trace);

	return end > time ? end - time : 0;
}

#define STACK_FIGURES(X)                                                       \
	X("live_bytes", "LIVE", OUT_BYTES, out_rounded(f->left.bytes))         \
	X("live_count", "OBJECTS", OUT_U64, out_rounded(f->left.count))        \
	X("oldest_ns", "OLDEST", OUT_DURATION, out_u64(age(g, f->left.first))) \
	X("newest_ns", "NEWEST", OUT_DURATION, out_u64(age(g, f->left.last)))  \
	X("oldest_at_ns", "OLDEST-AT", OUT_TIME, out_u64(f->left.first))

static void put_stack(const struct grouping *g, const void *figures, struct out_value *values)
{
	const struct mem_figures *f = figures;

	GROUP_PUT(values, STACK_FIGURES);
}

static const struct group_columns stack_columns = GROUP_COLUMNS(STACK_FIGURES, put_stack);

static uint64_t left_bytes(const void *figures)
{
	const struct mem_figures *f = figures;

	return out_rounded(f->left.bytes).u;
}

static void headline(const struct grouping *g, const void *figures, uint64_t all, struct text *text)
{
	const struct mem_figures *f = figures;
	bool pages = options_flag(grouping_report(g)->options, "pages");

	(void)all;
	text_bytes(text, left_bytes(f));
	text_printf(text, " in %" PRIu64 " %s, the oldest ", out_rounded(f->left.count).u,
		    pages ? "pages" : "objects");
	text_duration(text, age(g, f->left.first));
	text_cstr(text, ", the newest ");
	text_duration(text, age(g, f->left.last));
	text_cstr(text, " old");
}

/* --- the command --- */

static struct ebt_error *put_cache(const struct grouping *g, uint64_t cache,
				   struct group_cells *cells)
{
	const struct mem_model *m = grouping_arg(g);

	text_add(&cells->texts[0], m->caches[cache].data, m->caches[cache].len);
	text_add(cells->label, m->caches[cache].data, m->caches[cache].len);
	return NULL;
}

static const struct group_own own_keys[] = {
	{
		.name = "cache",
		.header = "CACHE",
		.columns =
			(const struct out_column[]){ { "cache", "CACHE", OUT_STRING, OUT_FLEX } },
		.n_columns = 1,
		.small = true,
		.put = put_cache,
	},
};

/* Names are looked for only of stacks that are left at the end. */
static const struct group_table mem = {
	.keys = GROUP_TASK_KEYS | 1u << GROUP_STACK,
	.own = own_keys,
	.n_own = 1,
	.by = "process",
	.no_task = "(interrupts)",
	.columns = &process_columns,
	.size = sizeof(struct mem_figures),
	.stack_tables = (const uint16_t[]){ 0 },
	.stack_columns = &stack_columns,
	.json_stacks = true,
	.unit = "bytes",
	.weight = left_bytes,
	.headline = headline,
};

static void choose_columns(struct grouping *g)
{
	unsigned int keys = grouping_keys(g);

	if (keys & MEM_BY_CACHE)
		grouping_set_columns(g, &cache_columns);
	else if (keys != 1u << GROUP_PROCESS)
		grouping_set_columns(g, &columns);
}

static const struct command_subject allocations = {
	.what = "allocations",
	.source = "kmem",
	.tables = { EBT_T_kmem_alloc, EBT_T_page_alloc },
};

static struct ebt_error *put_notes(struct report *report, const struct mem_model *m)
{
	_cleanup_text_ struct text rate = TEXT_INIT;
	struct ebt_error *err = NULL;

	if (m->rate) {
		text_bytes(&rate, m->rate);
		out_printf(report->out,
			   "Figures are estimates: one allocation in %s was recorded.\n\n",
			   text_get(&rate));
	}
	if (m->unseen)
		out_printf(report->out,
			   "%" PRIu64 " %s known only by what was allocated there next.\n\n",
			   m->unseen, text_plural(m->unseen, "free is", "frees are"));
	if (m->untracked)
		err = trace_warn(report->trace,
				 "more than %u allocations were live at a time: %" PRIu64
				 " %s not among what is live",
				 LIVE_SET_MAX, m->untracked,
				 text_plural(m->untracked, "is", "are"));
	if (!err && !m->allocations)
		err = trace_warn_nothing(report->trace, &allocations);
	return err;
}

static struct ebt_error *run_mem(struct report *report)
{
	const struct mem_stacks_options options = {
		.pages = options_flag(report->options, "pages"),
		.min_age = options_u64(report->options, "min-age", 0),
	};
	_cleanup_(grouping_destroyp) struct grouping *g = NULL;
	_cleanup_(mem_model_deinit) struct mem_model model = { 0 };
	struct ebt_error *err = grouping_create(report, &mem, &model, NULL, &g);

	if (err)
		return err;
	choose_columns(g);
	err = mem_model_read(&model, report->trace, g);
	if (!err && grouping_has_stacks(g))
		err = mem_stacks_read(report->trace, &model, &options, g);
	if (!err)
		err = put_system(report->out, &model);
	if (!err)
		err = put_notes(report, &model);
	return err ? err : grouping_put(g);
}

static const struct option_def mem_options[] = {
	GROUP_BY_OPTION("process", "cache", "stack"),
	{ "stacks", OPTION_FLAG, NULL, "where what is left was allocated (JSON: both)" },
	{ "flame", OPTION_STRING, "FILE", "also: a flame graph of these stacks" },
	{ "min-age", OPTION_DURATION, "TIME", "stacks: only what is at least so old" },
	{ "pages", OPTION_FLAG, NULL, "stacks: of pages instead of objects" },
	{ "caches", OPTION_GONE, NULL, "--by cache" },
	{ 0 },
};

static const char help[] =
	"Record with `ebrec -e kmem`. Objects are what the kernel gets from kmalloc and its\n"
	"caches; pages are what it gets for processes, files and those caches too: the two are\n"
	"not to be added. LIVE: allocated since the recording began and not freed by the end\n"
	"of the window, whoever frees; ALLOCATED and FREED: in the window. WASTE: given beyond\n"
	"what was asked for. Interrupts are a row of their own, of recordings with -a.\n"
	"RSS and VM are the last that is known of a process, within some pages for each CPU.\n"
	"\n"
	"--stacks shows what is outstanding at the end by where it was allocated. Old and of\n"
	"many objects, it may be a leak, or a cache. What the kernel frees in bulk (kfree_rcu)\n"
	"without a tracepoint is outstanding until its place is used again.\n"
	"\n"
	"With kmem:rate=BYTES figures are estimates; live_error_bytes (JSON, CSV) is the\n"
	"standard error of live_bytes.\n"
	"\n"
	"  ebreport mem t.ebt\n"
	"  ebreport mem --stacks --min-age 10s --top 5 t.ebt\n"
	"  ebreport mem --by cache --sort allocated_bytes t.ebt\n"
	"  ebreport mem --by container,cache --top 20 t.ebt\n";

const struct command command_mem = {
	.name = "mem",
	.fn = run_mem,
	.summary = "memory of the kernel by process and cache, and what is never freed",
	.elsewhere = "memory kmem slab",
	.help = help,
	.options = mem_options,
};
