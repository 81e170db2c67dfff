/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What waits were for, by name: the file, socket or pipe of the system call (tables `syscall`,
 * `fd`), the device and the file of the request that ended the wait (`block_io`), the lock
 * (`futex_wait`, `lock_wait`), the peer of whose data came (`net_transfer`, `net_connection`). As
 * far as these were recorded; what no row tells has no name. Prints nothing.
 *
 * Memory: each name once, and what threads had open, see report/calls/calls.h.
 */
#ifndef REPORT_WHY_OBJECTS_H
#define REPORT_WHY_OBJECTS_H

#include "report/calls/names.h"
#include "report/trace/trace.h"
#include "report/why/graph.h"

#define WHY_NO_OBJECT 0

struct why_objects;

/* Gives spells of threads, which are by task id, the numbers of their objects. machine: NULL where
 * its calls are not known. The window of the trace is read; without threads, nothing. */
struct ebt_error *why_objects_create(struct trace *trace, const struct syscall_machine *machine,
				     struct why_thread *threads, uint32_t n,
				     struct why_objects **ret);
void why_objects_destroy(struct why_objects *objects);
DEFINE_CLEANUP(struct why_objects *, why_objects_destroy);

/* Their numbers are less than that. */
uint32_t why_objects_n(const struct why_objects *objects);
/* "/etc/hostname", "TCP:[10.0.0.1:4711->10.0.0.2:80]", "futex 0x7f12345678", a device if no file is
 * known; empty: it has no name. As long as the objects. Bytes are a stranger's. */
struct ebt_str why_object_name(const struct why_objects *objects, uint32_t object);
/* "vda1"; empty: it is on none, or that is not known. */
struct ebt_str why_object_device(const struct why_objects *objects, uint32_t object);

#endif
