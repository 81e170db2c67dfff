/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbol cache: names, inlined calls and lines of addresses that were asked for, a file for
 * each build, below $XDG_CACHE_HOME/ebreport. It is a copy of what the files of a build say: what
 * is wrong with it, or in its way, only costs time.
 */
#ifndef SYMBOLIZE_FILES_CACHE_H
#define SYMBOLIZE_FILES_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "symbolize/elf/elffile.h"
#include "symbolize/files/frame_cache.h"

struct sym_cache;

/* What the frames of a build were made from. The more bits, the more the frames say. */
enum {
	CACHE_MAIN = 1,	  /* the program or library itself, with its stubs */
	CACHE_SYMTAB = 2, /* all of its functions */
	CACHE_DWARF = 4,
	CACHE_ALL = 7,
};

/* One file of it. */
struct cache_build {
	struct sym_build_id id;
	bool no_dwarf; /* frames are from symbol tables on purpose: a file of their own */
	unsigned int quality;
	bool complete;		/* as of symtab */
	struct elf_load *loads; /* of main if there is one */
	size_t n_loads;
	struct frame_cache frames;
};

/* *ret is NULL where there can be no cache. */
struct ebt_error *sym_cache_open(struct sym_cache **ret);

/* Drops what is old where there is too much. Accepts NULL. */
void sym_cache_close(struct sym_cache *cache);

/* Fills in a build whose id and no_dwarf are set; false in *ret_found: there is no good file. The
 * cache may be NULL. */
struct ebt_error *sym_cache_load(const struct sym_cache *cache, struct cache_build *build,
				 bool *ret_found);

/* Writes the build's file anew. That it could not be written is no error. */
struct ebt_error *sym_cache_save(struct sym_cache *cache, const struct cache_build *build);

/* Bytes of such a file, and back; false in *ret_good: they are damaged, or of another build. */
struct ebt_error *cache_build_pack(const struct cache_build *build, struct ebt_buffer *out);
struct ebt_error *cache_build_unpack(struct cache_build *build, const void *data, size_t len,
				     bool *ret_good);

/* All but the id. */
void cache_build_deinit(struct cache_build *build);

#endif
