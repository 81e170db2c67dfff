/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of one number a file: frequencies, temperatures, energy, batteries. */
#ifndef RECORD_SOURCES_COUNTER_SENSOR_H
#define RECORD_SOURCES_COUNTER_SENSOR_H

#include "format/base/cleanup.h"
#include "record/sources/counter_set.h"

struct counter_sensors;

/* root: as in counter_text.h. Looks for sensors once. */
struct ebt_error *counter_sensors_create(struct counter_set *set, const char *root,
					 struct counter_sensors **ret);
/* Accepts NULL. */
void counter_sensors_destroy(struct counter_sensors *sensors);
DEFINE_CLEANUP(struct counter_sensors *, counter_sensors_destroy);

/* The nth kind that is not there, or NULL. */
const char *counter_sensors_missing(const struct counter_sensors *sensors, size_t n);

/* A sensor that took long is left alone for a thousand times as long. */
void counter_sensors_read(struct counter_sensors *sensors);

#endif
