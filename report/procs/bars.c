/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes over time, a line each; see view.h. */
#include <inttypes.h>

#include "report/out/out.h"
#include "report/procs/view.h"

#define DEFAULT_WIDTH 100
#define PID_WIDTH     8
#define NAME_WIDTH    24
#define LABEL	      (PID_WIDTH + 1 + NAME_WIDTH + 1)

struct axis {
	uint64_t from, to;
	uint32_t slices;
};

static uint32_t slice_of(const struct axis *axis, uint64_t ns)
{
	uint64_t at = ns > axis->from ? ns - axis->from : 0;
	double share = (double)at / (double)(axis->to - axis->from);
	uint32_t slice = (uint32_t)(share * axis->slices);

	return slice < axis->slices ? slice : axis->slices - 1;
}

static void put_axis(const struct proc_view *v, const struct axis *axis)
{
	const uint64_t span = axis->to - axis->from, offset = axis->from - trace_start_ns(v->trace);
	uint32_t used = 0;

	out_printf(v->out, "%*s", LABEL, "");
	for (uint32_t i = 0; i + 12 <= axis->slices; i += 20) {
		_cleanup_text_ struct text label = TEXT_INIT;

		text_cstr(&label, "|");
		text_duration(&label, offset + (uint64_t)((double)span * i / (double)axis->slices));
		out_printf(v->out, "%*s%s", (int)(i - used), "", text_get(&label));
		used = i + (uint32_t)text_columns(text_get(&label), label.len);
	}
	out_printf(v->out, "\n");
}

static struct ebt_error *put_bar(const struct proc_view *v, const struct axis *axis,
				 const struct proc *p, unsigned int depth)
{
	const bool begins = p->start_ns >= axis->from, ends = p->ended && p->end_ns < axis->to;
	const uint32_t first = slice_of(axis, p->start_ns);
	const uint32_t last = p->ended ? slice_of(axis, p->end_ns) : axis->slices - 1;
	_cleanup_text_ struct text name = TEXT_INIT, bar = TEXT_INIT;
	size_t len;

	text_printf(&name, "%*s", (int)(depth < 8 ? depth : 8), "");
	text_terminal(&name, proc_view_comm(v, p));
	len = text_fit(text_get(&name), name.len, NAME_WIDTH);
	for (uint32_t i = 0; i < first; i++)
		text_addc(&bar, ' ');
	for (uint32_t i = first; i <= last; i++) {
		char c = '=';

		if (i == last && ends)
			c = p->status ? 'x' : ']';
		else if (i == first && begins)
			c = '[';
		text_addc(&bar, c);
	}
	if (text_error(&name) || text_error(&bar))
		return &ebt_enomem;
	out_printf(v->out, "%*" PRIu32 " %.*s%*s %s\n", PID_WIDTH, p->task->pid, (int)len,
		   text_get(&name), NAME_WIDTH - (int)text_columns(text_get(&name), len), "",
		   text_get(&bar));
	return NULL;
}

struct ebt_error *proc_view_bars(const struct proc_view *v)
{
	const struct options *o = v->report->options;
	unsigned int width = out_width(v->out) ? out_width(v->out) : DEFAULT_WIDTH;
	struct axis axis = {
		.from = trace_from_ns(v->trace),
		.to = trace_to_ns(v->trace),
		.slices = width > LABEL + 20 ? width - LABEL : 20,
	};
	const size_t n = o->top && o->top < v->n_shown ? o->top : v->n_shown;
	struct ebt_error *err = NULL;

	if (axis.to <= axis.from)
		return NULL;
	put_axis(v, &axis);
	for (size_t i = 0; !err && i < n; i++)
		err = put_bar(v, &axis, v->shown[i].proc, v->shown[i].depth);
	if (err)
		return err;
	out_printf(v->out, "\n");
	out_fill(v->out, "", 2,
		 "[  it begins   ]  it ends   x  it ends, with an exit status other than 0 or by a "
		 "signal");
	if (n < v->n_shown)
		out_printf(v->out, "%zu more %s not shown (--top).\n", v->n_shown - n,
			   text_plural(v->n_shown - n, "is", "are"));
	return NULL;
}
