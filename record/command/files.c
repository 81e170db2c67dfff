/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding what a command will load; see files.h. */
#include "record/command/files.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/ldso.h"
#include "unwind/needed.h"

/* Files of a command; the largest desktop programs load some 200. */
#define MAX_FILES 512
/* Scripts whose interpreter is a script, and `env`. */
#define MAX_SCRIPTS 4

struct library_search {
	char *files[MAX_FILES]; /* found so far */
	size_t n;
	struct ldso ldso;
};

/* Each file once; names of links to it were made real. */
static void add_file(struct library_search *s, const char *path)
{
	char *real = s->n < MAX_FILES ? realpath(path, NULL) : NULL;

	for (size_t i = 0; real && i < s->n; i++) {
		if (!strcmp(s->files[i], real)) {
			free(real);
			return;
		}
	}
	if (real)
		s->files[s->n++] = real;
}

static void add_needed(struct library_search *s, const char *path, int fd)
{
	char origin[PATH_MAX], found[PATH_MAX];
	struct needed *needed = malloc(sizeof(*needed));
	char *slash;

	if (!needed)
		return;
	needed_read(fd, needed);
	snprintf(origin, sizeof(origin), "%s", path);
	slash = strrchr(origin, '/');
	if (slash)
		*slash = '\0';
	if (*needed->interpreter)
		add_file(s, needed->interpreter);
	for (size_t i = 0; i < needed->n; i++) {
		if (ldso_find_library(&s->ldso, needed, origin, needed->names[i], found))
			add_file(s, found);
	}
	needed_deinit(needed);
	free(needed);
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -1;
}

/* The program that runs a script: "#!/bin/sh", "#!/usr/bin/env python3". */
static bool script_program(const char *path, char *ret)
{
	_cleanup_close_ int fd = open_file(path);
	char line[256], *word, *rest;
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	if (n < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &rest);
	if (!word || snprintf(ret, PATH_MAX, "%s", word) >= PATH_MAX)
		return false;
	word = strtok_r(NULL, " \t", &rest);
	if (word && strlen(ret) >= 4 && !strcmp(ret + strlen(ret) - 4, "/env"))
		return !ldso_find_program(word, ret);
	return true;
}

void command_files(const char *program, command_file_fn *fn, void *arg)
{
	struct library_search *s = calloc(1, sizeof(*s));
	char path[PATH_MAX], next[PATH_MAX];

	if (!s)
		return;
	snprintf(path, sizeof(path), "%s", program);
	ldso_read(&s->ldso);
	for (int i = 0; i < MAX_SCRIPTS && script_program(path, next); i++)
		memcpy(path, next, sizeof(path));
	add_file(s, path);
	for (size_t i = 0; i < s->n; i++) {
		_cleanup_close_ int fd = open_file(s->files[i]);

		if (fd < 0)
			continue;
		fn(arg, fd, s->files[i]);
		add_needed(s, s->files[i], fd);
	}
	for (size_t i = 0; i < s->n; i++)
		free(s->files[i]);
	ldso_deinit(&s->ldso);
	free(s);
}
