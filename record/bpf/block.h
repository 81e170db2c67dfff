/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs of source `block` and its part in user space share: a request that has not
 * completed, and how it becomes a row. Types and inline functions only.
 */
#ifndef RECORD_BPF_BLOCK_H
#define RECORD_BPF_BLOCK_H

#include <linux/types.h>

#include "format/schema/wire.h"
#include "record/bpf/shared.h"

/* In flight at a time: 1023 a queue, rarely more. Fits 32 disks that are all busy. */
#define EBREC_BLOCK_REQUESTS 32768

/* Bits of block_args. */
enum {
	EBREC_BLOCK_RQ_SECOND = 1 << 0,	 /* a queue comes before the request */
	EBREC_BLOCK_BIO_SECOND = 1 << 1, /* and before the bio */
	EBREC_BLOCK_ERRNO = 1 << 2,	 /* completion passes an error number */
	EBREC_BLOCK_NO_START = 1 << 3,	 /* no block_io_start: the bio's queuing stands for it */
};

/* Map `block_requests`. Times are 0 where it did not happen, or was not seen. */
struct ebrec_block_request {
	__u64 queued;	/* its first bio */
	__u64 start;	/* it got a request */
	__u64 inserted; /* into a queue or scheduler */
	__u64 issued;	/* to the driver */
	__u64 dirtied;	/* the dirtier's last write */
	__u64 sector;
	__u64 bytes;	/* done */
	__u64 expected; /* when it was issued */
	__u64 inode;
	__u64 cgroup;
	__u32 task, submitter, pid, cause;
	__u32 dev, disk; /* as the kernel numbers them */
	__u32 op, flags, error;
	__u32 merges, requeues;
	__u32 file_dev, generation;
	__u32 layer, state;
	__u32 unused;
};

static inline __attribute__((always_inline)) __u64 ebrec_block_since(__u64 then, __u64 now)
{
	return then && then < now ? now - then : 0;
}

/* All but the head, the CPU and the bytes. */
static inline __attribute__((always_inline)) void
ebrec_block_fill(struct ebt_wire_block_io *row, const struct ebrec_block_request *r, __u64 now)
{
	row->task = r->task;
	row->submitter = r->submitter;
	row->pid = r->pid;
	row->cause = r->cause;
	row->state = r->state;
	row->layer = r->layer;
	row->dev_major = EBREC_DEV_MAJOR(r->dev);
	row->dev_minor = EBREC_DEV_MINOR(r->dev);
	row->disk_major = EBREC_DEV_MAJOR(r->disk);
	row->disk_minor = EBREC_DEV_MINOR(r->disk);
	row->op = r->op;
	row->flags = r->flags;
	row->error = r->error;
	row->merges = r->merges;
	row->requeues = r->requeues;
	row->file_major = EBREC_DEV_MAJOR(r->file_dev);
	row->file_minor = EBREC_DEV_MINOR(r->file_dev);
	row->generation = r->generation;
	row->unused = 0;
	row->inode = r->inode;
	row->cgroup = r->cgroup;
	row->sector = r->sector;
	row->duration = ebrec_block_since(r->start, now);
	row->device = ebrec_block_since(r->issued, now);
	row->inserted = ebrec_block_since(r->inserted, now);
	row->waited = r->queued ? ebrec_block_since(r->queued, r->start) : 0;
	row->dirtied = ebrec_block_since(r->dirtied, now);
}

#endif
