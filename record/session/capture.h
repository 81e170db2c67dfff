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
#include "record/base/beside.h"
#include "record/base/kernel.h"
#include "record/base/ring.h"
#include "record/base/topology.h"
#include "record/config/options.h"
#include "record/config/source.h"
#include "record/probes/list.h"
#include "record/unwind/unwinder.h"

struct capture {
	struct source_context context;
	struct source_state *states; /* of each of ebrec_sources; workers may change them */
	struct topology topology;
	struct unwinder *unwinder; /* NULL: stacks are not walked by tables */
	/* One array. Numbers, as in table `lost`: events, then samples, then the one for tasks;
	 * then SPSC queues. */
	struct ring *event_rings, *sample_rings, *task_ring;
	uint32_t n_rings;
	struct ring doorbell; /* wakes the session's thread */
	struct spsc *spsc;    /* context.n_spsc of them, for the first CPUs */
	uint32_t unreadable;  /* a process whose memory does not come when it is read; or 0 */

	/* What follows is capture.c's own. */
	struct probe_list probes;
	uint64_t ring_budget; /* bytes of all event rings */
	struct kernel *kernel;
	struct beside preparing;
	void *spsc_memory;
	struct ebrec_slot *slots;
	struct ebrec_followed *followed;
	struct ebrec_known *known;
	size_t slots_bytes, followed_bytes, known_bytes, spsc_bytes;
};

/* Loads what the options ask for; nothing is attached. kernel and options must live longer. */
struct ebt_error *capture_create(struct kernel *kernel, const struct record_options *options,
				 uint64_t cgroup_id, struct capture **ret);
/* Detaches everything. Accepts NULL. */
void capture_destroy(struct capture *capture);
DEFINE_CLEANUP(struct capture *, capture_destroy);

/* See record/base/task_list.h. */
const struct bpf_program *capture_task_iterator(const struct capture *capture);
/* See record/base/task_key.h. */
volatile uint32_t *capture_task_keys(const struct capture *capture);

/* Is the source of this name on? */
bool capture_has(const struct capture *capture, const char *source);

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

/* A reader of event ring i, sample ring i and the SPSC queues of their CPUs, or of the task ring,
 * is about to sleep: wake it when much is queued. */
void capture_set_asleep(struct capture *capture, uint32_t i);

/* Readable when a program runs, or a walk meets what nobody knows, and the doorbell was armed. */
int capture_doorbell_fd(const struct capture *capture);
/* To be called before what there is to read is read: nothing is missed. */
void capture_arm_doorbell(struct capture *capture);
/* Was it rung since the last call? */
bool capture_answer_doorbell(struct capture *capture);

/* Map known_programs of record/bpf/facts.h: EBREC_KNOWN_PROGRAMS entries. */
struct ebrec_known *capture_known_programs(const struct capture *capture);

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
