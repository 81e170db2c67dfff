/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames at addresses of one build, as they were found: each address, function name and path once.
 * This is what the symbol cache keeps on disk (cache.h).
 */
#ifndef SYMBOLIZE_FILES_ANSWERS_H
#define SYMBOLIZE_FILES_ANSWERS_H

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

/* All zero: none. It must stay where it is. */
struct answers {
	struct answer_at {
		uint64_t address;
		uint32_t first, n; /* frames */
		bool passing;	   /* not to be kept on disk */
	} * items;
	size_t n, capacity;
	struct answer_frame {
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

void answers_deinit(struct answers *answers);

/* Frames of the address; frames has room for DWARF_MAX_FRAMES. Strings live until the next
 * addition. False: it was not asked for yet. */
bool answers_find(const struct answers *answers, uint64_t address, struct module_frame *frames,
		  size_t *ret_n);

/* Adds an address that is not there yet. */
struct ebt_error *answers_add(struct answers *answers, uint64_t address,
			      const struct module_frame *frames, size_t n, bool passing);

/* Adds all of the others that are not there yet. */
struct ebt_error *answers_merge(struct answers *answers, const struct answers *others);

/* Appends those that are worth keeping, in a form that answers_load() reads. */
struct ebt_error *answers_save(const struct answers *answers, struct ebt_buffer *out);

/* Reads them into empty answers; false in *ret_good: they are damaged, and none were read. */
struct ebt_error *answers_load(struct answers *answers, struct ebt_bytes *in, bool *ret_good);

#endif
