/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frame cache: the frames that were found at addresses of one build. It has each address, each
 * function name and each path once. The symbol cache (cache.h) keeps it on disk.
 */
#ifndef SYMBOLIZE_FILES_FRAME_CACHE_H
#define SYMBOLIZE_FILES_FRAME_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/error.h"
#include "format/base/map.h"

/* A frame as the files have it. */
struct module_frame {
	const char *name; /* as linked */
	size_t name_len;
	bool plt;
	const char *file; /* NULL: not known */
	uint32_t line;
};

/* All zero: empty. */
struct frame_cache {
	struct cached_address {
		uint64_t address;
		uint32_t first, n; /* frames */
		bool passing;	   /* not to be kept on disk */
	} * items;
	size_t n, capacity;
	struct cached_frame {
		uint32_t name, name_len; /* where in the strings */
		uint32_t file;		 /* the same; UINT32_MAX: not known */
		uint32_t line;
		bool plt;
	} * frames;
	size_t n_frames, frames_capacity;
	struct ebt_buffer strings; /* each with its NUL */
	struct ebt_map by_address, by_string;
	bool strings_indexed;
	size_t n_loaded; /* the first of the items are on disk already */
};

void frame_cache_deinit(struct frame_cache *cache);

/* The frames of an address; frames has room for DWARF_MAX_FRAMES. Their strings live until the next
 * addition. False: the cache does not have the address. */
bool frame_cache_find(const struct frame_cache *cache, uint64_t address,
		      struct module_frame *frames, size_t *ret_n);

/* Adds an address that is not there yet. */
struct ebt_error *frame_cache_add(struct frame_cache *cache, uint64_t address,
				  const struct module_frame *frames, size_t n, bool passing);

/* Adds those addresses of `others` that the cache does not have. */
struct ebt_error *frame_cache_merge(struct frame_cache *cache, const struct frame_cache *others);

/* Appends the addresses that are worth keeping, in a form that frame_cache_load() reads. */
struct ebt_error *frame_cache_save(const struct frame_cache *cache, struct ebt_buffer *out);

/* Reads them into an empty cache. *ret_good is false where they are damaged: the cache is empty. */
struct ebt_error *frame_cache_load(struct frame_cache *cache, struct ebt_bytes *in, bool *ret_good);

#endif
