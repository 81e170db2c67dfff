/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel side of a recording: the BPF programs of the sources that are on, their rings, the
 * filter and the gate. From here on up nobody needs to know the skeleton.
 */
#ifndef RECORD_SESSION_CAPTURE_H
#define RECORD_SESSION_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/base/kernel.h"
#include "record/base/ring.h"
#include "record/base/topology.h"
#include "record/config/options.h"
#include "record/config/source.h"
#include "record/unwind/unwinder.h"

struct capture;

/* Loads what the options ask for; nothing is attached. kernel and options must live longer. */
struct ebt_error *capture_create(struct kernel *kernel, const struct record_options *options,
				 uint64_t cgroup_id, struct capture **ret);
/* Detaches everything. Accepts NULL. */
void capture_destroy(struct capture *capture);
DEFINE_CLEANUP(struct capture *, capture_destroy);

/* Attaches all but the sampler. The gate is closed. */
struct ebt_error *capture_attach(struct capture *capture);

/* Opened, task events are recorded and forks followed; see capture_attach_last() for the rest. */
void capture_set_gate(struct capture *capture, bool open);

/* Memory for what is known of tasks that are followed already; then the sampler, last, as the
 * kernel's own work of attaching would look like the target's. */
struct ebt_error *capture_attach_last(struct capture *capture);

/* Detaches, and waits for programs that run. */
void capture_detach(struct capture *capture);

/* Marks a thread as followed. Any thread may call it. */
void capture_follow(struct capture *capture, uint32_t tid);
bool capture_follows(const struct capture *capture, uint32_t tid);

/* State of source n of ebrec_sources; its worker may change it. */
struct source_state *capture_source(const struct capture *capture, size_t n);

const struct source_context *capture_context(const struct capture *capture);

/* NULL: stacks are not walked by tables. Belongs to the capture. */
struct unwinder *capture_unwinder(const struct capture *capture);

const struct topology *capture_topology(const struct capture *capture);

/* Rings. Numbers, as in table `lost`: events, then samples, then the one for tasks; then SPSC
 * queues. */
struct ring *capture_event_ring(struct capture *capture, uint32_t i);
struct ring *capture_sample_ring(struct capture *capture, uint32_t i);
struct ring *capture_task_ring(struct capture *capture);
uint32_t capture_n_rings(const struct capture *capture);

/* Lanes, one for each of the first CPUs; none where source `syscalls` is off. */
uint32_t capture_n_spsc(const struct capture *capture);
struct spsc *capture_spsc(struct capture *capture, uint32_t cpu);

/* A reader of event ring i, sample ring i and the SPSC queues of their CPUs, or of the task ring,
 * is about to sleep: wake it when much is queued. */
void capture_set_asleep(struct capture *capture, uint32_t i);

/* What was lost since recording began, as counted in the kernel. */
struct capture_drop {
	uint16_t table;
	uint32_t ring;
	uint32_t reason; /* of table `lost` */
	uint64_t count;
	const char *source; /* its name; of several, one that is on */
};

/*
 * All counters; a table and ring may have several. Freed with free(). A counter that is zero is
 * not among them.
 */
struct ebt_error *capture_drops(const struct capture *capture, struct capture_drop **ret,
				size_t *ret_n);

/* Dumps of stacks that were not made, as there were too many. */
uint64_t capture_refused_dumps(const struct capture *capture);

/* Runs of programs that the kernel suppressed, as they would have interrupted themselves. */
uint64_t capture_missed_runs(const struct capture *capture);

#endif
