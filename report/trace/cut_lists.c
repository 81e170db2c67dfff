/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of numbers in a part; see cut_lists.h. */
#include "report/trace/cut_lists.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

/* What is no number, as in a damaged file, is 0: no process, no table. */
struct ebt_error *cut_list_read(struct ebt_reader *reader, const char *key, struct option_u32s *ret)
{
	const char *list;
	struct ebt_error *err = ebt_reader_meta(reader, key, &list);
	size_t capacity = 0;

	while (!err && list) {
		err = ebt_array_reserve(&ret->v, ret->n, &capacity);
		if (err)
			break;
		ret->v[ret->n++] = (uint32_t)strtoul(list, NULL, 10);
		list = strchr(list, ',');
		if (list)
			list++;
	}
	return err;
}
