/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slow requests and fast ones; see requests.h. */
#include "report/why/requests.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/base/text.h"
#include "report/why/samples.h"

/* A span of the mark. */
struct request {
	uint64_t start, end;
	const struct ebt_task *task;
};

/* What threads of a name did on CPUs, in spans of one speed. */
struct ran {
	struct ebt_str comm;
	uint64_t ns, samples;
};

/* Samples of it in one function. */
struct ran_at {
	uint32_t ran, func;
	uint64_t samples;
};

struct requests_reading {
	struct trace *trace;
	const struct names *names;
	struct why_requests *ret;
	struct request *list;
	size_t n, capacity;
	struct why_samples *samples; /* by task id */
	struct ebt_map by_part;
	struct ran *rans;
	size_t n_rans, rans_capacity;
	struct ran_at *places;
	size_t n_places, places_capacity;
	struct ebt_map by_ran, by_place;
};

/* --- spans --- */

static struct ebt_error *read_marks(struct requests_reading *r, const char *name)
{
	const struct marks_options options = { .name = name };
	_cleanup_(marks_destroyp) struct marks *marks = NULL;
	struct ebt_error *err = marks_create(r->trace, &options, &marks);

	for (size_t i = 0; !err && i < marks_n(marks); i++) {
		const struct mark *mark = marks_at(marks, i);

		if (mark->kind != MARK_SPAN || !mark->task)
			continue;
		if (mark->open) {
			r->ret->open++;
			continue;
		}
		err = ebt_array_reserve(&r->list, r->n, &r->capacity);
		if (!err)
			r->list[r->n++] = (struct request){ mark->start, mark->end, mark->task };
	}
	if (err || !r->n)
		return err ? err : why_no_span("--request", name);
	return !r->ret->open ? NULL
			     : trace_warn(r->trace,
					  "%" PRIu64 " %s of these marks %s no begin or no end in "
					  "the trace, and %s not count",
					  r->ret->open, text_plural(r->ret->open, "span", "spans"),
					  text_plural(r->ret->open, "has", "have"),
					  text_plural(r->ret->open, "does", "do"));
}

static int compare_requests(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	return ebt_compare(x->end - x->start, y->end - y->start) ?: ebt_compare(x->start, y->start);
}

/* The least that so many percent do not exceed. */
static uint64_t at_percent(const struct requests_reading *r, unsigned int percent)
{
	const size_t i = (r->n * percent + 99) / 100;
	const struct request *request = &r->list[i ? i - 1 : 0];

	return request->end - request->start;
}

static void rank(struct requests_reading *r)
{
	const struct request *longest;

	qsort(r->list, r->n, sizeof(*r->list), compare_requests);
	longest = &r->list[r->n - 1];
	r->ret->n = r->n;
	r->ret->p50_ns = at_percent(r, 50);
	r->ret->p90_ns = at_percent(r, 90);
	r->ret->p99_ns = at_percent(r, 99);
	r->ret->max_ns = longest->end - longest->start;
	r->ret->max_at = longest->start;
}

/* --- parts --- */

static bool same_part(const struct why_part *a, const struct why_part *b)
{
	return a->kind == b->kind && a->what == b->what && a->func == b->func &&
	       a->object == b->object && ebt_str_equal(a->comm, b->comm);
}

static struct ebt_error *add_part(struct requests_reading *r, const struct why_part *part,
				  enum why_speed speed, uint64_t ns)
{
	struct why_requests *ret = r->ret;
	const uint64_t key =
		ebt_hash_bytes(ebt_hash_u64(ebt_hash_u64((uint64_t)part->kind << 8 | part->what,
							 part->func),
					    part->object),
			       part->comm.data, part->comm.len);
	uint32_t at = ebt_map_search(&r->by_part, key, i, same_part(&ret->parts[i], part));
	struct ebt_error *err;

	if (at == EBT_MAP_NONE) {
		at = (uint32_t)ret->n_parts;
		err = ebt_array_reserve(&ret->parts, ret->n_parts, &ret->capacity)
			      ?: ebt_map_insert(&r->by_part, key, at);
		if (err)
			return err;
		ret->parts[ret->n_parts++] = *part;
	}
	ret->parts[at].ns[speed] += ns;
	return NULL;
}

static struct ebt_error *find_ran(struct requests_reading *r, uint32_t task, enum why_speed speed,
				  uint32_t *ret)
{
	const struct ebt_str comm = why_thread_name(r->ret->graph, r->names, task);
	const uint64_t key = ebt_hash_bytes(speed, comm.data, comm.len);
	struct ebt_error *err;

	*ret = ebt_map_search(&r->by_ran, key, i,
			      i % WHY_N_SPEEDS == speed && ebt_str_equal(r->rans[i].comm, comm));
	if (*ret != EBT_MAP_NONE)
		return NULL;
	/* One for each speed. */
	err = ebt_array_reserve(&r->rans, r->n_rans + WHY_N_SPEEDS, &r->rans_capacity);
	if (err)
		return err;
	for (uint32_t i = 0; !err && i < WHY_N_SPEEDS; i++) {
		r->rans[r->n_rans] = (struct ran){ .comm = comm };
		err = ebt_map_insert(&r->by_ran, ebt_hash_bytes(i, comm.data, comm.len),
				     (uint32_t)r->n_rans);
		*ret = i == speed ? (uint32_t)r->n_rans : *ret;
		r->n_rans++;
	}
	return err;
}

static struct ebt_error *add_run(struct requests_reading *r, const struct why_segment *segment,
				 enum why_speed speed)
{
	const struct why_samples *samples = &r->samples[segment->task];
	const struct calltree *tree = why_graph_tree(r->ret->graph);
	uint32_t ran, place;
	struct ebt_error *err = find_ran(r, segment->task, speed, &ran);

	if (err)
		return err;
	r->rans[ran].ns += why_segment_ns(segment);
	for (size_t i = why_samples_from(samples, segment->from);
	     !err && i < samples->n && samples->list[i].time < why_segment_to(segment); i++) {
		const uint32_t func = why_func(tree, samples->list[i].node);

		err = ebt_map_element(&r->by_place, (uint64_t)ran << 32 | func, &r->places,
				      &r->n_places, &r->places_capacity, &place);
		if (err)
			break;
		r->places[place].ran = ran;
		r->places[place].func = func;
		r->places[place].samples++;
		r->rans[ran].samples++;
	}
	return err;
}

static struct ebt_error *add_segment(struct requests_reading *r, const struct why_segment *segment,
				     enum why_speed speed)
{
	const struct why_cause cause = why_cause_of(r->ret->graph, segment);
	const struct why_part part = {
		.comm = why_thread_name(r->ret->graph, r->names, segment->task),
		.kind = cause.kind,
		.what = cause.what,
		.func = cause.func,
		.object = cause.object,
	};

	return cause.kind == WHY_CPU ? add_run(r, segment, speed)
				     : add_part(r, &part, speed, cause.ns);
}

static struct ebt_error *add_request(struct requests_reading *r, const struct request *request,
				     enum why_speed speed)
{
	const struct why_part unseen = { .comm = names_task(r->names, request->task),
					 .kind = WHY_UNKNOWN,
					 .what = WHY_GAP_BEFORE,
					 .func = WHY_NO_FUNC };
	struct why_path path;
	uint64_t from, to;
	struct ebt_error *err;

	why_graph_bounds(r->ret->graph, &from, &to);
	from = request->start > from ? request->start : from;
	to = request->end < to ? request->end : to;
	r->ret->count[speed]++;
	r->ret->ns[speed] += request->end - request->start;
	if (from >= to)
		return NULL;
	err = why_path_find(r->ret->graph, request->task->id, from, to, &path);
	if (err)
		return err;
	if (!path.n)
		err = add_part(r, &unseen, speed, to - from);
	for (size_t i = 0; !err && i < path.n; i++)
		err = add_segment(r, &path.segments[i], speed);
	why_path_deinit(&path);
	return err;
}

/* They stand in order of their durations. */
static struct ebt_error *add_requests(struct requests_reading *r)
{
	const size_t slow = (r->n * 90 + 99) / 100;
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < r->n; i++) {
		if (i >= slow || i + 1 == r->n)
			err = add_request(r, &r->list[i], WHY_SLOW);
		else if (i < (r->n + 1) / 2)
			err = add_request(r, &r->list[i], WHY_FAST);
	}
	return err;
}

/* By samples, so that all shares of a name are its time. */
static struct ebt_error *share_out(struct requests_reading *r)
{
	_cleanup_free_ uint64_t *shared = calloc(r->n_rans + 1, sizeof(*shared));
	struct why_part part = { .kind = WHY_CPU, .func = WHY_NO_FUNC };
	struct ebt_error *err = NULL;

	if (!shared)
		return &ebt_enomem;
	for (size_t i = 0; !err && i < r->n_places; i++) {
		const struct ran_at *place = &r->places[i];
		const struct ran *ran = &r->rans[place->ran];
		const unsigned __int128 ns = ran->ns;
		const uint64_t then = shared[place->ran] + place->samples;

		part.comm = ran->comm;
		part.func = place->func;
		err = add_part(r, &part, (enum why_speed)(place->ran % WHY_N_SPEEDS),
			       (uint64_t)(ns * then / ran->samples -
					  ns * shared[place->ran] / ran->samples));
		shared[place->ran] = then;
	}
	part.func = WHY_NO_FUNC;
	for (size_t i = 0; !err && i < r->n_rans; i++) {
		part.comm = r->rans[i].comm;
		if (r->rans[i].ns && !r->rans[i].samples)
			err = add_part(r, &part, (enum why_speed)(i % WHY_N_SPEEDS), r->rans[i].ns);
	}
	return err;
}

/* --- life --- */

static void reading_deinit(struct requests_reading *r)
{
	uint32_t n;

	if (r->samples) {
		why_graph_threads(r->ret->graph, &n);
		why_samples_free(r->samples, n);
	}
	free(r->list);
	free(r->rans);
	free(r->places);
	ebt_map_deinit(&r->by_part);
	ebt_map_deinit(&r->by_ran);
	ebt_map_deinit(&r->by_place);
}

static struct ebt_error *read_all(struct requests_reading *r, const char *name)
{
	struct ebt_error *err = read_marks(r, name);

	if (err)
		return err;
	rank(r);
	trace_look_at(r->trace, trace_start_ns(r->trace), trace_end_ns(r->trace) + 1);
	return why_check_size(r->trace) ?:
	       why_graph_create(r->trace, false, &r->ret->graph) ?:
	       why_samples_read(r->trace, r->ret->graph, &r->samples) ?:
	       add_requests(r) ?:
	       share_out(r);
}

struct ebt_error *why_requests_create(struct trace *trace, const struct names *names,
				      const char *name, struct why_requests **ret)
{
	_cleanup_(why_requests_destroyp) struct why_requests *requests =
		calloc(1, sizeof(*requests));
	struct requests_reading r = { .trace = trace, .names = names, .ret = requests };
	struct ebt_error *err = requests ? read_all(&r, name) : &ebt_enomem;

	reading_deinit(&r);
	if (!err)
		*ret = take_ptr(requests);
	return err;
}

void why_requests_destroy(struct why_requests *requests)
{
	if (!requests)
		return;
	why_graph_destroy(requests->graph);
	free(requests->parts);
	free(requests);
}
