/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes of ebmark.h: what the cookie says that a program of source `mark` runs at. */
#ifndef RECORD_BPF_MARK_H
#define RECORD_BPF_MARK_H

#include <linux/types.h>

#include "format/schema/wire.h"

/* The first four as mark.kind. */
enum {
	EBREC_MARK_INSTANT = EBT_V_mark_kind_instant,
	EBREC_MARK_SPAN = EBT_V_mark_kind_span,
	EBREC_MARK_BEGIN = EBT_V_mark_kind_begin,
	EBREC_MARK_END = EBT_V_mark_kind_end,
	EBREC_MARK_COUNTER,
	EBREC_MARK_COUNTER_DOUBLE,
	EBREC_MARK_LOG,
	EBREC_MARK_KINDS
};

/* What is recorded of texts, in bytes. */
#define EBREC_MARK_GROUP   63
#define EBREC_MARK_NAME	   127
#define EBREC_MARK_MESSAGE 1023

#endif
