/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps are made by programs about themselves, and anything can be in them. Ranges are painted
 * from the last to the first, each over what is still blank, so that overlaps cost nothing.
 */
#include "symbolize/runtimes/jit_files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/search.h"

#define BLANK UINT32_MAX

struct jit_map_entry {
	uint64_t start, end;
	uint32_t name, name_len; /* in the text */
};

struct jit_map {
	char *text;
	size_t len;
	struct jit_map_entry *entries;
	size_t n, capacity;
	uint64_t *bounds; /* ascending: where ranges begin and end */
	size_t n_bounds;
	uint32_t *owners; /* from bounds[i] to bounds[i + 1]; an entry, or BLANK */
};

DEFINE_CLEANUP(struct jit_map *, jit_map_destroy);

void jit_map_destroy(struct jit_map *map)
{
	if (!map)
		return;
	free(map->text);
	free(map->entries);
	free(map->bounds);
	free(map->owners);
	free(map);
}

/* A hexadecimal number and the blank behind it; some write 0x before it. */
static bool parse_number(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at, *begin;
	uint64_t value = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (begin = p; p < end && p - begin < 17; p++) {
		int digit = *p >= '0' && *p <= '9'   ? *p - '0'
			    : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
			    : *p >= 'A' && *p <= 'F' ? *p - 'A' + 10
						     : -1;

		if (digit < 0)
			break;
		value = value << 4 | (unsigned int)digit;
	}
	if (p == begin || p - begin > 16 || p == end || (*p != ' ' && *p != '\t'))
		return false;
	*at = p + 1;
	*ret = value;
	return true;
}

static bool parse_line(const char *text, const char *line, const char *end,
		       struct jit_map_entry *ret)
{
	uint64_t start, size;

	if (end > line && end[-1] == '\r')
		end--;
	if (!parse_number(&line, end, &start) || !parse_number(&line, end, &size))
		return false;
	if (line == end || !size || size > UINT64_MAX - start)
		return false;
	*ret = (struct jit_map_entry){ start, start + size, line - text, end - line };
	return true;
}

static struct ebt_error *parse(struct jit_map *map)
{
	const char *line = map->text, *limit = map->text + map->len, *end;

	/* What has no newline was cut while it was written. */
	for (; map->n < JIT_MAP_MAX_ENTRIES && line < limit; line = end + 1) {
		struct jit_map_entry entry;
		struct ebt_error *err;

		end = memchr(line, '\n', limit - line);
		if (!end)
			break;
		if (!parse_line(map->text, line, end, &entry))
			continue;
		err = ebt_array_reserve(&map->entries, map->n, &map->capacity);
		if (err)
			return err;
		map->entries[map->n++] = entry;
	}
	return NULL;
}

/* Number of bounds that are not above the address. */
static size_t count_below(const struct jit_map *map, uint64_t address)
{
	return ebt_count_first(map->n_bounds, i, map->bounds[i] <= address);
}

/* The first blank piece from `i` on; `next` has shortcuts, which get shorter by being used. */
static uint32_t first_blank(uint32_t *next, uint32_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

static struct ebt_error *paint(struct jit_map *map)
{
	_cleanup_free_ uint32_t *next = NULL;
	size_t n = 0;

	if (!map->n)
		return NULL;
	map->bounds = calloc(2 * map->n, sizeof(*map->bounds));
	if (!map->bounds)
		return &ebt_enomem;
	for (size_t i = 0; i < map->n; i++) {
		map->bounds[2 * i] = map->entries[i].start;
		map->bounds[2 * i + 1] = map->entries[i].end;
	}
	qsort(map->bounds, 2 * map->n, sizeof(*map->bounds), ebt_compare_u64);
	for (size_t i = 0; i < 2 * map->n; i++) {
		if (!n || map->bounds[n - 1] != map->bounds[i])
			map->bounds[n++] = map->bounds[i];
	}
	map->n_bounds = n;
	map->owners = calloc(n, sizeof(*map->owners));
	next = calloc(n + 1, sizeof(*next));
	if (!map->owners || !next)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		map->owners[i] = BLANK;
		next[i] = i;
	}
	next[n] = n;
	for (size_t e = map->n; e-- > 0;) {
		uint32_t i = first_blank(next, count_below(map, map->entries[e].start) - 1);

		while (i < n && map->bounds[i] < map->entries[e].end) {
			map->owners[i] = e;
			next[i] = i + 1;
			i = first_blank(next, i);
		}
	}
	return NULL;
}

struct ebt_error *jit_map_create(char *text, size_t len, struct jit_map **ret)
{
	_cleanup_(jit_map_destroyp) struct jit_map *map = calloc(1, sizeof(*map));
	struct ebt_error *err;

	if (!map) {
		free(text);
		return &ebt_enomem;
	}
	map->text = text;
	map->len = len < UINT32_MAX ? len : UINT32_MAX;
	err = parse(map) ?: paint(map);
	if (err)
		return err;
	*ret = take_ptr(map);
	return NULL;
}

struct jit_hit jit_map_find(const struct jit_map *map, uint64_t address)
{
	size_t i = count_below(map, address);
	const struct jit_map_entry *entry;

	if (!i || map->owners[i - 1] == BLANK)
		return (struct jit_hit){ 0 };
	entry = &map->entries[map->owners[i - 1]];
	return (struct jit_hit){ .name = map->text + entry->name, .name_len = entry->name_len };
}

size_t jit_map_size(const struct jit_map *map)
{
	return map->len + map->capacity * sizeof(*map->entries) +
	       map->n_bounds * (sizeof(*map->bounds) + sizeof(*map->owners));
}
