/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that a user asked for, which arguments each of them reads, and the arguments of a hit as
 * text: `name="HOME" n=3`. Of a row whose bytes end early, the arguments before that count.
 */
#ifndef REPORT_TRACE_PROBE_ARGS_H
#define REPORT_TRACE_PROBE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/base/text.h"
#include "report/trace/trace.h"

struct probe_arg {
	uint32_t index, kind, size, elements, position;
	const char *name, *type; /* may be empty */
};

struct probe {
	uint32_t number, kind;
	uint64_t offset;
	const char *group, *name, *path;
	struct ebt_str build_id; /* bytes */
	struct probe_arg *args;	 /* in order of index */
	size_t n_args, capacity;
	struct probe_arg result; /* kind and size of what a function returns */
	bool no_result;		 /* it returns nothing, or not in this register */
};

struct probe_args;

struct ebt_error *probe_args_create(struct trace *trace, struct probe_args **ret);
/* Accepts NULL. */
void probe_args_destroy(struct probe_args *probes);
DEFINE_CLEANUP(struct probe_args *, probe_args_destroy);

/* NULL: the trace does not say what this number is. */
const struct probe *probe_args_find(const struct probe_args *probes, uint32_t number);
/* In order of appearance: who knows names of arguments puts them in. */
struct probe *probe_args_all(struct probe_args *probes, size_t *ret_n);
/* Appends what is read of each argument, with spaces between. */
void probe_args_text(const struct probe *probe, struct ebt_str args, struct text *text);
/* Appends `-> value`: as the function's type says, or a number as programs mean it, else
 * hexadecimal. Nothing where there is none. */
void probe_result_text(const struct probe *probe, uint64_t result, struct text *text);

/* Names and types of arguments of probed functions, of which the recorder knew registers only, from
 * debug information that this machine has. Registers that hold no argument of their function are
 * left out from then on. */
struct ebt_error *probe_names_find(struct trace *trace, struct probe_args *probes);

#endif
