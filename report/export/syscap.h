/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Sysprof's captures, *.syscap, one by one to a file: sysprof-capture-types.h of
 * libsysprof-capture 4. Its own writer needs a file that it can seek in, puts the times of today
 * into it, and fails with names of more than 16 KiB; Debian 12 has it with all that GTK needs.
 *
 * Times are CLOCK_MONOTONIC ns; a cpu or pid of -1 is none. Texts become valid UTF-8 without NUL;
 * those with a bound are cut. Failures of the file are for its owner.
 */
#ifndef REPORT_EXPORT_SYSCAP_H
#define REPORT_EXPORT_SYSCAP_H

#include <stdbool.h>
#include <stdio.h>

#include "report/base/text.h"

#define SYSCAP_MOST_ADDRESSES 8000  /* of a stack */
#define SYSCAP_MOST_TEXT      60000 /* bytes: a frame has fewer than 65,536 */
/* Bytes of texts with a place of their own, with the NUL behind them. */
#define SYSCAP_GROUP	   24
#define SYSCAP_MARK	   40
#define SYSCAP_CATEGORY	   32
#define SYSCAP_DESCRIPTION 52
/* Addresses from here on are of functions that syscap_put_function() has named. */
#define SYSCAP_FUNCTIONS UINT64_C(0xe000000000000000)

struct syscap {
	FILE *f;
	struct text text; /* of the frame at hand */
	uint64_t cut;	  /* texts that were; not groups and names of marks */
};

struct syscap_when {
	uint64_t time;
	int32_t cpu, pid;
};

/* All zero but f. */
void syscap_deinit(struct syscap *s);

/* Before all else. realtime: when it was recorded, ns since 1970. */
void syscap_put_head(struct syscap *s, uint64_t realtime, uint64_t from, uint64_t to);

/* addresses: the innermost first; SYSCAP_MOST_ADDRESSES at the most. */
void syscap_put_sample(struct syscap *s, struct syscap_when when, uint32_t tid,
		       const uint64_t *addresses, size_t n);
void syscap_put_process(struct syscap *s, struct syscap_when when, struct ebt_str cmdline);
void syscap_put_exit(struct syscap *s, struct syscap_when when);
/* Before the samples that have the address. */
void syscap_put_function(struct syscap *s, uint64_t address, struct ebt_str name);
void syscap_put_mark(struct syscap *s, struct syscap_when when, uint64_t duration,
		     struct ebt_str group, struct ebt_str name, struct ebt_str message);
/* severity: a GLogLevelFlags. */
void syscap_put_log(struct syscap *s, struct syscap_when when, uint16_t severity,
		    struct ebt_str domain, struct ebt_str message);
/* id: 1 to 2^24 - 1. A description that has a long name in it makes up for that. */
void syscap_put_counter(struct syscap *s, struct syscap_when when, uint32_t id,
			struct ebt_str category, struct ebt_str name, struct ebt_str description);
void syscap_put_value(struct syscap *s, struct syscap_when when, uint32_t id, double value);

/* The first failure of memory. */
struct ebt_error *syscap_error(const struct syscap *s);

#endif
