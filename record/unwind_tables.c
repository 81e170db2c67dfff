/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building unwind tables and placing them in maps; see unwind_tables.h. */
#include "unwind_tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/unwind_maps.h"
#include "clocks.h"
#include "keymap.h"
#include "skeleton.h"
#include "table.h"

#define CHUNK_BYTES (UNWIND_CHUNK_ROWS * sizeof(struct cfi_row))

/* Files of an average program have a thousand rows a page; small ones fewer. */
#define PAGES_PER_CHUNK 1024u
#define MAX_TABLES	16384u

/* Of a table in the maps: what is needed to place a mapping. */
struct placed {
	struct unwind_segments segments;
	uint64_t base;
};

struct unwind_tables {
	const struct ebrec_bpf *skel;
	struct ebrec_unwind_page *pages;
	struct ebrec_unwind_table *tables;
	size_t pages_bytes, tables_bytes;
	uint32_t n_pages, max_pages;
	struct placed *placed;
	uint32_t n_tables;
	struct keymap keys; /* to the number of a table */

	struct cfi_row *chunk; /* the newest, being filled */
	int chunk_fd;
	uint32_t n_chunks, max_chunks, chunk_used;
	struct unwind_tables_stats stats;
};

void unwind_tables_configure(struct ebrec_bpf *skel, uint64_t bytes)
{
	uint32_t chunks = bytes < CHUNK_BYTES ? 1 : (uint32_t)(bytes / CHUNK_BYTES);

	bpf_map__set_max_entries(skel->maps.unwind_rows, chunks);
	bpf_map__set_max_entries(skel->maps.unwind_pages, chunks * PAGES_PER_CHUNK);
	bpf_map__set_max_entries(skel->maps.unwind_tables, MAX_TABLES);
}

static void *map_array(const struct bpf_map *map, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static size_t map_bytes(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return ((size_t)bpf_map__max_entries(map) * bpf_map__value_size(map) + page - 1) &
	       ~(page - 1);
}

struct ebt_error *unwind_tables_create(const struct ebrec_bpf *skel, struct unwind_tables **ret)
{
	_cleanup_(unwind_tables_destroyp) struct unwind_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return &ebt_enomem;
	t->skel = skel;
	t->chunk_fd = -1;
	t->max_chunks = bpf_map__max_entries(skel->maps.unwind_rows);
	t->max_pages = bpf_map__max_entries(skel->maps.unwind_pages);
	t->pages_bytes = map_bytes(skel->maps.unwind_pages);
	t->tables_bytes = map_bytes(skel->maps.unwind_tables);
	t->pages = map_array(skel->maps.unwind_pages, t->pages_bytes);
	t->tables = map_array(skel->maps.unwind_tables, t->tables_bytes);
	t->placed = calloc(MAX_TABLES, sizeof(*t->placed));
	if (!t->placed)
		return &ebt_enomem;
	if (!t->pages || !t->tables)
		return ebt_error_errno(errno, "cannot map the unwind tables of the BPF programs");
	*ret = take_ptr(t);
	return NULL;
}

static void close_chunk(struct unwind_tables *t)
{
	if (t->chunk)
		munmap(t->chunk, CHUNK_BYTES);
	t->chunk = NULL;
	ebt_closep(&t->chunk_fd);
	t->chunk_fd = -1;
}

void unwind_tables_destroy(struct unwind_tables *t)
{
	if (!t)
		return;
	close_chunk(t);
	if (t->pages)
		munmap(t->pages, t->pages_bytes);
	if (t->tables)
		munmap(t->tables, t->tables_bytes);
	keymap_deinit(&t->keys);
	free(t->placed);
	free(t);
}

uint32_t unwind_tables_find(const struct unwind_tables *t, const void *key, size_t len)
{
	uint64_t value;

	return keymap_find(&t->keys, key, len, &value) ? (uint32_t)value : UNWIND_TABLE_LATER;
}

/* The kernel charges a chunk when it is made, so they are made as they are needed. */
static bool open_chunk(struct unwind_tables *t)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	uint32_t key = t->n_chunks;

	close_chunk(t);
	if (t->n_chunks == t->max_chunks)
		return false;
	t->chunk_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_chunk", sizeof(__u32),
				     sizeof(struct cfi_row), UNWIND_CHUNK_ROWS, &opts);
	if (t->chunk_fd < 0)
		return false;
	t->chunk = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, t->chunk_fd, 0);
	if (t->chunk == MAP_FAILED) {
		t->chunk = NULL;
		return false;
	}
	if (bpf_map_update_elem(bpf_map__fd(t->skel->maps.unwind_rows), &key, &t->chunk_fd,
				BPF_ANY))
		return false;
	t->n_chunks++;
	t->chunk_used = 0;
	t->stats.bytes += CHUNK_BYTES;
	return true;
}

/* A page has at most 65,536 rows, so it always fits an empty chunk. */
static bool place_page(struct unwind_tables *t, const struct unwind_table *table,
		       const struct unwind_table_page *page)
{
	struct ebrec_unwind_page *place;

	if (t->n_pages == t->max_pages)
		return false;
	place = &t->pages[t->n_pages++];
	*place = (struct ebrec_unwind_page){ 0 };
	if (!page->n)
		return true;
	if ((!t->chunk || t->chunk_used + page->n > UNWIND_CHUNK_ROWS) && !open_chunk(t))
		return false;
	memcpy(t->chunk + t->chunk_used, table->rows + page->first, page->n * sizeof(*table->rows));
	*place = (struct ebrec_unwind_page){ .chunk = t->n_chunks - 1,
					     .first = t->chunk_used,
					     .n = page->n };
	t->chunk_used += page->n;
	t->stats.rows += page->n;
	return true;
}

/* No program reads a table before a mapping names it, so the order of writing does not matter. */
static uint32_t place_table(struct unwind_tables *t, const struct unwind_table *table)
{
	const uint32_t first = t->n_pages;

	if (!table->n_pages) {
		t->stats.empty++;
		return UNWIND_TABLE_NONE;
	}
	for (size_t i = 0; i < table->n_pages && t->n_tables < MAX_TABLES; i++) {
		if (place_page(t, table, &table->pages[i]))
			continue;
		t->n_pages = first;
		t->stats.full++;
		return UNWIND_TABLE_FULL;
	}
	if (t->n_tables == MAX_TABLES) {
		t->stats.full++;
		return UNWIND_TABLE_FULL;
	}
	t->tables[t->n_tables] = (struct ebrec_unwind_table){ first, (uint32_t)table->n_pages };
	t->placed[t->n_tables] = (struct placed){ table->segments, table->base };
	t->stats.tables++;
	return t->n_tables++;
}

static uint32_t add_image(struct unwind_tables *t, const void *key, size_t len,
			  struct unwind_image *image)
{
	_cleanup_(unwind_table_destroyp) struct unwind_table *table = NULL;
	_cleanup_error_ struct ebt_error *err = unwind_table_build(image, &table);
	uint32_t number = err ? UNWIND_TABLE_NONE : place_table(t, table);

	unwind_image_deinit(image);
	if (!keymap_put(&t->keys, key, len, number))
		return UNWIND_TABLE_LATER;
	return number;
}

uint32_t unwind_tables_add(struct unwind_tables *t, const void *key, size_t len, int fd)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	uint64_t begin = clocks_now();
	struct unwind_image image = { 0 };
	uint32_t number;

	err = unwind_image_read(fd, &image);
	number = add_image(t, key, len, &image);
	t->stats.build_ns += clocks_now() - begin;
	return number;
}

uint32_t unwind_tables_add_memory(struct unwind_tables *t, const void *key, size_t key_len,
				  const void *data, size_t len)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	struct unwind_image image = { 0 };

	err = unwind_image_read_memory(data, len, &image);
	return add_image(t, key, key_len, &image);
}

bool unwind_tables_shift(const struct unwind_tables *t, uint32_t number, uint64_t *ret)
{
	const struct placed *placed = &t->placed[number];

	if (number >= t->n_tables || placed->segments.n != 1)
		return false;
	*ret = placed->segments.list[0].address - placed->segments.list[0].offset - placed->base;
	return true;
}

bool unwind_tables_bias(const struct unwind_tables *t, uint32_t number, uint64_t start,
			uint64_t pgoff, uint64_t *ret)
{
	uint64_t address;

	if (number >= t->n_tables ||
	    !unwind_segments_address(&t->placed[number].segments, pgoff, &address))
		return false;
	*ret = start - (address - t->placed[number].base);
	return true;
}

void unwind_tables_stats(const struct unwind_tables *t, struct unwind_tables_stats *ret)
{
	*ret = t->stats;
}
