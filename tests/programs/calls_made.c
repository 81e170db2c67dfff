/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small programs that make calls of one subject each, well and badly: what is compared with strace.
 *
 *	calls_made		their names
 *	calls_made NAME		one of them
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/calls_made.h"

/* What is called badly fails, and is no matter. */
#pragma GCC diagnostic ignored "-Wunused-result"

/* --- signals --- */

static void on_signal(int signal)
{
	(void)signal;
}

static void handlers(void)
{
	static const int flags[] = { 0, SA_RESTART, SA_SIGINFO | SA_NODEFER,
				     (int)SA_RESETHAND | SA_ONSTACK, SA_NOCLDSTOP | SA_NOCLDWAIT };

	for (int i = 0; i < 5; i++) {
		struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags[i] }, old;

		sigaddset(&action.sa_mask, SIGHUP + i);
		sigaction(SIGUSR1, &action, &old);
	}
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR1, SIG_DFL);
	sigaction(SIGKILL, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	sigaction(SIGRTMIN + 3, NULL, &(struct sigaction){ .sa_flags = 0 });
}

static void masks(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGRTMIN + 5);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigfillset(&set);
	sigdelset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, &old);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(77, &set, NULL);
	sigpending(&set);
}

static void sent(void)
{
	union sigval value = { .sival_int = 7 };

	signal(SIGUSR1, SIG_IGN);
	kill(getpid(), SIGUSR1);
	kill(getpid(), 0);
	kill(1 << 29, SIGTERM);
	raise(SIGUSR1);
	sigqueue(getpid(), SIGUSR1, value);
	tgkill(getpid(), getpid(), SIGUSR1);
	kill(getpid(), 99);
}

static void signal_files(void)
{
	sigset_t set;
	struct signalfd_siginfo info;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	raise(SIGUSR2);
	read(fd, &info, sizeof(info));
	read(fd, &info, sizeof(info));
	signalfd(fd, &set, 0);
}

static void signal_waits(void)
{
	const struct timespec soon = { .tv_nsec = 1000000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigtimedwait(&set, NULL, &soon);
	raise(SIGUSR2);
	sigtimedwait(&set, NULL, NULL);
}

/* --- time --- */

static void sleeps(void)
{
	struct timespec time = { .tv_nsec = 1000 };

	nanosleep(&time, NULL);
	syscall(SYS_nanosleep, &time, NULL);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL);
	time.tv_nsec = -1;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	clock_nanosleep(99, 0, &time, NULL);
}

static void clocks(void)
{
	static const int all[] = { CLOCK_REALTIME,
				   CLOCK_MONOTONIC,
				   CLOCK_PROCESS_CPUTIME_ID,
				   CLOCK_THREAD_CPUTIME_ID,
				   CLOCK_BOOTTIME,
				   CLOCK_TAI,
				   99 };
	struct timespec time;
	struct timeval now;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		syscall(SYS_clock_gettime, all[i], &time);
		syscall(SYS_clock_getres, all[i], &time);
	}
	syscall(SYS_gettimeofday, &now, NULL);
	clock_settime(CLOCK_MONOTONIC, &time);
}

static void timers(void)
{
	const struct itimerval interval = { { 5, 10 }, { 100, 20 } };
	struct itimerval old;

	setitimer(ITIMER_REAL, &interval, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, &old);
	getitimer(ITIMER_VIRTUAL, &old);
	setitimer(77, &interval, NULL);
	alarm(100);
	alarm(0);
}

static void timer_files(void)
{
	const struct itimerspec soon = { .it_value = { .tv_nsec = 1000 } };
	const struct itimerspec often = { { 1, 2 }, { 3, 4 } };
	struct itimerspec old;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	timerfd_settime(fd, 0, &often, NULL);
	timerfd_gettime(fd, &old);
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &soon, &old);
	timerfd_settime(0, 0, &soon, NULL);
	timerfd_create(99, 0);
}

static void own_timers(void)
{
	const struct itimerspec later = { .it_value = { .tv_sec = 100 } };
	struct itimerspec old;
	timer_t timer;

	timer_create(CLOCK_MONOTONIC, NULL, &timer);
	timer_settime(timer, 0, &later, &old);
	timer_gettime(timer, &old);
	timer_getoverrun(timer);
	timer_delete(timer);
}

/* --- memory --- */

static void maps(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *p;

	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_POPULATE, fd, 4096);
	p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	mprotect(p, 4096, PROT_NONE);
	mprotect(p, 4096, PROT_READ | PROT_WRITE | 0x100);
	munmap(p, 4096);
	munmap(p + 1, 4096);
	mmap(NULL, 0, PROT_READ, MAP_PRIVATE, fd, 0);
	mmap(NULL, 4096, PROT_READ, 0, 99, 0);
}

static void advice(void)
{
	static const int all[] = { MADV_NORMAL,	    MADV_RANDOM,   MADV_SEQUENTIAL, MADV_WILLNEED,
				   MADV_DONTNEED,   MADV_FREE,	   MADV_DONTFORK,   MADV_HUGEPAGE,
				   MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_COLD,	    99 };
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		madvise(p, 8192, all[i]);
	msync(p, 4096, MS_SYNC | MS_INVALIDATE);
	mlock(p, 4096);
	mlock2(p, 4096, MLOCK_ONFAULT);
	munlock(p, 4096);
	mlockall(0x80);
	mremap(p, 8192, 16384, MREMAP_MAYMOVE);
	mremap(p, 8192, 16384, MREMAP_FIXED);
}

static void memory_files(void)
{
	int fd = memfd_create("a name", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ftruncate(fd, 8192);
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	fcntl(fd, F_GET_SEALS);
	memfd_create("another", 0x80);
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
	posix_fadvise(fd, 0, 4096, POSIX_FADV_SEQUENTIAL);
}

static void limits(void)
{
	struct rlimit limit;

	for (int i = 0; i < 17; i++)
		prlimit(0, i, NULL, &limit);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 512;
	setrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
	setrlimit(RLIMIT_STACK, &limit);
	prlimit(1 << 29, RLIMIT_CPU, NULL, &limit);
	syscall(SYS_getrlimit, RLIMIT_CORE, &limit);
	syscall(SYS_setrlimit, RLIMIT_CORE, &limit);
}

static void breaks(void)
{
	void *at = sbrk(0);

	syscall(SYS_brk, (char *)at + 65536);
	syscall(SYS_brk, at);
	syscall(SYS_mincore, at, 4096, NULL);
	syscall(SYS_membarrier, 0, 0, 0);
	syscall(SYS_membarrier, 99, 0, 0);
}

/* --- processes --- */

static pid_t child(void (*fn)(void))
{
	pid_t pid = fork();

	if (!pid) {
		fn();
		_exit(7);
	}
	return pid;
}

static void die(void)
{
	raise(SIGKILL);
}

static void nothing(void)
{
}

static void stop(void)
{
	raise(SIGSTOP);
}

static void waits(void)
{
	int status;
	pid_t pid;

	waitpid(child(nothing), &status, 0);
	waitpid(child(die), &status, 0);
	pid = child(stop);
	waitpid(pid, &status, WUNTRACED);
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	waitpid(-1, &status, WNOHANG);
	waitpid(1 << 29, NULL, __WALL);
	pid = child(nothing);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	wait4(pid, NULL, WCONTINUED, NULL);
}

static void *thread(void *arg)
{
	return arg;
}

static void threads(void)
{
	pthread_t id;

	for (int i = 0; i < 3; i++) {
		pthread_create(&id, NULL, thread, NULL);
		pthread_join(id, NULL);
	}
}

static void executed(void)
{
	static char name[] = "true", argument[] = "an argument";
	char *args[] = { name, argument, NULL };
	int status;
	pid_t pid = fork();

	if (!pid) {
		execv("/no/such/program", args);
		execv("/etc/passwd", args);
		execv("/bin/true", args);
		_exit(1);
	}
	waitpid(pid, &status, 0);
}

static void identity(void)
{
	getuid();
	getresuid(&(uid_t){ 0 }, &(uid_t){ 0 }, &(uid_t){ 0 });
	setresgid((gid_t)-1, (gid_t)-1, (gid_t)-1);
	getpgid(0);
	getsid(1 << 29);
	setpgid(0, 0);
	umask(027);
	getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_USER, 99999, 5);
	setpriority(9, 0, 0);
	personality(0xffffffff);
}

static void scheduling(void)
{
	const struct sched_param param = { .sched_priority = 0 };
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	sched_setscheduler(0, SCHED_BATCH, &param);
	sched_getscheduler(0);
	sched_setscheduler(0, 77, &param);
	sched_get_priority_max(SCHED_FIFO);
	sched_yield();
	setns(0, CLONE_NEWNET);
	unshare(0x80);
}

static void controls(void)
{
	prctl(PR_SET_NAME, "a name");
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_GET_DUMPABLE);
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_CAPBSET_READ, 21);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	prctl(PR_SET_TIMERSLACK, 50000);
	prctl(9999, 1, 2, 3, 4);
}

/* --- waiting for several --- */

static void polls(void)
{
	struct pollfd fds[3];
	int ends[2];

	pipe(ends);
	fds[0] = (struct pollfd){ ends[0], POLLIN | POLLPRI | POLLRDHUP, 0 };
	fds[1] = (struct pollfd){ ends[1], POLLOUT | POLLWRBAND, 0 };
	fds[2] = (struct pollfd){ -1, POLLIN, 0 };
	poll(fds, 1, 1);
	poll(fds, 3, -1);
	write(ends[1], "x", 1);
	poll(fds, 2, 0);
	close(ends[1]);
	poll(fds, 2, 0);
	poll(fds, 0, 1);
	syscall(SYS_poll, NULL, 3, 0);
}

static void polls_with_masks(void)
{
	const struct timespec soon = { .tv_nsec = 1000000 };
	struct pollfd fd = { eventfd(0, 0), 0, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	ppoll(&fd, 1, &soon, &set);
	ppoll(&fd, 1, &soon, NULL);
}

static void epolls(void)
{
	struct epoll_event event = { EPOLLIN | EPOLLOUT | EPOLLET | EPOLLONESHOT,
				     { .u64 = 1ull << 40 } };
	struct epoll_event events[4];
	int fd = epoll_create1(EPOLL_CLOEXEC), counter = eventfd(3, EFD_NONBLOCK | EFD_SEMAPHORE);

	epoll_ctl(fd, EPOLL_CTL_ADD, counter, &event);
	epoll_ctl(fd, EPOLL_CTL_ADD, counter, &event);
	epoll_wait(fd, events, 4, 10);
	epoll_wait(fd, events, 4, 0);
	event.events = EPOLLIN | EPOLLRDHUP | EPOLLWAKEUP;
	epoll_ctl(fd, EPOLL_CTL_MOD, counter, &event);
	epoll_pwait(fd, events, 4, 0, NULL);
	epoll_ctl(fd, EPOLL_CTL_DEL, counter, &event);
	epoll_ctl(fd, 77, counter, &event);
	epoll_wait(fd, events, 0, 0);
}

static void selects(void)
{
	struct timeval none = { 0 };

	select(0, NULL, NULL, NULL, &none);
	syscall(SYS_pselect6, -1, NULL, NULL, NULL, NULL, NULL);
}

static void watches(void)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	int watch = inotify_add_watch(fd, "/tmp", IN_CREATE | IN_DELETE_SELF | IN_ONLYDIR);
	char bytes[64];

	read(fd, bytes, sizeof(bytes));
	inotify_rm_watch(fd, watch);
	inotify_add_watch(fd, "/no/such/file", IN_ALL_EVENTS);
}

static void futexes(void)
{
	const struct timespec soon = { .tv_nsec = 1000000 };
	int word = 1, other = 2;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &soon, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_WAIT, 2, NULL, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, &soon, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 1, &soon, NULL,
		FUTEX_BITSET_MATCH_ANY);
	syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 2, &other, 1);
	syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
	syscall(SYS_futex, &word, 99, 0, NULL, NULL, 0);
}

/* --- files --- */

static void states(void)
{
	struct statx more;
	struct stat state;

	stat("/etc/passwd", &state);
	stat("/dev/null", &state);
	lstat("/proc/self/exe", &state);
	stat("/tmp", &state);
	stat("/no/such/file", &state);
	fstat(0, &state);
	statx(AT_FDCWD, "/etc/passwd", AT_STATX_DONT_SYNC, STATX_ALL, &more);
	statx(AT_FDCWD, "/", 0, STATX_MODE | STATX_SIZE, &more);
	statx(AT_FDCWD, "/no/such/file", AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &more);
}

static void opened(void)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };

	syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof(how));
	how = (struct open_how){ .flags = O_CREAT | O_WRONLY, .mode = 0600 };
	syscall(SYS_openat2, AT_FDCWD, "/no/such/file", &how, sizeof(how));
	syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, 5);
	open("/etc/passwd", O_RDONLY | O_NOATIME | O_NOFOLLOW | O_NONBLOCK);
	open("/tmp", O_TMPFILE | O_RDWR, 0600);
	openat(AT_FDCWD, "a name \n of two lines", O_PATH);
	close_range(50, 60, CLOSE_RANGE_CLOEXEC);
	dup3(0, 40, O_CLOEXEC);
	fcntl(40, F_SETFD, 0);
	fcntl(40, F_SETFL, O_APPEND | O_NONBLOCK);
	fcntl(40, F_GETFL);
	lseek(40, 0, SEEK_END);
	faccessat(AT_FDCWD, "/etc/shadow", R_OK | W_OK, AT_EACCESS);
}

/* --- ioctl() --- */

static void terminals(void)
{
	struct termios settings;
	struct winsize size;
	int fd = posix_openpt(O_RDWR | O_NOCTTY);

	ioctl(fd, TCGETS, &settings);
	ioctl(fd, TIOCGWINSZ, &size);
	ioctl(fd, TCFLSH, TCIFLUSH);
	ioctl(fd, TIOCNOTTY);
	ioctl(0, TIOCGWINSZ, &size);
}

static void devices(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), n;

	ioctl(fd, SIOCGIFMTU, &request);
	ioctl(fd, FIONREAD, &n);
	ioctl(fd, FIOCLEX);
	ioctl(fd, 0xdeadbeef, 5);
	ioctl(fd, SIOCOUTQ, &n);
}

/* --- as 32-bit programs do --- */

#if defined(__x86_64__)
static long call32(long nr, long a, long b, long c, long d)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static void compat(void)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	const long at = (long)low;

	call32(20, 0, 0, 0, 0); /* getpid */
	strcpy(low, "/etc/passwd");
	call32(5, at, O_RDONLY, 0, 0);	 /* open */
	call32(33, at, R_OK, 0, 0);	 /* access */
	call32(195, at, at + 256, 0, 0); /* stat64 */
	call32(106, at, at + 256, 0, 0); /* stat */
	call32(76, 2, at + 256, 0, 0);	 /* getrlimit */
	call32(191, 2, at + 256, 0, 0);	 /* ugetrlimit */
	memset(low + 64, 0, 64);
	call32(162, at + 64, 0, 0, 0);	       /* nanosleep */
	call32(175, SIG_BLOCK, at + 64, 0, 8); /* rt_sigprocmask */
	call32(6, 99, 0, 0, 0);		       /* close */
	call32(39, at, 0700, 0, 0);	       /* mkdir */
}
#else
static void compat(void)
{
}
#endif

static const struct calls_program programs[] = {
#define PROGRAM(fn)     \
	{               \
#fn, fn \
	}
	PROGRAM(handlers),
	PROGRAM(masks),
	PROGRAM(sent),
	PROGRAM(signal_files),
	PROGRAM(signal_waits),
	PROGRAM(sleeps),
	PROGRAM(clocks),
	PROGRAM(timers),
	PROGRAM(timer_files),
	PROGRAM(own_timers),
	PROGRAM(maps),
	PROGRAM(advice),
	PROGRAM(memory_files),
	PROGRAM(limits),
	PROGRAM(breaks),
	PROGRAM(waits),
	PROGRAM(threads),
	PROGRAM(executed),
	PROGRAM(identity),
	PROGRAM(scheduling),
	PROGRAM(controls),
	PROGRAM(polls),
	PROGRAM(polls_with_masks),
	PROGRAM(epolls),
	PROGRAM(selects),
	PROGRAM(watches),
	PROGRAM(futexes),
	PROGRAM(states),
	PROGRAM(opened),
	PROGRAM(terminals),
	PROGRAM(devices),
	PROGRAM(compat),
#undef PROGRAM
};

/* How many of them there are; run: the one of this name is called, and it is 0. */
static int walk(const struct calls_program *list, size_t n, const char *run)
{
	for (size_t i = 0; i < n; i++) {
		if (!run)
			puts(list[i].name);
		else if (!strcmp(run, list[i].name))
			return list[i].fn(), 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *run = argc > 1 ? argv[1] : NULL;
	int others = walk(calls_of_sockets, CALLS_OF_SOCKETS, run);

	return others && walk(programs, sizeof(programs) / sizeof(programs[0]), run) && run;
}
