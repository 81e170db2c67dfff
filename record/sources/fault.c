/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `fault`: the kernel's software events for minor and for major page faults, one of each on
 * every CPU, with every single fault a "sample".
 */
#include <linux/perf_event.h>

#include "record/base/clocks.h"
#include "record/config/skeleton.h"
#include "record/config/source.h"
#include "record/unwind/unwinder.h"

static void probe(const struct kernel *kernel, struct source_state *state)
{
	if (kernel_has_function(kernel, "bpf_find_vma"))
		return;
	state->status = EBT_V_source_status_partial;
	source_add_detail(state, "no mappings (before Linux 5.17)");
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;
	struct ebrec_bpf_config *config = &skel->rodata->config;

	config->loaded_ns = clocks_now();
	config->fault_mappings = kernel_has_function(context->kernel, "bpf_find_vma");
	if (!context->options->call_graph)
		return;
	config->event_stacks = 1;
	source_use_chains(context);
	bpf_program__set_autoload(skel->progs.ebrec_fault_stacks, true);
}

static struct ebt_error *attach_events(struct source_context *context, uint64_t event,
				       const struct bpf_program *program)
{
	const struct source_cpu_event cpu_event = {
		.program = program,
		.attr = { .type = PERF_TYPE_SOFTWARE, .config = event, .sample_period = 1 },
		.not_open = "cannot count the page faults of",
		.not_attach = "cannot attach to the page faults of",
		.source = "fault",
		.table = EBT_T_fault,
	};

	return source_attach_cpus(context, &cpu_event);
}

static struct ebt_error *attach(struct source_context *context, struct source_state *state)
{
	const struct ebrec_bpf *skel = context->skel;

	(void)state;
	return source_join(skel->maps.fault_programs, skel->progs.ebrec_fault_stacks) ?:
	       attach_events(context, PERF_COUNT_SW_PAGE_FAULTS_MIN, skel->progs.ebrec_fault_minor) ?:
	       attach_events(context, PERF_COUNT_SW_PAGE_FAULTS_MAJ, skel->progs.ebrec_fault_major);
}

const struct ebrec_source source_fault = {
	.name = "fault",
	.doc = "page faults, minor and major: address, mapping, kernel and user stack",
	.elsewhere = "pagefaults",
	.cost = "0.7 us for each page fault, 1.4 us with stacks, 6 us with those of Python",
	.tables = (const uint16_t[]){ EBT_T_fault, EBT_T_fault_rest, EBT_T_inode_path, 0 },
	.stacks = true,
	.wants = (const struct source_want[]){ { "page_fault_user", "access, no duration" },
					       { "page_fault_kernel", "access, no duration" },
					       { NULL } },
	.programs =
		(const char *const[]){ "ebrec_fault_user", "ebrec_fault_kernel", "ebrec_fault_exit",
				       "ebrec_fault_minor", "ebrec_fault_major", NULL },
	.maps = (const char *const[]){ "event_scratch", "event_depth", "fault_", "inode_", NULL },
	.probe = probe,
	.configure = configure,
	.attach = attach,
};
