/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why something took as long as it did, in sentences, for a terminal. */
#ifndef REPORT_WHY_WORDS_H
#define REPORT_WHY_WORDS_H

#include "report/base/names.h"
#include "report/base/text.h"
#include "report/out/out.h"
#include "report/why/model_why.h"

/* "cpu", "runqueue", "disk" …, "wait", "unknown"; what: as in struct why_cause. */
const char *why_kind_name(enum why_kind kind, uint8_t what);

/* "(before it was seen)" */
const char *why_gap_text(enum why_gap gap);

/* Whose time it is, how long, how many threads ran meanwhile, and who alone. */
struct ebt_error *why_say_whole(struct out *out, const struct why *why, const struct names *names);

/* What causes that are told together have in common. Names are of the trace. */
struct why_topic {
	uint8_t kind, what;	    /* as of struct why_cause */
	struct ebt_str comm, other; /* whose time, and of WHY_RUNQUEUE who had the CPU */
};

/* A sentence, "make waited for cc1 (4711), which ran", and its share of the path. */
struct why_line {
	struct text text;
	uint64_t ns;
	struct why_topic topic; /* no two sentences have the same */
};

/* The longest causes, those of processes of one name together. *n: how many lines there is room
 * for, and then how many there are, which why_lines_deinit() frees. */
struct ebt_error *why_lines(const struct why *why, const struct names *names, struct why_line *ret,
			    size_t *n);
void why_lines_deinit(struct why_line *lines, size_t n);

/* The number of the line that counts a cause; n: none does. */
size_t why_line_of(const struct why *why, const struct names *names, const struct why_line *lines,
		   size_t n, const struct why_cause *cause);

#endif
