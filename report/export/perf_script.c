/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples as `perf script` prints them, for what reads that: a line for each, below it its stack
 * from the innermost frame on, and an empty line. `man perf-script`.
 *
 *	nginx 1234/1240 [001]    12.345678:    1010101 cpu-clock:
 *	            1234 parse (inlined)
 *	            1234 serve (/usr/sbin/nginx)
 */
#include <inttypes.h>
#include <string.h>

#include "report/base/text.h"
#include "report/export/export.h"
#include "report/trees/feed.h"

struct perf_script {
	struct export *e;
	struct text text; /* of the sample at hand */
	const char *event;
};

/* Readers split lines at blanks, where no name of a file may have one. */
static void add_word(struct text *text, struct ebt_str s, bool blanks)
{
	const size_t before = text->len;

	text_terminal(text, s);
	for (size_t i = before; !blanks && i < text->len; i++) {
		if (text->data[i] == ' ')
			text->data[i] = '_';
	}
}

static void add_cstr(struct text *text, const char *s, bool blanks)
{
	add_word(text, ebt_str_of(s), blanks);
}

static void add_head(struct perf_script *p, const struct export_sample *sample)
{
	const struct ebt_task *task = sample->task;
	const uint64_t us = sample->time / 1000;
	struct text *text = &p->text;

	if (task)
		add_word(text, task->comm.len ? task->comm : (struct ebt_str){ "?", 1 }, true);
	else
		text_cstr(text, "swapper");
	text_printf(text,
		    " %" PRIu32 "/%" PRIu32 " [%03" PRIu32 "] %" PRIu64 ".%06" PRIu64 ": %10" PRIu64
		    " ",
		    task ? task->pid : 0, task ? task->tid : 0, sample->cpu, us / 1000000,
		    us % 1000000, sample->ns);
	add_cstr(text, p->event, false);
	text_cstr(text, ":\n");
}

static void add_frame(struct text *text, const struct calltree_func *func, bool inlined)
{
	const bool named = !func->sym || func->reason == SYM_OK;

	text_printf(text, "\t%16" PRIx64 " ", func->address);
	add_cstr(text, named ? func->name : "[unknown]", true);
	text_cstr(text, " (");
	if (inlined)
		text_cstr(text, "inlined");
	else if (!func->object[0])
		text_cstr(text, "[unknown]");
	else
		add_cstr(text,
			 strcmp(func->object, "[kernel]") ? func->object : "[kernel.kallsyms]",
			 false);
	text_cstr(text, ")\n");
}

static struct ebt_error *take_sample(void *arg, const struct export_sample *sample)
{
	struct perf_script *p = arg;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(p->e->tree, &n);
	const struct calltree_func *funcs = calltree_funcs(p->e->tree, &n);
	struct ebt_error *err;

	text_clear(&p->text);
	add_head(p, sample);
	for (uint32_t node = sample->node; node; node = nodes[node].parent)
		add_frame(&p->text, &funcs[nodes[node].func], nodes[node].inlined);
	text_addc(&p->text, '\n');
	err = text_error(&p->text);
	if (!err)
		fwrite(text_get(&p->text), 1, p->text.len, p->e->f);
	return err ? err : ferror(p->e->f) ? &trace_enough : NULL;
}

struct ebt_error *export_perf_script(struct export *e)
{
	static const uint16_t held[] = { EXPORT_SAMPLE_TABLES, 0 };
	struct perf_script p = { .e = e, .text = TEXT_INIT };
	uint64_t freq;
	struct ebt_error *err = tree_feed_sampling(e->trace, &p.event, &freq);

	if (!p.event || !*p.event)
		p.event = "cpu-clock";
	err = err ?: export_samples(e, take_sample, &p);
	export_holds(e, held);
	text_deinit(&p.text);
	return err;
}
