/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks of the machine read together, so that times of a trace can be converted. */
#ifndef RECORD_BASE_CLOCKS_H
#define RECORD_BASE_CLOCKS_H

#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"

struct clocks {
	uint64_t monotonic, boottime, realtime, tai; /* ns, all of one moment */
	uint64_t uncertainty;			     /* that moment lies within ± this */
};

/* Several bracketed readings; the tightest is returned. */
struct ebt_error *clocks_read(struct clocks *ret);

/* Adds a row of table clock. *ret_time: its time; may be NULL. */
struct ebt_error *clocks_emit(struct ebt_stream *stream, enum ebt_clock_moment moment,
			      uint64_t *ret_time);

/* CLOCK_MONOTONIC now, ns: the time of every row. */
uint64_t clocks_now(void);

#endif
