/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorting and thinning of unwind rows; see cfi_program.h. */
#include "unwind/cfi_program.h"

#include <stdlib.h>

#include "format/base/array.h"

void cfi_vec_add(struct cfi_vec *vec, struct cfi_row row)
{
	if (vec->n == CFI_MAX_ROWS)
		vec->full = true;
	if (vec->full || vec->failed)
		return;
	vec->failed = ebt_array_reserve(&vec->rows, vec->n, &vec->capacity);
	if (!vec->failed)
		vec->rows[vec->n++] = row;
}

void cfi_vec_deinit(struct cfi_vec *vec)
{
	free(vec->rows);
	*vec = (struct cfi_vec){ 0 };
}

/* By pc, and where a function ends at the pc at which another begins, the end first, so that the
 * beginning wins. 33 bits. */
static uint64_t key(const struct cfi_row *row)
{
	return (uint64_t)row->pc << 1 | (row->op != CFI_NONE);
}

#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

static void sort_by_digit(const struct cfi_row *from, struct cfi_row *to, size_t n,
			  unsigned int shift)
{
	size_t place[DIGITS] = { 0 }, at = 0;

	for (size_t i = 0; i < n; i++)
		place[key(&from[i]) >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t count = place[i];

		place[i] = at;
		at += count;
	}
	for (size_t i = 0; i < n; i++)
		to[place[key(&from[i]) >> shift & (DIGITS - 1)]++] = from[i];
}

/* Three digits make a key, which is many times as fast as comparing; qsort() took half the time of
 * making a table. The order of what has the same key stays. */
static bool sort(struct cfi_vec *vec)
{
	struct cfi_row *other = malloc(vec->n * sizeof(*other));

	if (!other)
		return false;
	sort_by_digit(vec->rows, other, vec->n, 0);
	sort_by_digit(other, vec->rows, vec->n, DIGIT_BITS);
	sort_by_digit(vec->rows, other, vec->n, 2 * DIGIT_BITS);
	free(vec->rows);
	vec->rows = other;
	vec->capacity = vec->n;
	return true;
}

static bool same_rule(const struct cfi_row *a, const struct cfi_row *b)
{
	return a->op == b->op && a->cfa == b->cfa && a->fp == b->fp;
}

/* Functions are padded to 16 bytes: nothing runs in such a gap, and a row less is saved. */
#define MAX_PADDING 16

static size_t thin(struct cfi_row *rows, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct cfi_row row = rows[i];

		if (i + 1 < n && rows[i + 1].pc == row.pc)
			continue;
		if (row.op == CFI_NONE && i + 1 < n && rows[i + 1].pc - row.pc < MAX_PADDING)
			continue;
		if (kept ? same_rule(&rows[kept - 1], &row) : row.op == CFI_NONE)
			continue;
		rows[kept++] = row;
	}
	return kept;
}

struct ebt_error *cfi_vec_finish(struct cfi_vec *vec, struct cfi_rows *ret)
{
	struct cfi_row *rows;
	bool sorted = true;

	if (vec->failed)
		return &ebt_enomem;
	if (vec->full)
		return ebt_error_create(EBT_ERR_LIMIT, "more than %u unwind rows", CFI_MAX_ROWS);
	for (size_t i = 1; i < vec->n && sorted; i++)
		sorted = key(&vec->rows[i - 1]) <= key(&vec->rows[i]);
	if (!sorted && !sort(vec))
		return &ebt_enomem;
	vec->n = thin(vec->rows, vec->n);
	rows = realloc(vec->rows, (vec->n ? vec->n : 1) * sizeof(*rows));
	if (!rows)
		return &ebt_enomem;
	*ret = (struct cfi_rows){ rows, vec->n };
	*vec = (struct cfi_vec){ 0 };
	return NULL;
}
