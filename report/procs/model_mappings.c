/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows come in order of time, so it is enough to follow one process after the other: the one that
 * the first was forked from, until that fork, and so on. See model_mappings.h.
 */
#include "report/procs/model_mappings.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/base/text.h"

/* Of one process; and how far back its ancestors are followed. */
#define MAX_MAPPINGS 65536u
#define MAX_PROGRAMS 65536u
#define LAST	     63

/* A process, while it is the one whose mappings matter. */
struct link {
	uint32_t proc;
	uint64_t until; /* the fork of the next one */
};

struct follow {
	struct mappings *all;
	const struct procs *procs;
	struct link chain[LAST + 1]; /* the oldest first, and before that nothing */
	size_t at;
	uint64_t renamed; /* the last task_rename: what was mapped since is of the next exec */
};

void mappings_deinit(struct mappings *mappings)
{
	for (size_t i = 0; i < mappings->n; i++) {
		free(mappings->intervals[i].path);
		free(mappings->intervals[i].build_id);
	}
	for (size_t i = 0; i < mappings->n_programs; i++) {
		free(mappings->programs[i].comm);
		free(mappings->programs[i].file);
		free(mappings->programs[i].cmdline);
	}
	free(mappings->intervals);
	free(mappings->programs);
}

/* Who had the mappings before this process did: until it runs a program, its parent did. */
static void make_chain(struct follow *f, const struct proc *proc)
{
	size_t n;
	const struct proc *all = procs_all(f->procs, &n), *p = proc;

	f->at = LAST;
	f->chain[LAST] = (struct link){ (uint32_t)(p - all), UINT64_MAX };
	while (f->at && p->forked_from != PROC_NONE &&
	       (p == proc || !p->exec_ns || p->exec_ns > f->chain[f->at].until)) {
		f->chain[--f->at] = (struct link){ p->forked_from, p->forked_ns };
		p = &all[p->forked_from];
	}
}

static void end_mappings(struct mappings *all, uint64_t time)
{
	for (size_t i = 0; i < all->n; i++) {
		struct mapping_interval *mapping = &all->intervals[i];

		if (!mapping->to_ns && (mapping->from_ns < time || mapping->inherited))
			mapping->to_ns = time;
	}
}

/* The next process has what this one had. */
static void hand_over(struct follow *f, uint64_t time)
{
	struct mappings *all = f->all;
	size_t to = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (all->intervals[i].to_ns) {
			free(all->intervals[i].path);
			free(all->intervals[i].build_id);
			continue;
		}
		all->intervals[to] = all->intervals[i];
		all->intervals[to].inherited = true;
		all->intervals[to].before = false;
		all->intervals[to++].from_ns = time;
	}
	all->n = to;
	f->renamed = 0;
	f->at++;
}

/* Those below are over. Has it been there all the time, and is only seen again? */
static bool cover(struct mappings *all, const struct mapping_interval *new)
{
	for (size_t i = 0; i < all->n; i++) {
		struct mapping_interval *old = &all->intervals[i];

		if (old->to_ns)
			continue;
		if (old->start == new->start && old->length == new->length &&
		    old->inode == new->inode && old->pgoff == new->pgoff && old->prot == new->prot)
			return true;
		if (old->start >= new->start && old->start - new->start < new->length &&
		    old->length <= new->length - (old->start - new->start))
			old->to_ns = new->from_ns;
	}
	return false;
}

static struct ebt_error *on_mmap(struct follow *f, const struct ebt_row *row)
{
	struct mappings *all = f->all;
	const struct ebt_str path = ebt_mmap_path(row);
	struct mapping_interval mapping = {
		.from_ns = row->time,
		.start = ebt_mmap_start(row),
		.length = ebt_mmap_length(row),
		.pgoff = ebt_mmap_pgoff(row),
		.inode = ebt_mmap_inode(row),
		.dev_major = (uint32_t)ebt_mmap_dev_major(row),
		.dev_minor = (uint32_t)ebt_mmap_dev_minor(row),
		.prot = (uint32_t)ebt_mmap_prot(row),
		.before = ebt_mmap_origin(row) == EBT_V_mmap_origin_snapshot,
	};
	_cleanup_text_ struct text build_id = TEXT_INIT;
	struct ebt_error *err;

	if (all->n == MAX_MAPPINGS) {
		all->more = true;
		return NULL;
	}
	if (cover(all, &mapping))
		return NULL;
	err = ebt_array_reserve(&all->intervals, all->n, &all->capacity);
	if (err)
		return err;
	mapping.path = strndup(path.data, path.len);
	text_hex_bytes(&build_id, ebt_mmap_build_id(row));
	mapping.build_id = strdup(text_get(&build_id));
	all->intervals[all->n++] = mapping;
	return mapping.path && mapping.build_id ? text_error(&build_id) : &ebt_enomem;
}

static struct ebt_error *on_exec(struct follow *f, const struct ebt_row *row)
{
	struct mappings *all = f->all;
	const struct ebt_str comm = ebt_task_exec_comm(row);
	const struct ebt_str file = ebt_task_exec_filename(row);
	const struct ebt_str cmdline = ebt_task_exec_cmdline(row);
	struct ebt_error *err;
	struct program_run *run;

	end_mappings(all, f->renamed ?: row->time);
	f->renamed = 0;
	if (f->at < LAST)
		return NULL;
	if (all->n_programs == MAX_PROGRAMS) {
		all->more = true;
		return NULL;
	}
	err = ebt_array_reserve(&all->programs, all->n_programs, &all->program_capacity);
	if (err)
		return err;
	run = &all->programs[all->n_programs++];
	run->time_ns = row->time;
	run->comm = strndup(comm.data, comm.len);
	run->file = strndup(file.data, file.len);
	run->cmdline = malloc(cmdline.len + 1);
	if (run->cmdline && cmdline.len)
		memcpy(run->cmdline, cmdline.data, cmdline.len);
	run->cmdline_len = cmdline.len;
	return run->comm && run->file && run->cmdline ? NULL : &ebt_enomem;
}

static struct ebt_error *on_row(void *arg, const struct ebt_row *row)
{
	struct follow *f = arg;
	const uint16_t id = row->batch->table->id;
	const struct ebt_task *task = id == EBT_T_mmap	      ? ebt_mmap_task(row)
				      : id == EBT_T_task_exec ? ebt_task_exec_task(row)
							      : ebt_task_rename_task(row);

	while (f->at < LAST && row->time > f->chain[f->at].until)
		hand_over(f, f->chain[f->at].until);
	if (!task || procs_of(f->procs, task) != f->chain[f->at].proc)
		return NULL;
	if (id == EBT_T_mmap)
		return on_mmap(f, row);
	if (id == EBT_T_task_exec)
		return on_exec(f, row);
	f->renamed = row->time;
	return NULL;
}

struct ebt_error *mappings_read(struct trace *trace, const struct procs *procs,
				const struct proc *proc, struct mappings *ret)
{
	static const struct ebt_want wants[] = {
		{ EBT_T_mmap, ~UINT64_C(0) },
		EBT_WANT(task_exec, task, comm, filename, cmdline),
		EBT_WANT(task_rename, task),
	};
	struct mappings all = { 0 };
	struct follow f = { .all = &all, .procs = procs };
	struct ebt_error *err;

	make_chain(&f, proc);
	err = trace_read_rows(trace, wants, sizeof(wants) / sizeof(wants[0]), TRACE_UNFILTERED,
			      on_row, &f);
	while (!err && f.at < LAST)
		hand_over(&f, f.chain[f.at].until);
	if (err)
		mappings_deinit(&all);
	else
		*ret = all;
	return err;
}
