/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For programs that may sleep: having a page of the current task's brought in that nobody has
 * touched yet. */
#ifndef RECORD_BPF_BRING_IN_BPF_H
#define RECORD_BPF_BRING_IN_BPF_H

#include "record/bpf/ebt.bpf.h"

#define FUSE_SUPER_MAGIC 0x65735546

static long ebrec_may_wait(struct task_struct *task, struct vm_area_struct *vma, bool *ret)
{
	*ret = BPF_CORE_READ(vma, vm_file, f_inode, i_sb, s_magic) != FUSE_SUPER_MAGIC;
	if (bpf_core_field_exists(vma->vm_userfaultfd_ctx.ctx) &&
	    BPF_CORE_READ(vma, vm_userfaultfd_ctx.ctx))
		*ret = false;
	return 0;
}

/*
 * Who answers page faults himself may never do it. Not inlined: from Linux 6.13 on a program of a
 * uprobe with 64 bytes of stack or more has one of the CPU, as if it could not be interrupted by
 * itself, and this one sleeps.
 */
static __attribute__((noinline)) void ebrec_bring_in(__u64 address)
{
	bool may = false;
	char byte;

	bpf_find_vma(bpf_get_current_task_btf(), address, ebrec_may_wait, &may, 0);
	if (may)
		bpf_copy_from_user(&byte, 1, (const void *)address);
}

#endif
