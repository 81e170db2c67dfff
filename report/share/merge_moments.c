/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments that inputs do not tell; see merge_moments.h. */
#include "report/share/merge_moments.h"

#include "format/schema/wire.h"

/* The first and the last reading of the clocks. */
struct readings {
	struct ebt_wire_clock first, last;
	bool any;
};

static struct ebt_error *take_reading(void *arg, const struct ebt_row *row)
{
	struct readings *readings = arg;

	readings->last = (struct ebt_wire_clock){
		.head.time = row->time,
		.boottime = ebt_clock_boottime(row),
		.realtime = ebt_clock_realtime(row),
		.tai = ebt_clock_tai(row),
		.uncertainty = ebt_clock_uncertainty(row),
	};
	if (!readings->any)
		readings->first = readings->last;
	readings->any = true;
	return NULL;
}

/* The clocks at the time, by a reading. */
static struct ebt_error *add(struct ebt_stream *stream, const struct ebt_wire_clock *reading,
			     uint64_t time, enum ebt_clock_moment moment)
{
	const uint64_t later = time - reading->head.time;
	struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_wire_clock *row = ebt_record_begin(&rec, EBT_T_clock, time);
	struct ebt_error *err;

	row->boottime = reading->boottime + later;
	row->realtime = reading->realtime + later;
	row->tai = reading->tai + later;
	row->uncertainty = reading->uncertainty;
	row->moment = moment;
	err = ebt_record_add(&rec, stream);
	ebt_record_deinit(&rec);
	return err;
}

struct ebt_error *merge_moments_append(struct ebt_reader *input, struct ebt_stream *stream)
{
	const struct ebt_reader_info *info = ebt_reader_info(input);
	struct readings readings = { 0 };
	struct ebt_error *err = NULL;

	if ((info->start_told && info->end_told) || info->start_ns == info->end_ns)
		return NULL;
	err = ebt_read_table(input, EBT_T_clock, take_reading, &readings);
	if (err)
		return err;
	if (!readings.any) {
		/* They are lost: the file's header has one of them. */
		readings.first.head.time = info->start_ns;
		readings.first.realtime = info->start_realtime_ns;
		readings.last = readings.first;
	}
	if (!info->start_told)
		err = add(stream, &readings.first, info->start_ns, EBT_V_clock_moment_begin);
	if (!err && !info->end_told)
		err = add(stream, &readings.last, info->end_ns, EBT_V_clock_moment_end);
	return err;
}
