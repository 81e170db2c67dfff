/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorder often runs as root in directories that others can write to, so a file is never opened
 * that is there: a new one is made, and takes the name of the old one. Names for a trace come from
 * another program, as the recorder itself never reads symbols: ebreport gets open files and no
 * paths.
 */
#include "record/session/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/encoding/layout.h"
#include "record/base/invoker.h"
#include "record/base/ldso.h"

struct output {
	const char *path;
	char *before;	 /* where a trace that was there is kept; NULL: it is not */
	char *temporary; /* the name until it is published; NULL: it has none */
	int fd;
	bool force, kept, published;
};

/* May what is at path be replaced? *ret_there: there is something. */
static struct ebt_error *check_old(const char *path, bool force, bool *ret_there)
{
	/* Not blocking: it may be a FIFO. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char magic[EBT_FILE_MAGIC_LEN];
	struct stat st;

	*ret_there = false;
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
	*ret_there = true;
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

/* On a USB stick, over FUSE or a network: no reason to have no trace. */
static bool has_no_owners(int errnum)
{
	return errnum == EPERM || errnum == EACCES || errnum == EINVAL || errnum == ENOSYS ||
	       errnum == EOPNOTSUPP;
}

/* That of path may be as long as a name can be. errno says why it is NULL. */
static char *name_beside(const char *path)
{
	const char *slash = strrchr(path, '/');
	unsigned int number;
	char *name;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number) ||
	    asprintf(&name, "%.*s.ebrec.%08x", (int)(slash ? slash + 1 - path : 0), path, number) <
		    0)
		return NULL;
	return name;
}

static int open_unnamed(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");

	return folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
}

/*
 * A new file in the folder of path, which belongs to who asked for it. It has no name until it is
 * whole, so that nothing is left of a process that is killed. NFS, FAT, and overlayfs and FUSE of
 * older kernels have no such files: there it gets one, *ret_name, else NULL.
 */
static struct ebt_error *make_beside(const char *path, char **ret_name, int *ret)
{
	_cleanup_close_ int fd = open_unnamed(path);
	_cleanup_free_ char *name = NULL;
	uid_t uid;
	gid_t gid;

	if (fd < 0) {
		name = name_beside(path);
		if (!name)
			return ebt_error_errno(errno, "cannot make a file");
		fd = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		if (fd < 0)
			return ebt_error_errno(errno, "cannot make %s (-o FILE writes elsewhere)",
					       path);
	}
	if (invoker_of_sudo(&uid, &gid) && fchown(fd, uid, gid) && !has_no_owners(errno)) {
		int errnum = errno;

		if (name)
			unlink(name);
		return ebt_error_errno(errnum, "cannot give %s to user %u", path, uid);
	}
	*ret_name = take_ptr(name);
	*ret = take_fd(&fd);
	return NULL;
}

/* Nothing is there any more. Where the file system cannot promise that, it has just been seen. */
static int rename_to_new(const char *from, const char *to)
{
	struct stat st;

	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (!lstat(to, &st)) {
		errno = EEXIST;
		return -1;
	}
	return rename(from, to);
}

static int link_unnamed(int fd, const char *path)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* Names what make_beside() made; *name is its name in between. replace: in place of what has that
 * name; a link replaces nothing. */
static int put_at(int fd, char **name, const char *path, bool replace)
{
	if (!*name && !replace)
		return link_unnamed(fd, path);
	if (!*name) {
		_cleanup_free_ char *beside = name_beside(path);

		if (!beside || link_unnamed(fd, beside))
			return -1;
		*name = take_ptr(beside);
	}
	return replace ? rename(*name, path) : rename_to_new(*name, path);
}

/* Is there a trace to be kept, and can it be? */
static struct ebt_error *plan(struct output *output)
{
	_cleanup_free_ char *before = NULL;
	bool there, older;
	struct ebt_error *err = check_old(output->path, output->force, &there);

	free(output->before);
	output->before = NULL;
	if (err || output->force || !there)
		return err;
	if (asprintf(&before, "%s.old", output->path) < 0) {
		before = NULL;
		return &ebt_enomem;
	}
	err = check_old(before, false, &older);
	if (err)
		return ebt_error_prefix(err, "%s cannot be kept without -f", output->path);
	output->before = take_ptr(before);
	return NULL;
}

struct ebt_error *output_create(const char *path, bool force, struct output **ret)
{
	_cleanup_(output_destroyp) struct output *output = calloc(1, sizeof(*output));
	struct ebt_error *err;

	if (!output)
		return &ebt_enomem;
	output->path = path;
	output->force = force;
	output->fd = -1;
	output->published = !strcmp(path, "-");
	err = output->published
		      ? open_stdout(&output->fd)
		      : plan(output) ?: make_beside(path, &output->temporary, &output->fd);
	if (err)
		return err;
	*ret = take_ptr(output);
	return NULL;
}

void output_destroy(struct output *output)
{
	if (!output)
		return;
	if (output->temporary && !output->published)
		unlink(output->temporary);
	ebt_closep(&output->fd);
	free(output->before);
	free(output->temporary);
	free(output);
}

int output_fd(const struct output *output)
{
	return output->fd;
}

struct ebt_error *output_publish(struct output *output)
{
	struct ebt_error *err;

	if (output->published)
		return NULL;
	/* Loading the BPF programs takes its time: another recorder may have come first. */
	err = plan(output);
	if (err)
		return err;
	if (output->before) {
		output->kept = !rename(output->path, output->before);
		if (!output->kept && errno != ENOENT)
			return ebt_error_errno(errno, "cannot keep %s as %s", output->path,
					       output->before);
	}
	if (put_at(output->fd, &output->temporary, output->path, output->force))
		return ebt_error_errno(errno, "cannot make %s", output->path);
	output->published = true;
	return NULL;
}

bool output_published(const struct output *output)
{
	return output->published;
}

bool output_kept(const struct output *output)
{
	return output->kept;
}

/* --- bundles --- */

/* The ebreport in the folder of this program; *ret_path NULL: it is not there. */
static struct ebt_error *find_neighbour(char **ret_path)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *path;

	if (len < 0)
		return ebt_error_errno(errno, "/proc/self/exe");
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (!slash || asprintf(&path, "%.*s/ebreport", (int)(slash - self), self) < 0)
		return &ebt_enomem;
	if (access(path, X_OK)) {
		free(path);
		path = NULL;
	}
	*ret_path = path;
	return NULL;
}

struct ebt_error *bundle_find(char **ret)
{
	char found[PATH_MAX];
	char *path;
	struct program_search search = ldso_search_program("ebreport");
	struct ebt_error *err = find_neighbour(&path);

	/* This may be root: what lies in the folder where it was called is nobody's choice. */
	search.whole_only = true;
	if (!err && !path && !ldso_next_program(&search, found)) {
		path = strdup(found);
		if (!path)
			return &ebt_enomem;
	}
	if (!err && !path)
		err = ebt_error_create(EBT_ERR_NOT_FOUND,
				       "--bundle: there is no ebreport, which would do it, in the "
				       "folder of ebrec or in PATH");
	if (!err)
		*ret = path;
	return err;
}

/* Until the process has ended, by itself or as it is abandoned. */
static struct ebt_error *await(pid_t pid, const volatile sig_atomic_t *abandoned, int *ret_status)
{
	const struct timespec tick = { .tv_nsec = 20000000 };

	for (;;) {
		pid_t ended = waitpid(pid, ret_status, WNOHANG);

		if (ended == pid)
			return NULL;
		if (ended < 0 && errno != EINTR)
			return ebt_error_errno(errno, "cannot wait for ebreport");
		if (*abandoned)
			kill(-pid, SIGKILL);
		nanosleep(&tick, NULL);
	}
}

/*
 * In the child, where signals are blocked. Ctrl-C is for the recorder alone, which answers it, also
 * where it came before this process has a group of its own. Out of the terminal's group it would
 * be stopped as it writes there after `stty tostop`.
 */
static void become_ebreport(const char *path, int from, int to, pid_t recorder,
			    const sigset_t *mask)
{
	char *argv[] = { (char *)"ebreport", (char *)"bundle", (char *)"-", NULL };

	setpgid(0, 0);
	signal(SIGINT, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == recorder && dup2(from, STDIN_FILENO) >= 0 &&
	    dup2(to, STDOUT_FILENO) >= 0) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		execv(path, argv);
	}
	_exit(127);
}

/* Runs `ebreport bundle -` from one file to the other. */
static struct ebt_error *run(const char *ebreport, int from, int to,
			     const volatile sig_atomic_t *abandoned)
{
	pid_t pid, recorder = getpid();
	struct ebt_error *err;
	sigset_t all, mask;
	int errnum, status;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	pid = fork();
	if (!pid)
		become_ebreport(ebreport, from, to, recorder, &mask);
	errnum = errno;
	if (pid > 0)
		setpgid(pid, pid);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (pid < 0)
		return ebt_error_errno(errnum, "cannot run %s", ebreport);
	err = await(pid, abandoned, &status);
	if (err)
		return err;
	if (*abandoned)
		return ebt_error_create(EBT_ERR_INVALID, "abandoned: the trace has no names in it");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s bundle failed: the trace has no names in it", ebreport);
	return NULL;
}

/* Another recorder may have been given the same name meanwhile. */
static struct ebt_error *replace(const char *trace, const struct stat *recorded, int copy,
				 char **copy_name)
{
	struct stat st;

	if (lstat(trace, &st))
		return ebt_error_errno(errno, "cannot replace %s", trace);
	if (st.st_dev != recorded->st_dev || st.st_ino != recorded->st_ino)
		return ebt_error_create(EBT_ERR_INVALID,
					"%s is another file now: the trace has no names in it",
					trace);
	if (put_at(copy, copy_name, trace, true))
		return ebt_error_errno(errno, "cannot replace %s", trace);
	return NULL;
}

struct ebt_error *bundle_trace(const char *ebreport, const char *trace, const struct stat *recorded,
			       const volatile sig_atomic_t *abandoned)
{
	_cleanup_close_ int from = open(trace, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	_cleanup_close_ int to = -1;
	_cleanup_free_ char *copy = NULL;
	struct ebt_error *err;

	if (from < 0)
		return ebt_error_errno(errno, "cannot bundle %s", trace);
	err = make_beside(trace, &copy, &to);
	if (err)
		return err;
	err = run(ebreport, from, to, abandoned) ?: replace(trace, recorded, to, &copy);
	if (err && copy)
		unlink(copy);
	return err;
}
