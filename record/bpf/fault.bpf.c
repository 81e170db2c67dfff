/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `fault`. The kernel's own counters of page faults (min_flt, maj_flt) are raised in one
 * place, where it also raises two software events of perf: these make the rows, so that rows are
 * what getrusage() counts. What was tried and when, only the tracepoints of the exception know;
 * they leave it behind for the event.
 */
#include "event_walk.bpf.h"
#include "inode_path.bpf.h"

#include <linux/bpf_perf_event.h>

struct task_struct___fault {
	unsigned long min_flt, maj_flt;
	int pagefault_disabled;
} __attribute__((preserve_access_index));

struct mm_struct___fault {
	unsigned long start_brk, brk, start_stack;
} __attribute__((preserve_access_index));

struct path___fault {
	struct dentry___path *dentry;
} __attribute__((preserve_access_index));

struct file___fault {
	struct inode___path *f_inode;
	struct path___fault f_path;
} __attribute__((preserve_access_index));

struct vm_area_struct___fault {
	unsigned long vm_start, vm_end, vm_pgoff;
	struct mm_struct___fault *vm_mm;
	struct file___fault *vm_file;
	const void *vm_ops;
} __attribute__((preserve_access_index));

/* An exception that is being handled; address 0: none. */
struct fault_entry {
	__u64 address;
	__u64 time;
	__u32 access;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fault_entry);
} fault_entries SEC(".maps");

/* [0]: ebrec_fault_stacks. Tail calls work between programs of one kind. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} fault_programs SEC(".maps");

/* As in table `fault`. */
enum { ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE, ACCESS_EXECUTE };
enum { MAPPING_UNKNOWN, MAPPING_ANON, MAPPING_HEAP, MAPPING_STACK, MAPPING_SPECIAL, MAPPING_FILE };

/* --- the exception --- */

/* Bits of the x86 error code. */
#define FAULT_WRITE	  (1 << 1)
#define FAULT_INSTRUCTION (1 << 4)

static __always_inline int enter(__u64 address, __u64 code)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct task_struct___fault *flags = (const void *)task;
	struct fault_entry *entry;
	__u32 access = ACCESS_READ;

	/* Where faults are disabled nothing is handled: somebody peeks, maybe in an interrupt. */
	if (!gate || !ebrec_task_followed(task) || flags->pagefault_disabled)
		return 0;
	entry = bpf_task_storage_get(&fault_entries, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!entry)
		return 0;
	if (code & FAULT_WRITE)
		access = ACCESS_WRITE;
	else if (code & FAULT_INSTRUCTION)
		access = ACCESS_EXECUTE;
	entry->address = address;
	entry->time = bpf_ktime_get_ns();
	entry->access = access;
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

struct fault_mapping {
	struct ebt_wire_fault *row;
	struct inode___path *inode;
	struct dentry___path *dentry;
};

static __always_inline __u32 mapping_kind(const struct vm_area_struct___fault *vma)
{
	const struct mm_struct___fault *mm = vma->vm_mm;

	if (BPF_CORE_READ(vma, vm_file))
		return MAPPING_FILE;
	if (BPF_CORE_READ(vma, vm_ops)) /* what the kernel itself maps */
		return MAPPING_SPECIAL;
	if (vma->vm_start < mm->brk && vma->vm_end > mm->start_brk)
		return MAPPING_HEAP;
	if (vma->vm_start <= mm->start_stack && vma->vm_end >= mm->start_stack)
		return MAPPING_STACK;
	return MAPPING_ANON;
}

static long take_vma(struct task_struct *task, struct vm_area_struct___fault *vma,
		     struct fault_mapping *m)
{
	const struct file___fault *file = BPF_CORE_READ(vma, vm_file);
	struct ebt_wire_fault *row = m->row;

	row->mapping = mapping_kind(vma);
	row->map_start = vma->vm_start;
	row->map_end = vma->vm_end;
	if (!file)
		return 0;
	row->map_offset = vma->vm_pgoff << 12;
	m->inode = BPF_CORE_READ(file, f_inode);
	m->dentry = BPF_CORE_READ(file, f_path.dentry);
	return 0;
}

/* The kernel may refuse, where somebody changes the address space at that moment. */
static __always_inline void fill_mapping(struct ebt_wire_fault *row, struct task_struct *task)
{
	struct fault_mapping m = { .row = row };
	struct ebrec_inode_id id = {};

	row->mapping = MAPPING_UNKNOWN;
	row->map_start = 0;
	row->map_end = 0;
	row->map_offset = 0;
	if (config.fault_mappings)
		bpf_find_vma(task, row->address, take_vma, &m, 0);
	if (m.inode) {
		ebrec_inode_id(m.inode, &id);
		ebrec_name_inode(m.inode, m.dentry, &id, false);
	}
	row->inode = id.inode;
	row->dev_major = EBREC_DEV_MAJOR(id.dev);
	row->dev_minor = EBREC_DEV_MINOR(id.dev);
	row->generation = id.generation;
}

static __always_inline void fill_entry(struct ebt_wire_fault *row, struct task_struct *task,
				       __u64 now)
{
	struct fault_entry *entry = NULL;

	row->access = ACCESS_UNKNOWN;
	row->duration = 0;
	if (config.fault_entries)
		entry = bpf_task_storage_get(&fault_entries, task, NULL, 0);
	if (!entry || entry->address != row->address)
		return;
	row->access = entry->access;
	row->duration = now - entry->time;
	entry->address = 0;
}

static __always_inline int counted(struct bpf_perf_event_data *ctx, __u32 kind)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct task_struct___fault *counts = (const void *)task;
	__u64 now;
	struct ebt_wire_fault *row;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	now = bpf_ktime_get_ns();
	row = ebrec_event_begin(EBT_T_fault, sizeof(*row), now);
	if (!row)
		return 0;
	row->cpu = bpf_get_smp_processor_id();
	row->task = task->pid;
	row->kind = kind;
	row->user = (ctx->regs.cs & 3) == 3;
	row->address = ctx->addr;
	row->ip = PT_REGS_IP(&ctx->regs);
	row->minor = counts->min_flt;
	row->major = counts->maj_flt;
	row->unused = 0;
	fill_entry(row, task, now);
	fill_mapping(row, task);
	return ebrec_event_end_by(ctx, &fault_programs, sizeof(*row),
				  offsetof(struct ebt_wire_fault, kstack),
				  offsetof(struct ebt_wire_fault, ustack),
				  EBREC_KSTACK | EBREC_USTACK);
}

SEC("perf_event")
int ebrec_fault_minor(struct bpf_perf_event_data *ctx)
{
	return counted(ctx, 0);
}

SEC("perf_event")
int ebrec_fault_major(struct bpf_perf_event_data *ctx)
{
	return counted(ctx, 1);
}

SEC("perf_event")
int ebrec_fault_stacks(struct bpf_perf_event_data *ctx)
{
	return ebrec_event_walk(ctx);
}

char LICENSE[] SEC("license") = "GPL";
