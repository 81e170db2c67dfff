/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What source `block` knows of the kernel's block layer, and how it changed from 5.10 on. Pointers
 * are read and not followed (kernel_types.h); what is behind NULL is 0.
 */
#ifndef RECORD_BPF_BLOCK_TYPES_BPF_H
#define RECORD_BPF_BLOCK_TYPES_BPF_H

#include "record/bpf/compat.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct folio {
	unsigned long index; /* 5.16; of a page before */
};

struct gendisk;

struct request_queue {
	const void *mq_ops;
	struct gendisk *disk; /* 5.15; request.rq_disk before */
};

struct gendisk {
	int major, first_minor;
	struct request_queue *queue;
};

struct block_device {
	__u32 bd_dev;
	struct gendisk *bd_disk;
};

struct bio_vec {
	struct page *bv_page;
};

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size, bi_idx;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev; /* 5.12 */
	struct gendisk *bi_disk;      /* until 5.11, as the next */
	__u8 bi_partno;
	unsigned int bi_opf;
	__u8 bi_status;
	struct bvec_iter bi_iter;
	struct blkcg_gq *bi_blkg; /* where there are limits for cgroups */
	struct bio_vec *bi_io_vec;
};

struct request {
	struct request_queue *q;
	struct gendisk *rq_disk; /* until 5.14 */
	unsigned int cmd_flags;
	__u32 rq_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio, *biotail;
	__u64 start_time_ns;
};

#pragma clang attribute pop

/* Enumerators that moved, or are not everywhere; their values here mean nothing. */
enum pageflags___block { PG_locked___block = 1, PG_writeback___block = 2 };
enum req_op___block { REQ_OP_ZONE_APPEND___block = 1 };
enum req_opf___block { REQ_OP_ZONE_APPEND___opf = 1 };
enum req_flag_bits___block {
	__REQ_SYNC___block = 1,
	__REQ_META___block,
	__REQ_PRIO___block,
	__REQ_FUA___block,
	__REQ_PREFLUSH___block,
	__REQ_RAHEAD___block,
	__REQ_BACKGROUND___block,
	__REQ_SWAP___block,
};
enum rqf_flags___block { __RQF_FLUSH_SEQ___block = 1, __RQF_IO_STAT___block = 2 };

#define BLOCK_OP_MASK	   0xff /* of cmd_flags */
#define BLOCK_WRITE_SAME   7	/* until 5.17 */
#define BLOCK_OP_DRV_FIRST 32	/* scsi, drv_in, drv_out */
#define BLOCK_OP_DRV_LAST  35

#define S_IFMT		   0170000
#define S_IFBLK		   0060000

/* block_io.op: the numbers are the kernel's, where they never changed. */
static __always_inline __u32 block_op(__u32 cmd_flags)
{
	__u32 op = cmd_flags & BLOCK_OP_MASK, append = ~0u;

	if (bpf_core_enum_value_exists(enum req_op___block, REQ_OP_ZONE_APPEND___block))
		append = bpf_core_enum_value(enum req_op___block, REQ_OP_ZONE_APPEND___block);
	else if (bpf_core_enum_value_exists(enum req_opf___block, REQ_OP_ZONE_APPEND___opf))
		append = bpf_core_enum_value(enum req_opf___block, REQ_OP_ZONE_APPEND___opf);
	if (op == append)
		return EBT_V_block_io_op_zone_append;
	if (op <= EBT_V_block_io_op_discard || op == EBT_V_block_io_op_secure_erase ||
	    op == EBT_V_block_io_op_write_zeroes)
		return op;
	if (op >= BLOCK_OP_DRV_FIRST && op <= BLOCK_OP_DRV_LAST)
		return EBT_V_block_io_op_driver;
	return op == BLOCK_WRITE_SAME ? EBT_V_block_io_op_write_zeroes : EBT_V_block_io_op_zone;
}

/* Without a branch: verifiers go through both ways of each. */
#define BLOCK_FLAG(cmd_flags, name, bit)                                                        \
	(bpf_core_enum_value_exists(enum req_flag_bits___block, name)                           \
		 ? ((cmd_flags) >> bpf_core_enum_value(enum req_flag_bits___block, name) & 1) * \
			   (bit)                                                                \
		 : 0u)

#define BLOCK_SWAP 0x40u

/* As table `block_io` has them. */
static __always_inline __u32 block_flags(__u32 cmd_flags)
{
	return BLOCK_FLAG(cmd_flags, __REQ_SYNC___block, 1u) |
	       BLOCK_FLAG(cmd_flags, __REQ_META___block, 2u) |
	       BLOCK_FLAG(cmd_flags, __REQ_FUA___block, 4u) |
	       BLOCK_FLAG(cmd_flags, __REQ_PREFLUSH___block, 8u) |
	       BLOCK_FLAG(cmd_flags, __REQ_RAHEAD___block, 0x10u) |
	       BLOCK_FLAG(cmd_flags, __REQ_BACKGROUND___block, 0x20u) |
	       BLOCK_FLAG(cmd_flags, __REQ_SWAP___block, BLOCK_SWAP) |
	       BLOCK_FLAG(cmd_flags, __REQ_PRIO___block, 0x80u);
}

/* The request is one step of several: flush, data, flush. It ends once more. */
static __always_inline bool block_is_step(const struct request *rq)
{
	__u32 rq_flags = BPF_CORE_READ(rq, rq_flags);

	if (bpf_core_enum_value_exists(enum rqf_flags___block, __RQF_FLUSH_SEQ___block))
		return rq_flags &
		       1u << bpf_core_enum_value(enum rqf_flags___block, __RQF_FLUSH_SEQ___block);
	return rq_flags & 1u << 4; /* a macro until 6.9 */
}

/* When the kernel's statistics say that it began; 0: it counts none, and does not say. */
static __always_inline __u64 block_start(const struct request *rq, __u64 now)
{
	__u64 start = BPF_CORE_READ(rq, start_time_ns);
	__u32 counted = 1u << 13; /* a macro until 6.9 */

	if (bpf_core_enum_value_exists(enum rqf_flags___block, __RQF_IO_STAT___block))
		counted = 1u << bpf_core_enum_value(enum rqf_flags___block, __RQF_IO_STAT___block);
	return BPF_CORE_READ(rq, rq_flags) & counted && start <= now ? start : 0;
}

static __always_inline const struct gendisk *block_disk(const struct request *rq)
{
	return bpf_core_field_exists(rq->rq_disk) ? BPF_CORE_READ(rq, rq_disk)
						  : BPF_CORE_READ(rq, q, disk);
}

static __always_inline const struct gendisk *block_bio_disk(const struct bio *bio)
{
	return bpf_core_field_exists(bio->bi_disk) ? BPF_CORE_READ(bio, bi_disk)
						   : BPF_CORE_READ(bio, bi_bdev, bd_disk);
}

static __always_inline __u32 block_disk_dev(const struct gendisk *disk)
{
	return (__u32)BPF_CORE_READ(disk, major) << 20 | (__u32)BPF_CORE_READ(disk, first_minor);
}

/* Until 5.11 partitions above the disk's own minors are taken for the disk. */
static __always_inline __u32 block_bio_dev(const struct bio *bio)
{
	if (bpf_core_field_exists(bio->bi_disk))
		return block_disk_dev(BPF_CORE_READ(bio, bi_disk)) + BPF_CORE_READ(bio, bi_partno);
	return BPF_CORE_READ(bio, bi_bdev, bd_dev);
}

/* The index of a page in its file. */
static __always_inline unsigned long block_page_index(const struct page *page)
{
	const struct folio *folio = (const void *)page;

	if (bpf_core_field_exists(folio->index))
		return BPF_CORE_READ(folio, index);
	return BPF_CORE_READ(page, index);
}

#endif
