/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output tee of `--capture-output`: the command's output goes through here on its way to where
 * it would have gone. A process for each way copies it, so that what the recorder does, even its
 * end, neither holds the command up nor loses a byte; it tells the recorder what it has read, as
 * far as there is room.
 */
#ifndef RECORD_COMMAND_TEE_H
#define RECORD_COMMAND_TEE_H

#include <pwd.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/config/options.h"

struct tee;

/* Starts the copying. The command's ends belong to `user` if that is not NULL. *ret stays NULL
 * where there is nothing to capture. */
struct ebt_error *tee_create(const struct record_options *options, const struct passwd *user,
			     struct tee **ret);
/* The copying goes on as long as somebody writes. Accepts NULL. */
void tee_destroy(struct tee *tee);
DEFINE_CLEANUP(struct tee *, tee_destroy);

/* In the command, before it is executed. */
void tee_redirect(const struct tee *tee);
/* In the recorder, once the command has its ends. */
void tee_begin(struct tee *tee, pid_t command);

/* Of these, tee NULL does nothing. */

/* Makes rows of what has been read; of a line that does not end, after a second. Does not wait. */
struct ebt_error *tee_read(struct tee *tee, struct ebt_stream *stream);

/* Makes rows of all that has been written until now, and of nothing that comes; none is later than
 * `end`. Waits a second at most, whatever becomes of the output. */
struct ebt_error *tee_end(struct tee *tee, struct ebt_stream *stream, uint64_t end);

/* Waits until what has been written is where it belongs, at most so long (-1: no limit), or until
 * `stop` is readable. An error says that it could not be written there. */
struct ebt_error *tee_deliver(struct tee *tee, int stop, int timeout_ms);

#endif
