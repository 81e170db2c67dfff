/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `irq`. */
#include "record/config/source.h"

const struct ebrec_source source_irq = {
	.name = "irq",
	.doc = "interrupts, soft interrupts, timers and work items: how long, on which CPU",
	.elsewhere = "interrupts softirq",
	.cost = "about 0.3 us for each interrupt, timer and work item",
	.tables = (const uint16_t[]){ EBT_T_irq, EBT_T_irq_name, EBT_T_timer, EBT_T_work, 0 },
	.needs = (const char *const[]){ "irq_handler_entry", "irq_handler_exit", "softirq_entry",
					"softirq_exit", NULL },
	.wants =
		(const struct source_want[]){
			{ "local_timer_entry", "interrupts of CPUs' own timers, and between CPUs" },
			{ "timer_expire_entry", "timers" },
			{ "hrtimer_expire_entry", "high-resolution timers" },
			{ "workqueue_execute_start", "work items" },
			{ NULL } },
	/* From local_timer on they are of x86; which there are is the kernel's configuration. */
	.programs =
		(const char *const[]){ "ebrec_irq_", "ebrec_softirq_", "ebrec_timer_expire_",
				       "ebrec_hrtimer_expire_", "ebrec_work_", "ebrec_local_timer_",
				       "ebrec_reschedule_", "ebrec_call_function_",
				       "ebrec_x86_platform_ipi_", "ebrec_thermal_apic_",
				       "ebrec_threshold_apic_", "ebrec_deferred_error_apic_",
				       "ebrec_error_apic_", "ebrec_spurious_apic_", NULL },
	.maps = (const char *const[]){ "irq_", "work_", NULL },
};
