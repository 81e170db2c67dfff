/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where descriptors that were left open had been made: by table `syscall_stack`. */
#ifndef REPORT_IO_LEFT_STACKS_H
#define REPORT_IO_LEFT_STACKS_H

#include "report/group/group.h"

/* A descriptor, and when the call returned that made it. */
struct left_fd {
	const struct ebt_task *task; /* a thread of the process */
	uint64_t since;		     /* ns */
	uint32_t node;		     /* of the grouping's tree; 0: not known where */
};

struct left_fds {
	struct left_fd *list;
	size_t n, capacity;
};

void left_fds_deinit(struct left_fds *fds);
struct ebt_error *left_fds_add(struct left_fds *fds, const struct ebt_task *task, uint64_t since);

/* Reads the trace once more, and adds each of them, which is add()'s arg, to the groups by stack.
 */
struct ebt_error *left_stacks_read(struct trace *trace, struct left_fds *fds, struct grouping *g,
				   group_add_fn *add);

#endif
