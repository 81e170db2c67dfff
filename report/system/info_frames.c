/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many frames of a trace get a name, and why the others do not. */
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/base/names.h"
#include "report/stacks/recorder.h"
#include "report/system/info.h"
#include "report/trace/stack_iterator.h"

/* What one stack came to, for the task that had it last. */
struct counted {
	uint64_t n[SYM_N_REASONS];
	bool recorder;
};

struct frame_counter {
	struct sym *sym;
	const struct names *names;
	struct info_frames *frames;
	struct counted *stacks; /* of the batch at hand */
	size_t capacity;
};

uint64_t info_stack_bytes(const struct info *info)
{
	uint64_t bytes = 0;

	for (size_t t = 0; t < info->n_tables; t++) {
		const struct ebt_table *table = info->tables[t].table;

		for (uint32_t f = 0; f < table->n_fields; f++) {
			if (table->fields[f].type != EBT_TYPE_STACK)
				continue;
			bytes += info->tables[t].raw;
			break;
		}
	}
	return bytes;
}

static const struct {
	const char *prefix, *hint;
} hints[] = {
	{ "node", "run it with --perf-basic-prof" },
	{ "deno", "run it with --v8-flags=--perf-basic-prof" },
	{ "python", "from Python 3.12 on, run it with -X perf" },
	{ "java", "run it with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit" },
	{ "dotnet", "run it with DOTNET_PerfMapEnabled=1 in its environment" },
	{ "ruby", "run it with --yjit-perf" },
	{ "php", "run it with -d opcache.jit_debug=16" },
	{ "beam.smp", "run it with +JPperf true" },
	{ "wasmtime", "run it with --profile=perfmap" },
};

static void add_generated(struct info_generated *generated, struct ebt_str name, uint64_t frames)
{
	const size_t room = sizeof(generated->programs[0].name) - 1;
	const size_t len = name.len < room ? name.len : room;
	unsigned int i;

	for (i = 0; i < generated->n; i++) {
		if (strlen(generated->programs[i].name) == len &&
		    !memcmp(generated->programs[i].name, name.data, len))
			break;
	}
	if (i == INFO_GENERATED)
		return;
	/* A name with a NUL in it is cut there. */
	if (i == generated->n)
		strncpy(generated->programs[generated->n++].name, name.data, len);
	generated->programs[i].frames += frames;
}

const char *info_generated_hint(const char *name)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		if (!strncmp(name, hints[i].prefix, strlen(hints[i].prefix)))
			return hints[i].hint;
	}
	return NULL;
}

static struct ebt_error *resolve(struct frame_counter *c, const struct stack_visit *visit,
				 const struct ebt_stack *stack, struct counted *ret)
{
	struct sym_frames frames;
	struct ebt_error *err;
	uint32_t own;

	*ret = (struct counted){ 0 };
	for (uint32_t i = 0; i < stack->n; i++) {
		if (sym_is_shown_by_next(stack, i))
			continue;
		err = sym_resolve(c->sym, visit->task, visit->row->time, stack->attrs,
				  stack->addresses[i], i || visit->first_is_caller, &frames);
		if (err)
			return err;
		ret->n[frames.frames[0].func->reason]++;
	}
	if (visit->row->batch->table->id != EBT_T_sample || stack->attrs & EBT_STACK_USER)
		return NULL;
	err = recorder_find(c->sym, visit->task, visit->row->time, stack, &own);
	ret->recorder = own < stack->n;
	return err;
}

/* Short enough for a line of them; those of JSON too. */
const char *info_stop_name(unsigned int stop)
{
	static const char *const names[] = {
		[EBT_STOP_UNKNOWN] = "not known",   [EBT_STOP_ROOT] = "root",
		[EBT_STOP_TRUNCATED] = "truncated", [EBT_STOP_NO_MAPPING] = "no mapping",
		[EBT_STOP_NO_TABLE] = "no table",   [EBT_STOP_NO_ROW] = "no row",
		[EBT_STOP_RULE] = "rule",	    [EBT_STOP_FAULT] = "fault",
		[EBT_STOP_LOOP] = "loop",	    [EBT_STOP_FRAME_POINTER] = "frame pointer",
		[EBT_STOP_BUSY] = "busy",	    [EBT_STOP_EXEC] = "in exec",
	};

	return stop < sizeof(names) / sizeof(*names) ? names[stop] : NULL;
}

const char *info_method_name(unsigned int methods)
{
	static const char *const names[INFO_METHODS] = {
		[0] = "the kernel",
		[EBT_METHOD_TABLE] = "tables",
		[EBT_METHOD_FP] = "frame pointers",
		[EBT_METHOD_TABLE | EBT_METHOD_FP] = "tables and frame pointers",
		[EBT_METHOD_DUMP] = "dumps",
		[EBT_METHOD_DUMP | EBT_METHOD_TABLE] = "tables and dumps",
		[EBT_METHOD_DUMP | EBT_METHOD_FP] = "frame pointers and dumps",
		[EBT_METHOD_DUMP | EBT_METHOD_FP | EBT_METHOD_TABLE] = "all of these",
	};

	return methods < INFO_METHODS ? names[methods] : NULL;
}

static void count_walk(struct info_frames *frames, uint32_t attrs)
{
	unsigned int stop = attrs >> EBT_STACK_STOP_SHIFT & 255;

	if (!(attrs & EBT_STACK_USER))
		return;
	frames->user++;
	frames->interpreted += attrs >> EBT_STACK_METHOD_SHIFT & EBT_METHOD_INTERP ? 1 : 0;
	frames->stops[stop < INFO_STOPS ? stop : INFO_STOPS - 1]++;
	if (stop == EBT_STOP_EXEC) /* one address, and no walk */
		return;
	frames->methods[attrs >> EBT_STACK_METHOD_SHIFT & (INFO_METHODS - 1)]++;
}

static struct ebt_error *count_stack(void *arg, const struct stack_visit *visit)
{
	struct frame_counter *c = arg;
	const struct ebt_stack *stack = &visit->row->batch->stacks[visit->number];
	struct counted *counted;
	struct ebt_error *err;

	err = ebt_array_reserve(&c->stacks, visit->row->batch->n_stacks, &c->capacity);
	if (err)
		return err;
	counted = &c->stacks[visit->number];
	if (!visit->again) {
		err = resolve(c, visit, stack, counted);
		if (err)
			return err;
	}
	c->frames->stacks++;
	c->frames->recorder += counted->recorder;
	count_walk(c->frames, stack->attrs);
	c->frames->truncated += !!(stack->attrs & EBT_STACK_TRUNCATED);
	c->frames->resolved += counted->n[SYM_OK];
	for (int r = SYM_OK + 1; r < SYM_N_REASONS; r++)
		c->frames->unresolved[r] += counted->n[r];
	if (counted->n[SYM_ANONYMOUS] && visit->task)
		add_generated(&c->frames->generated, names_process(c->names, visit->task),
			      counted->n[SYM_ANONYMOUS]);
	return NULL;
}

struct ebt_error *info_count_frames(struct trace *trace, struct info_frames *ret)
{
	struct frame_counter c = { .frames = ret };
	struct ebt_error *err;

	*ret = (struct info_frames){ 0 };
	trace_no_inline(trace);
	err = trace_sym(trace, &c.sym) ?:
	      trace_names(trace, &c.names) ?:
	      stack_iterator_all(trace, 0, count_stack, &c);
	free(c.stacks);
	return err;
}
