/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small files and links below /proc/PID. A handle on the directory keeps reading the same
 * process: once that has ended, everything gives ESRCH or ENOENT, even if the pid is used again.
 */
#ifndef RECORD_BASE_PROCFS_H
#define RECORD_BASE_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"

DEFINE_CLEANUP(DIR *, closedir);

/* Returns a file descriptor, or a negative errno. A thread's id will do too. */
int procfs_open(uint32_t pid);

/* read(2), again where a signal came first; a negative errno on failure. */
ssize_t procfs_read_some(int fd, char *buffer, size_t size);

/* These return the length, or a negative errno; what does not fit is left out. All end in NUL. */
ssize_t procfs_read(int dir, const char *name, char *buffer, size_t size);
ssize_t procfs_link(int dir, const char *name, char *buffer, size_t size);

/* Opens for reading what a handle of O_PATH is on, without blocking. Returns -1 and errno. */
int procfs_reopen(int handle);

/* Leads to what the process has mapped there, also where it is deleted or elsewhere. */
const char *procfs_map_file(uint32_t pid, uint64_t start, uint64_t end, char path[static 96]);

/* Inode of the namespace, as in ns/mnt; 0: not known. */
uint64_t procfs_ns(int dir, const char *name);

/* Is it only that the process has gone? */
bool procfs_gone(int r);

/* From /proc/PID/status. */
struct procfs_status {
	uint32_t ppid, uids[4]; /* uids: real, effective, saved, of the file system */
	char nspid[128];	/* pids from the outer namespace to the inner, by single spaces */
	uint64_t nvcsw, nivcsw; /* context switches of the thread */
	uint64_t max_rss;	/* bytes; 0: a kernel thread or a zombie */
};

/* Reads it below the directory. Returns false where it cannot be read. */
bool procfs_status(int dir, const char *name, struct procfs_status *ret);

/* The number behind the key at the beginning of a line, or otherwise. */
uint64_t procfs_number(const char *text, const char *key, uint64_t otherwise);

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
