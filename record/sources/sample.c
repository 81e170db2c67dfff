/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `sample`: a hardware counter of cycles where there is one, else the kernel's clock. The
 * clock has a fixed period, so that each sample stands for the same time.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/topology.h"
#include "record/config/skeleton.h"
#include "record/config/source.h"
#include "record/unwind/python.h"

static void probe(const struct kernel *kernel, struct source_state *state)
{
	if (!kernel->cycles)
		snprintf(state->detail, sizeof(state->detail),
			 "no hardware counter of cycles here: sampling with cpu-clock");
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;

	skel->rodata->config.sample_stacks = context->options->call_graph;
	python_make_maps(skel);
	bpf_program__set_autoload(context->kernel->cycles ? skel->progs.ebrec_sample_cycles
							  : skel->progs.ebrec_sample_clock,
				  true);
}

static int open_event(const struct source_context *context, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / context->options->frequency,
		.exclude_idle = 1,
	};

	if (context->kernel->cycles) {
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_CPU_CYCLES;
		attr.freq = 1;
		attr.sample_freq = context->options->frequency;
		attr.exclude_idle = 0;
	}
	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct ebt_error *attach(struct source_context *context, struct source_state *state)
{
	struct bpf_program *program = context->kernel->cycles
					      ? context->skel->progs.ebrec_sample_cycles
					      : context->skel->progs.ebrec_sample_clock;
	_cleanup_free_ int *cpus = NULL;
	struct ebt_error *err;
	size_t n;

	(void)state;
	err = cpus_online(&cpus, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n && !err; i++) {
		_cleanup_close_ int fd = open_event(context, cpus[i]);
		struct bpf_link *link;

		if (fd < 0)
			return ebt_error_errno(errno, "cannot sample CPU %d", cpus[i]);
		link = bpf_program__attach_perf_event(program, fd);
		if (!link)
			return ebt_error_errno(errno, "cannot attach to samples of CPU %d",
					       cpus[i]);
		take_fd(&fd);
		err = source_keep_link(context, link);
	}
	return err;
}

const struct ebrec_source source_sample = {
	.name = "sample",
	.doc = "what CPUs do, -F times a second: kernel and user stacks",
	.cost = "a few microseconds for each sample",
	.by_default = true,
	.tables = (const uint16_t[]){ EBT_T_sample, 0 },
	.stacks = true,
	.maps = (const char *const[]){ "sample_", NULL },
	.probe = probe,
	.configure = configure,
	.attach = attach,
	.attach_last = true,
};
