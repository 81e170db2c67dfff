/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user's browser; see browser.h. */
#include "report/serve/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/base/cleanup.h"

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

bool browser_is_there(void)
{
	return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
}

/* In the folder of this user and session, where there is one. */
static struct ebt_error *write_file(const char *url, char **ret)
{
	const char *folder = is_set("XDG_RUNTIME_DIR") ? getenv("XDG_RUNTIME_DIR")
			     : is_set("TMPDIR")	       ? getenv("TMPDIR")
						       : "/tmp";
	_cleanup_free_ char *path = NULL;
	struct ebt_error *err = ebt_format(&path, "%s/ebreport-XXXXXX.html", folder);
	int fd, n;

	if (err)
		return err;
	fd = mkostemps(path, 5, O_CLOEXEC); /* for its owner only */
	if (fd < 0)
		return ebt_error_errno(errno, "cannot make a file in '%s'", folder);
	n = dprintf(
		fd,
		"<!doctype html>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"referrer\" content=\"no-referrer\">\n"
		"<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n<title>ebreport</title>\n",
		url);
	close(fd);
	*ret = take_ptr(path);
	return n < 0 ? ebt_error_errno(errno, "cannot write '%s'", *ret) : NULL;
}

/* Beside this program: the browser stays when that ends, and Ctrl-C is not for it. */
static void spawn_opener(char *path)
{
	char *argv[] = { "xdg-open", path, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawn_file_actions_init(&files);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	/* Where there is none, the address that was printed has to do. */
	(void)posix_spawnp(&pid, "xdg-open", &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
}

struct ebt_error *browser_open(const char *url, char **ret)
{
	struct ebt_error *err = write_file(url, ret);

	if (!err)
		spawn_opener(*ret);
	return err;
}

void browser_forget(char *path)
{
	if (path)
		unlink(path);
	free(path);
}
