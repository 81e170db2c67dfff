/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of programs of the system, kernel threads, files of the system; see scrub_known.h. */
#include "report/share/scrub_known.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/share/scrub_text.h"

/* TASK_COMM_LEN. */
#define COMM_SIZE 16

struct known_name {
	char text[COMM_SIZE]; /* filled up with NUL */
};

struct scrub_known {
	struct ebt_reader *reader;
	struct known_name *names; /* sorted once all are there */
	size_t n_names, names_capacity;
	uint32_t *kernel; /* ids of tasks, in order of coming, then sorted */
	size_t n_kernel, kernel_capacity;
	uint64_t *objects;
	size_t n_objects, objects_capacity;
};

DEFINE_CLEANUP(struct scrub_known *, scrub_known_destroy);

void scrub_known_destroy(struct scrub_known *known)
{
	if (!known)
		return;
	free(known->names);
	free(known->kernel);
	free(known->objects);
	free(known);
}

static int compare_names(const void *a, const void *b)
{
	return memcmp(a, b, COMM_SIZE);
}

static int compare_ids(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static int compare_objects(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

typedef int compare_fn(const void *a, const void *b);

/* Sorts, and leaves one of those that are the same. */
static size_t sort_out(void *array, size_t n, size_t size, compare_fn *compare)
{
	char *items = array;
	size_t kept = 0;

	if (n)
		qsort(items, n, size, compare);
	for (size_t i = 0; i < n; i++) {
		if (kept && !compare(items + (kept - 1) * size, items + i * size))
			continue;
		memmove(items + kept++ * size, items + i * size, size);
	}
	return kept;
}

/* The array with room for one element more, or NULL. Rows say the same over and over. */
static void *grown(void *array, size_t *n, size_t *capacity, size_t size, compare_fn *compare)
{
	void *more;

	if (*n < *capacity)
		return array;
	*n = sort_out(array, *n, size, compare);
	if (*n < *capacity - *capacity / 4)
		return array;
	more = reallocarray(array, *capacity ? *capacity * 2 : 64, size);
	if (more)
		*capacity = *capacity ? *capacity * 2 : 64;
	return more;
}

static struct known_name comm_of(struct ebt_str s)
{
	struct known_name name = { { 0 } };

	memcpy(name.text, s.data, s.len < COMM_SIZE - 1 ? s.len : COMM_SIZE - 1);
	return name;
}

/* --- reading --- */

static struct ebt_error *add_path(struct scrub_known *known, struct ebt_str path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
	struct known_name *names, name;

	if (!slash || !scrub_is_system_path(path))
		return NULL;
	name = comm_of((struct ebt_str){ slash + 1, path.len - (size_t)(slash + 1 - path.data) });
	if (known->n_names && !compare_names(&known->names[known->n_names - 1], &name))
		return NULL;
	names = grown(known->names, &known->n_names, &known->names_capacity, sizeof(*names),
		      compare_names);
	if (!names)
		return &ebt_enomem;
	known->names = names;
	names[known->n_names++] = name;
	return NULL;
}

static struct ebt_error *add_kernel(struct scrub_known *known, const struct ebt_task *task)
{
	uint32_t *kernel;

	if (!task)
		return NULL;
	kernel = grown(known->kernel, &known->n_kernel, &known->kernel_capacity, sizeof(*kernel),
		       compare_ids);
	if (!kernel)
		return &ebt_enomem;
	known->kernel = kernel;
	kernel[known->n_kernel++] = task->id;
	return NULL;
}

static struct ebt_error *add_object(struct scrub_known *known, const struct ebt_row *row)
{
	uint64_t *objects;

	if (!scrub_is_system_path(ebt_name_object_path(row)))
		return NULL;
	objects = grown(known->objects, &known->n_objects, &known->objects_capacity,
			sizeof(*objects), compare_objects);
	if (!objects)
		return &ebt_enomem;
	known->objects = objects;
	objects[known->n_objects++] = ebt_name_object_object_id(row);
	return NULL;
}

/* kthreadd makes threads while the recording runs: whom a kernel thread makes is one. */
static struct ebt_error *take_fork(struct scrub_known *known, const struct ebt_row *row)
{
	const struct ebt_task *parent = ebt_task_fork_parent(row);

	if (parent && parent->tid == 2 && parent->comm.len == 8 &&
	    !memcmp(parent->comm.data, "kthreadd", 8))
		return add_kernel(known, ebt_task_fork_child(row));
	return NULL;
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct scrub_known *known = arg;
	struct ebt_error *err;

	switch (row->batch->table->id) {
	case EBT_T_process:
		err = add_path(known, ebt_process_exe(row));
		if (!err && ebt_process_kernel(row))
			err = add_kernel(known, ebt_process_task(row));
		return err;
	case EBT_T_task_fork:
		return take_fork(known, row);
	case EBT_T_task_exec:
		return add_path(known, ebt_task_exec_filename(row));
	case EBT_T_mmap:
		return add_path(known, ebt_mmap_path(row));
	case EBT_T_name_object:
		return add_object(known, row);
	}
	return NULL;
}

static struct ebt_error *read_all(struct scrub_known *known)
{
	const struct ebt_want wants[] = {
		{ EBT_T_process,
		  EBT_COL(process, task) | EBT_COL(process, exe) | EBT_COL(process, kernel) },
		{ EBT_T_task_fork, EBT_COL(task_fork, parent) | EBT_COL(task_fork, child) },
		{ EBT_T_task_exec, EBT_COL(task_exec, filename) },
		{ EBT_T_mmap, EBT_COL(mmap, path) },
		{ EBT_T_name_object, EBT_COL(name_object, object_id) | EBT_COL(name_object, path) },
	};
	const struct ebt_query query = { .wants = wants,
					 .n_wants = sizeof(wants) / sizeof(wants[0]) };

	return ebt_read_rows(known->reader, &query, take_row, known);
}

struct ebt_error *scrub_known_create(struct ebt_reader *reader, struct scrub_known **ret)
{
	_cleanup_(scrub_known_destroyp) struct scrub_known *known = calloc(1, sizeof(*known));
	struct ebt_error *err;

	if (!known)
		return &ebt_enomem;
	known->reader = reader;
	err = read_all(known);
	if (err)
		return err;
	known->n_names =
		sort_out(known->names, known->n_names, sizeof(*known->names), compare_names);
	known->n_kernel =
		sort_out(known->kernel, known->n_kernel, sizeof(*known->kernel), compare_ids);
	known->n_objects = sort_out(known->objects, known->n_objects, sizeof(*known->objects),
				    compare_objects);
	*ret = take_ptr(known);
	return NULL;
}

/* --- answers --- */

bool scrub_known_kernel(const struct scrub_known *known, const struct ebt_task *task)
{
	return task && known->n_kernel &&
	       bsearch(&task->id, known->kernel, known->n_kernel, sizeof(*known->kernel),
		       compare_ids);
}

bool scrub_known_name(const struct scrub_known *known, struct ebt_str s)
{
	struct known_name name = comm_of(s);

	return s.len < COMM_SIZE && known->n_names &&
	       bsearch(&name, known->names, known->n_names, sizeof(*known->names), compare_names);
}

bool scrub_known_object(const struct scrub_known *known, uint64_t id)
{
	return known->n_objects && bsearch(&id, known->objects, known->n_objects,
					   sizeof(*known->objects), compare_objects);
}
