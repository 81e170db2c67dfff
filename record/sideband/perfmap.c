/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes have generated code, and the files that name it; see perfmap.h. */
#include "record/sideband/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/schema/wire.h"
#include "record/base/procfs.h"
#include "record/base/rows.h"
#include "record/sideband/perfmap_file.h"

/* A large program in JavaScript writes some 10 MiB. */
#define MAX_FILE  (64u << 20)
#define MAX_TOTAL (256u << 20)

/* Processes with generated code, at a time, and the share of our file descriptors that is theirs.
 */
#define MAX_PROCESSES 4096u
#define MAX_HELD      2048u
#define OTHER_FDS     512u

/* A map that is not there yet is looked for again after this time, then after twice as long … */
#define FIRST_WAIT UINT64_C(10000000)
#define LAST_WAIT  UINT64_C(1000000000)

struct process {
	uint32_t pid;
	int tmp;	 /* -1: that of the recorder */
	uint64_t from;	 /* first mapping of the program's */
	uint64_t latest; /* newest */
	uint64_t next, wait;
	struct perfmap_owner owner;
};

/* A file to be stored. */
struct held {
	uint32_t pid;
	int fd;
	bool dump;
	uint64_t from;
	dev_t dev;
	ino_t ino;
	char *path;
};

struct perfmaps {
	struct sideband_context *context;
	struct process *processes;
	size_t n_processes, processes_capacity;
	struct held *held;
	size_t n_held, held_capacity, max_fds, n_fds;
	int tmp;
	struct stat tmp_stat;
	uint64_t stored;
	uint64_t refused; /* there was no room for them */
};

struct ebt_error *perfmaps_create(struct sideband_context *context, struct perfmaps **ret)
{
	struct perfmaps *maps = calloc(1, sizeof(*maps));
	struct rlimit limit;

	if (!maps)
		return &ebt_enomem;
	maps->context = context;
	maps->max_fds = MAX_HELD;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < MAX_HELD + OTHER_FDS)
		maps->max_fds = limit.rlim_cur > 2 * OTHER_FDS ? limit.rlim_cur - OTHER_FDS
							       : limit.rlim_cur / 2;
	maps->tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (maps->tmp >= 0 && fstat(maps->tmp, &maps->tmp_stat))
		ebt_closep(&maps->tmp);
	*ret = maps;
	return NULL;
}

static void close_fd(struct perfmaps *maps, int fd)
{
	if (fd < 0)
		return;
	close(fd);
	maps->n_fds--;
}

void perfmaps_destroy(struct perfmaps *maps)
{
	if (!maps)
		return;
	for (size_t i = 0; i < maps->n_processes; i++)
		close_fd(maps, maps->processes[i].tmp);
	for (size_t i = 0; i < maps->n_held; i++) {
		close_fd(maps, maps->held[i].fd);
		free(maps->held[i].path);
	}
	ebt_closep(&maps->tmp);
	free(maps->processes);
	free(maps->held);
	free(maps);
}

static struct process *find_process(struct perfmaps *maps, uint32_t pid)
{
	for (size_t i = 0; i < maps->n_processes; i++) {
		if (maps->processes[i].pid == pid)
			return &maps->processes[i];
	}
	return NULL;
}

/* Takes the handle, and closes it where the file is held already or there are too many. */
static struct ebt_error *hold(struct perfmaps *maps, const struct process *process,
			      struct held file, const char *path, size_t path_len)
{
	_cleanup_close_ int fd = file.fd;

	for (size_t i = 0; i < maps->n_held; i++) {
		const struct held *h = &maps->held[i];

		if (h->pid == process->pid && h->dev == file.dev && h->ino == file.ino)
			return NULL;
	}
	if (maps->n_fds >= maps->max_fds) {
		maps->refused++;
		return NULL;
	}
	file.pid = process->pid;
	file.from = process->from;
	file.path = strndup(path, path_len);
	if (!file.path || ebt_array_reserve(&maps->held, maps->n_held, &maps->held_capacity)) {
		free(file.path);
		return &ebt_enomem;
	}
	maps->held[maps->n_held++] = file;
	maps->n_fds++;
	take_fd(&fd);
	return NULL;
}

/* Has the process written a map, or another one? */
static struct ebt_error *look_for_map(struct perfmaps *maps, struct process *process, bool *found)
{
	const int tmp = process->tmp < 0 ? maps->tmp : process->tmp;
	struct stat st;
	char path[48];
	int fd;

	*found = false;
	if (tmp < 0)
		return NULL;
	fd = perfmap_open(tmp, &process->owner, &st);
	/* It may have changed who it is since. */
	if (fd == -EPERM) {
		_cleanup_close_ int dir = procfs_open(process->pid);

		if (dir >= 0 && perfmap_owner(dir, &process->owner))
			fd = perfmap_open(tmp, &process->owner, &st);
	}
	if (fd < 0)
		return NULL;
	*found = true;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", process->owner.inner);
	return hold(maps, process, (struct held){ .fd = fd, .dev = st.st_dev, .ino = st.st_ino },
		    path, sizeof(path));
}

/* Its /tmp is most often ours, for which no other handle is needed. */
static int own_tmp(struct perfmaps *maps, int dir)
{
	struct stat st;
	int fd = perfmap_tmp(dir);

	if (fd < 0)
		return -1;
	maps->n_fds++;
	if (fstat(fd, &st) || maps->n_fds > maps->max_fds ||
	    (maps->tmp >= 0 && st.st_dev == maps->tmp_stat.st_dev &&
	     st.st_ino == maps->tmp_stat.st_ino)) {
		maps->refused += maps->n_fds > maps->max_fds;
		close_fd(maps, fd);
		return -1;
	}
	return fd;
}

/* *ret is NULL where the process has gone already. */
static struct ebt_error *add_process(struct perfmaps *maps, uint32_t pid, int dir, uint64_t from,
				     struct process **ret)
{
	struct process process = { .pid = pid, .from = from, .wait = FIRST_WAIT };
	struct ebt_error *err;

	*ret = NULL;
	if (maps->n_processes == MAX_PROCESSES) {
		maps->refused++;
		return NULL;
	}
	if (!perfmap_owner(dir, &process.owner))
		return NULL;
	err = ebt_array_reserve(&maps->processes, maps->n_processes, &maps->processes_capacity);
	if (err)
		return err;
	process.tmp = own_tmp(maps, dir);
	*ret = &maps->processes[maps->n_processes++];
	**ret = process;
	return NULL;
}

static struct ebt_error *hold_dump(struct perfmaps *maps, const struct process *process, int dir,
				   const struct mapping *mapping)
{
	struct stat st;
	int fd = perfmap_open_dump(dir, &process->owner, mapping, &st);

	if (fd < 0)
		return NULL;
	return hold(maps, process,
		    (struct held){ .fd = fd, .dump = true, .dev = st.st_dev, .ino = st.st_ino },
		    mapping->path, mapping->path_len);
}

struct ebt_error *perfmaps_map(struct perfmaps *maps, const struct mapping *mapping)
{
	const bool dump = perfmap_is_dump(mapping);
	_cleanup_close_ int dir = -1;
	struct ebt_error *err = NULL;
	struct process *process;

	if (!dump && !perfmap_is_generated(mapping))
		return NULL;
	process = find_process(maps, mapping->pid);
	if (!process || dump) {
		dir = procfs_open(mapping->pid);
		if (dir < 0)
			return NULL;
	}
	if (!process)
		err = add_process(maps, mapping->pid, dir, mapping->time, &process);
	if (err || !process)
		return err;
	process->latest = mapping->time;
	return dump ? hold_dump(maps, process, dir, mapping) : NULL;
}

struct ebt_error *perfmaps_look(struct perfmaps *maps, uint64_t now)
{
	for (size_t i = 0; i < maps->n_processes; i++) {
		struct process *process = &maps->processes[i];
		struct ebt_error *err;
		bool found;

		if (now < process->next)
			continue;
		err = look_for_map(maps, process, &found);
		if (err)
			return err;
		process->wait =
			found || 2 * process->wait > LAST_WAIT ? LAST_WAIT : 2 * process->wait;
		process->next = now + process->wait;
	}
	return NULL;
}

static struct ebt_error *store(struct perfmaps *maps, const struct held *held, uint64_t time)
{
	_cleanup_error_ struct ebt_error *unreadable = NULL;
	_cleanup_free_ char *content = NULL;
	struct embed_file file = {
		.role = held->dump ? "jitdump" : "perf_map",
		.path = held->path,
		.sensitivity = EBT_V_file_sensitivity_user,
		.pid = held->pid,
		.time = time,
	};
	uint64_t left = MAX_TOTAL - maps->stored;
	struct stat st;
	char path[32];
	size_t len;

	if (!left) {
		maps->refused++;
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", held->fd);
	unreadable = procfs_slurp(path, left < MAX_FILE ? left : MAX_FILE, &content, &len,
				  &file.truncated);
	if (unreadable || !len || !perfmap_looks_right(held->dump, content, len))
		return NULL;
	if (!fstat(held->fd, &st))
		file.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	maps->stored += len;
	return embed_bytes(maps->context, &file, content, len);
}

/* Stores what belongs to the program that the process ran until then. */
static struct ebt_error *store_process(struct perfmaps *maps, uint32_t pid, uint64_t time)
{
	struct ebt_error *err = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < maps->n_held; i++) {
		struct held *held = &maps->held[i];

		if (held->pid != pid || held->from > time) {
			maps->held[kept++] = *held;
			continue;
		}
		err = err ? err : store(maps, held, time);
		close_fd(maps, held->fd);
		free(held->path);
	}
	maps->n_held = kept;
	return err;
}

static struct ebt_error *end_process(struct perfmaps *maps, struct process *process, uint64_t time)
{
	bool found;
	struct ebt_error *err =
		look_for_map(maps, process, &found) ?: store_process(maps, process->pid, time);

	close_fd(maps, process->tmp);
	*process = maps->processes[--maps->n_processes];
	return err;
}

struct ebt_error *perfmaps_exit(struct perfmaps *maps, uint32_t pid, uint64_t time_ns)
{
	struct process *process = find_process(maps, pid);

	return process && process->from <= time_ns ? end_process(maps, process, time_ns) : NULL;
}

struct ebt_error *perfmaps_exec(struct perfmaps *maps, uint32_t pid, uint64_t time_ns)
{
	struct process *process = find_process(maps, pid);
	_cleanup_close_ int dir = -1;
	struct ebt_error *err;
	uint64_t latest;

	if (!process || process->from >= time_ns)
		return NULL;
	latest = process->latest;
	/* One address space ends where another begins; this is of the former. */
	err = end_process(maps, process, time_ns - 1);
	if (err || latest < time_ns)
		return err;
	dir = procfs_open(pid);
	return dir < 0 ? NULL : add_process(maps, pid, dir, latest, &process);
}

static struct ebt_error *emit_refused(struct perfmaps *maps, uint64_t now)
{
	const struct lost_row lost = {
		.from = now,
		.count = maps->refused,
		.table_id = EBT_T_file,
		.reason = EBT_V_lost_reason_other,
		.source = "perfmap",
		.detail = "too many or too large files with names of generated code",
	};

	maps->refused = 0;
	return add_lost(maps->context->stream, now, &lost);
}

struct ebt_error *perfmaps_finish(struct perfmaps *maps, uint64_t now)
{
	struct ebt_error *err = NULL;

	while (!err && maps->n_processes)
		err = end_process(maps, &maps->processes[0], now);
	return err || !maps->refused ? err : emit_refused(maps, now);
}
