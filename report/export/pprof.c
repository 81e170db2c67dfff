/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile for pprof, and for all that reads such: samples, or time off CPU, or rows of a table
 * with stacks, summed by stack and thread. proto/pprof.proto.
 *
 * The name as the linker has it (system_name) is left empty: pprof takes one that equals the name
 * for mangled, and cuts the arguments of templates off.
 */
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/export/message.h"
#include "report/export/profile.h"
#include "report/export/proto/pprof.pb-c.h"
#include "report/trace/prepare.h"
#include "report/trees/table.h"

/* Ids of a location and its function for samples without a stack, which pprof would leave out. */
#define NOWHERE (UINT64_C(1) << 32)
#define NO_WHY	SCHED_N_WHYS

struct sum {
	uint32_t node, thread;
	uint32_t why; /* enum sched_why; NO_WHY: it was on CPU */
	uint64_t count, weight;
};

struct pprof {
	struct export *e;
	struct profile profile;
	struct message_writer *writer;
	struct sum *sums;
	size_t n, capacity;
	struct ebt_map by_key;
	/* What is counted and what is weighed, with its unit; weight NULL: nothing is. */
	const char *count, *weight, *unit;
	uint64_t period; /* in that unit; 0: not known */
	/* Of a message that is written: locations of a stack, lines of a location. */
	uint64_t *ids;
	Pprof__Line *lines, **line;
	size_t ids_capacity, lines_capacity, line_capacity;
	bool nowhere; /* a sample has no stack */
};

/* Numbers of texts that messages have. */
struct pprof_words {
	uint32_t thread, tid, comm, pid, state;
	uint32_t states[SCHED_N_WHYS];
};

/* --- reading --- */

static struct ebt_error *add(struct pprof *p, uint32_t node, const struct ebt_task *task,
			     uint32_t why, uint64_t weight)
{
	struct ebt_error *err;
	uint32_t thread, i;

	/* Nodes and threads have 24 bits. */
	err = export_thread(&p->profile.threads, task, &thread)
		      ?: ebt_map_element(&p->by_key,
					 (uint64_t)why << 48 | (uint64_t)thread << 24 | node,
					 &p->sums, &p->n, &p->capacity, &i);
	if (err)
		return err;
	p->sums[i].node = node;
	p->sums[i].thread = thread;
	p->sums[i].why = why;
	p->sums[i].count++;
	if (__builtin_add_overflow(p->sums[i].weight, weight, &p->sums[i].weight))
		p->sums[i].weight = UINT64_MAX;
	return NULL;
}

static struct ebt_error *take_sample(void *arg, const struct export_sample *sample)
{
	return add(arg, sample->node, sample->task, NO_WHY, sample->ns);
}

static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	return add(arg, node, off->task, off->why, off->end - off->start);
}

static struct ebt_error *take_row(void *arg, const struct calltree_stack *stack, uint32_t node,
				  uint64_t weight)
{
	return add(arg, node, stack->task, NO_WHY, weight);
}

/* As other profilers name them. */
static const char *unit_name(const char *unit)
{
	if (strcmp(unit, "ns") == 0)
		return "nanoseconds";
	return *unit && strcmp(unit, "events") != 0 ? unit : "count";
}

static struct ebt_error *read_table(struct pprof *p, const char *event, const char *weight)
{
	struct tree_feed feed = { .take = take_row, .arg = p };
	struct tree_table what;
	struct ebt_error *err = tree_table_find(p->e->trace, event, weight, &feed.probes, &what)
					?: export_stacks(p->e, what.table->id);

	if (!err) {
		feed.tree = p->e->tree;
		feed.table = feed.probes.title ? feed.probes.title : what.table->name;
		p->count = what.table->name;
		if (what.weight >= 0)
			p->weight = what.table->fields[what.weight].name;
		p->unit = unit_name(tree_table_unit(&what));
		if (what.table->id == EBT_T_kmem_alloc)
			p->count = "alloc_objects";
		if (what.table->id == EBT_T_kmem_alloc && p->weight &&
		    strcmp(p->weight, "bytes") == 0)
			p->weight = "alloc_space";
		err = tree_table_read(p->e->trace, &what, &feed);
	}
	tree_probes_deinit(&feed.probes);
	return err;
}

static struct ebt_error *read_cpu(struct pprof *p)
{
	const char *event;
	uint64_t freq;
	struct ebt_error *err = export_samples(p->e, take_sample, p)
					?: tree_feed_sampling(p->e->trace, &event, &freq);

	p->count = "samples";
	p->weight = "cpu";
	p->period = !err && freq ? 1000000000 / freq : 0;
	return err;
}

static struct ebt_error *read_trace(struct pprof *p)
{
	const char *event = options_string(p->e->report->options, "event");
	const char *weight = options_string(p->e->report->options, "weight");
	const bool cpu = !event || strcmp(event, "cpu") == 0;
	const bool off = event && strcmp(event, "offcpu") == 0;
	const struct export_intervals intervals = { .off = take_off, .arg = p };

	if (!cpu && !off)
		return read_table(p, event, weight);
	if (weight)
		return ebt_error_create(EBT_ERR_INVALID,
					"--weight goes with an --event that is a table");
	p->unit = "nanoseconds";
	if (cpu)
		return read_cpu(p);
	p->count = "intervals";
	p->weight = "offcpu";
	p->period = 1;
	return export_intervals(p->e, &intervals);
}

/* --- writing --- */

/* A part of the profile, which others are written before and behind. */
static void put(struct pprof *p, const Pprof__Profile *part)
{
	message_write(p->writer, &part->base);
}

static struct ebt_error *find_words(struct pprof *p, struct pprof_words *words)
{
	struct profile *profile = &p->profile;
	struct ebt_error *err = profile_cstr(profile, "thread", &words->thread)
					?: profile_cstr(profile, "tid", &words->tid)
					?: profile_cstr(profile, "comm", &words->comm)
					?: profile_cstr(profile, "pid", &words->pid)
					?: profile_cstr(profile, "state", &words->state);

	for (int why = 0; !err && why < SCHED_N_WHYS; why++)
		err = profile_cstr(profile, sched_why_name((enum sched_why)why),
				   &words->states[why]);
	return err;
}

#define MOST_LABELS 5

static struct ebt_error *label_sample(struct pprof *p, const struct sum *sum,
				      const struct pprof_words *words, Pprof__Label *labels,
				      size_t *ret_n)
{
	struct profile *profile = &p->profile;
	const struct ebt_task *task = profile->threads.list[sum->thread];
	uint32_t name, comm = 0;
	struct ebt_error *err = profile_text(profile, profile_thread_name(profile, task), &name);
	size_t n = 0;

	if (!err && task)
		err = profile_text(profile, text_comm(names_process(p->e->names, task)), &comm);
	if (err)
		return err;
	for (int i = 0; i < MOST_LABELS; i++)
		pprof__label__init(&labels[i]);
	labels[n].key = words->thread;
	labels[n++].str = name;
	if (sum->why != NO_WHY) {
		labels[n].key = words->state;
		labels[n++].str = words->states[sum->why];
	}
	if (task) {
		labels[n].key = words->tid;
		labels[n++].num = task->tid;
		labels[n].key = words->pid;
		labels[n++].num = task->pid;
		labels[n].key = words->comm;
		labels[n++].str = comm;
	}
	*ret_n = n;
	return NULL;
}

static struct ebt_error *put_sample(struct pprof *p, const struct sum *sum,
				    const struct pprof_words *words)
{
	Pprof__Label labels[MOST_LABELS], *label[MOST_LABELS];
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples = &sample;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t values[] = { profile_value(sum->count), profile_value(sum->weight) };
	const uint32_t *stack;
	struct ebt_error *err =
		profile_stack(&p->profile, sum->node, &stack, &sample.n_location_id)
			?: ebt_array_reserve(&p->ids, sample.n_location_id, &p->ids_capacity)
			?: label_sample(p, sum, words, labels, &sample.n_label);

	if (err)
		return err;
	for (size_t i = 0; i < sample.n_location_id; i++)
		p->ids[i] = stack[i];
	if (!sample.n_location_id) {
		p->ids[sample.n_location_id++] = NOWHERE;
		p->nowhere = true;
	}
	for (int i = 0; i < MOST_LABELS; i++)
		label[i] = &labels[i];
	sample.location_id = p->ids;
	sample.value = values;
	sample.n_value = p->weight ? 2 : 1;
	sample.label = label;
	part.sample = &samples;
	part.n_sample = 1;
	put(p, &part);
	return NULL;
}

/* The first one is that of a program, for which pprof takes it. */
static struct ebt_error *put_mappings(struct pprof *p, bool programs)
{
	struct ebt_error *err = NULL;

	for (size_t i = 1; !err && i < p->profile.n_mappings; i++) {
		const struct profile_mapping *mapping = &p->profile.mappings[i];
		Pprof__Mapping message = PPROF__MAPPING__INIT, *messages = &message;
		Pprof__Profile part = PPROF__PROFILE__INIT;
		uint32_t name, build_id;

		if (mapping->program != programs)
			continue;
		err = profile_cstr(&p->profile, mapping->sym->object, &name)
			      ?: profile_cstr(&p->profile, mapping->sym->build_id, &build_id);
		if (err)
			break;
		message.id = i;
		message.memory_start = mapping->start;
		message.memory_limit = mapping->limit;
		message.filename = name;
		message.build_id = build_id;
		message.has_functions = mapping->functions;
		message.has_filenames = mapping->files;
		message.has_line_numbers = message.has_inline_frames = mapping->lines;
		part.mapping = &messages;
		part.n_mapping = 1;
		put(p, &part);
	}
	return err;
}

static struct ebt_error *put_location(struct pprof *p, const struct profile_location *location)
{
	uint32_t n_funcs;
	const struct calltree_func *funcs = calltree_funcs(p->e->tree, &n_funcs);
	Pprof__Location message = PPROF__LOCATION__INIT, *messages = &message;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	const uint32_t *chain;
	struct ebt_error *err = profile_lines(&p->profile, location, &chain, &message.n_line)
					?: ebt_array_reserve(&p->lines, message.n_line,
							     &p->lines_capacity)
					?: ebt_array_reserve(&p->line, message.n_line,
							     &p->line_capacity);

	if (err)
		return err;
	for (size_t i = 0; i < message.n_line; i++) {
		const struct profile_location *at = &p->profile.locations[chain[i]];

		pprof__line__init(&p->lines[i]);
		p->lines[i].function_id = at->function;
		p->lines[i].line = funcs[at->func].line;
		p->line[i] = &p->lines[i];
	}
	message.id = location->number;
	message.mapping_id = location->mapping;
	message.address = profile_address(&p->profile, location);
	message.line = p->line;
	part.location = &messages;
	part.n_location = 1;
	put(p, &part);
	return NULL;
}

static struct ebt_error *put_nowhere(struct pprof *p)
{
	Pprof__Function function = PPROF__FUNCTION__INIT, *functions = &function;
	Pprof__Location location = PPROF__LOCATION__INIT, *locations = &location;
	Pprof__Line line = PPROF__LINE__INIT, *lines = &line;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	uint32_t name;
	struct ebt_error *err = profile_cstr(&p->profile, CALLTREE_NO_FRAMES, &name);

	if (err || !p->nowhere)
		return err;
	location.id = function.id = line.function_id = NOWHERE;
	location.line = &lines;
	function.name = name;
	part.function = &functions;
	part.location = &locations;
	location.n_line = part.n_function = part.n_location = 1;
	put(p, &part);
	return NULL;
}

static void put_functions(struct pprof *p)
{
	for (size_t i = 1; i < p->profile.n_functions; i++) {
		Pprof__Function message = PPROF__FUNCTION__INIT, *messages = &message;
		Pprof__Profile part = PPROF__PROFILE__INIT;

		message.id = i;
		message.name = p->profile.functions[i].name;
		message.filename = p->profile.functions[i].file;
		part.function = &messages;
		part.n_function = 1;
		put(p, &part);
	}
}

static void put_texts(struct pprof *p)
{
	for (size_t i = 0; i < p->profile.texts.n; i++) {
		char *text = (char *)profile_get_text(&p->profile, (uint32_t)i);
		Pprof__Profile part = PPROF__PROFILE__INIT;

		part.string_table = &text;
		part.n_string_table = 1;
		put(p, &part);
	}
}

/* What the values are, and when. */
static struct ebt_error *put_head(struct pprof *p)
{
	Pprof__ValueType types[] = { PPROF__VALUE_TYPE__INIT, PPROF__VALUE_TYPE__INIT };
	Pprof__ValueType *type[] = { &types[0], &types[1] };
	Pprof__Profile part = PPROF__PROFILE__INIT;
	struct profile *profile = &p->profile;
	uint32_t name, unit, count, weight = 0, program;
	int64_t comment;
	struct ebt_error *err = profile_cstr(profile, p->count, &name)
					?: profile_cstr(profile, "count", &count)
					?: profile_cstr(profile, p->unit, &unit)
					?: profile_cstr(profile, "ebreport " EBT_VERSION, &program);

	if (!err && p->weight)
		err = profile_cstr(profile, p->weight, &weight);
	if (err)
		return err;
	comment = program;
	types[0].type = name;
	types[0].unit = count;
	types[1].type = weight;
	types[1].unit = unit;
	part.sample_type = type;
	part.n_sample_type = p->weight ? 2 : 1;
	part.default_sample_type = p->weight ? weight : name;
	part.time_nanos = profile_value(profile_realtime(profile, trace_from_ns(p->e->trace)));
	part.duration_nanos = profile_value(trace_window_ns(p->e->trace));
	if (p->period) {
		part.period_type = &types[1];
		part.period = profile_value(p->period);
	}
	part.comment = &comment;
	part.n_comment = 1;
	put(p, &part);
	return NULL;
}

static struct ebt_error *put_profile(struct pprof *p)
{
	struct pprof_words words;
	struct ebt_error *err = put_head(p) ?: find_words(p, &words);

	for (size_t i = 0; !err && i < p->n; i++)
		err = put_sample(p, &p->sums[i], &words);
	if (err)
		return err;
	profile_finish(&p->profile);
	err = put_mappings(p, true) ?: put_mappings(p, false);
	for (size_t i = 1; !err && i < p->profile.n_used; i++)
		err = put_location(p, &p->profile.locations[p->profile.used[i]]);
	err = err ?: put_nowhere(p);
	if (err)
		return err;
	put_functions(p);
	put_texts(p);
	message_writer_finish(p->writer);
	return NULL;
}

struct ebt_error *export_pprof(struct export *e)
{
	/* All that --event can choose. */
	static const uint16_t held[] = { EXPORT_SAMPLE_TABLES,
					 EXPORT_INTERVAL_TABLES,
					 EBT_T_fault,
					 EBT_T_kmem_alloc,
					 EBT_T_futex_wait,
					 EBT_T_probe_hit,
					 0 };
	struct pprof p = { .e = e };
	struct ebt_error *err = message_writer_create(e->f, true, &p.writer)
					?: profile_init(&p.profile, e) ?: read_trace(&p)
					?: put_profile(&p);

	export_holds(e, held);
	message_writer_destroy(p.writer);
	profile_deinit(&p.profile);
	ebt_map_deinit(&p.by_key);
	free(p.sums);
	free(p.ids);
	free(p.lines);
	free(p.line);
	return err;
}
