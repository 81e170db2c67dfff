/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `lock`: waits on futexes, and for locks of the kernel where it has tracepoints for them.
 */
#include <string.h>

#include "record/config/skeleton.h"
#include "record/sources/sources.h"
#include "record/unwind/source_stacks.h"

static struct ebt_error *check_args(const char *args)
{
	if (!strcmp(args, "wakes"))
		return NULL;
	return ebt_error_create(EBT_ERR_INVALID, "'%s' is not known", args);
}

static void probe(const struct kernel *kernel, struct source_state *state)
{
	source_require(kernel, "sys_enter", state);
	source_require(kernel, "sys_exit", state);
	source_want(kernel, "contention_begin", "locks of the kernel (since Linux 5.19)", state);
	source_want(kernel, "sched_waking", "threads that end waits on futexes", state);
	source_note_stacks(kernel, state);
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;
	const struct kernel *kernel = context->kernel;

	source_use_event_stacks(context);
	source_use_map(skel->maps.lock_states);
	bpf_program__set_autoload(skel->progs.ebrec_futex_enter, true);
	bpf_program__set_autoload(skel->progs.ebrec_futex_exit, true);
	bpf_program__set_autoload(skel->progs.ebrec_futex_waking,
				  kernel_has_tracepoint(kernel, "sched_waking"));
	skel->rodata->config.lock_wakes = source_args(context, &source_lock) != NULL;
	if (!kernel_has_tracepoint(kernel, "contention_begin"))
		return;
	skel->rodata->config.lock_rings = 1;
	source_use_map(skel->maps.ring_busy);
	source_use_map(skel->maps.lock_spins);
	bpf_program__set_autoload(skel->progs.ebrec_contention_begin, true);
	bpf_program__set_autoload(skel->progs.ebrec_contention_end, true);
}

const struct ebrec_source source_lock = {
	.name = "lock",
	.doc = "waits for locks: on futexes, with stacks, owners and wakers; in the kernel",
	.cost = "about 0.1 us for each system call, 1 to 4 us for each wait",
	.args_doc = "wakes",
	.tables = (const uint16_t[]){ EBT_T_futex_wait, EBT_T_futex_wake, EBT_T_lock_wait, 0 },
	.check_args = check_args,
	.probe = probe,
	.configure = configure,
};
