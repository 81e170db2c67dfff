/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread of a process is at the other end of a socket: Sysprof's protocol does not say. */
#ifndef RECORD_SOURCES_SYSPROF_THREAD_H
#define RECORD_SOURCES_SYSPROF_THREAD_H

#include <stdint.h>

/* The thread that waits for a message at this descriptor; where that cannot be told, the first one,
 * whose tid is the pid. */
uint32_t sysprof_thread_waiting(uint32_t pid, int fd);

#endif
