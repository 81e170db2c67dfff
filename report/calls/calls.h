/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls one by one, in order of return, each with what its arguments pointed to and with the
 * files of its descriptors, where these were recorded (`ebrec -e syscalls`).
 */
#ifndef REPORT_CALLS_CALLS_H
#define REPORT_CALLS_CALLS_H

#include "report/calls/fds.h"
#include "report/calls/names.h"
#include "report/calls/sockets.h"
#include "report/trace/trace.h"

#define SYSCALL_MAX_ARGS 6

/* What an argument pointed to. */
struct call_text {
	bool there;	 /* it was recorded */
	uint32_t kind;	 /* enum ebt_syscall_arg_kind */
	bool unreadable; /* the recorder could not read it */
	bool cut;	 /* it went on */
	struct ebt_str bytes;
};

struct call {
	uint64_t entry, exit; /* ns; entry 0: before the recording */
	uint64_t nr;
	int64_t result;
	uint64_t args[SYSCALL_MAX_ARGS];
	const struct ebt_task *task; /* NULL: not known */
	bool compat;
	struct call_text texts[SYSCALL_MAX_ARGS];
	/* Of an exec that succeeded, whose registers are those of the new program: what it ran, and
	 * its arguments, with a zero byte after each. data NULL: not known. */
	struct ebt_str exec_file, exec_args;
};

/* The one that was recorded, by which numbers have names. NULL: not known, and the user is told. */
struct ebt_error *calls_machine(struct trace *trace, const struct syscall_machine **ret);

struct calls;

/* Of the calls that pass the filters; flags: enum trace_flags, of others too. machine: may be NULL.
 * The trace must outlive it. */
struct ebt_error *calls_create(struct trace *trace, const struct syscall_machine *machine,
			       unsigned int flags, struct calls **ret);
void calls_destroy(struct calls *calls);
DEFINE_CLEANUP(struct calls *, calls_destroy);

/* NULL after the last one. Texts, and what is asked of it below, are there until the next. */
struct ebt_error *calls_next(struct calls *calls, const struct call **ret);

/* Reads on up to a time, and gives what processes had open then, as far as it is known. For this,
 * and for the next, calls are those of all tasks from the start. */
struct ebt_error *calls_held(struct calls *calls, uint64_t time, fd_held_fn *fn, void *arg);
/* Reads all, and gives what processes had open when they ended, or when the recording did. */
struct ebt_error *calls_left(struct calls *calls, fd_held_fn *fn, void *arg);

/* The file that a descriptor stood for in this call, or, made: that the call made; NULL: it is not
 * known. It is there until the next call. */
const struct fd_file *call_fd_file(const struct calls *calls, const struct call *call, int64_t fd,
				   bool made);
/* Files that descriptors stood for have numbers from 0 on. */
uint32_t calls_file_number(const struct calls *calls, const struct fd_file *file);
/* As it was called then, if it is a socket. */
void calls_file_name_add(const struct calls *calls, const struct fd_file *file, uint64_t time,
			 struct text *text);
/* Of a file that other rows name by its inode; false: no descriptors were recorded. */
bool calls_inode_name_add(const struct calls *calls, const struct inode_key *key,
			  struct text *text);
/* What it was then, if it is a socket; false: it is none, or was not told. */
bool calls_socket(const struct calls *calls, const struct fd_file *file, uint64_t time,
		  struct socket_end *ret);
/* Adds its file system, as "ext4 on /home"; false: it is not among the mounts. */
bool calls_file_system_add(const struct calls *calls, const struct fd_file *file,
			   struct text *text);

/* Adds such a file as strace -yy does: "</etc/hostname>", "<TCP:[127.0.0.1:80]>",
 * "</tmp/a>(deleted)"; devices: and "</dev/null<char 1:3>>". False: it is not known. */
bool call_fd_name_add(const struct calls *calls, const struct call *call, int64_t fd, bool made,
		      bool devices, struct text *text);

#endif
