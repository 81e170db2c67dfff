/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython as walks of Python frames see it: where its structures have what they read, filled in by
 * record/unwind/python*.c and used by python.bpf.h and by record/session/thread_python.c. Types
 * only.
 */
#ifndef RECORD_BPF_PYTHON_H
#define RECORD_BPF_PYTHON_H

#include "format/schema/wire.h"
#include "record/bpf/shared.h"

/* Offsets of a thread state and of a code object that are looked at are below. */
#define PYTHON_OBJECT_BYTES 192
/* The same of an interpreter's frame. */
#define PYTHON_FRAME_BYTES 80

/* Of Python frames, and of the groups that they come in, of one stack. */
#define PYTHON_ENTRIES 192
/* More are followed to where they end, but not kept: a recursion is one group. */
#define PYTHON_FRAMES 2048
/* Thread states that are looked at for one that has not been met before. */
#define PYTHON_THREADS 1024

/* Words of a code object from ob_size to co_linetable do not change while it lives, but for the
 * count of runs in the upper half of one. */
#define PYTHON_PRINT_FROM 2
#define PYTHON_PRINT_TO	  18
#define PYTHON_PRINT_HALF 6

/*
 * Map `python_builds`, by number of the unwind table: a build of CPython. PYTHON_NONE: this one
 * has no such field.
 */
#define PYTHON_NONE 0xffffffffu

struct ebrec_python_build {
	__u64 runtime; /* _PyRuntime, as the rows of the table have addresses */
	__u32 version; /* PY_VERSION_HEX */
	__u32 interpreters_head;
	__u32 interpreter_next, interpreter_threads;
	/* The frame, or where there is a cframe (up to 3.12), that. */
	__u32 thread_next, thread_interpreter, thread_id, thread_frame;
	__u32 cframe_frame, cframe_previous;
	__u32 frame_code, frame_previous, frame_instruction, frame_owner;
	__u32 frame_is_entry; /* up to 3.11; later there is a frame on the C stack instead */
	__u32 code_first_line, code_file, code_name, code_lines, code_first_traceable;
	__u32 code_instructions;
	__u32 text_ascii, text_compact; /* where the characters of a str begin */
	__u32 bytes_data;
};

#define PYTHON_MAX_BUILDS 256

/* _PyInterpreterFrame.owner */
#define PYTHON_OWNER_GENERATOR 1
#define PYTHON_OWNER_CSTACK    3

/* A str: its first characters, as they are in memory. */
struct ebrec_python_text {
	__u32 chars; /* all */
	__u32 width; /* bytes of a character; 0: could not be read */
};

/* A str up to its characters: struct PyASCIIObject. */
struct ebrec_python_str {
	__u64 refs, type, length, hash;
	__u32 state; /* interned:2, kind:3, compact:1, ascii:1 */
	__u32 unused;
};

#define PYTHON_STR_WIDTH(state) ((state) >> 2 & 7)
#define PYTHON_STR_COMPACT	0x20
#define PYTHON_STR_ASCII	0x40

#define PYTHON_NAME_BYTES	256
#define PYTHON_FILE_BYTES	512
#define PYTHON_LINES_BYTES	4096

/* Not a table of the file: a code object that a stack names for the first time. */
#define EBREC_T_PYTHON_CODE 0xff01

struct ebrec_python_code {
	struct ebt_wire_head head;
	__u64 address, lines_address, name_address, file_address;
	__u32 id; /* of table interp_code */
	__u32 tid, pid;
	__u32 version;
	__u32 first_line;
	__u32 lines; /* bytes of the line table, all; those that are here end the record */
	struct ebrec_python_text name, file;
	__u32 text_ascii, text_compact; /* as in the build */
	__u8 name_data[PYTHON_NAME_BYTES];
	__u8 file_data[PYTHON_FILE_BYTES];
	__u8 lines_data[PYTHON_LINES_BYTES];
};

/* Map `python_counts`, per CPU. Programs that interrupt each other may miscount by one. */
struct ebrec_python_counts {
	struct ebrec_rate codes; /* sent */
	__u64 stacks;		 /* with Python frames */
	__u64 no_thread;	 /* no thread state was found */
	__u64 unplaced;		 /* frames that no native frame ran */
};

#endif
