/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorting and thinning of unwind rows; see cfi_vec.h. */
#include "cfi_vec.h"

#include <stdlib.h>
#include <string.h>

void cfi_vec_add(struct cfi_vec *vec, struct cfi_row row)
{
	if (vec->n == CFI_MAX_ROWS)
		vec->full = true;
	if (vec->full || vec->failed)
		return;
	if (vec->n == vec->capacity) {
		size_t capacity = vec->capacity ? 2 * vec->capacity : 1024;
		struct cfi_row *rows = realloc(vec->rows, capacity * sizeof(*rows));

		if (!rows) {
			vec->failed = true;
			return;
		}
		vec->rows = rows;
		vec->capacity = capacity;
	}
	vec->rows[vec->n++] = row;
}

void cfi_vec_deinit(struct cfi_vec *vec)
{
	free(vec->rows);
	*vec = (struct cfi_vec){ 0 };
}

/*
 * By pc, and where a function ends at the pc at which another begins, the end first, so that the
 * beginning wins. The rest breaks ties for a result that does not depend on the sort.
 */
static int compare(const void *a, const void *b)
{
	const struct cfi_row *x = a, *y = b;

	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	if ((x->op == CFI_NONE) != (y->op == CFI_NONE))
		return x->op == CFI_NONE ? -1 : 1;
	return memcmp(x, y, sizeof(*x));
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
		sorted = compare(&vec->rows[i - 1], &vec->rows[i]) <= 0;
	if (!sorted)
		qsort(vec->rows, vec->n, sizeof(*vec->rows), compare);
	vec->n = thin(vec->rows, vec->n);
	rows = realloc(vec->rows, (vec->n ? vec->n : 1) * sizeof(*rows));
	if (!rows)
		return &ebt_enomem;
	*ret = (struct cfi_rows){ rows, vec->n };
	*vec = (struct cfi_vec){ 0 };
	return NULL;
}
