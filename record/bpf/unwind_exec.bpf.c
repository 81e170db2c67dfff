/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program begins with, placed before its first instruction, where the kernel lets a program
 * go through an address space. */
#include "record/bpf/unwind_space.bpf.h"

struct bpf_iter_task_vma {
	__u64 opaque[1];
} __attribute__((aligned(8)));

extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task,
				 __u64 addr) __ksym __weak;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __ksym __weak;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __ksym __weak;

/* Program, ld.so, vdso, and some room. */
#define EXEC_MAPPINGS 8u

/* False: of what is there, something is new. */
static __always_inline bool place(struct task_struct *task, struct ebrec_unwind_process *process)
{
	bool known = true;
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	__u32 next;

	if (!unwind_take_room(EXEC_MAPPINGS, &process->first, &process->ticket))
		return false;
	next = process->first;
	bpf_iter_task_vma_new(&it, task, 0);
	while ((vma = bpf_iter_task_vma_next(&it))) {
		struct ebrec_unwind_mapping *m;

		if (!(vma->vm_flags & VM_EXEC))
			continue;
		m = bpf_map_lookup_elem(&unwind_mappings, &next);
		if (!m || next - process->first >= EXEC_MAPPINGS)
			break;
		unwind_describe(vma, m);
		known &= m->table != UNWIND_TABLE_LATER;
		m->ticket = process->ticket;
		next++;
	}
	bpf_iter_task_vma_destroy(&it);
	process->n = next - process->first;
	return known;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(ebrec_unwind_exec, struct task_struct *task)
{
	struct ebrec_unwind_process process = {};
	__u32 tgid = task->tgid;
	bool known = false;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	process.mm = (__u64)BPF_CORE_READ(task, mm);
	process.time = bpf_ktime_get_ns();
	if (config.unwind_exec)
		known = place(task, &process);
	bpf_map_update_elem(&unwind_processes, &tgid, &process, BPF_ANY);
	/* Its tables have to be there before it ends. */
	if (!known)
		ebrec_ring_doorbell();
	return 0;
}
