/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames by address; see frame_cache.h. */
#include "symbolize/files/frame_cache.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "symbolize/dwarf/info.h"

/* What one build may have in memory and on disk: far more than a recording has of it. */
#define MAX_ADDRESSES (1u << 22)
#define MAX_FRAMES    (1u << 25)
#define MAX_STRINGS   (1u << 30)

#define NO_FILE	      UINT32_MAX
#define PLT	      UINT32_C(0x80000000)
#define ADDRESS_BYTES 16
#define FRAME_BYTES   16

void frame_cache_deinit(struct frame_cache *a)
{
	free(a->items);
	free(a->frames);
	ebt_buffer_deinit(&a->strings);
	ebt_map_deinit(&a->by_address);
	ebt_map_deinit(&a->by_string);
	*a = (struct frame_cache){ 0 };
}

static const struct cached_address *find(const struct frame_cache *a, uint64_t address)
{
	uint32_t i;

	return ebt_map_find(&a->by_address, address, &i) ? &a->items[i] : NULL;
}

static void get_frame(const struct frame_cache *a, const struct cached_frame *from,
		      struct module_frame *to)
{
	const char *strings = (const char *)a->strings.data;

	*to = (struct module_frame){
		.name = strings + from->name,
		.name_len = from->name_len,
		.plt = from->plt,
		.file = from->file == NO_FILE ? NULL : strings + from->file,
		.line = from->line,
	};
}

bool frame_cache_find(const struct frame_cache *a, uint64_t address, struct module_frame *frames,
		      size_t *ret_n)
{
	const struct cached_address *found = find(a, address);

	if (!found)
		return false;
	for (uint32_t i = 0; i < found->n; i++)
		get_frame(a, &a->frames[found->first + i], &frames[i]);
	*ret_n = found->n;
	return true;
}

/* --- adding --- */

/* Strings that came from disk are looked up too, once something is added. */
static struct ebt_error *index_strings(struct frame_cache *a)
{
	const char *strings = (const char *)a->strings.data;

	for (size_t at = 0; at < a->strings.len;) {
		size_t len = strlen(strings + at);
		struct ebt_error *err =
			ebt_map_insert(&a->by_string, ebt_hash_bytes(0, strings + at, len),
				       (uint32_t)at);

		if (err)
			return err;
		at += len + 1;
	}
	a->strings_indexed = true;
	return NULL;
}

static bool is_string(const struct frame_cache *a, uint32_t i, const char *text, size_t len)
{
	const char *other = (const char *)a->strings.data + i;

	return !strncmp(other, text, len) && !other[len];
}

static struct ebt_error *add_string(struct frame_cache *a, const char *text, size_t len,
				    uint32_t *ret)
{
	uint64_t hash = ebt_hash_bytes(0, text, len);
	struct ebt_error *err = a->strings_indexed ? NULL : index_strings(a);

	if (err)
		return err;
	*ret = ebt_map_search(&a->by_string, hash, i, is_string(a, i, text, len));
	if (*ret != EBT_MAP_NONE)
		return NULL;
	if (len >= MAX_STRINGS || a->strings.len > MAX_STRINGS - len - 1)
		return ebt_error_create(EBT_ERR_LIMIT, "more names than fit in memory");
	*ret = (uint32_t)a->strings.len;
	ebt_buffer_put(&a->strings, text, len);
	ebt_buffer_put_u8(&a->strings, 0);
	return a->strings.failed ? &ebt_enomem : ebt_map_insert(&a->by_string, hash, *ret);
}

static struct ebt_error *add_frame(struct frame_cache *a, const struct module_frame *from)
{
	struct cached_frame frame = { .file = NO_FILE, .line = from->line, .plt = from->plt };
	size_t len = strnlen(from->name, from->name_len);
	struct ebt_error *err;

	err = ebt_array_reserve(&a->frames, a->n_frames, &a->frames_capacity);
	if (err)
		return err;
	frame.name_len = (uint32_t)len;
	err = add_string(a, from->name, len, &frame.name);
	if (err)
		return err;
	if (from->file)
		err = add_string(a, from->file, strlen(from->file), &frame.file);
	if (!err)
		a->frames[a->n_frames++] = frame;
	return err;
}

struct ebt_error *frame_cache_add(struct frame_cache *a, uint64_t address,
				  const struct module_frame *frames, size_t n, bool passing)
{
	struct cached_address item = { address, (uint32_t)a->n_frames, (uint32_t)n, passing };
	struct ebt_error *err = NULL;

	if (a->n >= MAX_ADDRESSES || a->n_frames + n > MAX_FRAMES)
		return ebt_error_create(EBT_ERR_LIMIT, "more addresses than fit in memory");
	for (size_t i = 0; !err && i < n; i++)
		err = add_frame(a, &frames[i]);
	if (err)
		return err;
	err = ebt_array_reserve(&a->items, a->n, &a->capacity);
	if (err)
		return err;
	err = ebt_map_insert(&a->by_address, address, (uint32_t)a->n);
	if (!err)
		a->items[a->n++] = item;
	return err;
}

struct ebt_error *frame_cache_merge(struct frame_cache *a, const struct frame_cache *others)
{
	struct module_frame frames[DWARF_MAX_FRAMES];

	for (size_t i = 0; i < others->n; i++) {
		const struct cached_address *item = &others->items[i];
		struct ebt_error *err;

		if (find(a, item->address))
			continue;
		for (uint32_t f = 0; f < item->n; f++)
			get_frame(others, &others->frames[item->first + f], &frames[f]);
		err = frame_cache_add(a, item->address, frames, item->n, item->passing);
		if (err)
			return err;
	}
	return NULL;
}

/* --- on disk --- */

struct ebt_error *frame_cache_save(const struct frame_cache *a, struct ebt_buffer *out)
{
	uint32_t n = 0, n_frames = 0;

	for (size_t i = 0; i < a->n; i++) {
		n += !a->items[i].passing;
		n_frames += a->items[i].passing ? 0 : a->items[i].n;
	}
	ebt_buffer_put_u32(out, n);
	ebt_buffer_put_u32(out, n_frames);
	ebt_buffer_put_u32(out, (uint32_t)a->strings.len);
	n_frames = 0;
	for (size_t i = 0; i < a->n; i++) {
		if (a->items[i].passing)
			continue;
		ebt_buffer_put_u64(out, a->items[i].address);
		ebt_buffer_put_u32(out, n_frames);
		ebt_buffer_put_u32(out, a->items[i].n);
		n_frames += a->items[i].n;
	}
	for (size_t i = 0; i < a->n; i++) {
		for (uint32_t f = 0; !a->items[i].passing && f < a->items[i].n; f++) {
			const struct cached_frame *frame = &a->frames[a->items[i].first + f];

			ebt_buffer_put_u32(out, frame->name);
			ebt_buffer_put_u32(out, frame->name_len | (frame->plt ? PLT : 0));
			ebt_buffer_put_u32(out, frame->file);
			ebt_buffer_put_u32(out, frame->line);
		}
	}
	ebt_buffer_put(out, a->strings.data, a->strings.len);
	return out->failed ? &ebt_enomem : NULL;
}

static bool is_good_string(const struct frame_cache *a, uint32_t at, uint32_t len)
{
	return at < a->strings.len && len < a->strings.len - at;
}

/* Reads what fits together; the sizes were checked. */
static bool load_items(struct frame_cache *a, struct ebt_bytes *in)
{
	for (size_t i = 0; i < a->n; i++) {
		struct cached_address *item = &a->items[i];

		ebt_bytes_u64(in, &item->address);
		ebt_bytes_u32(in, &item->first);
		ebt_bytes_u32(in, &item->n);
		if (item->n > DWARF_MAX_FRAMES || item->first > a->n_frames ||
		    item->n > a->n_frames - item->first)
			return false;
	}
	for (size_t i = 0; i < a->n_frames; i++) {
		struct cached_frame *frame = &a->frames[i];

		ebt_bytes_u32(in, &frame->name);
		ebt_bytes_u32(in, &frame->name_len);
		ebt_bytes_u32(in, &frame->file);
		ebt_bytes_u32(in, &frame->line);
		frame->plt = frame->name_len & PLT;
		frame->name_len &= ~PLT;
		if (!is_good_string(a, frame->name, frame->name_len) ||
		    (frame->file != NO_FILE && !is_good_string(a, frame->file, 0)))
			return false;
	}
	return true;
}

static struct ebt_error *load(struct frame_cache *a, struct ebt_bytes *in, bool *ret_good)
{
	uint32_t n, n_frames, strings;
	struct ebt_error *err = NULL;
	uint64_t fixed;

	*ret_good = ebt_bytes_u32(in, &n) && ebt_bytes_u32(in, &n_frames) &&
		    ebt_bytes_u32(in, &strings) && n <= MAX_ADDRESSES && n_frames <= MAX_FRAMES &&
		    strings <= MAX_STRINGS;
	if (!*ret_good)
		return NULL;
	fixed = (uint64_t)n * ADDRESS_BYTES + (uint64_t)n_frames * FRAME_BYTES;
	*ret_good = ebt_bytes_left(in) == fixed + strings && (!strings || !in->end[-1]);
	if (!*ret_good)
		return NULL;
	a->items = calloc((size_t)n + 1, sizeof(*a->items));
	a->frames = calloc((size_t)n_frames + 1, sizeof(*a->frames));
	ebt_buffer_put(&a->strings, in->pos + fixed, strings);
	if (!a->items || !a->frames || a->strings.failed)
		return &ebt_enomem;
	a->n = a->capacity = a->n_loaded = n;
	a->n_frames = a->frames_capacity = n_frames;
	*ret_good = load_items(a, in);
	for (uint32_t i = 0; !err && *ret_good && i < n; i++) {
		/* Where an address is there twice, one of the two is wrong. */
		*ret_good = !find(a, a->items[i].address);
		err = ebt_map_insert(&a->by_address, a->items[i].address, i);
	}
	return err;
}

struct ebt_error *frame_cache_load(struct frame_cache *a, struct ebt_bytes *in, bool *ret_good)
{
	struct ebt_error *err = load(a, in, ret_good);

	if (err || !*ret_good)
		frame_cache_deinit(a);
	return err;
}
