/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A chunk that is written again with other contents, while a trace is copied (copy.h). Its new
 * columns begin empty (0, none); the editor fills those that are to be there, with values of new
 * dictionaries, and may drop rows.
 */
#ifndef FORMAT_EDIT_EDIT_H
#define FORMAT_EDIT_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"

struct ebt_edit;

/* As it was: all columns of the file's schema. Column 0, time, is kept always. */
const struct ebt_batch *ebt_edit_batch(const struct ebt_edit *edit);

/* New values of a field, one a row. */
uint64_t *ebt_edit_column(struct ebt_edit *edit, uint32_t field);

/* The column stays as it was; or that of one row. */
void ebt_edit_keep(struct ebt_edit *edit, uint32_t field);
void ebt_edit_keep_value(struct ebt_edit *edit, uint32_t field, uint32_t row);

/* Values for columns of these types. A failed allocation is kept, and ends the copy. */
uint64_t ebt_edit_string(struct ebt_edit *edit, struct ebt_str s);
uint64_t ebt_edit_stack(struct ebt_edit *edit, const struct ebt_stack *stack);
uint64_t ebt_edit_task(struct ebt_edit *edit, const struct ebt_task *task, struct ebt_str comm);

/* A row that is dropped should get no values: what is in the dictionaries is in the file. */
void ebt_edit_drop_row(struct ebt_edit *edit, uint32_t row);
bool ebt_edit_dropped(const struct ebt_edit *edit, uint32_t row);
/* What the chunk tells of losses is left out. */
void ebt_edit_drop_losses(struct ebt_edit *edit);

#endif
