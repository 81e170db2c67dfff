/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `irq`. */
#include <stdio.h>
#include <string.h>

#include "record/config/skeleton.h"
#include "record/config/source.h"

/* Tracepoints NAME_entry and NAME_exit, programs ebrec_NAME_entry and _exit. */
static const char *const spans[] = {
	"irq_handler",
	"softirq",
	"timer_expire",
	"hrtimer_expire",
	/* Of x86; which of them there are is the kernel's configuration. */
	"local_timer",
	"reschedule",
	"call_function",
	"call_function_single",
	"irq_work",
	"x86_platform_ipi",
	"thermal_apic",
	"threshold_apic",
	"deferred_error_apic",
	"error_apic",
	"spurious_apic",
};

static void probe(const struct kernel *kernel, struct source_state *state)
{
	source_require(kernel, "irq_handler_entry", state);
	source_require(kernel, "irq_handler_exit", state);
	source_require(kernel, "softirq_entry", state);
	source_require(kernel, "softirq_exit", state);
	source_want(kernel, "local_timer_entry", "interrupts of CPUs' own timers, and between CPUs",
		    state);
	source_want(kernel, "timer_expire_entry", "timers", state);
	source_want(kernel, "hrtimer_expire_entry", "high-resolution timers", state);
	source_want(kernel, "workqueue_execute_start", "work items", state);
}

/* The program of tracepoint NAME followed by `end`. */
static void load(const struct source_context *context, const char *name, const char *end)
{
	struct bpf_program *program;
	char program_name[64], *tracepoint = program_name + strlen("ebrec_");

	snprintf(program_name, sizeof(program_name), "ebrec_%s%s", name, end);
	program = bpf_object__find_program_by_name(context->skel->obj, program_name);
	if (program)
		bpf_program__set_autoload(program,
					  kernel_has_tracepoint(context->kernel, tracepoint));
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;
	bool work = kernel_has_tracepoint(context->kernel, "workqueue_execute_start");

	source_use_map(skel->maps.irq_cpus);
	source_use_map(skel->maps.irq_names);
	source_use_map(skel->maps.work_states);
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		load(context, spans[i], "_entry");
		load(context, spans[i], "_exit");
	}
	load(context, "softirq_raise", "");
	bpf_program__set_autoload(skel->progs.ebrec_work_start, work);
	bpf_program__set_autoload(skel->progs.ebrec_work_end, work);
}

const struct ebrec_source source_irq = {
	.name = "irq",
	.doc = "interrupts, soft interrupts, timers and work items: how long, on which CPU",
	.cost = "about 0.3 us for each interrupt, timer and work item",
	.tables = (const uint16_t[]){ EBT_T_irq, EBT_T_irq_name, EBT_T_timer, EBT_T_work, 0 },
	.probe = probe,
	.configure = configure,
};
