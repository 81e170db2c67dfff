/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables for another part of the program instead of a reader; see out_create_capture(). */
#include <errno.h>
#include <stdlib.h>

#include "report/out/private.h"

struct ebt_error *out_create_capture(const struct options *options, struct trace *trace,
				     const struct out_capture *capture, struct out **ret)
{
	_cleanup_(out_destroyp) struct out *out = calloc(1, sizeof(*out));

	if (!out)
		return &ebt_enomem;
	out->options = options;
	out->format = FORMAT_JSON;
	out->trace = trace;
	out->capture = capture;
	out->path = "/dev/null";
	out->f = out->own_file = fopen(out->path, "we");
	if (!out->f)
		return ebt_error_errno(errno, "cannot open %s", out->path);
	json_init(&out->json, out->f);
	*ret = take_ptr(out);
	return NULL;
}

bool out_is_captured(const struct out *out)
{
	return out->capture;
}

struct ebt_error *out_capture_write(struct out *out, const struct out_lines *lines)
{
	const struct out_captured table = {
		.table = out->table,
		.lines = out->lines,
		.order = lines ? lines->order : NULL,
		.n = lines ? lines->n : out->n_lines,
		.left_out = out->n_passed + out->n_lines - (lines ? lines->n : out->n_lines),
		.from_ns = out->interval_from,
		.to_ns = out->interval_to,
	};

	out->n_passed = 0;
	return out->capture->take(out->capture->arg, &table);
}
