/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interning by an open-addressing hash that is at most half full, and the dictionaries' bytes. The
 * table is not that of map.h: every row that is recorded comes by here, each chunk clears it, and
 * its slots have a quarter of the size.
 */
#include "format/write/dict_writer.h"

#include <stdbool.h>
#include <stdlib.h>

#include "format/base/map.h"
#include "format/schema/schema.h"

_Static_assert(sizeof(struct ebt_dict_task) == 24, "padding would be compared");

void ebt_dict_deinit(struct ebt_dict *dict)
{
	ebt_buffer_deinit(&dict->bytes);
	free(dict->entries);
	free(dict->slots);
	*dict = EBT_DICT_INIT;
}

void ebt_dict_reset(struct ebt_dict *dict)
{
	ebt_buffer_clear(&dict->bytes);
	if (dict->n)
		memset(dict->slots, 0, dict->n_slots * sizeof(*dict->slots));
	dict->n = 0;
}

static uint32_t *free_slot(uint32_t *slots, uint32_t n_slots, uint32_t hash)
{
	uint32_t i = hash & (n_slots - 1);

	while (slots[i])
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static bool grow(struct ebt_dict *dict)
{
	uint32_t capacity = dict->capacity ? dict->capacity * 2 : 64, n_slots = capacity * 2;
	struct ebt_dict_entry *entries;
	uint32_t *slots;

	entries = reallocarray(dict->entries, capacity, sizeof(*entries));
	if (!entries)
		return false;
	dict->entries = entries;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 0; i < dict->n; i++)
		*free_slot(slots, n_slots, entries[i].hash) = i + 1;
	free(dict->slots);
	dict->slots = slots;
	dict->n_slots = n_slots;
	dict->capacity = capacity;
	return true;
}

static uint64_t append(struct ebt_dict *dict, const void *data, size_t len, uint32_t hash)
{
	if (dict->n == dict->capacity && !grow(dict))
		return 0;
	if (!ebt_buffer_reserve(&dict->bytes, len))
		return 0;
	dict->entries[dict->n] = (struct ebt_dict_entry){ dict->bytes.len, (uint32_t)len, hash };
	ebt_buffer_put(&dict->bytes, data, len);
	*free_slot(dict->slots, dict->n_slots, hash) = ++dict->n;
	return dict->n;
}

uint64_t ebt_dict_intern(struct ebt_dict *dict, const void *data, size_t len)
{
	uint32_t hash = (uint32_t)ebt_hash_bytes(0, data, len), mask = dict->n_slots - 1, value;

	if (!dict->n)
		return append(dict, data, len, hash);
	for (uint32_t i = hash & mask; (value = dict->slots[i]); i = (i + 1) & mask) {
		const struct ebt_dict_entry *entry = &dict->entries[value - 1];

		if (entry->hash == hash && entry->len == len &&
		    !memcmp(dict->bytes.data + entry->offset, data, len))
			return value;
	}
	return append(dict, data, len, hash);
}

void ebt_dict_encode_strings(const struct ebt_dict *dict, struct ebt_buffer *buf)
{
	ebt_buffer_put_varint(buf, dict->n);
	for (uint32_t i = 0; i < dict->n; i++)
		ebt_buffer_put_varint(buf, dict->entries[i].len);
	ebt_buffer_put(buf, dict->bytes.data, dict->bytes.len);
}

static struct ebt_wire_stack stack_head(const struct ebt_dict *dict, uint32_t entry)
{
	struct ebt_wire_stack head;

	memcpy(&head, dict->bytes.data + dict->entries[entry].offset, sizeof(head));
	return head;
}

void ebt_dict_encode_stacks(const struct ebt_dict *dict, struct ebt_buffer *buf)
{
	uint64_t before = 0, address;

	ebt_buffer_put_varint(buf, dict->n);
	for (uint32_t i = 0; i < dict->n; i++)
		ebt_buffer_put_varint(buf, stack_head(dict, i).attrs);
	for (uint32_t i = 0; i < dict->n; i++)
		ebt_buffer_put_varint(buf, stack_head(dict, i).n);
	for (uint32_t i = 0; i < dict->n; i++) {
		const unsigned char *p = dict->bytes.data + dict->entries[i].offset;
		const unsigned char *end = p + dict->entries[i].len;

		for (p += sizeof(struct ebt_wire_stack); p < end; p += sizeof(address)) {
			memcpy(&address, p, sizeof(address));
			ebt_buffer_put_varint(buf, ebt_zigzag(address - before));
			before = address;
		}
	}
}

struct ebt_dict_task ebt_dict_task(const struct ebt_dict *dict, uint32_t entry)
{
	struct ebt_dict_task task;

	memcpy(&task, dict->bytes.data + dict->entries[entry].offset, sizeof(task));
	return task;
}

void ebt_dict_encode_tasks(const struct ebt_dict *dict, struct ebt_buffer *buf)
{
	uint64_t before = 0;

	ebt_buffer_put_varint(buf, dict->n);
	for (uint32_t i = 0; i < dict->n; i++)
		ebt_buffer_put_varint(buf, ebt_dict_task(dict, i).tid);
	for (uint32_t i = 0; i < dict->n; i++)
		ebt_buffer_put_varint(buf, ebt_dict_task(dict, i).pid);
	for (uint32_t i = 0; i < dict->n; i++) {
		uint64_t start = ebt_dict_task(dict, i).start_ns;

		ebt_buffer_put_varint(buf, ebt_zigzag(start - before));
		before = start;
	}
	for (uint32_t i = 0; i < dict->n; i++)
		ebt_buffer_put_varint(buf, ebt_dict_task(dict, i).comm);
}
