/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A build-id is a note of type NT_GNU_BUILD_ID and name "GNU". It is in a PT_NOTE segment, or,
 * where a linker made none, in a section of type SHT_NOTE.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "record/base/buildid.h"
#include "record/base/procfs.h"
#include "unwind/elf_headers.h"

/* Real files have a dozen segments and some hundred bytes of notes; kernels and files made by
 * -ffunction-sections have many sections. What is beyond is not looked at. */
#define MAX_SEGMENTS 128u
#define MAX_SECTIONS 512u
#define MAX_NOTES    (16u << 10)

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

/* --- those that are known --- */

void buildid_map_deinit(struct buildid_map *map)
{
	keymap_deinit(&map->keys);
	free(map->ids);
	*map = (struct buildid_map){ .max = map->max };
}

bool buildid_map_find(const struct buildid_map *map, const void *key, size_t len,
		      struct buildid *ret)
{
	uint64_t index;

	if (!keymap_find(&map->keys, key, len, &index))
		return false;
	*ret = map->ids[index];
	return true;
}

void buildid_map_put(struct buildid_map *map, const void *key, size_t len, const struct buildid *id)
{
	const size_t n = map->keys.n;
	uint64_t index;

	if (keymap_find(&map->keys, key, len, &index)) {
		map->ids[index] = *id;
		return;
	}
	if (n >= map->max || ebt_array_reserve(&map->ids, n, &map->capacity))
		return;
	map->ids[n] = *id;
	keymap_put(&map->keys, key, len, n);
}

/* No padding, because its bytes are the key. */
struct buildid_key {
	uint64_t dev, ino, size, mtime_s, mtime_ns, ctime_s, ctime_ns;
};

/* inode: the device and inode that it has to be; NULL: any. */
static int of_path(struct buildid_map *cache, const char *path, const struct stat *inode,
		   struct buildid *ret)
{
	/* O_PATH opens nothing: no device or FIFO is touched before its type is known. */
	_cleanup_close_ int handle = open(path, O_PATH | O_CLOEXEC), fd = -1;
	struct buildid_key key;
	struct stat st;

	ret->len = 0;
	if (handle < 0 || fstat(handle, &st))
		return -errno;
	if (inode && (st.st_ino != inode->st_ino || st.st_dev != inode->st_dev))
		return -ENOENT;
	key = (struct buildid_key){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_s = (uint64_t)st.st_mtim.tv_sec,
		.mtime_ns = (uint64_t)st.st_mtim.tv_nsec,
		.ctime_s = (uint64_t)st.st_ctim.tv_sec,
		.ctime_ns = (uint64_t)st.st_ctim.tv_nsec,
	};
	if (!S_ISREG(st.st_mode) || buildid_map_find(cache, &key, sizeof(key), ret))
		return 0;
	fd = procfs_reopen(handle);
	if (fd < 0)
		return -errno;
	buildid_of_fd(fd, ret);
	buildid_map_put(cache, &key, sizeof(key), ret);
	return 0;
}

int buildid_of_path(struct buildid_map *cache, const char *path, struct buildid *ret)
{
	return of_path(cache, path, NULL, ret);
}

int buildid_of_inode(struct buildid_map *cache, const char *path, uint32_t dev_major,
		     uint32_t dev_minor, uint64_t inode, struct buildid *ret)
{
	return of_path(cache, path,
		       &(struct stat){ .st_dev = makedev(dev_major, dev_minor), .st_ino = inode },
		       ret);
}

int buildid_of_mapping(struct buildid_map *cache, uint32_t pid, uint64_t start, uint64_t end,
		       struct buildid *ret)
{
	char path[96];

	return of_path(cache, procfs_map_file(pid, start, end, path), NULL, ret);
}
