/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples, and stacks of all events: a stack is interned where it is met first, as are its frames,
 * their names and files, which have the numbers of the tree and of the texts; see perfetto.h.
 */
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/export/perfetto.h"

static void put_interned(struct perfetto *p, Perfetto__InternedData *data)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.interned_data = data;
	perfetto_put(p, &packet);
}

/* --- texts --- */

/* A table has one entry more. */
static void put_text(struct perfetto *p, enum perfetto_table table, uint64_t iid, struct ebt_str s)
{
	Perfetto__InternedString string = PERFETTO__INTERNED_STRING__INIT, *list = &string;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	const struct {
		enum perfetto_table table;
		size_t *n;
		Perfetto__InternedString ***list;
	} tables[] = {
		{ PERFETTO_FUNCTION_NAMES, &data.n_function_names, &data.function_names },
		{ PERFETTO_BUILD_IDS, &data.n_build_ids, &data.build_ids },
		{ PERFETTO_MAPPING_PATHS, &data.n_mapping_paths, &data.mapping_paths },
		{ PERFETTO_SOURCE_PATHS, &data.n_source_paths, &data.source_paths },
		{ PERFETTO_CATEGORIES, &data.n_event_categories, &data.event_categories },
		{ PERFETTO_EVENT_NAMES, &data.n_event_names, &data.event_names },
		{ PERFETTO_NOTE_NAMES, &data.n_debug_annotation_names,
		  &data.debug_annotation_names },
	};
	size_t i = 0;

	while (tables[i].table != table)
		i++;
	*tables[i].n = 1;
	*tables[i].list = &list;
	PERFETTO_SET(&string, iid, iid);
	string.has_str = true;
	string.str = (ProtobufCBinaryData){ s.len, (uint8_t *)(void *)s.data };
	put_interned(p, &data);
}

struct ebt_error *perfetto_intern(struct perfetto *p, enum perfetto_table table, struct ebt_str s,
				  uint64_t *ret)
{
	struct ebt_error *err;
	uint32_t number;

	*ret = 0;
	err = interned_add(&p->texts, s, &number);
	if (!err && number == INTERNED_NONE) {
		export_leave_out(p->e, "names of functions and files", 1);
		return NULL;
	}
	err = err ?: ebt_array_reserve_zeroed(&p->has_text, number, &p->n_has_text);
	if (err)
		return err;
	*ret = number + UINT64_C(1);
	if (!(p->has_text[number] & table))
		put_text(p, table, *ret, s);
	p->has_text[number] |= table;
	return NULL;
}

static struct ebt_error *intern_text(struct perfetto *p, enum perfetto_table table, const char *s,
				     uint64_t *ret)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_utf8(&text, ebt_str_of(s));
	return text_error(&text) ?: perfetto_intern(p, table, text_str(&text), ret);
}

/* Digits to bytes; what is none ends them. */
static struct ebt_error *intern_build_id(struct perfetto *p, const char *digits, uint64_t *ret)
{
	_cleanup_text_ struct text bytes = TEXT_INIT;
	unsigned int byte;

	*ret = 0;
	while (sscanf(digits, "%2x", &byte) == 1 && digits[1]) {
		text_addc(&bytes, (char)byte);
		digits += 2;
	}
	if (text_error(&bytes) || !bytes.len)
		return text_error(&bytes);
	return perfetto_intern(p, PERFETTO_BUILD_IDS, text_str(&bytes), ret);
}

/* --- frames --- */

/* Old readers want a file for each frame. */
static const char *path_of(const struct calltree_func *func)
{
	if (*func->object)
		return func->object;
	if (func->kind == CALLTREE_PYTHON)
		return "[python]";
	return func->kind == CALLTREE_JIT ? "[jit]" : "[unknown]";
}

static struct ebt_error *intern_mapping(struct perfetto *p, const struct calltree_func *func,
					uint64_t *ret)
{
	Perfetto__Mapping mapping = PERFETTO__MAPPING__INIT, *list = &mapping;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	uint64_t path, build_id = 0;
	struct ebt_error *err = intern_text(p, PERFETTO_MAPPING_PATHS, path_of(func), &path);
	uint32_t i;

	if (!err && func->sym)
		err = intern_build_id(p, func->sym->build_id, &build_id);
	err = err ?: ebt_map_add(&p->by_object, path << 32 | build_id, p->n_objects, &i);
	if (err)
		return err;
	*ret = i + UINT64_C(1);
	if (i < p->n_objects)
		return NULL;
	p->n_objects++;
	PERFETTO_SET(&mapping, iid, *ret);
	if (build_id)
		PERFETTO_SET(&mapping, build_id, build_id);
	if (path) {
		mapping.path_string_ids = &path;
		mapping.n_path_string_ids = 1;
	}
	data.mappings = &list;
	data.n_mappings = 1;
	put_interned(p, &data);
	return NULL;
}

static Perfetto__Frame__Kind kind_of(const struct calltree_func *func)
{
	switch (func->sym ? func->sym->kind : SYM_UNKNOWN) {
	case SYM_KERNEL:
	case SYM_MODULE:
		return PERFETTO__FRAME__KIND__KIND_KERNEL;
	case SYM_USER:
	case SYM_VDSO:
		return PERFETTO__FRAME__KIND__KIND_NATIVE;
	case SYM_JIT:
		return PERFETTO__FRAME__KIND__KIND_JIT;
	case SYM_PYTHON:
		return PERFETTO__FRAME__KIND__KIND_INTERPRETED;
	case SYM_UNKNOWN:
		break;
	}
	return PERFETTO__FRAME__KIND__KIND_UNKNOWN;
}

/* What is inlined has the file and address of what it is inlined into. */
static struct ebt_error *intern_frame(struct perfetto *p, uint32_t number)
{
	Perfetto__Frame frame = PERFETTO__FRAME__INIT, *list = &frame;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	const struct calltree_func *func;
	struct ebt_error *err = ebt_array_reserve_zeroed(&p->has_func, number, &p->n_has_func);
	uint32_t n;

	if (err || p->has_func[number])
		return err;
	func = &calltree_funcs(p->e->tree, &n)[number];
	err = intern_text(p, PERFETTO_FUNCTION_NAMES, func->name, &frame.function_name_id)
		      ?: intern_mapping(p, func, &frame.mapping_id);
	if (!err && func->file)
		err = intern_text(p, PERFETTO_SOURCE_PATHS, func->file, &frame.source_path_iid);
	if (err)
		return err;
	PERFETTO_SET(&frame, iid, number + UINT64_C(1));
	PERFETTO_SET(&frame, rel_pc, func->address);
	PERFETTO_SET(&frame, kind, kind_of(func));
	frame.has_function_name_id = frame.function_name_id;
	frame.has_mapping_id = true;
	frame.has_source_path_iid = frame.source_path_iid;
	if (func->line)
		PERFETTO_SET(&frame, line_number, func->line);
	data.frames = &list;
	data.n_frames = 1;
	put_interned(p, &data);
	p->has_func[number] = 1;
	return NULL;
}

struct ebt_error *perfetto_stack(struct perfetto *p, uint32_t node)
{
	Perfetto__Callstack stack = PERFETTO__CALLSTACK__INIT, *list = &stack;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	const struct calltree_node *nodes;
	struct ebt_error *err = ebt_array_reserve_zeroed(&p->has_node, node, &p->n_has_node);
	size_t depth = 0, n = 0;
	uint32_t n_nodes;

	if (err || !node || p->has_node[node])
		return err;
	nodes = calltree_nodes(p->e->tree, &n_nodes);
	for (uint32_t at = node; at; at = nodes[at].parent)
		depth++;
	err = ebt_array_reserve(&p->path, depth, &p->path_capacity);
	for (uint32_t at = node; !err && at; at = nodes[at].parent) {
		p->path[depth - ++n] = nodes[at].func + UINT64_C(1);
		err = intern_frame(p, nodes[at].func);
	}
	if (err)
		return err;
	PERFETTO_SET(&stack, iid, node);
	stack.frame_ids = p->path;
	stack.n_frame_ids = depth;
	data.callstacks = &list;
	data.n_callstacks = 1;
	put_interned(p, &data);
	p->has_node[node] = 1;
	return NULL;
}

void perfetto_stacks_deinit(struct perfetto *p)
{
	interned_deinit(&p->texts);
	free(p->has_node);
	free(p->has_func);
	free(p->has_text);
	free(p->path);
	ebt_map_deinit(&p->by_object);
}

/* --- samples --- */

struct sample_writer {
	struct perfetto *p;
	uint64_t counts[PERFETTO_MOST_CPUS]; /* ns so far */
};

static struct ebt_error *take_sample(void *arg, const struct export_sample *sample)
{
	Perfetto__PerfSample message = PERFETTO__PERF_SAMPLE__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	struct sample_writer *w = arg;
	struct perfetto *p = w->p;
	struct ebt_error *err;
	uint32_t i;

	if (sample->cpu >= PERFETTO_MOST_CPUS) {
		export_leave_out(p->e, "samples of CPUs from 1024 on", 1);
		return NULL;
	}
	PERFETTO_SET(&message, pid, 0);
	PERFETTO_SET(&message, tid, 0);
	if (sample->task) {
		err = perfetto_thread(p, sample->task, &i);
		if (err)
			return err;
		message.pid = p->processes[p->threads[i].process].pid;
		message.tid = p->threads[i].tid;
	}
	err = perfetto_stack(p, sample->node);
	if (err)
		return err;
	if (__builtin_add_overflow(w->counts[sample->cpu], sample->ns, &w->counts[sample->cpu]))
		w->counts[sample->cpu] = UINT64_MAX;
	PERFETTO_SET(&message, cpu, sample->cpu);
	PERFETTO_SET(&message, timebase_count, w->counts[sample->cpu]);
	PERFETTO_SET(&message, cpu_mode,
		     ebt_sample_user(sample->row) ? PERFETTO__PERF_SAMPLE__CPU_MODE__MODE_USER
						  : PERFETTO__PERF_SAMPLE__CPU_MODE__MODE_KERNEL);
	if (sample->node)
		PERFETTO_SET(&message, callstack_iid, sample->node);
	PERFETTO_SET(&packet, timestamp, perfetto_time(p, sample->time));
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_PERF_SAMPLE;
	packet.perf_sample = &message;
	perfetto_put(p, &packet);
	return NULL;
}

struct ebt_error *perfetto_put_samples(struct perfetto *p)
{
	struct sample_writer w = { .p = p };

	return export_samples(p->e, take_sample, &w);
}
