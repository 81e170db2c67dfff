/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One path of a call tree, for people and for one cell of a table. */
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

#endif
