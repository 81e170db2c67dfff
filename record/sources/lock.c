/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `lock`: waits on futexes, and for locks of the kernel where it has tracepoints for them.
 */
#include <string.h>

#include "record/config/skeleton.h"
#include "record/sources/sources.h"
#include "record/unwind/unwinder.h"

static struct ebt_error *check_args(const char *args)
{
	if (!strcmp(args, "wakes"))
		return NULL;
	return ebt_error_create(EBT_ERR_INVALID, "'%s' is not known", args);
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;

	source_use_event_stacks(context);
	skel->rodata->config.lock_wakes = source_args(context, &source_lock) != NULL;
	if (!kernel_has_tracepoint(context->kernel, "contention_begin"))
		return;
	skel->rodata->config.lock_rings = 1;
	source_use_map(skel->maps.ring_busy);
	source_use_map(skel->maps.lock_spins);
}

const struct ebrec_source source_lock = {
	.name = "lock",
	.doc = "waits for locks: on futexes, with stacks, owners and wakers; in the kernel",
	.elsewhere = "futex mutex",
	.cost = "about 0.1 us for each system call, 1 to 4 us for each wait",
	.args_doc = "wakes",
	.tables = (const uint16_t[]){ EBT_T_futex_wait, EBT_T_futex_wake, EBT_T_lock_wait, 0 },
	.check_args = check_args,
	.needs = (const char *const[]){ "sys_enter", "sys_exit", NULL },
	.wants =
		(const struct source_want[]){
			{ "contention_begin", "locks of the kernel (since Linux 5.19)" },
			{ "sched_waking", "threads that end waits on futexes" },
			{ NULL } },
	.stacks = true,
	.programs = (const char *const[]){ "ebrec_futex_", "ebrec_contention_", NULL },
	.maps = (const char *const[]){ "lock_states", NULL },
	.configure = configure,
};
