/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `pagecache`. */
#include "record/config/skeleton.h"
#include "record/config/source.h"

static void configure(struct source_context *context)
{
	/* Tracepoints got folios in the version that renamed this one. */
	context->skel->rodata->config.cache_pages =
		!kernel_has_tracepoint(context->kernel, "writeback_dirty_folio");
	if (!kernel_has_tracepoint(context->kernel, "mm_filemap_get_pages"))
		return;
	source_load(context, "ebrec_cache_read");
	source_load(context, "ebrec_cache_fault");
	source_load(context, "ebrec_cache_around");
}

const struct ebrec_source source_pagecache = {
	.name = "pagecache",
	.doc = "pages of files in memory: looked up, added, removed, made dirty",
	.elsewhere = "cache",
	.cost = "about 0.2 us for each read of a file, and for each page that comes or goes",
	.tables = (const uint16_t[]){ EBT_T_page_cache, EBT_T_inode_path, 0 },
	.needs = (const char *const[]){ "mm_filemap_add_to_page_cache", NULL },
	.wants =
		(const struct source_want[]){
			{ "mm_filemap_delete_from_page_cache", "pages that go" },
			{ "writeback_dirty_page", "dirtied pages",
			  .other = "writeback_dirty_folio" },
			{ "mm_filemap_get_pages", "lookups, so hits are not known" },
			{ NULL } },
	.programs = (const char *const[]){ "ebrec_cache_add", "ebrec_cache_delete",
					   "ebrec_cache_dirty", NULL },
	.maps = (const char *const[]){ "cache_last", "inode_", NULL },
	.configure = configure,
};
