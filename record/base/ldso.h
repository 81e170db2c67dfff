/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where programs and libraries are found by their names, as execvp() and ld.so find them. */
#ifndef RECORD_BASE_LDSO_H
#define RECORD_BASE_LDSO_H

#include <stdbool.h>
#include <stddef.h>

#include "unwind/needed.h"

struct ldso {
	char *cache; /* of ld.so.conf's directories: /etc/ld.so.cache */
	size_t cache_len;
};

/* What cannot be read is left out. */
void ldso_read(struct ldso *ret);
void ldso_deinit(struct ldso *ldso);

/* A library that a file with these needs would load, which lies in the directory origin. ret has
 * PATH_MAX. */
bool ldso_find_library(const struct ldso *ldso, const struct needed *needed, const char *origin,
		       const char *name, char *ret);

/* A program by its path, or its name in $PATH. ret has PATH_MAX. Returns 0, or the errno that
 * execvp() of this process would end with. */
int ldso_find_program(const char *name, char *ret);

/* A name's places in $PATH, one after the other. */
struct program_search {
	const char *name;
	const char *rest; /* of the folders; NULL: none is left */
	bool whole_only;  /* not folders that are relative to the current one */
};

/* A name with a slash is looked for nowhere. */
struct program_search ldso_search_program(const char *name);
/* The next; as ldso_find_program() otherwise. */
int ldso_next_program(struct program_search *search, char *ret);

#endif
