/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables for a program from its first instruction on: at exec, where the kernel lets a
 * program go through an address space, the mappings of files that are known are placed here. The
 * recorder hears of them too, and places the rest, but only some time later.
 */
#include "unwind.bpf.h"

#define VM_EXEC 4

struct timespec64___unwind {
	__s64 tv_sec;
	long tv_nsec;
} __attribute__((preserve_access_index));

struct super_block {
	__u32 s_dev;
} __attribute__((preserve_access_index));

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	__s64 i_size;
	__s64 i_mtime_sec; /* 6.11 */
	__u32 i_mtime_nsec;
} __attribute__((preserve_access_index));

/* 6.7 to 6.10 */
struct inode___mtime {
	struct timespec64___unwind __i_mtime;
} __attribute__((preserve_access_index));

struct file {
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct file *vm_file;
} __attribute__((preserve_access_index));

struct mm_struct___vdso {
	struct {
		void *vdso;
	} context;
} __attribute__((preserve_access_index));

struct bpf_iter_task_vma {
	__u64 opaque[1];
} __attribute__((aligned(8)));

extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task,
				 __u64 addr) __ksym __weak;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __ksym __weak;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __ksym __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct ebrec_unwind_file_key);
	__type(value, struct ebrec_unwind_file);
} unwind_files SEC(".maps");

/* Execs so far. */
__u64 unwind_execs = 0;

static __always_inline void file_key(const struct file *file, struct ebrec_unwind_file_key *ret)
{
	const struct inode *inode = BPF_CORE_READ(file, f_inode);
	const struct inode___mtime *old = (const void *)inode;
	__u32 dev = BPF_CORE_READ(inode, i_sb, s_dev);

	ret->inode = BPF_CORE_READ(inode, i_ino);
	ret->size = BPF_CORE_READ(inode, i_size);
	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		ret->mtime_s = BPF_CORE_READ(inode, i_mtime_sec);
		ret->mtime_ns = BPF_CORE_READ(inode, i_mtime_nsec);
	} else {
		ret->mtime_s = BPF_CORE_READ(old, __i_mtime.tv_sec);
		ret->mtime_ns = BPF_CORE_READ(old, __i_mtime.tv_nsec);
	}
	ret->dev_major = dev >> 20; /* MAJOR() and MINOR() of the kernel */
	ret->dev_minor = dev & ((1u << 20) - 1);
}

/* Places one mapping; a file that is not known keeps its place, for the walk to say so. */
static __always_inline void place(const struct vm_area_struct *vma, __u64 vdso, __u32 tgid,
				  struct ebrec_unwind_mapping *m)
{
	struct ebrec_unwind_file_key key = {};
	const struct ebrec_unwind_file *file;
	__u64 pgoff = vma->vm_pgoff << 12;

	m->start = vma->vm_start;
	m->end = vma->vm_end;
	m->owner = tgid;
	m->table = UNWIND_TABLE_LATER;
	m->bias = 0;
	if (vma->vm_file)
		file_key(vma->vm_file, &key);
	else if (vma->vm_start != vdso)
		return; /* the key of zeros is the vdso's */
	file = bpf_map_lookup_elem(&unwind_files, &key);
	if (!file)
		return;
	m->table = file->table;
	m->bias = m->start - (pgoff + file->shift);
}

static __always_inline __u64 vdso_of(const struct task_struct *task)
{
	const struct mm_struct___vdso *mm = (const void *)task->mm;

	return (__u64)BPF_CORE_READ(mm, context.vdso);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(ebrec_unwind_exec, struct task_struct *task)
{
	struct ebrec_unwind_process process = {};
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	__u32 tgid = task->tgid, next;
	__u64 vdso;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	vdso = vdso_of(task);
	process.first = (__u32)__sync_fetch_and_add(&unwind_execs, 1) * UNWIND_EXEC_MAPPINGS &
			(UNWIND_EXEC_ROOM - 1);
	next = process.first;
	bpf_iter_task_vma_new(&it, task, 0);
	while ((vma = bpf_iter_task_vma_next(&it))) {
		struct ebrec_unwind_mapping *m;

		if (!(vma->vm_flags & VM_EXEC))
			continue;
		m = bpf_map_lookup_elem(&unwind_mappings, &next);
		if (!m || next - process.first >= UNWIND_EXEC_MAPPINGS)
			break;
		place(vma, vdso, tgid, m);
		next++;
	}
	bpf_iter_task_vma_destroy(&it);
	process.n = next - process.first;
	bpf_map_update_elem(&unwind_processes, &tgid, &process, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
