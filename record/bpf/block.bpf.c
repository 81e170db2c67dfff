/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `block`. A request is remembered by its address from when it gets its first bio until it
 * completes, and is one row then. It is blamed on whoever wrote to the file, not on the kernel
 * thread that writes back: the last task that dirtied each file is remembered too.
 */
#include "record/bpf/block_types.bpf.h"

#include "record/bpf/block.h"

#include <linux/errno.h>

/* Bits of block_args: how this kernel passes arguments (sources/block.c). */
const volatile __u32 block_args = 0;

/* By address of the request, or of the bio of a device without requests. */
EBREC_HASH(block_requests, EBREC_BLOCK_REQUESTS, __u64, struct ebrec_block_request);

/* Who dirtied a file last. Of a block device's own pages: each MiB of it. */
struct block_file {
	__u64 inode;
	__u32 dev;
	__u32 part;
};

struct block_dirtier {
	__u64 time;
	__u32 tid, pid;
	__u32 followed;
	__u32 unused;
};

EBREC_LRU_HASH(block_dirtiers, 16384, struct block_file, struct block_dirtier);

/*
 * Bios that were queued and have no request yet. One takes the place of another whose address has
 * the same hash: then it is not known how long the other waited, nor, before 6.5, who queued it.
 */
struct block_bio {
	__u64 bio;
	__u64 time;
	__u32 tid, pid;
	__u32 kernel;
	__u32 followed;
};

#define BLOCK_BIOS 16384 /* a power of two */

EBREC_ARRAY(block_bios, BLOCK_BIOS, struct block_bio);

/* The verifier allows no arithmetic with a pointer; a copy of its value is a number. */
static __always_inline __u64 number_of(const void *pointer)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	return number;
}

static __always_inline struct block_bio *bio_slot(__u64 bio)
{
	__u32 slot = bio * 0x9e3779b97f4a7c15ull >> (64 - 14);

	return bpf_map_lookup_elem(&block_bios, &slot);
}

static __always_inline void current_submitter(struct block_bio *ret)
{
	const struct task_struct *task = bpf_get_current_task_btf();

	if (ebrec_in_interrupt())
		return;
	ret->tid = task->pid;
	ret->pid = task->tgid;
	ret->kernel = !!(task->flags & PF_KTHREAD) || !task->pid;
	ret->followed = ebrec_task_followed(task);
}

/* --- whose pages --- */

struct block_page {
	struct block_file file;
	__u32 generation;
	bool writeback; /* cached, and being written back */
};

/* The file whose cached pages the bio begins with. Memory of programs (O_DIRECT) is no such page,
 * even where it is mapped from a file: its pages are not locked or under writeback. */
static __always_inline bool bio_page(const struct bio *bio, __u32 op, struct block_page *ret)
{
	const struct bio_vec *vec = BPF_CORE_READ(bio, bi_io_vec);
	__u32 i = BPF_CORE_READ(bio, bi_iter.bi_idx);
	struct address_space *mapping;
	const struct page *page;
	struct inode *inode;
	unsigned long flags, head;
	bool device;

	if (op > EBT_V_block_io_op_write || !vec || !BPF_CORE_READ(bio, bi_iter.bi_size))
		return false;
	vec = (const void *)((__u64)vec + (__u64)i * bpf_core_type_size(struct bio_vec));
	page = BPF_CORE_READ(vec, bv_page);
	head = BPF_CORE_READ(page, compound_head);
	if (head & 1)
		page = (const void *)(head - 1);
	mapping = BPF_CORE_READ(page, mapping);
	if (!mapping || (unsigned long)mapping & 3) /* anonymous, or something else */
		return false;
	/* The flags are the first thing in a page, of whatever type. */
	if (bpf_probe_read_kernel(&flags, sizeof(flags), page))
		return false;
	inode = BPF_CORE_READ(mapping, host);
	device = inode && (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK;
	ret->writeback =
		flags & 1ul << bpf_core_enum_value(enum pageflags___block, PG_writeback___block);
	if (!inode ||
	    (!device && !ret->writeback &&
	     !(flags & 1ul << bpf_core_enum_value(enum pageflags___block, PG_locked___block))))
		return false;
	ret->writeback = ret->writeback || device;
	ret->file.inode = BPF_CORE_READ(inode, i_ino);
	ret->file.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	ret->file.part = device ? block_page_index(page) >> 8 : 0;
	ret->generation = BPF_CORE_READ(inode, i_generation);
	return true;
}

/* Tasks dirty pages, but for what some drivers do late; asking would cost as much as the rest. */
static __always_inline int dirty(const void *page, const struct address_space *mapping)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = mapping->host;
	struct block_dirtier *known, new = {};
	struct block_file file = {};

	file.inode = inode->i_ino;
	file.dev = inode->i_sb->s_dev;
	if ((inode->i_mode & S_IFMT) == S_IFBLK)
		file.part = block_page_index(page) >> 8;
	known = bpf_map_lookup_elem(&block_dirtiers, &file);
	new.time = bpf_ktime_get_ns();
	if (known && known->tid == (__u32)task->pid && known->pid == (__u32)task->tgid) {
		known->time = new.time;
		return 0;
	}
	/* That somebody else wrote matters only where it is a followed task's no more. */
	new.followed = ebrec_task_followed(task);
	if (!known && !new.followed && !config.all)
		return 0;
	new.tid = task->pid;
	new.pid = task->tgid;
	bpf_map_update_elem(&block_dirtiers, &file, &new, BPF_ANY);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(ebrec_block_dirty_folio, const void *folio, const struct address_space *mapping)
{
	return gate && mapping ? dirty(folio, mapping) : 0;
}

SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(ebrec_block_dirty_page, const void *page, const struct address_space *mapping)
{
	return gate && mapping ? dirty(page, mapping) : 0;
}

/* --- a request begins --- */

/* Blames the request; false: not on a task that is followed. */
static __always_inline bool blame(struct ebrec_block_request *r, const struct bio *bio,
				  const struct block_bio *who)
{
	struct block_dirtier *dirtier = NULL;
	struct block_page page = {};

	r->submitter = r->task = who->tid;
	r->pid = who->pid;
	r->cause = EBT_V_block_io_cause_submitter;
	/* A task that needs memory swaps out what is anybody's. */
	if (who->kernel || !who->tid || (r->op == EBT_V_block_io_op_write && r->flags & BLOCK_SWAP))
		r->cause = EBT_V_block_io_cause_unknown;
	if (!bio || !bio_page(bio, r->op, &page))
		return who->followed || config.all;
	r->inode = page.file.inode;
	r->file_dev = page.file.dev;
	r->generation = page.generation;
	if (r->op != EBT_V_block_io_op_write || !page.writeback)
		return who->followed || config.all;
	dirtier = bpf_map_lookup_elem(&block_dirtiers, &page.file);
	if (!dirtier || !dirtier->tid) {
		r->cause = EBT_V_block_io_cause_unknown;
		return who->followed || config.all;
	}
	r->cause = dirtier->tid == who->tid ? EBT_V_block_io_cause_submitter
					    : EBT_V_block_io_cause_dirtier;
	r->task = dirtier->tid;
	r->pid = dirtier->pid;
	r->dirtied = dirtier->time;
	return dirtier->followed || config.all;
}

static __always_inline __u64 bio_cgroup(const struct bio *bio)
{
	if (!bpf_core_field_exists(bio->bi_blkg))
		return 0;
	return BPF_CORE_READ(bio, bi_blkg, blkcg, css.cgroup, kn, id);
}

/* Remembers it, in place of another one at that address that ended in a way not seen here. */
static __always_inline void remember(__u64 key, const struct ebrec_block_request *r)
{
	/* Of the whole system it still becomes a row, but it is not known whose it is. */
	if (bpf_map_update_elem(&block_requests, &key, r, BPF_ANY) && !config.all)
		ebrec_count_no_storage(EBT_T_block_io);
}

static __always_inline void begin_request(const struct request *rq, const struct block_bio *who,
					  __u64 now)
{
	const struct bio *bio = BPF_CORE_READ(rq, bio);
	__u32 cmd_flags = BPF_CORE_READ(rq, cmd_flags);
	struct ebrec_block_request r = {};
	__u64 key = (__u64)rq;

	r.op = block_op(cmd_flags);
	r.flags = block_flags(cmd_flags);
	if (!blame(&r, bio, who)) {
		bpf_map_delete_elem(&block_requests, &key);
		return;
	}
	r.disk = block_disk_dev(block_disk(rq));
	r.dev = bio ? block_bio_dev(bio) : r.disk;
	r.cgroup = bio ? bio_cgroup(bio) : 0;
	r.start = now;
	r.queued = who->time;
	remember(key, &r);
}

/* What is known of a bio that now has a request. The bio takes the slot again when it is used
 * again. */
static __always_inline void find_bio(const struct bio *bio, struct block_bio *ret)
{
	struct block_bio *slot = bio ? bio_slot((__u64)bio) : NULL;

	if (slot && slot->bio == (__u64)bio)
		*ret = *slot;
}

/* A request gets its first bio, here, or has been seen late. Verified once for a program, whichever
 * ways of it lead here; that is why its arguments are numbers. */
__weak int ebrec_block_begin(__u64 request, __u64 now, bool here)
{
	const struct request *rq = (const void *)request;
	const struct bio *bio = BPF_CORE_READ(rq, bio);
	struct block_bio who = {};

	find_bio(bio, &who);
	if (!here && !who.bio)
		find_bio(BPF_CORE_READ(rq, biotail), &who);
	/* Without a bio it is a command, of who makes it here; else it is likely who does. */
	if (here || !who.bio) {
		current_submitter(&who);
		who.kernel = who.kernel || (!here && bio);
	}
	begin_request(rq, &who, now);
	return 0;
}

SEC("tp_btf/block_io_start")
int BPF_PROG(ebrec_block_io_start, const struct request *rq)
{
	if (gate)
		ebrec_block_begin(number_of(rq), bpf_ktime_get_ns(), true);
	return 0;
}

/* What is known of a request that is on its way. Before 6.5 this is where it is seen first. */
static __always_inline struct ebrec_block_request *find_request(const struct request *rq, __u64 now)
{
	__u64 key = (__u64)rq;
	struct ebrec_block_request *r = bpf_map_lookup_elem(&block_requests, &key);

	/* With block_io_start, those without it are flushes, which begin when they are issued. */
	if (r || (!(block_args & EBREC_BLOCK_NO_START) &&
		  block_op(rq->cmd_flags) != EBT_V_block_io_op_flush))
		return r;
	ebrec_block_begin(number_of(rq), now, false);
	return bpf_map_lookup_elem(&block_requests, &key);
}

#define REQUEST(ctx) ((const struct request *)(ctx)[!!(block_args & EBREC_BLOCK_RQ_SECOND)])
#define BIO(ctx)     ((const struct bio *)(ctx)[!!(block_args & EBREC_BLOCK_BIO_SECOND)])

SEC("tp_btf/block_rq_insert")
int ebrec_block_rq_insert(__u64 *ctx)
{
	struct ebrec_block_request *r;
	__u64 now;

	if (!gate)
		return 0;
	now = bpf_ktime_get_ns();
	r = find_request(REQUEST(ctx), now);
	if (r && !r->inserted)
		r->inserted = now;
	return 0;
}

#define MAX_BIOS 1024

static __always_inline __u32 count_bios(const struct request *rq)
{
	const struct bio *bio = rq->bio;
	__u32 n;

#pragma unroll 8
	for (n = 0; n < MAX_BIOS && bio; n++)
		bio = bio->bi_next;
	return n;
}

SEC("tp_btf/block_rq_issue")
int ebrec_block_rq_issue(__u64 *ctx)
{
	const struct request *rq = REQUEST(ctx);
	struct ebrec_block_request *r;
	__u64 now, start;
	__u32 n;

	if (!gate)
		return 0;
	now = bpf_ktime_get_ns();
	r = find_request(rq, now);
	if (!r)
		return 0;
	/* So that sums are the kernel's; it is not set before, and a plug reads the clock early. */
	start = block_start(rq, now);
	if (start)
		r->start = start;
	r->issued = now;
	r->sector = rq->__sector;
	r->expected = rq->__data_len;
	/* Nothing joins it any more. Once parts of it were done there are fewer. */
	n = count_bios(rq);
	if (n > r->merges + 1)
		r->merges = n - 1;
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int ebrec_block_rq_requeue(__u64 *ctx)
{
	__u64 key = (__u64)REQUEST(ctx);
	struct ebrec_block_request *r = gate ? bpf_map_lookup_elem(&block_requests, &key) : NULL;

	if (r) {
		r->requeues++;
		r->issued = 0;
	}
	return 0;
}

/* Its bios now belong to another request. */
SEC("tp_btf/block_rq_merge")
int ebrec_block_rq_merge(__u64 *ctx)
{
	__u64 key = (__u64)REQUEST(ctx);

	if (gate)
		bpf_map_delete_elem(&block_requests, &key);
	return 0;
}

/* --- it ends --- */

static __always_inline void emit(const struct ebrec_block_request *r, __u64 now)
{
	struct ebt_wire_block_io *row;
	__u64 flags;

	row = ebrec_reserve_event(EBT_T_block_io, sizeof(*row), now, &flags);
	if (!row)
		return;
	row->bytes = r->bytes;
	ebrec_block_fill(row, r, now);
	bpf_ringbuf_submit(row, flags);
}

/* Of blk_status_t; those that the newer kernels added are hardly ever seen. */
static const __u8 block_errnos[] = { 0,		EOPNOTSUPP, ETIMEDOUT, ENOSPC, ENOLINK,
				     EREMOTEIO, EBADE,	    ENODATA,   EILSEQ, ENOMEM,
				     EIO,	EIO,	    EAGAIN,    EBUSY };

static __always_inline __u32 block_errno(__u32 status)
{
	return status < sizeof(block_errnos) ? block_errnos[status] : EIO;
}

/* Nothing was seen of its beginning. */
static __always_inline void find_late(const struct request *rq, __u64 now,
				      struct ebrec_block_request *ret)
{
	const struct bio *bio = BPF_CORE_READ(rq, bio);

	ret->op = block_op(rq->cmd_flags);
	ret->flags = block_flags(rq->cmd_flags);
	ret->disk = block_disk_dev(block_disk(rq));
	ret->dev = bio ? block_bio_dev(bio) : ret->disk;
	ret->cgroup = bio ? bio_cgroup(bio) : 0;
	ret->start = block_start(rq, now);
	ret->sector = rq->__sector;
	ret->state = EBT_V_block_io_state_found;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(ebrec_block_rq_complete, const struct request *rq, int error, unsigned int bytes)
{
	struct ebrec_block_request *r, found = {};
	__u64 key = (__u64)rq, now;

	if (!gate)
		return 0;
	now = bpf_ktime_get_ns();
	r = bpf_map_lookup_elem(&block_requests, &key);
	if (!r) {
		if (!config.all)
			return 0;
		find_late(rq, now, &found);
		r = &found;
	}
	r->bytes += bytes;
	if (error)
		r->error = block_args & EBREC_BLOCK_ERRNO ? -error : block_errno(error & 0xff);
	/* Some drivers complete in parts; a request that flushes ends in steps, but the flush,
	 * which is a request of its own. */
	if (bytes >= rq->__data_len && (r->op == EBT_V_block_io_op_flush || !block_is_step(rq))) {
		emit(r, now);
		bpf_map_delete_elem(&block_requests, &key);
	} else if (r == &found) {
		remember(key, r);
	}
	return 0;
}

/* --- bios, for devices without requests --- */

static __always_inline void begin_bio(const struct bio *bio, const struct block_bio *who)
{
	__u32 cmd_flags = bio->bi_opf;
	struct ebrec_block_request r = {};
	__u64 key = (__u64)bio;

	r.op = block_op(cmd_flags);
	r.flags = block_flags(cmd_flags);
	if (!blame(&r, bio, who)) {
		bpf_map_delete_elem(&block_requests, &key);
		return;
	}
	r.layer = EBT_V_block_io_layer_bio;
	r.disk = block_disk_dev(block_bio_disk(bio));
	r.dev = block_bio_dev(bio);
	r.cgroup = bio_cgroup(bio);
	r.start = r.issued = who->time;
	r.sector = bio->bi_iter.bi_sector;
	r.expected = bio->bi_iter.bi_size;
	remember(key, &r);
}

SEC("tp_btf/block_bio_queue")
int ebrec_block_bio_queue(__u64 *ctx)
{
	const struct bio *bio = BIO(ctx);
	struct block_bio who = {}, *slot;

	if (!gate)
		return 0;
	who.bio = (__u64)bio;
	who.time = bpf_ktime_get_ns();
	/* Before 5.15 the queue of a bio is not asked, but its disk's; they are the same. */
	if (BPF_CORE_READ(block_bio_disk(bio), queue, mq_ops)) {
		if (block_args & EBREC_BLOCK_NO_START)
			current_submitter(&who);
		slot = bio_slot(number_of(bio));
		if (slot)
			*slot = who;
		return 0;
	}
	current_submitter(&who);
	begin_bio(bio, &who);
	return 0;
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(ebrec_block_bio_complete, const void *queue, const struct bio *bio)
{
	struct ebrec_block_request *r;
	__u64 key = (__u64)bio;

	/* One of a device with requests is not there. */
	r = gate ? bpf_map_lookup_elem(&block_requests, &key) : NULL;
	if (!r)
		return 0;
	r->bytes = r->expected;
	r->error = block_errno(bio->bi_status);
	emit(r, bpf_ktime_get_ns());
	bpf_map_delete_elem(&block_requests, &key);
	return 0;
}
