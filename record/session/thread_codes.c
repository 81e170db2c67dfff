/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and rows of code objects; see thread_codes.h. */
#include "record/session/thread_codes.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/search.h"
#include "record/bpf/python.h"

/* A large server has hundreds on its stacks, of 1 KB. */
#define MAX_CODES 8192
#define MAX_BYTES (16u << 20)

static uint64_t word(const struct thread_code_place *place, uint32_t offset)
{
	return place->words[offset / sizeof(*place->words)];
}

/* Tells it from others, also from one that takes its place later; see python_code_hash(). */
static uint64_t hash_of(const struct thread_code_place *place, python_read *read, void *arg)
{
	uint64_t key[3 + PYTHON_PRINT_TO - PYTHON_PRINT_FROM] = { place->pid, place->address };
	size_t n = 2;

	for (size_t i = PYTHON_PRINT_FROM; i < PYTHON_PRINT_TO; i++)
		key[n++] = i == PYTHON_PRINT_HALF ? (uint32_t)place->words[i] : place->words[i];
	if (!read(arg,
		  word(place, place->build->code_name) + offsetof(struct ebrec_python_str, hash),
		  &key[n], sizeof(key[n])))
		key[n] = 0;
	return ebt_hash_bytes(0, key, sizeof(key));
}

static uint64_t place_of(uint32_t pid, uint64_t address)
{
	return ebt_hash_u64(ebt_hash_u64(0, pid), address);
}

const struct thread_code *thread_codes_find(const struct thread_codes *codes, uint32_t pid,
					    uint64_t address)
{
	uint32_t i;

	return ebt_map_find(&codes->by_place, place_of(pid, address), &i) ? &codes->list[i] : NULL;
}

void thread_codes_forget_places(struct thread_codes *codes)
{
	ebt_map_clear(&codes->by_place);
}

static void make_row(const struct thread_code_place *place, python_read *read, void *arg,
		     uint32_t id, struct ebt_record *ret)
{
	const struct ebrec_python_build *build = place->build;
	const uint64_t lines = word(place, build->code_lines);
	struct ebrec_python_code code = {
		.head.time = place->time,
		.address = place->address,
		.lines_address = lines + build->bytes_data,
		.name_address = word(place, build->code_name),
		.file_address = word(place, build->code_file),
		.id = id,
		.tid = place->tid,
		.pid = place->pid,
		.version = build->version,
		.text_ascii = build->text_ascii,
		.text_compact = build->text_compact,
	};
	uint64_t length; /* ob_size of a bytes */

	memcpy(&code.first_line, (const char *)place->words + build->code_first_line,
	       sizeof(code.first_line));
	if (read(arg, lines + 16, &length, sizeof(length)) && length < UINT32_MAX)
		code.lines = (uint32_t)length;
	python_make_row(&code, 0, read, arg, ret);
}

/* One that has not been met. */
static struct ebt_error *add_code(struct thread_codes *codes, const struct thread_code_place *place,
				  python_read *read, void *arg, uint64_t hash)
{
	struct thread_code code = { 0 };
	struct ebt_error *err;

	memcpy(&code.first_traceable,
	       (const char *)place->words + place->build->code_first_traceable,
	       sizeof(code.first_traceable));
	code.id = __atomic_add_fetch(codes->last_id, 1, __ATOMIC_RELAXED);
	make_row(place, read, arg, code.id, &code.row);
	err = ebt_array_reserve(&codes->list, codes->n, &codes->capacity)
		      ?: ebt_map_insert(&codes->by_hash, hash, (uint32_t)codes->n);
	if (err) {
		ebt_record_deinit(&code.row);
		return err;
	}
	codes->bytes += code.row.len;
	codes->list[codes->n++] = code;
	return NULL;
}

uint32_t thread_codes_number(struct thread_codes *codes, const struct thread_code_place *place,
			     python_read *read, void *arg)
{
	const uint64_t hash = hash_of(place, read, arg);
	_cleanup_error_ struct ebt_error *err = NULL;
	uint32_t i = (uint32_t)codes->n, ignored;

	if (!ebt_map_find(&codes->by_hash, hash, &i)) {
		if (codes->n < MAX_CODES && codes->bytes < MAX_BYTES)
			err = add_code(codes, place, read, arg, hash);
		if (err || i == codes->n) {
			codes->refused++;
			return 0;
		}
	}
	err = ebt_map_add(&codes->by_place, place_of(place->pid, place->address), i, &ignored);
	return codes->list[i].id;
}

struct ebt_error *thread_codes_tell(struct thread_codes *codes, struct ebt_stream *stream,
				    const uint64_t *entries, size_t n)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < n && !err; i++) {
		const uint32_t id = (uint32_t)(entries[i] >> EBT_ENTRY_ID_SHIFT);
		struct thread_code *code;
		size_t at;

		if (!(entries[i] & EBT_ENTRY_INTERP) || !id)
			continue;
		at = ebt_count_first(codes->n, k, codes->list[k].id < id);
		code = &codes->list[at];
		if (at == codes->n || code->id != id || code->told)
			continue;
		code->told = true;
		err = ebt_record_add(&code->row, stream);
		codes->bytes -= code->row.len;
		ebt_record_deinit(&code->row);
	}
	return err;
}

void thread_codes_deinit(struct thread_codes *codes)
{
	for (size_t i = 0; i < codes->n; i++)
		ebt_record_deinit(&codes->list[i].row);
	free(codes->list);
	ebt_map_deinit(&codes->by_hash);
	ebt_map_deinit(&codes->by_place);
}
