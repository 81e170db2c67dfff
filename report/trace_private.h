/* SPDX-License-Identifier: GPL-2.0-or-later */
/* struct trace, for trace.c and warnings.c only. */
#ifndef REPORT_TRACE_PRIVATE_H
#define REPORT_TRACE_PRIVATE_H

#include "symbolize.h"
#include "trace.h"

struct trace {
	const struct options *options;
	struct ebt_reader *reader;
	struct sym *sym;
	struct names *names;
	bool no_inline, no_bundle;
	struct sym_servers servers;
	uint64_t from, to;

	uint64_t read[65536 / 64]; /* bit n: a cursor has named table n */
	char **notes;		   /* warnings of the command's own */
	size_t n_notes;
	char **warnings;
	size_t n_warnings;
};

#endif
