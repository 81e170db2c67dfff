/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs that come online while a recording runs: they are sampled, and what they map is heard of. */
#ifndef RECORD_SESSION_NEW_CPUS_H
#define RECORD_SESSION_NEW_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/base/hotplug.h"
#include "record/session/capture.h"
#include "record/sideband/sideband.h"

/* None is owned. */
struct new_cpus {
	struct hotplug *hotplug;
	const struct capture *capture;
	struct sideband *sideband;
	uint64_t last; /* when somebody looked */
};

/* Adds rows of `lost`: what such a CPU did since the last look is in no row. *ret: there is one. */
struct ebt_error *new_cpus_follow(struct new_cpus *cpus, struct ebt_stream *stream, bool *ret);

#endif
