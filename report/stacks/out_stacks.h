/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of a call tree: for people, for one cell of a table, and a line each for other tools. */
#ifndef REPORT_STACKS_OUT_STACKS_H
#define REPORT_STACKS_OUT_STACKS_H

#include "report/base/text.h"
#include "report/out/out.h"
#include "report/stacks/model_calltree.h"

/* On a terminal: the frames of a node, innermost first, a line each and indented, and an empty
 * line; below a headline of the command's. The last frame is the process. */
void out_stack_frames(struct out *out, const struct calltree *tree, uint32_t node);

/* The same names on one line, between semicolons. */
void stack_joined(struct text *text, const struct calltree *tree, uint32_t node);

/* A name on a line of folded stacks, whose semicolons stand between names. */
void stack_folded_name(struct text *text, const char *name);
/* Calls `put` with each node below `top`, depth first, and with the line of the names from there.
 */
struct ebt_error *stack_folded(const struct calltree *tree, uint32_t top,
			       void (*put)(void *arg, uint32_t node, struct ebt_str line),
			       void *arg);

#endif
