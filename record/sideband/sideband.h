/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf side-band: one dummy perf event a CPU tells of each executable mapping (with build-id
 * where the kernel can) and of kernel code that comes and goes. Opened before the snapshot of
 * /proc is taken, so that no mapping falls between the two.
 */
#ifndef RECORD_SIDEBAND_SIDEBAND_H
#define RECORD_SIDEBAND_SIDEBAND_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/sideband/context.h"

struct sideband;

/* n_cpus: numbers of CPUs are below it. */
struct ebt_error *sideband_open(struct sideband_context *context, uint32_t n_cpus,
				struct sideband **ret);
/* Accepts NULL. */
void sideband_close(struct sideband *sideband);
DEFINE_CLEANUP(struct sideband *, sideband_close);

/* A CPU has come online: its events are listened to from now on, and there may be another file
 * descriptor to poll. */
struct ebt_error *sideband_add_cpu(struct sideband *sideband, int cpu);

/* File descriptors to poll for reading; they belong to the side-band. Returns how many. */
size_t sideband_fds(const struct sideband *sideband, const int **ret);

/*
 * In two steps, because a mapping may be read before the fork which tells that its process is
 * recorded: read copies what the kernel's buffers hold; the caller then learns the task records
 * of the same time; emit makes rows of what was read (mmap, ksymbol, lost), dropping mappings of
 * processes that are none of ours.
 */
struct ebt_error *sideband_read(struct sideband *sideband);
struct ebt_error *sideband_emit(struct sideband *sideband);

/* Records that the kernel had no room for, so far. */
uint64_t sideband_lost(const struct sideband *sideband);

/* Nothing more is recorded; what has been can still be read. */
void sideband_stop(const struct sideband *sideband);

#endif
