/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `kmem`: objects and pages of the kernel, given and taken back, and the resident memory of
 * processes. A free is recorded if its allocation was, whoever frees: what is live is known here.
 * Objects are in a hash map; where it is full, all frees are recorded from then on, so that none is
 * missed. Pages have a byte each. Maps of a fixed size only: this runs inside the allocator.
 */
#include "record/bpf/compat.bpf.h"
#include "record/bpf/event_stack.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kmem_cache {
	unsigned int size, object_size;
	const char *name;
};

/* From 6.1 on, when kmem_cache_alloc began to tell the cache and not sizes. */
struct trace_event_raw_kmem_cache_alloc {
	unsigned long call_site;
};

#pragma clang attribute pop

#define CACHE_NAME 32
#define ZERO_SIZE  16 /* kmalloc(0) gives this; nothing is there */
#define PAGE_BITS  40
#define MAX_BLOCK  1024 /* words of kmem_pages in one block: 8192 pages */

const volatile __u64 kmem_rate = 0; /* bytes; 0: every allocation */
const volatile __u32 kmem_stacks = 0;
const volatile __u32 kmem_live_set = 0;
const volatile __u32 kmem_page_words = 0; /* of kmem_pages; a power of two; 0: it is not used */
const volatile __u32 kmem_page_size = 4096;

/* Set when an object did not fit into kmem_live. */
__u32 kmem_overflow = 0;

EBREC_HASH(kmem_live, 1, __u64, __u32);

/* A byte for each page of the machine, 8 together, by the number modulo their count. */
EBREC_ARRAY(kmem_pages, 1, __u64);

#define STACKS (kmem_stacks ? EBREC_KSTACK | EBREC_USTACK : 0)

/* --- which allocations --- */

/* What an interrupt does is no doing of the task that it interrupts. */
static __always_inline bool allocation_followed(const struct task_struct *task, bool interrupt)
{
	if (!gate)
		return false;
	return interrupt ? config.all : ebrec_task_followed(task);
}

static __always_inline bool sampled(__u64 bytes)
{
	if (!kmem_rate || bytes >= kmem_rate)
		return true;
	return bpf_get_prandom_u32() * kmem_rate < bytes << 32;
}

/* Is it a followed task that frees? What it had before the recording is counted too. */
static __always_inline bool free_followed(bool interrupt)
{
	return !kmem_rate && !interrupt && ebrec_task_followed(bpf_get_current_task_btf());
}

/* --- objects --- */

struct object {
	const void *address;
	__u64 requested, bytes;
	__u32 gfp;
	const char *cache; /* or NULL */
	bool unknown;	   /* of a cache, but of which? */
};

static __always_inline void remember(__u64 address)
{
	__u32 one = 1;

	if (kmem_live_set && bpf_map_update_elem(&kmem_live, &address, &one, BPF_ANY))
		kmem_overflow = 1;
}

static __always_inline int allocated(void *ctx, const struct object *object,
				     const struct task_struct *task, bool interrupt)
{
	struct {
		struct ebt_wire_kmem_alloc row;
		char cache[CACHE_NAME];
	} * record;
	long len = 0;

	if ((__u64)object->address <= ZERO_SIZE || !sampled(object->bytes))
		return 0;
	remember((__u64)object->address);
	record = ebrec_event_begin(EBT_T_kmem_alloc, sizeof(*record), bpf_ktime_get_ns(), task);
	if (!record)
		return 0;
	record->row.address = (__u64)object->address;
	record->row.requested = object->requested;
	record->row.bytes = object->bytes;
	record->row.rate = kmem_rate;
	record->row.gfp = object->gfp;
	record->row.interrupt = interrupt;
	record->row.cache = (struct ebt_ref){};
	if (object->cache)
		len = bpf_probe_read_kernel_str(record->cache, sizeof(record->cache),
						object->cache);
	if (object->unknown) {
		record->cache[0] = '?';
		len = 2;
	}
	if (len > 1)
		record->row.cache = (struct ebt_ref){ sizeof(record->row), len - 1 };
	return ebrec_event_end(ctx, sizeof(*record), offsetof(struct ebt_wire_kmem_alloc, kstack),
			       offsetof(struct ebt_wire_kmem_alloc, ustack), STACKS);
}

/* kmalloc: caller, address, requested, given, flags, and a node from 6.1 on. */
static __always_inline int allocated_by_size(__u64 *ctx, bool cache)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	bool interrupt = ebrec_in_interrupt();
	const struct object object = {
		.address = (const void *)ctx[1],
		.requested = ctx[2],
		.bytes = ctx[3],
		.gfp = ctx[4],
		.unknown = cache,
	};

	if (!allocation_followed(task, interrupt))
		return 0;
	return allocated(ctx, &object, task, interrupt);
}

SEC("raw_tp/kmalloc")
int ebrec_kmalloc(__u64 *ctx)
{
	return allocated_by_size(ctx, false);
}

/* Until 6.1. */
SEC("raw_tp/kmalloc_node")
int ebrec_kmalloc_node(__u64 *ctx)
{
	return allocated_by_size(ctx, false);
}

SEC("raw_tp/kmem_cache_alloc_node")
int ebrec_kmem_cache_alloc_node(__u64 *ctx)
{
	return allocated_by_size(ctx, true);
}

/* From 6.1 on: caller, address, cache, flags, node. Before, as kmalloc. */
SEC("raw_tp/kmem_cache_alloc")
int ebrec_kmem_cache_alloc(__u64 *ctx)
{
	const struct kmem_cache *cache = (const void *)ctx[2];
	const struct task_struct *task;
	struct object object = {};
	bool interrupt;

	if (!bpf_core_type_exists(struct trace_event_raw_kmem_cache_alloc))
		return allocated_by_size(ctx, true);
	task = bpf_get_current_task_btf();
	interrupt = ebrec_in_interrupt();
	if (!allocation_followed(task, interrupt))
		return 0;
	object.address = (const void *)ctx[1];
	object.requested = BPF_CORE_READ(cache, object_size);
	object.bytes = BPF_CORE_READ(cache, size);
	object.gfp = ctx[3];
	object.cache = BPF_CORE_READ(cache, name);
	return allocated(ctx, &object, task, interrupt);
}

static __always_inline int freed(__u64 address, __u32 kind)
{
	struct ebt_wire_kmem_free *row;
	bool interrupt, known;
	__u64 flags;

	if (!gate || address <= ZERO_SIZE)
		return 0;
	known = kmem_live_set && bpf_map_lookup_elem(&kmem_live, &address);
	if (known)
		bpf_map_delete_elem(&kmem_live, &address);
	interrupt = ebrec_in_interrupt();
	/* All frees are recorded where nobody keeps what is live. */
	if (!known && kmem_live_set && !kmem_overflow && !free_followed(interrupt))
		return 0;
	row = ebrec_reserve_event(EBT_T_kmem_free, sizeof(*row), bpf_ktime_get_ns(), &flags);
	if (!row)
		return 0;
	row->task = bpf_get_current_task_btf()->pid;
	row->address = address;
	row->kind = kind;
	row->interrupt = interrupt;
	bpf_ringbuf_submit(row, flags);
	return 0;
}

/* Caller and address. Raw tracepoints, as others do not give us what is a pointer to anything. */
SEC("raw_tp/kfree")
int ebrec_kfree(__u64 *ctx)
{
	return freed(ctx[1], EBT_V_kmem_free_kind_kfree);
}

SEC("raw_tp/kmem_cache_free")
int ebrec_kmem_cache_free(__u64 *ctx)
{
	return freed(ctx[1], EBT_V_kmem_free_kind_cache);
}

/* --- pages --- */

/* Struct pages are in one array that begins at a multiple of 1 GiB. They have 64 bytes nearly
 * everywhere, so that numbers begin at a multiple of 2^24. */
static __always_inline __u64 page_number(__u64 page)
{
	return page / bpf_core_type_size(struct page) & ((1ull << PAGE_BITS) - 1);
}

static __always_inline __u64 *page_word(__u64 number)
{
	__u32 key = number / 8 & (kmem_page_words - 1);

	return bpf_map_lookup_elem(&kmem_pages, &key);
}

/* 2^order pages are live, or no longer; tells whether any of them was. Blocks are aligned, so that
 * those of fewer than 8 pages share a word with others, but no byte. */
static __always_inline bool mark_pages(__u64 number, __u32 order, bool live)
{
	__u64 *word, was = 0;
	__u32 n;

	if (order < 3) {
		word = page_word(number);
		for (__u32 i = 0; word && i < 4 && i < 1u << order; i++) {
			__u8 *byte = (__u8 *)word + ((number + i) & 7);

			was |= *byte;
			*byte = live;
		}
		return was;
	}
	n = 1u << ((order - 3) & 15);
	for (__u32 i = 0; i < MAX_BLOCK && i < n; i++) {
		word = page_word(number + i * 8);
		if (!word)
			break;
		was |= *word;
		*word = live ? 0x0101010101010101 : 0;
	}
	return was;
}

SEC("raw_tp/mm_page_alloc")
int ebrec_page_alloc(__u64 *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	bool interrupt = ebrec_in_interrupt();
	__u64 page = ctx[0];
	__u32 order = ctx[1];
	struct ebt_wire_page_alloc *row;

	if (!page || !allocation_followed(task, interrupt) ||
	    !sampled((__u64)kmem_page_size << (order & 31)))
		return 0;
	if (kmem_page_words)
		mark_pages(page_number(page), order, true);
	row = ebrec_event_begin(EBT_T_page_alloc, sizeof(*row), bpf_ktime_get_ns(), task);
	if (!row)
		return 0;
	row->page = page_number(page);
	row->rate = kmem_rate;
	row->order = order;
	row->gfp = ctx[2];
	row->migratetype = ctx[3];
	row->interrupt = interrupt;
	return ebrec_event_end(ctx, sizeof(*row), offsetof(struct ebt_wire_page_alloc, kstack),
			       offsetof(struct ebt_wire_page_alloc, ustack), STACKS);
}

/* A raw tracepoint, where an address is a number to calculate with. */
SEC("raw_tp/mm_page_free")
int ebrec_page_free(__u64 *ctx)
{
	__u64 number = page_number(ctx[0]), flags;
	__u32 order = ctx[1];
	struct ebt_wire_page_free *row;
	bool interrupt, known;

	if (!gate)
		return 0;
	known = !kmem_page_words || mark_pages(number, order, false);
	interrupt = ebrec_in_interrupt();
	if (!known && !free_followed(interrupt))
		return 0;
	row = ebrec_reserve_event(EBT_T_page_free, sizeof(*row), bpf_ktime_get_ns(), &flags);
	if (!row)
		return 0;
	row->task = bpf_get_current_task_btf()->pid;
	row->page = number;
	row->order = order;
	row->interrupt = interrupt;
	bpf_ringbuf_submit(row, flags);
	return 0;
}

/* --- resident memory of processes --- */

/* What tracepoint rss_stat tells, in pages; false: nothing. Some pages for each CPU are not in it
 * from 6.2 on. */
static __always_inline bool kmem_rss(const __u64 *ctx, __s64 *ret)
{
	const struct mm_struct *mm = (const void *)ctx[0];
	__u32 kind = ctx[1];

	if (kind >= N_RSS_COUNTERS)
		return false;
	if (!bpf_core_field_exists(mm->rss_stat)) {
		*ret = ctx[2];
		return true;
	}
	return !bpf_probe_read_kernel(ret, sizeof(*ret),
				      (const void *)mm +
					      bpf_core_field_offset(struct mm_struct, rss_stat) +
					      kind * bpf_core_type_size(struct percpu_counter) +
					      bpf_core_field_offset(struct percpu_counter, count));
}

/* What was told last: the tracepoint comes with each page, and most change nothing that can be
 * seen. */
struct rss_key {
	__u64 mm;
	__u64 kind;
};

EBREC_LRU_HASH(kmem_rss_told, 16384, struct rss_key, __s64);

static __always_inline bool rss_is_news(const __u64 *ctx, __s64 pages)
{
	const struct rss_key key = { ctx[0], ctx[1] };
	__s64 *told = bpf_map_lookup_elem(&kmem_rss_told, &key);

	if (!told)
		return !bpf_map_update_elem(&kmem_rss_told, &key, &pages, BPF_ANY);
	if (*told == pages)
		return false;
	*told = pages;
	return true;
}

SEC("tp_btf/rss_stat")
int ebrec_rss_stat(__u64 *ctx)
{
	const struct mm_struct *mm = (const void *)ctx[0];
	const struct task_struct *owner;
	struct ebt_wire_rss_stat *row;
	__u64 flags;
	__s64 pages;

	if (!gate)
		return 0;
	owner = bpf_core_field_exists(mm->owner) ? mm->owner : NULL;
	if (!owner || !ebrec_task_followed(owner) || !kmem_rss(ctx, &pages) ||
	    !rss_is_news(ctx, pages))
		return 0;
	row = ebrec_reserve_event(EBT_T_rss_stat, sizeof(*row), bpf_ktime_get_ns(), &flags);
	if (!row)
		return 0;
	row->task = owner->pid;
	row->bytes = pages > 0 ? pages * kmem_page_size : 0;
	row->vm_size = mm->total_vm * kmem_page_size;
	row->kind = ctx[1];
	row->unused = 0;
	bpf_ringbuf_submit(row, flags);
	return 0;
}
