/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From rows to pages of rows; see table.h. */
#include "unwind/table.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_PAGE (1u << UNWIND_TABLE_PAGE_BITS)

/*
 * ld.so and musl's crt1 have no entry for _start, where every stack ends: it becomes an END row.
 * The code there is shorter than this.
 */
#define START_LENGTH 96

static struct ebt_error *mark_start(struct cfi_rows *rows, uint64_t base, uint64_t entry)
{
	const struct cfi_row *found;
	struct cfi_row *more;
	uint32_t pc = (uint32_t)(entry - base);
	size_t at, added = 1;

	if (entry < base || entry - base > UINT32_MAX - START_LENGTH)
		return NULL;
	found = cfi_rows_find(rows, pc);
	if (found && found->op != CFI_NONE)
		return NULL;
	at = found ? (size_t)(found - rows->rows) + 1 : 0;
	if (at == rows->n || rows->rows[at].pc > pc + START_LENGTH)
		added = 2;
	more = realloc(rows->rows, (rows->n + added) * sizeof(*more));
	if (!more)
		return &ebt_enomem;
	memmove(more + at + added, more + at, (rows->n - at) * sizeof(*more));
	more[at] = (struct cfi_row){ .pc = pc, .op = CFI_END };
	if (added == 2)
		more[at + 1] = (struct cfi_row){ .pc = pc + START_LENGTH, .op = CFI_NONE };
	*rows = (struct cfi_rows){ more, rows->n + added };
	return NULL;
}

/* Copies rows page by page, with one at the beginning of each page. */
static void cut(struct unwind_table *table, const struct cfi_row *rows, size_t n)
{
	struct cfi_row before = { .op = CFI_NONE };
	size_t i = 0;

	for (size_t p = 0; p < table->n_pages; p++) {
		struct unwind_table_page *page = &table->pages[p];
		const uint64_t start = (uint64_t)p << UNWIND_TABLE_PAGE_BITS;

		page->first = (uint32_t)table->n_rows;
		if (i == n || rows[i].pc != start) {
			before.pc = (uint32_t)start;
			table->rows[table->n_rows++] = before;
		}
		while (i < n && rows[i].pc < start + TABLE_PAGE)
			table->rows[table->n_rows++] = rows[i++];
		page->n = (uint32_t)table->n_rows - page->first;
		before = table->rows[table->n_rows - 1];
		if (page->n == 1 && before.op == CFI_NONE) {
			table->n_rows--;
			*page = (struct unwind_table_page){ 0 };
		}
	}
}

static struct ebt_error *fill(struct unwind_table *table, const struct cfi_rows *rows)
{
	if (!rows->n)
		return NULL;
	table->n_pages = (rows->rows[rows->n - 1].pc >> UNWIND_TABLE_PAGE_BITS) + 1;
	table->pages = calloc(table->n_pages, sizeof(*table->pages));
	table->rows = calloc(rows->n + table->n_pages, sizeof(*table->rows));
	if (!table->pages || !table->rows)
		return &ebt_enomem;
	cut(table, rows->rows, rows->n);
	return NULL;
}

struct ebt_error *unwind_table_build(const struct unwind_image *image, struct unwind_table **ret)
{
	_cleanup_(unwind_table_destroyp) struct unwind_table *table = calloc(1, sizeof(*table));
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = { 0 };
	struct ebt_error *err;

	if (!table)
		return &ebt_enomem;
	table->arch = image->arch;
	table->base = image->base;
	table->segments = image->segments;
	err = cfi_parse(image->sections, image->n_sections, image->arch, image->base, &rows,
			&table->stats);
	if (err)
		return err;
	err = rows.n ? mark_start(&rows, image->base, image->entry) : NULL;
	if (err)
		return err;
	err = fill(table, &rows);
	if (err)
		return err;
	*ret = take_ptr(table);
	return NULL;
}

void unwind_table_destroy(struct unwind_table *table)
{
	if (!table)
		return;
	free(table->rows);
	free(table->pages);
	free(table);
}

bool unwind_table_bias(const struct unwind_table *table, uint64_t start, uint64_t pgoff,
		       uint64_t *ret)
{
	uint64_t address;

	if (!unwind_segments_address(&table->segments, pgoff, &address))
		return false;
	*ret = start - (address - table->base);
	return true;
}

const struct cfi_row *unwind_table_find(const struct unwind_table *table, uint64_t pc)
{
	const struct unwind_table_page *page;
	struct cfi_rows rows;

	if (pc >> UNWIND_TABLE_PAGE_BITS >= table->n_pages)
		return NULL;
	page = &table->pages[pc >> UNWIND_TABLE_PAGE_BITS];
	rows = (struct cfi_rows){ table->rows + page->first, page->n };
	return cfi_rows_find(&rows, (uint32_t)pc);
}
