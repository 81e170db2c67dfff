/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identities of mapped files; see identity.h. */
#include "symbolize/files/identity.h"

#include <elf.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "format/base/arena.h"
#include "format/base/array.h"
#include "format/base/bytes.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"

struct identities {
	struct ebt_arena arena; /* of paths, names and segments */
	struct identity *items;
	size_t n, capacity;
	struct ebt_map by_file, by_path;
	uint32_t n_noted;
};

/* Different files of one path that are told apart. */
#define MAX_OF_PATH 64

/* The kernel has no longer ones, with what it puts behind them. */
#define MAX_PATH (PATH_MAX + 64)

/* For paths and segments; 100,000 files take 50 MB. What is beyond has no identity. */
#define MAX_MEMORY ((size_t)512 << 20)

#define LOAD_SIZE  40
#define MAX_LOADS  4096

DEFINE_CLEANUP(struct identities *, identities_destroy);

void identities_destroy(struct identities *identities)
{
	if (!identities)
		return;
	ebt_arena_deinit(&identities->arena);
	free(identities->items);
	ebt_map_deinit(&identities->by_file);
	ebt_map_deinit(&identities->by_path);
	free(identities);
}

/* A file that is deleted later is another mapping's path with this behind it. */
static size_t path_len(const char *path)
{
	static const char deleted[] = " (deleted)";
	const size_t len = strlen(path), tail = sizeof(deleted) - 1;

	return len > tail && !strcmp(path + len - tail, deleted) ? len - tail : len;
}

static uint64_t hash_path(const char *path)
{
	return ebt_hash_bytes(0, path, path_len(path));
}

static uint64_t hash_file(const char *path, const struct sym_build_id *id)
{
	return ebt_hash_bytes(hash_path(path), id->bytes, id->len);
}

/* Each PT_LOAD: offset, vaddr, file size, memory size, flags. */
static struct ebt_error *read_loads(struct identities *identities, struct ebt_str segments,
				    struct identity *identity)
{
	size_t n = segments.len / LOAD_SIZE;
	struct ebt_error *err;
	void *loads;

	if (!n || n > MAX_LOADS || segments.len % LOAD_SIZE)
		return NULL;
	err = ebt_arena_alloc(&identities->arena, n * sizeof(*identity->loads), &loads);
	if (err)
		return err;
	identity->loads = loads;
	for (size_t i = 0; i < n; i++) {
		const char *p = segments.data + i * LOAD_SIZE;
		struct elf_load load = {
			.offset = ebt_load_u64(p),
			.vaddr = ebt_load_u64(p + 8),
			.filesz = ebt_load_u64(p + 16),
			.memsz = ebt_load_u64(p + 24),
			.exec = ebt_load_u64(p + 32) & PF_X,
		};

		/* As of those of files: sums are taken without checks. */
		if (load.offset <= INT64_MAX && load.filesz <= INT64_MAX &&
		    load.memsz <= UINT64_MAX - load.vaddr)
			identity->loads[identity->n_loads++] = load;
	}
	return NULL;
}

/* What needs memory of its own. */
static struct ebt_error *read_texts(struct identities *identities, const struct ebt_row *row,
				    const char *path, struct identity *identity)
{
	struct ebt_str link = ebt_object_debuglink(row);
	struct ebt_error *err;

	/* A name, not a path. */
	if (link.len > NAME_MAX || (link.len && memchr(link.data, '/', link.len)))
		link.len = 0;
	err = ebt_arena_string(&identities->arena, path, strlen(path), &identity->path);
	if (err)
		return err;
	err = ebt_arena_string(&identities->arena, link.data, link.len, &identity->debuglink);
	return err ? err : read_loads(identities, ebt_object_segments(row), identity);
}

/* Adds it where it can be found: of one file, and at one path, only so many are looked at. */
static struct ebt_error *add_identity(struct identities *identities, const struct ebt_row *row,
				      const char *path, struct identity *identity)
{
	uint64_t by_file = hash_file(path, &identity->id);
	uint64_t by_path = hash_path(path);
	bool to_file = !ebt_map_has(&identities->by_file, by_file, MAX_OF_PATH);
	bool to_path = !ebt_map_has(&identities->by_path, by_path, MAX_OF_PATH);
	struct ebt_error *err;

	if (!to_file && !to_path)
		return NULL;
	err = ebt_array_reserve(&identities->items, identities->n, &identities->capacity);
	if (err)
		return err;
	err = read_texts(identities, row, path, identity);
	if (err)
		return err;
	identities->items[identities->n] = *identity;
	if (to_file)
		err = ebt_map_insert(&identities->by_file, by_file, identities->n);
	if (!err && to_path)
		err = ebt_map_insert(&identities->by_path, by_path, identities->n);
	identities->n++;
	return err;
}

static struct ebt_error *add_row(void *arg, const struct ebt_row *row)
{
	struct identities *identities = arg;
	struct ebt_str path = ebt_object_path(row);
	struct ebt_str id = ebt_object_build_id(row);
	struct ebt_str hash = ebt_object_hash(row);
	struct identity identity = {
		.id.len = id.len <= SYM_BUILD_ID_MAX ? id.len : 0,
		.size = ebt_object_size(row),
		.mtime_ns = ebt_object_mtime(row),
		.file_id = ebt_object_file_id(row),
		.hashed = hash.len == IDENTITY_HASH_SIZE,
		.debuglink_crc = ebt_object_debuglink_crc(row),
	};
	char text[MAX_PATH + 1];
	struct ebt_error *err;

	if (path.len > MAX_PATH)
		return NULL;
	memcpy(text, path.data, path.len);
	text[path.len] = '\0';
	memcpy(identity.id.bytes, id.data, identity.id.len);
	if (identity.hashed)
		memcpy(identity.hash, hash.data, hash.len);
	err = add_identity(identities, row, text, &identity);
	if (err && err->code == EBT_ERR_LIMIT) {
		ebt_error_destroy(err);
		return NULL;
	}
	return err;
}

struct ebt_error *identities_create(struct ebt_reader *reader, struct identities **ret)
{
	static const struct ebt_want want = EBT_WANT(object, size, mtime, file_id, debuglink_crc,
						     path, build_id, hash, debuglink, segments);
	_cleanup_(identities_destroyp) struct identities *identities =
		calloc(1, sizeof(*identities));
	struct ebt_error *err;

	if (!identities)
		return &ebt_enomem;
	ebt_arena_init(&identities->arena, MAX_MEMORY);
	err = ebt_read_rows(reader, &(struct ebt_query){ &want, 1 }, add_row, identities);
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
	const struct ebt_map *index = id->len ? &identities->by_file : &identities->by_path;
	uint64_t hash = id->len ? hash_file(path, id) : hash_path(path);
	const struct identity *found = NULL;
	size_t at = 0, n = 0;
	uint32_t i;

	while (n++ < MAX_OF_PATH && (i = ebt_map_next(index, hash, &at)) != EBT_MAP_NONE) {
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
