/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `fault`: the kernel's software events for minor and for major page faults, one of each on
 * every CPU, with every single fault a "sample".
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/clocks.h"
#include "record/base/topology.h"
#include "record/config/skeleton.h"
#include "record/config/source.h"
#include "record/unwind/unwinder.h"

static bool has_entries(const struct kernel *kernel)
{
	return kernel_has_tracepoint(kernel, "page_fault_user") &&
	       kernel_has_tracepoint(kernel, "page_fault_kernel");
}

static void probe(const struct kernel *kernel, struct source_state *state)
{
	bool entries = has_entries(kernel), mappings = kernel_has_function(kernel, "bpf_find_vma");

	if (!entries || !mappings) {
		state->status = EBT_V_source_status_partial;
		snprintf(state->detail, sizeof(state->detail), "%s%s%s",
			 entries ? ""
				 : "this kernel has no tracepoint page_fault_user: no access, no "
				   "duration",
			 entries || mappings ? "" : "; ",
			 mappings ? "" : "no mappings (before Linux 5.17)");
	}
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;
	struct ebrec_bpf_config *config = &skel->rodata->config;
	bool entries = has_entries(context->kernel);

	config->loaded_ns = clocks_now();
	config->fault_mappings = kernel_has_function(context->kernel, "bpf_find_vma");
	bpf_program__set_autoload(skel->progs.ebrec_fault_user, entries);
	bpf_program__set_autoload(skel->progs.ebrec_fault_kernel, entries);
	if (!context->options->call_graph)
		return;
	config->event_stacks = 1;
	source_use_chains(context);
	bpf_program__set_autoload(skel->progs.ebrec_fault_stacks, true);
}

static struct ebt_error *attach_event(struct source_context *context, uint64_t event, int cpu,
				      const struct bpf_program *program)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = event,
		.sample_period = 1,
	};
	_cleanup_close_ int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		return ebt_error_errno(errno, "cannot count the page faults of CPU %d", cpu);
	link = bpf_program__attach_perf_event(program, fd);
	if (!link)
		return ebt_error_errno(errno, "cannot attach to the page faults of CPU %d", cpu);
	take_fd(&fd);
	return source_keep_link(context, link);
}

static struct ebt_error *attach(struct source_context *context, struct source_state *state)
{
	const struct ebrec_bpf *skel = context->skel;
	_cleanup_free_ int *cpus = NULL;
	struct ebt_error *err;
	size_t n;

	(void)state;
	err = source_join(skel->maps.fault_programs, skel->progs.ebrec_fault_stacks);
	if (err)
		return err;
	err = cpus_online(&cpus, &n);
	if (err)
		return err;
	for (size_t i = 0; i < 2 * n; i++) {
		err = attach_event(context,
				   i % 2 ? PERF_COUNT_SW_PAGE_FAULTS_MAJ
					 : PERF_COUNT_SW_PAGE_FAULTS_MIN,
				   cpus[i / 2],
				   i % 2 ? skel->progs.ebrec_fault_major
					 : skel->progs.ebrec_fault_minor);
		if (err)
			return err;
	}
	return NULL;
}

const struct ebrec_source source_fault = {
	.name = "fault",
	.doc = "page faults, minor and major: address, mapping, kernel and user stack",
	.cost = "0.4 us for each page fault, 1 us with stacks",
	.tables = (const uint16_t[]){ EBT_T_fault, EBT_T_fault_rest, EBT_T_inode_path, 0 },
	.stacks = true,
	.programs = (const char *const[]){ "ebrec_fault_exit", "ebrec_fault_minor",
					   "ebrec_fault_major", NULL },
	.maps = (const char *const[]){ "event_scratch", "event_depth", "fault_", "inode_", NULL },
	.probe = probe,
	.configure = configure,
	.attach = attach,
};
