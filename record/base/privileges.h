/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this process may do. Recording needs CAP_BPF and CAP_PERFMON. Four more make it whole:
 * CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH to look at processes of other users, and with these
 * CAP_CHECKPOINT_RESTORE to open what they map (/proc/PID/map_files, fs/proc/base.c);
 * CAP_SYSLOG to see addresses in /proc/kallsyms (kernel/ksyms_common.c).
 */
#ifndef RECORD_BASE_PRIVILEGES_H
#define RECORD_BASE_PRIVILEGES_H

#include <stdint.h>

#include "format/base/error.h"

/* Enough for all that privileges_say() may say. */
#define PRIVILEGES_TEXT 256

struct privileges {
	uint64_t missing; /* 1 << CAP_NAME of each of the four that something is lost without */
};

/* EBT_ERR_UNSUPPORTED: there is no recording without. */
struct ebt_error *privileges_probe(struct privileges *ret);

/* "without CAP_NAME …": what is missing and what that costs; empty: nothing is. */
void privileges_say(const struct privileges *privileges, char text[static PRIVILEGES_TEXT]);

#endif
