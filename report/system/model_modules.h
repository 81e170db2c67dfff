/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many stacks and frames each mapped file of a trace served, and which frames got no name. */
#ifndef REPORT_SYSTEM_MODEL_MODULES_H
#define REPORT_SYSTEM_MODEL_MODULES_H

#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

struct module_stat {
	uint64_t samples;		/* stacks that it is in */
	uint64_t frames[SYM_N_REASONS]; /* SYM_OK: those with a name */
};

struct module_model;

struct ebt_error *module_model_create(struct trace *trace, struct sym *sym,
				      struct module_model **ret);
void module_model_destroy(struct module_model *model);
DEFINE_CLEANUP(struct module_model *, module_model_destroy);

/* By number of the mapped file (sym_n_objects()). */
const struct module_stat *module_model_stat(const struct module_model *model, uint32_t object);

#endif
