/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Through /proc/PID/map_files, which has deleted files, memfds and those of any mount namespace;
 * else by name, as the process sees it or as we do, if that leads to the very file.
 */
#include "record/base/identity.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "format/base/cleanup.h"
#include "record/base/procmaps.h"

/* A mapping of a process, found again in /proc/PID/maps. */
struct identity_search {
	const struct mapping *mapping;
	bool found;
	uint64_t start, end, inode;
	uint32_t dev_major, dev_minor;
};

/* The same file; where events tell only its build-id, what is mapped at the same place. */
static bool is_it(void *arg, const struct procmaps_entry *entry)
{
	struct identity_search *search = arg;
	const struct mapping *mapping = search->mapping;

	if (mapping->inode
		    ? entry->inode == mapping->inode && entry->dev_major == mapping->dev_major &&
			      entry->dev_minor == mapping->dev_minor
		    : entry->start <= mapping->start && mapping->start < entry->end) {
		search->found = true;
		search->start = entry->start;
		search->end = entry->end;
		search->inode = entry->inode;
		search->dev_major = entry->dev_major;
		search->dev_minor = entry->dev_minor;
	}
	return !search->found;
}

static void find_in_maps(struct identity_search *search)
{
	_cleanup_close_ int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/maps", search->mapping->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		procmaps_each(fd, is_it, search);
}

/*
 * Opens it for reading if it is a regular file, and nothing before that is known. dev and inode
 * are to agree where the build-id cannot: a name may lead to another file by now.
 */
static int open_file(const char *path, const struct mapping *mapping, bool named,
		     struct identity *ret)
{
	_cleanup_close_ int handle = open(path, O_PATH | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	char reopen[64];

	if (handle < 0 || fstat(handle, &ret->st) || !S_ISREG(ret->st.st_mode))
		return -1;
	if (named && !mapping->build_id.len &&
	    (ret->st.st_ino != mapping->inode ||
	     ret->st.st_dev != makedev(mapping->dev_major, mapping->dev_minor)))
		return -1;
	snprintf(reopen, sizeof(reopen), "/proc/self/fd/%d", handle);
	fd = open(reopen, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	buildid_of_fd(fd, &ret->id);
	if (mapping->build_id.len && (ret->id.len != mapping->build_id.len ||
				      memcmp(ret->id.bytes, mapping->build_id.bytes, ret->id.len)))
		return -1;
	ret->elf = elfparts_read(fd, &ret->parts);
	return take_fd(&fd);
}

int identity_of_mapping(const struct mapping *mapping, struct identity *ret)
{
	struct identity_search search = { .mapping = mapping };
	char path[PATH_MAX + 64];
	int fd = -1;

	find_in_maps(&search);
	ret->inode = search.found ? search.inode : mapping->inode;
	ret->dev_major = search.found ? search.dev_major : mapping->dev_major;
	ret->dev_minor = search.found ? search.dev_minor : mapping->dev_minor;
	if (search.found) {
		snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", mapping->pid,
			 (unsigned long long)search.start, (unsigned long long)search.end);
		fd = open_file(path, mapping, false, ret);
	}
	if (fd >= 0 || mapping->path_len >= PATH_MAX || !mapping->path_len ||
	    mapping->path[0] != '/')
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%.*s", mapping->pid, (int)mapping->path_len,
		 mapping->path);
	fd = open_file(path, mapping, true, ret);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%.*s", (int)mapping->path_len, mapping->path);
	return open_file(path, mapping, true, ret);
}
