/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorder often runs as root in directories that others can write to, so a file is never
 * truncated in place: the old one is unlinked and a new one made. Names for a trace come from
 * another program, as the recorder itself never reads symbols: ebreport gets open files and no
 * paths.
 */
#include "record/session/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/encoding/layout.h"

/* May what is at path be replaced? */
static struct ebt_error *check_old(const char *path, bool force)
{
	/* Not blocking: it may be a FIFO. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char magic[EBT_FILE_MAGIC_LEN];
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 && errno == ELOOP)
		return ebt_error_create(EBT_ERR_INVALID, "%s is a symbolic link", path);
	if (fd < 0 || fstat(fd, &st))
		return ebt_error_errno(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s is not a regular file; `-o - > FILE` writes anywhere",
					path);
	if (st.st_nlink > 1)
		return ebt_error_create(EBT_ERR_INVALID, "%s has other names (hard links)", path);
	if (force)
		return NULL;
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, EBT_FILE_MAGIC, sizeof(magic)))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s is there and is not a trace; -f replaces it", path);
	return NULL;
}

static struct ebt_error *open_stdout(int *ret)
{
	int fd;

	if (isatty(STDOUT_FILENO))
		return ebt_error_create(
			EBT_ERR_INVALID,
			"a trace is not text: send standard output to a file or a pipe");
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return ebt_error_errno(errno, "standard output");
	*ret = fd;
	return NULL;
}

struct ebt_error *output_open(const char *path, bool force, int *ret)
{
	struct ebt_error *err;
	int fd;

	if (!strcmp(path, "-"))
		return open_stdout(ret);
	err = check_old(path, force);
	if (err)
		return err;
	if (unlink(path) && errno != ENOENT)
		return ebt_error_errno(errno, "cannot replace %s", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return ebt_error_errno(errno, "cannot make %s", path);
	*ret = fd;
	return NULL;
}

/* --- bundles --- */

struct ebt_error *bundle_find(char **ret)
{
	_cleanup_free_ char *path = NULL;
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (len < 0)
		return ebt_error_errno(errno, "/proc/self/exe");
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (!slash || asprintf(&path, "%.*s/ebreport", (int)(slash - self), self) < 0) {
		path = NULL;
		return &ebt_enomem;
	}
	if (access(path, X_OK))
		return ebt_error_create(EBT_ERR_NOT_FOUND,
					"--bundle: there is no %s, which would do it", path);
	*ret = take_ptr(path);
	return NULL;
}

/* Runs `ebreport bundle -` from one file to the other. */
static struct ebt_error *run(const char *ebreport, int from, int to)
{
	char *argv[] = { (char *)"ebreport", (char *)"bundle", (char *)"-", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int failed, status;
	pid_t pid;

	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	failed = posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
	if (!failed)
		failed = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	if (!failed)
		failed = posix_spawn(&pid, ebreport, &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (failed)
		return ebt_error_errno(failed, "cannot run %s", ebreport);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return ebt_error_errno(errno, "cannot wait for %s", ebreport);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s bundle failed: the trace has no names in it", ebreport);
	return NULL;
}

struct ebt_error *bundle_trace(const char *ebreport, const char *trace)
{
	_cleanup_close_ int from = open(trace, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), to = -1;
	_cleanup_free_ char *copy = NULL;
	struct ebt_error *err;

	if (from < 0)
		return ebt_error_errno(errno, "cannot bundle %s", trace);
	if (asprintf(&copy, "%s.XXXXXX", trace) < 0) {
		copy = NULL;
		return &ebt_enomem;
	}
	to = mkostemp(copy, O_CLOEXEC);
	if (to < 0)
		return ebt_error_errno(errno, "cannot make %s", copy);
	err = run(ebreport, from, to);
	if (!err && rename(copy, trace))
		err = ebt_error_errno(errno, "cannot replace %s", trace);
	if (err)
		unlink(copy);
	return err;
}
