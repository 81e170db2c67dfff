/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `sample`: what a CPU does when its sampling timer or counter fires, maybe in an NMI. */
#include "record/bpf/stack.bpf.h"
#include "record/bpf/unwind.bpf.h"

#include <linux/bpf_perf_event.h>

struct sample_record {
	struct ebt_wire_sample row;
	struct ebrec_stacks_dump behind;
};

/* One for each CPU is enough: the kernel does not run a perf event's program inside another. */
EBREC_CPU_ARRAY(sample_scratch, 1, struct sample_record);

static __always_inline int sample(struct bpf_perf_event_data *ctx, __u32 event)
{
	const struct task_struct *task;
	struct sample_record *record;
	struct ebrec_stacks *stacks;
	struct ebrec_lengths user = {};
	__u32 klen = 0, len, cpu;

	if (!gate)
		return 0;
	task = bpf_get_current_task_btf();
	if (!task->pid || !ebrec_task_followed(task))
		return 0;
	record = ebrec_entry(&sample_scratch);
	if (!record)
		return 0;
	stacks = &record->behind.stacks;
	cpu = bpf_get_smp_processor_id();
	record->row.cpu = cpu;
	record->row.task = task->pid;
	record->row.event = event;
	record->row.user = (ctx->regs.cs & 3) == 3;
	record->row.period = ctx->sample_period;
	if (config.sample_stacks && !record->row.user)
		klen = ebrec_kernel_stack(ctx, stacks, 0);
	if (config.sample_stacks && ebrec_has_user_stack(task)) {
		struct ebt_wire_stack *second = ebrec_second_stack(stacks, klen);

		if (config.unwind)
			user = unwind_user((void *)task, EBREC_SLOT_SAMPLE(&config, cpu), second,
					   true, 0);
		else
			user.stack = ebrec_user_stack(ctx, second);
	}
	ebrec_refer(&record->row.kstack, &record->row.ustack, sizeof(record->row), klen,
		    user.stack);
	len = sizeof(record->row) + klen + user.stack;
	ebrec_refer_dump(&record->row.udump, len, user.dump);
	len += user.dump;
	if (len > sizeof(*record)) /* for the verifier */
		return 0;
	ebrec_output(EBREC_SLOT_SAMPLE(&config, cpu), EBT_T_sample, &record->row.head, len,
		     bpf_ktime_get_ns());
	return 0;
}

SEC("perf_event")
int ebrec_sample_clock(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, EBT_V_sample_event_cpu_clock);
}

SEC("perf_event")
int ebrec_sample_cycles(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, EBT_V_sample_event_cycles);
}
