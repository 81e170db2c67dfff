/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of programs of the system, kernel threads, files of the system; see scrub_known.h. */
#include "report/share/scrub_known.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "report/share/scrub_names.h"
#include "report/share/scrub_text.h"

/* TASK_COMM_LEN. */
#define COMM_SIZE 16

/* Names of more programs of the system are no known ones. */
#define MOST_COMMS (1u << 20)

struct comm {
	char text[COMM_SIZE]; /* filled up with NUL */
};

struct scrub_known {
	struct ebt_reader *reader;
	struct scrub_names *programs;
	struct ebt_map names; /* comm_hash() to an index of `comms` */
	struct comm *comms;
	size_t n_comms, capacity;
	struct ebt_map kernel;	/* ids of tasks */
	struct ebt_map objects; /* their numbers */
};

DEFINE_CLEANUP(struct scrub_known *, scrub_known_destroy);

void scrub_known_destroy(struct scrub_known *known)
{
	if (!known)
		return;
	ebt_map_deinit(&known->names);
	free(known->comms);
	ebt_map_deinit(&known->kernel);
	ebt_map_deinit(&known->objects);
	free(known);
}

static struct comm comm_of(struct ebt_str s)
{
	struct comm comm = { { 0 } };

	memcpy(comm.text, s.data, s.len < COMM_SIZE - 1 ? s.len : COMM_SIZE - 1);
	return comm;
}

static bool find_comm(const struct scrub_known *known, const struct comm *comm, uint64_t hash)
{
	size_t at = 0;
	uint32_t i;

	while ((i = ebt_map_next(&known->names, hash, &at)) != EBT_MAP_NONE) {
		if (!memcmp(&known->comms[i], comm, sizeof(*comm)))
			return true;
	}
	return false;
}

static uint64_t comm_hash(const struct comm *comm)
{
	return ebt_hash_bytes(0, comm, sizeof(*comm));
}

/* --- reading --- */

static struct ebt_error *add_path(struct scrub_known *known, struct ebt_str path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
	struct ebt_error *err;
	struct comm comm;
	uint64_t hash;

	if (!slash || !scrub_is_system_path(path))
		return NULL;
	comm = comm_of((struct ebt_str){ slash + 1, path.len - (size_t)(slash + 1 - path.data) });
	hash = comm_hash(&comm);
	if (known->n_comms == MOST_COMMS || find_comm(known, &comm, hash))
		return NULL;
	err = ebt_array_reserve(&known->comms, known->n_comms, &known->capacity);
	if (err)
		return err;
	known->comms[known->n_comms] = comm;
	return ebt_map_insert(&known->names, hash, (uint32_t)known->n_comms++);
}

/* Of a file that is run. */
static struct ebt_error *add_program(struct scrub_known *known, struct ebt_str path)
{
	struct ebt_str name = scrub_file_name(path);

	return add_path(known, path)
		       ?: name.len ? scrub_names_program(known->programs, name)
				   : NULL;
}

static struct ebt_error *add_kernel(struct scrub_known *known, const struct ebt_task *task)
{
	uint32_t i;

	return task ? ebt_map_add(&known->kernel, task->id, 0, &i) : NULL;
}

static struct ebt_error *add_object(struct scrub_known *known, const struct ebt_row *row)
{
	uint32_t i;

	if (!scrub_is_system_path(ebt_name_object_path(row)))
		return NULL;
	return ebt_map_add(&known->objects, ebt_name_object_object_id(row), 0, &i);
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
		if (ebt_process_kernel(row)) {
			err = add_kernel(known, ebt_process_task(row));
			if (err)
				return err;
		}
		return add_program(known, ebt_process_exe(row));
	case EBT_T_task_fork:
		return take_fork(known, row);
	case EBT_T_task_exec:
		return add_program(known, ebt_task_exec_filename(row));
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
		EBT_WANT(process, task, exe, kernel),	EBT_WANT(task_fork, parent, child),
		EBT_WANT(task_exec, filename),		EBT_WANT(mmap, path),
		EBT_WANT(name_object, object_id, path),
	};
	const struct ebt_query query = { .wants = wants,
					 .n_wants = sizeof(wants) / sizeof(wants[0]) };

	return ebt_read_rows(known->reader, &query, take_row, known);
}

struct ebt_error *scrub_known_create(struct ebt_reader *reader, struct scrub_names *names,
				     struct scrub_known **ret)
{
	_cleanup_(scrub_known_destroyp) struct scrub_known *known = calloc(1, sizeof(*known));
	struct ebt_error *err;

	if (!known)
		return &ebt_enomem;
	known->reader = reader;
	known->programs = names;
	err = read_all(known);
	if (err)
		return err;
	*ret = take_ptr(known);
	return NULL;
}

/* --- answers --- */

bool scrub_known_kernel(const struct scrub_known *known, const struct ebt_task *task)
{
	uint32_t i;

	return task && ebt_map_find(&known->kernel, task->id, &i);
}

bool scrub_known_name(const struct scrub_known *known, struct ebt_str s)
{
	struct comm comm = comm_of(s);

	return s.len < COMM_SIZE && find_comm(known, &comm, comm_hash(&comm));
}

bool scrub_known_object(const struct scrub_known *known, uint64_t id)
{
	uint32_t i;

	return ebt_map_find(&known->objects, id, &i);
}
