/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code that was generated at run time: /tmp/perf-PID.map and jitdump files, for the
 * processes that have such code. They are looked for from the time that the code is mapped, and
 * stored when the process runs another program, ends, or the recording does; by then the process
 * may have deleted them. Used by one thread at a time.
 */
#ifndef RECORD_SIDEBAND_PERFMAP_H
#define RECORD_SIDEBAND_PERFMAP_H

#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/sideband/context.h"

struct perfmaps;

struct ebt_error *perfmaps_create(struct sideband_context *context, struct perfmaps **ret);
/* Accepts NULL. */
void perfmaps_destroy(struct perfmaps *maps);
DEFINE_CLEANUP(struct perfmaps *, perfmaps_destroy);

/* A process has got executable memory. */
struct ebt_error *perfmaps_map(struct perfmaps *maps, const struct mapping *mapping);

/* It runs another program, or has ended. */
struct ebt_error *perfmaps_exec(struct perfmaps *maps, uint32_t pid, uint64_t time_ns);
struct ebt_error *perfmaps_exit(struct perfmaps *maps, uint32_t pid, uint64_t time_ns);

/* To be called now and then: looks for files that were not there yet. */
struct ebt_error *perfmaps_look(struct perfmaps *maps, uint64_t now);

/* The recording ends. */
struct ebt_error *perfmaps_finish(struct perfmaps *maps, uint64_t now);

#endif
