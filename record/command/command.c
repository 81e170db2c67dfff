/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running the command that is recorded; see command.h. */
#include "record/command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "record/base/ldso.h"
#include "record/base/procfs.h"
#include "record/command/tee.h"
#include "record/config/inherited.h"

/* How long a command that was asked to end may take until it is left alone. */
#define STOP_MS 1000

/* What the child has to say before it waits. */
struct command_program {
	int errnum; /* 0, or why it cannot be run */
	char path[PATH_MAX];
};

struct command {
	const struct record_options *options;
	struct passwd *user; /* NULL: as we are */
	struct tee *tee;     /* or NULL */
	pid_t pid;
	int pidfd;
	int go;	   /* our end of the pipe that holds it; -1: it has been let go */
	int error; /* the child's struct command_program, then the errno of an exec that failed */
	struct command_program program;
	bool runs, ended;
	bool never_ran; /* a signal came before */
	int status;
};

/* *ret stays NULL without a name. */
static struct ebt_error *find_user(const char *name, struct passwd **ret)
{
	if (!name)
		return NULL;
	errno = 0;
	*ret = getpwnam(name);
	if (*ret)
		return NULL;
	return errno ? ebt_error_errno(errno, "cannot look up user %s", name)
		     : ebt_error_create(EBT_ERR_INVALID, "there is no user %s", name);
}

static struct ebt_error *make_pipe(int *reader, int *writer)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return ebt_error_errno(errno, "cannot make a pipe");
	*reader = fds[0];
	*writer = fds[1];
	return NULL;
}

static bool become(const struct passwd *user)
{
	return !initgroups(user->pw_name, user->pw_gid) && !setgid(user->pw_gid) &&
	       !setuid(user->pw_uid) && !setenv("HOME", user->pw_dir, 1) &&
	       !setenv("USER", user->pw_name, 1) && !setenv("LOGNAME", user->pw_name, 1);
}

/* Ctrl-C ends a command that waits, as it ends one that runs. Under nohup SIGHUP stays ignored. */
static void restore_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
			signal(numbers[i], SIG_DFL);
	}
	signal(SIGPIPE, SIG_DFL);
}

/* As execvp() does, which has a shell run what is no program and no script. Returns the errno. */
static int execute(const char *path, char **argv)
{
	size_t n = 1;
	char **script;

	execv(path, argv);
	if (errno != ENOEXEC)
		return errno;
	while (argv[n - 1])
		n++;
	script = calloc(n + 1, sizeof(*script));
	if (!script)
		return errno;
	script[0] = (char *)"/bin/sh";
	script[1] = (char *)path;
	if (n > 2)
		memcpy(script + 2, argv + 1, (n - 2) * sizeof(*script));
	execv(script[0], script);
	return errno;
}

/* Does execvp() go on behind a folder whose program gave this? */
static bool goes_on(int errnum)
{
	return errnum == EACCES || errnum == ENOENT || errnum == ENOTDIR || errnum == ESTALE ||
	       errnum == ENODEV || errnum == ETIMEDOUT;
}

/* What was found, or what is behind it in $PATH. Returns the errno. */
static int execute_found(struct program_search *search, char *path, char **argv)
{
	int errnum, denied = 0;

	do {
		errnum = execute(path, argv);
		if (errnum == EACCES)
			denied = EACCES;
	} while (goes_on(errnum) && !ldso_next_program(search, path));
	return goes_on(errnum) && denied ? denied : errnum;
}

static void say(int error, const void *what, size_t len)
{
	if (write(error, what, len) != (ssize_t)len)
		_exit(125);
}

/*
 * In the child. Does not return. All that it does to run the command but execve() is done before it
 * waits, and so is not recorded.
 */
static void wait_and_run(const struct command *c, int go, int error)
{
	struct command_program program = { 0 };
	struct program_search search;
	char byte;
	int errnum;

	restore_signals();
	if (!strcmp(c->options->output, "-"))
		dup2(STDERR_FILENO, STDOUT_FILENO);
	if (c->tee)
		tee_redirect(c->tee);
	search = ldso_search_program(c->options->command[0]);
	if (!inherited_apply(c->options->inherited) || (c->user && !become(c->user)))
		program.errnum = errno;
	else
		program.errnum = search.rest ? ldso_next_program(&search, program.path)
					     : ldso_find_program(search.name, program.path);
	say(error, &program, sizeof(program));
	errnum = program.errnum;
	if (!errnum) {
		/* The end of file means that the recorder has gone. */
		if (read(go, &byte, 1) != 1)
			_exit(125);
		errnum = execute_found(&search, program.path, c->options->command);
		say(error, &errnum, sizeof(errnum));
	}
	_exit(errnum == ENOENT ? 127 : 126);
}

/* Until the child waits, or has ended. */
static struct ebt_error *take_program(struct command *c)
{
	size_t len = 0;

	while (len < sizeof(c->program)) {
		ssize_t n = read(c->error, (char *)&c->program + len, sizeof(c->program) - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ebt_error_errno(errno, "cannot hear of the command");
		if (!n)
			break;
		len += (size_t)n;
	}
	if (len == sizeof(c->program) && !c->program.errnum)
		return NULL;
	/* Nobody has asked it to run: a signal may have ended it. */
	if (waitpid(c->pid, &c->status, 0) != c->pid)
		return ebt_error_errno(errno, "cannot wait for the command");
	c->ended = true;
	c->never_ran = len < sizeof(c->program);
	return NULL;
}

struct ebt_error *command_create(const struct record_options *options, struct command **ret)
{
	_cleanup_(command_destroyp) struct command *c = calloc(1, sizeof(*c));
	_cleanup_close_ int go = -1, error = -1; /* the command's ends */
	struct ebt_error *err;

	if (!c)
		return &ebt_enomem;
	c->options = options;
	c->go = c->error = c->pidfd = -1;
	err = find_user(options->user, &c->user) ?: tee_create(options, c->user, &c->tee);
	if (err)
		return err;
	err = make_pipe(&go, &c->go) ?: make_pipe(&c->error, &error);
	if (err)
		return err;
	c->pid = fork();
	if (!c->pid) {
		close(c->go);
		close(c->error);
		wait_and_run(c, go, error);
	}
	if (c->pid < 0)
		return ebt_error_errno(errno, "cannot start a process");
	if (c->tee)
		tee_begin(c->tee, c->pid);
	/* Known to have ended when nobody holds it any more. */
	ebt_closep(&error);
	error = -1;
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		return ebt_error_errno(errno, "cannot watch the command");
	err = take_program(c);
	if (err)
		return err;
	*ret = take_ptr(c);
	return NULL;
}

void command_destroy(struct command *c)
{
	if (!c)
		return;
	if (c->go >= 0) {
		close(c->go);
		if (c->pid > 0 && !c->ended) {
			kill(c->pid, SIGKILL);
			waitpid(c->pid, NULL, 0);
		}
	}
	ebt_closep(&c->error);
	ebt_closep(&c->pidfd);
	tee_destroy(c->tee);
	free(c);
}

pid_t command_pid(const struct command *c)
{
	return c->pid;
}

const char *command_path(const struct command *c)
{
	return c ? c->program.path : NULL;
}

struct tee *command_tee(const struct command *c)
{
	return c ? c->tee : NULL;
}

int command_fd(const struct command *c)
{
	return c ? c->pidfd : -1;
}

struct ebt_error *command_start(struct command *c)
{
	ssize_t n;
	int errnum;

	if (!c)
		return NULL;
	n = write(c->go, "", 1);
	errnum = errno;
	close(c->go);
	c->go = -1;
	/* A signal has ended it while it waited: command_exec_error() says so. */
	if (n == 1 || errnum == EPIPE)
		return NULL;
	return ebt_error_errno(errnum, "cannot let the command go");
}

void command_cancel(struct command *c, int number)
{
	if (c->ended)
		return;
	kill(c->pid, number);
	if (waitpid(c->pid, &c->status, 0) == c->pid)
		c->ended = c->never_ran = true;
}

bool command_ended(struct command *c)
{
	siginfo_t info = { 0 };

	if (c->ended || waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
	    !info.si_pid)
		return c->ended;
	/* Whether it ran is known of it until it is waited for. */
	command_runs(c);
	c->ended = waitpid(c->pid, &c->status, 0) == c->pid;
	return c->ended;
}

void command_stop(struct command *c)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	if (!c || command_ended(c))
		return;
	kill(c->pid, SIGTERM);
	for (int i = 0; i < STOP_MS && !command_ended(c); i++)
		nanosleep(&ms, NULL);
}

int command_exit_status(const struct command *c)
{
	if (!c || !c->ended)
		return -1;
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

int command_runs_fd(const struct command *c)
{
	return c ? c->error : -1;
}

/*
 * The pipe is closed by an execve() that works, and by the end of the process: has it executed
 * anything? Known until it is waited for.
 */
static bool has_executed(pid_t pid)
{
	const uint32_t forknoexec = 0x40; /* PF_FORKNOEXEC of the kernel's sched.h */
	char path[32], stat[512];
	const char *rest;
	uint32_t flags;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (procfs_read(AT_FDCWD, path, stat, sizeof(stat)) < 0)
		return true;
	rest = strrchr(stat, ')');
	/* state, ppid, pgrp, session, tty_nr, tpgid, flags */
	return !rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %" SCNu32, &flags) != 1 ||
	       !(flags & forknoexec);
}

bool command_runs(struct command *c)
{
	struct pollfd p = { .fd = command_runs_fd(c), .events = POLLIN };
	int errnum;

	if (!c || c->runs || c->never_ran || c->program.errnum || poll(&p, 1, 0) <= 0)
		return !c || c->runs;
	if (read(c->error, &errnum, sizeof(errnum)) == sizeof(errnum)) {
		c->program.errnum = errnum;
	} else {
		c->runs = has_executed(c->pid);
		c->never_ran = !c->runs;
	}
	return c->runs;
}

struct ebt_error *command_exec_error(struct command *c)
{
	const char *name = c ? c->options->command[0] : NULL;

	if (!c || !c->ended || command_runs(c))
		return NULL;
	if (c->never_ran)
		return ebt_error_create(EBT_ERR_CANCELLED, "%s before %s ran",
					WIFSIGNALED(c->status) && WTERMSIG(c->status) == SIGINT
						? "interrupted"
						: "terminated",
					name);
	/* The habit of perf. */
	if (c->program.errnum == ENOENT && !strcmp(name, "record"))
		return ebt_error_errno(ENOENT, "cannot run %s (ebrec records without that word)",
				       name);
	return c->program.errnum ? ebt_error_errno(c->program.errnum, "cannot run %s", name) : NULL;
}
