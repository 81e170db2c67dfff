/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SYSPROF_CONTROL_FD: at a socket that the command and its children share, each of their threads
 * asks for a ring, which is read from then on. Nothing here waits for them.
 */
#ifndef RECORD_SOURCES_SYSPROF_CONTROL_H
#define RECORD_SOURCES_SYSPROF_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/sources/sysprof_rows.h"

struct sysprof_control;

/* The two ends of the socket. */
struct ebt_error *sysprof_control_pair(int *ret_theirs, int *ret_ours);

/* The socket and the rows are not owned; theirs: the number that its other end has in the command.
 */
struct ebt_error *sysprof_control_create(int socket, int theirs, struct sysprof_rows *rows,
					 struct sysprof_control **ret);
/* Accepts NULL. */
void sysprof_control_destroy(struct sysprof_control *control);
DEFINE_CLEANUP(struct sysprof_control *, sysprof_control_destroy);

enum sysprof_wait {
	SYSPROF_WAIT_READ,  /* for the next message */
	SYSPROF_WAIT_WRITE, /* until somebody takes an answer */
	SYSPROF_WAIT_A_BIT, /* they ask too often */
	SYSPROF_WAIT_END,   /* all of them have closed it */
};

/* Answers those who ask. What the socket is to be waited for then. */
enum sysprof_wait sysprof_control_answer(struct sysprof_control *control);

/* Rows of what is in the rings: of a bounded part of it, or of all that is there now. */
struct ebt_error *sysprof_control_read(struct sysprof_control *control, bool all);

/* Lets go of rings whose process has ended. */
void sysprof_control_reap(struct sysprof_control *control);

uint32_t sysprof_control_rings(const struct sysprof_control *control);

#endif
