/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few kernel types that our BPF programs look into, with only the fields that they use. The
 * loader moves every access to where the running kernel has the field (CO-RE), so layout and
 * order here mean nothing, and building needs no BTF of any kernel. A field that some kernels
 * lack is used through compat.bpf.h only.
 */
#ifndef RECORD_BPF_KERNEL_TYPES_H
#define RECORD_BPF_KERNEL_TYPES_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct thread_info {
	unsigned long flags;
	__u32 status;
	__u32 cpu;
};

struct rq;

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* of the CPU, and of the task's group */
	__u64 sum_exec_runtime;
	__u64 prev_sum_exec_runtime; /* when it was put on the CPU; fair class only */
};

struct mm_struct {
	unsigned long arg_start, arg_end;
	unsigned long exec_vm; /* pages */
};

/* Both exist only where the kernel is built to count. */
struct task_io_accounting {
	__u64 rchar, wchar;
	__u64 read_bytes, write_bytes;
};

/* The sums are of threads that have ended and are gone. */
struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	unsigned long maxrss; /* pages */
	struct task_io_accounting ioac;
	unsigned long long sum_sched_runtime;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

/* self is the first member in every kernel: the parent's css is the parent. */
struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct pid {
	unsigned int level; /* of its namespace; 0: the first one */
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state; /* 5.14; `state` before */
	unsigned int flags;
	int prio, static_prio;
	unsigned int rt_priority, policy;
	int on_cpu;
	int exit_code;
	__s32 pid;
	__s32 tgid;
	__u64 start_time;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	char comm[16];
	struct sched_entity se;
	struct task_struct *real_parent, *group_leader;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
	struct pid *thread_pid;
};

struct linux_binprm {
	const char *filename;
};

/* x86-64. A CO-RE flavour, as <linux/ptrace.h> has a struct pt_regs with other names. */
struct pt_regs___kernel {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip;
	unsigned short cs;
	unsigned long flags, sp;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* task_struct.flags; the same since 2.6. */
#define PF_KTHREAD 0x00200000

/* task_struct.static_prio of nice 0. */
#define DEFAULT_PRIO 120

#endif
