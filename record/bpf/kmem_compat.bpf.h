/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences between kernels that only source `kmem` meets; see compat.bpf.h. */
#ifndef RECORD_BPF_KMEM_COMPAT_BPF_H
#define RECORD_BPF_KMEM_COMPAT_BPF_H

#include "record/bpf/compat.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kmem_cache {
	unsigned int size, object_size;
	const char *name;
};

struct page___size {
	unsigned long flags;
};

/* From 6.1 on, when kmem_cache_alloc began to tell the cache and not sizes. */
struct trace_event_raw_kmem_cache_alloc {
	unsigned long call_site;
};

struct percpu_counter {
	__s64 count;
};

/* 6.2 made the counters those of each CPU, and took the count from the tracepoint. */
struct mm_struct___percpu {
	struct percpu_counter rss_stat[4];
};

/* Without CONFIG_MEMCG, nobody knows whose it is. */
struct mm_struct___owner {
	struct task_struct *owner;
	unsigned long total_vm;
};

#pragma clang attribute pop

/* The process that has this memory, or NULL. */
static __always_inline const struct task_struct *kmem_owner(const void *mm)
{
	const struct mm_struct___owner *owned = mm;

	return bpf_core_field_exists(owned->owner) ? owned->owner : NULL;
}

#define KMEM_RSS_KINDS 4

/* What tracepoint rss_stat tells, in pages; false: nothing. Some pages for each CPU are not in it
 * from 6.2 on. */
static __always_inline bool kmem_rss(const __u64 *ctx, __s64 *ret)
{
	const struct mm_struct___percpu *mm = (const void *)ctx[0];
	__u32 kind = ctx[1];

	if (kind >= KMEM_RSS_KINDS)
		return false;
	if (!bpf_core_field_exists(mm->rss_stat)) {
		*ret = ctx[2];
		return true;
	}
	return !bpf_probe_read_kernel(ret, sizeof(*ret),
				      (const void *)mm +
					      bpf_core_field_offset(struct mm_struct___percpu,
								    rss_stat) +
					      kind * bpf_core_type_size(struct percpu_counter) +
					      bpf_core_field_offset(struct percpu_counter, count));
}

#endif
