/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc says of the memory of the machine and of processes, for source `kmem`. */
#ifndef RECORD_KMEM_STATUS_H
#define RECORD_KMEM_STATUS_H

#include "source.h"

/* Finds "NAME:   123 kB" at the beginning of a line; bytes, or 0 where there is none. */
uint64_t kmem_status_bytes(const char *text, const char *name);

/* Rows of meminfo and process_memory. */
extern const struct source_worker kmem_status_worker;

#endif
