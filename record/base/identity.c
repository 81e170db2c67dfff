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
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "format/base/cleanup.h"
#include "record/base/procfs.h"
#include "record/base/procmaps.h"

/* A mapping of a process, found again in /proc/PID/maps. */
struct identity_search {
	const struct mapping *mapping;
	struct mapping found; /* without its path; length 0: it is not there */
};

/* The same file; where events tell only its build-id, what is mapped at the same place. */
static bool is_it(void *arg, const struct mapping *entry)
{
	struct identity_search *search = arg;
	const struct mapping *mapping = search->mapping;

	if (mapping->inode
		    ? entry->inode == mapping->inode && entry->dev_major == mapping->dev_major &&
			      entry->dev_minor == mapping->dev_minor
		    : mapping->start - entry->start < entry->length)
		search->found = *entry;
	return !search->found.length;
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

	if (handle < 0 || fstat(handle, &ret->st) || !S_ISREG(ret->st.st_mode))
		return -1;
	if (named && !mapping->build_id.len &&
	    (ret->st.st_ino != mapping->inode ||
	     ret->st.st_dev != makedev(mapping->dev_major, mapping->dev_minor)))
		return -1;
	fd = procfs_reopen(handle);
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
	const struct mapping *found = &search.found;
	char path[PATH_MAX + 64];
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/%u/maps", mapping->pid);
	procmaps_each(open(path, O_RDONLY | O_CLOEXEC), PROT_EXEC, is_it, &search);
	if (found->length)
		fd = open_file(procfs_map_file(mapping->pid, found->start,
					       found->start + found->length, path),
			       mapping, false, ret);
	else
		found = mapping;
	ret->inode = found->inode;
	ret->dev_major = found->dev_major;
	ret->dev_minor = found->dev_minor;
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
