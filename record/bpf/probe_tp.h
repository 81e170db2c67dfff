/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What source `tp` tells its BPF programs to read where a tracepoint is hit. Types only.
 */
#ifndef RECORD_BPF_PROBE_TP_H
#define RECORD_BPF_PROBE_TP_H

#include "record/bpf/probe.h"

/* Of one string or array; a record of the kernel's is 8 KiB at the most. */
#define EBREC_TP_TEXT 4096
/* Of all arguments of a hit: where there are more, strings and arrays cannot be read. */
#define EBREC_TP_BYTES 8192

/* Stands for a probe's number in the program that is copied. */
#define EBREC_TP_MAGIC	    0x65627472ll
#define EBREC_TP_MAGIC_TEXT "0x65627472"

/* Interpretation of an argument's bytes. */
enum {
	EBREC_TP_NUMBER,
	EBREC_TP_SIGNED,
	EBREC_TP_STRING, /* ends with a zero byte, or where it must */
	EBREC_TP_ARRAY,
};

/* How they are found. */
enum {
	EBREC_TP_HERE,
	EBREC_TP_LOC, /* __data_loc: a u32 says where in the record (low half), and how long */
	EBREC_TP_REL, /* __rel_loc: the same, from the end of that u32 */
};

struct ebrec_tp_arg {
	__u8 kind, where;
	__u8 size;     /* of a number: 1, 2, 4 or 8 */
	__u8 pointers; /* to follow: at `at`, then at offsets[0] behind that */
	__u32 at;      /* in the program's context */
	__u32 len;     /* of a string or an array: the most */
	__u32 offsets[2];
};

/* Map `tp_specs`, by number of the probe. */
struct ebrec_tp_spec {
	__u32 n_args, unused;
	struct ebrec_tp_arg args[EBREC_PROBE_ARGS];
};

#endif
