/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What copy.c knows of a chunk that is written again. */
#ifndef FORMAT_EDIT_PRIVATE_H
#define FORMAT_EDIT_PRIVATE_H

#include "format/base/space.h"
#include "format/edit/edit.h"
#include "format/write/chunk_writer.h"

struct ebt_edit {
	const struct ebt_batch *batch;
	struct ebt_encoder *encoder; /* has the task dictionary */
	struct ebt_builder builder;
	struct ebt_space columns, dropped;
	uint32_t n_dropped;
	bool failed; /* memory ran out */
};

/* Begins with a batch, of any table. */
struct ebt_error *ebt_edit_begin(struct ebt_edit *edit, const struct ebt_batch *batch,
				 struct ebt_encoder *encoder);

/* The new chunk. Where no row is left, ret->info.rows is 0 and there is none. */
struct ebt_error *ebt_edit_seal(struct ebt_edit *edit, struct ebt_payload *ret);

void ebt_edit_deinit(struct ebt_edit *edit);

#endif
