/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the files of a recorded machine are on this one. A chain of places is looked through, in
 * order: the trace itself, caches, folders that the user names, containers as the trace describes
 * them, the system, a debuginfod server. A file is taken for its build-id; where it has none, for
 * its content, or its size and time. Another place is another function in the chain (finder.c).
 */
#ifndef SYMBOLIZE_FILES_FINDER_H
#define SYMBOLIZE_FILES_FINDER_H

#include <stdbool.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "symbolize/base/types.h"
#include "symbolize/elf/elffile.h"

struct finder {
	struct finder_state *state;
};

/* How the places are called is for people and JSON: found_place_name(). */
enum found_place {
	FOUND_NOWHERE,
	FOUND_TRACE,	  /* embedded in the trace */
	FOUND_CACHE,	  /* of debuginfod or perf */
	FOUND_DEBUG_DIR,  /* --debug-dir */
	FOUND_ROOT,	  /* --root */
	FOUND_SYSROOT,	  /* --sysroot */
	FOUND_PATH,	  /* at its recorded path */
	FOUND_CONTAINER,  /* by the mount tables of the trace */
	FOUND_SYSTEM,	  /* /usr/lib/debug */
	FOUND_DEBUGINFOD, /* from a server, now */
};

enum found_match {
	MATCH_BUILD_ID,
	MATCH_HASH,	 /* no build-id: the content is the same */
	MATCH_SIZE_TIME, /* neither: size and time of change are the same */
};

/* What was found. reason says why there is neither main nor debug. */
struct found {
	struct elf_file *main;	/* the program or library */
	struct elf_file *debug; /* its separate debug information, or NULL */
	struct elf_file *alt;	/* what several of those share (dwz), or NULL */
	enum sym_reason reason;
	enum sym_reason debug_reason; /* why there is no debug information, where that is known */
	enum found_place main_place, debug_place;
	enum found_match match;
	char *refused; /* the file that was there and is another one, or NULL */
	char *image;   /* that main is made of, where it is from the trace */
};

const char *found_place_name(enum found_place place);
const char *found_match_name(enum found_match match);

/* reader may be NULL: then nothing is known of the recorded machine. Both must live longer. */
struct ebt_error *finder_init(struct finder *finder, struct ebt_reader *reader,
			      const struct sym_options *options);
void finder_deinit(struct finder *finder);

/* The segments of a file as the trace knows them; *ret_n 0: it does not. */
struct ebt_error *finder_loads(const struct finder *finder, const char *path,
			       const struct sym_build_id *id, const struct elf_load **ret,
			       size_t *ret_n);

/* Is the file in the trace? */
struct ebt_error *finder_is_embedded(const struct finder *finder, const char *path,
				     const struct sym_build_id *id, bool *ret);

/* Finds the files of the recorded path with this build-id, which may be empty. Threads may call
 * it at the same time. */
struct ebt_error *finder_find(const struct finder *finder, const char *path,
			      const struct sym_build_id *id, struct found *ret);
/* Where servers may be asked: begins to fetch what finder_find() will want of this file. */
struct ebt_error *finder_expect(const struct finder *finder, const char *path,
				const struct sym_build_id *id);

/* Of all that was looked for so far. */
void finder_tally(const struct finder *finder, struct sym_tally *ret);

void found_deinit(struct found *found);

#endif
