/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables as the BPF side finds them: shapes of the maps that record/unwind_*.c fills and
 * unwind.bpf.h reads. Types only; <linux/types.h> must come first.
 *
 *	process → mappings, by address → table → page of 64 KiB → rows, by pc
 *
 * A process's mappings lie side by side in `unwind_mappings`, ascending. A table's pages lie side
 * by side in `unwind_pages`; each says which rows of which chunk hold for its 64 KiB. The first
 * row of a page holds at the page's first byte, so that a search never leaves the page.
 *
 * User space maps these arrays, whose values lie at multiples of 8: all sizes are such.
 */
#ifndef EBREC_UNWIND_MAPS_H
#define EBREC_UNWIND_MAPS_H

#include "cfi_row.h"

/* Rows of a chunk: 1 MiB. */
#define UNWIND_CHUNK_ROWS (1u << 17)
#define UNWIND_PAGE_BITS  16

struct ebrec_unwind_page {
	__u32 chunk;
	__u32 first; /* row of the chunk */
	__u32 n;     /* rows; 0: nothing is known about this page */
	__u32 unused;
};

struct ebrec_unwind_table {
	__u32 first_page, n_pages;
};

/* Instead of a table. */
#define UNWIND_TABLE_NONE  0xffffffffu /* there will be none: the file has no unwind information */
#define UNWIND_TABLE_LATER 0xfffffffeu /* not made yet */
#define UNWIND_TABLE_FULL  0xfffffffdu /* there was no room for it */
#define UNWIND_TABLE_ANON  0xfffffffcu /* no file: generated code, which has frame pointers */

struct ebrec_unwind_mapping {
	__u64 start, end;
	__u64 bias;  /* address - bias: as rows have it */
	__u32 table; /* index in unwind_tables, or UNWIND_TABLE_* */
	__u32 owner; /* tgid, of those that exec made: their place is used again; else 0 */
};

/* Map unwind_processes, by tgid. */
struct ebrec_unwind_process {
	__u32 first, n; /* in unwind_mappings */
};

/*
 * Map unwind_files: what exec needs to know of a file to place its mappings at once. A file whose
 * code lies in several segments is not in it.
 */
struct ebrec_unwind_file_key {
	__u64 inode, size;
	__s64 mtime_s;
	__u32 mtime_ns;
	__u32 dev_major, dev_minor;
	__u32 unused;
};

struct ebrec_unwind_file {
	__u64 shift; /* row pc = offset in the file + shift */
	__u32 table;
	__u32 unused;
};

/* Mappings that an exec makes at the most: program, ld.so, vdso, and some room. */
#define UNWIND_EXEC_MAPPINGS 8u
/* The first mappings are for execs, which take them in turn; a power of two. The recorder replaces
 * what exec made within a second. */
#define UNWIND_EXEC_ROOM (1u << 15)

/* Binary searches are unrolled by the verifier: these are their lengths. */
#define UNWIND_MAX_MAPPINGS  4096u
#define UNWIND_MAPPING_STEPS 12
#define UNWIND_ROW_STEPS     17

#endif
