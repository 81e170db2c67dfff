/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identities of mapped files; see identity.h. */
#include "identity.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "cleanup.h"
#include "index.h"

struct identities {
	struct identity *items;
	size_t n, capacity;
	struct sym_index by_file, by_path;
	uint64_t seed;
	uint32_t n_noted;
};

/* Different files of one path that are told apart. */
#define MAX_OF_PATH 64

#define LOAD_SIZE   40
#define MAX_LOADS   4096

DEFINE_CLEANUP(struct identities *, identities_destroy);
DEFINE_CLEANUP(struct ebt_cursor *, ebt_cursor_destroy);

void identities_destroy(struct identities *identities)
{
	if (!identities)
		return;
	for (size_t i = 0; i < identities->n; i++) {
		free(identities->items[i].path);
		free(identities->items[i].debuglink);
		free(identities->items[i].loads);
	}
	free(identities->items);
	sym_index_deinit(&identities->by_file);
	sym_index_deinit(&identities->by_path);
	free(identities);
}

/* A file that is deleted later is another mapping's path with this behind it. */
static size_t path_len(const char *path)
{
	static const char deleted[] = " (deleted)";
	const size_t len = strlen(path), tail = sizeof(deleted) - 1;

	return len > tail && !strcmp(path + len - tail, deleted) ? len - tail : len;
}

static uint64_t hash_path(const struct identities *identities, const char *path)
{
	return sym_hash_bytes(identities->seed, path, path_len(path));
}

static uint64_t hash_file(const struct identities *identities, const char *path,
			  const struct sym_build_id *id)
{
	return sym_hash_bytes(hash_path(identities, path), id->bytes, id->len);
}

static struct ebt_error *index_last(struct identities *identities)
{
	const struct identity *identity = &identities->items[identities->n - 1];
	struct ebt_error *err;

	err = sym_index_add(&identities->by_file,
			    hash_file(identities, identity->path, &identity->id),
			    identities->n - 1);
	return err ? err
		   : sym_index_add(&identities->by_path, hash_path(identities, identity->path),
				   identities->n - 1);
}

static uint64_t get_u64(const char *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v |= (uint64_t)(unsigned char)p[i] << 8 * i;
	return v;
}

/* Each PT_LOAD: offset, vaddr, file size, memory size, flags. */
static struct ebt_error *read_loads(struct identity *identity, struct ebt_str segments)
{
	size_t n = segments.len / LOAD_SIZE;

	if (!n || n > MAX_LOADS || segments.len % LOAD_SIZE)
		return NULL;
	identity->loads = calloc(n, sizeof(*identity->loads));
	if (!identity->loads)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		const char *p = segments.data + i * LOAD_SIZE;
		struct elf_load load = {
			.offset = get_u64(p),
			.vaddr = get_u64(p + 8),
			.filesz = get_u64(p + 16),
			.memsz = get_u64(p + 24),
			.exec = get_u64(p + 32) & PF_X,
		};

		/* As of those of files: sums are taken without checks. */
		if (load.offset <= INT64_MAX && load.filesz <= INT64_MAX &&
		    load.memsz <= UINT64_MAX - load.vaddr)
			identity->loads[identity->n_loads++] = load;
	}
	return NULL;
}

static struct ebt_error *add_row(struct identities *identities, const struct ebt_row *row)
{
	struct ebt_str path = ebt_str(row, EBT_F_object_path), id, hash, link;
	struct identity *identity;
	struct ebt_error *err;

	if (identities->n == identities->capacity) {
		size_t capacity = identities->capacity ? identities->capacity * 2 : 64;
		struct identity *items = reallocarray(identities->items, capacity, sizeof(*items));

		if (!items)
			return &ebt_enomem;
		identities->items = items;
		identities->capacity = capacity;
	}
	id = ebt_str(row, EBT_F_object_build_id);
	hash = ebt_str(row, EBT_F_object_hash);
	link = ebt_str(row, EBT_F_object_debuglink);
	identity = &identities->items[identities->n++];
	*identity = (struct identity){
		.path = strndup(path.data, path.len),
		.id.len = id.len <= SYM_BUILD_ID_MAX ? id.len : 0,
		.size = ebt_u64(row, EBT_F_object_size),
		.mtime_ns = ebt_i64(row, EBT_F_object_mtime),
		.file_id = ebt_u64(row, EBT_F_object_file_id),
		.hashed = hash.len == IDENTITY_HASH_SIZE,
		.debuglink = strndup(link.data, link.len),
		.debuglink_crc = ebt_u64(row, EBT_F_object_debuglink_crc),
	};
	if (!identity->path || !identity->debuglink)
		return &ebt_enomem;
	err = read_loads(identity, ebt_str(row, EBT_F_object_segments));
	if (err)
		return err;
	memcpy(identity->id.bytes, id.data, identity->id.len);
	if (identity->hashed)
		memcpy(identity->hash, hash.data, hash.len);
	/* A name, not a path. */
	if (strchr(identity->debuglink, '/'))
		identity->debuglink[0] = '\0';
	return index_last(identities);
}

struct ebt_error *identities_create(struct ebt_reader *reader, struct identities **ret)
{
	static const struct ebt_want want = {
		EBT_T_object, EBT_COL(object, size) | EBT_COL(object, mtime) |
				      EBT_COL(object, file_id) | EBT_COL(object, debuglink_crc) |
				      EBT_COL(object, path) | EBT_COL(object, build_id) |
				      EBT_COL(object, hash) | EBT_COL(object, debuglink) |
				      EBT_COL(object, segments)
	};
	static const struct ebt_query query = { &want, 1, 0, 0, 0 };
	_cleanup_(identities_destroyp) struct identities *identities =
		calloc(1, sizeof(*identities));
	_cleanup_(ebt_cursor_destroyp) struct ebt_cursor *cursor = NULL;
	struct ebt_error *err;

	if (!identities)
		return &ebt_enomem;
	identities->seed = sym_hash_u64(0, (uintptr_t)identities);
	err = ebt_cursor_create(reader, &query, &cursor);
	while (!err) {
		struct ebt_row row;

		err = ebt_cursor_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = add_row(identities, &row);
	}
	if (err)
		return err;
	*ret = take_ptr(identities);
	return NULL;
}

static bool same_content(const struct identity *a, const struct identity *b)
{
	if (a->id.len || b->id.len)
		return sym_build_id_equal(&a->id, &b->id);
	if (a->size != b->size || a->hashed != b->hashed)
		return false;
	return a->hashed ? !memcmp(a->hash, b->hash, sizeof(a->hash)) : a->mtime_ns == b->mtime_ns;
}

const struct identity *identities_find(const struct identities *identities, const char *path,
				       const struct sym_build_id *id)
{
	const struct sym_index *index = id->len ? &identities->by_file : &identities->by_path;
	uint64_t hash = id->len ? hash_file(identities, path, id) : hash_path(identities, path);
	const struct identity *found = NULL;
	size_t at = 0, n = 0;
	uint32_t i;

	while (n++ < MAX_OF_PATH && (i = sym_index_next(index, hash, &at)) != SYM_INDEX_NONE) {
		const struct identity *identity = &identities->items[i];

		if (path_len(identity->path) != path_len(path) ||
		    memcmp(identity->path, path, path_len(path)))
			continue;
		if (id->len) {
			if (sym_build_id_equal(&identity->id, id) && (!found || identity->file_id))
				found = identity;
		} else if (!found) {
			found = identity;
		} else if (!same_content(found, identity)) {
			return NULL;
		}
	}
	return found;
}

void identities_note(struct identities *identities, const struct identity *identity)
{
	struct identity *own = &identities->items[identity - identities->items];

	identities->n_noted += !own->noted;
	own->noted = true;
}

uint32_t identities_noted(const struct identities *identities)
{
	return identities->n_noted;
}

bool identity_hash_is(const struct identity *identity, int fd)
{
	XXH3_state_t *state = XXH3_createState();
	_cleanup_free_ uint8_t *buffer = malloc(1 << 18);
	XXH128_canonical_t hash;
	off_t at = 0;
	ssize_t n = -1;

	if (state && buffer && XXH3_128bits_reset(state) == XXH_OK) {
		while ((n = pread(fd, buffer, 1 << 18, at)) > 0) {
			XXH3_128bits_update(state, buffer, n);
			at += n;
		}
		XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(state));
	}
	XXH3_freeState(state);
	return !n && !memcmp(&hash, identity->hash, sizeof(identity->hash));
}
