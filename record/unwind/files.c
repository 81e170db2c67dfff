/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the files of mappings for unwinding; see files.h. */
#include "record/unwind/files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "record/base/procmaps.h"
#include "record/bpf/unwind_maps.h"

/* A file without a build-id. */
struct file_key {
	uint64_t dev, inode, size;
	int64_t changed_s, changed_ns;
};

/* -1 where it cannot be opened, or is no regular file. */
static int open_regular(const char *path, struct stat *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd >= 0 && !fstat(fd, ret) && S_ISREG(ret->st_mode) ? take_fd(&fd) : -1;
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
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	if (m->path_len >= sizeof(path) || !m->path_len || m->path[0] != '/')
		return -1;
	snprintf(path, sizeof(path), "%.*s", (int)m->path_len, m->path);
	fd = open_regular(path, ret);
	return fd >= 0 && is_build(fd, &m->build_id) ? take_fd(&fd) : -1;
}

/* The table of a file that has none yet. */
static uint32_t add(struct unwind_tables *tables, const void *key, size_t len, int fd,
		    const struct stat *st)
{
	uint32_t number = unwind_tables_add(tables, key, len, fd);

	unwind_tables_tell_exec(tables, number, st);
	return number;
}

static uint32_t by_build_id(struct unwind_tables *tables, const struct mapping *m)
{
	const struct buildid *id = &m->build_id;
	uint32_t number = unwind_tables_find(tables, id->bytes, id->len);
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (number == UNWIND_TABLE_LATER) {
		fd = open_mapped(m, &st);
		if (fd < 0)
			fd = open_named(m, &st);
		if (fd < 0)
			return UNWIND_TABLE_LATER;
		number = add(tables, id->bytes, id->len, fd, &st);
	}
	unwind_tables_remember(tables, number, m);
	return number;
}

/* Without a build-id: by what the file system says. */
static uint32_t by_fd(struct unwind_tables *tables, int fd, const struct stat *st)
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
	return number == UNWIND_TABLE_LATER ? add(tables, &key, sizeof(key), fd, st) : number;
}

static uint32_t by_file(struct unwind_tables *tables, const struct mapping *m)
{
	struct stat st;
	_cleanup_close_ int fd = open_mapped(m, &st);

	return fd < 0 ? UNWIND_TABLE_LATER : by_fd(tables, fd, &st);
}

void unwind_files_learn(struct unwind_tables *tables, int fd, const char *path)
{
	struct mapping m = { .path = path, .path_len = strlen(path) };
	const struct buildid *id = &m.build_id;
	struct stat st;
	uint32_t number;

	if (fstat(fd, &st))
		return;
	if (!buildid_of_fd(fd, &m.build_id) || !id->len) {
		by_fd(tables, fd, &st);
		return;
	}
	number = unwind_tables_find(tables, id->bytes, id->len);
	if (number == UNWIND_TABLE_LATER)
		number = add(tables, id->bytes, id->len, fd, &st);
	else /* maybe another file of the same build */
		unwind_tables_tell_exec(tables, number, &st);
	unwind_tables_remember(tables, number, &m);
}

int unwind_files_open(const struct mapping *m)
{
	struct stat st;
	_cleanup_close_ int fd = m->pid ? open_mapped(m, &st) : -1;

	/* The process may have mapped something else there. */
	return fd >= 0 && is_build(fd, &m->build_id) ? take_fd(&fd) : open_named(m, &st);
}

uint32_t unwind_files_vdso(struct unwind_tables *tables)
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
	unwind_tables_tell_exec(tables, number, &(struct stat){ 0 });
	return number;
}

uint32_t unwind_files_table(struct unwind_tables *tables, const struct mapping *m,
			    uint64_t *ret_bias)
{
	static const char vdso[] = "[vdso]";
	uint32_t number;

	*ret_bias = 0;
	if (m->path_len == strlen(vdso) && !memcmp(m->path, vdso, m->path_len))
		number = unwind_files_vdso(tables);
	else if (m->build_id.len)
		number = by_build_id(tables, m);
	else if (m->inode)
		number = by_file(tables, m);
	else
		return UNWIND_TABLE_ANON;
	if (number < UNWIND_TABLE_ANON &&
	    !unwind_tables_bias(tables, number, m->start, m->pgoff, ret_bias))
		return UNWIND_TABLE_NONE;
	return number;
}
