/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `task`. Always on: following and naming tasks depend on it. */
#include <unistd.h>

#include "record/config/skeleton.h"
#include "record/config/source.h"

static void configure(struct source_context *context)
{
	context->skel->rodata->config.page_size = (__u32)sysconf(_SC_PAGESIZE);
	if (context->options->target == TARGET_CGROUP)
		source_load(context, "ebrec_cgroup_attach");
}

const struct ebrec_source source_task = {
	.name = "task",
	.doc = "processes and threads: start, programs, names, end and what they used",
	.elsewhere = "procs processes threads exec fork",
	.cost = "a few microseconds for each fork, exec and exit; always on",
	.by_default = true,
	.tables = (const uint16_t[]){ EBT_T_task_fork, EBT_T_task_exec, EBT_T_task_exit,
				      EBT_T_task_rename, EBT_T_interp_code, 0 },
	.needs = (const char *const[]){ "sched_process_fork", "sched_process_exec",
					"sched_process_exit", NULL },
	.wants = (const struct source_want[]){ { "task_rename", "changes of name" }, { NULL } },
	.programs = (const char *const[]){ "ebrec_fork", "ebrec_exec", "ebrec_exit", "ebrec_rename",
					   "ebrec_task_iter", "ebrec_thread_stack", NULL },
	.maps = (const char *const[]){ "exec_scratch", "known_programs", NULL },
	.configure = configure,
};
