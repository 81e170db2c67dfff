/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What if: the execution graph run again, with other durations. Threads do what they did, hand on
 * to the same others, and share so many CPUs, in the order in which they become runnable; what a
 * thread of the trace ended is as long as that takes now, and what else was waited for as long as
 * it was, or as the change says. Where a change names an object or locks, waits that another
 * thread ended take so many times as long, too. No new contention for locks or disks comes of it,
 * none goes away, and nobody chooses to do something else.
 */
#ifndef REPORT_WHY_REPLAY_H
#define REPORT_WHY_REPLAY_H

#include "report/base/names.h"
#include "report/why/model_why.h"

enum why_change_of { WHY_OF_FUNCTION, WHY_OF_PROCESS, WHY_OF_WAIT, WHY_OF_OBJECT, WHY_OF_CPUS };

struct why_change {
	enum why_change_of of;
	/* Glob: of WHY_OF_OBJECT of a file, device, lock or peer. Of WHY_OF_WAIT one of
	 * wait_reason_name(). */
	const char *name;
	double factor; /* what time on CPUs, or of the wait, is multiplied with */
	uint32_t cpus; /* of WHY_OF_CPUS */
};

struct why_replay;

/* The model must outlive it. There are as many CPUs as somebody of the trace ran on: a command may
 * have been bound to some. */
struct ebt_error *why_replay_create(const struct why *why, const struct names *names,
				    struct why_replay **ret);
uint32_t why_replay_cpus(const struct why_replay *replay);
void why_replay_destroy(struct why_replay *replay);
DEFINE_CLEANUP(struct why_replay *, why_replay_destroy);

/* How much was on CPUs, or waited for, that the change concerns; 0: there is no such thing. */
struct ebt_error *why_replay_concerns(struct why_replay *replay, const struct why_change *change,
				      uint64_t *ret_ns);

/* How long the time of the path takes with all these changes. */
struct ebt_error *why_replay_run(struct why_replay *replay, const struct why_change *changes,
				 size_t n, uint64_t *ret_ns);

#endif
