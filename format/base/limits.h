/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every limit on what a file can make a reader do, and what a writer keeps to so that its files
 * are read everywhere. A trace is hostile input: a count from a file is checked against these,
 * and against the bytes that remain, before anything is allocated.
 */
#ifndef FORMAT_BASE_LIMITS_H
#define FORMAT_BASE_LIMITS_H

/* Payload of one chunk after decompression. A writer seals near 1 MiB; the factor of 16 leaves
 * room for one very large row (an embedded file's piece) and for other writers. */
#define EBT_MAX_RAW (16u << 20)

/* zstd never needs more than this for EBT_MAX_RAW incompressible bytes. */
#define EBT_MAX_STORED (EBT_MAX_RAW + (64u << 10))

/* 2^24 = EBT_MAX_RAW: a frame cannot ask for a larger window than its content. */
#define EBT_MAX_WINDOW_LOG 24

/* Rows of one chunk. Needed on its own, because a constant column costs no bytes: without it a
 * 100-byte chunk could claim four billion rows. */
#define EBT_MAX_ROWS (1u << 20)

/* Fields of one table: a query names the columns it wants in one 64-bit mask. */
#define EBT_MAX_FIELDS 64u

/* Tables of one file. The format has 16 bits; no program has a use for so many. */
#define EBT_MAX_TABLES 1024u

/* A name of a table or field; and names of enum values that the schema of a file adds. */
#define EBT_MAX_NAME   63u
#define EBT_MAX_VALUES (1u << 16)

/* Entries of one local dictionary. */
#define EBT_MAX_DICT (1u << 20)

/* One string: a piece of an embedded file is the longest that exists. */
#define EBT_MAX_STRING (1u << 20)

/* Frames of one stack. The kernel's own cap is 127 by default; deep recursion by option. */
#define EBT_MAX_FRAMES 1024u

/* Decoded size of one chunk: rows × wanted columns × 8 bytes. A chunk of EBT_MAX_ROWS with
 * EBT_MAX_FIELDS constant columns would need 512 MiB; no writer makes one. */
#define EBT_MAX_DECODED (128u << 20)

/* Decompressed bytes that one embedded file may grow to when it is put together. kallsyms of a
 * large kernel is about 16 MiB. */
#define EBT_MAX_FILE (256u << 20)

/* Pieces that embedded files come in, all together. */
#define EBT_MAX_PIECES (1u << 20)

/* Distinct tasks that a reader keeps, names included: some ten million. 10 MB of zstd can hold
 * hundreds of millions. */
#define EBT_MAX_TASK_MEMORY (1u << 30)

/* What a reader keeps of the schema, of table `meta` and of table `file`: kilobytes in a real
 * trace. Each. */
#define EBT_MAX_KEPT (64u << 20)

/* Decoded chunks that a cursor holds at a time because they overlap. A writer's open chunks stay
 * below 64 MiB; without this, a small file of chunks that all overlap could claim any amount. */
#define EBT_MAX_OPEN (1u << 30)

/* Length of a chunk header: grows with minor versions, by a few fields each. */
#define EBT_MAX_HEADER 4096u

/* Machines in a file. */
#define EBT_MAX_HOSTS 64u

/* Gaps that a recovery remembers one by one; later ones are only counted. */
#define EBT_MAX_DAMAGE 256u

#endif
