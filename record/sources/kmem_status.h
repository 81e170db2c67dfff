/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc says of the memory of the machine and of processes, for source `kmem`. */
#ifndef RECORD_SOURCES_KMEM_STATUS_H
#define RECORD_SOURCES_KMEM_STATUS_H

#include "record/config/source.h"

/* Rows of meminfo and process_memory. */
extern const struct source_worker kmem_status_worker;

#endif
