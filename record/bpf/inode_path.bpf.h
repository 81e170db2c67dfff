/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of files that rows name by device, inode and generation: one row of table `inode_path` a
 * recording for each, when a program meets it first. The name is found by going up from a dentry to
 * the root of the file system; what is mounted where, readers know from the mount tables.
 */
#ifndef RECORD_BPF_INODE_PATH_BPF_H
#define RECORD_BPF_INODE_PATH_BPF_H

#include "record/bpf/ebt.bpf.h"

struct ebrec_inode_id {
	__u64 inode;
	__u32 dev; /* as the kernel has it: see EBREC_DEV_MAJOR */
	__u32 generation;
	__u32 name_hash; /* of the name by which it was opened; 0: any name will do */
	__u32 unused;	 /* zero, as a key of maps has no padding */
};

/* Who has been named; 0: that is being done. What falls out is named again. */
EBREC_LRU_HASH(inode_seen, 65536, struct ebrec_inode_id, __u8) __weak;

#define INODE_PATH_BYTES  4096 /* PATH_MAX; a power of two */
#define INODE_PATH_NAME	  255  /* NAME_MAX; one less than a power of two */
#define INODE_PATH_DEPTH  64
#define INODE_PATH_LEVELS 2 /* of what is not interrupted by the other one, of an iterator */

/* A path is written from its end to its beginning, and the row in front of it. */
struct inode_path_scratch {
	__u32 at; /* where the path begins; verifiers would follow each of its values on a stack */
	__u32 unused;
	__u8 row[sizeof(struct ebt_wire_inode_path)];
	__u8 path[2 * INODE_PATH_BYTES]; /* half of it is for the verifier */
};

EBREC_CPU_ARRAY(inode_path_scratch, INODE_PATH_LEVELS, struct inode_path_scratch) __weak;

static __always_inline void ebrec_inode_id(const struct inode *inode, struct ebrec_inode_id *ret)
{
	ret->inode = BPF_CORE_READ(inode, i_ino);
	ret->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	ret->generation = BPF_CORE_READ(inode, i_generation);
	ret->name_hash = 0;
	ret->unused = 0;
}

/* Any of the inode's names; NULL: it has none, or the kernel has not looked it up by name. */
static __always_inline const struct dentry *inode_dentry(const struct inode *inode)
{
	const struct hlist_node *first = BPF_CORE_READ(inode, i_dentry.first);

	if (!first)
		return NULL;
	return (const void *)first - bpf_core_field_offset(struct dentry, d_u.d_alias);
}

struct inode_path_walk {
	const struct dentry *dentry, *root;
	struct inode_path_scratch *scratch;
};

/* Writes a name in front of what is there; 1: there is no more. */
static __always_inline long inode_path_up(struct inode_path_walk *walk)
{
	const struct dentry *dentry = walk->dentry, *parent;
	struct inode_path_scratch *scratch = walk->scratch;
	const unsigned char *name;
	__u32 len, at = scratch->at;

	if (!dentry || dentry == walk->root)
		return 1;
	parent = BPF_CORE_READ(dentry, d_parent);
	name = BPF_CORE_READ(dentry, d_name.name);
	len = BPF_CORE_READ(dentry, d_name.len);
	if (len > INODE_PATH_NAME || len + 1 > at)
		return 1;
	at -= len;
	bpf_probe_read_kernel(scratch->path + (at & (INODE_PATH_BYTES - 1)), len & INODE_PATH_NAME,
			      name);
	scratch->at = at;
	if (parent == dentry) /* a file that is in no folder, as a memfd */
		return 1;
	scratch->at = --at;
	scratch->path[at & (INODE_PATH_BYTES - 1)] = '/';
	walk->dentry = parent;
	return 0;
}

static long inode_path_step(__u32 i, void *walk)
{
	return inode_path_up(walk);
}

/* Writes the path up to path[INODE_PATH_BYTES - 1]; returns where it begins. */
static __always_inline __u32 inode_path_write(struct inode_path_scratch *scratch,
					      const struct dentry *dentry,
					      const struct dentry *root)
{
	struct inode_path_walk walk = { dentry, root, scratch };
	__u32 at;

	scratch->at = INODE_PATH_BYTES - 1;
	/* 5.17. Verifiers go through each round of a loop, and once or twice through this. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(INODE_PATH_DEPTH, inode_path_step, &walk, 0);
	} else {
		for (int i = 0; i < INODE_PATH_DEPTH && !inode_path_up(&walk); i++)
			;
	}
	at = scratch->at;
	/* The root itself. */
	if (at == INODE_PATH_BYTES - 1 && walk.dentry && walk.dentry == root)
		scratch->path[--at & (INODE_PATH_BYTES - 1)] = '/';
	return at;
}

static __always_inline bool inode_path_send(struct inode_path_scratch *scratch,
					    const struct inode *inode,
					    const struct ebrec_inode_id *id, __u32 at)
{
	/* Rows begin at multiples of eight. */
	__u32 from = at & (INODE_PATH_BYTES - 8);
	__u32 len = sizeof(struct ebt_wire_inode_path) + INODE_PATH_BYTES - 1 - from;
	struct ebt_wire_inode_path *row = (void *)(scratch->row + from);
	__u32 rdev = BPF_CORE_READ(inode, i_rdev);

	row->dev_major = EBREC_DEV_MAJOR(id->dev);
	row->dev_minor = EBREC_DEV_MINOR(id->dev);
	row->inode = id->inode;
	row->generation = id->generation;
	row->links = BPF_CORE_READ(inode, i_nlink);
	row->rdev_major = EBREC_DEV_MAJOR(rdev);
	row->rdev_minor = EBREC_DEV_MINOR(rdev);
	row->name_hash = id->name_hash;
	row->unused = 0;
	row->path.off = sizeof(*row) + at - from;
	row->path.len = INODE_PATH_BYTES - 1 - at;
	barrier_var(len);
	if (len > sizeof(*row) + INODE_PATH_BYTES)
		return false;
	return ebrec_output(ebrec_event_slot(), EBT_T_inode_path, &row->head, len,
			    bpf_ktime_get_ns());
}

/*
 * Makes sure that the file has a row. dentry: the name by which it was opened; NULL: any. One that
 * cannot be sent is counted, and tried again. True: it has been sent.
 */
static __always_inline bool ebrec_name_inode(const struct inode *inode, const struct dentry *dentry,
					     const struct ebrec_inode_id *id, bool iterator)
{
	__u8 *seen = bpf_map_lookup_elem(&inode_seen, id), value = 0;
	struct inode_path_scratch *scratch;
	__u32 level = iterator, at;

	if (seen)
		return *seen;
	scratch = bpf_map_lookup_elem(&inode_path_scratch, &level);
	if (!scratch || bpf_map_update_elem(&inode_seen, id, &value, BPF_NOEXIST))
		return false;
	if (!dentry)
		dentry = inode_dentry(inode);
	at = inode_path_write(scratch, dentry, BPF_CORE_READ(inode, i_sb, s_root));
	if (!inode_path_send(scratch, inode, id, at)) {
		bpf_map_delete_elem(&inode_seen, id);
		return false;
	}
	value = 1;
	bpf_map_update_elem(&inode_seen, id, &value, BPF_ANY);
	return true;
}

#endif
