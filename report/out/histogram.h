/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A distribution as a table: powers of two, how many values lie between them, a bar. */
#ifndef REPORT_OUT_HISTOGRAM_H
#define REPORT_OUT_HISTOGRAM_H

#include "report/base/histogram.h"
#include "report/out/out.h"

/* A table of its own, in every format but CSV. unit: OUT_DURATION (members least_ns, below_ns), or
 * OUT_BYTES, OUT_U64 … (from, to). */
struct ebt_error *out_histogram(struct out *out, const char *key, const char *title,
				const struct histogram *histogram, enum out_type unit);

/* Null where it is empty. */
struct out_value out_average(const struct histogram *histogram);
struct out_value out_percentile(const struct histogram *histogram, double percent);
struct out_value out_maximum(const struct histogram *histogram);

#endif
