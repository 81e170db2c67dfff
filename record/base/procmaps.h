/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/maps, line by line. Names in it are made by strangers. */
#ifndef RECORD_BASE_PROCMAPS_H
#define RECORD_BASE_PROCMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/base/mapping.h"

/*
 * Takes apart one line, without its newline. The path is unescaped in place, and ends in NUL:
 * line[len] must be writable. Time, pid, tid and build-id are not in it. Returns false for what is
 * no such line.
 */
bool procmaps_parse(char *line, size_t len, struct mapping *ret);

/* Returns false to stop. The path ends in NUL. */
typedef bool procmaps_fn(void *arg, const struct mapping *mapping);

/*
 * Reads maps that was just opened, and closes it: each mapping that allows at least prot. Returns 0
 * or a negative errno; that of open() where maps is -1.
 */
int procmaps_each(int maps, uint32_t prot, procmaps_fn *fn, void *arg);

/* The vdso, code of the kernel that is mapped into each process and is in no file: its image in
 * this process. Returns false where there is none. */
bool vdso_image(const void **ret, size_t *ret_len);

#endif
