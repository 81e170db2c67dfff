/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings, stacks and tasks of one chunk. */
#include "format/base/limits.h"
#include "format/read/batch.h"

static struct ebt_error *cut_short(void)
{
	return ebt_error_create(EBT_ERR_CORRUPT, "ends within an entry");
}

static struct ebt_error *left_over(const struct ebt_bytes *in)
{
	if (!ebt_bytes_left(in))
		return NULL;
	return ebt_error_create(EBT_ERR_CORRUPT, "%zu bytes behind the last entry",
				ebt_bytes_left(in));
}

/* Every entry takes at least `least` bytes, so that what is left bounds what is allocated. */
static struct ebt_error *read_count(struct ebt_bytes *in, size_t least, uint32_t *ret)
{
	uint64_t n;

	if (!ebt_bytes_varint(in, &n))
		return cut_short();
	if (n > EBT_MAX_DICT)
		return ebt_error_create(EBT_ERR_LIMIT, "%ju entries, more than %u", (uintmax_t)n,
					EBT_MAX_DICT);
	if (n > ebt_bytes_left(in) / least)
		return ebt_error_create(EBT_ERR_CORRUPT, "%zu bytes for %ju entries",
					ebt_bytes_left(in), (uintmax_t)n);
	*ret = (uint32_t)n;
	return NULL;
}

struct ebt_error *ebt_dict_read_strings(struct ebt_bytes in, struct ebt_decoded *decoded)
{
	struct ebt_error *err;
	uint64_t len, total = 0;
	struct ebt_str *str;
	char *bytes;
	uint32_t n = 0;

	err = read_count(&in, 1, &n);
	if (err)
		return err;
	str = ebt_space_get(&decoded->spaces[EBT_SPACE_STRINGS], n * sizeof(*str));
	if (!str)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n; i++) {
		if (!ebt_bytes_varint(&in, &len))
			return cut_short();
		if (len > EBT_MAX_STRING)
			return ebt_error_create(EBT_ERR_LIMIT, "a string of %ju bytes",
						(uintmax_t)len);
		str[i].len = (size_t)len;
		total += len;
	}
	if (total != ebt_bytes_left(&in))
		return ebt_error_create(EBT_ERR_CORRUPT, "%zu bytes for strings of %ju bytes",
					ebt_bytes_left(&in), (uintmax_t)total);
	bytes = ebt_space_get(&decoded->spaces[EBT_SPACE_STRING_BYTES], (size_t)total);
	if (!bytes)
		return &ebt_enomem;
	memcpy(bytes, in.pos, (size_t)total);
	for (uint32_t i = 0; i < n; i++) {
		str[i].data = bytes;
		bytes += str[i].len;
	}
	decoded->batch.strings = str;
	decoded->batch.n_strings = n;
	return NULL;
}

static struct ebt_error *read_addresses(struct ebt_bytes *in, struct ebt_stack *stack, uint32_t n,
					uint64_t *to)
{
	uint64_t address = 0, difference;

	for (uint32_t i = 0; i < n; i++) {
		stack[i].addresses = to;
		for (uint32_t k = 0; k < stack[i].n; k++) {
			if (!ebt_bytes_zigzag(in, &difference))
				return cut_short();
			address += difference;
			*to++ = address;
		}
	}
	return left_over(in);
}

struct ebt_error *ebt_dict_read_stacks(struct ebt_bytes in, struct ebt_decoded *decoded)
{
	struct ebt_error *err;
	uint64_t v, total = 0;
	struct ebt_stack *stack;
	uint64_t *addresses;
	uint32_t n = 0;

	err = read_count(&in, 2, &n);
	if (err)
		return err;
	stack = ebt_space_get(&decoded->spaces[EBT_SPACE_STACKS], n * sizeof(*stack));
	if (!stack)
		return &ebt_enomem;
	for (uint32_t i = 0; i < n; i++) {
		if (!ebt_bytes_varint(&in, &v))
			return cut_short();
		stack[i].attrs = (uint32_t)v;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!ebt_bytes_varint(&in, &v))
			return cut_short();
		if (v > EBT_MAX_FRAMES)
			return ebt_error_create(EBT_ERR_LIMIT, "a stack of %ju addresses",
						(uintmax_t)v);
		stack[i].n = (uint32_t)v;
		total += v;
	}
	if (total > ebt_bytes_left(&in))
		return ebt_error_create(EBT_ERR_CORRUPT, "%zu bytes for %ju addresses",
					ebt_bytes_left(&in), (uintmax_t)total);
	addresses = ebt_space_get(&decoded->spaces[EBT_SPACE_ADDRESSES],
				  (size_t)total * sizeof(*addresses));
	if (!addresses)
		return &ebt_enomem;
	err = read_addresses(&in, stack, n, addresses);
	if (err)
		return err;
	decoded->batch.stacks = stack;
	decoded->batch.n_stacks = n;
	return NULL;
}

/* n numbers of 32 bits: a tid or pid of each key. */
static struct ebt_error *read_ids(struct ebt_bytes *in, struct ebt_task *keys, uint32_t n,
				  bool pids)
{
	uint64_t v;

	for (uint32_t i = 0; i < n; i++) {
		if (!ebt_bytes_varint(in, &v))
			return cut_short();
		if (v > UINT32_MAX)
			return ebt_error_create(EBT_ERR_CORRUPT, "task %u: id %ju", i,
						(uintmax_t)v);
		*(pids ? &keys[i].pid : &keys[i].tid) = (uint32_t)v;
	}
	return NULL;
}

static struct ebt_error *read_starts(struct ebt_bytes *in, struct ebt_task *keys, uint32_t n)
{
	uint64_t start = 0, difference;

	for (uint32_t i = 0; i < n; i++) {
		if (!ebt_bytes_zigzag(in, &difference))
			return cut_short();
		start += difference;
		keys[i].start_ns = start;
	}
	return NULL;
}

static struct ebt_error *read_comms(struct ebt_bytes *in, struct ebt_task *keys, uint32_t n,
				    const struct ebt_batch *batch)
{
	uint64_t v;

	for (uint32_t i = 0; i < n; i++) {
		if (!ebt_bytes_varint(in, &v))
			return cut_short();
		if (v > batch->n_strings)
			return ebt_error_create(EBT_ERR_CORRUPT,
						"task %u: name is string %ju of %u", i,
						(uintmax_t)v, batch->n_strings);
		keys[i].comm = v ? batch->strings[v - 1] : (struct ebt_str){ "", 0 };
	}
	return left_over(in);
}

struct ebt_error *ebt_dict_read_tasks(struct ebt_bytes in, struct ebt_decoded *decoded)
{
	struct ebt_batch *batch = &decoded->batch;
	const struct ebt_task **tasks;
	struct ebt_error *err;
	struct ebt_task *keys;
	uint32_t n = 0;

	err = read_count(&in, 4, &n);
	if (err)
		return err;
	keys = ebt_space_get(&decoded->spaces[EBT_SPACE_TASK_KEYS], n * sizeof(*keys));
	tasks = ebt_space_get(&decoded->spaces[EBT_SPACE_TASKS], n * sizeof(*tasks));
	if (!keys || !tasks)
		return &ebt_enomem;
	err = read_ids(&in, keys, n, false);
	if (err)
		return err;
	err = read_ids(&in, keys, n, true);
	if (err)
		return err;
	err = read_starts(&in, keys, n);
	if (err)
		return err;
	err = read_comms(&in, keys, n, batch);
	for (uint32_t i = 0; !err && i < n; i++)
		err = ebt_task_set_intern(decoded->set, &keys[i], &tasks[i]);
	if (err)
		return err;
	batch->tasks = tasks;
	batch->n_tasks = n;
	return NULL;
}
