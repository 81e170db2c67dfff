/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records are read once, in the order of the file, and put into a timeline in the order of their
 * times: threads write them, and a record may come behind one that is younger.
 */
#include "symbolize/runtimes/jit_files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/cleanup.h"
#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "symbolize/spaces/timeline.h"

#define MAGIC		    0x4a695444u
#define HEADER		    40u
#define PREFIX		    16u
#define FLAG_ARCH_TIMESTAMP UINT64_C(1)

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE };

/* Fixed parts, the prefix included. */
#define LOAD_SIZE  56u
#define MOVE_SIZE  64u
#define DEBUG_SIZE 32u

/* Lines of one function that are looked through. */
#define MAX_LINES (64u << 10)

/* Value of a timeline's entry: the code that was there has moved. */
#define MOVED UINT32_MAX

/* Code as it was when it was generated. */
struct jit_code {
	uint64_t address, size;
	size_t name, name_len;
	size_t lines, lines_end; /* where the entries of its debug info are; 0: there is none */
};

/* Code comes to be at an address. */
struct op {
	uint64_t time, address, size;
	uint64_t old; /* of a move: where it was */
	uint32_t code, seq;
	bool move;
};

struct jit_dump {
	char *data;
	size_t len;
	struct jit_code *codes;
	size_t n_codes, codes_capacity;
	struct op *ops; /* values of the timeline */
	size_t n_ops, ops_capacity;
	struct ebt_map by_number; /* that programs give to their code: the newest with it */
	struct timeline_store store;
	struct timeline timeline;
	/* While records are read: the latest debug info. */
	uint64_t debug_address;
	size_t debug, debug_end;
};

DEFINE_CLEANUP(struct jit_dump *, jit_dump_destroy);

void jit_dump_destroy(struct jit_dump *dump)
{
	if (!dump)
		return;
	free(dump->data);
	free(dump->codes);
	free(dump->ops);
	ebt_map_deinit(&dump->by_number);
	timeline_deinit(&dump->timeline);
	timeline_store_deinit(&dump->store);
	free(dump);
}

static struct ebt_error *add_op(struct jit_dump *dump, struct op op)
{
	struct ebt_error *err = ebt_array_reserve(&dump->ops, dump->n_ops, &dump->ops_capacity);

	if (err)
		return err;
	op.seq = dump->n_ops;
	dump->ops[dump->n_ops++] = op;
	return NULL;
}

static struct ebt_error *set_number(struct jit_dump *dump, uint64_t number, uint32_t code)
{
	uint32_t old;

	if (ebt_map_find(&dump->by_number, number, &old))
		ebt_map_remove(&dump->by_number, number, old);
	return ebt_map_insert(&dump->by_number, number, code);
}

/* --- records; `at` is where one begins, `size` is within the data --- */

static struct ebt_error *read_load(struct jit_dump *dump, size_t at, size_t size, uint64_t time)
{
	const char *record = dump->data + at, *name = record + LOAD_SIZE, *end;
	struct jit_code code = { .name = at + LOAD_SIZE };
	struct ebt_error *err;
	struct op op = { .time = time };

	if (size <= LOAD_SIZE)
		return NULL;
	code.address = ebt_load_u64(record + 32);
	code.size = ebt_load_u64(record + 40);
	end = memchr(name, '\0', size - LOAD_SIZE);
	if (!end || !code.size || code.size > UINT64_MAX - code.address)
		return NULL;
	code.name_len = end - name;
	if (dump->debug && dump->debug_address == code.address) {
		code.lines = dump->debug;
		code.lines_end = dump->debug_end;
	}
	dump->debug = 0;
	op.address = code.address;
	op.size = code.size;
	op.code = dump->n_codes;
	err = ebt_array_reserve(&dump->codes, dump->n_codes, &dump->codes_capacity)
		      ?: set_number(dump, ebt_load_u64(record + 48), dump->n_codes);
	if (err)
		return err;
	dump->codes[dump->n_codes++] = code;
	return add_op(dump, op);
}

static struct ebt_error *read_move(struct jit_dump *dump, size_t at, size_t size, uint64_t time)
{
	const char *record = dump->data + at;
	struct op op = { .time = time, .move = true };

	if (size < MOVE_SIZE)
		return NULL;
	op.old = ebt_load_u64(record + 32);
	op.address = ebt_load_u64(record + 40);
	op.size = ebt_load_u64(record + 48);
	if (op.size > UINT64_MAX - op.address || op.size > UINT64_MAX - op.old ||
	    !ebt_map_find(&dump->by_number, ebt_load_u64(record + 56), &op.code))
		return NULL;
	return add_op(dump, op);
}

static void read_debug(struct jit_dump *dump, size_t at, size_t size)
{
	if (size < DEBUG_SIZE)
		return;
	dump->debug_address = ebt_load_u64(dump->data + at + PREFIX);
	dump->debug = at + DEBUG_SIZE;
	dump->debug_end = at + size;
}

static struct ebt_error *read_records(struct jit_dump *dump, bool no_times)
{
	size_t at = ebt_load_u32(dump->data + 8);
	struct ebt_error *err = NULL;

	while (!err && at <= dump->len && dump->len - at >= PREFIX &&
	       dump->n_ops < JIT_DUMP_MAX_RECORDS) {
		const char *record = dump->data + at;
		const uint32_t id = ebt_load_u32(record), size = ebt_load_u32(record + 4);
		const uint64_t time = no_times ? 0 : ebt_load_u64(record + 8);

		if (size < PREFIX || size > dump->len - at || id == CODE_CLOSE)
			break;
		if (id == CODE_LOAD)
			err = read_load(dump, at, size, time);
		else if (id == CODE_MOVE)
			err = read_move(dump, at, size, time);
		else if (id == CODE_DEBUG_INFO)
			read_debug(dump, at, size);
		at += size;
	}
	return err;
}

/* --- */

static int compare_ops(const void *a, const void *b)
{
	const struct op *x = a, *y = b;

	return ebt_compare(x->time, y->time) ?: ebt_compare(x->seq, y->seq);
}

static struct ebt_error *make_timeline(struct jit_dump *dump)
{
	if (dump->n_ops)
		qsort(dump->ops, dump->n_ops, sizeof(*dump->ops), compare_ops);
	for (size_t i = 0; i < dump->n_ops; i++) {
		const struct op *op = &dump->ops[i];
		struct ebt_error *err = NULL;

		if (op->move)
			err = timeline_add(&dump->store, &dump->timeline, op->old,
					   op->old + op->size, op->time, MOVED);
		if (err)
			return err;
		err = timeline_add(&dump->store, &dump->timeline, op->address,
				   op->address + op->size, op->time, i);
		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *jit_dump_create(char *data, size_t len, uint64_t read_ns, struct jit_dump **ret)
{
	_cleanup_(jit_dump_destroyp) struct jit_dump *dump = calloc(1, sizeof(*dump));
	struct ebt_error *err = NULL;

	if (!dump) {
		free(data);
		return &ebt_enomem;
	}
	dump->timeline = (struct timeline)TIMELINE_INIT;
	dump->data = data;
	dump->len = len;
	if (len >= HEADER && ebt_load_u32(data) == MAGIC && ebt_load_u32(data + 8) >= HEADER) {
		bool other_clock = ebt_load_u64(data + 32) & FLAG_ARCH_TIMESTAMP ||
				   ebt_load_u64(data + 24) > read_ns;

		err = read_records(dump, other_clock);
	}
	if (!err)
		err = make_timeline(dump);
	if (err)
		return err;
	*ret = take_ptr(dump);
	return NULL;
}

/*
 * The line of an address of code as it was generated: that of the last entry that is not above
 * it. A name of 0xff alone stands for that of the entry before.
 */
static void find_line(const struct jit_dump *dump, const struct jit_code *code, uint64_t address,
		      struct jit_hit *hit)
{
	const char *p = dump->data + code->lines, *end = dump->data + code->lines_end;
	const char *file = NULL;
	size_t file_len = 0;
	uint64_t best = 0;

	for (unsigned int i = 0; code->lines && i < MAX_LINES && end - p > 16; i++) {
		const uint64_t from = ebt_load_u64(p);
		const uint32_t line = ebt_load_u32(p + 8);
		const char *name = p + 16, *nul = memchr(name, '\0', end - name);

		if (!nul)
			return;
		if (nul - name != 1 || (unsigned char)name[0] != 0xff) {
			file = name;
			file_len = nul - name;
		}
		if (from <= address && from >= best) {
			best = from;
			hit->file = file;
			hit->file_len = file_len;
			hit->line = line;
		}
		p = nul + 1;
	}
}

struct ebt_error *jit_dump_find(struct jit_dump *dump, uint64_t address, uint64_t time_ns,
				struct jit_hit *ret)
{
	struct jit_hit hit = { 0 };
	struct timeline_hit found;
	const struct jit_code *code;
	const struct op *op;
	struct ebt_error *err =
		timeline_find(&dump->store, &dump->timeline, address, time_ns, &found);

	if (err)
		return err;
	hit.from = found.from;
	hit.to = found.to;
	if (found.found && found.value != MOVED) {
		op = &dump->ops[found.value];
		code = &dump->codes[op->code];
		hit.name = dump->data + code->name;
		hit.name_len = code->name_len;
		find_line(dump, code, address - op->address + code->address, &hit);
	}
	*ret = hit;
	return NULL;
}

size_t jit_dump_size(const struct jit_dump *dump)
{
	return dump->len + dump->codes_capacity * sizeof(*dump->codes) +
	       dump->ops_capacity * sizeof(*dump->ops) +
	       dump->store.capacity * sizeof(*dump->store.entries);
}
