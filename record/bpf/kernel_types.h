/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few kernel types that our BPF programs look into, with only the fields that they use. The
 * loader moves every access to where the running kernel has the field (CO-RE), so layout and
 * order here mean nothing, and building needs no BTF of any kernel. The comment on a field that
 * some kernels lack says which kernels have it; ask bpf_core_field_exists() before you use it.
 * Names with three underscores are flavours, for a field that had another type: CO-RE takes
 * `struct mm_struct___old` for `struct mm_struct` of a kernel that looks like it.
 *
 * A pointer in what the kernel hands to a program, as task->mm, is better read (BPF_CORE_READ) than
 * followed: where it is followed, newer verifiers look for that type under names that say that
 * the pointer can be trusted, and go through all names of the kernel for each of these, some 4 ms
 * each time that they come by.
 */
#ifndef RECORD_BPF_KERNEL_TYPES_H
#define RECORD_BPF_KERNEL_TYPES_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct percpu_counter {
	__s64 count;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

/* --- files --- */

struct hlist_node {
	struct hlist_node *next;
};

struct list_head {
	struct list_head *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct qstr {
	__u64 hash_len;
	__u32 hash, len; /* halves of hash_len, as the kernel has it */
	const unsigned char *name;
};

struct inode;

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct {
		struct hlist_node d_alias;
	} d_u;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
	struct dentry *s_root;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation, i_nlink, i_rdev;
	struct hlist_head i_dentry;
	__s64 i_size;
	struct timespec64 i_mtime;   /* until 6.6 */
	struct timespec64 __i_mtime; /* 6.7 to 6.10 */
	__s64 i_mtime_sec;	     /* 6.11 */
	__u32 i_mtime_nsec;
};

struct vfsmount;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	unsigned int f_flags;
	void *private_data;
};

struct mount {
	struct vfsmount {
	} mnt;
	int mnt_id;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
	unsigned long *close_on_exec;
};

struct files_struct {
	struct {
		int counter;
	} count; /* processes and threads that share it */
	struct fdtable *fdt;
};

struct address_space {
	struct inode *host;
};

struct page {
	unsigned long compound_head;
	unsigned long index; /* until 5.15; in folio since */
	struct address_space *mapping;
};

/* --- address spaces --- */

struct mm_struct;

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct mm_struct *vm_mm;
	struct file *vm_file;
	const void *vm_ops;
	struct {
		void *ctx; /* where the kernel has userfaultfd */
	} vm_userfaultfd_ctx;
};

struct xol_area {
	unsigned long vaddr;
};

enum { FILE_PAGES, ANON_PAGES, SWAP_ENTRIES, SHMEM_PAGES, N_RSS_COUNTERS }; /* since 4.5 */

struct mm_struct {
	unsigned long arg_start, arg_end, start_brk, brk, start_stack;
	unsigned long total_vm, exec_vm; /* pages */
	struct task_struct *owner;	 /* with memory cgroups */
	struct file *exe_file;
	struct {
		__s64 counter;
	} pgtables_bytes;
	struct percpu_counter rss_stat[N_RSS_COUNTERS]; /* 6.2 */
	struct {
		__u32 sequence;
	} mm_lock_seq; /* 6.13; counts whatever changes mappings */
	struct {
		void *vdso;
	} context;
	struct {
		struct xol_area *xol_area;
	} uprobes_state;
};

struct mm_struct___old {
	int mm_lock_seq; /* 6.4 to 6.12 */
	struct {
		struct {
			__s64 counter;
		} count[N_RSS_COUNTERS];
	} rss_stat; /* until 6.1 */
};

/* --- tasks --- */

struct thread_info {
	__u32 status;
	__u32 cpu; /* 5.16 */
};

struct thread_struct {
	unsigned long fsbase;
};

struct rq {
	__u64 clock;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* of the CPU, and of the task's group */
	__u64 sum_exec_runtime;
	__u64 prev_sum_exec_runtime; /* when it was put on the CPU; fair class only */
};

/* Where the kernel counts delays: when the task got a CPU last, and since when it waits for one. Of
 * the scheduler's clock. */
struct sched_info {
	unsigned long long last_arrival, last_queued;
};

/* Both exist only where the kernel is built to count. */
struct task_io_accounting {
	__u64 rchar, wchar;
	__u64 read_bytes, write_bytes;
};

/* The sums are of threads that have ended and are gone. */
struct signal_struct {
	struct {
		int counter;
	} live;
	int nr_threads;
	int group_exit_code;
	unsigned int flags;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	unsigned long maxrss; /* pages */
	struct task_io_accounting ioac;
	unsigned long long sum_sched_runtime;
	short oom_score_adj;
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

/* --- namespaces --- */

struct ns_common {
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
	__u64 event; /* of the latest change of its mounts */
};

struct net {
	struct ns_common ns;
};

struct cgroup_namespace {
	struct ns_common ns;
};

struct user_namespace {
	struct ns_common ns;
};

struct pid_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
	struct net *net_ns;
	struct cgroup_namespace *cgroup_ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level; /* of its namespace; 0: the first one */
	struct upid numbers[1];
};

struct css_set {
	struct cgroup *dfl_cgrp;
	struct list_head cgrp_links; /* of struct cgrp_cset_link by cgrp_link */
};

struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link;
};

struct cred {
	struct {
		unsigned int val;
	} uid;
	struct user_namespace *user_ns;
};

struct fs_struct {
	struct path root, pwd;
};

struct return_instance {
	unsigned long stack, orig_ret_vaddr; /* where the return address was, and which */
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct task_struct {
	struct thread_info thread_info;
	struct thread_struct thread;
	unsigned int cpu;     /* until 5.15; thread_info.cpu since */
	long state;	      /* until 5.13 */
	unsigned int __state; /* 5.14 */
	unsigned int flags;
	int prio, static_prio;
	unsigned int rt_priority, policy;
	int on_cpu;
	int exit_code, exit_state;
	int pagefault_disabled;
	__s32 pid;
	__s32 tgid;
	__u64 start_time;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	char comm[16];
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_struct *real_parent, *group_leader;
	struct mm_struct *mm;
	struct signal_struct *signal;
	const struct cred *real_cred;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
	struct pid *thread_pid;
	struct uprobe_task *utask;
	struct fs_struct *fs;
	struct files_struct *files;
	struct nsproxy *nsproxy;
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

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* task_struct.flags; the same since 2.6. */
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

/* task_struct.static_prio of nice 0. */
#define DEFAULT_PRIO 120

/* thread_info.status: the system call came through a 32-bit entry. */
#define TS_COMPAT 2

#endif
