/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small files and links below /proc/PID. A handle on the directory keeps reading the same
 * process: once that has ended, everything gives ESRCH or ENOENT, even if the pid is used again.
 */
#ifndef RECORD_BASE_PROCFS_H
#define RECORD_BASE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/error.h"

/* Returns a file descriptor, or a negative errno. A thread's id will do too. */
int procfs_open(uint32_t pid);

/* read(2), again where a signal came first; a negative errno on failure. */
ssize_t procfs_read_some(int fd, char *buffer, size_t size);

/* These return the length, or a negative errno; what does not fit is left out. All end in NUL. */
ssize_t procfs_read(int dir, const char *name, char *buffer, size_t size);
ssize_t procfs_link(int dir, const char *name, char *buffer, size_t size);

/* Inode of the namespace, as in ns/mnt; 0: not known. */
uint64_t procfs_ns(int dir, const char *name);

/* Is it only that the process has gone? */
bool procfs_gone(int r);

/* From /proc/PID/status. */
struct procfs_status {
	uint32_t ppid, uid;
	char nspid[128];	/* pids from the outer namespace to the inner, by single spaces */
	uint64_t nvcsw, nivcsw; /* context switches of the thread */
	uint64_t max_rss;	/* bytes; 0: a kernel thread or a zombie */
};

bool procfs_parse_status(const char *text, struct procfs_status *ret);

/* From /proc/PID/stat. */
struct procfs_stat {
	char comm[64];
	char state;
	uint32_t ppid, flags, cpu;
	uint64_t start_ticks;  /* of CLOCK_BOOTTIME */
	uint64_t minor, major; /* page faults */
	int32_t prio, nice;    /* prio as the kernel has it: real-time below 100 */
	uint32_t rt_priority, policy;
};

bool procfs_parse_stat(const char *text, struct procfs_stat *ret);

/* From /proc/PID/io; all ones: the kernel does not say. */
struct procfs_io {
	uint64_t read_bytes, write_bytes, rchar, wchar;
};

void procfs_parse_io(const char *text, struct procfs_io *ret);

/*
 * The content of a file of /proc or /sys, which has no size beforehand. At most `limit` bytes:
 * what is beyond sets truncated. A NUL follows it, not counted. The caller frees *ret.
 */
struct ebt_error *procfs_slurp(const char *path, size_t limit, char **ret, size_t *ret_len,
			       bool *ret_truncated);
/* The same, of a path below dir. */
struct ebt_error *procfs_slurp_at(int dir, const char *path, size_t limit, char **ret,
				  size_t *ret_len, bool *ret_truncated);

#endif
