/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A build-id is a note of type NT_GNU_BUILD_ID and name "GNU". It is in a PT_NOTE segment, or,
 * where a linker made none, in a section of type SHT_NOTE. Everything is read through
 * read_at(), which fails outside of the file; counts are capped before they are believed.
 */
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "format/base/cleanup.h"
#include "format/base/pread.h"
#include "record/base/buildid.h"
#include "record/base/buildid_map.h"

/* Real files have a dozen segments and some hundred bytes of notes; kernels and files made by
 * -ffunction-sections have many sections. What is beyond is not looked at. */
#define MAX_SEGMENTS 128u
#define MAX_SECTIONS 512u
#define MAX_NOTES    (16u << 10)

/* Distinct files that are remembered; later ones are read each time. */
#define MAX_CACHED 65536u

/* Either bytes in memory or a file. */
struct buildid_image {
	const unsigned char *memory;
	int fd;
	uint64_t size;
	bool is64, swap;
};

static bool read_at(const struct buildid_image *image, uint64_t offset, void *ret, size_t len)
{
	if (offset > image->size || len > image->size - offset)
		return false;
	if (image->memory) {
		memcpy(ret, image->memory + offset, len);
		return true;
	}
	return ebt_pread(image->fd, offset, ret, len);
}

static uint16_t get16(const struct buildid_image *image, uint16_t v)
{
	return image->swap ? __builtin_bswap16(v) : v;
}

static uint32_t get32(const struct buildid_image *image, uint32_t v)
{
	return image->swap ? __builtin_bswap32(v) : v;
}

static uint64_t get64(const struct buildid_image *image, uint64_t v)
{
	return image->swap ? __builtin_bswap64(v) : v;
}

/* Notes are padded to 4 bytes, or to 8 where the segment is aligned so. */
static bool find_note(const struct buildid_image *image, const unsigned char *notes, size_t len,
		      size_t align, struct buildid *ret)
{
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note; /* the same for both classes */
		uint64_t name, desc, next, name_len, desc_len;

		memcpy(&note, notes + at, sizeof(note));
		name_len = get32(image, note.n_namesz);
		desc_len = get32(image, note.n_descsz);
		name = at + sizeof(note);
		desc = (name + name_len + align - 1) & ~(uint64_t)(align - 1);
		next = (desc + desc_len + align - 1) & ~(uint64_t)(align - 1);
		if (name_len > len || desc_len > len || desc + desc_len > len)
			return false;
		if (get32(image, note.n_type) == NT_GNU_BUILD_ID && name_len == sizeof("GNU") &&
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

static bool find_in_range(const struct buildid_image *image, uint64_t offset, uint64_t size,
			  uint64_t align, struct buildid *ret)
{
	unsigned char notes[MAX_NOTES];
	size_t len = size < sizeof(notes) ? (size_t)size : sizeof(notes);

	return read_at(image, offset, notes, len) &&
	       find_note(image, notes, len, align == 8 ? 8 : 4, ret);
}

static bool find_in_segments(const struct buildid_image *image, uint64_t offset, unsigned int n,
			     unsigned int entry, struct buildid *ret)
{
	for (unsigned int i = 0; i < n && i < MAX_SEGMENTS; i++) {
		const uint64_t at = offset + (uint64_t)i * entry;

		if (image->is64) {
			Elf64_Phdr p;

			if (entry < sizeof(p) || !read_at(image, at, &p, sizeof(p)))
				return false;
			if (get32(image, p.p_type) == PT_NOTE &&
			    find_in_range(image, get64(image, p.p_offset), get64(image, p.p_filesz),
					  get64(image, p.p_align), ret))
				return true;
		} else {
			Elf32_Phdr p;

			if (entry < sizeof(p) || !read_at(image, at, &p, sizeof(p)))
				return false;
			if (get32(image, p.p_type) == PT_NOTE &&
			    find_in_range(image, get32(image, p.p_offset), get32(image, p.p_filesz),
					  get32(image, p.p_align), ret))
				return true;
		}
	}
	return false;
}

static bool find_in_sections(const struct buildid_image *image, uint64_t offset, unsigned int n,
			     unsigned int entry, struct buildid *ret)
{
	for (unsigned int i = 0; i < n && i < MAX_SECTIONS; i++) {
		const uint64_t at = offset + (uint64_t)i * entry;

		if (image->is64) {
			Elf64_Shdr s;

			if (entry < sizeof(s) || !read_at(image, at, &s, sizeof(s)))
				return false;
			if (get32(image, s.sh_type) == SHT_NOTE &&
			    find_in_range(image, get64(image, s.sh_offset), get64(image, s.sh_size),
					  get64(image, s.sh_addralign), ret))
				return true;
		} else {
			Elf32_Shdr s;

			if (entry < sizeof(s) || !read_at(image, at, &s, sizeof(s)))
				return false;
			if (get32(image, s.sh_type) == SHT_NOTE &&
			    find_in_range(image, get32(image, s.sh_offset), get32(image, s.sh_size),
					  get32(image, s.sh_addralign), ret))
				return true;
		}
	}
	return false;
}

static bool find_in_image(struct buildid_image *image, struct buildid *ret)
{
	unsigned char ident[EI_NIDENT];
	bool big;

	ret->len = 0;
	if (!read_at(image, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG))
		return false;
	image->is64 = ident[EI_CLASS] == ELFCLASS64;
	big = ident[EI_DATA] == ELFDATA2MSB;
	image->swap = big != (BYTE_ORDER == BIG_ENDIAN);
	if (image->is64) {
		Elf64_Ehdr e;

		return read_at(image, 0, &e, sizeof(e)) &&
		       (find_in_segments(image, get64(image, e.e_phoff), get16(image, e.e_phnum),
					 get16(image, e.e_phentsize), ret) ||
			find_in_sections(image, get64(image, e.e_shoff), get16(image, e.e_shnum),
					 get16(image, e.e_shentsize), ret));
	}
	if (ident[EI_CLASS] == ELFCLASS32) {
		Elf32_Ehdr e;

		return read_at(image, 0, &e, sizeof(e)) &&
		       (find_in_segments(image, get32(image, e.e_phoff), get16(image, e.e_phnum),
					 get16(image, e.e_phentsize), ret) ||
			find_in_sections(image, get32(image, e.e_shoff), get16(image, e.e_shnum),
					 get16(image, e.e_shentsize), ret));
	}
	return false;
}

bool buildid_of_memory(const void *memory, size_t len, struct buildid *ret)
{
	struct buildid_image image = { .memory = memory, .fd = -1, .size = len };

	return find_in_image(&image, ret);
}

bool buildid_of_fd(int fd, struct buildid *ret)
{
	struct buildid_image image = { .fd = fd };
	struct stat st;

	ret->len = 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	image.size = (uint64_t)st.st_size;
	return find_in_image(&image, ret);
}

bool buildid_of_notes(const void *notes, size_t len, struct buildid *ret)
{
	const struct buildid_image native = { .fd = -1 };

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
