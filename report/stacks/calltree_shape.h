/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call tree with other stacks: only some of them, without some frames, or from the inside out. */
#ifndef REPORT_STACKS_CALLTREE_SHAPE_H
#define REPORT_STACKS_CALLTREE_SHAPE_H

#include <stdbool.h>

#include "report/stacks/model_calltree.h"

struct calltree_shape {
	/* POSIX extended regular expressions on names of functions; NULL: all, none. */
	const char *focus;  /* stacks with such a function only */
	const char *ignore; /* stacks without such a function only */
	const bool *keep;   /* by node: stacks that end there; NULL: all */
	bool no_recorder;   /* without stacks of what the recorder did */
	bool no_libraries; /* without frames of the kernel, of libraries, and of files below /usr */
	bool bottom_up;	   /* below the first frame, the innermost function is outermost */
	bool fold;	   /* frames, and cycles of frames, that repeat themselves stand once */
	bool by_weight;	   /* children in order of weight instead of name */
};

/* Is there anything to do? */
bool calltree_is_shaped(const struct calltree_shape *shape);

/* (*ret)[node]: stacks that end at this node are wanted; free(). NULL: all stacks are. */
struct ebt_error *calltree_select(const struct calltree *tree, const struct calltree_shape *shape,
				  bool **ret);

/* Makes a finished tree from a finished tree, which owns the names and must outlive the new one. A
 * stack that keeps no frame counts for the frame that it begins with. */
struct ebt_error *calltree_reshape(const struct calltree *tree, const struct calltree_shape *shape,
				   struct calltree **ret);

#endif
