/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of one chunk, decoded from its payload: the columns that are wanted, and of the
 * dictionaries those that these columns need. What is read is copied out of the payload.
 */
#ifndef FORMAT_READ_BATCH_H
#define FORMAT_READ_BATCH_H

#include "format/base/bytes.h"
#include "format/base/space.h"
#include "format/read/rows.h"
#include "format/read/task_set.h"

enum ebt_decoded_space {
	EBT_SPACE_COLUMNS,
	EBT_SPACE_STRINGS,
	EBT_SPACE_STRING_BYTES,
	EBT_SPACE_STACKS,
	EBT_SPACE_ADDRESSES,
	EBT_SPACE_TASKS,
	EBT_SPACE_TASK_KEYS,
	EBT_N_SPACES,
};

/* A batch as users see it, and the memory behind it, which is used again for the next chunk. All
 * zero is an empty one. */
struct ebt_decoded {
	struct ebt_batch batch;
	struct ebt_space spaces[EBT_N_SPACES];
	struct ebt_task_set *set; /* that the tasks are of */
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

/* Reading the dictionaries (docs/FORMAT.md section 4) into the batch: dict_reader.c. */
struct ebt_error *ebt_dict_read_strings(struct ebt_bytes in, struct ebt_decoded *decoded);
struct ebt_error *ebt_dict_read_stacks(struct ebt_bytes in, struct ebt_decoded *decoded);
struct ebt_error *ebt_dict_read_tasks(struct ebt_bytes in, struct ebt_decoded *decoded);

#endif
