/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces as the BPF side knows them. The recorder publishes what it hears of, but some
 * time later, and many a program has ended by then. So what a program begins with is placed when
 * it is executed, and a child gets what its parent has; a walk that finds nothing asks the kernel.
 */
#ifndef RECORD_BPF_UNWIND_SPACE_BPF_H
#define RECORD_BPF_UNWIND_SPACE_BPF_H

#include "record/bpf/ebt.bpf.h"
#include "record/bpf/unwind_maps.h"

#define VM_EXEC 4

EBREC_SHARED_ARRAY(unwind_mappings, struct ebrec_unwind_mapping) __weak;

EBREC_HASH(unwind_processes, 1, __u32, struct ebrec_unwind_process) __weak;

EBREC_HASH(unwind_published, 1, __u32, struct ebrec_unwind_published) __weak;

EBREC_HASH(unwind_files, 1, struct ebrec_unwind_file_key, struct ebrec_unwind_file) __weak;

/* Entries of unwind_mappings that were taken so far. */
__u64 unwind_taken __weak = 0;

/* Room for n mappings side by side, at *first. */
static __always_inline bool unwind_take_room(__u32 n, __u32 *first, __u32 *ticket)
{
	for (int i = 0; i < 2; i++) {
		/* Even numbers, so that no ticket is 0. */
		__u64 taken = __sync_fetch_and_add(&unwind_taken, (n + 1) & ~1u);

		*first = taken & (UNWIND_OWN_ROOM - 1);
		*ticket = (__u32)taken | 1;
		if (*first + n <= UNWIND_OWN_ROOM)
			return true;
	}
	return false;
}

static __always_inline void unwind_file_key(const struct file *file,
					    struct ebrec_unwind_file_key *ret)
{
	const struct inode *inode = BPF_CORE_READ(file, f_inode);
	__u32 dev = BPF_CORE_READ(inode, i_sb, s_dev);

	ret->inode = BPF_CORE_READ(inode, i_ino);
	ret->size = BPF_CORE_READ(inode, i_size);
	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		ret->mtime_s = BPF_CORE_READ(inode, i_mtime_sec);
		ret->mtime_ns = BPF_CORE_READ(inode, i_mtime_nsec);
	} else if (bpf_core_field_exists(inode->__i_mtime)) {
		ret->mtime_s = BPF_CORE_READ(inode, __i_mtime.tv_sec);
		ret->mtime_ns = BPF_CORE_READ(inode, __i_mtime.tv_nsec);
	} else {
		ret->mtime_s = BPF_CORE_READ(inode, i_mtime.tv_sec);
		ret->mtime_ns = BPF_CORE_READ(inode, i_mtime.tv_nsec);
	}
	ret->dev_major = EBREC_DEV_MAJOR(dev);
	ret->dev_minor = EBREC_DEV_MINOR(dev);
}

/* What is known of a mapping; a file that is not known keeps its place, for the walk to say so. */
static __always_inline void unwind_describe(const struct vm_area_struct *vma,
					    struct ebrec_unwind_mapping *m)
{
	struct ebrec_unwind_file_key key = {};
	const struct ebrec_unwind_file *file;
	const struct file *backing = BPF_CORE_READ(vma, vm_file);

	m->start = vma->vm_start;
	m->end = vma->vm_end;
	m->table = UNWIND_TABLE_LATER;
	m->bias = 0;
	if (backing) {
		unwind_file_key(backing, &key);
	} else if (m->start != (__u64)BPF_CORE_READ(vma, vm_mm, context.vdso)) {
		m->table = UNWIND_TABLE_ANON;
		return;
	}
	/* The key of zeros is the vdso's. */
	file = bpf_map_lookup_elem(&unwind_files, &key);
	if (!file)
		return;
	m->table = file->table;
	m->bias = m->start - ((backing ? vma->vm_pgoff << 12 : 0) + file->shift);
}

/* A child has its parent's address space, until the recorder hears of it. */
static __always_inline void unwind_fork(__u32 parent, const struct task_struct *child)
{
	const struct ebrec_unwind_published *published;
	struct ebrec_unwind_published published_copy;
	struct ebrec_unwind_process own_copy = {};
	__u32 tgid = child->tgid;
	const struct ebrec_unwind_process *own = bpf_map_lookup_elem(&unwind_processes, &parent);

	if (own)
		own_copy = *own;
	own_copy.mm = (__u64)BPF_CORE_READ(child, mm);
	bpf_map_update_elem(&unwind_processes, &tgid, &own_copy, BPF_ANY);
	published = bpf_map_lookup_elem(&unwind_published, &parent);
	if (published) {
		published_copy = *published;
		bpf_map_update_elem(&unwind_published, &tgid, &published_copy, BPF_ANY);
	} else {
		bpf_map_delete_elem(&unwind_published, &tgid);
	}
}

/* Where the mappings of the process are: the newer of what is here and what is published. False:
 * in exec there is only the new program, which does not run yet. */
static __always_inline bool unwind_find_space(const struct task_struct *task,
					      struct ebrec_unwind_process *ret)
{
	const struct ebrec_unwind_published *published;
	const struct ebrec_unwind_process *own;
	__u32 tgid = task->tgid;

	*ret = (struct ebrec_unwind_process){ .mm = (__u64)BPF_CORE_READ(task, mm) };
	own = bpf_map_lookup_elem(&unwind_processes, &tgid);
	if (own) {
		if (own->mm != ret->mm)
			return false;
		*ret = *own;
	}
	published = bpf_map_lookup_elem(&unwind_published, &tgid);
	if (published && published->time > ret->time) {
		ret->time = published->time;
		ret->first = published->first;
		ret->n = published->n;
		ret->ticket = 0;
	}
	return true;
}

/* What the recorder cannot find out either, it is not asked for all the time. */
#define UNWIND_CALL_NS 20000000

EBREC_CPU_ARRAY(unwind_called, 1, __u64) __weak;

/* A walk has met what the recorder may have been told of, and has not read yet. A global function,
 * as the walks below: the verifier goes through it once. */
__weak int unwind_call_recorder(void)
{
	__u64 now, *called;

	if (!config.unwind) /* there is no such map */
		return 0;
	now = bpf_ktime_get_ns();
	called = ebrec_entry(&unwind_called);
	if (called && now - *called >= UNWIND_CALL_NS && ebrec_ring_doorbell())
		*called = now;
	return 0;
}

/* Notes how much code the process has, for the recorder to compare; less or more than was known is
 * news, and what is known may have given way to something else. What was placed here is newer than
 * what the recorder knows. In a step of a walk, as the verifier goes through a program once for
 * each way that leads there. */
static __always_inline void unwind_note_code(const struct task_struct *task,
					     const struct ebrec_unwind_process *process)
{
	__u64 exec_vm = BPF_CORE_READ(task, mm, exec_vm);
	__u32 tgid = task->tgid;
	struct ebrec_unwind_published *published = bpf_map_lookup_elem(&unwind_published, &tgid);

	if (!published || published->exec_vm == exec_vm)
		return;
	published->exec_vm = exec_vm;
	if (!process->ticket)
		unwind_call_recorder();
}

/* Where a process's mappings are, and where they go with a new one among them. */
struct unwind_insertion {
	struct ebrec_unwind_mapping added;
	__u32 from, from_ticket;
	__u32 to, ticket;
	bool done;
};

static __always_inline void unwind_put(struct unwind_insertion *ins,
				       const struct ebrec_unwind_mapping *m, __u64 start, __u64 end)
{
	__u32 to = ins->to;
	struct ebrec_unwind_mapping *out = bpf_map_lookup_elem(&unwind_mappings, &to);

	if (!out)
		return;
	out->start = start;
	out->end = end;
	out->bias = m->bias; /* does not change with the start */
	out->table = m->table;
	out->ticket = ins->ticket;
	ins->to = to + 1;
}

/* As insert() of record/unwind/spaces.c: what the new one covers goes. */
static long unwind_insert_step(__u32 i, struct unwind_insertion *ins)
{
	const struct ebrec_unwind_mapping *added = &ins->added, *p;
	struct ebrec_unwind_mapping m;
	__u32 from = ins->from + i;

	p = bpf_map_lookup_elem(&unwind_mappings, &from);
	if (!p || p->ticket != ins->from_ticket)
		return 1;
	m = *p;
	if (m.start < added->start)
		unwind_put(ins, &m, m.start, m.end < added->start ? m.end : added->start);
	if (!ins->done && m.end > added->start) {
		unwind_put(ins, added, added->start, added->end);
		ins->done = true;
	}
	if (m.end > added->end)
		unwind_put(ins, &m, m.start > added->end ? m.start : added->end, m.end);
	return 0;
}

/* Copies the process's mappings with the new one among them; walks may still read the old ones. */
static __always_inline bool unwind_insert(struct unwind_insertion *ins,
					  struct ebrec_unwind_process *process)
{
	__u32 first, ticket;

	if (process->n > UNWIND_OWN_MAPPINGS || !unwind_take_room(process->n + 2, &first, &ticket))
		return false;
	ins->from = process->first;
	ins->from_ticket = process->ticket;
	ins->to = first;
	ins->ticket = ticket;
	ins->done = false;
	bpf_loop(process->n, unwind_insert_step, ins, 0);
	if (!ins->done)
		unwind_put(ins, &ins->added, ins->added.start, ins->added.end);
	process->first = first;
	process->n = ins->to - first;
	process->ticket = ticket;
	return true;
}

static long unwind_take_vma(struct task_struct *task, struct vm_area_struct *vma,
			    struct unwind_insertion *ins)
{
	unwind_describe(vma, &ins->added);
	return 0;
}

/* Asking takes some 10 us, and a program that jumps through nowhere would do so all the time. */
#define UNWIND_ASK_NS 200000

EBREC_CPU_ARRAY(unwind_asked, 1, __u64) __weak;

/* Asks the kernel what is mapped at pc, which nobody knows yet. */
static __always_inline bool unwind_ask(struct task_struct *task, __u64 pc,
				       struct ebrec_unwind_process *process)
{
	struct unwind_insertion ins = {};
	__u64 now = bpf_ktime_get_ns(), *asked;
	__u32 tgid = task->tgid;

	asked = ebrec_entry(&unwind_asked);
	if (!asked || now - *asked < UNWIND_ASK_NS)
		return false;
	*asked = now;
	if (bpf_find_vma(task, pc, unwind_take_vma, &ins, 0) || !ins.added.end ||
	    !unwind_insert(&ins, process))
		return false;
	bpf_map_update_elem(&unwind_processes, &tgid, process, BPF_ANY);
	return true;
}

#endif
