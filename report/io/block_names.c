/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Block devices by number; see block_names.h. */
#include "report/io/block_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void device_deinit(struct block_device *device)
{
	free((char *)device->name.data);
	free((char *)device->alias.data);
	free((char *)device->scheduler.data);
	free((char *)device->model.data);
	free((char *)device->backing.data);
}

void block_names_destroy(struct block_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->n; i++)
		device_deinit(&names->devices[i]);
	free(names->devices);
	ebt_map_deinit(&names->by_number);
	free(names);
}

/* Replaces *ret by a copy; an empty string needs none. */
static struct ebt_error *set_string(struct ebt_str *ret, struct ebt_str s)
{
	char *copy = NULL;

	if (s.len) {
		copy = malloc(s.len);
		if (!copy)
			return &ebt_enomem;
		memcpy(copy, s.data, s.len);
	}
	free((char *)ret->data);
	*ret = (struct ebt_str){ copy, s.len };
	return NULL;
}

struct ebt_error *block_names_of(struct block_names *names, uint32_t major, uint32_t minor,
				 uint32_t *ret)
{
	const size_t n = names->n;
	struct block_device *device;
	struct ebt_error *err;
	char unknown[48];

	if (n >= UINT32_MAX / 2)
		return ebt_error_create(EBT_ERR_LIMIT, "too many block devices");
	err = ebt_map_element(&names->by_number, (uint64_t)major << 32 | minor, &names->devices,
			      &names->n, &names->capacity, ret);
	if (err || names->n == n)
		return err;
	device = &names->devices[*ret];
	*device = (struct block_device){ .major = major, .minor = minor, .disk = *ret };
	snprintf(unknown, sizeof(unknown),
		 major || minor ? "unknown %" PRIu32 ":%" PRIu32 : "no device", major, minor);
	return set_string(&device->name, ebt_str_of(unknown));
}

/* The last row of a device counts: it says most, as a loop device's does once it has a file. */
static struct ebt_error *learn(void *arg, const struct ebt_row *row)
{
	struct block_names *names = arg;
	struct ebt_str name = ebt_block_device_name(row);
	struct block_device *device;
	struct ebt_error *err;
	uint32_t i, disk;

	err = block_names_of(names, (uint32_t)ebt_block_device_disk_major(row),
			     (uint32_t)ebt_block_device_disk_minor(row), &disk);
	if (!err)
		err = block_names_of(names, (uint32_t)ebt_block_device_major(row),
				     (uint32_t)ebt_block_device_minor(row), &i);
	if (err)
		return err;
	device = &names->devices[i];
	device->disk = disk;
	device->known = true;
	device->rotational = ebt_block_device_rotational(row);
	device->write_cache = ebt_block_device_write_cache(row);
	device->logical_block = (uint32_t)ebt_block_device_logical_block(row);
	device->nr_requests = (uint32_t)ebt_block_device_nr_requests(row);
	device->size = ebt_block_device_size(row);
	if (name.len)
		err = set_string(&device->name, name);
	if (!err)
		err = set_string(&device->alias, ebt_block_device_alias(row));
	if (!err)
		err = set_string(&device->scheduler, ebt_block_device_scheduler(row));
	if (!err)
		err = set_string(&device->model, ebt_block_device_model(row));
	if (!err)
		err = set_string(&device->backing, ebt_block_device_backing(row));
	return err;
}

struct ebt_error *block_names_create(struct trace *trace, struct block_names **ret)
{
	_cleanup_(block_names_destroyp) struct block_names *names = calloc(1, sizeof(*names));
	struct ebt_error *err;

	if (!names)
		return &ebt_enomem;
	err = trace_read_table(trace, EBT_T_block_device, TRACE_UNFILTERED, learn, names);
	if (err)
		return err;
	*ret = take_ptr(names);
	return NULL;
}
