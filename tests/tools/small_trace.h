/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces written row by row, for tests that know what has to come out to the nanosecond. Times
 * count from SMALL_START. Thread 12 belongs to process 10, and so on; thread N is called "tN"
 * unless comms says otherwise, and started at the beginning of time. Every function fails the test
 * on errors.
 */
#ifndef TESTS_TOOLS_SMALL_TRACE_H
#define TESTS_TOOLS_SMALL_TRACE_H

#include <stdint.h>

#include "format/read/reader.h"
#include "format/write/writer.h"

#define SMALL_START UINT64_C(1000000)

struct small_trace {
	char *path;
	int fd;
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	struct ebt_record rec;
	const char *comms[100]; /* by tid */
};

/* Addresses of a stack, innermost first; n 0: none. */
struct small_stack {
	uint64_t addresses[8];
	unsigned int n;
};

void small_begin(struct small_trace *t);
/* Completes the file and opens it. */
struct ebt_reader *small_open(struct small_trace *t);
/* Removes the file. */
void small_end(struct small_trace *t);

/* What has been added so far goes into chunks of its own. */
void small_flush(struct small_trace *t);

void small_switch(struct small_trace *t, uint64_t time, uint32_t cpu, uint32_t prev, uint32_t next,
		  uint32_t prev_state, uint32_t preempt);
void small_switch_at(struct small_trace *t, uint64_t time, uint32_t prev, uint32_t next,
		     uint32_t prev_state, struct small_stack kernel, struct small_stack user);
void small_waking(struct small_trace *t, uint64_t time, uint32_t waker, uint32_t wakee);
void small_migrate(struct small_trace *t, uint64_t time, uint32_t tid, uint32_t from, uint32_t to);
void small_fork(struct small_trace *t, uint64_t time, uint32_t parent, uint32_t child);
/* Its run time is 1000 ns and the time. */
void small_exit(struct small_trace *t, uint64_t time, uint32_t tid);
void small_exec(struct small_trace *t, uint64_t time, uint32_t cpu, uint32_t tid, uint32_t old_tid);
/* Its run time is 1000 ns. */
void small_thread(struct small_trace *t, uint64_t time, uint32_t tid, uint32_t state, uint32_t cpu,
		  uint32_t on_cpu);
void small_process(struct small_trace *t, uint64_t time, uint32_t tid);
void small_lost(struct small_trace *t, uint64_t from, uint64_t to, uint32_t table, uint64_t count);
void small_sample(struct small_trace *t, uint64_t time, uint32_t tid, uint64_t period,
		  struct small_stack kernel, struct small_stack user);
void small_offcpu_stack(struct small_trace *t, uint64_t time, uint32_t tid, uint64_t duration,
			struct small_stack kernel);
void small_meta(struct small_trace *t, const char *key, const char *value);

#endif
