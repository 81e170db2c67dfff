/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a recording; see merge_parts.h. */
#include "report/share/merge_parts.h"

#include <string.h>

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

size_t merge_parts_home(struct ebt_reader *const *readers, size_t n, uint64_t time)
{
	size_t first = 0, last = 0;

	for (size_t i = 0; i < n; i++) {
		const struct ebt_window *window = window_of(readers[i]);

		if (time >= window->from && time < window->to)
			return i;
		if (window->from < window_of(readers[first])->from)
			first = i;
		if (window->to > window_of(readers[last])->to)
			last = i;
	}
	return time < window_of(readers[first])->from ? first : last;
}
