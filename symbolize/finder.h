/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the files of a recorded machine are on this one. A chain of places is looked through; a
 * file is taken for its build-id and nothing else. Another place (a container's layers, a
 * debuginfod server) is another function in the chain.
 */
#ifndef SYM_FINDER_H
#define SYM_FINDER_H

#include "elffile.h"
#include "error.h"
#include "symbolize.h"

struct finder {
	char **debug_dirs; /* of the user, in order */
	size_t n_debug_dirs;
	char *sysroot; /* or NULL */
};

/* What was found. reason says why there is neither main nor debug. */
struct found {
	struct elf_file *main;	/* the program or library */
	struct elf_file *debug; /* its separate debug information, or NULL */
	struct elf_file *alt;	/* what several of those share (dwz), or NULL */
	enum sym_reason reason;
};

struct ebt_error *finder_init(struct finder *finder, const struct sym_options *options);
void finder_deinit(struct finder *finder);

/* Finds the files of the recorded path with this build-id, which is not empty. */
struct ebt_error *finder_find(const struct finder *finder, const char *path,
			      const struct sym_build_id *id, struct found *ret);
void found_deinit(struct found *found);

#endif
