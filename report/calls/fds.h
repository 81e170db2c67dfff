/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file a descriptor of a process was at a time: from rows of table `fd`, and from forks,
 * execs and calls that close. What has not been told since it may have become another file is not
 * known; there is never a guess. Rows come in order of time. Prints nothing.
 *
 * A call is looked up when it has returned, for the time when it was entered: meanwhile another
 * thread may have closed the descriptor and got another file under its number. Of each descriptor
 * the last FDS_HISTORY changes are kept.
 */
#ifndef REPORT_CALLS_FDS_H
#define REPORT_CALLS_FDS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/trace/inode_paths.h"

#define FDS_HISTORY 4
#define FDS_CWD	    (-100) /* AT_FDCWD */

/* An open file. */
struct fd_file {
	struct inode_key key;
	uint32_t type, flags; /* fields of table `fd` */
	uint32_t mount;
	bool deleted;
};

struct fds;

struct ebt_error *fds_create(struct fds **ret);
void fds_destroy(struct fds *fds);
DEFINE_CLEANUP(struct fds *, fds_destroy);

/* Rows of these tables. */
struct ebt_error *fds_told(struct fds *fds, const struct ebt_row *row); /* fd */
struct ebt_error *fds_fork(struct fds *fds, const struct ebt_row *row); /* task_fork */
struct ebt_error *fds_exec(struct fds *fds, const struct ebt_row *row); /* task_exec */

/* From `time` on the descriptor is closed, or it is not known what it is. */
struct ebt_error *fds_close(struct fds *fds, const struct ebt_task *task, int64_t fd,
			    uint64_t time);
/* From `time` on exec closes the descriptor, or does not. */
struct ebt_error *fds_close_on_exec(struct fds *fds, const struct ebt_task *task, int64_t fd,
				    bool on_exec, uint64_t time);
/* Closed are these numbers, the last one included, as far as the process has them; on_exec: by the
 * next exec. */
struct ebt_error *fds_close_range(struct fds *fds, const struct ebt_task *task, int64_t first,
				  int64_t last, bool on_exec, uint64_t time);
/* The same of all that the process has. */
struct ebt_error *fds_forget(struct fds *fds, const struct ebt_task *task, uint64_t time);

/* Was there a row of this descriptor just then? */
bool fds_is_told(const struct fds *fds, const struct ebt_task *task, int64_t fd, uint64_t time);

/* What a call of the task that was entered and returned then used; NULL: not known. Until the next
 * row. */
const struct fd_file *fds_used(const struct fds *fds, const struct ebt_task *task, int64_t fd,
			       uint64_t entry, uint64_t exit);
/* What it has been ever since the recording began; NULL: it is not known, or there was a change. */
const struct fd_file *fds_unchanged(const struct fds *fds, const struct ebt_task *task, int64_t fd);
/* What it was right after a time, as a call that made it returned. */
const struct fd_file *fds_at(const struct fds *fds, const struct ebt_task *task, int64_t fd,
			     uint64_t time);

/* What a process has open. */
struct fd_held {
	const struct ebt_task *task; /* a thread of the process; NULL: none made a call yet */
	uint32_t pid;
	int64_t fd;
	const struct fd_file *file;
	bool made;	/* by the process itself, and */
	uint64_t since; /* when */
};

typedef struct ebt_error *fd_held_fn(void *arg, const struct fd_held *held);

/* What is known to be open at a time, which is not before the last FDS_HISTORY changes: of all
 * processes that have not ended by then; or of this one. */
struct ebt_error *fds_held(const struct fds *fds, uint64_t time, fd_held_fn *fn, void *arg);
struct ebt_error *fds_held_by(const struct fds *fds, const struct ebt_task *task, uint64_t time,
			      fd_held_fn *fn, void *arg);
/* The process has ended. */
struct ebt_error *fds_end(struct fds *fds, const struct ebt_task *task, uint64_t time);

/* Which one of all files it is, from 0 on. */
uint32_t fds_number(const struct fds *fds, const struct fd_file *file);

/* As /proc/PID/fd has it: "/etc/hostname", "pipe:[17]", "anon_inode:[eventfd]"; but for what that
 * says behind the name of a file that had been deleted by then, or had never been in a folder. */
void fd_file_name_add(const struct fd_file *file, const struct inode_paths *paths,
		      struct text *text);
bool fd_file_is_deleted(const struct fd_file *file, const struct inode_paths *paths);

#endif
