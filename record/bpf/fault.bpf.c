/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `fault`. The kernel's own counters of page faults (min_flt, maj_flt) are raised in one
 * place, where it also raises two software events of perf: these make the rows, so that rows are
 * what getrusage() counts. What was tried and when, only the tracepoints of the exception know;
 * they leave it behind for the event.
 */
#include "record/bpf/event_walk.bpf.h"
#include "record/bpf/inode_path.bpf.h"

#include <linux/bpf_perf_event.h>

/* What is mapped somewhere. */
struct fault_mapping {
	__u64 start, end, offset;
	struct ebrec_inode_id file;
	__u32 kind;
	__u32 changes; /* mapping_changes() when it was so */
};

/* Of a task. */
struct fault_state {
	__u64 address; /* of the exception that is being handled; 0: none */
	__u64 time;
	__u64 minor, major; /* the kernel's counts at the last row */
	__u32 access;
	__u32 counted; /* there was one */
	struct fault_mapping last;
};

EBREC_TASK_STORAGE(fault_states, struct fault_state);

/* [0]: ebrec_fault_stacks. Tail calls work between programs of one kind. */
EBREC_PROGRAMS(fault_programs);

/* --- the exception --- */

/* Bits of the x86 error code. */
#define FAULT_WRITE	  (1 << 1)
#define FAULT_INSTRUCTION (1 << 4)

static __always_inline int enter(__u64 address, __u64 code)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fault_state *state;
	__u32 access = EBT_V_fault_access_read;

	/* Where faults are disabled nothing is handled: somebody peeks, maybe in an interrupt. */
	if (!gate || !ebrec_task_followed(task) || task->pagefault_disabled)
		return 0;
	state = bpf_task_storage_get(&fault_states, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state)
		return 0;
	if (code & FAULT_WRITE)
		access = EBT_V_fault_access_write;
	else if (code & FAULT_INSTRUCTION)
		access = EBT_V_fault_access_execute;
	state->address = address;
	state->time = bpf_ktime_get_ns();
	state->access = access;
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(ebrec_fault_user, unsigned long address, const void *regs, unsigned long code)
{
	return enter(address, code);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(ebrec_fault_kernel, unsigned long address, const void *regs, unsigned long code)
{
	return enter(address, code);
}

/* --- the kernel's count --- */

struct fault_search {
	struct fault_mapping found;
	struct inode *inode;
	struct dentry *dentry;
};

static __always_inline __u32 mapping_kind(const struct vm_area_struct *vma)
{
	const struct mm_struct *mm = vma->vm_mm;

	if (BPF_CORE_READ(vma, vm_file))
		return EBT_V_fault_mapping_file;
	if (BPF_CORE_READ(vma, vm_ops)) /* what the kernel itself maps */
		return EBT_V_fault_mapping_special;
	if (vma->vm_start < mm->brk && vma->vm_end > mm->start_brk)
		return EBT_V_fault_mapping_heap;
	if (vma->vm_start <= mm->start_stack && vma->vm_end >= mm->start_stack)
		return EBT_V_fault_mapping_stack;
	return EBT_V_fault_mapping_anonymous;
}

static long take_vma(struct task_struct *task, struct vm_area_struct *vma,
		     struct fault_search *search)
{
	const struct file *file = BPF_CORE_READ(vma, vm_file);

	search->found.kind = mapping_kind(vma);
	search->found.start = vma->vm_start;
	search->found.end = vma->vm_end;
	if (!file)
		return 0;
	search->found.offset = vma->vm_pgoff << 12;
	search->inode = BPF_CORE_READ(file, f_inode);
	search->dentry = BPF_CORE_READ(file, f_path.dentry);
	return 0;
}

/* Not the same after a change of the address space; 0: nobody knows. */
static __always_inline __u32 mapping_changes(const struct task_struct *task)
{
	const struct mm_struct *mm = BPF_CORE_READ(task, mm);
	const struct mm_struct___old *old = (const void *)mm;

	if (bpf_core_field_exists(mm->mm_lock_seq.sequence))
		return BPF_CORE_READ(mm, mm_lock_seq.sequence);
	if (bpf_core_field_exists(old->mm_lock_seq))
		return BPF_CORE_READ(old, mm_lock_seq);
	return 0;
}

/*
 * The mapping of an address. The kernel may refuse, where somebody changes the address space at
 * that moment, and asking takes microseconds, as interrupts are off: so what was found last is
 * kept.
 */
static __always_inline void find_mapping(struct task_struct *task, __u64 address,
					 struct fault_mapping *last, struct fault_mapping *ret)
{
	struct fault_search search = {};
	__u32 changes = mapping_changes(task);

	if (last && changes && last->changes == changes && address >= last->start &&
	    address < last->end) {
		*ret = *last;
		return;
	}
	bpf_find_vma(task, address, take_vma, &search, 0);
	if (search.inode) {
		ebrec_inode_id(search.inode, &search.found.file);
		ebrec_name_inode(search.inode, search.dentry, &search.found.file, false);
	}
	search.found.changes = changes;
	*ret = search.found;
	if (last)
		*last = search.found;
}

static __always_inline void fill_mapping(struct ebt_wire_fault *row, struct task_struct *task,
					 struct fault_mapping *last)
{
	struct fault_mapping mapping = {};

	if (config.fault_mappings)
		find_mapping(task, row->address, last, &mapping);
	row->mapping = mapping.kind;
	row->map_start = mapping.start;
	row->map_end = mapping.end;
	row->map_offset = mapping.offset;
	row->inode = mapping.file.inode;
	row->dev_major = EBREC_DEV_MAJOR(mapping.file.dev);
	row->dev_minor = EBREC_DEV_MINOR(mapping.file.dev);
	row->generation = mapping.file.generation;
}

/*
 * Faults that the kernel counted since the last row, this one included, and that are its own: it
 * found or made the page itself, for mlock() or direct input and output. Before the first row of a
 * task that was there already, nobody knows which had rows.
 */
static __always_inline bool since_last(struct fault_state *state, const struct task_struct *task,
				       __u64 *ret_minor, __u64 *ret_major)
{
	bool known = state->counted || task->start_time > config.loaded_ns;

	*ret_minor = task->min_flt - state->minor;
	*ret_major = task->maj_flt - state->major;
	state->minor = task->min_flt;
	state->major = task->maj_flt;
	state->counted = 1;
	return known;
}

static __always_inline void fill_state(struct ebt_wire_fault *row, const struct task_struct *task,
				       struct fault_state *state, __u64 now)
{
	__u64 minor, major;

	row->access = EBT_V_fault_access_not_known;
	row->duration = row->silent_minor = row->silent_major = 0;
	if (!state)
		return;
	if (since_last(state, task, &minor, &major)) {
		row->silent_minor = minor - (row->kind == EBT_V_fault_kind_minor);
		row->silent_major = major - (row->kind == EBT_V_fault_kind_major);
	}
	if (state->address != row->address)
		return;
	row->access = state->access;
	row->duration = now - state->time;
	state->address = 0;
}

static __always_inline int counted(struct bpf_perf_event_data *ctx, __u32 kind)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fault_state *state;
	struct ebt_wire_fault *row;
	__u64 now;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	now = bpf_ktime_get_ns();
	row = ebrec_event_begin(EBT_T_fault, sizeof(*row), now, task);
	if (!row)
		return 0;
	row->kind = kind;
	row->user = (ctx->regs.cs & 3) == 3;
	row->address = ctx->addr;
	row->ip = PT_REGS_IP(&ctx->regs);
	row->unused = 0;
	state = bpf_task_storage_get(&fault_states, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	fill_state(row, task, state, now);
	fill_mapping(row, task, state ? &state->last : NULL);
	return ebrec_event_end_by(ctx, &fault_programs, sizeof(*row),
				  offsetof(struct ebt_wire_fault, kstack),
				  offsetof(struct ebt_wire_fault, ustack),
				  EBREC_KSTACK | EBREC_USTACK);
}

SEC("perf_event")
int ebrec_fault_minor(struct bpf_perf_event_data *ctx)
{
	return counted(ctx, EBT_V_fault_kind_minor);
}

SEC("perf_event")
int ebrec_fault_major(struct bpf_perf_event_data *ctx)
{
	return counted(ctx, EBT_V_fault_kind_major);
}

SEC("perf_event")
int ebrec_fault_stacks(struct bpf_perf_event_data *ctx)
{
	return ebrec_event_walk(ctx, 0);
}

/* --- the end --- */

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ebrec_fault_exit, struct task_struct *task)
{
	struct ebt_wire_fault_rest *row;
	struct fault_state *state;
	__u64 minor, major, flags;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	state = bpf_task_storage_get(&fault_states, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state || !since_last(state, task, &minor, &major) || (!minor && !major))
		return 0;
	row = ebrec_reserve_event(EBT_T_fault_rest, sizeof(*row), bpf_ktime_get_ns(), &flags);
	if (!row)
		return 0;
	row->task = task->pid;
	row->silent_minor = minor;
	row->silent_major = major;
	bpf_ringbuf_submit(row, flags);
	return 0;
}
