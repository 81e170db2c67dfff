/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions of counters; see sysprof_counters.h. */
#include "record/sources/sysprof_counters.h"

#include <string.h>

/* A large GTK program has some fifty. A megabyte and a half. */
#define MAX_COUNTERS 8192
#define N_BUCKETS    4096 /* a power of two */

struct counter_entry {
	uint64_t writer;
	uint32_t id;
	uint32_t next; /* of the bucket: index + 1; 0: none */
	bool used;
	struct sysprof_definition definition;
};

struct sysprof_counters {
	uint32_t buckets[N_BUCKETS]; /* index + 1 of the first; 0: none */
	struct counter_entry entries[MAX_COUNTERS];
	uint32_t turn; /* the entry to use next, which is the oldest */
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
	free(counters);
}

static uint32_t bucket_of(uint64_t writer, uint32_t id)
{
	uint64_t hash = (writer * 31 + id) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(hash >> 40) & (N_BUCKETS - 1);
}

static uint32_t find(const struct sysprof_counters *c, uint64_t writer, uint32_t id)
{
	uint32_t at = c->buckets[bucket_of(writer, id)];

	while (at && (c->entries[at - 1].writer != writer || c->entries[at - 1].id != id))
		at = c->entries[at - 1].next;
	return at;
}

static void forget(struct sysprof_counters *c, uint32_t at)
{
	struct counter_entry *entry = &c->entries[at - 1];
	uint32_t *link = &c->buckets[bucket_of(entry->writer, entry->id)];

	while (*link != at)
		link = &c->entries[*link - 1].next;
	*link = entry->next;
}

static uint32_t take_oldest(struct sysprof_counters *c, uint64_t writer, uint32_t id)
{
	uint32_t *bucket = &c->buckets[bucket_of(writer, id)], at = c->turn + 1;
	struct counter_entry *entry = &c->entries[c->turn];

	c->turn = at % MAX_COUNTERS;
	if (entry->used)
		forget(c, at);
	*entry =
		(struct counter_entry){ .writer = writer, .id = id, .next = *bucket, .used = true };
	*bucket = at;
	return at;
}

static void set(char *to, size_t size, struct sysprof_text text)
{
	size_t len = text.len < size ? text.len : size - 1;

	memcpy(to, text.s, len);
	to[len] = '\0';
}

void sysprof_counters_define(struct sysprof_counters *c, uint64_t writer,
			     const struct sysprof_counter *counter)
{
	uint32_t at = find(c, writer, counter->id);
	struct sysprof_definition *d;

	if (!at)
		at = take_oldest(c, writer, counter->id);
	d = &c->entries[at - 1].definition;
	d->is_double = counter->is_double;
	set(d->category, sizeof(d->category), counter->category);
	set(d->name, sizeof(d->name), counter->name);
	set(d->description, sizeof(d->description), counter->description);
}

const struct sysprof_definition *sysprof_counters_find(const struct sysprof_counters *c,
						       uint64_t writer, uint32_t id)
{
	uint32_t at = find(c, writer, id);

	return at ? &c->entries[at - 1].definition : NULL;
}
