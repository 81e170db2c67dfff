/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is recorded: a command, processes, a cgroup, or everything. */
#ifndef RECORD_SESSION_TARGET_H
#define RECORD_SESSION_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/config/options.h"
#include "record/session/capture.h"

struct tee;
struct target;

/* Checks that it is there, and starts the command, which waits before it runs. */
struct ebt_error *target_create(const struct record_options *options, struct target **ret);
/* Kills a command that has not been let go. Accepts NULL. */
void target_destroy(struct target *target);
DEFINE_CLEANUP(struct target *, target_destroy);

/* Id of the cgroup, or 0. */
uint64_t target_cgroup_id(const struct target *target);

/* Marks the threads that are there already. Forks are followed meanwhile, so none is missed. */
struct ebt_error *target_follow(struct target *target, struct capture *capture);

/* The same for the threads of one process, which came into the cgroup. */
void target_follow_process(struct capture *capture, uint32_t pid);

/* Lets the command run. */
struct ebt_error *target_start(struct target *target);

/* Readable when the command has ended; -1: there is none. Belongs to the target. */
int target_fd(const struct target *target);

/* What the command's output goes through, or NULL. Belongs to the target. */
struct tee *target_tee(const struct target *target);

/* Has it ended? Never true of a cgroup or the whole system. */
bool target_ended(struct target *target);

/* Asks a command that still runs to end, and waits a little for it. */
void target_stop(struct target *target);

/* The command's exit status as a shell has it; -1: it has not ended, or there is none. */
int target_exit_status(const struct target *target);

/* A command that could not be run: the error says why and its status is 126 or 127. */
struct ebt_error *target_exec_error(struct target *target);

#endif
