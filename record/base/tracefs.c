/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading tracefs; see tracefs.h. */
#include "record/base/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/syscall.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "record/base/procfs.h"

#define MAX_FORMAT (1u << 20)

/* A mount that is nowhere to be seen, or -1 and errno. */
static int detached_mount(void)
{
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
}

struct ebt_error *tracefs_open(int *ret)
{
	static const char *const mounted[] = { "/sys/kernel/tracing/events",
					       "/sys/kernel/debug/tracing/events" };
	_cleanup_close_ int mount = detached_mount();
	int errnum = errno, fd = -1;

	if (mount >= 0) {
		fd = openat(mount, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		errnum = errno;
	}
	for (size_t i = 0; i < sizeof(mounted) / sizeof(mounted[0]) && fd < 0; i++)
		fd = open(mounted[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ebt_error_create(EBT_ERR_UNSUPPORTED, "tracefs: %s",
					errnum == ENODEV ? "this kernel has none"
							 : strerror(errnum));
	*ret = fd;
	return NULL;
}

/* Freed with free(); a zero byte is behind it. */
static struct ebt_error *read_whole(int folder, const char *path, char **ret)
{
	_cleanup_free_ char *text = NULL;
	bool truncated;
	size_t len;
	struct ebt_error *err = procfs_slurp_at(folder, path, MAX_FORMAT, &text, &len, &truncated);

	if (err)
		return ebt_error_prefix(err, "tracefs");
	if (truncated)
		return ebt_error_create(EBT_ERR_LIMIT, "tracefs: %s is too long", path);
	*ret = take_ptr(text);
	return NULL;
}

struct ebt_error *tracefs_event(int events, const char *name, uint64_t *ret_id, char **ret_format)
{
	_cleanup_free_ char *id = NULL, *format = NULL;
	char path[300];
	struct ebt_error *err;
	int len = snprintf(path, sizeof(path), "%s/id", name);
	char *colon = strchr(path, ':');

	if (len >= (int)sizeof(path) - 4 || !colon)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not the name of a tracepoint",
					name);
	*colon = '/';
	err = read_whole(events, path, &id);
	if (err)
		return err;
	strcpy(path + len - 2, "format");
	err = read_whole(events, path, &format);
	if (err)
		return err;
	*ret_id = strtoull(id, NULL, 10);
	*ret_format = take_ptr(format);
	return NULL;
}

/* --- all of them --- */

static struct ebt_error *add_name(struct tracefs_names *names, const char *category,
				  const char *name)
{
	struct ebt_error *err = ebt_array_reserve(&names->names, names->n, &names->capacity);

	if (err)
		return err;
	if (asprintf(&names->names[names->n], "%s:%s", category, name) < 0)
		return &ebt_enomem;
	names->n++;
	return NULL;
}

/* What perf cannot count has no number. */
static bool has_number(int category, const char *name)
{
	char path[300];

	return snprintf(path, sizeof(path), "%s/id", name) < (int)sizeof(path) &&
	       !faccessat(category, path, F_OK, 0);
}

static DIR *open_folder(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		ebt_closep(&fd);
	return dir;
}

static struct ebt_error *list_category(int events, const char *category,
				       struct tracefs_names *names)
{
	_cleanup_(closedirp) DIR *dir = open_folder(events, category);
	const struct dirent *entry;
	struct ebt_error *err = NULL;

	while (dir && !err && (entry = readdir(dir))) {
		if (*entry->d_name != '.' && has_number(dirfd(dir), entry->d_name))
			err = add_name(names, category, entry->d_name);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct ebt_error *tracefs_list(int events, struct tracefs_names *ret)
{
	_cleanup_(closedirp) DIR *dir = open_folder(events, ".");
	_cleanup_(tracefs_names_deinit) struct tracefs_names names = { 0 };
	const struct dirent *entry;

	if (!dir)
		return ebt_error_errno(errno, "cannot list tracefs");
	while ((entry = readdir(dir))) {
		struct ebt_error *err =
			*entry->d_name == '.' ? NULL : list_category(events, entry->d_name, &names);

		if (err)
			return err;
	}
	if (names.n)
		qsort(names.names, names.n, sizeof(*names.names), compare);
	*ret = names;
	names = (struct tracefs_names){ 0 };
	return NULL;
}

void tracefs_names_deinit(struct tracefs_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->names[i]);
	free(names->names);
	*names = (struct tracefs_names){ 0 };
}
