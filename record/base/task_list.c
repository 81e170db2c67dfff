/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The iterator's file is read like any other; each read gives whole records. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/search.h"
#include "record/base/clocks.h"
#include "record/base/procfs.h"
#include "record/base/task_list.h"

/* As /proc/PID/stat prints it. */
#define PF_KTHREAD 0x00200000u
/* It counts priorities from where real-time ends. */
#define MAX_RT_PRIO 100

void task_lister_init(struct task_lister *lister, const struct bpf_program *iterator)
{
	*lister = (struct task_lister){ .link = bpf_program__attach_iter(iterator, NULL) };
	if (!lister->link)
		snprintf(lister->detail, sizeof(lister->detail),
			 "the task iterator cannot be attached (%s): start times are of /proc, to "
			 "a tick",
			 strerror(errno));
}

void task_lister_deinit(struct task_lister *lister)
{
	bpf_link__destroy(lister->link);
}

void task_list_deinit(struct task_list *list)
{
	free(list->tasks);
	*list = (struct task_list){ 0 };
}

static struct ebt_error *read_iterator(const struct task_lister *lister, struct task_list *list)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(lister->link));
	struct ebrec_task batch[256];
	size_t have = 0;

	if (fd < 0)
		return ebt_error_errno(errno, "cannot start the task iterator");
	for (;;) {
		ssize_t n = read(fd, (char *)batch + have, sizeof(batch) - have);
		struct ebt_error *err;
		size_t whole;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return ebt_error_errno(errno, "cannot read the task iterator");
		if (!n)
			return NULL;
		have += (size_t)n;
		whole = have / sizeof(batch[0]);
		err = ebt_array_reserve(&list->tasks, list->n + whole, &list->capacity);
		if (err)
			return err;
		memcpy(list->tasks + list->n, batch, whole * sizeof(batch[0]));
		list->n += whole;
		have -= whole * sizeof(batch[0]);
		memmove(batch, batch + whole, have);
	}
}

static int by_pid(const void *a, const void *b)
{
	const struct ebrec_task *x = a, *y = b;

	return ebt_compare(x->pid, y->pid) ?: ebt_compare(x->tid, y->tid);
}

/* Times of /proc are rounded down to this. */
static uint64_t tick_ns(void)
{
	return 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* task_struct.__state of the letter, and what of it is in exit_state. */
static void state_of(char letter, struct ebrec_task *task)
{
	static const struct {
		char letter;
		uint32_t state, exit_state;
	} states[] = {
		{ 'S', 0x1, 0 },  { 'D', 0x2, 0 },     { 'T', 0x4, 0 },	    { 't', 0x8, 0 },
		{ 'P', 0x40, 0 }, { 'X', 0x80, 0x10 }, { 'Z', 0x80, 0x20 }, { 'I', 0x402, 0 },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (states[i].letter == letter) {
			task->state = states[i].state;
			task->exit_state = states[i].exit_state;
		}
	}
}

/* What is in files of their own. */
static void read_used(int task_dir, const char *tid, struct ebrec_used *used)
{
	struct procfs_status status;
	char name[64], text[4096];

	snprintf(name, sizeof(name), "%.16s/schedstat", tid);
	if (procfs_read(task_dir, name, text, sizeof(text)) > 0)
		used->run_time = strtoull(text, NULL, 10);
	snprintf(name, sizeof(name), "%.16s/status", tid);
	if (procfs_status(task_dir, name, &status)) {
		used->nvcsw = status.nvcsw;
		used->nivcsw = status.nivcsw;
	}
	snprintf(name, sizeof(name), "%.16s/io", tid);
	if (procfs_read(task_dir, name, text, sizeof(text)) < 0)
		text[0] = '\0';
	used->read_bytes = procfs_number(text, "read_bytes:", UINT64_MAX);
	used->write_bytes = procfs_number(text, "write_bytes:", UINT64_MAX);
	used->rchar = procfs_number(text, "rchar:", UINT64_MAX);
	used->wchar = procfs_number(text, "wchar:", UINT64_MAX);
}

/* /proc/PID/stat: false where it is not whole. The name may itself have parentheses. */
static bool parse_stat(const char *text, const struct clocks *clocks, struct ebrec_task *task)
{
	const uint64_t asleep = clocks->boottime - clocks->monotonic;
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long start, minor, major;
	uint32_t flags;
	char state;
	size_t len;

	if (!open || !close || close < open ||
	    sscanf(close + 1,
		   " %c %u %*s %*s %*s %*s %u %llu %*s %llu %*s %*s %*s %*s %*s %d %d %*s %*s "
		   "%llu %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %u %u %u",
		   &state, &task->ppid, &flags, &minor, &major, &task->prio, &task->nice, &start,
		   &task->cpu, &task->rt_priority, &task->policy) != 11)
		return false;
	len = (size_t)(close - open - 1);
	memcpy(task->comm, open + 1, len < sizeof(task->comm) ? len : sizeof(task->comm) - 1);
	task->start = start * tick_ns();
	task->start -= task->start > asleep ? asleep : 0;
	task->kernel = flags & PF_KTHREAD ? 1 : 0;
	state_of(state, task);
	task->prio += MAX_RT_PRIO;
	task->used.minor = minor;
	task->used.major = major;
	return true;
}

/* Returns false where the thread has gone. */
static bool read_thread(int task_dir, uint32_t pid, const char *tid, const struct clocks *clocks,
			struct ebrec_task *ret)
{
	struct ebrec_task task = { .pid = pid, .uid = UINT32_MAX };
	char name[64], text[4096];

	snprintf(name, sizeof(name), "%.16s/stat", tid);
	if (procfs_read(task_dir, name, text, sizeof(text)) < 0 || !parse_stat(text, clocks, &task))
		return false;
	task.tid = (uint32_t)strtoul(tid, NULL, 10);
	read_used(task_dir, tid, &task.used);
	*ret = task;
	return true;
}

static struct ebt_error *read_process(struct task_list *list, const char *pid,
				      const struct clocks *clocks)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	const struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.16s/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		struct ebt_error *err = ebt_array_reserve(&list->tasks, list->n, &list->capacity);

		if (err)
			return err;
		if (entry->d_name[0] != '.' &&
		    read_thread(dirfd(dir), (uint32_t)strtoul(pid, NULL, 10), entry->d_name, clocks,
				&list->tasks[list->n]))
			list->n++;
	}
	return NULL;
}

static void sort(struct task_list *list)
{
	qsort(list->tasks, list->n, sizeof(*list->tasks), by_pid);
}

static bool has_pid(const struct task_list *list, size_t n, uint32_t pid)
{
	size_t at = ebt_count_first(n, i, list->tasks[i].pid < pid);

	return at < n && list->tasks[at].pid == pid;
}

/* Adds the processes of /proc that are not in the list, which is sorted. */
static struct ebt_error *add_of_proc(struct task_list *list)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	const size_t n = list->n;
	const struct dirent *entry;
	struct clocks clocks;
	struct ebt_error *err;

	if (!dir)
		return ebt_error_errno(errno, "/proc");
	err = clocks_read(&clocks);
	while (!err && (entry = readdir(dir))) {
		const char *pid = entry->d_name;

		if (*pid >= '1' && *pid <= '9' &&
		    !has_pid(list, n, (uint32_t)strtoul(pid, NULL, 10)))
			err = read_process(list, pid, &clocks);
	}
	return err;
}

/*
 * A kernel may hide processes from iterators. What /proc has besides
 * is one of these, if it was there before the iterator began; else its fork is an event.
 */
static struct ebt_error *by_iterator(const struct task_lister *lister, struct task_list *list)
{
	const uint64_t begin = clocks_now();
	struct ebt_error *err = read_iterator(lister, list);
	size_t n = list->n, to = n;

	if (err)
		return err;
	sort(list);
	err = add_of_proc(list);
	for (size_t i = n; i < list->n; i++)
		if (list->tasks[i].start + tick_ns() <= begin)
			list->tasks[to++] = list->tasks[i];
	list->n = to;
	return err;
}

struct ebt_error *task_lister_read(const struct task_lister *lister, struct task_list *ret)
{
	struct task_list list = { 0 };
	struct ebt_error *err =
		lister && lister->link ? by_iterator(lister, &list) : add_of_proc(&list);

	if (err) {
		task_list_deinit(&list);
		return err;
	}
	sort(&list);
	*ret = list;
	return NULL;
}
