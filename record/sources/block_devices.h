/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and properties of disks and partitions, from /sys, as rows of table `block_device`. The
 * kernel tells of devices that come and change while recording (uevents).
 */
#ifndef RECORD_SOURCES_BLOCK_DEVICES_H
#define RECORD_SOURCES_BLOCK_DEVICES_H

#include "format/base/error.h"

struct block_devices;
struct ebt_stream;

struct ebt_error *block_devices_create(struct block_devices **ret);
/* Accepts NULL. */
void block_devices_destroy(struct block_devices *devices);

/* Readable when a device has come or changed; -1: the kernel does not tell. */
int block_devices_fd(const struct block_devices *devices);

/* A row for each device that is there. */
struct ebt_error *block_devices_add_all(struct block_devices *devices, struct ebt_stream *stream);

/* A row for each that the kernel told of since. */
struct ebt_error *block_devices_add_changed(struct block_devices *devices,
					    struct ebt_stream *stream);

#endif
