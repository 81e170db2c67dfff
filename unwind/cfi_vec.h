/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows as they are found, and their way to a sorted table without repetitions. */
#ifndef UNWIND_CFI_VEC_H
#define UNWIND_CFI_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "unwind/cfi.h"

struct cfi_vec {
	struct cfi_row *rows;
	size_t n, capacity;
	bool failed; /* memory ran out */
	bool full;   /* CFI_MAX_ROWS, and another one was to be added */
};

void cfi_vec_add(struct cfi_vec *vec, struct cfi_row row);
void cfi_vec_deinit(struct cfi_vec *vec);

/* Sorts, drops what says nothing new, and hands the rows over. */
struct ebt_error *cfi_vec_finish(struct cfi_vec *vec, struct cfi_rows *ret);

#endif
