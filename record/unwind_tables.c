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

struct unwind_tables {
	const struct ebrec_bpf *skel;
	struct ebrec_unwind_page *pages;
	struct ebrec_unwind_table *tables;
	size_t pages_bytes, tables_bytes;
	uint32_t n_pages, max_pages;
	struct unwind_table *placed; /* their rows are those of the maps */
	uint32_t n_tables;
	struct keymap keys; /* to the number of a table */

	struct cfi_row *rows; /* memory of all chunks, one behind the other; the last is filled */
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
	t->max_chunks = bpf_map__max_entries(skel->maps.unwind_rows);
	t->max_pages = bpf_map__max_entries(skel->maps.unwind_pages);
	t->pages_bytes = map_bytes(skel->maps.unwind_pages);
	t->tables_bytes = map_bytes(skel->maps.unwind_tables);
	t->pages = map_array(skel->maps.unwind_pages, t->pages_bytes);
	t->tables = map_array(skel->maps.unwind_tables, t->tables_bytes);
	t->placed = calloc(MAX_TABLES, sizeof(*t->placed));
	if (!t->placed)
		return &ebt_enomem;
	/* Only room, until chunks are mapped into it. */
	t->rows = mmap(NULL, t->max_chunks * CHUNK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (t->rows == MAP_FAILED)
		t->rows = NULL;
	if (!t->pages || !t->tables || !t->rows)
		return ebt_error_errno(errno, "cannot map the unwind tables of the BPF programs");
	*ret = take_ptr(t);
	return NULL;
}

void unwind_tables_destroy(struct unwind_tables *t)
{
	if (!t)
		return;
	if (t->rows)
		munmap(t->rows, t->max_chunks * CHUNK_BYTES);
	if (t->pages)
		munmap(t->pages, t->pages_bytes);
	if (t->tables)
		munmap(t->tables, t->tables_bytes);
	keymap_deinit(&t->keys);
	for (uint32_t i = 0; t->placed && i < t->n_tables; i++)
		free(t->placed[i].pages);
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
	_cleanup_close_ int fd = -1;

	if (t->n_chunks == t->max_chunks)
		return false;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_chunk", sizeof(__u32),
			    sizeof(struct cfi_row), UNWIND_CHUNK_ROWS, &opts);
	if (fd < 0)
		return false;
	if (mmap(t->rows + (size_t)t->n_chunks * UNWIND_CHUNK_ROWS, CHUNK_BYTES,
		 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return false;
	if (bpf_map_update_elem(bpf_map__fd(t->skel->maps.unwind_rows), &key, &fd, BPF_ANY))
		return false;
	t->n_chunks++;
	t->chunk_used = 0;
	t->stats.bytes += CHUNK_BYTES;
	return true;
}

/* A page has at most 65,536 rows, so it always fits an empty chunk. *page then says where among all
 * rows of the maps its own are. */
static bool place_page(struct unwind_tables *t, const struct cfi_row *rows,
		       struct unwind_table_page *page)
{
	struct ebrec_unwind_page *place;
	uint32_t first;

	if (t->n_pages == t->max_pages)
		return false;
	place = &t->pages[t->n_pages++];
	*place = (struct ebrec_unwind_page){ 0 };
	if (!page->n)
		return true;
	if ((!t->n_chunks || t->chunk_used + page->n > UNWIND_CHUNK_ROWS) && !open_chunk(t))
		return false;
	first = (t->n_chunks - 1) * UNWIND_CHUNK_ROWS + t->chunk_used;
	memcpy(t->rows + first, rows + page->first, page->n * sizeof(*rows));
	*place = (struct ebrec_unwind_page){ .chunk = t->n_chunks - 1,
					     .first = t->chunk_used,
					     .n = page->n };
	page->first = first;
	t->chunk_used += page->n;
	t->stats.rows += page->n;
	return true;
}

/* No program reads a table before a mapping names it, so the order of writing does not matter.
 * Takes the table's pages. */
static uint32_t place_table(struct unwind_tables *t, struct unwind_table *table)
{
	const uint32_t first = t->n_pages;

	if (!table->n_pages) {
		t->stats.empty++;
		return UNWIND_TABLE_NONE;
	}
	for (size_t i = 0; i < table->n_pages && t->n_tables < MAX_TABLES; i++) {
		if (place_page(t, table->rows, &table->pages[i]))
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
	t->placed[t->n_tables] = *table;
	t->placed[t->n_tables].rows = t->rows;
	table->pages = NULL;
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
	const struct unwind_table *placed = &t->placed[number];

	if (number >= t->n_tables || placed->segments.n != 1)
		return false;
	*ret = placed->segments.list[0].address - placed->segments.list[0].offset - placed->base;
	return true;
}

bool unwind_tables_bias(const struct unwind_tables *t, uint32_t number, uint64_t start,
			uint64_t pgoff, uint64_t *ret)
{
	return number < t->n_tables && unwind_table_bias(&t->placed[number], start, pgoff, ret);
}

const struct unwind_table *unwind_tables_get(const struct unwind_tables *t, uint32_t number)
{
	return number < t->n_tables ? &t->placed[number] : NULL;
}

void unwind_tables_stats(const struct unwind_tables *t, struct unwind_tables_stats *ret)
{
	*ret = t->stats;
}
