/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of /sys with one number each. Behind some of them is a slow bus or a command to a disk:
 * the time that each takes is watched.
 */
#include "record/sources/counter_sensor.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/base/clocks.h"

/* Open files, of the 1024 that a process usually may have. */
#define MAX_SENSORS 256
#define REST	    1000u

struct sensor {
	int fd;
	uint32_t counter;
	uint64_t due;
	uint64_t range;	      /* not 0: it counts up to here, then from 0 */
	uint64_t last, total; /* of such */
};

enum kind { FREQUENCY, TEMPERATURE, ENERGY, BATTERY, N_KINDS };

struct counter_sensors {
	struct counter_set *set;
	struct sensor list[MAX_SENSORS];
	size_t n, refused;
	bool found[N_KINDS];
};

static const struct counter_class frequency = { "frequency",   "Hz", "of the CPU's clock",
						COUNTER_GAUGE, 1,    1000 };

static const struct counter_class energy = { "energy",		 "J",	  "used (RAPL)",
					     COUNTER_CUMULATIVE, 1000000, 1 };

static const struct {
	const char *file;
	struct counter_class class;
} battery_files[] = {
	{ "energy_now", { "energy", "Wh", "left", COUNTER_GAUGE, 1000000, 1 } },
	{ "charge_now", { "charge", "Ah", "left", COUNTER_GAUGE, 1000000, 1 } },
	{ "power_now", { "power", "W", "drawn or loaded", COUNTER_GAUGE, 1000000, 1 } },
	{ "current_now", { "current", "A", "drawn or loaded", COUNTER_GAUGE, 1000000, 1 } },
	{ "voltage_now", { "voltage", "V", "", COUNTER_GAUGE, 1000000, 1 } },
	{ "capacity", { "capacity", "%", "of what it can hold", COUNTER_GAUGE, 1, 1 } },
};

/* The first line of a file of a folder; empty where there is none. */
static void read_word(int dir, const char *name, char *buffer, size_t size)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buffer, size - 1);

	buffer[n > 0 ? n : 0] = '\0';
	buffer[strcspn(buffer, "\n")] = '\0';
}

static bool read_sensor(int fd, uint64_t *ret)
{
	char text[32], *end;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	/* It may be below zero, as a temperature. */
	*ret = (uint64_t)strtoll(text, &end, 10);
	return end != text;
}

/* file: of the folder; it is a sensor if it can be read. */
static struct ebt_error *add_sensor(struct counter_sensors *sensors, enum kind kind, int dir,
				    const char *file, const char *category, const char *instance,
				    const struct counter_class *class, uint64_t range)
{
	_cleanup_close_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	struct sensor sensor = { .range = range };
	struct ebt_error *err;

	if (fd < 0 || !read_sensor(fd, &sensor.last))
		return NULL;
	sensors->found[kind] = true;
	if (sensors->n == MAX_SENSORS) {
		sensors->refused++;
		return NULL;
	}
	err = counter_set_add(sensors->set, category, instance, class, 1, &sensor.counter);
	if (err)
		return err;
	sensor.total = sensor.last;
	sensor.fd = take_fd(&fd);
	sensors->list[sensors->n++] = sensor;
	return NULL;
}

typedef struct ebt_error *see_fn(struct counter_sensors *sensors, int dir, const char *name);

/* Calls see() for each folder of a folder, in order of name. */
static struct ebt_error *each(struct counter_sensors *sensors, const char *root, const char *path,
			      see_fn *see)
{
	char full[PATH_MAX];
	struct dirent **names;
	struct ebt_error *err = NULL;
	int n;

	snprintf(full, sizeof(full), "%s%s", root, path);
	n = scandir(full, &names, NULL, versionsort);
	for (int i = 0; i < n; i++) {
		_cleanup_close_ int dir = -1;

		if (!err && names[i]->d_name[0] != '.') {
			snprintf(full, sizeof(full), "%s%s/%s", root, path, names[i]->d_name);
			dir = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (dir >= 0)
				err = see(sensors, dir, names[i]->d_name);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return err;
}

/* CPUs that share a clock are one policy, named after the first of them. */
static struct ebt_error *see_policy(struct counter_sensors *sensors, int dir, const char *name)
{
	if (strncmp(name, "policy", 6))
		return NULL;
	return add_sensor(sensors, FREQUENCY, dir, "scaling_cur_freq", "cpu", name + 6, &frequency,
			  0);
}

static const struct counter_class temperature = { "temperature", "°C", "", COUNTER_GAUGE, 1000, 1 };

static struct ebt_error *see_hwmon(struct counter_sensors *sensors, int dir, const char *name)
{
	char chip[24], file[32], label[32], instance[COUNTER_INSTANCE * 2];
	struct ebt_error *err = NULL;

	read_word(dir, "name", chip, sizeof(chip));
	for (int i = 1; i < 64 && !err; i++) {
		snprintf(file, sizeof(file), "temp%d_label", i);
		read_word(dir, file, label, sizeof(label));
		snprintf(file, sizeof(file), "temp%d_input", i);
		if (!*label)
			snprintf(label, sizeof(label), "temp%d", i);
		snprintf(instance, sizeof(instance), "%s.%s.%s", chip, name, label);
		err = add_sensor(sensors, TEMPERATURE, dir, file, "sensor", instance, &temperature,
				 0);
	}
	return err;
}

static struct ebt_error *see_zone(struct counter_sensors *sensors, int dir, const char *name)
{
	char type[24], instance[COUNTER_INSTANCE];

	if (strncmp(name, "thermal_zone", 12))
		return NULL;
	read_word(dir, "type", type, sizeof(type));
	snprintf(instance, sizeof(instance), "%s.zone%.8s", type, name + 12);
	return add_sensor(sensors, TEMPERATURE, dir, "temp", "sensor", instance, &temperature, 0);
}

/* intel-rapl:0, a package, and intel-rapl:0:1, a part of it. */
static struct ebt_error *see_zone_of_power(struct counter_sensors *sensors, int dir,
					   const char *name)
{
	char label[24], range[24], instance[COUNTER_INSTANCE];

	read_word(dir, "name", label, sizeof(label));
	read_word(dir, "max_energy_range_uj", range, sizeof(range));
	if (!*label)
		return NULL;
	snprintf(instance, sizeof(instance), "%.22s.%s", name, label);
	return add_sensor(sensors, ENERGY, dir, "energy_uj", "power", instance, &energy,
			  strtoull(range, NULL, 10));
}

static struct ebt_error *see_supply(struct counter_sensors *sensors, int dir, const char *name)
{
	struct ebt_error *err = NULL;
	char type[16];

	read_word(dir, "type", type, sizeof(type));
	if (strcmp(type, "Battery"))
		return NULL;
	for (size_t i = 0; i < sizeof(battery_files) / sizeof(battery_files[0]) && !err; i++)
		err = add_sensor(sensors, BATTERY, dir, battery_files[i].file, "battery", name,
				 &battery_files[i].class, 0);
	return err;
}

struct ebt_error *counter_sensors_create(struct counter_set *set, const char *root,
					 struct counter_sensors **ret)
{
	static const struct {
		const char *path;
		see_fn *see;
	} places[] = {
		{ "/sys/devices/system/cpu/cpufreq", see_policy },
		{ "/sys/class/hwmon", see_hwmon },
		{ "/sys/class/thermal", see_zone },
		{ "/sys/class/powercap", see_zone_of_power },
		{ "/sys/class/power_supply", see_supply },
	};
	_cleanup_(counter_sensors_destroyp) struct counter_sensors *sensors =
		calloc(1, sizeof(*sensors));
	struct ebt_error *err = NULL;

	if (!sensors)
		return &ebt_enomem;
	sensors->set = set;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !err; i++)
		err = each(sensors, root, places[i].path, places[i].see);
	if (err)
		return err;
	*ret = take_ptr(sensors);
	return NULL;
}

void counter_sensors_destroy(struct counter_sensors *sensors)
{
	if (!sensors)
		return;
	for (size_t i = 0; i < sensors->n; i++)
		close(sensors->list[i].fd);
	free(sensors);
}

const char *counter_sensors_missing(const struct counter_sensors *sensors, size_t n)
{
	static const char *const names[N_KINDS] = { "frequency", "temperature", "energy",
						    "battery" };

	for (size_t i = 0; i < N_KINDS; i++) {
		if (!sensors->found[i] && !n--)
			return names[i];
	}
	return sensors->refused && !n ? "some of many sensors" : NULL;
}

void counter_sensors_read(struct counter_sensors *sensors)
{
	uint64_t begin, value, now = clocks_now();

	for (size_t i = 0; i < sensors->n; i++) {
		struct sensor *sensor = &sensors->list[i];

		begin = now;
		if (begin < sensor->due || !read_sensor(sensor->fd, &value))
			continue;
		if (sensor->range) {
			sensor->total += value - sensor->last;
			if (value < sensor->last)
				sensor->total += sensor->range;
			sensor->last = value;
			value = sensor->total;
		}
		counter_set_put(sensors->set, sensor->counter, value);
		now = clocks_now();
		sensor->due = now + (now - begin) * REST;
	}
}
