/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building unwind tables and placing them in maps; see tables.h. */
#include "record/unwind/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "record/base/clocks.h"
#include "record/base/keymap.h"
#include "record/bpf/unwind_maps.h"
#include "record/config/skeleton.h"
#include "record/unwind/builder.h"
#include "record/unwind/python.h"
#include "record/unwind/slots.h"
#include "unwind/table.h"

#define CHUNK_BYTES (UNWIND_CHUNK_ROWS * sizeof(struct cfi_row))

/* Files of an average program have a thousand rows a page; small ones fewer. */
#define PAGES_PER_CHUNK 1024u
#define MAX_TABLES	16384u

/* How often it is found out which tables are in use. */
#define TICK_NS UINT64_C(1000000000)
/* Ticks without use after which rows may go. */
#define MIN_IDLE 2
/* Tables that are made again in one go. */
#define MAX_AGAIN 2
/* Bytes of unwind information that take too long to be waited for: 5 ms. */
#define LARGE (1u << 20)

/* What is known of a table besides its rows. */
struct table_state {
	uint32_t first_page, n_pages, n_rows; /* as many as it has, also while they are not there */
	uint32_t idle;			      /* ticks */
	bool resident;
	bool wanted;	       /* and not resident */
	bool queued;	       /* it is being made */
	bool had_room;	       /* once at least */
	struct mapping source; /* without a path: it cannot be found again. The path is owned */
};

struct unwind_tables {
	const struct ebrec_bpf *skel;
	struct ebrec_unwind_page *pages;
	struct ebrec_unwind_table *tables;
	struct unwind_table *placed; /* their rows are those of the maps, where they are there */
	struct table_state *states;
	uint32_t n_tables, n_wanted;
	struct keymap keys; /* to the number of a table */
	uint64_t ticked, evicted_ns;

	struct unwind_builder *builder;
	struct unwind_slots page_room, row_room;
	struct cfi_row *rows; /* memory of all chunks, one behind the other */
	uint32_t n_chunks, max_chunks;
	struct unwind_tables_stats stats;
};

void unwind_tables_configure(struct ebrec_bpf *skel, uint64_t bytes)
{
	uint32_t chunks = bytes < CHUNK_BYTES ? 1 : (uint32_t)(bytes / CHUNK_BYTES);

	source_use_map(skel->maps.unwind_rows);
	source_use_map(skel->maps.unwind_pages);
	source_use_map(skel->maps.unwind_tables);
	bpf_map__set_max_entries(skel->maps.unwind_rows, chunks);
	bpf_map__set_max_entries(skel->maps.unwind_pages, chunks * PAGES_PER_CHUNK);
	bpf_map__set_max_entries(skel->maps.unwind_tables, MAX_TABLES);
}

static size_t map_bytes(const struct bpf_map *map)
{
	return (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
}

static void *map_array(const struct bpf_map *map)
{
	void *memory =
		mmap(NULL, map_bytes(map), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

struct ebt_error *unwind_tables_create(const struct ebrec_bpf *skel, struct unwind_tables **ret)
{
	_cleanup_(unwind_tables_destroyp) struct unwind_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return &ebt_enomem;
	t->skel = skel;
	t->max_chunks = bpf_map__max_entries(skel->maps.unwind_rows);
	t->row_room.unit = UNWIND_CHUNK_ROWS;
	t->page_room.unit = UINT32_MAX;
	if (!unwind_slots_give(&t->page_room, 0, bpf_map__max_entries(skel->maps.unwind_pages), 0))
		return &ebt_enomem;
	t->pages = map_array(skel->maps.unwind_pages);
	t->tables = map_array(skel->maps.unwind_tables);
	t->placed = calloc(MAX_TABLES, sizeof(*t->placed));
	t->states = calloc(MAX_TABLES, sizeof(*t->states));
	t->builder = unwind_builder_create();
	if (!t->placed || !t->states || !t->builder)
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
	unwind_builder_destroy(t->builder);
	if (t->rows)
		munmap(t->rows, t->max_chunks * CHUNK_BYTES);
	if (t->pages)
		munmap(t->pages, map_bytes(t->skel->maps.unwind_pages));
	if (t->tables)
		munmap(t->tables, map_bytes(t->skel->maps.unwind_tables));
	keymap_deinit(&t->keys);
	for (uint32_t i = 0; i < t->n_tables; i++) {
		free(t->placed[i].pages);
		free((char *)t->states[i].source.path);
	}
	free(t->placed);
	free(t->states);
	unwind_slots_deinit(&t->page_room);
	unwind_slots_deinit(&t->row_room);
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
	t->stats.bytes += CHUNK_BYTES;
	return unwind_slots_give(&t->row_room, key * UNWIND_CHUNK_ROWS, UNWIND_CHUNK_ROWS, 0);
}

/* Gives back the rows of the first n pages. since: 0 if no program has seen them. */
static void give_rows(struct unwind_tables *t, const struct unwind_table_page *pages, size_t n,
		      uint64_t since)
{
	for (size_t i = 0; i < n; i++) {
		if (unwind_slots_give(&t->row_room, pages[i].first, pages[i].n, since))
			t->stats.rows -= pages[i].n;
	}
}

/* A page has at most 65,536 rows, so it always fits an empty chunk. *page then says where among all
 * rows of the maps its own are. */
static bool place_page(struct unwind_tables *t, const struct cfi_row *rows,
		       struct unwind_table_page *page, struct ebrec_unwind_page *place,
		       uint64_t now_ns)
{
	uint32_t first;

	*place = (struct ebrec_unwind_page){ 0 };
	if (!page->n)
		return true;
	if (!unwind_slots_take(&t->row_room, page->n, now_ns, &first) &&
	    (!open_chunk(t) || !unwind_slots_take(&t->row_room, page->n, now_ns, &first)))
		return false;
	memcpy(t->rows + first, rows + page->first, page->n * sizeof(*rows));
	*place = (struct ebrec_unwind_page){ .chunk = first / UNWIND_CHUNK_ROWS,
					     .first = first % UNWIND_CHUNK_ROWS,
					     .n = page->n };
	page->first = first;
	t->stats.rows += page->n;
	return true;
}

static bool place_pages(struct unwind_tables *t, struct unwind_table *table, uint32_t *ret)
{
	const uint64_t now = clocks_now();
	uint32_t first;

	if (table->n_pages > UINT32_MAX ||
	    !unwind_slots_take(&t->page_room, (uint32_t)table->n_pages, now, &first))
		return false;
	for (size_t i = 0; i < table->n_pages; i++) {
		if (place_page(t, table->rows, &table->pages[i], &t->pages[first + i], now))
			continue;
		give_rows(t, table->pages, i, 0);
		unwind_slots_give(&t->page_room, first, (uint32_t)table->n_pages, 0);
		return false;
	}
	*ret = first;
	return true;
}

/* Takes the table's pages, if there is room for its rows. */
static bool place_table(struct unwind_tables *t, uint32_t number, struct unwind_table *table,
			bool again)
{
	struct table_state *state = &t->states[number];
	struct ebrec_unwind_table *shown = &t->tables[number];
	uint32_t first;

	t->placed[number] = *table;
	t->placed[number].rows = NULL;
	t->placed[number].pages = NULL;
	state->n_pages = (uint32_t)table->n_pages;
	state->n_rows = (uint32_t)table->n_rows;
	if (!place_pages(t, table, &first))
		return false;
	t->placed[number].rows = t->rows;
	t->placed[number].pages = table->pages;
	table->pages = NULL;
	state->resident = true;
	t->stats.full -= again && !state->had_room;
	state->had_room = true;
	state->idle = 0;
	state->first_page = first;
	/* A walk looks at n_pages first. */
	shown->used = 1;
	__atomic_store_n(&shown->first_page, first, __ATOMIC_RELEASE);
	__atomic_store_n(&shown->n_pages, state->n_pages, __ATOMIC_RELEASE);
	return true;
}

/* Walks find no rows from now on; one that has begun may still read them. */
static void evict(struct unwind_tables *t, uint32_t number, uint64_t now_ns)
{
	struct table_state *state = &t->states[number];
	struct unwind_table *table = &t->placed[number];

	__atomic_store_n(&t->tables[number].n_pages, 0, __ATOMIC_RELEASE);
	give_rows(t, table->pages, state->n_pages, now_ns);
	unwind_slots_give(&t->page_room, state->first_page, state->n_pages, now_ns);
	free(table->pages);
	table->pages = NULL;
	table->rows = NULL;
	state->resident = false;
	t->evicted_ns = now_ns;
	t->stats.evicted++;
	t->stats.tables--;
}

static void want(struct unwind_tables *t, uint32_t number)
{
	t->n_wanted += !t->states[number].wanted;
	t->states[number].wanted = true;
}

/* A new table, with rows or, for want of room, without them for the time being. */
static uint32_t number_table(struct unwind_tables *t, struct unwind_table *table)
{
	uint32_t number = t->n_tables;

	if (!table->n_pages) {
		t->stats.empty++;
		return UNWIND_TABLE_NONE;
	}
	if (number == MAX_TABLES) {
		t->stats.full++;
		return UNWIND_TABLE_FULL;
	}
	t->n_tables++;
	if (place_table(t, number, table, false)) {
		t->stats.tables++;
	} else {
		t->stats.full++;
		want(t, number);
	}
	return number;
}

static bool is_large(const struct unwind_image *image)
{
	size_t bytes = 0;

	for (size_t i = 0; i < image->n_sections; i++)
		bytes += image->sections[i].len;
	return bytes >= LARGE;
}

/* Has it made by the other thread. */
static bool queue_image(struct unwind_tables *t, uint32_t number, struct unwind_image *image)
{
	const struct unwind_table known = {
		.arch = image->arch,
		.base = image->base,
		.segments = image->segments,
	};

	if (number == MAX_TABLES || !is_large(image) ||
	    !unwind_builder_add(t->builder, number, image))
		return false;
	if (number == t->n_tables) {
		t->placed[number] = known;
		t->n_tables++;
	}
	t->states[number].queued = true;
	return true;
}

static uint32_t add_image(struct unwind_tables *t, const void *key, size_t len,
			  struct unwind_image *image)
{
	_cleanup_(unwind_table_destroyp) struct unwind_table *table = NULL;
	_cleanup_error_ struct ebt_error *err = NULL;
	uint32_t number = t->n_tables;

	if (!queue_image(t, number, image)) {
		err = unwind_table_build(image, &table);
		number = err ? UNWIND_TABLE_NONE : number_table(t, table);
	}
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
	if (number < t->n_tables)
		python_file(t->skel, fd, number, t->placed[number].base);
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

/* Places what the other thread has made. */
static void take_made(struct unwind_tables *t, uint64_t until)
{
	struct unwind_table *table;
	uint32_t number;

	while (unwind_builder_next(t->builder, until, &number, &table)) {
		struct table_state *state = &t->states[number];
		bool first = !state->n_rows;

		state->queued = false;
		if (!table || !table->n_pages) {
			t->stats.empty++;
		} else if (place_table(t, number, table, !first)) {
			t->stats.tables++;
		} else {
			t->stats.full += first;
			want(t, number);
		}
		unwind_table_destroy(table);
	}
}

void unwind_tables_wait(struct unwind_tables *t)
{
	take_made(t, UINT64_MAX);
}

void unwind_tables_tell_exec(const struct unwind_tables *t, uint32_t number, const struct stat *st)
{
	struct ebrec_unwind_file_key key = {
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_s = st->st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
		.dev_major = major(st->st_dev),
		.dev_minor = minor(st->st_dev),
	};
	struct ebrec_unwind_file file = { .table = number };
	const struct unwind_segment *code;

	if (number >= t->n_tables || t->placed[number].segments.n != 1)
		return;
	code = t->placed[number].segments.list;
	file.shift = code->address - code->offset - t->placed[number].base;
	/* Where there is no room, the recorder places the mapping a little later. */
	bpf_map_update_elem(bpf_map__fd(t->skel->maps.unwind_files), &key, &file, BPF_ANY);
}

bool unwind_tables_bias(const struct unwind_tables *t, uint32_t number, uint64_t start,
			uint64_t pgoff, uint64_t *ret)
{
	return number < t->n_tables && unwind_table_bias(&t->placed[number], start, pgoff, ret);
}

const struct unwind_table *unwind_tables_get(struct unwind_tables *t, uint32_t number,
					     uint64_t until)
{
	if (number >= t->n_tables)
		return NULL;
	if (t->states[number].queued)
		take_made(t, until);
	return t->states[number].resident ? &t->placed[number] : NULL;
}

/* --- rows that come and go --- */

void unwind_tables_remember(struct unwind_tables *t, uint32_t number, const struct mapping *m)
{
	struct mapping *source;
	char *path;

	if (number >= t->n_tables || !m->path_len)
		return;
	source = &t->states[number].source;
	path = (char *)source->path;
	if (!path || source->path_len != m->path_len || memcmp(path, m->path, m->path_len)) {
		path = strndup(m->path, m->path_len);
		if (!path)
			return;
		free((char *)source->path);
	}
	*source = *m;
	source->path = path;
}

/* Which tables were looked for since the last time. */
static void tick(struct unwind_tables *t)
{
	for (uint32_t i = 0; i < t->n_tables; i++) {
		struct table_state *state = &t->states[i];
		bool used = __atomic_exchange_n(&t->tables[i].used, 0, __ATOMIC_RELAXED);

		state->idle = used ? 0 : state->idle + 1;
		if (used && !state->resident && !state->queued && state->source.path_len)
			want(t, i);
	}
}

/* The table whose rows are missed the least, or n_tables. */
static uint32_t find_idle(const struct unwind_tables *t)
{
	uint32_t found = t->n_tables, most = MIN_IDLE - 1;

	for (uint32_t i = 0; i < t->n_tables; i++) {
		const struct table_state *state = &t->states[i];

		if (state->resident && state->source.path_len && state->idle > most) {
			most = state->idle;
			found = i;
		}
	}
	return found;
}

static bool has_room(const struct unwind_tables *t, const struct table_state *state)
{
	uint64_t rows = unwind_slots_free(&t->row_room) +
			(uint64_t)(t->max_chunks - t->n_chunks) * UNWIND_CHUNK_ROWS;

	return rows >= state->n_rows && unwind_slots_free(&t->page_room) >= state->n_pages;
}

/* Room for a table, if others are idle; it has to rest before it can be used. */
static bool make_room(struct unwind_tables *t, const struct table_state *state, uint64_t now_ns)
{
	uint32_t victim;

	while (!has_room(t, state)) {
		victim = find_idle(t);
		if (victim == t->n_tables)
			return false;
		evict(t, victim, now_ns);
	}
	return true;
}

/* False: not now, as there is no room in one piece. */
static bool make_again(struct unwind_tables *t, uint32_t number,
		       int (*open)(const struct mapping *mapping))
{
	_cleanup_(unwind_table_destroyp) struct unwind_table *table = NULL;
	_cleanup_close_ int fd = open(&t->states[number].source);
	_cleanup_error_ struct ebt_error *err = NULL;
	struct unwind_image image = { 0 };
	uint64_t begin = clocks_now();
	bool placed;

	if (fd < 0)
		return true;
	err = unwind_image_read(fd, &image);
	if (!err && queue_image(t, number, &image))
		return true;
	if (!err)
		err = unwind_table_build(&image, &table);
	unwind_image_deinit(&image);
	t->stats.build_ns += clocks_now() - begin;
	if (err || !table->n_pages)
		return true;
	placed = place_table(t, number, table, true);
	t->stats.tables += placed;
	return placed;
}

static void forget_wish(struct unwind_tables *t, uint32_t number)
{
	t->states[number].wanted = false;
	t->n_wanted--;
}

/* Nobody looks for it any more, or it cannot be had. */
static bool is_idle_wish(const struct unwind_tables *t, const struct table_state *state)
{
	return state->idle >= MIN_IDLE || !state->source.path_len ||
	       state->n_rows > (uint64_t)t->max_chunks * UNWIND_CHUNK_ROWS;
}

void unwind_tables_work(struct unwind_tables *t, uint64_t now_ns,
			int (*open)(const struct mapping *mapping))
{
	bool more = true;
	uint32_t n = 0, victim;

	take_made(t, 0);
	if (now_ns - t->ticked >= TICK_NS) {
		t->ticked = now_ns;
		tick(t);
	}
	for (uint32_t i = 0; t->n_wanted && i < t->n_tables && n < MAX_AGAIN; i++) {
		struct table_state *state = &t->states[i];

		if (!state->wanted)
			continue;
		if (is_idle_wish(t, state)) {
			forget_wish(t, i);
			continue;
		}
		more = more && make_room(t, state, now_ns);
		if (!has_room(t, state) || now_ns - t->evicted_ns < UNWIND_REST_NS)
			continue;
		n++;
		/* There may be room, but in small pieces; whoever wants it will say so again. */
		victim = make_again(t, i, open) ? t->n_tables : find_idle(t);
		if (victim < t->n_tables)
			evict(t, victim, now_ns);
		else
			forget_wish(t, i);
	}
}

void unwind_tables_stats(const struct unwind_tables *t, struct unwind_tables_stats *ret)
{
	*ret = t->stats;
}
