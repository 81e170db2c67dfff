/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One recording from beginning to end. */
#ifndef RECORD_SESSION_SESSION_H
#define RECORD_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "format/base/error.h"
#include "record/config/options.h"

struct session_status {
	uint64_t elapsed; /* ns since recording began */
	uint64_t events, samples, lost, bytes;
	bool sampling; /* there is a source of samples */
};

struct session_result {
	struct session_status status;
	const char *reason; /* why it ended, a few words; as in meta end.reason */
	int exit_status;    /* of the command, as a shell has it; -1: none, or it has not ended */
	bool recorded;	    /* it got as far as a trace that can be read, which has its name */
	bool kept;	    /* the trace that was there before is FILE.old now */
	struct stat file;   /* of the trace */
};

/* What is told meanwhile, from the thread of session_run(). */
struct session_watch {
	/* About once a second. */
	void (*status)(void *arg, const struct session_status *status);
	/* Before it begins: this machine does not have a source that was asked for, and why. */
	void (*missing)(void *arg, const char *source, const char *why);
	/* The same: which capabilities are missing, and what that costs. */
	void (*unprivileged)(void *arg, const char *what);
	/* What a source that is on does without. */
	void (*partial)(void *arg, const char *source, const char *what);
	/* Nothing is recorded any more; the file is finished. */
	void (*finishing)(void *arg);
	void *arg;
};

/*
 * Records as the options say, until the numbers of signals can be read from `stop`, a byte each,
 * if nothing else ends it: a descriptor that does not block. *ret is filled in also where an error
 * is returned: the recording may have come a long way by then.
 */
struct ebt_error *session_run(const struct record_options *options, const char *command_line,
			      int stop, const struct session_watch *watch,
			      struct session_result *ret);

#endif
