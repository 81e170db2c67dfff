/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where each thread that is recorded is, without stopping it: rows of thread_stack, when a
 * recording begins and when it ends. A BPF iterator gives the kernel stack and the registers, user
 * stacks are walked here, in the memory of the process. A thread that ran meanwhile is looked at
 * again, a few times.
 */
#ifndef RECORD_SESSION_THREAD_STACKS_H
#define RECORD_SESSION_THREAD_STACKS_H

#include <stdint.h>

#include "format/base/error.h"
#include "format/schema/wire.h"
#include "format/write/writer.h"

struct capture;
struct tasks;

/* The mappings of the processes have been published. Kernel stacks take half a second at most, and
 * so do walks; rows of threads whose user stacks are left out for it say so. but: a process that is
 * of no interest, or 0. before: nor are threads that began then or later. */
struct ebt_error *thread_stacks_take(struct capture *capture, struct ebt_stream *stream,
				     struct tasks *tasks, enum ebt_thread_stack_moment moment,
				     uint32_t but, uint64_t before);

#endif
