/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where threads were when a recording began and when it ended: table thread_stack, with the names
 * of its frames. Equal stacks are one node of a tree, whose nodes are frames: a function and a
 * line.
 */
#ifndef REPORT_SYSTEM_MODEL_THREADS_H
#define REPORT_SYSTEM_MODEL_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/read/rows.h"
#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

struct threads;

struct thread_frame {
	uint32_t parent; /* its caller; the outermost frames have 0, which is no frame */
	const struct sym_func *func;
	const char *file; /* NULL: not known */
	uint32_t line;
	bool inlined, kernel;
};

/* A row of the table. */
struct thread_seen {
	const struct ebt_task *task;
	uint64_t time, since; /* 0: not known */
	enum ebt_thread_stack_moment moment;
	enum ebt_thread_stack_user user;
	uint64_t state;
	bool on_cpu, compat;
	int64_t call; /* -1: none */
	uint64_t args[6];
	const struct ebt_task *owner; /* of the lock that it waits for; NULL: not known */
	uint32_t frame;		      /* the innermost, 0: none */
	size_t first; /* address, of n; the innermost first, one for all frames of its code, 0 for
			 a function of Python */
	uint32_t n;
	uint32_t stop; /* EBT_STOP_*, of the user stack; 0: there is none */
};

#define THREAD_BEGIN (1u << EBT_V_thread_stack_moment_begin)
#define THREAD_END   (1u << EBT_V_thread_stack_moment_end)

/* moments: THREAD_BEGIN, THREAD_END, or both. */
struct ebt_error *threads_read(struct trace *trace, unsigned int moments, struct threads **ret);
/* Accepts NULL. */
void threads_destroy(struct threads *threads);
DEFINE_CLEANUP(struct threads *, threads_destroy);

/* By process and thread, and then by moment. */
const struct thread_seen *threads_all(const struct threads *threads, size_t *ret_n);
const struct thread_frame *threads_frames(const struct threads *threads);
const uint64_t *threads_addresses(const struct threads *threads);

/* "running", "sleep" … */
const char *thread_state_name(const struct thread_seen *seen);
/* Were both where the other was? */
bool thread_is_equal(const struct thread_seen *a, const struct thread_seen *b);

#endif
