/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User-space side of walks of Python frames: tells the BPF programs which unwind tables are those
 * of a CPython, and makes rows of table interp_code of the code objects that they meet.
 */
#ifndef RECORD_UNWIND_PYTHON_H
#define RECORD_UNWIND_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"

struct ebrec_bpf;
struct ebrec_python_build;
struct ebrec_python_code;

/* Before the programs are loaded: Python frames are wanted. */
void python_configure(struct ebrec_bpf *skel);

/* What an ELF file, which may be anything, says about the CPython in it: where its structures have
 * their fields, and the load address of _PyRuntime. False: it is none of a version known here. */
bool python_build_read(int fd, struct ebrec_python_build *ret);

/* The file of unwind table `number`, whose rows begin at address `base`, may be a CPython. */
void python_file(const struct ebrec_bpf *skel, int fd, uint32_t number, uint64_t base);

/* The CPython in the file of unwind table `number`, its runtime as python_file() made it. */
bool python_find_build(const struct ebrec_bpf *skel, uint32_t number,
		       struct ebrec_python_build *ret);

struct python_stats {
	uint64_t builds;    /* of CPython that were met */
	uint64_t stacks;    /* with Python frames */
	uint64_t no_thread; /* without, as no thread state was found */
	uint64_t unplaced;  /* stacks of which some Python frames are missing */
	uint64_t refused;   /* names that were not recorded, as there were too many */
};

struct ebt_error *python_stats(const struct ebrec_bpf *skel, struct python_stats *ret);

/* Is it a code object, and not a row? */
bool python_is_code(const void *record, size_t len);
/* Reads memory of a process, all of it, or false. */
typedef bool python_read(void *arg, uint64_t address, void *ret, size_t len);
/* Its row. Name and file, where `code` lacks them, and what is missing of the line table, of which
 * it has n_lines, are read. */
void python_make_row(struct ebrec_python_code *code, size_t n_lines, python_read *read, void *arg,
		     struct ebt_record *ret);
/* Adds the row of a record. A record that is none is dropped. Any thread. */
struct ebt_error *python_add_code(struct ebt_stream *stream, const void *record, size_t len);

#endif
