/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening files below a folder; see beneath.h. */
#include "symbolize/spaces/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "symbolize/elf/elffile.h"

/* A rename anywhere on the machine can spoil a look-up that has ".." in it. */
#define MAX_TRIES 8

/* Longest path of a component, with ".wh." before it. */
#define MAX_NAME (NAME_MAX + 8)

static int open_folder(int at, const char *path, uint64_t resolve)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = resolve | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
}

/* The next component of a path: its length, 0 at the end. */
static size_t next_name(const char **path, char name[MAX_NAME])
{
	const char *from = *path + strspn(*path, "/");
	size_t len = strcspn(from, "/");

	if (len > NAME_MAX)
		return 0;
	memcpy(name, from, len);
	name[len] = '\0';
	*path = from + len;
	return len;
}

static bool is_last(const char *path)
{
	return !path[strspn(path, "/")];
}

/* Without openat2() (before Linux 5.6, or forbidden): no links at all, and no "..". */
static int walk(int root, const char *path)
{
	_cleanup_close_ int at = dup(root);
	char name[MAX_NAME];

	while (at >= 0 && next_name(&path, name)) {
		bool last = is_last(path);
		int next = !strcmp(name, "..") ? -1
					       : openat(at, name,
							O_PATH | O_NOFOLLOW | O_CLOEXEC |
								(last ? 0 : O_DIRECTORY));

		close(at);
		at = next;
		if (last)
			return take_fd(&at);
	}
	return -1;
}

/* Opens for reading what an O_PATH descriptor stands for, if that is a regular file. */
static int reopen(int fd, char **ret_path)
{
	char link[64], path[PATH_MAX];
	ssize_t n;
	int opened;

	if (!sym_is_stored(fd))
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n <= 0 || n == (ssize_t)sizeof(path))
		return -1;
	opened = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (opened < 0)
		return -1;
	*ret_path = strndup(path, n);
	if (!*ret_path) {
		close(opened);
		return -1;
	}
	return opened;
}

int beneath_open(const char *root, const char *path, char **ret_path)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int dir = -1, fd = -1;

	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	for (int i = 0; i < MAX_TRIES; i++) {
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = walk(dir, path);
	return fd < 0 ? -1 : reopen(fd, ret_path);
}

/* --- layers --- */

/* What one layer says about a path. */
enum verdict {
	HAS_FILE,
	LOOK_BELOW,
	NOT_THERE, /* and lower layers do not count */
};

/* A folder that hides those of the same name in lower layers. */
static bool is_opaque(int dir)
{
	static const char *const names[] = { "trusted.overlay.opaque", "user.overlay.opaque",
					     "user.fuseoverlayfs.opaque" };
	char link[64], value;
	struct stat st;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (getxattr(link, names[i], &value, 1) == 1 && value == 'y')
			return true;
	}
	return !fstatat(dir, ".wh..wh..opq", &st, AT_SYMLINK_NOFOLLOW);
}

/* fuse-overlayfs marks what was deleted like this where it may make no devices. */
static bool has_whiteout(int dir, const char *name)
{
	char whiteout[MAX_NAME + 8];
	struct stat st;

	snprintf(whiteout, sizeof(whiteout), ".wh.%s", name);
	return !fstatat(dir, whiteout, &st, AT_SYMLINK_NOFOLLOW);
}

/* An extended attribute of an overlay; trusted ones are for root. Returns its length or -1. */
static ssize_t get_attribute(int fd, const char *name, char *value, size_t size)
{
	static const char *const spaces[] = { "trusted", "user" };
	char link[64], whole[64];
	ssize_t n = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	for (size_t i = 0; n < 0 && i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		snprintf(whole, sizeof(whole), "%s.overlay.%s", spaces[i], name);
		n = getxattr(link, whole, value, size);
	}
	return n;
}

/* What lower layers call the path whose components were seen so far. */
struct lower {
	char path[PATH_MAX];
	size_t len, last; /* where the last component begins, with its slash */
};

static bool lower_add(struct lower *lower, const char *name)
{
	size_t len = strlen(name);

	if (len + 1 >= sizeof(lower->path) - lower->len)
		return false;
	lower->last = lower->len;
	lower->path[lower->len] = '/';
	memcpy(lower->path + lower->len + 1, name, len + 1);
	lower->len += len + 1;
	return true;
}

/* Something that was renamed is called differently below: by a name, or by a whole path, whatever
 * is said of the folders that it is in now. */
static bool lower_redirect(struct lower *lower, int fd, enum verdict *otherwise)
{
	char value[PATH_MAX];
	ssize_t n = get_attribute(fd, "redirect", value, sizeof(value) - 1);

	if (n <= 0)
		return true;
	value[n] = '\0';
	if (value[0] == '/')
		*otherwise = LOOK_BELOW;
	lower->len = value[0] == '/' ? 0 : lower->last;
	return lower_add(lower, value + (value[0] == '/'));
}

/* *lower: what to look for below, where that is the answer. */
static enum verdict look_into(int layer, const char *path, struct lower *lower, int *ret_fd)
{
	_cleanup_close_ int at = dup(layer);
	enum verdict otherwise = LOOK_BELOW;
	char name[MAX_NAME], value;

	lower->len = lower->last = 0;
	while (at >= 0 && next_name(&path, name)) {
		bool last = is_last(path), there;
		struct stat st;
		int next;

		if (!strcmp(name, "..") || !lower_add(lower, name) || has_whiteout(at, name))
			return NOT_THERE;
		there = !fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW);
		if (!there)
			return last || lower_add(lower, path + 1) ? otherwise : NOT_THERE;
		if (!(last ? S_ISREG(st.st_mode) : S_ISDIR(st.st_mode)))
			return NOT_THERE; /* a whiteout (a device 0:0), or something else by now */
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | (last ? 0 : O_DIRECTORY));
		close(at);
		at = next;
		if (at < 0 || !lower_redirect(lower, at, &otherwise))
			return NOT_THERE;
		/* Of some files only owner and mode are in the layer. */
		if (last && get_attribute(at, "metacopy", &value, 1) >= 0)
			return otherwise;
		if (last) {
			*ret_fd = take_fd(&at);
			return HAS_FILE;
		}
		if (is_opaque(at))
			otherwise = NOT_THERE;
	}
	return NOT_THERE;
}

int beneath_open_layers(const struct layers *layers, const char *sysroot, const char *path,
			char **ret_path)
{
	_cleanup_close_ int root = -1;
	struct lower lower;
	char sought[PATH_MAX];

	if (strlen(path) >= sizeof(sought))
		return -1;
	strcpy(sought, path);
	root = open(sysroot ? sysroot : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; root >= 0 && i < layers->n; i++) {
		_cleanup_close_ int layer = -1, fd = -1;

		layer = open_folder(root, layers->dirs[i], RESOLVE_IN_ROOT);
		if (layer < 0 && errno == ENOSYS && !sysroot)
			layer = open(layers->dirs[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (layer < 0)
			continue; /* nothing is known of it: what is found goes by its build-id */
		switch (look_into(layer, sought, &lower, &fd)) {
		case HAS_FILE:
			return reopen(fd, ret_path);
		case NOT_THERE:
			return -1;
		case LOOK_BELOW:
			strcpy(sought, lower.path);
			break;
		}
	}
	return -1;
}
