/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is recorded: a command, processes, a cgroup, or everything; and the command that says for
 * how long. */
#ifndef RECORD_SESSION_TARGET_H
#define RECORD_SESSION_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/command/command.h"
#include "record/config/options.h"
#include "record/session/capture.h"

struct target {
	const struct record_options *options;
	struct command *command; /* or NULL */
	int *pidfds;		 /* of the processes named; -1: has ended */
	char *cgroup;
	uint64_t cgroup_id; /* or 0 */
};

/* Checks that it is there, and starts the command, which waits before it runs. */
struct ebt_error *target_create(const struct record_options *options, struct target **ret);
/* Kills a command that has not been let go. Accepts NULL. */
void target_destroy(struct target *target);
DEFINE_CLEANUP(struct target *, target_destroy);

/* Marks the threads that are there already. Forks are followed meanwhile, so none is missed. */
struct ebt_error *target_follow(struct target *target, struct capture *capture);

/* The same for the threads of one process, which came into the cgroup. */
void target_follow_process(struct capture *capture, uint32_t pid);

/* Has it ended? Where there is a command, that one counts, else the processes; a cgroup or the
 * whole system never ends. */
bool target_ended(struct target *target);

#endif
