/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dictionaries of an open chunk. An entry is a run of bytes, kept once: a string, a stack (as
 * struct ebt_wire_stack with its addresses), or a task (struct ebt_dict_task). Values of columns
 * are entry + 1; 0 means none.
 */
#ifndef FORMAT_WRITE_DICT_WRITER_H
#define FORMAT_WRITE_DICT_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"

struct ebt_dict_entry {
	size_t offset;
	uint32_t len, hash;
};

struct ebt_dict {
	struct ebt_buffer bytes; /* of all entries, one after the other */
	struct ebt_dict_entry *entries;
	uint32_t *slots; /* open addressing: entry + 1, or 0 where free */
	uint32_t n, capacity, n_slots;
};
#define EBT_DICT_INIT ((struct ebt_dict){ 0 })

/* An entry of a task dictionary. No padding: it is compared as bytes. */
struct ebt_dict_task {
	uint32_t tid, pid;
	uint64_t start_ns;
	uint64_t comm; /* value into the string dictionary */
};

void ebt_dict_deinit(struct ebt_dict *dict);

/* Forgets all entries and keeps the memory. */
void ebt_dict_reset(struct ebt_dict *dict);

/* The value of these bytes, or 0 where memory ran out. */
uint64_t ebt_dict_intern(struct ebt_dict *dict, const void *data, size_t len);

/* Append the contents of a dictionary as docs/FORMAT.md section 4 has them. */
void ebt_dict_encode_strings(const struct ebt_dict *dict, struct ebt_buffer *buf);
void ebt_dict_encode_stacks(const struct ebt_dict *dict, struct ebt_buffer *buf);
void ebt_dict_encode_tasks(const struct ebt_dict *dict, struct ebt_buffer *buf);

/* The entry-th task, from 0. */
struct ebt_dict_task ebt_dict_task(const struct ebt_dict *dict, uint32_t entry);

#endif
