/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child that answers one question, into a file in memory. It ends with its parent, has a limit
 * of memory, and may be killed at any time.
 */
#ifndef REPORT_SERVE_WORKER_H
#define REPORT_SERVE_WORKER_H

#include <sys/types.h>

#include "report/serve/answer.h"

struct serve_worker {
	pid_t pid;  /* 0: there is none */
	int answer; /* its file */
};

/* What a child ends with: its own errors, else 0. */
enum { WORKER_FAILED = 100 };

/* memory: bytes that it may allocate. The caller's process must have one thread. */
struct ebt_error *worker_start(struct serve_worker *worker, const struct options *options,
			       const struct serve_question *question, uint64_t memory);
/* Nobody waits for it any more. */
void worker_kill(struct serve_worker *worker);

/*
 * The child has ended with this status of wait(2). Hands the file over: with the answer, or with
 * words that say why there is none. *ret_code: enum ebt_error_code; 0: it is the answer.
 */
struct ebt_error *worker_take(struct serve_worker *worker, int status, int *ret_file,
			      int *ret_code);

#endif
