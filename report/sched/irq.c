/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of interrupts; see views.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "format/base/compare.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/out/histogram.h"
#include "report/out/out.h"
#include "report/sched/model_irqs.h"
#include "report/sched/views.h"
#include "report/stacks/doubts.h"
#include "symbolize/symbolize.h"

#define MOST_TASKS 20

struct irq_view {
	struct report *report;
	struct irq_model *model;
	const struct names *names;
	struct sym *sym;
	double span_ns; /* of the window */
	struct nameless nameless;
};

#define IRQS(X)                                                                               \
	X("cpu", "CPU", OUT_U64, out_u64(stat->cpu), OUT_KEY)                                 \
	X("kind", "KIND", OUT_STRING, out_cstr(text_get(&kind)), OUT_KEY)                     \
	X("number", NULL, OUT_U64, out_u64(stat->number), OUT_DETAIL | OUT_KEY)               \
	X("name", "NAME", OUT_STRING, out_str(text_str(&name)), OUT_FLEX | OUT_KEY)           \
	X("count", "COUNT", OUT_U64, out_u64(self->count), OUT_ADDS)                          \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(self->sum), OUT_SORT | OUT_ADDS)         \
	X("percent", "CPU-%", OUT_PERCENT,                                                    \
	  out_f64(v->span_ns > 0 ? 100 * (double)self->sum / v->span_ns : 0), OUT_RATE,       \
	  .of = "total_ns")                                                                   \
	X("taken_ns", "TAKEN", OUT_DURATION, out_u64(stat->busy_ns), OUT_ADDS)                \
	X("avg_ns", "AVG", OUT_DURATION, out_average(self), OUT_MEAN, .of = "total_ns",       \
	  .by = "count")                                                                      \
	X("p99_ns", "P99", OUT_DURATION, out_percentile(self, 99), OUT_SPREAD, .percent = 99) \
	X("max_ns", "MAX", OUT_DURATION, out_maximum(self), OUT_PEAK)                         \
	X("max_at_ns", "MAX-AT", OUT_TIME, out_u64(stat->max_at_ns), OUT_OPTIONAL | OUT_AT,   \
	  .of = "max_ns")                                                                     \
	X("delay_avg_ns", "DELAY", OUT_DURATION, out_average(delay), OUT_OPTIONAL)            \
	X("delay_max_ns", NULL, OUT_DURATION, out_maximum(delay), OUT_DETAIL | OUT_PEAK)

static struct ebt_error *put_irq(const struct irq_view *v, const struct irq_stat *stat)
{
	const struct histogram *self = &stat->self, *delay = &stat->delay;
	const struct ebt_table *table = ebt_table_by_id(EBT_T_irq);
	const char *kind_name = ebt_value_name(&table->fields[EBT_F_irq_kind], stat->kind);
	_cleanup_text_ struct text name = TEXT_INIT, kind = TEXT_INIT;

	irq_model_name_add(v->model, stat->kind, stat->number, &name);
	if (kind_name)
		text_cstr(&kind, kind_name);
	else
		text_printf(&kind, "%" PRIu32, stat->kind);
	if (text_error(&name) || text_error(&kind))
		return &ebt_enomem;
	return out_row(v->report->out, 0, OUT_VALUES(IRQS));
}

static struct ebt_error *put_irqs(const struct irq_view *v)
{
	const struct out_table table = OUT_TABLE_OF("rows", IRQS);

	return out_rows(v->report->out, &table, v->model->n_stats, i,
			put_irq(v, &v->model->stats[i]));
}

#define FUNCTIONS(X)                                                                       \
	X("function", "FUNCTION", OUT_STRING, out_cstr(func->name), OUT_FLEX | OUT_KEY)    \
	X("kind", "KIND", OUT_STRING, out_cstr(kind), OUT_KEY)                             \
	X("count", "COUNT", OUT_U64, out_u64(h->count), OUT_ADDS)                          \
	X("total_ns", "TOTAL", OUT_DURATION, out_u64(h->sum), OUT_SORT | OUT_ADDS)         \
	X("avg_ns", "AVG", OUT_DURATION, out_average(h), OUT_MEAN, .of = "total_ns",       \
	  .by = "count")                                                                   \
	X("p99_ns", "P99", OUT_DURATION, out_percentile(h, 99), OUT_SPREAD, .percent = 99) \
	X("max_ns", "MAX", OUT_DURATION, out_maximum(h), OUT_PEAK)                         \
	X("max_at_ns", "MAX-AT", OUT_TIME, out_u64(f->max_at_ns), OUT_OPTIONAL | OUT_AT,   \
	  .of = "max_ns")

static struct ebt_error *put_function(struct irq_view *v, const struct irq_function *f,
				      const char *kind)
{
	const struct histogram *h = &f->time;
	const struct sym_func *func;
	struct sym_frames frames;
	struct ebt_error *err;

	err = sym_resolve(v->sym, NULL, f->first_time, 0, f->function, false, &frames);
	if (err)
		return err;
	func = frames.frames[frames.n - 1].func;
	err = nameless_add(&v->nameless, func->object, func->reason, (double)h->sum);
	if (err)
		return err;
	return out_row(v->report->out, 0, OUT_VALUES(FUNCTIONS));
}

static struct ebt_error *put_functions(struct irq_view *v)
{
	const struct out_table timers_table =
		OUT_TABLE_OF("timers", FUNCTIONS, .title = "\nTimers", .flags = OUT_FIXED);
	const struct out_table works_table =
		OUT_TABLE_OF("works", FUNCTIONS,
			     .title = "\nWork items, with the time that they slept",
			     .flags = OUT_FIXED);
	const struct irq_functions *timers = &v->model->timers, *works = &v->model->works;
	struct ebt_error *err =
		out_rows(v->report->out, &timers_table, timers->n, i,
			 put_function(v, &timers->list[i],
				      timers->list[i].kind != EBT_V_timer_kind_timer ? "hrtimer"
										     : "timer"));

	if (!err)
		err = out_rows(v->report->out, &works_table, works->n, i,
			       put_function(v, &works->list[i], "work"));
	return err ? err : nameless_warn(&v->nameless, v->report->trace);
}

static int compare_tasks(const void *a, const void *b)
{
	const struct irq_task *x = a, *y = b;

	return ebt_compare(y->ns, x->ns) ?: ebt_compare(x->task->id, y->task->id);
}

#define TASKS(X)                                                                      \
	X("tid", "TID", OUT_U64, out_u64(tasks[i].task->tid), OUT_KEY)                \
	X("pid", "PID", OUT_U64, out_u64(tasks[i].task->pid), OUT_KEY)                \
	X("comm", "COMM", OUT_STRING, out_str(names_task(v->names, tasks[i].task)),   \
	  OUT_FLEX | OUT_KEY)                                                         \
	X("irq_ns", "TAKEN", OUT_DURATION, out_u64(tasks[i].ns), OUT_SORT | OUT_ADDS) \
	X("count", "COUNT", OUT_U64, out_u64(tasks[i].count), OUT_ADDS)               \
	X("max_ns", "MAX", OUT_DURATION, out_u64(tasks[i].max_ns), OUT_PEAK)

/* On a terminal only those from which most was taken. */
static struct ebt_error *put_tasks(const struct irq_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("irq_tasks", TASKS,
			     .title = "\nThreads from which interrupts took time",
			     .flags = OUT_FIXED);
	struct irq_task *tasks = v->model->tasks;
	size_t n = v->model->n_tasks, shown;
	struct out *out = v->report->out;
	struct ebt_error *err;

	if (n)
		qsort(tasks, n, sizeof(*tasks), compare_tasks);
	shown = out_format(out) == FORMAT_TABLE && n > MOST_TASKS ? MOST_TASKS : n;
	err = out_rows(out, &table, shown, i, out_row(out, 0, OUT_VALUES(TASKS)));
	if (!err && n > shown)
		out_printf(out, "%zu more thread%s.\n", n - shown, text_plural(n - shown, "", "s"));
	return err;
}

struct ebt_error *sched_irq(struct report *report)
{
	_cleanup_(irq_model_destroyp) struct irq_model *model = NULL;
	struct irq_view v = { .report = report };
	uint64_t to = trace_to_ns(report->trace), from = trace_from_ns(report->trace);
	struct ebt_error *err;

	v.span_ns = to > from ? (double)(to - from) : 0;
	err = trace_names(report->trace, &v.names) ?:
	      trace_sym(report->trace, &v.sym) ?:
	      irq_model_create(report->trace, &model);
	if (err)
		return err;
	v.model = model;
	err = put_irqs(&v) ?: put_tasks(&v) ?: put_functions(&v);
	nameless_deinit(&v.nameless);
	return err;
}
