/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking for files to probe; see path.h. */
#include "record/probes/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "format/base/cleanup.h"
#include "record/base/ldso.h"
#include "record/base/procmaps.h"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct path_search {
	const char *name;
	pid_t pid;
	char *path; /* found */
};

/* What a process in another mount namespace calls so is below its root. But the kernel tells names
 * as they are in that namespace, and not as they are below where chroot() took the process. */
static bool try_mapping(void *arg, const struct mapping *entry)
{
	struct path_search *search = arg;
	char path[PATH_MAX + 32];
	struct stat here, there;
	bool is_here, is_there;

	if (!entry->inode || strcmp(last_part(entry->path), search->name))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)search->pid, entry->path);
	is_here = !stat(entry->path, &here);
	is_there = !stat(path, &there);
	if (is_here && is_there)
		is_here = here.st_ino == there.st_ino && here.st_dev == there.st_dev;
	else if (is_here)
		is_here = here.st_ino == entry->inode;
	if (is_here)
		snprintf(path, sizeof(path), "%s", entry->path);
	search->path = strdup(path);
	return false;
}

static char *find_mapped(pid_t pid, const char *name)
{
	struct path_search search = { .name = name, .pid = pid };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	procmaps_each(open(path, O_RDONLY | O_CLOEXEC), PROT_EXEC, try_mapping, &search);
	return search.path;
}

/* As the command's loader will find it. */
static bool find_library(const struct record_options *options, const char *name, char *ret)
{
	_cleanup_free_ struct needed *needed = calloc(1, sizeof(*needed));
	char program[PATH_MAX] = "", *slash;
	struct ldso ldso;
	bool found;

	if (!needed)
		return false;
	if (options_record_command(options) && !ldso_find_program(options->command[0], program)) {
		_cleanup_close_ int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd >= 0)
			needed_read(fd, needed);
	}
	slash = strrchr(program, '/');
	if (slash)
		*slash = '\0';
	ldso_read(&ldso);
	found = ldso_find_library(&ldso, needed, program, name, ret);
	ldso_deinit(&ldso);
	needed_deinit(needed);
	return found;
}

/* Directories of libraries have folders, too. */
static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

struct ebt_error *probe_path_find(const struct record_options *options, const char *name,
				  char **ret)
{
	char found[PATH_MAX];
	char *path = NULL;

	if (strchr(name, '/')) {
		path = realpath(name, NULL);
		if (!path)
			return ebt_error_errno(errno, "cannot open %s", name);
		*ret = path;
		return NULL;
	}
	for (size_t i = 0; i < options->n_pids && !path; i++)
		path = find_mapped(options->pids[i], name);
	if (!path && ((find_library(options, name, found) && is_file(found)) ||
		      !ldso_find_program(name, found)))
		path = realpath(found, NULL);
	if (!path)
		return ebt_error_create(
			EBT_ERR_NOT_FOUND,
			"there is no library or program '%s' where they are looked for; "
			"write its whole path",
			name);
	*ret = path;
	return NULL;
}
