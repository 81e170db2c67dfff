/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects struct ebrec_facts of a task in exec. */
#ifndef RECORD_BPF_FACTS_BPF_H
#define RECORD_BPF_FACTS_BPF_H

#include "record/bpf/ebt.bpf.h"
#include "record/bpf/facts.h"

EBREC_SHARED_ARRAY(known_programs, struct ebrec_known) __weak;

static __always_inline void facts_of_exe(struct ebrec_facts_key *key, const struct file *exe)
{
	const struct dentry *dentry = BPF_CORE_READ(exe, f_path.dentry);

	key->exe.dentry = (__u64)dentry;
	key->exe.parent = (__u64)BPF_CORE_READ(dentry, d_parent);
	key->exe.mount = (__u64)BPF_CORE_READ(exe, f_path.mnt);
	key->exe.inode = BPF_CORE_READ(exe, f_inode, i_ino);
	key->exe.dev = BPF_CORE_READ(exe, f_inode, i_sb, s_dev);
	key->exe.name_hash = BPF_CORE_READ(dentry, d_name.hash_len);
	bpf_probe_read_kernel_str(key->exe.name, sizeof(key->exe.name),
				  BPF_CORE_READ(dentry, d_name.name));
}

/* struct upid numbers[], whose size is the kernel's. */
static __always_inline void facts_of_pids(struct ebrec_facts *facts, const struct task_struct *task)
{
	const struct pid *pid = BPF_CORE_READ(task, thread_pid);
	const char *numbers = (const char *)pid + bpf_core_field_offset(pid->numbers);
	const __u32 n = BPF_CORE_READ(pid, level) + 1, size = bpf_core_type_size(struct upid);
	const struct upid *upid = NULL;

	for (__u32 i = 0; i < EBREC_FACTS_PIDS && i < n; i++) {
		upid = (const void *)(numbers + i * size);
		facts->pids[i] = BPF_CORE_READ(upid, nr);
	}
	facts->n_pids = n <= EBREC_FACTS_PIDS ? n : 0;
	facts->pid_ns = facts->n_pids ? BPF_CORE_READ(upid, ns, ns.inum) : 0;
}

static __always_inline __u64 facts_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

/* One for each hierarchy that is mounted, and that of cgroup v2. Ids are not given twice, while the
 * address of a css_set is, at once; the address of a cgroup tells hierarchies apart. */
static __always_inline __u64 facts_of_cgroups(const struct css_set *set)
{
	const struct cgrp_cset_link *link = NULL;
	const struct list_head *head, *at;
	__u64 hash = 0;
	__u32 i;

	if (!bpf_core_field_exists(set->cgrp_links))
		return facts_mix((__u64)set, BPF_CORE_READ(set, dfl_cgrp, kn, id));
	head = (const void *)set + bpf_core_field_offset(set->cgrp_links);
	at = BPF_CORE_READ(head, next);
	for (i = 0; i < EBREC_FACTS_HIERARCHIES && at && at != head; i++) {
		const struct cgroup *cgroup;

		link = (const void *)at - bpf_core_field_offset(link->cgrp_link);
		cgroup = BPF_CORE_READ(link, cgrp);
		hash = facts_mix(hash, BPF_CORE_READ(cgroup, kn, id) ^ (__u64)cgroup);
		at = BPF_CORE_READ(at, next);
	}
	return i < EBREC_FACTS_HIERARCHIES ? hash : facts_mix(hash, (__u64)set);
}

static __always_inline __u64 facts_hash(const struct ebrec_facts *facts)
{
	const __u64 *words = (const void *)&facts->key;
	__u64 hash = facts->mounts;

	for (__u32 i = 0; i < sizeof(facts->key) / sizeof(*words); i++)
		hash = facts_mix(hash, words[i]);
	return hash;
}

static __always_inline void facts_fill_key(struct ebrec_facts_key *key,
					   const struct task_struct *task)
{
	__builtin_memset(key, 0, sizeof(*key));
	facts_of_exe(key, BPF_CORE_READ(task, mm, exe_file));
	key->root.dentry = (__u64)BPF_CORE_READ(task, fs, root.dentry);
	key->root.mount = (__u64)BPF_CORE_READ(task, fs, root.mnt);
	key->mnt_ns = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
	if (!bpf_core_field_exists(task->cgroups))
		return;
	key->cgroups = facts_of_cgroups(BPF_CORE_READ(task, cgroups));
	key->cgroup_ns = BPF_CORE_READ(task, nsproxy, cgroup_ns, ns.inum);
}

static __always_inline bool facts_are_inherited(const struct task_struct *task,
						const struct task_struct *parent)
{
	return BPF_CORE_READ(task, fs, root.dentry) == BPF_CORE_READ(parent, fs, root.dentry) &&
	       BPF_CORE_READ(task, fs, root.mnt) == BPF_CORE_READ(parent, fs, root.mnt) &&
	       BPF_CORE_READ(task, nsproxy, mnt_ns) == BPF_CORE_READ(parent, nsproxy, mnt_ns) &&
	       (!bpf_core_field_exists(task->cgroups) ||
		BPF_CORE_READ(task, cgroups) == BPF_CORE_READ(parent, cgroups));
}

static __always_inline void facts_fill(struct ebrec_facts *facts, const struct task_struct *task)
{
	const struct nsproxy *nsproxy = BPF_CORE_READ(task, nsproxy);
	const struct task_struct *parent = BPF_CORE_READ(task, real_parent);
	const struct cred *cred = BPF_CORE_READ(task, real_cred);

	facts_fill_key(&facts->key, task);
	facts->mounts = BPF_CORE_READ(nsproxy, mnt_ns, event);
	facts->hash = facts_hash(facts);
	facts->pid = task->tgid;
	facts->ppid = BPF_CORE_READ(parent, tgid);
	facts->inherits = facts_are_inherited(task, parent);
	facts->unused = 0;
	facts->uid = BPF_CORE_READ(cred, uid.val);
	facts->user_ns = BPF_CORE_READ(cred, user_ns, ns.inum);
	facts->net_ns = BPF_CORE_READ(nsproxy, net_ns, ns.inum);
	facts_of_pids(facts, task);
}

/* Can the recorder say all of the process, without looking at it before it ends? */
static __always_inline bool facts_suffice(const struct ebrec_facts *facts, __u64 time)
{
	__u32 slot = facts->hash & (EBREC_KNOWN_PROGRAMS - 1);
	const struct ebrec_known *known = bpf_map_lookup_elem(&known_programs, &slot);

	return facts->n_pids && known && known->hash == facts->hash && known->until > time;
}

#endif
