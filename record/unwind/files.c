/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the files of mappings for unwinding; see files.h. */
#include "record/unwind/files.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "record/base/vdso.h"
#include "record/bpf/unwind_maps.h"

/* A file without a build-id. */
struct file_key {
	uint64_t dev, inode, size;
	int64_t changed_s, changed_ns;
};

/* -1 where it cannot be opened, or is no regular file. */
static int open_regular(const char *path, struct stat *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -1;
	if (!fstat(fd, ret) && S_ISREG(ret->st_mode))
		return fd;
	close(fd);
	return -1;
}

static int open_mapped(const struct mapping *m, struct stat *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, m->pid, m->start,
		 m->start + m->length);
	return open_regular(path, ret);
}

static bool is_build(int fd, const struct buildid *wanted)
{
	struct buildid id;

	return wanted->len && buildid_of_fd(fd, &id) && id.len == wanted->len &&
	       !memcmp(id.bytes, wanted->bytes, id.len);
}

/* The process has gone: the file may still be where it was. */
static int open_named(const struct mapping *m, struct stat *ret)
{
	char path[PATH_MAX];
	int fd;

	if (m->path_len >= sizeof(path) || !m->path_len || m->path[0] != '/')
		return -1;
	memcpy(path, m->path, m->path_len);
	path[m->path_len] = '\0';
	fd = open_regular(path, ret);
	if (fd >= 0 && is_build(fd, &m->build_id))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void tell_exec(const struct unwind_tables *tables, int files_map, uint32_t number,
		      const struct stat *st)
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
	uint64_t shift;

	if (number >= UNWIND_TABLE_ANON || !unwind_tables_shift(tables, number, &shift))
		return;
	file.shift = shift;
	/* Where there is no room, the recorder places the mapping a little later. */
	bpf_map_update_elem(files_map, &key, &file, BPF_ANY);
}

static uint32_t by_build_id(struct unwind_tables *tables, int files_map, const struct mapping *m)
{
	const struct buildid *id = &m->build_id;
	uint32_t number = unwind_tables_find(tables, id->bytes, id->len);
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (number != UNWIND_TABLE_LATER)
		return number;
	fd = open_mapped(m, &st);
	if (fd < 0)
		fd = open_named(m, &st);
	if (fd < 0)
		return UNWIND_TABLE_LATER;
	number = unwind_tables_add(tables, id->bytes, id->len, fd);
	tell_exec(tables, files_map, number, &st);
	return number;
}

/* Without a build-id: by what the file system says. */
static uint32_t by_fd(struct unwind_tables *tables, int files_map, int fd, const struct stat *st)
{
	struct file_key key;
	uint32_t number;

	memset(&key, 0, sizeof(key));
	key.dev = st->st_dev;
	key.inode = st->st_ino;
	key.size = (uint64_t)st->st_size;
	key.changed_s = st->st_ctim.tv_sec;
	key.changed_ns = st->st_ctim.tv_nsec;
	number = unwind_tables_find(tables, &key, sizeof(key));
	if (number != UNWIND_TABLE_LATER)
		return number;
	number = unwind_tables_add(tables, &key, sizeof(key), fd);
	tell_exec(tables, files_map, number, st);
	return number;
}

static uint32_t by_file(struct unwind_tables *tables, int files_map, const struct mapping *m)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	fd = open_mapped(m, &st);
	return fd < 0 ? UNWIND_TABLE_LATER : by_fd(tables, files_map, fd, &st);
}

void unwind_files_learn(struct unwind_tables *tables, int files_map, int fd, const char *path)
{
	struct mapping m = { .path = path, .path_len = strlen(path) };
	struct stat st;
	uint32_t number;

	if (fstat(fd, &st))
		return;
	if (!buildid_of_fd(fd, &m.build_id) || !m.build_id.len) {
		by_fd(tables, files_map, fd, &st);
		return;
	}
	number = unwind_tables_find(tables, m.build_id.bytes, m.build_id.len);
	if (number == UNWIND_TABLE_LATER)
		number = unwind_tables_add(tables, m.build_id.bytes, m.build_id.len, fd);
	tell_exec(tables, files_map, number, &st);
	if (number < UNWIND_TABLE_ANON)
		unwind_tables_remember(tables, number, &m);
}

int unwind_files_open(const struct mapping *m)
{
	struct stat st;
	int fd = m->pid ? open_mapped(m, &st) : -1;

	/* The process may have mapped something else there. */
	if (fd >= 0 && !is_build(fd, &m->build_id)) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? open_named(m, &st) : fd;
}

static bool has_name(const struct mapping *m, const char *name)
{
	return m->path_len == strlen(name) && !memcmp(m->path, name, m->path_len);
}

/* The image of a 64-bit process is that of this one. */
static uint32_t vdso_table(struct unwind_tables *tables, int files_map)
{
	static const char key[] = "[vdso]";
	uint32_t number = unwind_tables_find(tables, key, sizeof(key));
	const void *image;
	size_t len;

	if (number != UNWIND_TABLE_LATER)
		return number;
	if (!vdso_image(&image, &len))
		return UNWIND_TABLE_NONE;
	number = unwind_tables_add_memory(tables, key, sizeof(key), image, len);
	tell_exec(tables, files_map, number, &(struct stat){ 0 });
	return number;
}

void unwind_files_learn_vdso(struct unwind_tables *tables, int files_map)
{
	vdso_table(tables, files_map);
}

uint32_t unwind_files_table(struct unwind_tables *tables, int files_map, const struct mapping *m,
			    uint64_t *ret_bias)
{
	uint32_t number;

	*ret_bias = 0;
	if (has_name(m, "[vdso]"))
		number = vdso_table(tables, files_map);
	else if (m->build_id.len)
		number = by_build_id(tables, files_map, m);
	else if (m->inode)
		number = by_file(tables, files_map, m);
	else
		return UNWIND_TABLE_ANON;
	if (number < UNWIND_TABLE_ANON && m->build_id.len && !has_name(m, "[vdso]"))
		unwind_tables_remember(tables, number, m);
	if (number < UNWIND_TABLE_ANON &&
	    !unwind_tables_bias(tables, number, m->start, m->pgoff, ret_bias))
		return UNWIND_TABLE_NONE;
	return number;
}
