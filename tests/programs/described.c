/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * described N FOLDER CGROUP: in each of some situations, runs programs one after the other that say
 * what /proc/self says of them, N of them, and first a few that stay for a while: as it is, as
 * another user, in namespaces of its own, in FOLDER as its root, in the cgroup of v2 whose folder
 * is CGROUP, and by other names of the file. As it is, some programs come before that are something
 * else by the time that the recorder, which is the parent of this, can look at them. FOLDER has
 * this program by the name `described`, and is open to everybody. Static, as there are no libraries
 * in FOLDER.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROC	9 /* the folder /proc, also for those who do not see it */
#define FIRST	3 /* that stay */
#define STAY_US 300000

static const char *const links[] = { "exe",    "root",	  "ns/mnt",   "ns/pid",
				     "ns/net", "ns/user", "ns/cgroup" };

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static void read_self(const char *name, char *text, size_t size)
{
	int fd = openat(PROC, name, O_RDONLY);
	ssize_t n = read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	close(fd);
}

/* `described tell SITUATION NUMBER` */
static int tell(char **argv)
{
	char text[4096], line[16384], *nspid, *p;
	ssize_t n = readlinkat(PROC, "self", text, sizeof(text) - 1);
	int len = snprintf(line, sizeof(line), "told=%s\tnumber=%s\tpid=%.*s\tuid=%u", argv[2],
			   argv[3], (int)n, text, getuid());

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		char name[32];

		snprintf(name, sizeof(name), "self/%s", links[i]);
		n = readlinkat(PROC, name, text, sizeof(text) - 1);
		len += snprintf(line + len, sizeof(line) - (size_t)len, "\t%s=%.*s", links[i],
				n < 0 ? 0 : (int)n, text);
	}
	read_self("self/status", text, sizeof(text));
	nspid = strstr(text, "\nNSpid:\t") + strlen("\nNSpid:\t");
	*strchr(nspid, '\n') = '\0';
	for (p = nspid; *p; p++)
		*p = *p == '\t' ? ' ' : *p;
	len += snprintf(line + len, sizeof(line) - (size_t)len, "\tnspid=%s", nspid);
	read_self("self/cgroup", text, sizeof(text));
	for (p = text; *p; p++)
		*p = *p == '\n' ? '|' : *p;
	len += snprintf(line + len, sizeof(line) - (size_t)len, "\tcgroup=%s\n", text);
	if (write(STDOUT_FILENO, line, (size_t)len) != len)
		return 1;
	if (atoi(argv[3]) < FIRST)
		usleep(STAY_US);
	return 0;
}

/* recorder: stopped until the program has had the time to become something else; or 0. */
static int run(pid_t recorder, const char *path, const char *what, const char *first,
	       const char *second)
{
	pid_t pid;
	int status;

	if (recorder)
		kill(recorder, SIGSTOP);
	pid = fork();

	if (!pid) {
		execl(path, path, what, first, second, NULL);
		_exit(127);
	}
	if (recorder) {
		usleep(STAY_US / 6);
		kill(recorder, SIGCONT);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int run_all(const char *path, const char *situation, int n)
{
	for (int i = 0; i < FIRST + n; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%d", i);
		if (run(0, path, "tell", situation, text))
			return 1;
	}
	return 0;
}

/* The first process of a pid namespace has to last. */
static int run_apart(const char *path, int n)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP))
		return 1;
	pid = fork();
	if (!pid)
		_exit(run_all(path, "namespaces", n));
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int join_cgroup(const char *folder)
{
	int fd, r;

	if (chdir(folder))
		return 1;
	fd = open("cgroup.procs", O_WRONLY);
	r = write(fd, "0", 1) != 1;
	close(fd);
	return r;
}

/* `described away FOLDER CGROUP` */
static int go_away(const char *folder, const char *cgroup)
{
	return join_cgroup(cgroup) || chroot(folder) || usleep(STAY_US);
}

/* `described again FOLDER NAME` */
static int run_again(const char *folder, const char *name)
{
	return chdir(folder) || execl(name, name, "stay", "", "", NULL);
}

/* What is known of programs lasts a second. */
static int run_changing(pid_t recorder, const char *path, const char *folder, const char *cgroup,
			int n)
{
	if (chdir(folder) || link("described", "again"))
		return 1;
	for (int i = 0; i < FIRST; i++) {
		if (run(recorder, path, "again", folder, "again"))
			return 1;
	}
	if (unlink("again") || run_all(path, "plain", n) || usleep(4 * STAY_US))
		return 1;
	for (int i = 0; i < FIRST; i++) {
		if (run(recorder, path, "away", folder, cgroup))
			return 1;
	}
	return run_all(path, "plain", n);
}

/* More than 31 bytes of a name are the same. */
#define SAME "the-same-file-by-names-that-begin-alike"

/* The same file by names that others had before. */
static int run_names(const char *folder, int n)
{
	static const char second[] = SAME "-2", third[] = SAME "-3";

	if (chdir(folder) || link("described", second) || run_all("./" SAME "-2", "names", n) ||
	    rename(second, third) || run_all("./" SAME "-3", "names", n) || unlink(third) ||
	    link("described", second))
		return 1;
	return run_all("./" SAME "-2", "names", n);
}

static int situation(pid_t recorder, int number, int n, const char *folder, const char *cgroup)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/described", folder);
	switch (number) {
	case 0:
		return run_changing(recorder, path, folder, cgroup, n);
	case 1:
		return setresuid(1000, 1000, 1000) || run_all(path, "user", n);
	case 2:
		return run_apart(path, n);
	case 3:
		return chroot(folder) || chdir("/") || run_all("/described", "root", n);
	case 4:
		return join_cgroup(cgroup) || run_all(path, "cgroup", n);
	default:
		return run_names(folder, n);
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "tell"))
		return tell(argv);
	if (argc == 4 && !strcmp(argv[1], "away"))
		return go_away(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "again"))
		return run_again(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "stay"))
		return usleep(STAY_US);
	if (argc != 4 || dup2(open("/proc", O_RDONLY | O_DIRECTORY), PROC) < 0)
		return 2;
	for (int i = 0; i < 6; i++) {
		const pid_t recorder = getppid();
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(situation(recorder, i, atoi(argv[1]), argv[2], argv[3]));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			fprintf(stderr, "situation %d: ", i);
			return fail("it failed");
		}
	}
	return 0;
}
