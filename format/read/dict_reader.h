/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a chunk's dictionaries (docs/FORMAT.md section 4). What is read is copied out of the
 * payload, into memory that the caller lends and uses again for the next chunk.
 */
#ifndef FORMAT_READ_DICT_READER_H
#define FORMAT_READ_DICT_READER_H

#include "format/base/bytes.h"
#include "format/base/space.h"
#include "format/read/rows.h"
#include "format/read/task_set.h"

struct ebt_strings {
	struct ebt_space entries, bytes;
	struct ebt_str *str;
	uint32_t n;
};

struct ebt_stacks {
	struct ebt_space entries, addresses;
	struct ebt_stack *stack;
	uint32_t n;
};

struct ebt_tasks {
	struct ebt_space entries, keys;
	const struct ebt_task **task;
	uint32_t n;
};

struct ebt_error *ebt_dict_read_strings(struct ebt_bytes in, struct ebt_strings *ret);
struct ebt_error *ebt_dict_read_stacks(struct ebt_bytes in, struct ebt_stacks *ret);
struct ebt_error *ebt_dict_read_tasks(struct ebt_bytes in, const struct ebt_strings *strings,
				      struct ebt_task_set *set, struct ebt_tasks *ret);

#endif
