/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables as the BPF side finds them: shapes of the maps that record/unwind/ fills and
 * unwind.bpf.h reads. Types only.
 *
 *	process → mappings, by address → table → page of 64 KiB → rows, by pc
 *
 * A process's mappings lie side by side in `unwind_mappings`, ascending. A table's pages lie side
 * by side in `unwind_pages`; each says which rows of which chunk hold for its 64 KiB. The first
 * row of a page holds at the page's first byte, so that a search never leaves the page.
 *
 * User space maps these arrays, whose values lie at multiples of 8: all sizes are such.
 */
#ifndef RECORD_BPF_UNWIND_MAPS_H
#define RECORD_BPF_UNWIND_MAPS_H

#include "unwind/cfi_row.h"

/* Rows of a chunk: 1 MiB. */
#define UNWIND_CHUNK_ROWS (1u << 17)
#define UNWIND_PAGE_BITS  16

struct ebrec_unwind_page {
	__u32 chunk;
	__u32 first; /* row of the chunk */
	__u32 n;     /* rows; 0: nothing is known about this page */
	__u32 unused;
};

/* A table whose rows were taken away has no pages; first_page stays for walks that have begun. */
struct ebrec_unwind_table {
	__u32 first_page, n_pages;
	__u32 used; /* set by walks that look for a row, cleared by the recorder */
	__u32 unused;
};

/* Instead of a table. */
#define UNWIND_TABLE_NONE  0xffffffffu /* there will be none: the file has no unwind information */
#define UNWIND_TABLE_LATER 0xfffffffeu /* not made yet */
#define UNWIND_TABLE_FULL  0xfffffffdu /* there was no room for it */
#define UNWIND_TABLE_ANON  0xfffffffcu /* no file: generated code, which has frame pointers */

struct ebrec_unwind_mapping {
	__u64 start, end;
	__u64 bias;   /* address - bias: as rows have it */
	__u32 table;  /* index in unwind_tables, or UNWIND_TABLE_* */
	__u32 ticket; /* see struct ebrec_unwind_process */
};

/*
 * Map unwind_processes, by tgid: what the BPF side itself saw of an address space. Its ranges of
 * mappings are taken in turn from the first entries of the map, and are overwritten some time
 * later: then their ticket is another.
 */
struct ebrec_unwind_process {
	__u64 mm;	/* address of its mm_struct */
	__u64 time;	/* all mappings up to then, CLOCK_MONOTONIC ns, are here, and maybe more */
	__u32 first, n; /* in unwind_mappings */
	__u32 ticket;	/* 0: a range of the recorder's */
	__u32 unused;
};

/* Map unwind_published, by tgid: what the recorder knows of an address space. */
struct ebrec_unwind_published {
	__u64 time; /* of the last change that is in it */
	__u32 first, n;
	__u64 exec_vm; /* pages of code, as the recorder knows it, then as the last walk saw it */
};

/*
 * Map unwind_files: what needs to be known of a file to place a mapping of it at once. A file
 * whose code lies in several segments is not in it.
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

/* The first mappings are for the BPF side, a power of two: 4 MiB, enough for some 5,000 programs
 * with a few libraries. The recorder publishes what they have within milliseconds. */
#define UNWIND_OWN_ROOM (1u << 17)
/* An address space with more is the recorder's alone. */
#define UNWIND_OWN_MAPPINGS 512u

/* Binary searches are unrolled by the verifier: these are their lengths. */
#define UNWIND_MAX_MAPPINGS  4096u
#define UNWIND_MAPPING_STEPS 12
#define UNWIND_ROW_STEPS     17

#endif
