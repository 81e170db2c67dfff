/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `sample`: a hardware counter of cycles where there is one, else the kernel's clock. The
 * clock has a fixed period, so that each sample stands for the same time.
 */
#include <linux/perf_event.h>
#include <stdio.h>

#include "record/config/skeleton.h"
#include "record/config/source.h"

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
	bpf_program__set_autoload(context->kernel->cycles ? skel->progs.ebrec_sample_cycles
							  : skel->progs.ebrec_sample_clock,
				  true);
}

static struct ebt_error *attach(struct source_context *context, struct source_state *state)
{
	const struct ebrec_bpf *skel = context->skel;
	const uint64_t frequency = context->options->frequency;
	const struct perf_event_attr cycles = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.freq = 1,
		.sample_freq = frequency,
	};
	const struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / frequency,
		.exclude_idle = 1,
	};
	const bool by_cycles = context->kernel->cycles;
	const struct source_cpu_event event = {
		.program = by_cycles ? skel->progs.ebrec_sample_cycles
				     : skel->progs.ebrec_sample_clock,
		.attr = by_cycles ? cycles : clock,
		.not_open = "cannot sample",
		.not_attach = "cannot attach to samples of",
		.source = "sample",
		.table = EBT_T_sample,
	};

	(void)state;
	return source_attach_cpus(context, &event);
}

const struct ebrec_source source_sample = {
	.name = "sample",
	.doc = "what CPUs do, -F times a second: kernel and user stacks",
	.elsewhere = "cpu profile stacks perf",
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
