/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that wait for their answer; see dbus_pairs.h. */
#include "report/io/dbus_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/arena.h"
#include "format/base/map.h"

/* A reader does not let a file grow this without end. */
#define MAX_TEXTS (1u << 22)
#define MAX_CALLS (1u << 26)
#define MAX_BYTES (256u << 20)

struct text_entry {
	const char *data;
	size_t len;
};

struct pair_entry {
	struct dbus_call call;
	bool answered;
};

struct dbus_pairs {
	struct ebt_arena arena;
	struct ebt_map text_by_hash, call_by_key;
	struct text_entry *texts;
	struct pair_entry *calls;
	uint32_t n_texts, n_calls, texts_capacity, calls_capacity;
};

struct ebt_error *dbus_pairs_create(struct dbus_pairs **ret)
{
	struct dbus_pairs *pairs = calloc(1, sizeof(*pairs));

	if (!pairs)
		return &ebt_enomem;
	ebt_arena_init(&pairs->arena, MAX_BYTES);
	*ret = pairs;
	return NULL;
}

void dbus_pairs_destroy(struct dbus_pairs *pairs)
{
	if (!pairs)
		return;
	ebt_arena_deinit(&pairs->arena);
	ebt_map_deinit(&pairs->text_by_hash);
	ebt_map_deinit(&pairs->call_by_key);
	free(pairs->texts);
	free(pairs->calls);
	free(pairs);
}

static struct ebt_error *reserve(void *array, size_t size, uint32_t n, uint32_t max,
				 uint32_t *capacity)
{
	uint32_t more = *capacity ? *capacity * 2 : 256;
	void **data = array, *grown;

	if (n < *capacity)
		return NULL;
	if (n >= max)
		return ebt_error_create(EBT_ERR_LIMIT, "too many messages of D-Bus at once: take "
						       "less of the trace with --from and --to");
	grown = reallocarray(*data, more, size);
	if (!grown)
		return &ebt_enomem;
	*data = grown;
	*capacity = more;
	return NULL;
}

/* FNV-1a. */
static uint64_t hash(struct ebt_str text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text.len; i++)
		h = (h ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* The place of the text, or the hash under which it is to be put. */
static bool find_text(const struct dbus_pairs *pairs, struct ebt_str text, uint64_t *ret_hash,
		      uint32_t *ret)
{
	uint64_t h = hash(text);

	for (; ebt_map_find(&pairs->text_by_hash, h, ret); h++) {
		const struct text_entry *known = &pairs->texts[*ret];

		if (known->len == text.len && !memcmp(known->data, text.data, text.len))
			return true;
	}
	*ret_hash = h;
	return false;
}

struct ebt_error *dbus_pairs_text(struct dbus_pairs *pairs, struct ebt_str text, uint32_t *ret)
{
	struct ebt_error *err;
	const char *copy;
	uint64_t h;

	if (find_text(pairs, text, &h, ret))
		return NULL;
	err = reserve(&pairs->texts, sizeof(*pairs->texts), pairs->n_texts, MAX_TEXTS,
		      &pairs->texts_capacity);
	if (!err)
		err = ebt_arena_string(&pairs->arena, text.data, text.len, &copy);
	if (!err)
		err = ebt_map_add(&pairs->text_by_hash, h, pairs->n_texts, ret);
	if (!err)
		pairs->texts[pairs->n_texts++] = (struct text_entry){ copy, text.len };
	return err;
}

const char *dbus_pairs_get(const struct dbus_pairs *pairs, uint32_t text)
{
	return pairs->texts[text].data;
}

/* Names are unique on a bus. */
static struct ebt_str on_bus(uint32_t bus, struct ebt_str name, char *buffer, size_t size)
{
	size_t len = name.len < size - sizeof(bus) ? name.len : size - sizeof(bus);

	memcpy(buffer, &bus, sizeof(bus));
	memcpy(buffer + sizeof(bus), name.data, len);
	return (struct ebt_str){ buffer, sizeof(bus) + len };
}

struct ebt_error *dbus_pairs_call(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str sender,
				  uint32_t serial, const struct dbus_call *call)
{
	struct ebt_error *err;
	uint32_t name, i;
	char buffer[300];

	err = dbus_pairs_text(pairs, on_bus(bus, sender, buffer, sizeof(buffer)), &name);
	if (!err)
		err = reserve(&pairs->calls, sizeof(*pairs->calls), pairs->n_calls, MAX_CALLS,
			      &pairs->calls_capacity);
	if (!err)
		err = ebt_map_add(&pairs->call_by_key, (uint64_t)name << 32 | serial,
				  pairs->n_calls, &i);
	if (err)
		return err;
	if (i == pairs->n_calls)
		pairs->n_calls++;
	pairs->calls[i] = (struct pair_entry){ .call = *call };
	return NULL;
}

bool dbus_pairs_answer(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str caller,
		       uint32_t serial, struct dbus_call *ret)
{
	uint32_t name, i;
	char buffer[300];
	uint64_t h;

	if (!find_text(pairs, on_bus(bus, caller, buffer, sizeof(buffer)), &h, &name) ||
	    !ebt_map_find(&pairs->call_by_key, (uint64_t)name << 32 | serial, &i) ||
	    pairs->calls[i].answered)
		return false;
	pairs->calls[i].answered = true;
	*ret = pairs->calls[i].call;
	return true;
}
