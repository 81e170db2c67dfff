/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file, its clocks, and the machine; see perfetto.h. */
#include "report/export/perfetto.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/trees/feed.h"

#define SEQUENCE   1 /* all packets are of one writer */
#define CLEARED	   1 /* sequence_flags */
#define NEEDED	   2
#define MOST_STEPS 4096 /* of the clocks; a machine sleeps less often */

void perfetto_put(struct perfetto *p, Perfetto__TracePacket *packet)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;

	PERFETTO_SET(packet, trusted_packet_sequence_id, SEQUENCE);
	if (!packet->has_sequence_flags)
		PERFETTO_SET(packet, sequence_flags, NEEDED);
	trace.packet = &packet;
	trace.n_packet = 1;
	message_write(p->writer, &trace.base);
}

/* --- clocks --- */

/* A number beyond what readers take, which have a sign, is the last of these. */
static uint64_t sum(uint64_t time, uint64_t ahead)
{
	uint64_t at;

	return __builtin_add_overflow(time, ahead, &at) || at > INT64_MAX ? INT64_MAX : at;
}

uint64_t perfetto_time(struct perfetto *p, uint64_t time)
{
	if (!p->n_steps)
		return sum(time, 0);
	while (p->step + 1 < p->n_steps && p->steps[p->step + 1].from <= time)
		p->step++;
	while (p->step && p->steps[p->step].from > time)
		p->step--;
	return sum(time, p->steps[p->step].ahead);
}

static void put_clocks(struct perfetto *p, uint64_t time, uint64_t realtime)
{
	Perfetto__ClockSnapshot__Clock clocks[3], *clock[3];
	const uint64_t times[] = { time, perfetto_time(p, time), realtime };
	static const Perfetto__BuiltinClock ids[] = {
		PERFETTO__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC,
		PERFETTO__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME,
		PERFETTO__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME,
	};
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	for (int i = 0; i < 3; i++) {
		perfetto__clock_snapshot__clock__init(&clocks[i]);
		PERFETTO_SET(&clocks[i], clock_id, ids[i]);
		PERFETTO_SET(&clocks[i], timestamp, sum(times[i], 0));
		clock[i] = &clocks[i];
	}
	snapshot.clocks = clock;
	snapshot.n_clocks = 3;
	PERFETTO_SET(&snapshot, primary_trace_clock,
		     PERFETTO__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME);
	PERFETTO_SET(&packet, timestamp, perfetto_time(p, time));
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT;
	packet.clock_snapshot = &snapshot;
	perfetto_put(p, &packet);
}

struct clock_reader {
	struct perfetto *p;
	uint64_t last; /* time of the last reading, which is later than those before */
	bool any;
};

/* The distance of the clocks is the same until the machine sleeps, when it grows: what is less than
 * readings are exact is nothing. So times keep their order. */
static struct ebt_error *add_step(struct perfetto *p, const struct ebt_row *row)
{
	const uint64_t boottime = ebt_clock_boottime(row);
	const struct perfetto_step *last = p->n_steps ? &p->steps[p->n_steps - 1] : NULL;
	const struct perfetto_step step = {
		.from = row->time,
		.ahead = boottime > row->time ? boottime - row->time : 0,
		.uncertainty = ebt_clock_uncertainty(row),
	};
	struct ebt_error *err;

	if (p->n_steps == MOST_STEPS)
		return NULL;
	if (last && (step.ahead <= last->ahead ||
		     step.ahead - last->ahead <= sum(step.uncertainty, last->uncertainty)))
		return NULL;
	err = ebt_array_reserve(&p->steps, p->n_steps, &p->steps_capacity);
	if (!err)
		p->steps[p->n_steps++] = step;
	return err;
}

static struct ebt_error *take_clock(void *arg, const struct ebt_row *row)
{
	struct clock_reader *r = arg;
	struct ebt_error *err;

	if (r->any && row->time <= r->last)
		return NULL;
	r->any = true;
	r->last = row->time;
	err = add_step(r->p, row);
	if (!err)
		put_clocks(r->p, row->time, ebt_clock_realtime(row));
	return err;
}

static struct ebt_error *read_clocks(struct perfetto *p)
{
	struct ebt_reader *reader = trace_reader(p->e->trace);
	const struct ebt_reader_info *info = ebt_reader_info(reader);
	struct clock_reader r = { .p = p };
	struct ebt_error *err = ebt_read_table(reader, EBT_T_clock, take_clock, &r);

	if (!err && !r.any)
		put_clocks(p, info->start_ns, info->start_realtime_ns);
	return err;
}

/* --- the file --- */

/* What later packets have where they do not say otherwise. */
static struct ebt_error *put_defaults(struct perfetto *p)
{
	Perfetto__PerfEvents__Timebase timebase = PERFETTO__PERF_EVENTS__TIMEBASE__INIT;
	Perfetto__PerfSampleDefaults samples = PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	_cleanup_text_ struct text name = TEXT_INIT;
	const char *event = NULL;
	uint64_t freq = 0;
	struct ebt_error *err = tree_feed_sampling(p->e->trace, &event, &freq);

	/* Its count is in nanoseconds, whichever event it was. */
	text_utf8(&name, (struct ebt_str){ event ? event : "", event ? strlen(event) : 0 });
	PERFETTO_SET(&timebase, frequency, freq);
	PERFETTO_SET(&timebase, counter, PERFETTO__PERF_EVENTS__COUNTER__SW_CPU_CLOCK);
	timebase.name = (char *)text_get(&name);
	samples.timebase = &timebase;
	PERFETTO_SET(&defaults, timestamp_clock_id,
		     PERFETTO__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME);
	defaults.perf_sample_defaults = &samples;
	packet.trace_packet_defaults = &defaults;
	PERFETTO_SET(&packet, sequence_flags, CLEARED);
	PERFETTO_SET(&packet, first_packet_on_sequence, true);
	if (!err)
		perfetto_put(p, &packet);
	return err ? err : text_error(&name);
}

static struct ebt_error *put_system(struct perfetto *p)
{
	static const char *const keys[] = { "host.release", "host.version", "host.machine" };
	struct text texts[3] = { TEXT_INIT, TEXT_INIT, TEXT_INIT };
	char *values[3] = { NULL };
	Perfetto__Utsname utsname = PERFETTO__UTSNAME__INIT;
	Perfetto__SystemInfo info = PERFETTO__SYSTEM_INFO__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	struct ebt_error *err = NULL;

	for (int i = 0; !err && i < 3; i++) {
		const char *value = NULL;

		err = ebt_reader_meta(trace_reader(p->e->trace), keys[i], &value);
		if (err || !value)
			continue;
		text_utf8(&texts[i], ebt_str_of(value));
		values[i] = (char *)text_get(&texts[i]);
		err = text_error(&texts[i]);
	}
	/* The states of threads are those of this kernel. */
	utsname.sysname = (char *)"Linux";
	utsname.release = values[0];
	utsname.version = values[1];
	utsname.machine = values[2];
	info.utsname = &utsname;
	info.tracing_service_version = (char *)"ebreport " EBT_VERSION;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_SYSTEM_INFO;
	packet.system_info = &info;
	if (!err)
		perfetto_put(p, &packet);
	for (int i = 0; i < 3; i++)
		text_deinit(&texts[i]);
	return err;
}

/* What has stacks comes last: their names take most of the memory. */
static struct ebt_error *put_all(struct perfetto *p)
{
	return put_defaults(p) ?: read_clocks(p) ?: put_system(p) ?: perfetto_put_processes(p) ?:
	       perfetto_put_sched(p) ?: perfetto_put_events(p) ?: perfetto_put_counters(p) ?:
	       perfetto_put_samples(p) ?: perfetto_put_off(p) ?: perfetto_put_marks(p) ?:
	       perfetto_put_lost(p);
}

static void perfetto_deinit(struct perfetto *p)
{
	message_writer_destroy(p->writer);
	procs_destroy(p->procs);
	free(p->steps);
	free(p->processes);
	free(p->threads);
	ebt_map_deinit(&p->by_process);
	ebt_map_deinit(&p->by_task);
	export_numbers_deinit(&p->numbers);
	perfetto_tracks_deinit(p);
	perfetto_stacks_deinit(p);
}

struct ebt_error *export_perfetto(struct export *e)
{
	static const uint16_t held[] = { EXPORT_SAMPLE_TABLES, EXPORT_INTERVAL_TABLES,
					 EXPORT_EVENT_TABLES, EXPORT_COUNTER_TABLES, 0 };
	struct perfetto p = { .e = e };
	struct ebt_error *err = message_writer_create(e->f, false, &p.writer) ?: put_all(&p);

	export_holds(e, held);
	perfetto_deinit(&p);
	return err;
}
