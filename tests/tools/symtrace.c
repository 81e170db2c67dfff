/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of address spaces; see symtrace.h. */
#include "tests/tools/symtrace.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/write/writer.h"
#include "tests/tools/make_trace.h"

#define MAX_TASKS 1024

struct symtrace {
	char *path;
	int fd;
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	struct ebt_record rec;
	struct ebt_reader *reader;
	struct ebt_task_id tasks[MAX_TASKS];
	size_t n_tasks;
	uint64_t last_file;
};

/* The incarnation of the tid that had begun by then. */
static const struct ebt_task_id *task_at(const struct symtrace *trace, uint32_t tid, uint64_t time)
{
	const struct ebt_task_id *best = NULL;

	for (size_t i = 0; i < trace->n_tasks; i++) {
		if (trace->tasks[i].tid == tid && trace->tasks[i].start_ns <= time)
			best = &trace->tasks[i];
	}
	return best;
}

static void resolve_task(void *arg, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret)
{
	const struct ebt_task_id *task = task_at(arg, tid, time_ns);

	*ret = task ? *task : (struct ebt_task_id){ .tid = tid };
}

struct symtrace *symtrace_create(void)
{
	struct symtrace *trace = calloc(1, sizeof(*trace));
	struct ebt_writer_options options;

	assert_non_null(trace);
	trace->path = make_temporary_path("symbols.ebt");
	trace->fd = open(trace->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(trace->fd >= 0);
	options = (struct ebt_writer_options){
		.fd = trace->fd,
		.name = trace->path,
		.resolve_task = resolve_task,
		.resolve_arg = trace,
	};
	assert_no_error(ebt_writer_create(&options, &trace->writer));
	assert_no_error(ebt_writer_add_stream(trace->writer, &trace->stream));
	return trace;
}

void symtrace_destroy(struct symtrace *trace)
{
	ebt_reader_close(trace->reader);
	ebt_writer_destroy(trace->writer);
	ebt_record_deinit(&trace->rec);
	close(trace->fd);
	free_temporary_path(trace->path);
	free(trace);
}

void symtrace_task(struct symtrace *trace, uint32_t tid, uint32_t pid, uint64_t start_ns)
{
	assert_true(trace->n_tasks < MAX_TASKS);
	trace->tasks[trace->n_tasks++] =
		(struct ebt_task_id){ .tid = tid, .pid = pid, .start_ns = start_ns };
}

static void add(struct symtrace *trace)
{
	assert_no_error(ebt_record_add(&trace->rec, trace->stream));
}

void symtrace_mmap(struct symtrace *trace, uint64_t time, uint32_t tid,
		   const struct symtrace_mapping *mapping)
{
	struct ebt_wire_mmap *row = ebt_record_begin(&trace->rec, EBT_T_mmap, time);

	row->task = tid;
	row->origin = mapping->snapshot ? EBT_V_mmap_origin_snapshot : EBT_V_mmap_origin_event;
	row->start = mapping->start;
	row->length = mapping->length;
	row->pgoff = mapping->pgoff;
	row->prot = 5;
	ebt_record_str(&trace->rec, offsetof(struct ebt_wire_mmap, path), mapping->path);
	ebt_record_bytes(&trace->rec, offsetof(struct ebt_wire_mmap, build_id), mapping->id.bytes,
			 mapping->id.len);
	add(trace);
}

void symtrace_fork(struct symtrace *trace, uint64_t time, uint32_t parent, uint32_t child,
		   bool thread)
{
	struct ebt_wire_task_fork *row = ebt_record_begin(&trace->rec, EBT_T_task_fork, time);
	const struct ebt_task_id *task = task_at(trace, child, time);

	row->parent = parent;
	row->child = child;
	row->child_pid = task->pid;
	row->child_start = task->start_ns;
	row->thread = thread;
	add(trace);
}

void symtrace_exec(struct symtrace *trace, uint64_t time, uint32_t pid, const char *filename)
{
	struct ebt_wire_task_exec *row = ebt_record_begin(&trace->rec, EBT_T_task_exec, time);
	const struct ebt_task_id *task = task_at(trace, pid, time);

	row->task = row->pid = row->old_tid = pid;
	row->start = task->start_ns;
	ebt_record_str(&trace->rec, offsetof(struct ebt_wire_task_exec, filename), filename);
	add(trace);
}

void symtrace_exit(struct symtrace *trace, uint64_t time, uint32_t tid)
{
	struct ebt_wire_task_exit *row = ebt_record_begin(&trace->rec, EBT_T_task_exit, time);

	row->task = tid;
	row->group_dead = 1;
	add(trace);
}

void symtrace_process(struct symtrace *trace, uint64_t time, uint32_t tid)
{
	struct ebt_wire_process *row = ebt_record_begin(&trace->rec, EBT_T_process, time);

	row->task = tid;
	add(trace);
}

void symtrace_ksymbol(struct symtrace *trace, uint64_t time, uint64_t address, uint32_t length,
		      bool unregister, const char *name)
{
	struct ebt_wire_ksymbol *row = ebt_record_begin(&trace->rec, EBT_T_ksymbol, time);

	row->address = address;
	row->length = length;
	row->type = EBT_V_ksymbol_type_bpf;
	row->unregister = unregister;
	ebt_record_str(&trace->rec, offsetof(struct ebt_wire_ksymbol, name), name);
	add(trace);
}

void symtrace_file(struct symtrace *trace, const char *role, const void *data, size_t len)
{
	symtrace_file_of(trace, 0, 0, role, data, len);
}

void symtrace_file_of(struct symtrace *trace, uint64_t time, uint32_t pid, const char *role,
		      const void *data, size_t len)
{
	const struct symtrace_embedded file = {
		.role = role,
		.path = role,
		.time = time,
		.pid = pid,
	};

	symtrace_embed(trace, &file, data, len);
}

void symtrace_embed(struct symtrace *trace, const struct symtrace_embedded *file, const void *data,
		    size_t len)
{
	const size_t piece = 512 << 10;
	uint64_t id = ++trace->last_file;
	struct ebt_wire_file *row = ebt_record_begin(&trace->rec, EBT_T_file, file->time);

	row->file_id = id;
	row->pid = file->pid;
	row->ns = file->ns;
	row->size = len;
	ebt_record_str(&trace->rec, offsetof(struct ebt_wire_file, role), file->role);
	ebt_record_str(&trace->rec, offsetof(struct ebt_wire_file, path), file->path);
	add(trace);
	for (size_t at = 0; at < len; at += piece) {
		struct ebt_wire_file_data *part = ebt_record_begin(&trace->rec, EBT_T_file_data, 0);

		part->file_id = id;
		part->offset = at;
		ebt_record_bytes(&trace->rec, offsetof(struct ebt_wire_file_data, content),
				 (const char *)data + at, len - at < piece ? len - at : piece);
		add(trace);
	}
}

void symtrace_view(struct symtrace *trace, uint64_t time, uint32_t tid, uint64_t mnt_ns,
		   const char *root, const char *cgroup)
{
	struct ebt_wire_process *row = ebt_record_begin(&trace->rec, EBT_T_process, time);

	row->task = tid;
	row->mnt_ns = mnt_ns;
	ebt_record_str(&trace->rec, offsetof(struct ebt_wire_process, root), root);
	ebt_record_str(&trace->rec, offsetof(struct ebt_wire_process, cgroup), cgroup);
	add(trace);
}

void symtrace_object(struct symtrace *trace, const struct symtrace_object *object)
{
	struct ebt_wire_object *row = ebt_record_begin(&trace->rec, EBT_T_object, 0);

	row->size = object->size;
	row->mtime = object->mtime_ns;
	ebt_record_str(&trace->rec, offsetof(struct ebt_wire_object, path), object->path);
	ebt_record_bytes(&trace->rec, offsetof(struct ebt_wire_object, build_id), object->id.bytes,
			 object->id.len);
	if (object->hash)
		ebt_record_bytes(&trace->rec, offsetof(struct ebt_wire_object, hash), object->hash,
				 16);
	ebt_record_bytes(&trace->rec, offsetof(struct ebt_wire_object, segments), object->segments,
			 object->segments_len);
	add(trace);
}

void symtrace_meta(struct symtrace *trace, const char *key, const char *value)
{
	ebt_record_begin(&trace->rec, EBT_T_meta, 0);
	ebt_record_str(&trace->rec, offsetof(struct ebt_wire_meta, key), key);
	ebt_record_str(&trace->rec, offsetof(struct ebt_wire_meta, value), value);
	add(trace);
}

struct ebt_reader *symtrace_read(struct symtrace *trace)
{
	assert_no_error(ebt_writer_finish(trace->writer));
	assert_no_error(ebt_reader_open(trace->path, &trace->reader));
	return trace->reader;
}
