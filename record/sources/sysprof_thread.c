/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who waits at a socket, by what /proc tells of system calls; see sysprof_thread.h. */
#include "record/sources/sysprof_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "format/base/cleanup.h"

/* Threads looked at: each is a file of /proc. */
#define MAX_THREADS 256

/* Who has asked waits a moment later. */
#define LOOKS	  4
#define MOMENT_NS 50000

/* "47 0x3 …": the number of the call, and its arguments. */
static bool waits(int tasks, const char *tid, int fd)
{
	char path[64], text[64];
	_cleanup_close_ int file = -1;
	char *end;
	ssize_t n;

	if (strlen(tid) > 16)
		return false;
	snprintf(path, sizeof(path), "%s/syscall", tid);
	file = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	n = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return strtol(text, &end, 10) == SYS_recvmsg && *end == ' ' &&
	       strtoul(end, NULL, 16) == (unsigned long)fd;
}

/* 0: nobody waits yet. *ret: threads that there are. */
static uint32_t look(uint32_t pid, int fd, int *ret)
{
	const struct dirent *entry;
	uint32_t found = 0;
	char path[40];
	DIR *tasks;

	*ret = 0;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return 0;
	while (!found && *ret < MAX_THREADS && (entry = readdir(tasks))) {
		if (*entry->d_name == '.')
			continue;
		++*ret;
		if (waits(dirfd(tasks), entry->d_name, fd))
			found = (uint32_t)strtoul(entry->d_name, NULL, 10);
	}
	closedir(tasks);
	return found;
}

uint32_t sysprof_thread_waiting(uint32_t pid, int fd)
{
	const struct timespec moment = { .tv_nsec = MOMENT_NS };

	for (int i = 0; i < LOOKS; i++) {
		int threads;
		uint32_t found = look(pid, fd, &threads);

		if (found)
			return found;
		if (threads <= 1)
			break;
		nanosleep(&moment, NULL);
	}
	return pid;
}
