/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/maps, line by line. Names in it are made by strangers. */
#ifndef RECORD_BASE_PROCMAPS_H
#define RECORD_BASE_PROCMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct procmaps_entry {
	uint64_t start, end, pgoff, inode;
	uint32_t dev_major, dev_minor;
	uint32_t prot, flags; /* PROT_*, MAP_SHARED or MAP_PRIVATE */
	char *path;	      /* in the line; empty for memory without a file */
	size_t path_len;
};

/*
 * Takes apart one line, without its newline. The path is unescaped in place, and ends in NUL:
 * line[len] must be writable. Returns false for what is no such line.
 */
bool procmaps_parse(char *line, size_t len, struct procmaps_entry *ret);

/* Gets each executable mapping. Returns false to stop. */
typedef bool procmaps_fn(void *arg, const struct procmaps_entry *entry);

/* Reads maps through fd, from its position. Returns 0 or a negative errno. */
int procmaps_each(int fd, procmaps_fn *fn, void *arg);
/* The same of mappings that are not executable, too. */
int procmaps_each_of_all(int fd, procmaps_fn *fn, void *arg);

#endif
