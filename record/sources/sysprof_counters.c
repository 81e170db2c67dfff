/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions of counters; see sysprof_counters.h. */
#include "record/sources/sysprof_counters.h"

#include <string.h>

#include "format/base/map.h"

/* A large GTK program has some fifty. A megabyte and a half. */
#define MAX_COUNTERS 8192

struct counter_entry {
	uint64_t writer;
	uint32_t id;
	struct sysprof_definition definition;
};

struct sysprof_counters {
	struct counter_entry entries[MAX_COUNTERS];
	struct ebt_map found; /* hash of writer and id to indices of them */
	uint32_t n;	      /* that are used */
	uint32_t turn;	      /* the entry to use next, which is the oldest */
};

struct ebt_error *sysprof_counters_create(struct sysprof_counters **ret)
{
	struct sysprof_counters *counters = calloc(1, sizeof(*counters));

	if (!counters)
		return &ebt_enomem;
	*ret = counters;
	return NULL;
}

void sysprof_counters_destroy(struct sysprof_counters *counters)
{
	if (counters)
		ebt_map_deinit(&counters->found);
	free(counters);
}

static uint64_t hash_of(uint64_t writer, uint32_t id)
{
	return ebt_hash_u64(ebt_hash_u64(0, writer), id);
}

static uint32_t find(const struct sysprof_counters *c, uint64_t writer, uint32_t id)
{
	uint64_t hash = hash_of(writer, id);
	uint32_t i;

	for (size_t at = 0; (i = ebt_map_next(&c->found, hash, &at)) != EBT_MAP_NONE;) {
		if (c->entries[i].writer == writer && c->entries[i].id == id)
			break;
	}
	return i;
}

static struct ebt_error *take_oldest(struct sysprof_counters *c, uint64_t writer, uint32_t id,
				     uint32_t *ret)
{
	struct counter_entry *entry = &c->entries[c->turn];
	struct ebt_error *err = ebt_map_insert(&c->found, hash_of(writer, id), c->turn);

	if (err)
		return err;
	if (c->n < MAX_COUNTERS)
		c->n++;
	else
		ebt_map_remove(&c->found, hash_of(entry->writer, entry->id), c->turn);
	entry->writer = writer;
	entry->id = id;
	*ret = c->turn;
	c->turn = (c->turn + 1) % MAX_COUNTERS;
	return NULL;
}

static void set(char *to, size_t size, struct sysprof_text text)
{
	size_t len = text.len < size ? text.len : size - 1;

	memcpy(to, text.s, len);
	to[len] = '\0';
}

struct ebt_error *sysprof_counters_define(struct sysprof_counters *c, uint64_t writer,
					  const struct sysprof_counter *counter)
{
	uint32_t i = find(c, writer, counter->id);
	struct sysprof_definition *d;
	struct ebt_error *err;

	if (i == EBT_MAP_NONE) {
		err = take_oldest(c, writer, counter->id, &i);
		if (err)
			return err;
	}
	d = &c->entries[i].definition;
	d->is_double = counter->is_double;
	set(d->category, sizeof(d->category), counter->category);
	set(d->name, sizeof(d->name), counter->name);
	set(d->description, sizeof(d->description), counter->description);
	return NULL;
}

const struct sysprof_definition *sysprof_counters_find(const struct sysprof_counters *c,
						       uint64_t writer, uint32_t id)
{
	uint32_t i = find(c, writer, id);

	return i == EBT_MAP_NONE ? NULL : &c->entries[i].definition;
}
