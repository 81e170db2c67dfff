/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Page faults, counted by process, thread, mapping or stack. */
#ifndef REPORT_MEMORY_MODEL_FAULTS_H
#define REPORT_MEMORY_MODEL_FAULTS_H

#include <stdint.h>

#include "report/stacks/model_calltree.h"
#include "report/trace/inode_paths.h"
#include "report/trace/task_groups.h"
#include "report/trace/trace.h"

enum faults_by { FAULTS_BY_PROCESS, FAULTS_BY_THREAD, FAULTS_BY_MAPPING, FAULTS_BY_STACK };

struct fault_sum {
	uint64_t minor, major;	       /* as the kernel counts them */
	uint64_t silent;	       /* of these, what was no fault of the program's own */
	uint64_t writes, kernel;       /* faults that tried to write; in kernel mode */
	uint64_t ns, major_ns, max_ns; /* from exception to the end; of major ones; the longest */
	uint64_t max_at;	       /* when that ended */
};

/* What mappings are told apart by. */
struct fault_mapping {
	uint32_t kind; /* as in table `fault`; or FAULT_SILENT */
	struct inode_key file;
};
#define FAULT_SILENT UINT32_MAX /* counted by the kernel where there was no fault */

struct fault_group {
	struct fault_sum sum;
	struct fault_mapping mapping; /* FAULTS_BY_MAPPING */
	uint32_t node;		      /* FAULTS_BY_STACK: in the tree */
};

struct fault_model;

/* tree: for FAULTS_BY_STACK, which is finished then; NULL for others. */
struct ebt_error *fault_model_create(struct trace *trace, enum faults_by by, struct calltree *tree,
				     struct fault_model **ret);
void fault_model_destroy(struct fault_model *model);
DEFINE_CLEANUP(struct fault_model *, fault_model_destroy);

/* In order of first appearance; of processes and threads as in fault_model_tasks(). */
const struct fault_group *fault_model_groups(const struct fault_model *model, size_t *ret_n);
const struct task_groups *fault_model_tasks(const struct fault_model *model);
const struct fault_sum *fault_model_all(const struct fault_model *model);

#endif
