/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `--capture-output`: the command's output goes through here on its way to where it would have
 * gone. A process for each way copies it, so that what the recorder does, even its end, neither
 * holds the command up nor loses a byte; it tells the recorder what it has read, as far as there is
 * room.
 */
#ifndef RECORD_COMMAND_RELAY_H
#define RECORD_COMMAND_RELAY_H

#include <pwd.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/config/options.h"

struct relay;

/* Starts the copying. The command's ends belong to `user` if that is not NULL. *ret stays NULL
 * where there is nothing to capture. */
struct ebt_error *relay_create(const struct record_options *options, const struct passwd *user,
			       struct relay **ret);
/* The copying goes on as long as somebody writes. Accepts NULL. */
void relay_destroy(struct relay *relay);
DEFINE_CLEANUP(struct relay *, relay_destroy);

/* In the command, before it is executed. */
void relay_redirect(const struct relay *relay);
/* In the recorder, once the command has its ends. */
void relay_begin(struct relay *relay, pid_t command);

/* Makes rows of what has been read; of a line that does not end, after a second. Does not wait. */
struct ebt_error *relay_read(struct relay *relay, struct ebt_stream *stream);

/* Makes rows of all that has been written until now, and of nothing that comes; none is later than
 * `end`. Waits a second at most, whatever becomes of the output. */
struct ebt_error *relay_end(struct relay *relay, struct ebt_stream *stream, uint64_t end);

/* Waits until what has been written is where it belongs, at most so long (-1: no limit), or until
 * `stop` is readable. An error says that it could not be written there. */
struct ebt_error *relay_deliver(struct relay *relay, int stop, int timeout_ms);

#endif
