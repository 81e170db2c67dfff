/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs of sources uprobe and usdt and their user space agree on: the places that
 * are probed and what is fetched there.
 */
#ifndef RECORD_BPF_PROBE_USER_H
#define RECORD_BPF_PROBE_USER_H

#include <linux/types.h>

/* Places in code: a probe of USDT is wherever the compiler put a copy of its function. */
#define EBREC_PROBE_SITES 1024

/* Arguments of a place; those of USDT are 12 at the most. */
#define EBREC_PROBE_FETCHES 12

/* Calls of a thread that have not returned: the kernel follows 64, and the memory for so many, a
 * bit less than 8 KiB, is what each thread that enters a probed function gets. */
#define EBREC_PROBE_DEPTH 62

/* Bytes of arguments that are kept there until the function returns, and of pointers that are
 * followed then; more bytes are kept in a hash. */
#define EBREC_PROBE_KEPT  64
#define EBREC_PROBE_LATER 2

/* Calls whose arguments are in that hash. */
#define EBREC_PROBE_LONG 16384

/* Pointers that are followed one after the other. */
#define EBREC_PROBE_DEREFS 3

/* No register. */
#define EBREC_NO_REGISTER 0xffff

/* What is read. */
enum {
	EBREC_FETCH_NUMBER,
	EBREC_FETCH_WORD, /* in memory: an array of one, as it may be unreadable */
	EBREC_FETCH_STRING,
	EBREC_FETCH_BYTES,
};

/* (base + (index << shift) + add), which is then a pointer n_derefs times. */
struct ebrec_fetch {
	__s64 add;
	__s64 deref[EBREC_PROBE_DEREFS]; /* added to what a pointer points to, but the last's */
	__u16 base, index;		 /* where in struct pt_regs, or EBREC_NO_REGISTER */
	__u8 shift;
	__u8 n_derefs;
	__u8 size; /* of a number: 1, 2, 4 or 8 */
	__u8 is_signed;
	__u8 what;  /* EBREC_FETCH_ */
	__u8 later; /* when the function returns */
	__u16 len;  /* of EBREC_FETCH_BYTES */
	__u32 unused;
};

/* Map `probe_sites`, by the cookie of the link. */
struct ebrec_probe_site {
	__u32 probe; /* its number; 0: there is no such place */
	__u32 n;
	__u32 n_later; /* of these, at the end */
	__u32 unused;
	struct ebrec_fetch fetch[EBREC_PROBE_FETCHES];
};

#endif
