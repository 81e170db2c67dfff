/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces for tests of the reader, made by the real writer: several tables, streams and epochs,
 * stacks, strings, tasks, embedded files. The rows are the same for the same options; the uuid
 * is not.
 */
#ifndef TESTS_TOOLS_MAKE_TRACE_H
#define TESTS_TOOLS_MAKE_TRACE_H

#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/encoding/layout.h"
#include "format/read/reader.h"

struct make_trace {
	const char *path;
	unsigned int streams;	  /* 1 to 4 */
	unsigned int steps;	  /* a step is a few rows of several tables */
	unsigned int flush_every; /* steps; 0: chunks end where the writer ends them */
	unsigned int epoch_every; /* steps; 0: one epoch */
	unsigned int file_size;	  /* bytes of an embedded file; 0: none */
	bool unfinished;	  /* as after a kill: no index, no footer */
	bool part;		  /* of the time from the fifth step to the tenth before the last */
};

/* Rows of each table that steps add, by table id; meta and embedded files aside. */
struct made_rows {
	uint64_t sched_switch, sched_waking, syscall, task_fork, mmap;
};

/* Fails the test on any error. */
void make_trace(const struct make_trace *options, struct made_rows *ret);

/* Byte i of the embedded file. */
unsigned char make_trace_byte(unsigned int i);

/* A name for a file in a new directory, which is removed with its content by
 * free_temporary_path(). */
char *make_temporary_path(const char *name);
void free_temporary_path(char *path);

DEFINE_CLEANUP(char *, free_temporary_path);
DEFINE_CLEANUP(struct ebt_reader *, ebt_reader_close);
DEFINE_CLEANUP(struct ebt_cursor *, ebt_cursor_destroy);

#define _cleanup_path_	 _cleanup_(free_temporary_pathp)
#define _cleanup_reader_ _cleanup_(ebt_reader_closep)
#define _cleanup_cursor_ _cleanup_(ebt_cursor_destroyp)

/* Fails the test, and prints the message, where err is one. */
void assert_no_error(struct ebt_error *err);

/* A number for everything that a row says, so that rows can be compared. */
uint64_t hash_row(const struct ebt_row *row);

/* Opens a cursor over all columns of all tables of the reader's schema. */
struct ebt_cursor *cursor_over_all(struct ebt_reader *reader);

#endif
