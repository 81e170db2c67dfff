/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A build-id is a note of type NT_GNU_BUILD_ID and name "GNU". It is in a PT_NOTE segment, or,
 * where a linker made none, in a section of type SHT_NOTE.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "format/base/cleanup.h"
#include "record/base/buildid.h"
#include "record/base/buildid_map.h"
#include "unwind/elf_headers.h"

/* Real files have a dozen segments and some hundred bytes of notes; kernels and files made by
 * -ffunction-sections have many sections. What is beyond is not looked at. */
#define MAX_SEGMENTS 128u
#define MAX_SECTIONS 512u
#define MAX_NOTES    (16u << 10)

/* Distinct files that are remembered; later ones are read each time. */
#define MAX_CACHED 65536u

/* Notes are padded to 4 bytes, or to 8 where the segment is aligned so. */
static bool find_note(const struct elf_headers *elf, const unsigned char *notes, size_t len,
		      size_t align, struct buildid *ret)
{
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		/* Three numbers, the same for both classes. */
		uint64_t name_len = elf_headers_load(elf, notes + at, 4), name, desc, next;
		uint64_t desc_len = elf_headers_load(elf, notes + at + 4, 4);
		uint64_t type = elf_headers_load(elf, notes + at + 8, 4);

		name = at + sizeof(Elf64_Nhdr);
		desc = (name + name_len + align - 1) & ~(uint64_t)(align - 1);
		next = (desc + desc_len + align - 1) & ~(uint64_t)(align - 1);
		if (name_len > len || desc_len > len || desc + desc_len > len)
			return false;
		if (type == NT_GNU_BUILD_ID && name_len == sizeof("GNU") &&
		    !memcmp(notes + name, "GNU", sizeof("GNU"))) {
			if (!desc_len || desc_len > BUILDID_MAX)
				return false;
			ret->len = (uint8_t)desc_len;
			memcpy(ret->bytes, notes + desc, desc_len);
			return true;
		}
		if (next > len)
			return false;
		at = (size_t)next;
	}
	return false;
}

static bool find_in_range(const struct elf_headers *elf, uint64_t offset, uint64_t size,
			  uint64_t align, struct buildid *ret)
{
	unsigned char notes[MAX_NOTES];
	size_t len = size < sizeof(notes) ? (size_t)size : sizeof(notes);

	return elf_headers_read(elf, offset, notes, len) &&
	       find_note(elf, notes, len, align == 8 ? 8 : 4, ret);
}

static bool find(struct elf_headers *elf, struct buildid *ret)
{
	for (size_t i = 0; i < elf->n_segments && i < MAX_SEGMENTS; i++) {
		const Elf64_Phdr *p = &elf->segments[i];

		if (p->p_type == PT_NOTE &&
		    find_in_range(elf, p->p_offset, p->p_filesz, p->p_align, ret))
			return true;
	}
	if (!elf_headers_sections(elf, MAX_SECTIONS))
		return false;
	for (size_t i = 0; i < elf->n_sections; i++) {
		const Elf64_Shdr *s = &elf->sections[i];

		if (s->sh_type == SHT_NOTE &&
		    find_in_range(elf, s->sh_offset, s->sh_size, s->sh_addralign, ret))
			return true;
	}
	return false;
}

bool buildid_of_memory(const void *memory, size_t len, struct buildid *ret)
{
	_cleanup_(elf_headers_deinit) struct elf_headers elf;

	ret->len = 0;
	return elf_headers_of_memory(memory, len, &elf) && find(&elf, ret);
}

bool buildid_of_fd(int fd, struct buildid *ret)
{
	_cleanup_(elf_headers_deinit) struct elf_headers elf;

	ret->len = 0;
	return elf_headers_of_fd(fd, &elf) && find(&elf, ret);
}

bool buildid_of_notes(const void *notes, size_t len, struct buildid *ret)
{
	const struct elf_headers native = { .fd = -1 };

	ret->len = 0;
	return find_note(&native, notes, len, 4, ret);
}

struct buildid_cache {
	struct buildid_map files; /* by struct buildid_key */
};

/* No padding, because its bytes are the key. */
struct buildid_key {
	uint64_t dev, ino, size, mtime_s, mtime_ns, ctime_s, ctime_ns;
};

struct ebt_error *buildid_cache_create(struct buildid_cache **ret)
{
	struct buildid_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return &ebt_enomem;
	cache->files.max = MAX_CACHED;
	*ret = cache;
	return NULL;
}

void buildid_cache_destroy(struct buildid_cache *cache)
{
	if (!cache)
		return;
	buildid_map_deinit(&cache->files);
	free(cache);
}

static int of_handle(struct buildid_cache *cache, int handle, const struct stat *st,
		     struct buildid *ret)
{
	const struct buildid_key key = {
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_s = (uint64_t)st->st_mtim.tv_sec,
		.mtime_ns = (uint64_t)st->st_mtim.tv_nsec,
		.ctime_s = (uint64_t)st->st_ctim.tv_sec,
		.ctime_ns = (uint64_t)st->st_ctim.tv_nsec,
	};
	_cleanup_close_ int fd = -1;
	char reopen[64];

	if (!S_ISREG(st->st_mode) || buildid_map_find(&cache->files, &key, sizeof(key), ret))
		return 0;
	snprintf(reopen, sizeof(reopen), "/proc/self/fd/%d", handle);
	fd = open(reopen, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	buildid_of_fd(fd, ret);
	buildid_map_put(&cache->files, &key, sizeof(key), ret);
	return 0;
}

int buildid_of_path(struct buildid_cache *cache, const char *path, struct buildid *ret)
{
	/* O_PATH opens nothing: no device or FIFO is touched before its type is known. */
	_cleanup_close_ int handle = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	ret->len = 0;
	if (handle < 0 || fstat(handle, &st))
		return -errno;
	return of_handle(cache, handle, &st, ret);
}

int buildid_of_inode(struct buildid_cache *cache, const char *path, uint32_t dev_major,
		     uint32_t dev_minor, uint64_t inode, struct buildid *ret)
{
	_cleanup_close_ int handle = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	ret->len = 0;
	if (handle < 0 || fstat(handle, &st))
		return -errno;
	if (st.st_ino != inode || st.st_dev != makedev(dev_major, dev_minor))
		return -ENOENT;
	return of_handle(cache, handle, &st, ret);
}

int buildid_of_mapping(struct buildid_cache *cache, uint32_t pid, uint64_t start, uint64_t end,
		       struct buildid *ret)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)end);
	return buildid_of_path(cache, path, ret);
}
