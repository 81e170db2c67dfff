/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fixed structures of an .ebt file, twin of docs/FORMAT.md. Everything is little-endian;
 * these are offsets and constants, not structs to cast file bytes to: bytes are read through the
 * cursor in bytes.h, so nothing here depends on the ABI of the machine.
 *
 *	file   = file header, chunk…, footer
 *	chunk  = chunk header, stored payload, zero bytes up to a multiple of 8
 */
#ifndef FORMAT_ENCODING_LAYOUT_H
#define FORMAT_ENCODING_LAYOUT_H

/* As PNG: shows a copy made in text mode. The octal escape ends before the E. */
#define EBT_FILE_MAGIC	   "\211EBT\r\n\x1a\n"
#define EBT_FILE_MAGIC_LEN 8
#define EBT_MAJOR	   1
#define EBT_MINOR	   0
#define EBT_ALIGN	   8

/* File header: offsets. */
enum {
	EBT_FH_MAGIC = 0,     /* u8[8] */
	EBT_FH_MAJOR = 8,     /* u16 */
	EBT_FH_MINOR = 10,    /* u16 */
	EBT_FH_LEN = 12,      /* u32, 96 */
	EBT_FH_INCOMPAT = 16, /* u64: an unknown bit makes a reader refuse the file */
	EBT_FH_COMPAT = 24,   /* u64: an unknown bit is ignored */
	EBT_FH_UUID = 32,     /* u8[16]; its first four bytes are the file tag */
	EBT_FH_CREATED = 48,  /* u64, CLOCK_REALTIME ns */
	EBT_FH_FROM = 56,     /* u64, u64: the window, with feature EBT_WINDOW */
	EBT_FH_TO = 64,
	EBT_FH_RESERVED = 72, /* u8[20], zero */
	EBT_FH_CRC = 92,      /* u32, CRC32C of bytes 0 to 91 */
	EBT_FILE_HEADER_LEN = 96,
};

/* Incompatible features. */
enum {
	EBT_WINDOW = 1, /* rows outside of the window only explain those in it */
	EBT_HOSTS = 2,	/* chunks are of several machines */
	EBT_KNOWN_FEATURES = EBT_WINDOW | EBT_HOSTS,
};

#define EBT_CHUNK_MAGIC 0x43544245u /* "EBTC" */

enum ebt_chunk_type {
	EBT_CHUNK_TABLE = 1, /* rows of one table */
};

enum {
	EBT_CHUNK_ZSTD = 1,	/* the payload is one zstd frame */
	EBT_CHUNK_CRITICAL = 2, /* a reader that does not know the type refuses the file */
};

/* Chunk header: offsets. */
enum {
	EBT_CH_MAGIC = 0,	/* u32 */
	EBT_CH_TYPE = 4,	/* u16, enum ebt_chunk_type */
	EBT_CH_FLAGS = 6,	/* u16 */
	EBT_CH_LEN = 8,		/* u32, 96; the payload begins this far from the header */
	EBT_CH_TAG = 12,	/* u32, bytes 0 to 3 of the file's uuid */
	EBT_CH_SEQ = 16,	/* u64, 0, 1, 2 … over the file */
	EBT_CH_TABLE = 24,	/* u16, table id */
	EBT_CH_STREAM = 26,	/* u16, which of the recorder's streams; 0: the writer */
	EBT_CH_EPOCH = 28,	/* u32 */
	EBT_CH_STORED = 32,	/* u64, bytes of payload in the file */
	EBT_CH_RAW = 40,	/* u64, bytes of payload after decompression */
	EBT_CH_TIME_MIN = 48,	/* u64, first and last row's time, CLOCK_MONOTONIC ns */
	EBT_CH_TIME_MAX = 56,	/* u64 */
	EBT_CH_WATERMARK = 64,	/* u64: no later chunk has a row older than this */
	EBT_CH_ROWS = 72,	/* u32 */
	EBT_CH_LOST = 76,	/* u32, rows of this table lost that no earlier chunk has told */
	EBT_CH_HOST = 80,	/* u32, with feature EBT_HOSTS: of which machine; 0: of all */
	EBT_CH_RESERVED = 84,	/* u32, zero */
	EBT_CH_CRC = 88,	/* u32, CRC32C of the stored payload */
	EBT_CH_HEADER_CRC = 92, /* u32, CRC32C of bytes 0 to 91 */
	EBT_CHUNK_HEADER_LEN = 96,
};

#define EBT_FOOTER_MAGIC 0x46544245u /* "EBTF" */

/* Footer, the last 64 bytes of a complete file: offsets. */
enum {
	EBT_FT_MAGIC = 0,     /* u32 */
	EBT_FT_LEN = 4,	      /* u32, 64 */
	EBT_FT_INDEX = 8,     /* u64, offset of the last chunk of table `index` */
	EBT_FT_CHUNKS = 16,   /* u64, chunks in the file */
	EBT_FT_ROWS = 24,     /* u64, rows in all tables of class event */
	EBT_FT_LOST = 32,     /* u64, rows lost in all tables of class event */
	EBT_FT_TAG = 40,      /* u32, as in chunk headers */
	EBT_FT_RESERVED = 44, /* u8[16], zero */
	EBT_FT_CRC = 60,      /* u32, CRC32C of bytes 0 to 59 */
	EBT_FOOTER_LEN = 64,
};

/* How one entry of a payload's directory is encoded. */
enum ebt_encoding {
	EBT_ENC_CONST = 0,  /* u64: every row has this value */
	EBT_ENC_VARINT = 1, /* a varint a row */
	EBT_ENC_ZIGZAG = 2, /* a zigzag varint a row */
	EBT_ENC_DELTA = 3,  /* zigzag varint of the difference to the row before; first: to 0 */
	EBT_ENC_FIXED = 4,  /* u8 width (1, 2, 4, 8), then so many bytes a row */

	EBT_ENC_STRINGS = 64, /* the chunk's string dictionary */
	EBT_ENC_STACKS = 65,  /* the chunk's stack dictionary */
	EBT_ENC_TASKS = 66,   /* the chunk's task dictionary; after STRINGS */
};

/* Chunks that one chunk of table `index` describes at the most. */
#define EBT_INDEX_ROWS 4096

#endif
