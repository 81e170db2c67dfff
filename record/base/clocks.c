/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reading of the other clocks is bracketed by two of CLOCK_MONOTONIC; an interruption between
 * them only widens the bracket, so the tightest of several readings is the truest.
 */
#include <errno.h>
#include <time.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"

#define READINGS 16

static uint64_t read_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clocks_now(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

struct ebt_error *clocks_read(struct clocks *ret)
{
	struct clocks best = { .uncertainty = UINT64_MAX };

	for (int i = 0; i < READINGS; i++) {
		struct clocks now = { 0 };
		uint64_t before = clocks_now(), after;

		now.boottime = read_ns(CLOCK_BOOTTIME);
		now.realtime = read_ns(CLOCK_REALTIME);
		now.tai = read_ns(CLOCK_TAI);
		after = clocks_now();
		now.monotonic = before + (after - before) / 2;
		now.uncertainty = (after - before + 1) / 2;
		if (now.uncertainty < best.uncertainty)
			best = now;
	}
	if (!best.boottime || !best.realtime)
		return ebt_error_errno(errno, "cannot read the clocks");
	*ret = best;
	return NULL;
}

struct ebt_error *clocks_emit(struct ebt_stream *stream, enum ebt_clock_moment moment,
			      uint64_t *ret_time)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_wire_clock *row;
	struct clocks now;
	struct ebt_error *err = clocks_read(&now);

	if (err)
		return err;
	row = ebt_record_begin(&rec, EBT_T_clock, now.monotonic);
	row->boottime = now.boottime;
	row->realtime = now.realtime;
	row->tai = now.tai;
	row->uncertainty = now.uncertainty;
	row->moment = moment;
	if (ret_time)
		*ret_time = now.monotonic;
	return ebt_record_add(&rec, stream);
}
