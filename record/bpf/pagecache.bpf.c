/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `pagecache`: pages of files that are looked up, added, removed and made dirty. Who is
 * looked up has been found when read() tells of it, and not yet when a fault does: see
 * report/memory/model_cache.h.
 */
#include "record/bpf/inode_path.bpf.h"

/* 6.18: flags are a struct. */
struct folio___cache {
	struct {
		unsigned long f;
	} flags;
	struct address_space *mapping;
	unsigned long index;
	unsigned int _nr_pages; /* 6.15 */
} __attribute__((preserve_access_index));

/* 5.16 to 6.17 */
struct folio___old_cache {
	unsigned long flags;
	unsigned int _folio_nr_pages;
} __attribute__((preserve_access_index));

enum pageflags___cache { PG_head___cache = 6 };

#define PAGE_SHIFT 12

/* The file that this CPU met last, which is most often the next one's too. */
EBREC_CPU_ARRAY(cache_last, 1, struct ebrec_inode_id);

static __always_inline void name_inode(struct inode *inode, const struct ebrec_inode_id *id)
{
	struct ebrec_inode_id *last = ebrec_entry(&cache_last);

	if (!last || (last->inode == id->inode && last->dev == id->dev &&
		      last->generation == id->generation))
		return;
	*last = *id;
	ebrec_name_inode(inode, NULL, id, false);
}

static __always_inline int note(__u32 kind, struct inode *inode, __u64 index, __u64 pages)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct ebt_wire_page_cache *row;
	struct ebrec_inode_id id;
	__u64 flags;

	if (!inode)
		return 0;
	id.inode = inode->i_ino;
	id.dev = inode->i_sb->s_dev;
	id.generation = inode->i_generation;
	name_inode(inode, &id);
	row = ebrec_reserve_event(EBT_T_page_cache, sizeof(*row), bpf_ktime_get_ns(), &flags);
	if (!row)
		return 0;
	row->task = task->pid;
	row->kind = kind;
	row->generation = id.generation;
	row->dev_major = EBREC_DEV_MAJOR(id.dev);
	row->dev_minor = EBREC_DEV_MINOR(id.dev);
	row->inode = id.inode;
	row->index = index;
	row->pages = pages;
	bpf_ringbuf_submit(row, flags);
	return 0;
}

static __always_inline bool wanted(void)
{
	return gate && ebrec_task_followed(bpf_get_current_task_btf());
}

/* --- pages --- */

static __always_inline __u64 folio_pages(const struct folio___cache *folio)
{
	const struct folio___old_cache *old = (const void *)folio;
	unsigned long flags, head;

	flags = bpf_core_field_exists(folio->flags.f) ? folio->flags.f : old->flags;
	head = 1ul << bpf_core_enum_value(enum pageflags___cache, PG_head___cache);
	if (!(flags & head))
		return 1;
	if (bpf_core_field_exists(folio->_nr_pages))
		return folio->_nr_pages;
	return bpf_core_field_exists(old->_folio_nr_pages) ? old->_folio_nr_pages : 1;
}

/* page: what the tracepoint is given, a struct page where config.cache_pages. */
static __always_inline int note_page(__u32 kind, struct folio___cache *folio)
{
	const struct page *page = (const void *)folio;
	struct address_space *mapping;

	if (config.cache_pages) {
		mapping = page->mapping;
		return mapping ? note(kind, mapping->host, page->index, 1) : 0;
	}
	mapping = folio->mapping;
	return mapping ? note(kind, mapping->host, folio->index, folio_pages(folio)) : 0;
}

#define NOTE_PAGE(tracepoint, name, kind)                                             \
	SEC("tp_btf/" #tracepoint)                                                    \
	int BPF_PROG(name, struct folio___cache *folio)                               \
	{                                                                             \
		return wanted() ? note_page(EBT_V_page_cache_kind_##kind, folio) : 0; \
	}

NOTE_PAGE(mm_filemap_add_to_page_cache, ebrec_cache_add, add)
NOTE_PAGE(mm_filemap_delete_from_page_cache, ebrec_cache_delete, delete)
NOTE_PAGE(writeback_dirty_folio, ebrec_cache_dirty, dirty)
NOTE_PAGE(writeback_dirty_page, ebrec_cache_dirty_page, dirty)

/* --- lookups --- */

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(ebrec_cache_read, struct address_space *mapping, unsigned long index,
	     unsigned long last)
{
	struct inode *inode;
	__u64 end;

	if (!wanted())
		return 0;
	inode = mapping->host;
	if (!inode)
		return 0;
	/* A reader asks for as much as it has room for. */
	end = ((__u64)inode->i_size + (1 << PAGE_SHIFT) - 1) >> PAGE_SHIFT;
	if (end > (__u64)last + 1)
		end = (__u64)last + 1;
	return index < end ? note(EBT_V_page_cache_kind_read, inode, index, end - index) : 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(ebrec_cache_fault, struct address_space *mapping, unsigned long index)
{
	return wanted() ? note(EBT_V_page_cache_kind_fault, mapping->host, index, 1) : 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(ebrec_cache_around, struct address_space *mapping, unsigned long index,
	     unsigned long last)
{
	return wanted() ? note(EBT_V_page_cache_kind_fault_around, mapping->host, index,
			       (__u64)last - index + 1)
			: 0;
}
