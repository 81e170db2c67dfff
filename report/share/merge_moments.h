/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a merged recording began and ended: each input has to tell of itself. */
#ifndef REPORT_SHARE_MERGE_MOMENTS_H
#define REPORT_SHARE_MERGE_MOMENTS_H

#include "format/read/reader.h"
#include "format/write/writer.h"

/* Adds the rows `begin` and `end` of table `clock` that the input does not have (its recorder was
 * killed, or knew of none): of its first and its last row. So the moments of other inputs cut
 * nothing off. */
struct ebt_error *merge_moments_append(struct ebt_reader *input, struct ebt_stream *stream);

#endif
