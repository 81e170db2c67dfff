/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text in which tracefs describes the record of a trace event. */
#ifndef RECORD_PROBES_TP_FORMAT_H
#define RECORD_PROBES_TP_FORMAT_H

#include "format/base/error.h"
#include "record/probes/tp_event.h"

/* Adds the event's fields, without those that all events have. The text is changed. */
struct ebt_error *tp_format_parse(char *text, struct tp_event *event);

/* Does the event's own way to print it show this field in hexadecimal, or as names of bits? */
bool tp_format_prints_hex(const char *text, const char *field);

#endif
