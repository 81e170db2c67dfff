/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file format of speedscope: for each thread a profile of its samples and one of its time off
 * the CPUs, before these one of all samples.
 * https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources
 *
 * speedscope lays samples end to end, so that a stack of no frames stands where a thread has none.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/base/json.h"
#include "report/base/text.h"
#include "report/export/export.h"
#include "report/export/spool.h"
#include "report/export/threads.h"
#include "report/trace/trace.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* Keys of the spool: all samples, and then two of each thread. */
#define OF_ALL	   0
#define ON_CPU(i)  (1 + 2 * (i))
#define OFF_CPU(i) (2 + 2 * (i))

struct stretch {
	uint64_t end, ns; /* that it lasted, until then */
	uint32_t node;
	uint32_t why; /* enum sched_why, of time off CPU */
};

struct speedscope {
	struct export *e;
	struct json json;
	struct spool *spool;
	struct export_threads threads;
	/* Frames: of each func of the tree 1 + the number of its frame, and in their order. */
	uint32_t *frame_of;
	uint32_t n_frames;
	uint32_t no_frames; /* the frame of samples that have none */
	uint32_t first_why; /* frame of enum sched_why 0 */
	uint32_t *path;	    /* of a stack, innermost first */
	size_t path_capacity;
	bool off; /* the profile at hand is of time off CPU */
	uint64_t at;
	bool weights; /* they are written now, and not the stacks */
};

/* --- reading --- */

static struct ebt_error *take_sample(void *arg, const struct export_sample *sample)
{
	const struct stretch stretch = { .end = sample->time,
					 .ns = sample->ns,
					 .node = sample->node };
	struct speedscope *s = arg;
	uint32_t thread;

	return export_thread(&s->threads, sample->task, &thread)
		       ?: spool_add(s->spool, OF_ALL, &stretch)
		       ?: spool_add(s->spool, ON_CPU(thread), &stretch);
}

static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	const struct stretch stretch = {
		.end = off->end,
		.ns = off->end - off->start,
		.node = node,
		.why = off->why,
	};
	struct speedscope *s = arg;
	uint32_t thread;

	return export_thread(&s->threads, off->task, &thread)
		       ?: spool_add(s->spool, OFF_CPU(thread), &stretch);
}

/* --- frames --- */

static void put_frame(struct json *json, const char *name, const char *file)
{
	json_newline(json);
	json_open_object(json);
	json_put(json, "name", cstr, name);
	if (file && *file)
		json_put(json, "file", cstr, file);
	json_end(json);
}

/* A function is one frame, wherever it was. */
static struct ebt_error *put_frames(struct speedscope *s)
{
	_cleanup_(ebt_map_deinit) struct ebt_map by_sym = { 0 };
	uint32_t n;
	const struct calltree_func *funcs = calltree_funcs(s->e->tree, &n);
	struct ebt_error *err = NULL;

	s->frame_of = calloc(n + 1u, sizeof(*s->frame_of));
	if (!s->frame_of)
		return &ebt_enomem;
	for (uint32_t i = 0; !err && i < n; i++) {
		const struct calltree_func *func = &funcs[i];

		s->frame_of[i] = s->n_frames;
		if (func->sym)
			err = ebt_map_add(&by_sym, func->sym->id, s->n_frames, &s->frame_of[i]);
		if (err || s->frame_of[i] < s->n_frames)
			continue;
		put_frame(&s->json, func->name, func->file ? func->file : func->object);
		s->n_frames++;
	}
	s->no_frames = s->n_frames;
	put_frame(&s->json, CALLTREE_NO_FRAMES, NULL);
	s->first_why = s->n_frames + 1;
	for (int why = 0; why < SCHED_N_WHYS; why++) {
		_cleanup_text_ struct text name = TEXT_INIT;

		text_printf(&name, "[off CPU: %s]", sched_why_name((enum sched_why)why));
		put_frame(&s->json, text_get(&name), NULL);
		err = err ?: text_error(&name);
	}
	return err;
}

static struct ebt_error *put_stack(struct speedscope *s, const struct stretch *stretch)
{
	uint32_t n_nodes;
	const struct calltree_node *nodes = calltree_nodes(s->e->tree, &n_nodes);
	struct json *json = &s->json;
	struct ebt_error *err = NULL;
	size_t n = 0;

	for (uint32_t node = stretch->node; !err && node; node = nodes[node].parent) {
		err = ebt_array_reserve(&s->path, n, &s->path_capacity);
		if (!err)
			s->path[n++] = s->frame_of[nodes[node].func];
	}
	json_open_array(json);
	while (!err && n)
		json_u64(json, s->path[--n]);
	if (s->off)
		json_u64(json, s->first_why + stretch->why);
	else if (!stretch->node)
		json_u64(json, s->no_frames);
	json_end(json);
	return err;
}

/* --- profiles --- */

/* Time passes for a thread as it does; samples of all of them stand end to end. */
static struct ebt_error *put_stretch(void *arg, const void *record)
{
	const struct stretch *stretch = record;
	struct speedscope *s = arg;
	const uint64_t start = stretch->end > stretch->ns ? stretch->end - stretch->ns : 0;
	const uint64_t gap = start > s->at ? start - s->at : 0;

	if (gap && s->weights) {
		json_u64(&s->json, gap);
	} else if (gap) {
		json_open_array(&s->json);
		json_end(&s->json);
	}
	s->at += gap + stretch->ns;
	if (!s->weights)
		return put_stack(s, stretch);
	json_u64(&s->json, stretch->ns);
	return NULL;
}

static struct ebt_error *put_array(struct speedscope *s, uint32_t key, bool weights)
{
	struct ebt_error *err;

	s->weights = weights;
	s->at = key == OF_ALL ? UINT64_MAX / 2 : trace_from_ns(s->e->trace);
	json_newline(&s->json);
	json_put(&s->json, weights ? "weights" : "samples", open_array);
	err = spool_each(s->spool, key, put_stretch, s);
	json_end(&s->json);
	return err;
}

static struct ebt_error *sum_up(void *arg, const void *record)
{
	const struct stretch *stretch = record;
	uint64_t *sum = arg;

	*sum += stretch->ns;
	return NULL;
}

/* Times are those since the recording began. */
static struct ebt_error *put_profile(struct speedscope *s, uint32_t key, struct ebt_str name)
{
	const uint64_t from = key == OF_ALL ? 0 : trace_from_ns(s->e->trace) - s->e->start_ns;
	struct json *json = &s->json;
	uint64_t all = 0;
	struct ebt_error *err;

	json_newline(json);
	json_open_object(json);
	json_put(json, "type", cstr, "sampled");
	json_put(json, "name", str, name.data, name.len);
	json_put(json, "unit", cstr, "nanoseconds");
	json_put(json, "startValue", u64, from);
	err = put_array(s, key, false) ?: put_array(s, key, true);
	if (key == OF_ALL)
		err = err ?: spool_each(s->spool, key, sum_up, &all);
	json_put(json, "endValue", u64,
		 key == OF_ALL ? all : s->at - trace_from_ns(s->e->trace) + from);
	json_end(json);
	return err;
}

static struct ebt_error *put_thread(struct speedscope *s, uint32_t thread, bool off)
{
	const struct ebt_task *task = s->threads.list[thread];
	const uint32_t key = off ? OFF_CPU(thread) : ON_CPU(thread);
	_cleanup_text_ struct text name = TEXT_INIT;

	if (!spool_count(s->spool, key))
		return NULL;
	if (task) {
		const struct ebt_str comm = names_task(s->e->names, task);

		text_add(&name, comm.data, comm.len);
		text_printf(&name, " (%" PRIu32 "/%" PRIu32 ")", task->pid, task->tid);
	} else {
		text_cstr(&name, "idle");
	}
	text_cstr(&name, off ? ", off CPU" : "");
	s->off = off;
	return text_error(&name) ?: put_profile(s, key, text_str(&name));
}

static struct ebt_error *put_profiles(struct speedscope *s)
{
	struct ebt_error *err = NULL;

	if (spool_count(s->spool, OF_ALL))
		err = put_profile(s, OF_ALL, (struct ebt_str){ "all threads", 11 });
	for (uint32_t i = 0; !err && i < s->threads.n; i++)
		err = put_thread(s, i, false) ?: put_thread(s, i, true);
	return err;
}

static struct ebt_error *put_file(struct speedscope *s)
{
	struct json *json = &s->json;
	struct ebt_error *err;

	json_init(json, s->e->f);
	json_open_object(json);
	json_put(json, "$schema", cstr, SCHEMA);
	json_put(json, "exporter", cstr, "ebreport " EBT_VERSION);
	json_put(json, "name", cstr, ebt_reader_info(trace_reader(s->e->trace))->path);
	json_put(json, "shared", open_object);
	json_put(json, "frames", open_array);
	err = put_frames(s);
	json_end(json);
	json_end(json);
	json_put(json, "profiles", open_array);
	err = err ?: put_profiles(s);
	json_end(json);
	json_end(json);
	fputc('\n', s->e->f);
	return err;
}

struct ebt_error *export_speedscope(struct export *e)
{
	static const uint16_t held[] = { EXPORT_SAMPLE_TABLES, EXPORT_INTERVAL_TABLES, 0 };
	struct speedscope s = { .e = e };
	const struct export_intervals intervals = { .off = take_off, .arg = &s };
	struct ebt_error *err = spool_create(sizeof(struct stretch), &s.spool);

	err = err ?: export_samples(e, take_sample, &s) ?: export_intervals(e, &intervals)
		  ?: put_file(&s);
	export_holds(e, held);
	spool_destroy(s.spool);
	export_threads_deinit(&s.threads);
	free(s.frame_of);
	free(s.path);
	return err;
}
