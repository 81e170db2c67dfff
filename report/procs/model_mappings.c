/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows come in order of time, so it is enough to follow one process after the other: the one that
 * the first was forked from, until that fork, and so on. See model_mappings.h.
 */
#include "report/procs/model_mappings.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

/* Of one process; and how far back its ancestors are followed. */
#define MAX_MAPPINGS 65536u
#define MAX_PROGRAMS 65536u
#define MAX_CHAIN    64

/* A process, while it is the one whose mappings matter. */
struct link {
	uint32_t proc;
	uint64_t until; /* the fork of the next one */
};

struct follow {
	struct mappings *all;
	const struct procs *procs;
	struct link chain[MAX_CHAIN]; /* the oldest first */
	size_t n_chain, at;
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
static void make_chain(struct follow *f, uint32_t proc)
{
	struct link links[MAX_CHAIN] = { { proc, UINT64_MAX } };
	size_t n_procs, n = 1;
	const struct proc *all = procs_all(f->procs, &n_procs);

	while (n < MAX_CHAIN) {
		const struct proc *p = &all[links[n - 1].proc];

		if (p->forked_from == PROC_NONE ||
		    (n > 1 && p->exec_ns && p->exec_ns <= links[n - 1].until))
			break;
		links[n++] = (struct link){ p->forked_from, p->forked_ns };
	}
	for (size_t i = 0; i < n; i++)
		f->chain[i] = links[n - 1 - i];
	f->n_chain = n;
}

static void end_mappings(struct mappings *all, uint64_t since, uint64_t time)
{
	for (size_t i = 0; i < all->n; i++) {
		struct mapping_interval *mapping = &all->intervals[i];

		if (!mapping->to_ns && (mapping->from_ns < since || mapping->inherited))
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

static char *hex(struct ebt_str bytes)
{
	char *text = malloc(bytes.len * 2 + 1);

	if (!text)
		return NULL;
	for (size_t i = 0; i < bytes.len; i++) {
		text[2 * i] = "0123456789abcdef"[(unsigned char)bytes.data[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[(unsigned char)bytes.data[i] & 15];
	}
	text[bytes.len * 2] = '\0';
	return text;
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
	mapping.build_id = hex(ebt_mmap_build_id(row));
	all->intervals[all->n++] = mapping;
	return mapping.path && mapping.build_id ? NULL : &ebt_enomem;
}

static struct ebt_error *on_exec(struct follow *f, const struct ebt_row *row)
{
	struct mappings *all = f->all;
	const struct ebt_str comm = ebt_task_exec_comm(row);
	const struct ebt_str file = ebt_task_exec_filename(row);
	const struct ebt_str cmdline = ebt_task_exec_cmdline(row);
	struct ebt_error *err;
	struct program_run *run;

	end_mappings(all, f->renamed ? f->renamed : row->time, f->renamed ? f->renamed : row->time);
	f->renamed = 0;
	if (f->at + 1 < f->n_chain)
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
	const struct ebt_task *task = NULL;

	while (f->at + 1 < f->n_chain && row->time > f->chain[f->at].until)
		hand_over(f, f->chain[f->at].until);
	switch (row->batch->table->id) {
	case EBT_T_mmap:
		task = ebt_mmap_task(row);
		break;
	case EBT_T_task_exec:
		task = ebt_task_exec_task(row);
		break;
	default:
		task = ebt_task_rename_task(row);
		break;
	}
	if (!task || procs_of(f->procs, task) != f->chain[f->at].proc)
		return NULL;
	if (row->batch->table->id == EBT_T_mmap)
		return on_mmap(f, row);
	if (row->batch->table->id == EBT_T_task_exec)
		return on_exec(f, row);
	f->renamed = row->time;
	return NULL;
}

struct ebt_error *mappings_read(struct trace *trace, const struct procs *procs, uint32_t proc,
				struct mappings *ret)
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
	while (!err && f.at + 1 < f.n_chain)
		hand_over(&f, f.chain[f.at].until);
	if (err)
		mappings_deinit(&all);
	else
		*ret = all;
	return err;
}
