/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running programs of tables of lines; see line.h. Their headers are in files.c. */
#include "symbolize/dwarf/line.h"

#include <dwarf.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/search.h"
#include "symbolize/dwarf/files.h"

struct row {
	uint64_t address;
	uint32_t file, line;
};

/* Rows of code that lies together, in order of address. */
struct sequence {
	size_t first, n;
};

struct dwarf_lines {
	struct dwarf_files files;
	struct row *rows;
	size_t n_rows, rows_capacity;
	struct sequence *sequences;
	size_t n_sequences, sequences_capacity;
	struct sym_spans spans; /* of sequences */
};

DEFINE_CLEANUP(struct dwarf_lines *, dwarf_lines_destroy);

void dwarf_lines_destroy(struct dwarf_lines *lines)
{
	if (!lines)
		return;
	dwarf_files_deinit(&lines->files);
	sym_spans_deinit(&lines->spans);
	free(lines->rows);
	free(lines->sequences);
	free(lines);
}

/* A line program under way. */
struct line_machine {
	struct dwarf_lines *lines;
	const struct dwarf_units *units;
	struct ebt_bytes in;
	struct dwarf_budget *budget;
	size_t first; /* row of the sequence */
	uint64_t address, op_index;
	uint64_t file, line;
};

static struct ebt_error *add_row(struct line_machine *m)
{
	struct dwarf_lines *lines = m->lines;
	struct row row = { m->address, (uint32_t)m->file, 0 };
	struct ebt_error *err;

	row.line = m->line <= INT32_MAX ? (uint32_t)m->line : 0;
	if (lines->n_rows > m->first && lines->rows[lines->n_rows - 1].address == row.address) {
		/* Of several rows at one address, the last one is of the code there. */
		lines->rows[lines->n_rows - 1] = row;
		return NULL;
	}
	err = ebt_array_reserve(&lines->rows, lines->n_rows, &lines->rows_capacity);
	if (!err)
		lines->rows[lines->n_rows++] = row;
	return err;
}

static struct ebt_error *add_sequence(struct line_machine *m)
{
	struct dwarf_lines *lines = m->lines;
	struct ebt_error *err;

	err = ebt_array_reserve(&lines->sequences, lines->n_sequences, &lines->sequences_capacity);
	if (err)
		return err;
	err = sym_spans_add(&lines->spans, lines->rows[m->first].address, m->address,
			    (uint32_t)lines->n_sequences);
	if (err)
		return err;
	lines->sequences[lines->n_sequences++] =
		(struct sequence){ m->first, lines->n_rows - m->first };
	return NULL;
}

static void reset(struct line_machine *m)
{
	m->first = m->lines->n_rows;
	m->address = m->op_index = 0;
	m->file = m->line = 1;
}

static struct ebt_error *end_sequence(struct line_machine *m)
{
	struct ebt_error *err = NULL;

	if (m->lines->n_rows > m->first && m->lines->rows[m->first].address < m->address &&
	    dwarf_units_is_code(m->units, m->lines->rows[m->first].address))
		err = add_sequence(m);
	else
		m->lines->n_rows = m->first;
	reset(m);
	return err;
}

static void advance(struct line_machine *m, uint64_t operations)
{
	const struct dwarf_files *files = &m->lines->files;
	uint64_t index = m->op_index + operations;

	if (files->max_operations <= 1) {
		m->address += files->min_length * operations;
		return;
	}
	m->address += files->min_length * (index / files->max_operations);
	m->op_index = index % files->max_operations;
}

/* An operation that begins with a 0. */
static struct ebt_error *run_extended(struct line_machine *m, bool *ret_good)
{
	struct ebt_bytes in;
	uint64_t len;
	uint32_t narrow;
	uint8_t op;

	*ret_good = ebt_bytes_varint(&m->in, &len) && ebt_bytes_take(&m->in, len, &in) &&
		    ebt_bytes_u8(&in, &op);
	if (!*ret_good)
		return NULL;
	if (op == DW_LNE_end_sequence)
		return end_sequence(m);
	if (op == DW_LNE_set_address) {
		m->op_index = 0;
		if (ebt_bytes_left(&in) >= 8)
			*ret_good = ebt_bytes_u64(&in, &m->address);
		else if ((*ret_good = ebt_bytes_u32(&in, &narrow)))
			m->address = narrow;
	}
	return NULL;
}

static bool skip_operands(struct line_machine *m, uint8_t op)
{
	uint64_t ignored;

	for (unsigned int i = 0; i < m->lines->files.operands[op - 1]; i++) {
		if (!ebt_bytes_varint(&m->in, &ignored))
			return false;
	}
	return true;
}

static struct ebt_error *run_standard(struct line_machine *m, uint8_t op, bool *ret_good)
{
	const struct dwarf_files *files = &m->lines->files;
	struct ebt_bytes *in = &m->in;
	uint64_t value;
	uint16_t fixed;
	int64_t delta;

	*ret_good = true;
	switch (op) {
	case DW_LNS_copy:
		return add_row(m);
	case DW_LNS_advance_pc:
		*ret_good = ebt_bytes_varint(in, &value);
		if (*ret_good)
			advance(m, value);
		return NULL;
	case DW_LNS_advance_line:
		*ret_good = ebt_bytes_sleb(in, &delta);
		m->line += *ret_good ? (uint64_t)delta : 0;
		return NULL;
	case DW_LNS_set_file:
		*ret_good = ebt_bytes_varint(in, &m->file);
		return NULL;
	case DW_LNS_const_add_pc:
		advance(m, (255 - files->opcode_base) / files->line_range);
		return NULL;
	case DW_LNS_fixed_advance_pc:
		*ret_good = ebt_bytes_u16(in, &fixed);
		m->address += *ret_good ? fixed : 0;
		m->op_index = 0;
		return NULL;
	default:
		*ret_good = skip_operands(m, op);
		return NULL;
	}
}

static struct ebt_error *run(struct line_machine *m)
{
	const struct dwarf_files *files = &m->lines->files;
	bool good = true;
	uint8_t op;

	reset(m);
	while (good && dwarf_budget_spend(m->budget) && ebt_bytes_u8(&m->in, &op)) {
		struct ebt_error *err;

		if (op >= files->opcode_base) {
			unsigned int special = op - files->opcode_base;

			advance(m, special / files->line_range);
			m->line += (uint64_t)(int64_t)(files->line_base +
						       (int)(special % files->line_range));
			err = add_row(m);
		} else if (!op) {
			err = run_extended(m, &good);
		} else {
			err = run_standard(m, op, &good);
		}
		if (err)
			return err;
	}
	/* A sequence without an end is none. */
	m->lines->n_rows = m->first;
	return NULL;
}

struct ebt_error *dwarf_lines_read(const struct dwarf_units *units, uint64_t offset,
				   const char *comp_dir, struct dwarf_budget *budget,
				   struct dwarf_lines **ret)
{
	_cleanup_(dwarf_lines_destroyp) struct dwarf_lines *lines = calloc(1, sizeof(*lines));
	struct line_machine machine = { .lines = lines, .units = units, .budget = budget };
	struct ebt_error *err;
	bool good;

	if (!lines)
		return &ebt_enomem;
	*ret = NULL;
	err = dwarf_files_read(units->pages, offset, comp_dir, &machine.in, &lines->files, &good);
	if (!err && good)
		err = run(&machine);
	if (err || !good)
		return err;
	sym_spans_sort(&lines->spans);
	*ret = take_ptr(lines);
	return NULL;
}

bool dwarf_lines_find(const struct dwarf_lines *lines, uint64_t address, uint64_t *ret_file,
		      uint32_t *ret_line)
{
	const struct sym_span *span = sym_spans_find(&lines->spans, address);
	const struct sequence *sequence = span ? &lines->sequences[span->id] : NULL;
	size_t low = ebt_count_first(sequence ? sequence->n : 0, i,
				     lines->rows[sequence->first + i].address <= address);

	if (!low)
		return false;
	*ret_file = lines->rows[sequence->first + low - 1].file;
	*ret_line = lines->rows[sequence->first + low - 1].line;
	return true;
}

struct ebt_error *dwarf_lines_path(struct dwarf_lines *lines, uint64_t file, const char **ret)
{
	return dwarf_files_path(&lines->files, file, ret);
}
