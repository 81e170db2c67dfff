/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport mem`: memory of the kernel by process, by cache, and where what is left was allocated.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/memory/mem_stacks.h"
#include "report/memory/model_mem.h"
#include "report/out/narrow.h"
#include "report/stacks/calltree_trace.h"
#include "report/stacks/out_stacks.h"

#define DEFAULT_STACKS 20 /* printed without --top */

DEFINE_CLEANUP(struct calltree *, calltree_destroy);

struct mem_command {
	struct report *report;
	struct out *out;
	struct mem_model *model;
	double seconds; /* of the window */
};

/* Sums are of what a trace claims. */
static struct out_value rounded(double v)
{
	return out_u64(v < 0 ? 0 : v >= 1.8e19 ? UINT64_MAX : (uint64_t)(v + 0.5));
}

/* --- the machine --- */

static const struct out_column system_columns[] = {
	{ "time_ns", "AT s", OUT_TIME, 0 },
	{ "total_bytes", "TOTAL", OUT_BYTES, 0 },
	{ "free_bytes", "FREE", OUT_BYTES, 0 },
	{ "available_bytes", "AVAILABLE", OUT_BYTES, 0 },
	{ "cached_bytes", "CACHED", OUT_BYTES, 0 },
	{ "anon_bytes", "ANON", OUT_BYTES, 0 },
	{ "slab_bytes", "SLAB", OUT_BYTES, 0 },
	{ "slab_unreclaimable_bytes", "UNRECLAIMABLE", OUT_BYTES, OUT_OPTIONAL },
	{ "page_tables_bytes", "PAGE-TABLES", OUT_BYTES, OUT_OPTIONAL },
	{ "swap_used_bytes", "SWAPPED", OUT_BYTES, OUT_OPTIONAL },
};
#define N_SYSTEM (sizeof(system_columns) / sizeof(system_columns[0]))

static struct ebt_error *put_moment(struct out *out, const struct mem_system *s)
{
	return out_row(out, 0,
		       (struct out_value[]){ out_u64(s->time), out_u64(s->total), out_u64(s->free),
					     out_u64(s->available), out_u64(s->cached),
					     out_u64(s->anon), out_u64(s->slab),
					     out_u64(s->slab_unreclaimable),
					     out_u64(s->page_tables), out_u64(s->swap_used) });
}

static struct ebt_error *put_system(struct mem_command *c)
{
	static const struct out_table table = {
		.key = "system",
		.title = "The machine, from its /proc/meminfo:",
		.columns = system_columns,
		.n_columns = N_SYSTEM,
		.flags = OUT_FIXED | OUT_KEEP_ORDER,
	};
	const struct mem_model *m = c->model;
	struct ebt_error *err;

	if (!m->first.time)
		return NULL;
	err = out_begin(c->out, &table);
	if (!err)
		err = put_moment(c->out, &m->first);
	if (!err && m->last.time != m->first.time)
		err = put_moment(c->out, &m->last);
	if (!err)
		err = out_end(c->out);
	out_printf(c->out, "\n");
	return err;
}

/* --- processes --- */

static const struct out_column process_columns[] = {
	{ "pid", "PID", OUT_U64, 0 },
	{ "comm", "COMM", OUT_STRING, OUT_FLEX },
	{ "live_bytes", "LIVE", OUT_BYTES, OUT_SORT },
	{ "live_count", "OBJECTS", OUT_U64, 0 },
	{ "allocated_bytes", "ALLOCATED", OUT_BYTES, 0 },
	{ "allocated_count", "ALLOCS", OUT_U64, 0 },
	{ "freed_bytes", "FREED", OUT_BYTES, 0 },
	{ "freed_count", NULL, OUT_U64, OUT_DETAIL },
	{ "allocated_bytes_per_s", "ALLOC/s", OUT_BYTES, 0 },
	{ "waste_bytes", "WASTE", OUT_BYTES, 0 },
	{ "live_waste_bytes", NULL, OUT_BYTES, OUT_DETAIL },
	{ "page_live_bytes", "PAGES", OUT_BYTES, 0 },
	{ "page_live_count", NULL, OUT_U64, OUT_DETAIL },
	{ "page_allocated_bytes", "PAGES-GOT", OUT_BYTES, 0 },
	{ "page_freed_bytes", "PAGES-FREED", OUT_BYTES, 0 },
	{ "rss_bytes", "RSS", OUT_BYTES, 0 },
	{ "rss_peak_bytes", "RSS-PEAK", OUT_BYTES, 0 },
	{ "vm_bytes", "VM", OUT_BYTES, 0 },
	{ "swap_bytes", NULL, OUT_BYTES, OUT_DETAIL },
	{ "unknown_frees", NULL, OUT_U64, OUT_DETAIL },
	{ "live_error_bytes", NULL, OUT_BYTES, OUT_DETAIL },
	{ "rate_bytes", NULL, OUT_U64, OUT_DETAIL },
};
#define N_PROCESS (sizeof(process_columns) / sizeof(process_columns[0]))

static const struct narrow process_narrow[] = {
	{ "page_freed_bytes", 168 }, { "rss_peak_bytes", 156 }, { "page_allocated_bytes", 146 },
	{ "allocated_count", 136 },  { "vm_bytes", 126 },	{ "waste_bytes", 116 },
	{ "page_live_bytes", 106 },  { "rss_bytes", 96 },	{ NULL, 0 },
};

static struct ebt_error *put_process(struct mem_command *c, size_t i)
{
	const struct mem_process *p = &c->model->processes[i];
	const struct ebt_task *task = task_groups_task(c->model->groups, i);
	const struct mem_sum *o = &p->objects;

	return out_row(c->out, 0,
		       (struct out_value[]){
			       task ? out_u64(task->pid) : out_null(),
			       task ? out_str(task_groups_name(c->model->groups, i))
				    : out_cstr("(interrupts)"),
			       rounded(o->live_bytes),
			       rounded(o->live_count),
			       rounded(o->allocated_bytes),
			       rounded(o->allocated_count),
			       rounded(o->freed_bytes),
			       rounded(o->freed_count),
			       rounded(c->seconds > 0 ? o->allocated_bytes / c->seconds : 0),
			       rounded(o->waste_bytes),
			       rounded(o->live_waste_bytes),
			       rounded(p->pages.live_bytes),
			       rounded(p->pages.live_count),
			       rounded(p->pages.allocated_bytes),
			       rounded(p->pages.freed_bytes),
			       p->has_rss ? out_u64(mem_process_rss(p)) : out_null(),
			       p->has_rss ? out_u64(p->rss_peak) : out_null(),
			       p->has_rss ? out_u64(p->vm_size) : out_null(),
			       p->has_rss ? out_u64(p->rss[EBT_V_rss_stat_kind_swap]) : out_null(),
			       out_u64(p->unknown_frees),
			       rounded(sqrt(o->live_variance)),
			       out_u64(c->model->rate),
		       });
}

static struct ebt_error *put_processes(struct mem_command *c)
{
	struct out_column columns[N_PROCESS];
	const struct out_table table = { "rows", NULL, columns, N_PROCESS, NULL, 0 };
	struct ebt_error *err;

	memcpy(columns, process_columns, sizeof(columns));
	narrow_columns(c->out, process_narrow, columns, N_PROCESS);
	err = out_begin(c->out, &table);
	for (size_t i = 0; !err && i < c->model->n_processes; i++)
		err = put_process(c, i);
	return err ? err : out_end(c->out);
}

/* --- caches --- */

static const struct out_column cache_columns[] = {
	{ "cache", "CACHE", OUT_STRING, OUT_FLEX },
	{ "live_bytes", "LIVE", OUT_BYTES, OUT_SORT },
	{ "live_count", "OBJECTS", OUT_U64, 0 },
	{ "allocated_bytes", "ALLOCATED", OUT_BYTES, 0 },
	{ "allocated_count", "ALLOCS", OUT_U64, 0 },
	{ "freed_bytes", "FREED", OUT_BYTES, 0 },
	{ "freed_count", "FREES", OUT_U64, 0 },
	{ "waste_bytes", "WASTE", OUT_BYTES, 0 },
	{ "live_waste_bytes", NULL, OUT_BYTES, OUT_DETAIL },
	{ "live_error_bytes", NULL, OUT_BYTES, OUT_DETAIL },
	{ "rate_bytes", NULL, OUT_U64, OUT_DETAIL },
};
#define N_CACHE (sizeof(cache_columns) / sizeof(cache_columns[0]))

static struct ebt_error *put_caches(struct mem_command *c)
{
	static const struct out_table table = { "rows", NULL, cache_columns, N_CACHE, NULL, 0 };
	struct ebt_error *err = out_begin(c->out, &table);

	for (size_t i = 0; !err && i < c->model->n_caches; i++) {
		const struct mem_cache *cache = &c->model->caches[i];
		const struct mem_sum *s = &cache->sum;

		err = out_row(c->out, 0,
			      (struct out_value[]){
				      out_cstr(cache->name), rounded(s->live_bytes),
				      rounded(s->live_count), rounded(s->allocated_bytes),
				      rounded(s->allocated_count), rounded(s->freed_bytes),
				      rounded(s->freed_count), rounded(s->waste_bytes),
				      rounded(s->live_waste_bytes), rounded(sqrt(s->live_variance)),
				      out_u64(c->model->rate) });
	}
	return err ? err : out_end(c->out);
}

/* --- stacks --- */

static const struct out_column stack_columns[] = {
	{ "live_bytes", "LIVE", OUT_BYTES, 0 },	    { "live_count", "OBJECTS", OUT_U64, 0 },
	{ "oldest_ns", "OLDEST", OUT_DURATION, 0 }, { "newest_ns", "NEWEST", OUT_DURATION, 0 },
	{ "oldest_at_ns", "SINCE s", OUT_TIME, 0 }, { "stack", "STACK", OUT_STRING, 0 },
};
#define N_STACK (sizeof(stack_columns) / sizeof(stack_columns[0]))

/* How old something of this time is at the end of the window. */
static uint64_t age(const struct mem_command *c, uint64_t time)
{
	uint64_t end = trace_to_ns(c->report->trace);

	return end > time ? end - time : 0;
}

static void print_stack(struct mem_command *c, const struct calltree *tree,
			const struct mem_stack *stack, bool pages)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	text_bytes(&line, rounded(stack->live_bytes).u);
	text_printf(&line, " in %" PRIu64 " %s, the oldest ", rounded(stack->live_count).u,
		    pages ? "pages" : "objects");
	text_duration(&line, age(c, stack->first));
	text_cstr(&line, ", the newest ");
	text_duration(&line, age(c, stack->last));
	out_printf(c->out, "%s old\n", text_get(&line));
	out_stack_frames(c->out, tree, stack->node);
}

static struct ebt_error *put_stack_rows(struct mem_command *c, const struct calltree *tree,
					const struct mem_stack *stacks, size_t n)
{
	bool csv = out_format(c->out) == FORMAT_CSV;
	const struct out_table table = {
		csv ? "rows" : "stacks",    NULL, stack_columns, N_STACK, NULL,
		OUT_FIXED | OUT_KEEP_ORDER,
	};
	struct ebt_error *err = out_begin(c->out, &table);

	for (size_t i = 0; !err && i < n; i++) {
		_cleanup_text_ struct text path = TEXT_INIT;

		stack_joined(&path, tree, stacks[i].node);
		err = text_error(&path);
		if (!err)
			err = out_row(c->out, 0,
				      (struct out_value[]){ rounded(stacks[i].live_bytes),
							    rounded(stacks[i].live_count),
							    out_u64(age(c, stacks[i].first)),
							    out_u64(age(c, stacks[i].last)),
							    out_u64(stacks[i].first),
							    out_cstr(text_get(&path)) });
	}
	return err ? err : out_end(c->out);
}

static struct ebt_error *put_stacks(struct mem_command *c)
{
	const struct options *o = c->report->options;
	const struct mem_stacks_options options = {
		.pages = options_flag(o, "pages"),
		.min_age = options_u64(o, "min-age", 0),
	};
	_cleanup_(calltree_destroyp) struct calltree *tree = NULL;
	_cleanup_free_ struct mem_stack *stacks = NULL;
	size_t n, top = o->top;
	struct ebt_error *err;

	err = calltree_create_for(c->report->trace, CALLTREE_BY_COMM, &tree);
	if (!err)
		err = mem_stacks_read(c->report->trace, c->model, &options, tree, &stacks, &n);
	if (err)
		return err;
	if (out_format(c->out) != FORMAT_TABLE)
		return put_stack_rows(c, tree, stacks, top && top < n ? top : n);
	top = top ? top : DEFAULT_STACKS;
	for (size_t i = 0; i < n && i < top; i++)
		print_stack(c, tree, &stacks[i], options.pages);
	if (n > top)
		out_printf(c->out, "%zu more stacks (--top shows them).\n", n - top);
	return NULL;
}

/* --- the command --- */

static struct ebt_error *put_notes(struct mem_command *c)
{
	const struct mem_model *m = c->model;
	_cleanup_text_ struct text rate = TEXT_INIT;
	struct ebt_error *err = NULL;

	if (m->rate) {
		text_bytes(&rate, m->rate);
		out_printf(c->out, "Figures are estimates: one allocation in %s was recorded.\n\n",
			   text_get(&rate));
	}
	if (m->unseen)
		out_printf(c->out,
			   "%" PRIu64 " frees are known only by what was allocated there next.\n\n",
			   m->unseen);
	if (m->untracked)
		err = trace_warn(c->report->trace,
				 "more than %u allocations were live at a time: %" PRIu64
				 " are not among what is live",
				 LIVE_SET_MAX, m->untracked);
	if (!err && !m->allocations)
		err = trace_warn(c->report->trace,
				 "no allocations in this trace, or none that pass the filters: "
				 "ebrec records them with -e kmem");
	return err;
}

static struct ebt_error *run_mem(struct report *report)
{
	_cleanup_(mem_model_destroyp) struct mem_model *model = NULL;
	struct mem_command c = { .report = report, .out = report->out };
	bool stacks = options_flag(report->options, "stacks");
	bool caches = options_flag(report->options, "caches");
	bool json = out_format(report->out) == FORMAT_JSON;
	uint64_t from = trace_from_ns(report->trace), to = trace_to_ns(report->trace);
	struct ebt_error *err;

	if (stacks && caches)
		return ebt_error_create(EBT_ERR_INVALID,
					"--stacks and --caches exclude each other");
	err = mem_model_create(report->trace, &model);
	if (err)
		return err;
	c.model = model;
	c.seconds = to > from ? (double)(to - from) / 1e9 : 0;
	if (json || out_format(report->out) == FORMAT_TABLE)
		err = put_system(&c);
	if (!err)
		err = put_notes(&c);
	if (!err && caches)
		return put_caches(&c);
	if (!err && (json || !stacks))
		err = put_processes(&c);
	if (!err && (json || stacks))
		err = put_stacks(&c);
	return err;
}

static const struct option_def mem_options[] = {
	{ "stacks", OPTION_FLAG, NULL, "where what is left was allocated (JSON: both)", NULL },
	{ "min-age", OPTION_DURATION, "TIME", "stacks: only what is at least so old", NULL },
	{ "pages", OPTION_FLAG, NULL, "stacks: of pages instead of objects", NULL },
	{ "caches", OPTION_FLAG, NULL, "by cache instead of by process", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_mem = {
	.name = "mem",
	.fn = run_mem,
	.summary = "memory of the kernel by process and cache, and what is never freed",
	.help = "Record with `ebrec -e kmem`. Objects are what the kernel gets from kmalloc and "
		"its\n"
		"caches; pages are what it gets for processes, files and those caches too: the two "
		"are\n"
		"not to be added. LIVE: allocated since the recording began and not freed by the "
		"end\n"
		"of the window, whoever frees; ALLOCATED and FREED: in the window. WASTE: given "
		"beyond\n"
		"what was asked for. Interrupts are a row of their own, of recordings with -a.\n"
		"RSS and VM are the last that is known of a process, within some pages for each "
		"CPU.\n"
		"\n"
		"--stacks shows what is outstanding at the end by where it was allocated. Old and "
		"of\n"
		"many objects, it may be a leak, or a cache. What the kernel frees in bulk "
		"(kfree_rcu)\n"
		"without a tracepoint is outstanding until its place is used again.\n"
		"\n"
		"With kmem:rate=BYTES figures are estimates; live_error_bytes (JSON, CSV) is the\n"
		"standard error of live_bytes.\n"
		"\n"
		"  ebreport mem t.ebt\n"
		"  ebreport mem --stacks --min-age 10s --top 5 t.ebt\n"
		"  ebreport mem --caches --sort allocated_bytes t.ebt\n",
	.options = mem_options,
};
