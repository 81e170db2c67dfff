/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `pagecache`. */
#include "record/config/skeleton.h"
#include "record/config/source.h"

#include <stdio.h>

#define ADD    "mm_filemap_add_to_page_cache"
#define DELETE "mm_filemap_delete_from_page_cache"
#define FOLIO  "writeback_dirty_folio"
#define PAGE   "writeback_dirty_page"

static bool has_lookups(const struct kernel *kernel)
{
	return kernel_has_tracepoint(kernel, "mm_filemap_get_pages");
}

static void probe(const struct kernel *kernel, struct source_state *state)
{
	source_require(kernel, ADD, state);
	source_want(kernel, DELETE, "pages that go", state);
	if (!kernel_has_tracepoint(kernel, FOLIO))
		source_want(kernel, PAGE, "dirtied pages", state);
	source_want(kernel, "mm_filemap_get_pages", "lookups, so hits are not known", state);
}

static void autoload(struct bpf_program *program, const struct kernel *kernel,
		     const char *tracepoint)
{
	bpf_program__set_autoload(program, kernel_has_tracepoint(kernel, tracepoint));
}

static void configure(struct source_context *context)
{
	const struct kernel *kernel = context->kernel;
	struct ebrec_bpf *skel = context->skel;

	/* Tracepoints got folios in the version that renamed this one. */
	skel->rodata->config.cache_pages = !kernel_has_tracepoint(kernel, FOLIO);
	source_use_map(skel->maps.cache_last);
	source_use_map(skel->maps.inode_seen);
	source_use_map(skel->maps.inode_path_scratch);
	autoload(skel->progs.ebrec_cache_add, kernel, ADD);
	autoload(skel->progs.ebrec_cache_delete, kernel, DELETE);
	autoload(skel->progs.ebrec_cache_dirty, kernel, FOLIO);
	autoload(skel->progs.ebrec_cache_dirty_page, kernel, PAGE);
	if (!has_lookups(kernel))
		return;
	autoload(skel->progs.ebrec_cache_read, kernel, "mm_filemap_get_pages");
	autoload(skel->progs.ebrec_cache_fault, kernel, "mm_filemap_fault");
	autoload(skel->progs.ebrec_cache_around, kernel, "mm_filemap_map_pages");
}

const struct ebrec_source source_pagecache = {
	.name = "pagecache",
	.doc = "pages of files in memory: looked up, added, removed, made dirty",
	.cost = "about 0.2 us for each read of a file, and for each page that comes or goes",
	.tables = (const uint16_t[]){ EBT_T_page_cache, EBT_T_inode_path, 0 },
	.probe = probe,
	.configure = configure,
};
