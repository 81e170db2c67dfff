/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `syscalls`. */
#include "record/base/ring.h"
#include "record/config/skeleton.h"
#include "record/config/source.h"

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;

	skel->rodata->config.syscalls = 1;
	bpf_map__set_max_entries(skel->maps.syscall_start, context->kernel->pid_max);
	skel->rodata->config.spsc_records = context->spsc_records;
	bpf_map__set_max_entries(skel->maps.spsc_queues, context->n_spsc);
	bpf_map__set_value_size(skel->maps.spsc_queues, (__u32)spsc_bytes(context->spsc_records));
}

const struct ebrec_source source_syscalls = {
	.name = "syscalls",
	.doc = "system calls: number, arguments, result, duration",
	.elsewhere = "strace",
	.cost = "about 0.1 us for each call",
	.tables = (const uint16_t[]){ EBT_T_syscall, 0 },
	.needs = (const char *const[]){ "sys_enter", "sys_exit", NULL },
	.programs = (const char *const[]){ "ebrec_sys_", NULL },
	.maps = (const char *const[]){ "syscall_start", "spsc_queues", NULL },
	.configure = configure,
};
