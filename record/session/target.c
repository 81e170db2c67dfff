/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Targets that are there: processes and cgroups; see target.h. The command is in command.c. */
#include "record/session/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <mntent.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "record/base/procfs.h"

static struct ebt_error *open_pids(struct target *t)
{
	const struct record_options *o = t->options;

	t->pidfds = calloc(o->n_pids, sizeof(*t->pidfds));
	if (!t->pidfds)
		return &ebt_enomem;
	for (size_t i = 0; i < o->n_pids; i++)
		t->pidfds[i] = -1;
	for (size_t i = 0; i < o->n_pids; i++) {
		t->pidfds[i] = (int)syscall(SYS_pidfd_open, o->pids[i], 0);
		if (t->pidfds[i] >= 0)
			continue;
		if (errno == ESRCH)
			return ebt_error_create(EBT_ERR_NOT_FOUND, "there is no process %d",
						(int)o->pids[i]);
		if (errno == EINVAL || errno == ENOENT)
			return ebt_error_create(EBT_ERR_INVALID,
						"%d is a thread: give the process that it is of",
						(int)o->pids[i]);
		return ebt_error_errno(errno, "cannot watch process %d", (int)o->pids[i]);
	}
	return NULL;
}

/* Is it a directory of a cgroup v2 hierarchy? */
static bool is_cgroup2(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* A path below where cgroup2 is mounted; the caller frees it. NULL: there is none. */
static char *below_mount(const char *path)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *m;
	char *found = NULL;

	while (mounts && !found && (m = getmntent(mounts))) {
		if (strcmp(m->mnt_type, "cgroup2"))
			continue;
		if (asprintf(&found, "%s/%s", m->mnt_dir, path + (*path == '/')) < 0)
			found = NULL;
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

static struct ebt_error *find_cgroup(struct target *t)
{
	const char *path = t->options->cgroup;
	struct stat st;

	t->cgroup = is_cgroup2(path) ? strdup(path) : below_mount(path);
	if (!t->cgroup)
		return ebt_error_create(EBT_ERR_UNSUPPORTED, "cgroup v2 is not mounted here");
	if (stat(t->cgroup, &st))
		return ebt_error_errno(errno, "%s", t->cgroup);
	if (!S_ISDIR(st.st_mode) || !is_cgroup2(t->cgroup))
		return ebt_error_create(EBT_ERR_INVALID, "%s is not a cgroup (v2)", t->cgroup);
	/* Inode numbers of cgroupfs are the ids that BPF programs see. */
	t->cgroup_id = st.st_ino;
	return NULL;
}

struct ebt_error *target_create(const struct record_options *options, struct target **ret)
{
	_cleanup_(target_destroyp) struct target *t = calloc(1, sizeof(*t));
	struct ebt_error *err = NULL;

	if (!t)
		return &ebt_enomem;
	t->options = options;
	if (options->command)
		err = command_create(options, &t->command);
	if (err)
		return err;
	switch (options->target) {
	case TARGET_PIDS:
		err = open_pids(t);
		break;
	case TARGET_CGROUP:
		err = find_cgroup(t);
		break;
	case TARGET_COMMAND:
	case TARGET_ALL:
	case TARGET_NONE:
		break;
	}
	if (err)
		return err;
	*ret = take_ptr(t);
	return NULL;
}

void target_destroy(struct target *t)
{
	if (!t)
		return;
	for (size_t i = 0; t->pidfds && i < t->options->n_pids; i++)
		ebt_closep(&t->pidfds[i]);
	free(t->pidfds);
	free(t->cgroup);
	command_destroy(t->command);
	free(t);
}

/* Calls fn for each directory entry that is a number. */
static void for_each_number(const char *path, void (*fn)(void *arg, uint32_t n), void *arg)
{
	_cleanup_(closedirp) DIR *dir = opendir(path);
	const struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char *end;
		unsigned long n = strtoul(d->d_name, &end, 10);

		if (end != d->d_name && !*end && n <= UINT32_MAX)
			fn(arg, (uint32_t)n);
	}
}

struct scan {
	struct capture *capture;
	bool added;
};

static void follow_thread(void *arg, uint32_t tid)
{
	struct scan *scan = arg;

	if (capture_follows(scan->capture, tid))
		return;
	capture_follow(scan->capture, tid);
	scan->added = true;
}

static void follow_process(struct scan *scan, uint32_t pid)
{
	char path[64];

	if (pid == (uint32_t)getpid())
		return;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	for_each_number(path, follow_thread, scan);
}

void target_follow_process(struct capture *capture, uint32_t pid)
{
	struct scan scan = { capture, false };

	/* A thread that an unmarked thread makes meanwhile is found by the next look. */
	do {
		scan.added = false;
		follow_process(&scan, pid);
	} while (scan.added);
}

static uint32_t parent_of(uint32_t pid)
{
	char path[32], stat[512];
	const char *rest;
	uint32_t ppid;

	/* Of each process there is. For status, the kernel takes half as long again. */
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (procfs_read(AT_FDCWD, path, stat, sizeof(stat)) < 0)
		return 0;
	/* The name, in parentheses, may hold anything. */
	rest = strrchr(stat, ')');
	return rest && sscanf(rest, ") %*c %" SCNu32, &ppid) == 1 ? ppid : 0;
}

static void follow_child(void *arg, uint32_t pid)
{
	struct scan *scan = arg;

	if (!capture_follows(scan->capture, pid) && capture_follows(scan->capture, parent_of(pid)))
		follow_process(scan, pid);
}

static void follow_file(struct scan *scan, const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	unsigned int pid;

	while (f && fscanf(f, "%u", &pid) == 1)
		follow_process(scan, pid);
}

/* The cgroup.procs of every directory at or below path. */
static void follow_cgroup(struct scan *scan, const char *path)
{
	_cleanup_free_ char *procs = NULL;
	_cleanup_(closedirp) DIR *dir = opendir(path);
	const struct dirent *d;

	if (asprintf(&procs, "%s/cgroup.procs", path) >= 0)
		follow_file(scan, procs);
	while (dir && (d = readdir(dir))) {
		_cleanup_free_ char *below = NULL;

		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		if (asprintf(&below, "%s/%s", path, d->d_name) >= 0)
			follow_cgroup(scan, below);
	}
}

struct ebt_error *target_follow(struct target *t, struct capture *capture)
{
	struct scan scan = { .capture = capture };

	if (t->options->target == TARGET_COMMAND)
		capture_follow(capture, (uint32_t)command_pid(t->command));
	if (!t->pidfds && !t->cgroup)
		return NULL;
	/* Until a look finds nothing new: a parent that was not marked yet may have forked. */
	do {
		scan.added = false;
		for (size_t i = 0; t->pidfds && i < t->options->n_pids; i++)
			follow_process(&scan, (uint32_t)t->options->pids[i]);
		if (t->pidfds)
			for_each_number("/proc", follow_child, &scan);
		if (t->cgroup)
			follow_cgroup(&scan, t->cgroup);
	} while (scan.added);
	return NULL;
}

bool target_ended(struct target *t)
{
	if (t->command)
		return command_ended(t->command);
	if (!t->pidfds)
		return false;
	for (size_t i = 0; i < t->options->n_pids; i++) {
		struct pollfd p = { .fd = t->pidfds[i], .events = POLLIN };

		if (!poll(&p, 1, 0))
			return false;
	}
	return true;
}
