/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a recording; see merge_parts.h. */
#include "report/share/merge_parts.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "report/trace/losses.h"

static const struct ebt_window *window_of(const struct ebt_reader *reader)
{
	return &ebt_reader_info(reader)->window;
}

bool merge_parts_are(struct ebt_reader *const *readers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct ebt_reader_info *info = ebt_reader_info(readers[i]);

		if (!ebt_window_is_set(&info->window) ||
		    memcmp(info->uuid, ebt_reader_info(readers[0])->uuid, sizeof(info->uuid)) != 0)
			return false;
	}
	return n > 1;
}

static bool is_within(const struct ebt_window *a, const struct ebt_window *b)
{
	return a->from >= b->from && a->to <= b->to;
}

static struct ebt_error *check(struct ebt_reader *const *readers, size_t i, size_t n)
{
	const struct ebt_window *window = window_of(readers[i]);
	bool adjoins = window->to == UINT64_MAX, last = true;

	for (size_t k = 0; k < n; k++) {
		const struct ebt_window *other = window_of(readers[k]);

		if (k == i)
			continue;
		if (is_within(window, other))
			return ebt_error_create(EBT_ERR_INVALID,
						"%s and %s are of the same recording, and the one "
						"has nothing that the other lacks",
						ebt_reader_info(readers[i])->path,
						ebt_reader_info(readers[k])->path);
		adjoins |= other->from <= window->to && other->to > window->to;
		last &= other->to <= window->to;
	}
	if (adjoins || last)
		return NULL;
	return ebt_error_create(EBT_ERR_INVALID,
				"%s: the part of the recording that follows this one is missing",
				ebt_reader_info(readers[i])->path);
}

struct ebt_error *merge_parts_window(struct ebt_reader *const *readers, size_t n,
				     struct ebt_window *ret)
{
	struct ebt_window all = *window_of(readers[0]);
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++) {
		const struct ebt_window *window = window_of(readers[i]);

		all.from = window->from < all.from ? window->from : all.from;
		all.to = window->to > all.to ? window->to : all.to;
		err = check(readers, i, n);
	}
	if (!err)
		*ret = all.from || all.to != UINT64_MAX ? all : (struct ebt_window){ 0 };
	return err;
}

/* --- from which part? --- */

struct part_gaps {
	struct ebt_map by_table; /* index of losses */
	struct losses *losses;
	size_t n_losses, losses_capacity;
};

struct merge_parts {
	struct ebt_reader *const *readers;
	struct part_gaps *gaps;
	size_t n;
};

DEFINE_CLEANUP(struct merge_parts *, merge_parts_destroy);

static bool overlaps(struct ebt_reader *const *readers, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++) {
		const struct ebt_window *a = window_of(readers[i]), *b = window_of(readers[k]);

		if (k != i && a->from < b->to && b->from < a->to)
			return true;
	}
	return false;
}

/* What cannot be read is known when it has been tried. */
static struct ebt_error *find_gaps(struct ebt_reader *reader, struct part_gaps *part)
{
	struct ebt_error *err = ebt_reader_verify(reader);
	const struct ebt_table *tables;
	size_t n, n_damage;
	uint64_t total;

	if (err)
		return err;
	ebt_reader_damage(reader, &n_damage, &total);
	tables = ebt_reader_tables(reader, &n);
	for (size_t t = 0; !err && n_damage && t < n; t++) {
		uint32_t i;

		err = ebt_map_element(&part->by_table, tables[t].id, &part->losses, &part->n_losses,
				      &part->losses_capacity, &i)
			      ?: losses_load(reader, tables[t].id, &part->losses[i]);
	}
	return err;
}

struct ebt_error *merge_parts_create(struct ebt_reader *const *readers, size_t n,
				     struct merge_parts **ret)
{
	_cleanup_(merge_parts_destroyp) struct merge_parts *parts = calloc(1, sizeof(*parts));
	struct ebt_error *err = NULL;

	if (!parts)
		return &ebt_enomem;
	parts->readers = readers;
	parts->gaps = calloc(n, sizeof(*parts->gaps));
	if (!parts->gaps)
		return &ebt_enomem;
	parts->n = n;
	for (size_t i = 0; !err && i < n; i++) {
		if (overlaps(readers, n, i))
			err = find_gaps(readers[i], &parts->gaps[i]);
	}
	if (!err)
		*ret = take_ptr(parts);
	return err;
}

void merge_parts_destroy(struct merge_parts *parts)
{
	if (!parts)
		return;
	for (size_t i = 0; i < parts->n; i++) {
		for (size_t k = 0; k < parts->gaps[i].n_losses; k++)
			losses_deinit(&parts->gaps[i].losses[k]);
		free(parts->gaps[i].losses);
		ebt_map_deinit(&parts->gaps[i].by_table);
	}
	free(parts->gaps);
	free(parts);
}

static bool has_gap(const struct part_gaps *part, uint16_t table, uint64_t time)
{
	uint32_t i;

	return ebt_map_find(&part->by_table, table, &i) &&
	       losses_touch(&part->losses[i], time, time);
}

size_t merge_parts_home(const struct merge_parts *parts, uint16_t table, uint64_t time)
{
	struct ebt_reader *const *readers = parts->readers;
	size_t first = 0, last = 0, home = parts->n;

	for (size_t i = 0; i < parts->n; i++) {
		const struct ebt_window *window = window_of(readers[i]);

		if (time >= window->from && time < window->to) {
			if (!has_gap(&parts->gaps[i], table, time))
				return i;
			home = home < parts->n ? home : i;
		}
		if (window->from < window_of(readers[first])->from)
			first = i;
		if (window->to > window_of(readers[last])->to)
			last = i;
	}
	if (home < parts->n)
		return home;
	return time < window_of(readers[first])->from ? first : last;
}
