/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests of report/: small traces made by the writer, and commands run on them in-process. */
#ifndef TESTS_TOOLS_REPORT_RUN_H
#define TESTS_TOOLS_REPORT_RUN_H

#include <stddef.h>

#include "format/write/writer.h"

/* A trace that is being written to a file of its own. Failures end the test. */
struct made_trace {
	char path[64];
	int fd;
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	struct ebt_record record;
};

/* tasks: who each tid is (one life each); ends with tid 0; must live until made_trace_finish(). */
void made_trace_begin(struct made_trace *t, const struct ebt_task_id *tasks);
void made_trace_meta(struct made_trace *t, const char *key, const char *value);
/* On CPU 0; a tid of 0: it is idle. prev_state 0: prev could have gone on. */
void made_trace_switch(struct made_trace *t, uint64_t time, uint32_t prev, uint32_t next,
		       uint32_t prev_state);
/* A sleeping thread, in a list of all. */
void made_trace_thread(struct made_trace *t, uint64_t time, uint32_t tid, uint64_t nvcsw);
/* The recorder does so when it has listed all threads. */
void made_trace_clock(struct made_trace *t, uint64_t time);
void made_trace_syscall(struct made_trace *t, uint64_t time, uint32_t tid, uint32_t cpu,
			uint32_t nr, uint64_t duration, int64_t result);
/* The record that ebt_record_begin() filled. */
void made_trace_add(struct made_trace *t);
void made_trace_finish(struct made_trace *t);
/* Removes the file. */
void made_trace_remove(struct made_trace *t);

/* What a command wrote; freed with free(). The status is 0, or the code of its error, whose
 * message is then the result. args end with NULL; the trace is appended. */
char *report_run(int *ret_status, const char *trace, const char *const *args);

/* The same for a run that must succeed. */
char *report_ok(const char *trace, const char *const *args);
#define REPORT_OK(trace, ...) report_ok(trace, (const char *const[]){ __VA_ARGS__, NULL })
#define REPORT_FAILS(trace, status, ...) \
	report_run(status, trace, (const char *const[]){ __VA_ARGS__, NULL })

#endif
