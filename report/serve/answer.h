/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of a trace, and the answer. */
#ifndef REPORT_SERVE_ANSWER_H
#define REPORT_SERVE_ANSWER_H

#include <stdio.h>

#include "report/cli/command.h"

enum serve_what {
	SERVE_FACTS,	/* for a list of traces: JSON */
	SERVE_OVERVIEW, /* how many rows there are, and when, as the index says: JSON */
	SERVE_DATA,	/* the page of a part of the time: page_write_data() */
};

#define SERVE_MOST_PIDS 16
/* The uuid of a trace in hexadecimal digits, by which a file is known again. */
#define SERVE_VERSION_LEN 32

struct serve_question {
	enum serve_what what;
	const char *file;
	/* Of data: since the start of the trace. Filters of the command line count, too. */
	uint64_t from_ns, to_ns;
	uint32_t pids[SERVE_MOST_PIDS];
	size_t n_pids; /* 0: all */
	char version[SERVE_VERSION_LEN + 1];
	uint64_t most_rows; /* in its part of the time */
};

/* Opens the file and writes the answer. */
struct ebt_error *serve_answer(const struct options *options, const struct serve_question *question,
			       FILE *to);

#endif
