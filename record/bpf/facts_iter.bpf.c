/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key of a task as it is now, for who has read of it in /proc: was that still true? */
#include "record/bpf/facts.bpf.h"

SEC("iter/task")
int ebrec_facts_iter(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ebrec_facts_key key;

	if (!task)
		return 0;
	facts_fill_key(&key, task);
	bpf_seq_write(ctx->meta->seq, &key, sizeof(key));
	return 0;
}
