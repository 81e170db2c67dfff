/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of one chunk, decoded from its payload: the columns that are wanted, and of the
 * dictionaries those that these columns need.
 */
#ifndef FORMAT_READ_BATCH_H
#define FORMAT_READ_BATCH_H

#include "format/base/bytes.h"
#include "format/base/space.h"
#include "format/read/dict_reader.h"
#include "format/read/rows.h"

/* A batch as users see it, and the memory behind it. All zero is an empty one. */
struct ebt_decoded {
	struct ebt_batch batch;
	struct ebt_space columns;
	struct ebt_strings strings;
	struct ebt_stacks stacks;
	struct ebt_tasks tasks;
};

void ebt_decoded_deinit(struct ebt_decoded *decoded);

/* Bytes of memory that it holds, used now or not. */
size_t ebt_decoded_size(const struct ebt_decoded *decoded);

/*
 * Decodes a payload (after decompression) of `chunk`, a chunk of `table`. Column 0, `time`, is
 * always wanted. What is given back satisfies: times ascend from chunk->time_min to
 * chunk->time_max, and every id of a wanted column is in its dictionary. Sets all of
 * decoded->batch but its id; on failure its contents are undefined.
 */
struct ebt_error *ebt_batch_decode(struct ebt_bytes payload, const struct ebt_chunk_info *chunk,
				   const struct ebt_table *table, uint64_t columns,
				   struct ebt_task_set *tasks, struct ebt_decoded *decoded);

#endif
