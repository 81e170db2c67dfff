/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that reads the memory of other processes, in a thread of its own. A page may have to come
 * from a program that never gives it (userfaultfd, FUSE): the reader then waits in the kernel,
 * where only the end of its process ends that. So the work can be given up, while it reads.
 */
#ifndef RECORD_SESSION_READER_H
#define RECORD_SESSION_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct reader;

/*
 * Does the work, and waits for it. False: it was given up, as a read that had begun before the
 * deadline (CLOCK_MONOTONIC ns) did not end soon after it, or there is no thread for it. It stands
 * in reader_read() then and never returns from there: what it works on is the caller's again, but
 * its stack, and what it reads into must be on that, or known to nobody else.
 */
bool reader_run(void (*work)(void *arg, struct reader *reader), void *arg, uint64_t deadline);

/* process_vm_readv(), by the work alone; -1 also behind the deadline. */
ssize_t reader_read(struct reader *reader, pid_t pid, const struct iovec *local,
		    const struct iovec *remote, unsigned long n);

#endif
