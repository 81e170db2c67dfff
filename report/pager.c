/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pager; see pager.h. */
#include "report/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Long lines are cut at the edge with --wide: two that are folded into each other are no table. */
#define FLAGS	   "FRX"
#define FLAGS_WIDE "FRXS"

/* A report that is shorter is complete when the pager begins. */
#define BUFFER (UINT64_C(64) << 10)

struct pager {
	char *command;
	bool wide;
	FILE *f;
	int fd;	   /* its standard input; -1: nobody reads it any more */
	pid_t pid; /* 0: it has not begun */
	void (*gone)(void *arg);
	void *arg;
};

/* Of the one that has the terminal, for the signal handler. */
static volatile sig_atomic_t running_fd = -1, running_pid;

/* A key ends ebreport and not less: the shell must not ask for a command while less reads keys. */
static void on_key(int signal)
{
	if (running_fd >= 0)
		close(running_fd);
	waitpid(running_pid, NULL, 0);
	raise(signal); /* SA_RESETHAND: it ends the program */
}

/* --- which --- */

/* What the shell would make more of than a word is its own affair. */
static bool can_run(const char *command)
{
	size_t n = strcspn(command, " \t|&;<>()$`\\\"'*?[#~=%"), len;
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	if (!path || !n || (command[n] && command[n] != ' '))
		return true;
	if (memchr(command, '/', n)) {
		snprintf(file, sizeof(file), "%.*s", (int)n, command);
		return !access(file, X_OK);
	}
	for (;; path += len + 1) {
		len = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%.*s", (int)len, path, (int)n, command);
		if (!access(file, X_OK))
			return true;
		if (!path[len])
			return false;
	}
}

/* NULL: none. */
static struct ebt_error *choose(bool wide, const char **ret)
{
	const char *command = getenv("EBREPORT_PAGER"), *term = getenv("TERM");

	*ret = NULL;
	if (!command)
		command = getenv("PAGER");
	/* A terminal that can do nothing but print has no pages. */
	if (!term || !strcmp(term, "dumb") || (command && !*command) ||
	    (command && !strcmp(command, "cat")))
		return NULL;
	if (can_run(command ? command : "less"))
		*ret = command ? command : wide ? "less -" FLAGS_WIDE : "less -" FLAGS;
	else if (command)
		return ebt_error_create(EBT_ERR_INVALID,
					"there is no pager '%s' (EBREPORT_PAGER, PAGER)", command);
	return NULL;
}

/* --- beginning and end --- */

static int spawn(const struct pager *pager, int in, pid_t *ret)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", pager->command, NULL };
	posix_spawn_file_actions_t actions;
	int status;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	status = posix_spawn(ret, "/bin/sh", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return status;
}

static void wait_at_keys(void)
{
	static const int ending[] = { SIGINT, SIGQUIT };
	const struct sigaction wait = { .sa_handler = on_key, .sa_flags = SA_RESETHAND };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction now;

	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		sigaction(ending[i], NULL, &now);
		if (now.sa_handler == SIG_DFL)
			sigaction(ending[i], &wait, NULL);
	}
	sigaction(SIGPIPE, &ignore, NULL);
}

/* Where it cannot be, the terminal itself is written to. */
static void begin(struct pager *pager)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC)) {
		pager->fd = dup(STDOUT_FILENO);
		return;
	}
	if (spawn(pager, fds[0], &pager->pid)) {
		pager->pid = 0;
		close(fds[1]);
		fds[1] = dup(STDOUT_FILENO);
	} else {
		running_pid = pager->pid;
		running_fd = fds[1];
		wait_at_keys();
	}
	close(fds[0]);
	pager->fd = fds[1];
}

static void stop_writing(struct pager *pager)
{
	if (pager->fd >= 0)
		close(pager->fd);
	pager->fd = -1;
	running_fd = -1;
}

static ssize_t write_some(void *cookie, const char *data, size_t len)
{
	struct pager *pager = cookie;
	size_t done = 0;

	if (!pager->pid && pager->fd < 0)
		begin(pager);
	while (pager->fd >= 0 && done < len) {
		ssize_t n = write(pager->fd, data + done, len - done);

		if (n >= 0) {
			done += (size_t)n;
		} else if (errno != EINTR) {
			stop_writing(pager);
			if (pager->gone)
				pager->gone(pager->arg);
		}
	}
	return (ssize_t)len; /* what nobody wants to read is no error */
}

struct ebt_error *pager_create(const struct options *options, struct pager **ret)
{
	const cookie_io_functions_t functions = { .write = write_some };
	_cleanup_(pager_destroyp) struct pager *pager = NULL;
	const char *command = NULL;
	struct ebt_error *err = NULL;

	*ret = NULL;
	if (!options->no_pager && isatty(STDOUT_FILENO))
		err = choose(options->wide, &command);
	if (err || !command)
		return err;
	pager = calloc(1, sizeof(*pager));
	if (!pager)
		return &ebt_enomem;
	pager->fd = -1;
	pager->wide = options->wide;
	pager->command = strdup(command);
	pager->f = fopencookie(pager, "w", functions);
	if (!pager->command || !pager->f)
		return &ebt_enomem;
	setenv("LESS", pager->wide ? FLAGS_WIDE : FLAGS, 0);
	setvbuf(pager->f, NULL, _IOFBF, BUFFER);
	*ret = take_ptr(pager);
	return NULL;
}

void pager_destroy(struct pager *pager)
{
	if (!pager)
		return;
	if (pager->f)
		fclose(pager->f);
	stop_writing(pager);
	if (pager->pid) {
		while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(pager->command);
	free(pager);
}

FILE *pager_file(const struct pager *pager)
{
	return pager->f;
}

void pager_watch(struct pager *pager, void (*gone)(void *arg), void *arg)
{
	pager->gone = gone;
	pager->arg = arg;
}

bool pager_has_terminal(const struct pager *pager)
{
	return pager && pager->pid;
}
