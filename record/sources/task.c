/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `task`. Always on: following and naming tasks depend on it. */
#include <unistd.h>

#include "record/config/skeleton.h"
#include "record/config/source.h"

static void probe(const struct kernel *kernel, struct source_state *state)
{
	source_require(kernel, "sched_process_fork", state);
	source_require(kernel, "sched_process_exec", state);
	source_require(kernel, "sched_process_exit", state);
	source_want(kernel, "task_rename", "changes of name", state);
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;

	skel->rodata->config.page_size = (__u32)sysconf(_SC_PAGESIZE);
	source_use_map(skel->maps.exec_scratch);
	bpf_program__set_autoload(skel->progs.ebrec_fork, true);
	bpf_program__set_autoload(skel->progs.ebrec_exec, true);
	bpf_program__set_autoload(skel->progs.ebrec_exit, true);
	bpf_program__set_autoload(skel->progs.ebrec_rename,
				  kernel_has_tracepoint(context->kernel, "task_rename"));
	if (context->options->target == TARGET_CGROUP)
		bpf_program__set_autoload(skel->progs.ebrec_cgroup_attach,
					  kernel_has_tracepoint(context->kernel,
								"cgroup_attach_task"));
}

const struct ebrec_source source_task = {
	.name = "task",
	.doc = "processes and threads: start, programs, names, end and what they used",
	.cost = "a few microseconds for each fork, exec and exit; always on",
	.by_default = true,
	.tables = (const uint16_t[]){ EBT_T_task_fork, EBT_T_task_exec, EBT_T_task_exit,
				      EBT_T_task_rename, EBT_T_interp_code, 0 },
	.probe = probe,
	.configure = configure,
};
