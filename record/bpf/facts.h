/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process is when it runs a program, beside what is in table task_exec: what numbers can say
 * comes with the event, and what only /proc has as text (paths, cgroups) is the same for all
 * processes of one key. So /proc is read for one of them and not for each.
 */
#ifndef RECORD_BPF_FACTS_H
#define RECORD_BPF_FACTS_H

#include "format/schema/wire.h"

/* Pid namespaces that are in one another; the kernel allows 33. */
#define EBREC_FACTS_PIDS	8
#define EBREC_FACTS_NAME	32
#define EBREC_FACTS_HIERARCHIES 20 /* of cgroups; v1 has one for each controller at the most */

/* Compared whole and by parts, without gaps. Pointers of the kernel mean nothing but themselves. */
struct ebrec_facts_key {
	struct {
		__u64 dentry, parent, mount, inode, dev;
		__u64 name_hash;	     /* and length, of the whole name */
		char name[EBREC_FACTS_NAME]; /* its beginning */
	} exe;
	struct {
		__u64 dentry, mount;
	} root;
	__u64 cgroups; /* a hash of those of all hierarchies */
	__u64 cgroup_ns, mnt_ns;
};

/* Not a table of the file: the row of task_exec follows, as it is in the file. */
#define EBREC_T_PROGRAM 0xff02

struct ebrec_facts {
	struct ebt_wire_head head;
	__u32 pid, ppid;
	__u32 uid;
	__u32 n_pids;		      /* 0: more than there is room for */
	__u32 pids[EBREC_FACTS_PIDS]; /* from the outer namespace to the inner */
	__u32 inherits;		      /* 1: root, mounts and cgroups are the parent's */
	__u32 unused;
	__u64 pid_ns, net_ns, user_ns;
	__u64 mounts; /* the latest change of the mount namespace's table */
	__u64 hash;   /* of the key and of mounts */
	struct ebrec_facts_key key;
};

/* Map `known_programs` by hash; shared memory. What the recorder has the texts of. */
struct ebrec_known {
	__u64 hash, until; /* CLOCK_MONOTONIC */
};
#define EBREC_KNOWN_PROGRAMS 8192 /* a power of two */

#endif
