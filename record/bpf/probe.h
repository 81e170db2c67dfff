/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of what probes read (sources uprobe, usdt, tp), for both sides. */
#ifndef RECORD_BPF_PROBE_H
#define RECORD_BPF_PROBE_H

#include <linux/types.h>

/* Probes of a recording: what somebody wrote, or what a pattern stood for. */
#define EBREC_MAX_PROBES 256

/* Arguments of a probe. The kernel's tracepoints have up to about 30 fields. */
#define EBREC_PROBE_ARGS 32

/* Bytes of all arguments of a hit, as they are in probe_hit.args: more than a row itself has, less
 * than its stack. Numbers always fit. */
#define EBREC_PROBE_BYTES 512

/* Of a string or an array, without its length in front. Longer strings end with "…". */
#define EBREC_PROBE_STRING 256

/* The length of what could not be read. */
#define EBREC_PROBE_UNREADABLE 65535

#endif
