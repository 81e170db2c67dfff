/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making traces, and comparing what is read from them. */
#include "tests/tools/make_trace.h"

#include <fcntl.h>
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/write/writer.h"

#define START	UINT64_C(1000000000000)
#define STEP_NS 1000

struct maker {
	const struct make_trace *options;
	struct ebt_writer *writer;
	struct ebt_stream *stream[4];
	struct ebt_record rec;
	struct made_rows *rows;
	uint64_t random;
};

void assert_no_error(struct ebt_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

static uint64_t next_random(struct maker *maker)
{
	maker->random ^= maker->random << 13;
	maker->random ^= maker->random >> 7;
	maker->random ^= maker->random << 17;
	return maker->random;
}

unsigned char make_trace_byte(unsigned int i)
{
	return (unsigned char)(i * 2654435761u >> 13);
}

static void resolve_task(void *arg, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret)
{
	(void)arg;
	(void)time_ns;
	*ret = (struct ebt_task_id){ .tid = tid, .pid = tid / 4 * 4, .start_ns = tid * 1000003u };
	snprintf(ret->comm, sizeof(ret->comm), "task-%u", tid);
}

static void add(struct maker *maker, struct ebt_stream *stream)
{
	assert_no_error(ebt_record_add(&maker->rec, stream));
}

static uint32_t some_tid(struct maker *maker)
{
	return 100 + (uint32_t)(next_random(maker) % 40);
}

static void add_stack(struct maker *maker, size_t ref, bool user)
{
	uint64_t addresses[24], n = 1 + next_random(maker) % 24, base = 0xffffffff81000000;

	for (uint64_t i = 0; i < n; i++)
		addresses[i] = (user ? 0x7f0000000000 : base) + (next_random(maker) % 64 << 8);
	ebt_record_stack(&maker->rec, ref, user ? EBT_STACK_USER : 0, addresses, n);
}

static void add_switch(struct maker *maker, struct ebt_stream *stream, uint64_t time)
{
	struct ebt_wire_sched_switch *row = ebt_record_begin(&maker->rec, EBT_T_sched_switch, time);

	row->cpu = (uint32_t)(next_random(maker) % 8);
	row->prev = some_tid(maker);
	row->next = next_random(maker) % 8 ? some_tid(maker) : 0;
	row->prev_state = (uint32_t)(next_random(maker) % 3);
	row->preempt = (uint32_t)(next_random(maker) & 1);
	if (next_random(maker) % 2)
		add_stack(maker, offsetof(struct ebt_wire_sched_switch, kstack), false);
	if (next_random(maker) % 4 == 0)
		add_stack(maker, offsetof(struct ebt_wire_sched_switch, ustack), true);
	add(maker, stream);
	maker->rows->sched_switch++;
}

static void add_waking(struct maker *maker, struct ebt_stream *stream, uint64_t time)
{
	struct ebt_wire_sched_waking *row = ebt_record_begin(&maker->rec, EBT_T_sched_waking, time);

	row->cpu = (uint32_t)(next_random(maker) % 8);
	row->waker = some_tid(maker);
	row->wakee = some_tid(maker);
	row->kind = next_random(maker) % 50 == 0 ? EBT_V_sched_waking_kind_new
						 : EBT_V_sched_waking_kind_waking;
	add(maker, stream);
	maker->rows->sched_waking++;
}

static void add_syscall(struct maker *maker, struct ebt_stream *stream, uint64_t time)
{
	struct ebt_wire_syscall *row = ebt_record_begin(&maker->rec, EBT_T_syscall, time);

	row->cpu = (uint32_t)(next_random(maker) % 8);
	row->task = some_tid(maker);
	row->nr = (uint32_t)(next_random(maker) % 300);
	row->duration = 200 + next_random(maker) % 3000;
	row->ret = next_random(maker) % 10 ? (int64_t)(next_random(maker) % 4096) : -11;
	row->arg0 = next_random(maker) % 32;
	row->arg1 = 0x7ffc00000000 + next_random(maker) % 65536;
	row->arg2 = 4096;
	add(maker, stream);
	maker->rows->syscall++;
}

static void add_fork(struct maker *maker, struct ebt_stream *stream, uint64_t time)
{
	struct ebt_wire_task_fork *row = ebt_record_begin(&maker->rec, EBT_T_task_fork, time);

	row->parent = some_tid(maker);
	row->child = some_tid(maker);
	row->child_pid = row->child;
	row->child_start = time - 10;
	ebt_record_str(&maker->rec, offsetof(struct ebt_wire_task_fork, comm), "a\x1b[31m\"b\\");
	add(maker, stream);
	maker->rows->task_fork++;
}

static void add_mmap(struct maker *maker, struct ebt_stream *stream, uint64_t time)
{
	static const unsigned char build_id[20] = { 0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3 };
	struct ebt_wire_mmap *row = ebt_record_begin(&maker->rec, EBT_T_mmap, time);
	char path[64];

	row->task = some_tid(maker);
	row->start = 0x7f0000000000 + (next_random(maker) % 256 << 12);
	row->length = 4096;
	row->prot = 5;
	row->flags = 2;
	snprintf(path, sizeof(path), "/usr/lib/lib%u.so", (unsigned int)next_random(maker) % 20);
	ebt_record_str(&maker->rec, offsetof(struct ebt_wire_mmap, path), path);
	ebt_record_bytes(&maker->rec, offsetof(struct ebt_wire_mmap, build_id), build_id,
			 sizeof(build_id));
	add(maker, stream);
	maker->rows->mmap++;
}

static void add_meta(struct maker *maker, const char *key, const char *value)
{
	ebt_record_begin(&maker->rec, EBT_T_meta, START);
	ebt_record_str(&maker->rec, offsetof(struct ebt_wire_meta, key), key);
	ebt_record_str(&maker->rec, offsetof(struct ebt_wire_meta, value), value);
	add(maker, maker->stream[0]);
}

static void add_file(struct maker *maker)
{
	unsigned int size = maker->options->file_size, piece = 1000;
	struct ebt_wire_file *file = ebt_record_begin(&maker->rec, EBT_T_file, START);

	file->file_id = 7;
	file->size = size;
	file->sensitivity = EBT_V_file_sensitivity_host;
	ebt_record_str(&maker->rec, offsetof(struct ebt_wire_file, role), "os-release");
	ebt_record_str(&maker->rec, offsetof(struct ebt_wire_file, path), "/etc/os-release");
	add(maker, maker->stream[0]);
	for (unsigned int at = 0; at < size; at += piece) {
		unsigned int n = size - at < piece ? size - at : piece;
		struct ebt_wire_file_data *data;
		unsigned char bytes[1000];

		for (unsigned int i = 0; i < n; i++)
			bytes[i] = make_trace_byte(at + i);
		data = ebt_record_begin(&maker->rec, EBT_T_file_data, START);
		data->file_id = 7;
		data->offset = at;
		ebt_record_bytes(&maker->rec, offsetof(struct ebt_wire_file_data, content), bytes,
				 n);
		add(maker, maker->stream[0]);
	}
}

static void step(struct maker *maker, unsigned int i)
{
	const struct make_trace *options = maker->options;
	struct ebt_stream *stream = maker->stream[next_random(maker) % options->streams];
	/* Streams are not in step with each other: chunks overlap, and times repeat. */
	uint64_t time = START + (uint64_t)i * STEP_NS - next_random(maker) % (3 * STEP_NS);

	add_switch(maker, stream, time);
	if (i % 2)
		add_waking(maker, stream, time);
	if (i % 3)
		add_syscall(maker, stream, time + 7);
	if (i % 10 == 0)
		add_fork(maker, stream, time + 9);
	if (i % 16 == 0)
		add_mmap(maker, maker->stream[0], time + 9);
	if (options->flush_every && i % options->flush_every == 0) {
		for (unsigned int k = 0; k < options->streams; k++)
			assert_no_error(ebt_stream_flush(maker->stream[k], time, true));
	}
	if (options->epoch_every && i && i % options->epoch_every == 0)
		assert_no_error(ebt_writer_next_epoch(maker->writer));
}

void make_trace(const struct make_trace *options, struct made_rows *ret)
{
	struct made_rows rows = { 0 };
	struct maker maker = { .options = options, .rows = &rows, .random = 88172645463325252 };
	struct ebt_writer_options writer = {
		.fd = open(options->path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600),
		.name = options->path,
		.streams = options->streams,
		.resolve_task = resolve_task,
	};

	if (options->part)
		writer.window = (struct ebt_window){ START + 5 * STEP_NS,
						     START + (options->steps - 10) * STEP_NS };
	assert_true(writer.fd >= 0);
	assert_no_error(ebt_writer_create(&writer, &maker.writer));
	for (unsigned int i = 0; i < options->streams; i++)
		assert_no_error(ebt_writer_add_stream(maker.writer, &maker.stream[i]));
	add_meta(&maker, "host.release", "6.18.0");
	add_meta(&maker, "option.freq", "99");
	add_meta(&maker, "option.freq", "999");
	if (options->file_size)
		add_file(&maker);
	for (unsigned int i = 0; i < options->steps; i++)
		step(&maker, i);
	for (unsigned int i = 0; i < options->streams; i++)
		assert_no_error(ebt_stream_flush(maker.stream[i], UINT64_MAX, true));
	if (!options->unfinished)
		assert_no_error(ebt_writer_finish(maker.writer));
	ebt_writer_destroy(maker.writer);
	ebt_record_deinit(&maker.rec);
	close(writer.fd);
	if (ret)
		*ret = rows;
}

char *make_temporary_path(const char *name)
{
	char dir[] = "/tmp/ebt-test-XXXXXX";
	char *path;

	assert_non_null(mkdtemp(dir));
	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	return path;
}

void free_temporary_path(char *path)
{
	unlink(path);
	rmdir(dirname(path));
	free(path);
}

static uint64_t mix(uint64_t hash, uint64_t v)
{
	hash = (hash ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, struct ebt_str s)
{
	hash = mix(hash, s.len);
	for (size_t i = 0; i < s.len; i++)
		hash = mix(hash, (unsigned char)s.data[i]);
	return hash;
}

static uint64_t mix_task(uint64_t hash, const struct ebt_task *task)
{
	if (!task)
		return mix(hash, 1);
	hash = mix(mix(mix(hash, task->tid), task->pid), task->start_ns);
	return mix_bytes(hash, task->comm);
}

static uint64_t mix_stack(uint64_t hash, const struct ebt_stack *stack)
{
	if (!stack)
		return mix(hash, 2);
	hash = mix(mix(hash, stack->attrs), stack->n);
	for (uint32_t i = 0; i < stack->n; i++)
		hash = mix(hash, stack->addresses[i]);
	return hash;
}

uint64_t hash_row(const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	uint64_t hash = mix(table->id, row->time);

	for (uint32_t i = 0; i < table->n_fields; i++) {
		if (!row->batch->col[i])
			continue;
		hash = mix(hash, table->fields[i].id);
		if (table->fields[i].type == EBT_TYPE_TASK)
			hash = mix_task(hash, ebt_task(row, i));
		else if (table->fields[i].type == EBT_TYPE_STACK)
			hash = mix_stack(hash, ebt_stack(row, i));
		else if (table->fields[i].type == EBT_TYPE_STRING ||
			 table->fields[i].type == EBT_TYPE_BYTES)
			hash = mix_bytes(hash, ebt_str(row, i));
		else
			hash = mix(hash, ebt_u64(row, i));
	}
	return hash;
}

struct ebt_cursor *cursor_over_all(struct ebt_reader *reader)
{
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(reader, &n);
	struct ebt_want *wants = calloc(n, sizeof(*wants));
	struct ebt_query query = { .wants = wants, .n_wants = n };
	struct ebt_cursor *cursor;

	assert_non_null(wants);
	for (size_t i = 0; i < n; i++)
		wants[i] = (struct ebt_want){ tables[i].id, ~UINT64_C(0) };
	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	free(wants);
	return cursor;
}
