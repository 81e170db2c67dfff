/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors of processes; see fds.h. */
#include "report/calls/fds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"

#define NONE	    UINT32_MAX
#define MAX_PARENTS 16 /* that are asked for what a process inherited */

/* From `time` on; file NONE: closed, or not known. */
struct change {
	uint64_t time;
	uint32_t file;
	uint32_t tid; /* whose call used it; 0: it made it; NONE: it was there */
};

/* The newest change is last. */
struct descriptor {
	uint32_t process;
	uint32_t next; /* of the process; NONE: it is the last */
	uint32_t n;
	int64_t fd;
	struct change changes[FDS_HISTORY];
};

/* A process. */
struct fd_owner {
	const struct ebt_task *task; /* one of its threads; NULL: it had no rows yet */
	uint32_t pid;
	uint64_t ended;	    /* UINT64_MAX: not yet */
	uint32_t first;	    /* descriptor; NONE: there is none */
	uint64_t began;	    /* when it was forked; 0: not known */
	uint64_t execed;    /* the last time; 0: not known */
	uint64_t forgotten; /* what was told before does not count any more */
	uint32_t parent;    /* index; NONE: not known */
};

struct fds {
	struct fd_owner *processes;
	size_t n_processes, processes_capacity;
	uint32_t *newest; /* process of an id, at the place that by_pid has */
	size_t n_newest, newest_capacity;
	struct ebt_map by_pid;
	struct descriptor *descriptors;
	size_t n_descriptors, descriptors_capacity;
	struct ebt_map by_number; /* by hash of process and number */
	struct fd_file *files;	  /* each once */
	size_t n_files, files_capacity;
	struct ebt_map by_file;
};

struct ebt_error *fds_create(struct fds **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &ebt_enomem;
}

void fds_destroy(struct fds *fds)
{
	if (!fds)
		return;
	free(fds->processes);
	free(fds->newest);
	free(fds->descriptors);
	free(fds->files);
	ebt_map_deinit(&fds->by_pid);
	ebt_map_deinit(&fds->by_number);
	ebt_map_deinit(&fds->by_file);
	free(fds);
}

/* --- what there is --- */

/* Of several that had this id the newest. */
static uint32_t find_process(const struct fds *fds, uint32_t pid)
{
	size_t at = 0;
	const uint32_t i = ebt_map_next(&fds->by_pid, pid, &at);

	return i == EBT_MAP_NONE ? NONE : fds->newest[i];
}

static struct ebt_error *add_process(struct fds *fds, uint32_t pid, uint32_t *ret)
{
	struct ebt_error *err;
	uint32_t i;

	err = ebt_array_reserve(&fds->processes, fds->n_processes, &fds->processes_capacity)
		      ?: ebt_map_element(&fds->by_pid, pid, &fds->newest, &fds->n_newest,
					 &fds->newest_capacity, &i);
	if (err)
		return err;
	*ret = fds->newest[i] = (uint32_t)fds->n_processes++;
	fds->processes[*ret] =
		(struct fd_owner){ .pid = pid, .ended = UINT64_MAX, .first = NONE, .parent = NONE };
	return NULL;
}

/* The one that has this id now. */
static struct ebt_error *take_process(struct fds *fds, uint32_t pid, uint32_t *ret)
{
	*ret = find_process(fds, pid);
	return *ret == NONE ? add_process(fds, pid, ret) : NULL;
}

static uint64_t descriptor_hash(uint32_t process, int64_t fd)
{
	return ebt_hash_u64(ebt_hash_u64(0, process), (uint64_t)fd);
}

static struct descriptor *find_descriptor(const struct fds *fds, uint32_t process, int64_t fd)
{
	uint64_t hash = descriptor_hash(process, fd);
	size_t at = 0;
	uint32_t i;

	while ((i = ebt_map_next(&fds->by_number, hash, &at)) != EBT_MAP_NONE) {
		struct descriptor *d = &fds->descriptors[i];

		if (d->process == process && d->fd == fd)
			return d;
	}
	return NULL;
}

static struct ebt_error *take_descriptor(struct fds *fds, uint32_t process, int64_t fd,
					 struct descriptor **ret)
{
	struct ebt_error *err;

	*ret = find_descriptor(fds, process, fd);
	if (*ret)
		return NULL;
	err = ebt_array_reserve(&fds->descriptors, fds->n_descriptors, &fds->descriptors_capacity)
		      ?: ebt_map_insert(&fds->by_number, descriptor_hash(process, fd),
					(uint32_t)fds->n_descriptors);
	if (err)
		return err;
	*ret = &fds->descriptors[fds->n_descriptors];
	**ret = (struct descriptor){ .process = process,
				     .next = fds->processes[process].first,
				     .fd = fd };
	fds->processes[process].first = (uint32_t)fds->n_descriptors++;
	return NULL;
}

static uint64_t file_hash(const struct fd_file *file)
{
	uint64_t hash = ebt_hash_u64(0, (uint64_t)file->type << 32 | file->flags);

	hash = ebt_hash_u64(hash, (uint64_t)file->mount << 1 | file->deleted);
	return inode_key_hash(hash, &file->key);
}

static bool file_equal(const struct fd_file *a, const struct fd_file *b)
{
	return a->type == b->type && a->flags == b->flags && a->mount == b->mount &&
	       a->deleted == b->deleted && inode_key_equal(&a->key, &b->key);
}

static struct ebt_error *intern_file(struct fds *fds, const struct fd_file *file, uint32_t *ret)
{
	uint64_t hash = file_hash(file);
	size_t at = 0;
	struct ebt_error *err;

	while ((*ret = ebt_map_next(&fds->by_file, hash, &at)) != EBT_MAP_NONE) {
		if (file_equal(&fds->files[*ret], file))
			return NULL;
	}
	err = ebt_array_reserve(&fds->files, fds->n_files, &fds->files_capacity)
		      ?: ebt_map_insert(&fds->by_file, hash, (uint32_t)fds->n_files);
	if (err)
		return err;
	*ret = (uint32_t)fds->n_files++;
	fds->files[*ret] = *file;
	return NULL;
}

/* --- changes --- */

static struct ebt_error *change(struct fds *fds, const struct ebt_task *task, int64_t fd,
				const struct change *to)
{
	struct descriptor *d;
	uint32_t process;
	struct ebt_error *err;

	err = take_process(fds, task->pid, &process) ?: take_descriptor(fds, process, fd, &d);
	if (err)
		return err;
	fds->processes[process].task = task;
	if (d->n == FDS_HISTORY) {
		memmove(d->changes, d->changes + 1, (FDS_HISTORY - 1) * sizeof(d->changes[0]));
		d->n--;
	}
	d->changes[d->n++] = *to;
	return NULL;
}

/* Bits of field attrs. */
enum { DELETED = 1, DOUBTFUL = 2 };

struct ebt_error *fds_told(struct fds *fds, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_fd_task(row);
	const struct fd_file file = {
		.key = INODE_NAME_KEY(fd, row),
		.type = (uint32_t)ebt_fd_type(row),
		.flags = (uint32_t)ebt_fd_flags(row),
		.mount = (uint32_t)ebt_fd_mount(row),
		.deleted = ebt_fd_attrs(row) & DELETED,
	};
	struct change to = { .time = row->time, .file = NONE };
	struct ebt_error *err;

	if (!task || !task->pid)
		return NULL;
	if (ebt_fd_why(row) == EBT_V_fd_why_used)
		to.tid = task->tid;
	else if (ebt_fd_why(row) != EBT_V_fd_why_returned)
		to.tid = NONE;
	err = ebt_fd_attrs(row) & DOUBTFUL ? NULL : intern_file(fds, &file, &to.file);
	return err ?: change(fds, task, ebt_fd_fd(row), &to);
}

struct ebt_error *fds_close(struct fds *fds, const struct ebt_task *task, int64_t fd, uint64_t time)
{
	const struct change to = { .time = time, .file = NONE };

	return task && task->pid ? change(fds, task, fd, &to) : NULL;
}

/* Of the task's process; NULL: it is not known which. Until the next one is added. */
static struct ebt_error *owner_of(struct fds *fds, const struct ebt_task *task,
				  struct fd_owner **ret)
{
	struct ebt_error *err;
	uint32_t process;

	*ret = NULL;
	if (!task || !task->pid)
		return NULL;
	err = take_process(fds, task->pid, &process);
	if (!err)
		*ret = &fds->processes[process];
	return err;
}

struct ebt_error *fds_forget(struct fds *fds, const struct ebt_task *task, uint64_t time)
{
	struct fd_owner *owner;
	struct ebt_error *err = owner_of(fds, task, &owner);

	if (owner)
		owner->forgotten = time;
	return err;
}

struct ebt_error *fds_end(struct fds *fds, const struct ebt_task *task, uint64_t time)
{
	struct fd_owner *owner;
	struct ebt_error *err = owner_of(fds, task, &owner);

	if (owner)
		owner->ended = time;
	return err;
}

struct ebt_error *fds_fork(struct fds *fds, const struct ebt_row *row)
{
	const struct ebt_task *parent = ebt_task_fork_parent(row);
	uint32_t child, from = NONE;
	struct ebt_error *err;

	if (ebt_task_fork_thread(row))
		return NULL;
	if (parent && parent->pid) {
		err = take_process(fds, parent->pid, &from);
		if (err)
			return err;
	}
	err = add_process(fds, (uint32_t)ebt_task_fork_child_pid(row), &child);
	if (err)
		return err;
	fds->processes[child].began = row->time;
	fds->processes[child].parent = from;
	return NULL;
}

struct ebt_error *fds_exec(struct fds *fds, const struct ebt_row *row)
{
	uint32_t process;
	struct ebt_error *err = take_process(fds, (uint32_t)ebt_task_exec_pid(row), &process);

	if (!err)
		fds->processes[process].execed = row->time;
	return err;
}

/* --- questions --- */

#define O_CLOEXEC 02000000 /* as table `fd` has it */

/* The newest change up to a time, its file as it is then; false: there is none, and the process may
 * have inherited it. */
static bool latest(const struct fds *fds, uint32_t process, int64_t fd, uint64_t time,
		   uint32_t *ret)
{
	const struct fd_owner *p = &fds->processes[process];
	const struct descriptor *d = find_descriptor(fds, process, fd);
	uint32_t i = d ? d->n : 0;

	while (i && d->changes[i - 1].time > time)
		i--;
	*ret = NONE;
	if (i && d->changes[i - 1].time >= p->forgotten) {
		*ret = d->changes[i - 1].file;
		if (*ret != NONE && d->changes[i - 1].time < p->execed && p->execed <= time &&
		    fds->files[*ret].flags & O_CLOEXEC)
			*ret = NONE;
		return true;
	}
	/* Some changes are not kept, or do not count. */
	return i || (d && d->n == FDS_HISTORY) || (p->forgotten && p->forgotten <= time);
}

static uint32_t file_at(const struct fds *fds, uint32_t process, int64_t fd, uint64_t time)
{
	bool execed = false;
	uint32_t file;

	for (unsigned int i = 0; i < MAX_PARENTS && process != NONE; i++) {
		const struct fd_owner *p = &fds->processes[process];

		if (latest(fds, process, fd, time, &file))
			return file != NONE && execed && fds->files[file].flags & O_CLOEXEC ? NONE
											    : file;
		execed |= p->execed && p->execed <= time;
		time = p->began;
		process = p->parent;
	}
	return NONE;
}

/* NULL: nothing was told of it since its process began. */
static const struct descriptor *descriptor_of(const struct fds *fds, const struct ebt_task *task,
					      int64_t fd)
{
	const uint32_t process = task && task->pid ? find_process(fds, task->pid) : NONE;

	return process == NONE ? NULL : find_descriptor(fds, process, fd);
}

bool fds_is_told(const struct fds *fds, const struct ebt_task *task, int64_t fd, uint64_t time)
{
	const struct descriptor *d = descriptor_of(fds, task, fd);

	return d && d->n && d->changes[d->n - 1].time == time;
}

const struct fd_file *fds_at(const struct fds *fds, const struct ebt_task *task, int64_t fd,
			     uint64_t time)
{
	uint32_t file, process = task && task->pid ? find_process(fds, task->pid) : NONE;

	file = process == NONE ? NONE : file_at(fds, process, fd, time);
	return file == NONE ? NULL : &fds->files[file];
}

/* Did the last change come while a call lasted, as others may have, that tell of another file? */
static bool is_doubtful(const struct descriptor *d, uint64_t entry)
{
	const uint32_t file = d->changes[d->n - 1].file;

	for (uint32_t i = d->n - 1; i-- > 0 && d->changes[i].time > entry;) {
		if (d->changes[i].file != file)
			return true;
	}
	return false;
}

const struct fd_file *fds_used(const struct fds *fds, const struct ebt_task *task, int64_t fd,
			       uint64_t entry, uint64_t exit)
{
	const struct descriptor *d = descriptor_of(fds, task, fd);
	const struct change *last = d && d->n ? &d->changes[d->n - 1] : NULL;

	/* The call itself told of it: so what was told before may not be so any more. */
	if (last && last->time == exit && last->tid == task->tid)
		return last->file == NONE || is_doubtful(d, entry) ? NULL : &fds->files[last->file];
	return fds_at(fds, task, fd, entry);
}

const struct fd_file *fds_unchanged(const struct fds *fds, const struct ebt_task *task, int64_t fd)
{
	const struct descriptor *d = descriptor_of(fds, task, fd);

	/* What came before these is not kept. */
	if (!d || !d->n || d->n == FDS_HISTORY || d->changes[0].file == NONE ||
	    fds->processes[d->process].began || fds->processes[d->process].forgotten)
		return NULL;
	for (uint32_t i = 1; i < d->n; i++) {
		if (d->changes[i].file != d->changes[0].file)
			return NULL;
	}
	return &fds->files[d->changes[0].file];
}

/* --- what is open --- */

/* The numbers of a process and of those that it inherited from, each once. */
struct fd_numbers {
	int64_t *list;
	size_t n, capacity;
};

static void fd_numbers_deinit(struct fd_numbers *numbers)
{
	free(numbers->list);
}

static int compare_numbers(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static struct ebt_error *find_numbers(const struct fds *fds, uint32_t process,
				      struct fd_numbers *ret)
{
	struct ebt_error *err = NULL;
	size_t n = 0;

	for (unsigned int i = 0; i < MAX_PARENTS && process != NONE; i++) {
		const struct fd_owner *p = &fds->processes[process];

		for (uint32_t d = p->first; !err && d != NONE; d = fds->descriptors[d].next) {
			err = ebt_array_reserve(&ret->list, ret->n, &ret->capacity);
			if (!err)
				ret->list[ret->n++] = fds->descriptors[d].fd;
		}
		process = p->parent;
	}
	if (err || !ret->n)
		return err;
	qsort(ret->list, ret->n, sizeof(*ret->list), compare_numbers);
	for (size_t i = 0; i < ret->n; i++) {
		if (!n || ret->list[n - 1] != ret->list[i])
			ret->list[n++] = ret->list[i];
	}
	ret->n = n;
	return NULL;
}

static bool is_same(const struct fd_file *a, const struct fd_file *b)
{
	return a->mount == b->mount && inode_key_equal(&a->key, &b->key);
}

/* Since when the process has had this file under this number, if it made it. */
static bool find_beginning(const struct fds *fds, uint32_t process, int64_t fd, uint64_t time,
			   uint32_t file, uint64_t *ret)
{
	const struct descriptor *d = find_descriptor(fds, process, fd);

	for (uint32_t i = d ? d->n : 0; i-- > 0;) {
		if (d->changes[i].time > time)
			continue;
		if (d->changes[i].file == NONE ||
		    !is_same(&fds->files[d->changes[i].file], &fds->files[file]))
			return false;
		if (!d->changes[i].tid) {
			*ret = d->changes[i].time;
			return true;
		}
	}
	return false;
}

static struct ebt_error *held_by(const struct fds *fds, uint32_t process, uint64_t time,
				 fd_held_fn *fn, void *arg)
{
	const struct fd_owner *p = &fds->processes[process];
	_cleanup_(fd_numbers_deinit) struct fd_numbers numbers = { 0 };
	struct ebt_error *err = find_numbers(fds, process, &numbers);

	for (size_t i = 0; !err && i < numbers.n; i++) {
		const uint32_t file = file_at(fds, process, numbers.list[i], time);
		struct fd_held held = { .task = p->task, .pid = p->pid };

		if (file == NONE)
			continue;
		held.fd = numbers.list[i];
		held.file = &fds->files[file];
		held.made = find_beginning(fds, process, held.fd, time, file, &held.since);
		err = fn(arg, &held);
	}
	return err;
}

struct ebt_error *fds_held_by(const struct fds *fds, const struct ebt_task *task, uint64_t time,
			      fd_held_fn *fn, void *arg)
{
	const uint32_t process = task && task->pid ? find_process(fds, task->pid) : NONE;

	return process == NONE || fds->processes[process].ended != UINT64_MAX
		       ? NULL
		       : held_by(fds, process, time, fn, arg);
}

struct ebt_error *fds_held(const struct fds *fds, uint64_t time, fd_held_fn *fn, void *arg)
{
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < fds->n_processes; i++) {
		if (fds->processes[i].ended > time)
			err = held_by(fds, i, time, fn, arg);
	}
	return err;
}

struct ebt_error *fds_close_on_exec(struct fds *fds, const struct ebt_task *task, int64_t fd,
				    bool on_exec, uint64_t time)
{
	const struct fd_file *now = fds_at(fds, task, fd, time);
	struct change to = { .time = time };
	struct fd_file file;
	struct ebt_error *err;

	if (!now || !(now->flags & O_CLOEXEC) == !on_exec)
		return NULL;
	file = *now;
	file.flags ^= O_CLOEXEC;
	to.tid = task->tid;
	err = intern_file(fds, &file, &to.file);
	return err ?: change(fds, task, fd, &to);
}

struct ebt_error *fds_close_range(struct fds *fds, const struct ebt_task *task, int64_t first,
				  int64_t last, bool on_exec, uint64_t time)
{
	_cleanup_(fd_numbers_deinit) struct fd_numbers numbers = { 0 };
	const uint32_t process = task && task->pid ? find_process(fds, task->pid) : NONE;
	struct ebt_error *err = process == NONE ? NULL : find_numbers(fds, process, &numbers);

	for (size_t i = 0; !err && i < numbers.n; i++) {
		if (numbers.list[i] < first || numbers.list[i] > last)
			continue;
		err = on_exec ? fds_close_on_exec(fds, task, numbers.list[i], true, time)
			      : fds_close(fds, task, numbers.list[i], time);
	}
	return err;
}

uint32_t fds_number(const struct fds *fds, const struct fd_file *file)
{
	return (uint32_t)(file - fds->files);
}

void fd_file_name_add(const struct fd_file *file, const struct inode_paths *paths,
		      struct text *text)
{
	bool is_named;

	if (file->type == EBT_V_fd_type_socket) {
		text_printf(text, "socket:[%" PRIu64 "]", file->key.inode);
		return;
	}
	if (file->type == EBT_V_fd_type_fifo && !file->key.name_hash) {
		text_printf(text, "pipe:[%" PRIu64 "]", file->key.inode);
		return;
	}
	is_named = inode_paths_is_named(paths, &file->key);
	/* In no folder. */
	if (is_named && file->type == EBT_V_fd_type_other)
		text_cstr(text, "anon_inode:");
	else if (is_named && !inode_paths_is_absolute(paths, &file->key))
		text_addc(text, '/');
	inode_paths_add_of_mount(paths, &file->key, file->mount, text);
}

bool fd_file_is_deleted(const struct fd_file *file, const struct inode_paths *paths)
{
	return file->deleted ||
	       (file->type == EBT_V_fd_type_regular && inode_paths_is_named(paths, &file->key) &&
		!inode_paths_is_absolute(paths, &file->key));
}
