/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `counter`: numbers of /proc and /sys, once a second and at both ends. No BPF. */
#include <linux/types.h>
#include <stdio.h>
#include <string.h>

#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/config/source.h"
#include "record/sources/counter_sensor.h"
#include "record/sources/counter_set.h"
#include "record/sources/counter_text.h"

struct counter_worker {
	struct counter_set *set;
	struct counter_texts *texts;
	struct counter_sensors *sensors;
	uint64_t time; /* of the last reading */
};

static void close_worker(void *arg)
{
	struct counter_worker *worker = arg;

	counter_sensors_destroy(worker->sensors);
	counter_texts_destroy(worker->texts);
	counter_set_destroy(worker->set);
}

static void note(struct source_state *state, const char *what)
{
	size_t len = strlen(state->detail);

	state->status = EBT_V_source_status_partial;
	snprintf(state->detail + len, sizeof(state->detail) - len, "%s%s",
		 len ? ", " : "not here: ", what);
}

/* No machine has all there is: that is said, and is no failure. */
static void note_missing(const struct counter_worker *worker, struct source_state *state)
{
	const char *what;

	for (size_t n = 0; (what = counter_texts_missing(worker->texts, n)); n++)
		note(state, what);
	for (size_t n = 0; (what = counter_sensors_missing(worker->sensors, n)); n++)
		note(state, what);
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void *arg)
{
	struct counter_worker *worker = arg;

	(void)context;
	(void)state;
	return counter_set_create(&worker->set) ?:
	       counter_texts_create(worker->set, "", &worker->texts) ?:
	       counter_sensors_create(worker->set, "", &worker->sensors);
}

static void probe(const struct kernel *kernel, struct source_state *state)
{
	struct counter_worker worker = { 0 };
	_cleanup_error_ struct ebt_error *err = open_worker(NULL, state, &worker);

	(void)kernel;
	if (!err) /* an error comes again when the recording begins */
		note_missing(&worker, state);
	close_worker(&worker);
}

static struct ebt_error *work(void *arg, struct ebt_stream *stream, enum source_moment moment)
{
	struct counter_worker *worker = arg;
	struct ebt_error *err = NULL;

	if (moment == SOURCE_READY || moment == SOURCE_END)
		return NULL;
	/* An epoch begins just after a second's reading. */
	if (moment == SOURCE_EPOCH)
		return counter_set_emit(worker->set, stream, worker->time, true);
	worker->time = clocks_now();
	err = counter_texts_read(worker->texts);
	if (err)
		return err;
	counter_sensors_read(worker->sensors);
	return counter_set_emit(worker->set, stream, worker->time, false);
}

static const struct source_worker worker_of_counter = {
	.size = sizeof(struct counter_worker),
	.open = open_worker,
	.work = work,
	.close = close_worker,
};

const struct ebrec_source source_counter = {
	.name = "counter",
	.doc = "CPUs, memory, disks, networks, pressure, sensors: their numbers, once a second",
	.cost = "about 0.1 ms of one CPU each second, some more with many CPUs",
	.by_default = true,
	.tables = (const uint16_t[]){ EBT_T_counter, EBT_T_counter_def, 0 },
	.probe = probe,
	.worker = &worker_of_counter,
};
