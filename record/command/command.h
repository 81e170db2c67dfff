/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command that is recorded: made at once, held until everything is attached, waited for. */
#ifndef RECORD_COMMAND_COMMAND_H
#define RECORD_COMMAND_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/config/options.h"

struct command;
struct tee;

/*
 * Forks, and finds the program as the command's user. The command's standard output is standard
 * error where the trace goes to standard output. One that cannot be run has ended already.
 */
struct ebt_error *command_create(const struct record_options *options, struct command **ret);

/* Kills a command that still waits to be let go; leaves one that runs. Accepts NULL. */
void command_destroy(struct command *command);
DEFINE_CLEANUP(struct command *, command_destroy);

pid_t command_pid(const struct command *command);
/* Ends one that still waits to be let go, by this signal. */
void command_cancel(struct command *command, int number);
/* Has it ended? */
bool command_ended(struct command *command);

/* The following accept NULL: no command. */

/* Where its program is; NULL: no command. */
const char *command_path(const struct command *command);
/* Readable when it has ended; -1: no command. Belongs to the command. */
int command_fd(const struct command *command);
/* What its output goes through, or NULL. Belongs to the command. */
struct tee *command_tee(const struct command *command);
/* Lets it run. */
struct ebt_error *command_start(struct command *command);
/* Asks it to end if it still runs, and waits a little for it. */
void command_stop(struct command *command);
/* As a shell has it; -1: it has not ended. Where it could not be run it is 126 or 127, or 128 and
 * the number of the signal that came before, and the error says why. */
int command_exit_status(const struct command *command);
struct ebt_error *command_exec_error(struct command *command);
/* Let go, has its program begun by now? True also without a command. */
bool command_runs(struct command *command);
/* Readable when it has, or could not. */
int command_runs_fd(const struct command *command);

#endif
