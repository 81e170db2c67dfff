/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What calls did with files: which file a call opened, read, wrote or used otherwise, and which
 * names it looked for in vain. By tables `syscall`, `syscall_arg` and `fd`. Prints nothing.
 *
 * Memory depends on the number of files and names, up to IO_MAX_FILES, and on that of descriptors
 * that were read or written.
 */
#ifndef REPORT_IO_MODEL_IO_H
#define REPORT_IO_MODEL_IO_H

#include "report/calls/calls.h"

#define IO_NOT_KNOWN 0u		/* the number of the file that is not known */
#define IO_OTHERS    1u		/* of those that there was no room for */
#define IO_MAX_FILES (1u << 22) /* and as many names */

struct io_file {
	uint32_t name, directory, filesystem; /* io_name(); 0: not known */
	uint32_t dev_major, dev_minor;
	uint32_t type;	  /* enum ebt_v_fd_type */
	uint32_t writers; /* processes that wrote it */
	bool known;	  /* a descriptor stood for it: device and type are known */
};

enum io_act {
	IO_OPEN,
	IO_OPEN_FAILED,
	IO_READ,
	IO_WRITE,
	IO_OTHER,
	IO_MISSING, /* a name of no file: ENOENT or ENOTDIR; io_file has name and directory */
};

/* What one call did with one file. */
struct io_use {
	const struct call *call;
	enum io_act act;
	uint32_t file;
	const struct fd_file *fd; /* what the descriptor stood for, if that is known */
	uint64_t bytes;		  /* read or written */
	uint64_t ns;		  /* the call took; 0 where another use of the same call has it */
	uint64_t off_ns;	  /* of that off CPU, as far as io_model_off() was told */
	bool follows;  /* of a read or write of a file: there was one before by this descriptor, */
	bool in_order; /* and it went on where that one had ended */
};

typedef struct ebt_error *io_use_fn(void *arg, const struct io_use *use);

/* A descriptor that a process has open. */
struct io_held {
	const struct fd_held *fd;
	uint32_t file;
};

typedef struct ebt_error *io_held_fn(void *arg, const struct io_held *held);

struct io_model;

/* flags: enum trace_flags. machine: may be NULL. The trace must outlive it. */
struct ebt_error *io_model_create(struct trace *trace, const struct syscall_machine *machine,
				  unsigned int flags, struct io_model **ret);
void io_model_destroy(struct io_model *model);
DEFINE_CLEANUP(struct io_model *, io_model_destroy);

/* All uses in the window that pass the filters, once. missing: these only; otherwise all but these.
 */
struct ebt_error *io_model_read(struct io_model *model, bool missing, io_use_fn *use, void *arg);

/* For time off CPU: the same up to a time, again and again; and a task was off CPU before it made
 * another call that returned later. Intervals come in order of their ends. */
struct ebt_error *io_model_read_to(struct io_model *model, uint64_t time, io_use_fn *use,
				   void *arg);
struct ebt_error *io_model_off(struct io_model *model, const struct ebt_task *task, uint64_t start,
			       uint64_t end);

/* How much of that is in no use: there was too much of tasks that made no calls. */
uint64_t io_model_off_dropped(const struct io_model *model);

/* What all processes had open at a time; and what they had opened themselves, and left open when
 * they ended or the recording did. One of all these can be asked for. */
struct ebt_error *io_model_held(struct io_model *model, uint64_t time, io_held_fn *fn, void *arg);
struct ebt_error *io_model_left(struct io_model *model, io_held_fn *fn, void *arg);

/* The number of a file that other rows name by its inode: that of its descriptors, where the name
 * is the same. IO_NOT_KNOWN: no descriptors were recorded. */
struct ebt_error *io_model_inode(struct io_model *model, const struct inode_key *key,
				 uint32_t *ret);

/* The socket that was used; false: it is none, or was not told. */
bool io_socket(const struct io_model *model, const struct io_use *use, struct socket_end *ret);

/* They belong to the model, until the next use. */
const struct io_file *io_file(const struct io_model *model, uint32_t file);
struct ebt_str io_name(const struct io_model *model, uint32_t name);

#endif
