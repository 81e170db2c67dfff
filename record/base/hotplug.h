/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs that come online. Perf events of a CPU end where it goes offline. */
#ifndef RECORD_BASE_HOTPLUG_H
#define RECORD_BASE_HOTPLUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"

struct hotplug;

/* n_cpus: numbers of CPUs are below it. */
struct ebt_error *hotplug_create(uint32_t n_cpus, struct hotplug **ret);
/* Accepts NULL. */
void hotplug_destroy(struct hotplug *hotplug);
DEFINE_CLEANUP(struct hotplug *, hotplug_destroy);

/* CPUs that are online and were not all the time since the last call, or since there is a struct
 * hotplug; ascending. The caller frees *ret. */
struct ebt_error *hotplug_look(struct hotplug *hotplug, int **ret, size_t *ret_n);

/* Which CPU a message of the kernel is about (lib/kobject_uevent.c); negative: it is no message
 * that a CPU went online or offline. */
int hotplug_parse(const char *message, size_t len, bool *ret_online);

#endif
