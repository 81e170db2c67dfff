/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views of `ebreport marks` besides its tables: marks over time as lines of text, as a picture, and
 * what happened around some of them. Their options, and which of them is asked for.
 */
#ifndef REPORT_MARKS_CHOICE_H
#define REPORT_MARKS_CHOICE_H

#include "report/marks/views.h"

/* Rows for the command's table of options. */
#define MARKS_VIEW_OPTIONS                                                                         \
	{ "waterfall", OPTION_FLAG, NULL, "over time: a line each, nested, with a bar", NULL },    \
		{ "chart", OPTION_FLAG, NULL,                                                      \
		  "a picture (SVG, with -o FILE): a lane per group and name", NULL },              \
		{ "around", OPTION_STRING, "NAME",                                                 \
		  "what ran, waited and was called during these (a glob: NAME or GROUP/NAME)",     \
		  NULL },                                                                          \
		{ "around-scope", OPTION_CHOICE, "WHOSE",                                          \
		  "with --around, of: the thread of a mark (default), its process, or the system", \
		  marks_scopes },                                                                  \
		{ "slowest", OPTION_U64, "N", "with --around: a row for each of the N longest",    \
		  NULL },                                                                          \
		{ "flame", OPTION_FLAG, NULL,                                                      \
		  "with --around: a flame graph (SVG): on CPU red, off CPU blue", NULL },          \
	{                                                                                          \
		"folded", OPTION_FLAG, NULL,                                                       \
			"with --around: folded stacks, ending in _[c] or _[o]", NULL               \
	}

/* Paragraphs and examples for the command's help. */
#define MARKS_VIEW_HELP                                                                           \
	"--waterfall is a line for each, below what it is in, with a bar over time; --top N: "    \
	"the\n"                                                                                   \
	"N longest. --chart draws them, a lane for each group and name; where many are too "      \
	"short\n"                                                                                 \
	"for the picture they share a box.\n"                                                     \
	"\n"                                                                                      \
	"--around NAME shows what happened during these spans: where the time of their threads\n" \
	"went (the states add up to it; what overlaps counts once), system calls, page faults,\n" \
	"disk requests, and functions. A call counts with the part of it that is in a span, a\n"  \
	"request likewise. --slowest N: why each of the N longest took so long. --around-scope\n" \
	"process: all threads of the process meanwhile, which is the default where marks came "   \
	"by\n"                                                                                    \
	"Sysprof's protocol, as that does not name threads. Calls, faults\n"                      \
	"and requests have to be recorded: -e sample,sched,offcpu,mark,syscalls,fault,block.\n"   \
	"\n"
#define MARKS_VIEW_EXAMPLES                                                    \
	"  ebreport marks --waterfall --group gtk --from 2s --to 2.1s t.ebt\n" \
	"  ebreport marks --chart -o marks.svg t.ebt\n"                        \
	"  ebreport marks --around frame --min-duration 16ms t.ebt\n"          \
	"  ebreport marks --around 'gtk/frame*' --slowest 10 t.ebt\n"          \
	"  ebreport marks --around load --flame -o load.svg t.ebt\n"

extern const char *const marks_scopes[];

/* *view: the one that is shown else; stays where none of these is asked for. query: which marks the
 * other options choose; --around says so, too. */
struct ebt_error *marks_choose_view(struct report *report, struct marks_options *query,
				    marks_view_fn **view);

/* The time that there is to show: from the first mark's start to the last one's end, as far as they
 * are in the window. *ret_from < *ret_to. */
void marks_extent(const struct trace *trace, const struct marks *marks, uint64_t *ret_from,
		  uint64_t *ret_to);

#endif
