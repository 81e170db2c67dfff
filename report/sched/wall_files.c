/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of `ebreport wall --per-thread`; see wall_files.h. Names of threads come from strangers:
 * of a file's name they are the last part only, in letters, digits and a few signs.
 */
#include "report/sched/wall_files.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/out/out.h"
#include "report/stacks/out_stacks.h"
#include "report/stacks/out_svg.h"

#define MAX_COMM   64
#define TOP_STACKS 10

struct folder {
	struct report *report;
	const struct wall *wall;
	const char *path;
	int fd;
	bool force;
	struct ebt_map by_tid; /* index in threads */
	uint32_t *threads;     /* of one tid that have files: the kernel gives a tid again */
	size_t n, capacity;
};

/* --- folded --- */

struct wall_folding {
	FILE *f;
	const struct wall *wall;
};

/* A stack's time on and off CPU, from the leaves below it. */
static void put_stack(void *arg, uint32_t node, struct ebt_str line)
{
	const struct wall_folding *folded = arg;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(wall_tree(folded->wall), &n);
	uint64_t on = 0, off = 0;
	enum wall_kind kind;

	for (uint32_t c = nodes[node].child; c; c = nodes[c].sibling) {
		if (wall_is_leaf(folded->wall, c, &kind))
			*(kind == WALL_CPU ? &on : &off) += nodes[c].self;
	}
	if (on)
		fprintf(folded->f, "%.*s_[c] %" PRIu64 "\n", (int)line.len, line.data, on);
	if (off)
		fprintf(folded->f, "%.*s_[o] %" PRIu64 "\n", (int)line.len, line.data, off);
}

struct ebt_error *wall_write_folded(FILE *f, const struct wall *wall, uint32_t top)
{
	struct wall_folding folded = { f, wall };

	/* Of a thread alone, no frame of its own is there for time without a stack. */
	put_stack(&folded, top, ebt_str_of(CALLTREE_NO_FRAMES));
	return stack_folded(wall_tree(wall), top, put_stack, &folded);
}

/* --- figures of a thread --- */

static void put_duration(FILE *f, const char *what, uint64_t ns, uint64_t of)
{
	fprintf(f, "%-22s %14.9f s  %6.2f %%\n", what, (double)ns / 1e9,
		of ? 100.0 * (double)ns / (double)of : 0.0);
}

static int compare_leaves(const void *a, const void *b, void *arg)
{
	const struct calltree_node *nodes = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return ebt_compare(nodes[y].self, nodes[x].self) ?: ebt_compare(x, y);
}

/* The heaviest leaves below a node, on or off CPU. */
static struct ebt_error *put_stacks(FILE *f, const struct wall *wall, uint32_t top, bool on)
{
	uint32_t n_nodes, n_funcs, at, n = 0;
	const struct calltree_node *nodes = calltree_nodes(wall_tree(wall), &n_nodes);
	const struct calltree_func *funcs = calltree_funcs(wall_tree(wall), &n_funcs);
	_cleanup_free_ uint32_t *leaves = calloc(n_nodes, sizeof(*leaves));
	_cleanup_text_ struct text line = TEXT_INIT;
	enum wall_kind kind;

	if (!leaves)
		return &ebt_enomem;
	at = nodes[top].child;
	while (at) {
		if (wall_is_leaf(wall, at, &kind) && (kind == WALL_CPU) == on)
			leaves[n++] = at;
		at = calltree_next(nodes, at, top);
	}
	qsort_r(leaves, n, sizeof(*leaves), compare_leaves, (void *)nodes);
	fprintf(f, "\n%s: %" PRIu32 " %s\n", on ? "On CPU" : "Off CPU", n,
		text_plural(n, "stack", "different stacks"));
	for (uint32_t i = 0; i < n && i < TOP_STACKS; i++) {
		text_clear(&line);
		text_duration(&line, nodes[leaves[i]].self);
		for (at = leaves[i]; at != top; at = nodes[at].parent) {
			text_cstr(&line, at == leaves[i] ? "  " : " < ");
			stack_folded_name(&line, funcs[nodes[at].func].name);
		}
		fprintf(f, "%s\n", text_get(&line));
	}
	return text_error(&line);
}

/* What only switches tell. */
static void put_times(FILE *f, const struct wall_thread *thread)
{
	const uint64_t lifetime = wall_lifetime_ns(thread);

	put_duration(f, "on CPU", thread->ns[WALL_CPU], lifetime);
	put_duration(f, "on a run queue", wall_runqueue_ns(thread), lifetime);
	put_duration(f, "  of that, preempted", thread->ns[WALL_PREEMPTED], lifetime);
	put_duration(f, "off CPU", wall_off_ns(thread), lifetime);
	for (int kind = WALL_SLEEP; kind < WALL_N_KINDS; kind++) {
		char what[32];

		snprintf(what, sizeof(what), "  %s", wall_kind_name((enum wall_kind)kind));
		put_duration(f, what, thread->ns[kind], lifetime);
	}
	fprintf(f, "%-22s %27.2f %%\n", "coverage", wall_coverage(thread));
}

static struct ebt_error *write_analysis(FILE *f, const struct wall *wall,
					const struct wall_thread *thread, struct ebt_str comm)
{
	_cleanup_text_ struct text name = TEXT_INIT;
	uint64_t lifetime = wall_lifetime_ns(thread);
	struct ebt_error *err;

	text_terminal(&name, text_comm(comm));
	fprintf(f, "Thread %" PRIu32 " (%s) of process %" PRIu32 "\n\n", thread->task->tid,
		text_get(&name), thread->task->pid);
	put_duration(f, "life in the recording", lifetime, lifetime);
	if (wall_is_known(wall))
		put_times(f, thread);
	fprintf(f, "%-22s %14" PRIu64 "\n", "samples", thread->samples);
	if (!thread->top || !wall_is_known(wall))
		return text_error(&name);
	err = put_stacks(f, wall, thread->top, true) ?: put_stacks(f, wall, thread->top, false);
	return err ? err : text_error(&name);
}

/* A cell of the width that it has with a value. */
static void put_cell(FILE *f, int width, int digits, const char *unit, double value, bool known)
{
	if (known)
		fprintf(f, " %*.*f%s", width, digits, value, unit);
	else
		fprintf(f, " %*s", width + (int)strlen(unit), "");
}

/* A line for each thread, those without files too. */
static struct ebt_error *write_summary(FILE *f, const struct wall *wall, const struct names *names)
{
	const bool known = wall_is_known(wall);
	uint32_t n;
	const struct wall_thread *threads = wall_threads(wall, &n);

	fprintf(f, "%10s %10s %16s %16s %16s %16s %10s  %s\n", "TID", "PID", "ON-CPU s",
		"RUNQUEUE s", "OFF-CPU s", "LIFE s", "COVERAGE", "COMM");
	for (uint32_t i = 0; i < n; i++) {
		const struct wall_thread *thread = &threads[i];
		_cleanup_text_ struct text comm = TEXT_INIT;

		if (!thread->task)
			continue;
		text_terminal(&comm, names_task(names, thread->task));
		if (text_error(&comm))
			return text_error(&comm);
		fprintf(f, "%10" PRIu32 " %10" PRIu32, thread->task->tid, thread->task->pid);
		put_cell(f, 16, 9, "", (double)thread->ns[WALL_CPU] / 1e9, known);
		put_cell(f, 16, 9, "", (double)wall_runqueue_ns(thread) / 1e9, known);
		put_cell(f, 16, 9, "", (double)wall_off_ns(thread) / 1e9, known);
		put_cell(f, 16, 9, "", (double)wall_lifetime_ns(thread) / 1e9, true);
		put_cell(f, 8, 2, " %", wall_coverage(thread), known);
		fprintf(f, "  %s\n", text_get(&comm));
	}
	return NULL;
}

static struct ebt_error *write_svg(FILE *f, const struct wall *wall,
				   const struct wall_thread *thread)
{
	_cleanup_(calltree_destroyp) struct calltree *branch = NULL;
	struct svg_flame flame = { 0 };
	uint32_t n, n_funcs;
	const struct calltree_node *nodes = calltree_nodes(wall_tree(wall), &n);
	const struct calltree_func *funcs = calltree_funcs(wall_tree(wall), &n_funcs);
	struct ebt_error *err = calltree_branch(wall_tree(wall), thread->top, &branch);

	if (err)
		return err;
	flame.tree = branch;
	flame.title = funcs[nodes[thread->top].func].name;
	return svg_write_flame(f, &flame);
}

/* --- files --- */

/* A file of the folder, empty and new. */
static struct ebt_error *make_file(const struct folder *folder, const char *name, FILE **ret)
{
	int fd;
	struct ebt_error *err = out_make_file(folder->fd, folder->path, name, folder->force, &fd);

	if (err)
		return err;
	*ret = fdopen(fd, "w");
	if (!*ret) {
		close(fd);
		return &ebt_enomem;
	}
	return NULL;
}

/* err: of what was written. Names the file. */
static struct ebt_error *close_file(const struct folder *folder, const char *name, FILE *f,
				    struct ebt_error *err)
{
	bool failed = ferror(f);

	if ((fclose(f) || failed) && !err)
		return ebt_error_errno(errno, "cannot write '%s/%s'", folder->path, name);
	if (!err)
		out_printf(folder->report->out, "%s/%s\n", folder->path, name);
	return err;
}

/* "thread_7_", and of the second thread that is number 7 "thread_7.2_". */
static struct ebt_error *begin_name(struct folder *folder, uint32_t tid, struct text *ret)
{
	struct ebt_error *err;
	uint32_t i;

	err = ebt_map_element(&folder->by_tid, tid, &folder->threads, &folder->n, &folder->capacity,
			      &i);
	if (err)
		return err;
	text_printf(ret, "thread_%" PRIu32, tid);
	if (++folder->threads[i] > 1)
		text_printf(ret, ".%" PRIu32, folder->threads[i]);
	text_addc(ret, '_');
	return text_error(ret);
}

enum { FILE_SVG, FILE_FOLDED, FILE_ANALYSIS, N_FILES };

static struct ebt_error *write_one(const struct folder *folder, const struct wall_thread *thread,
				   struct ebt_str comm, const char *begin, int which)
{
	static const char *const ends[N_FILES] = { ".svg", ".folded", "_analysis.txt" };
	_cleanup_text_ struct text name = TEXT_INIT;
	struct ebt_error *err;
	FILE *f;

	text_cstr(&name, begin);
	for (size_t i = 0; i < comm.len && i < MAX_COMM; i++) {
		unsigned char c = (unsigned char)comm.data[i];

		text_addc(&name, isascii(c) && (isalnum(c) || strchr("_.-", c)) ? (char)c : '_');
	}
	text_cstr(&name, ends[which]);
	err = text_error(&name) ?: make_file(folder, text_get(&name), &f);
	if (err)
		return err;
	if (which == FILE_SVG)
		err = write_svg(f, folder->wall, thread);
	else if (which == FILE_FOLDED)
		err = wall_write_folded(f, folder->wall, thread->top);
	else
		err = write_analysis(f, folder->wall, thread, comm);
	return close_file(folder, text_get(&name), f, err);
}

static struct ebt_error *write_all(const struct folder *folder, const struct names *names)
{
	static const char name[] = "summary.txt";
	struct ebt_error *err;
	FILE *f;

	err = make_file(folder, name, &f);
	return err ? err : close_file(folder, name, f, write_summary(f, folder->wall, names));
}

static struct ebt_error *write_thread(struct folder *folder, const struct wall_thread *thread,
				      struct ebt_str comm)
{
	_cleanup_text_ struct text begin = TEXT_INIT;
	struct ebt_error *err = begin_name(folder, thread->task->tid, &begin);

	for (int which = 0; !err && which < N_FILES; which++)
		err = write_one(folder, thread, comm, text_get(&begin), which);
	return err;
}

struct ebt_error *wall_write_files(struct report *report, const struct wall *wall,
				   const struct names *names, const char *path, bool force)
{
	struct folder folder = {
		.report = report, .wall = wall, .path = path, .fd = -1, .force = force
	};
	uint32_t n;
	const struct wall_thread *threads = wall_threads(wall, &n);
	struct ebt_error *err = out_open_folder(path, &folder.fd) ?: write_all(&folder, names);

	for (uint32_t i = 0; !err && i < n; i++) {
		if (threads[i].task && threads[i].top)
			err = write_thread(&folder, &threads[i],
					   names_task(names, threads[i].task));
	}
	if (folder.fd >= 0)
		close(folder.fd);
	ebt_map_deinit(&folder.by_tid);
	free(folder.threads);
	return err;
}
