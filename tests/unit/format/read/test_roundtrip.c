/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A property: random rows of every table, by several threads, are read back as they were. Rows
 * are compared by hashes of all that they say, as a set: their order is checked apart.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/read/reader.h"
#include "format/write/writer.h"

#define MAX_STREAMS 4

static void ok(struct ebt_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/* --- what a row says, as a hash --- */

struct seen {
	uint64_t time, hash;
	uint16_t table;
};

struct seen_list {
	struct seen *rows;
	size_t n, capacity;
};

static void hash_bytes(uint64_t *hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		*hash = (*hash ^ *p++) * UINT64_C(0x100000001b3);
}

static void hash_u64(uint64_t *hash, uint64_t v)
{
	hash_bytes(hash, &v, sizeof(v));
}

static void hash_string(uint64_t *hash, const void *data, size_t len)
{
	hash_u64(hash, len);
	hash_bytes(hash, data, len);
}

static void hash_stack(uint64_t *hash, uint32_t attrs, const uint64_t *addresses, size_t n)
{
	hash_u64(hash, attrs);
	hash_string(hash, addresses, n * sizeof(*addresses));
}

static void hash_task(uint64_t *hash, uint32_t tid, uint32_t pid, uint64_t start, const char *comm,
		      size_t len)
{
	hash_u64(hash, tid);
	hash_u64(hash, pid);
	hash_u64(hash, start);
	hash_string(hash, comm, len);
}

/* Two threads may not call cmocka's assertions at the same time: abort() instead. */
static void append(struct seen_list *list, uint64_t time, uint16_t table, uint64_t hash)
{
	if (list->n == list->capacity) {
		list->capacity = list->capacity ? list->capacity * 2 : 1024;
		list->rows = reallocarray(list->rows, list->capacity, sizeof(*list->rows));
		if (!list->rows)
			abort();
	}
	list->rows[list->n++] = (struct seen){ time, hash, table };
}

static int compare(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* --- making rows --- */

/* A third of the tids are born anew every few microseconds; names are any bytes. */
static void resolve(void *arg, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret)
{
	uint64_t span = tid % 3 ? UINT64_MAX : 1000 + tid % 7 * 5000, life = time_ns / span;
	uint64_t seed = tid * UINT64_C(1000003) + life;

	(void)arg;
	*ret = (struct ebt_task_id){ .tid = tid,
				     .pid = (uint32_t)next_random(&seed) >> tid % 32,
				     .start_ns = life * span };
	for (uint64_t i = 0, n = next_random(&seed) % sizeof(ret->comm); i < n; i++)
		ret->comm[i] = (char)(1 + next_random(&seed) % 255);
}

static uint64_t random_number(uint64_t *seed)
{
	uint64_t r = next_random(seed);

	return r % 8 ? next_random(seed) >> r % 64 : 0;
}

static uint64_t random_string(uint64_t *seed, unsigned char *ret, size_t max)
{
	uint64_t r = next_random(seed), again = r >> 32 & 0xff;
	size_t len = r % 5 ? (r >> 8) % 40 : r % 97 ? 0 : (r >> 8) % max;
	uint64_t *from = r & 1 ? &again : seed; /* half of them come again */

	if (r & 1)
		len = again % 20;
	for (size_t i = 0; i < len; i++)
		ret[i] = (unsigned char)next_random(from);
	return len;
}

struct producer {
	struct ebt_stream *stream;
	struct ebt_record rec;
	struct seen_list list;
	uint64_t seed, now;
	unsigned int rows;
	pthread_t thread;
};

static void random_ref(struct producer *p, const struct ebt_field *field, uint64_t *hash)
{
	static _Thread_local unsigned char bytes[8000];
	uint64_t addresses[60], r = next_random(&p->seed);
	size_t n;

	if (field->type != EBT_TYPE_STACK) {
		n = random_string(&p->seed, bytes, sizeof(bytes));
		ebt_record_bytes(&p->rec, field->wire_offset, bytes, n);
		hash_string(hash, bytes, n);
		return;
	}
	if (r % 4 == 0) {
		hash_u64(hash, 0); /* none */
		return;
	}
	n = r >> 8 & 1 ? r >> 16 & 3 : (r >> 16) % 60;
	for (size_t i = 0; i < n; i++)
		addresses[i] = n < 4 ? i * 16 : random_number(&p->seed);
	ebt_record_stack(&p->rec, field->wire_offset, n < 4 ? 0 : (uint32_t)(r >> 40), addresses,
			 n);
	hash_u64(hash, 1);
	hash_stack(hash, n < 4 ? 0 : (uint32_t)(r >> 40), addresses, n);
}

/* Puts a number where the field is in the record; returns the column's value. */
static uint64_t put_number(struct producer *p, const struct ebt_field *field)
{
	uint64_t v = random_number(&p->seed);
	uint32_t narrow;

	/* Sums of losses must fit their u32 in a chunk header. */
	if (field == &ebt_table_by_id(EBT_T_lost)->fields[EBT_F_lost_count])
		v %= 10000;
	narrow = (uint32_t)v;

	if (field->type == EBT_TYPE_TASK)
		narrow %= 50;
	if (field->wire_size == 8) {
		memcpy(p->rec.data + field->wire_offset, &v, 8);
		return v;
	}
	memcpy(p->rec.data + field->wire_offset, &narrow, 4);
	return field->type == EBT_TYPE_I64 ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

static struct ebt_error *add_row(struct producer *p, const struct ebt_table *table, uint64_t time)
{
	uint64_t hash = table->id;
	struct ebt_error *err;

	ebt_record_begin(&p->rec, (enum ebt_table_id)table->id, time);
	for (uint32_t i = 1; i < table->n_fields; i++) {
		const struct ebt_field *field = &table->fields[i];
		struct ebt_task_id task;
		uint64_t v;

		if (field->type >= EBT_TYPE_STACK) {
			random_ref(p, field, &hash);
			continue;
		}
		v = put_number(p, field);
		hash_u64(&hash, v);
		if (field->type == EBT_TYPE_TASK && v) {
			resolve(NULL, (uint32_t)v, time, &task);
			hash_task(&hash, task.tid, task.pid, task.start_ns, task.comm,
				  strnlen(task.comm, sizeof(task.comm)));
		}
	}
	err = ebt_record_add(&p->rec, p->stream);
	append(&p->list, time, table->id, hash);
	return err;
}

/* Tables 1 to 3 are the writer's own. */
static const struct ebt_table *random_table(uint64_t *seed)
{
	const struct ebt_table *table;

	do
		table = &ebt_tables[next_random(seed) % ebt_n_tables];
	while (table->id <= EBT_T_index);
	return table;
}

#define DISORDER 20000 /* rows may be this much late */

static void *produce(void *arg)
{
	struct producer *p = arg;

	for (unsigned int i = 0; i < p->rows; i++) {
		uint64_t r = next_random(&p->seed);
		struct ebt_error *err;

		p->now += r % 100;
		err = add_row(p, random_table(&p->seed),
			      p->now - (r >> 8 & 3 ? 0 : (r >> 16) % DISORDER));
		if (!err && r % 1009 == 0)
			err = ebt_stream_flush(p->stream, p->now, r & 1 << 20);
		if (err) {
			fprintf(stderr, "%s\n", err->message);
			abort();
		}
		if (r % 101 == 0)
			ebt_stream_set_low(p->stream, p->now - DISORDER);
	}
	return NULL;
}

/* --- reading them back --- */

static uint64_t hash_row(const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	uint64_t hash = table->id;

	for (uint32_t i = 1; i < table->n_fields; i++) {
		const struct ebt_stack *stack;
		const struct ebt_task *task;
		struct ebt_str str;

		switch (table->fields[i].type) {
		case EBT_TYPE_STACK:
			stack = ebt_stack(row, i);
			hash_u64(&hash, !!stack);
			if (stack)
				hash_stack(&hash, stack->attrs, stack->addresses, stack->n);
			break;
		case EBT_TYPE_STRING:
		case EBT_TYPE_BYTES:
			str = ebt_str(row, i);
			hash_string(&hash, str.data, str.len);
			break;
		case EBT_TYPE_TASK:
			task = ebt_task(row, i);
			hash_u64(&hash, task ? task->tid : 0);
			if (task)
				hash_task(&hash, task->tid, task->pid, task->start_ns,
					  task->comm.data, task->comm.len);
			break;
		default:
			hash_u64(&hash, ebt_u64(row, i));
		}
	}
	return hash;
}

static void read_all(struct ebt_reader *reader, struct seen_list *ret)
{
	struct ebt_want wants[EBT_MAX_TABLES];
	struct ebt_query query = { .wants = wants };
	struct ebt_row row = { 0 };
	struct ebt_cursor *cursor;
	struct seen before = { 0 };

	for (size_t i = 0; i < ebt_n_tables; i++) {
		if (ebt_tables[i].id > EBT_T_index)
			wants[query.n_wants++] =
				(struct ebt_want){ ebt_tables[i].id, ~UINT64_C(0) };
	}
	ok(ebt_cursor_create(reader, &query, &cursor));
	for (;;) {
		struct seen now;

		ok(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		now = (struct seen){ .time = row.time, .table = row.batch->table->id };
		assert_true(compare(&before, &now) <= 0);
		assert_true(ebt_u64(&row, 0) == row.time);
		append(ret, row.time, now.table, hash_row(&row));
		before = now;
	}
	ebt_cursor_destroy(cursor);
}

/* No later chunk has a row that is older, tables of class meta aside. */
static void check_watermarks(struct ebt_reader *reader)
{
	uint64_t oldest = UINT64_MAX;
	const struct ebt_chunk_info *chunks;
	size_t n;

	chunks = ebt_reader_chunks(reader, &n);
	while (n--) {
		assert_true(chunks[n].watermark <= oldest);
		if (ebt_table_by_id(chunks[n].table)->class != EBT_CLASS_META &&
		    chunks[n].time_min < oldest)
			oldest = chunks[n].time_min;
	}
}

/* The second reader, which was not written with this library in sight, finds nothing wrong. */
static void check_by_python(const char *path)
{
	const char *source = getenv("EBT_SOURCE");
	char command[4096];

	if (!source)
		return;
	snprintf(command, sizeof(command), "python3 '%s/tests/tools/ebtdump.py' --check '%s'",
		 source, path);
	assert_int_equal(system(command), 0);
}

static void write_all(const char *path, int fd, struct producer *producers, unsigned int n)
{
	struct ebt_writer_options options = {
		.fd = fd, .name = path, .streams = n, .resolve_task = resolve
	};
	struct ebt_writer *writer;

	ok(ebt_writer_create(&options, &writer));
	for (unsigned int i = 0; i < n; i++) {
		ok(ebt_writer_add_stream(writer, &producers[i].stream));
		assert_int_equal(pthread_create(&producers[i].thread, NULL, produce, &producers[i]),
				 0);
	}
	ok(ebt_writer_next_epoch(writer));
	for (unsigned int i = 0; i < n; i++)
		pthread_join(producers[i].thread, NULL);
	ok(ebt_writer_finish(writer));
	ebt_writer_destroy(writer);
}

static void round_trip(uint64_t seed, unsigned int streams, unsigned int rows)
{
	struct producer producers[MAX_STREAMS] = { 0 };
	struct seen_list written = { 0 }, found = { 0 };
	char path[] = "/tmp/test_roundtrip.XXXXXX";
	struct ebt_reader *reader;
	int fd = mkstemp(path);
	size_t n_damage;
	uint64_t total;

	assert_true(fd >= 0);
	for (unsigned int i = 0; i < streams; i++) {
		producers[i].seed = seed * 31 + i;
		producers[i].now = 1000000 + i * 1000;
		producers[i].rows = rows / streams;
	}
	write_all(path, fd, producers, streams);
	for (unsigned int i = 0; i < streams; i++) {
		for (size_t k = 0; k < producers[i].list.n; k++)
			append(&written, producers[i].list.rows[k].time,
			       producers[i].list.rows[k].table, producers[i].list.rows[k].hash);
		free(producers[i].list.rows);
		ebt_record_deinit(&producers[i].rec);
	}
	ok(ebt_reader_open(path, &reader));
	assert_true(ebt_reader_info(reader)->complete && ebt_reader_info(reader)->indexed);
	read_all(reader, &found);
	ebt_reader_damage(reader, &n_damage, &total);
	assert_int_equal(total, 0);
	check_watermarks(reader);
	ebt_reader_close(reader);
	assert_int_equal(found.n, written.n);
	if (found.n) {
		qsort(written.rows, written.n, sizeof(*written.rows), compare);
		qsort(found.rows, found.n, sizeof(*found.rows), compare);
	}
	for (size_t i = 0; i < found.n; i++) {
		if (compare(&found.rows[i], &written.rows[i]))
			fail_msg("seed %" PRIu64
				 ", %u streams: row %zu, of table %u, is not as written",
				 seed, streams, i, written.rows[i].table);
	}
	if (rows <= 3000)
		check_by_python(path);
	free(written.rows);
	free(found.rows);
	close(fd);
	unlink(path);
}

static void one_stream(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++)
		round_trip(seed, 1, seed == 1 ? 3000 : 20000);
}

static void several_threads(void **state)
{
	(void)state;
	for (uint64_t seed = 11; seed <= 15; seed++)
		round_trip(seed, 2 + seed % 3, seed == 11 ? 3000 : 40000);
}

static void few_rows(void **state)
{
	(void)state;
	for (uint64_t seed = 21; seed <= 60; seed++)
		round_trip(seed, 1, (unsigned int)(seed - 21));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_stream),
		cmocka_unit_test(several_threads),
		cmocka_unit_test(few_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
