/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cuts intervals of the scheduler's model where rows of sched_switch were lost, and gives the
 * pieces to the handler. */
#ifndef REPORT_SCHED_CUT_H
#define REPORT_SCHED_CUT_H

#include "report/sched/model_sched.h"
#include "report/trace/losses.h"

struct sched_cut {
	struct losses losses; /* of sched_switch */
	const struct sched_handler *handler;
	void *arg;
	uint64_t doubtful; /* intervals given that were marked so */
};

/* Gives the interval, or the pieces that losses leave of it, to the handler. */
struct ebt_error *sched_cut_run(struct sched_cut *cut, struct sched_run *run);
struct ebt_error *sched_cut_off(struct sched_cut *cut, struct sched_off *off);

#endif
