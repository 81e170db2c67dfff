/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The causes in sentences; see words.h. */
#include "report/why/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "report/base/text.h"
#include "report/why/objects.h"

#define MAX_ALONE 3 /* that are named */

struct words {
	const struct why *why;
	const struct names *names;
	uint64_t *waited_ns; /* by task: of its time on the path, while the first thread waited */
	uint64_t *all_ns;    /* likewise: all of it */
};

/* Causes that are told together. */
struct said {
	const struct why_cause *first;	 /* of one thread */
	const struct why_cause *longest; /* with an object */
	struct why_topic topic;
	uint64_t ns, threads;
	bool others; /* there are more objects */
};

const char *why_kind_name(enum why_kind kind, uint8_t what)
{
	switch (kind) {
	case WHY_CPU:
		return "cpu";
	case WHY_RUNQUEUE:
		return "runqueue";
	case WHY_WAIT:
		return what == WAIT_UNKNOWN ? "wait" : wait_reason_name((enum wait_reason)what);
	case WHY_UNKNOWN:
		break;
	}
	return "unknown";
}

const char *why_gap_text(enum why_gap gap)
{
	switch (gap) {
	case WHY_GAP_LOST:
		return "(no row tells what it did)";
	case WHY_GAP_BEFORE:
		return "(before it was seen)";
	case WHY_GAP_WAKING:
		return "(no row tells who woke it)";
	case WHY_GAP_NONE:
		break;
	}
	return "";
}

static struct ebt_str name_of(const struct words *w, uint32_t id)
{
	return why_thread_name(w->why->graph, w->names, id);
}

/* --- joining --- */

static struct why_topic topic_of(const struct words *w, const struct why_cause *cause)
{
	struct why_topic ret = { .kind = cause->kind,
				 .what = cause->what,
				 .comm = name_of(w, cause->task) };

	if (cause->kind == WHY_RUNQUEUE)
		ret.other = name_of(w, cause->other);
	return ret;
}

static int compare_topics(const struct why_topic *a, const struct why_topic *b)
{
	return ebt_compare(a->kind, b->kind) ?: ebt_compare(a->what, b->what) ?:
	       text_compare(a->comm, b->comm) ?: text_compare(a->other, b->other);
}

static int compare_said(const void *a, const void *b)
{
	const struct said *x = a, *y = b;

	return compare_topics(&x->topic, &y->topic) ?: ebt_compare(x->first->task, y->first->task);
}

static int compare_longest(const void *a, const void *b)
{
	const struct said *x = a, *y = b;

	return ebt_compare(y->ns, x->ns) ?: compare_topics(&x->topic, &y->topic);
}

static void add_object(struct said *to, const struct why_cause *cause)
{
	if (!cause->object)
		return;
	if (to->longest && to->longest->object != cause->object)
		to->others = true;
	if (!to->longest || cause->ns > to->longest->ns)
		to->longest = cause;
}

/* *n: how many are left. */
static void join(struct said *said, size_t *n)
{
	size_t kept = 0;

	qsort(said, *n, sizeof(*said), compare_said);
	for (size_t i = 0; i < *n; i++) {
		const struct why_cause *cause = said[i].first;
		struct said *last = kept ? &said[kept - 1] : NULL;

		if (!last || compare_topics(&last->topic, &said[i].topic)) {
			said[kept] = said[i];
			add_object(&said[kept++], cause);
			continue;
		}
		last->threads += said[i - 1].first->task != cause->task;
		last->ns += cause->ns;
		add_object(last, cause);
	}
	*n = kept;
	qsort(said, kept, sizeof(*said), compare_longest);
}

/* --- saying --- */

/* Whose time it was, and who waited for that most of the while. */
static void add_who(const struct words *w, const struct said *said, struct text *line)
{
	const uint32_t task = said->first->task, whole = w->why->task;
	const bool waited =
		task != whole && said->threads == 1 && w->waited_ns[task] > w->all_ns[task] / 2;

	if (waited) {
		text_terminal(line, name_of(w, whole));
		text_cstr(line, " waited for ");
	}
	text_terminal(line, said->topic.comm);
	if (said->threads > 1)
		text_printf(line, " (%" PRIu64 " threads)", said->threads);
	else
		text_printf(line, " (%" PRIu32 ")", why_task(w->why, task)->tid);
	text_cstr(line, waited ? ", which" : "");
}

static void add_object_text(const struct words *w, const struct said *said, struct text *line)
{
	const struct why_objects *objects = why_graph_objects(w->why->graph);
	const uint32_t object = said->longest ? said->longest->object : WHY_NO_OBJECT;
	const struct ebt_str name = why_object_name(objects, object);
	const struct ebt_str device = why_object_device(objects, object);

	if (!name.len)
		return;
	text_cstr(line, said->others ? ", most for " : ": ");
	text_terminal(line, name);
	if (device.len && !ebt_str_equal(device, name)) {
		text_cstr(line, " on ");
		text_terminal(line, device);
	}
}

static struct ebt_error *say(const struct words *w, const struct said *said, struct text *line)
{
	const uint8_t what = said->topic.what;

	add_who(w, said, line);
	switch ((enum why_kind)said->topic.kind) {
	case WHY_CPU:
		text_cstr(line, " ran");
		break;
	case WHY_RUNQUEUE:
		text_cstr(line, " waited for a CPU");
		if (!said->topic.other.len)
			break;
		text_cstr(line, " that ");
		text_terminal(line, said->topic.other);
		text_cstr(line, " had");
		break;
	case WHY_WAIT:
		text_printf(line, " waited for %s", wait_reason_text((enum wait_reason)what));
		add_object_text(w, said, line);
		break;
	case WHY_UNKNOWN:
		text_printf(line, " did what is not known %s", why_gap_text((enum why_gap)what));
	}
	return text_error(line);
}

/* --- who waited --- */

static uint32_t outermost(const struct why_path *path, uint32_t waiter)
{
	while (path->waiters[waiter].parent)
		waiter = path->waiters[waiter].parent;
	return path->waiters[waiter].task;
}

static void sum_waited(const struct words *w)
{
	const struct why_path *path = &w->why->path;

	for (size_t i = 0; i < path->n; i++) {
		const struct why_segment *segment = &path->segments[i];
		const uint64_t ns = why_segment_ns(segment);

		w->all_ns[segment->task] += ns;
		if (segment->waiter && outermost(path, segment->waiter) == w->why->task)
			w->waited_ns[segment->task] += ns;
	}
}

static struct ebt_error *say_all(const struct words *w, struct why_line *ret, size_t *ret_n)
{
	const size_t room = *ret_n;
	size_t n = w->why->n_causes;
	_cleanup_free_ struct said *said = calloc(n + 1, sizeof(*said));
	struct ebt_error *err = NULL;

	*ret_n = 0;
	if (!said)
		return &ebt_enomem;
	sum_waited(w);
	for (size_t i = 0; i < n; i++) {
		const struct why_cause *cause = &w->why->causes[i];

		said[i] = (struct said){
			.first = cause, .topic = topic_of(w, cause), .ns = cause->ns, .threads = 1
		};
	}
	join(said, &n);
	for (; !err && *ret_n < n && *ret_n < room; ++*ret_n) {
		ret[*ret_n] = (struct why_line){ TEXT_INIT, said[*ret_n].ns, said[*ret_n].topic };
		err = say(w, &said[*ret_n], &ret[*ret_n].text);
	}
	return err;
}

struct ebt_error *why_lines(const struct why *why, const struct names *names, struct why_line *ret,
			    size_t *n)
{
	struct words w = { why, names };
	struct ebt_error *err;
	uint32_t n_threads;

	why_graph_threads(why->graph, &n_threads);
	w.waited_ns = calloc(n_threads + 1, sizeof(*w.waited_ns));
	w.all_ns = calloc(n_threads + 1, sizeof(*w.all_ns));
	if (w.waited_ns && w.all_ns) {
		err = say_all(&w, ret, n);
	} else {
		*n = 0;
		err = &ebt_enomem;
	}
	free(w.waited_ns);
	free(w.all_ns);
	return err;
}

size_t why_line_of(const struct why *why, const struct names *names, const struct why_line *lines,
		   size_t n, const struct why_cause *cause)
{
	const struct words w = { why, names };
	const struct why_topic topic = topic_of(&w, cause);
	size_t i = 0;

	while (i < n && compare_topics(&lines[i].topic, &topic))
		i++;
	return i;
}

void why_lines_deinit(struct why_line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_deinit(&lines[i].text);
}

/* --- the whole --- */

struct alone {
	struct ebt_str comm;
	uint64_t ns;
};

static int compare_comms(const void *a, const void *b)
{
	return text_compare(((const struct alone *)a)->comm, ((const struct alone *)b)->comm);
}

static int compare_alone(const void *a, const void *b)
{
	const struct alone *x = a, *y = b;

	return ebt_compare(y->ns, x->ns) ?: compare_comms(a, b);
}

/* Threads of the path that were on a CPU while no other one was. */
static struct ebt_error *add_alone(const struct words *w, struct text *line)
{
	const struct why_parallel *parallel = &w->why->parallel;
	_cleanup_free_ struct alone *list = calloc(parallel->n_threads + 1, sizeof(*list));
	size_t n = 0, kept = 0;

	if (!list)
		return &ebt_enomem;
	for (uint32_t i = 0; i < parallel->n_threads; i++) {
		if (parallel->alone_ns[i])
			list[n++] = (struct alone){ name_of(w, i), parallel->alone_ns[i] };
	}
	qsort(list, n, sizeof(*list), compare_comms);
	for (size_t i = 0; i < n; i++) {
		if (kept && !compare_comms(&list[kept - 1], &list[i]))
			list[kept - 1].ns += list[i].ns;
		else
			list[kept++] = list[i];
	}
	qsort(list, kept, sizeof(*list), compare_alone);
	for (size_t i = 0; i < kept && i < MAX_ALONE; i++) {
		text_cstr(line, i ? ", " : " (");
		text_terminal(line, list[i].comm);
		text_cstr(line, " ");
		text_duration(line, list[i].ns);
	}
	text_cstr(line, kept > MAX_ALONE ? " …)" : kept ? ")" : "");
	return text_error(line);
}

static uint64_t queued_ns(const struct why *why)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < why->n_causes; i++)
		ret += why->causes[i].kind == WHY_RUNQUEUE ? why->causes[i].ns : 0;
	return ret;
}

struct ebt_error *why_say_whole(struct out *out, const struct why *why, const struct names *names)
{
	const uint64_t wall_ns = why->path.to - why->path.from;
	const struct words w = { why, names };
	const struct why_parallel *parallel = &why->parallel;
	const struct ebt_task *task = why_task(why, why->task);
	_cleanup_text_ struct text line = TEXT_INIT;
	struct ebt_error *err = NULL;

	if (!task)
		return NULL;
	text_terminal(&line, names_task(names, task));
	text_printf(&line, " (%" PRIu32 ") took ", task->tid);
	text_duration(&line, wall_ns);
	if (wall_ns)
		text_printf(&line, ", with %.1f threads on CPUs on average",
			    (double)why_run_ns(why) / (double)wall_ns);
	if (parallel->n > 1 && parallel->ns[1]) {
		text_cstr(&line, ". One ran alone for ");
		text_duration(&line, parallel->ns[1]);
		err = add_alone(&w, &line);
	}
	if (queued_ns(why)) {
		text_cstr(&line, "; for want of CPUs it took ");
		text_duration(&line, queued_ns(why));
		text_cstr(&line, " longer");
	}
	text_cstr(&line, ".");
	if (!err)
		out_fill(out, "", 0, text_get(&line));
	return err;
}
