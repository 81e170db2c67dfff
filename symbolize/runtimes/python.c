/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Python functions of stacks; see python.h. */
#include "symbolize/runtimes/python.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "format/base/array.h"
#include "format/base/map.h"
#include "symbolize/elf/symlist.h"

/* Code objects of a trace, and bytes of their line tables. A large program has 100,000. */
#define MAX_CODES (4u << 20)
#define MAX_BYTES ((size_t)512 << 20)

struct python_code {
	uint32_t id;
	uint32_t first_line;
	const struct sym_func *func;
	const char *file;
	const unsigned char *lines;
	size_t lines_len;
};

struct python {
	struct funcs *funcs;
	struct ebt_arena arena; /* of line tables */
	struct python_code *codes;
	size_t n, capacity;
	struct ebt_map by_id;
};

DEFINE_CLEANUP(struct python *, python_destroy);

/* --- lines: Objects/locations.md of CPython says how they are kept --- */

struct locations {
	const unsigned char *at, *end;
};

/* Numbers of six bits a byte, the lowest first. */
static uint32_t read_varint(struct locations *l)
{
	uint32_t value = 0, shift = 0;
	unsigned char byte;

	do {
		if (l->at == l->end)
			return 0;
		byte = *l->at++;
		if (shift < 32)
			value |= (uint32_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return value;
}

static int64_t read_signed(struct locations *l)
{
	uint32_t value = read_varint(l);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NOTHING = 15 };

uint32_t python_line(const void *table, size_t len, uint32_t first_line, uint32_t instruction)
{
	struct locations l = { table, (const unsigned char *)table + len };
	int64_t line = first_line;
	uint64_t end = 0;

	while (l.at < l.end) {
		unsigned char head = *l.at++;
		unsigned int kind = head >> 3 & 15;

		if (kind == LONG || kind == NO_COLUMNS)
			line += read_signed(&l);
		else if (kind >= ONE_LINE && kind < NO_COLUMNS)
			line += kind - ONE_LINE;
		end += (head & 7) + 1;
		if (instruction < end)
			return kind == NOTHING || line < 0 || line > INT32_MAX ? 0 : (uint32_t)line;
		/* To the next entry, which is the next byte with the top bit. */
		while (l.at < l.end && !(*l.at & 0x80))
			l.at++;
	}
	return 0;
}

/* --- the table --- */

static const struct python_code *find_code(const struct python *p, uint32_t id)
{
	uint32_t i;

	return ebt_map_find(&p->by_id, id, &i) ? &p->codes[i] : NULL;
}

static struct ebt_str begin_of(struct ebt_str s)
{
	s.len = s.len < SYM_MAX_NAME ? s.len : SYM_MAX_NAME;
	return s;
}

/* "Class.function (file.py:12)", with the line where it begins: many functions have one name. */
static struct ebt_error *add_func(struct python *p, const struct ebt_row *row,
				  struct python_code *code)
{
	struct ebt_str name = begin_of(ebt_interp_code_name(row));
	struct ebt_str file = begin_of(ebt_interp_code_file(row));
	const char *slash = file.len ? memrchr(file.data, '/', file.len) : NULL;
	size_t base = slash ? (size_t)(slash + 1 - file.data) : 0;
	struct sym_func key = { .kind = SYM_PYTHON, .build_id = "" };
	struct ebt_error *err;

	if (!name.len) {
		key.reason = SYM_NOT_READ;
		name = (struct ebt_str){ "[python]", 8 };
	}
	err = funcs_printf(p->funcs, &key.name, "%.*s (%.*s:%" PRIu32 ")", (int)name.len, name.data,
			   (int)(file.len - base), file.data + base, code->first_line);
	if (err)
		return err;
	err = funcs_string(p->funcs, file.data, file.len, &code->file);
	if (err)
		return err;
	key.object = code->file;
	return funcs_copy(p->funcs, key, &code->func);
}

static struct ebt_error *add_code(void *arg, const struct ebt_row *row)
{
	struct python *p = arg;
	struct ebt_str lines = ebt_interp_code_lines(row);
	struct python_code code = {
		.id = (uint32_t)ebt_interp_code_id(row),
		.first_line = (uint32_t)ebt_interp_code_first_line(row),
		.lines_len = lines.len,
	};
	struct ebt_error *err;
	const char *copy;

	if (p->n == MAX_CODES || find_code(p, code.id))
		return NULL;
	err = ebt_array_reserve(&p->codes, p->n, &p->capacity) ?:
	      ebt_arena_string(&p->arena, lines.data, lines.len, &copy) ?:
	      add_func(p, row, &code) ?:
	      ebt_map_insert(&p->by_id, code.id, p->n);
	if (err)
		return err;
	code.lines = (const unsigned char *)copy;
	p->codes[p->n++] = code;
	return NULL;
}

struct ebt_error *python_create(struct ebt_reader *reader, struct funcs *funcs, struct python **ret)
{
	static const struct ebt_want want = {
		EBT_T_interp_code,
		EBT_COLS(interp_code, id, first_line, name, file, lines),
	};
	static const struct ebt_query query = { &want, 1, 0, 0, 0 };
	_cleanup_(python_destroyp) struct python *p = calloc(1, sizeof(*p));
	struct ebt_error *err;

	if (!p)
		return &ebt_enomem;
	p->funcs = funcs;
	ebt_arena_init(&p->arena, MAX_BYTES);
	err = ebt_read_rows(reader, &query, add_code, p);
	if (err)
		return err;
	*ret = take_ptr(p);
	return NULL;
}

void python_destroy(struct python *p)
{
	if (!p)
		return;
	ebt_arena_deinit(&p->arena);
	ebt_map_deinit(&p->by_id);
	free(p->codes);
	free(p);
}

/* --- entries --- */

static struct ebt_error *unknown(struct python *p, struct sym_frame *ret)
{
	const struct sym_func key = {
		.kind = SYM_PYTHON,
		.reason = SYM_NOT_READ,
		.name = "[python]",
		.object = "",
		.build_id = "",
	};

	*ret = (struct sym_frame){ 0 };
	return funcs_copy(p->funcs, key, &ret->func);
}

struct ebt_error *python_frame(struct python *p, uint64_t entry, struct sym_frame *ret)
{
	uint32_t instruction = (uint32_t)(entry & EBT_ENTRY_INSTRUCTION);
	const struct python_code *code = find_code(p, (uint32_t)(entry >> EBT_ENTRY_ID_SHIFT));

	if (!code)
		return unknown(p, ret);
	*ret = (struct sym_frame){ .func = code->func };
	if (!*code->file)
		return NULL;
	ret->file = code->file;
	/* Not begun yet, it is where it is defined. */
	ret->line =
		instruction == EBT_ENTRY_INSTRUCTION
			? code->first_line
			: python_line(code->lines, code->lines_len, code->first_line, instruction);
	return NULL;
}
