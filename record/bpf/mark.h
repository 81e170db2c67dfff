/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes of ebmark.h: what the cookie says that a program of source `mark` runs at. */
#ifndef RECORD_BPF_MARK_H
#define RECORD_BPF_MARK_H

#include <linux/types.h>

/* The first four as mark.kind. */
enum {
	EBREC_MARK_INSTANT,
	EBREC_MARK_SPAN,
	EBREC_MARK_BEGIN,
	EBREC_MARK_END,
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
