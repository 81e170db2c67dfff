/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * descriptors FOLDER SECONDS [uring]: threads and processes that share descriptors open, duplicate,
 * pass, close and read files at random, so that numbers come to stand for other files at any time.
 * Each of the files 0 to 49 in FOLDER holds its own name, in eight letters: what a pread() of them
 * returns is the truth of which file the descriptor was. Prints for each "TID FD NAME", in the
 * order of each thread. uring: descriptors are opened and closed without calls, too.
 */
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILES	50
#define NAME	8
#define THREADS 4
#define FIRST	20 /* of the descriptors that are used: low ones, and some above 256 */
#define LOW	40
#define HIGH	300
#define NUMBERS (LOW + 10)

/* What a thread has of its own. */
struct hand {
	FILE *log;
	unsigned int seed;
	int pair[2];	       /* a socket and the other end */
	struct io_uring *ring; /* NULL: calls only */
};

static int folder;
static double end;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int number(unsigned int *seed)
{
	int n = (int)((unsigned int)rand_r(seed) % NUMBERS);

	return n < LOW ? FIRST + n : HIGH + n - LOW;
}

static void look(FILE *log, int fd)
{
	char name[NAME + 1] = "";

	if (pread(fd, name, NAME, 0) == NAME)
		fprintf(log, "%ld %d %s\n", syscall(SYS_gettid), fd, name);
}

static int open_any(unsigned int *seed)
{
	char name[NAME + 1];

	snprintf(name, sizeof(name), "file%04u", (unsigned int)rand_r(seed) % FILES);
	return openat(folder, name, O_RDONLY | (rand_r(seed) & 1 ? O_CLOEXEC : 0));
}

/* Through a socket: a number that no call returns. */
static void pass(int pair[2], unsigned int *seed)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int fd = open_any(seed);

	if (fd < 0)
		return;
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	/* Its number, and the next one, are free before the other comes. */
	if (sendmsg(pair[0], &message, 0) == 1) {
		close(fd);
		message.msg_controllen = sizeof(control);
		recvmsg(pair[1], &message, 0);
	} else {
		close(fd);
	}
}

/* Closes a descriptor or makes one, and no call says which. */
static void change_by_ring(struct io_uring *ring, int fd, unsigned int *seed)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	bool opens = rand_r(seed) & 1;
	struct io_uring_cqe *cqe;
	char name[NAME + 1];
	int result;

	if (!sqe)
		exit(1);
	snprintf(name, sizeof(name), "file%04u", (unsigned int)rand_r(seed) % FILES);
	if (opens)
		io_uring_prep_openat(sqe, folder, name, O_RDONLY, 0);
	else
		io_uring_prep_close(sqe, fd);
	if (rand_r(seed) & 1) /* by a thread of the kernel */
		sqe->flags |= IOSQE_ASYNC;
	if (io_uring_submit_and_wait(ring, 1) < 0 || io_uring_wait_cqe(ring, &cqe))
		exit(1);
	result = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	if (opens && result >= 0 && (result < FIRST || result >= FIRST + LOW))
		close(result);
}

static void step(struct hand *hand)
{
	unsigned int *seed = &hand->seed;
	int fd = number(seed), other;

	switch ((unsigned int)rand_r(seed) % (hand->ring ? 9 : 8)) {
	case 0:
		other = open_any(seed);
		if (other >= 0 && dup2(other, fd) >= 0 && other != fd)
			close(other);
		break;
	case 1:
		close(fd);
		break;
	case 2:
		dup2(number(seed), fd);
		break;
	case 3:
		other = fcntl(number(seed), F_DUPFD, fd);
		/* Numbers stay within what others use. */
		if (other >= HIGH + NUMBERS)
			close(other);
		break;
	case 4:
		close(fd);
		pass(hand->pair, seed);
		break;
	case 8:
		change_by_ring(hand->ring, fd, seed);
		break;
	default:
		look(hand->log, fd);
	}
}

/* A process: with files of its own; with those of its parent; or another program with them. */
static void begin_process(struct hand *hand)
{
	static const char *const kinds[] = { "fork", "share", "exec" };
	const char *kind = kinds[(unsigned int)rand_r(&hand->seed) % 3];
	unsigned long flags = SIGCHLD | (!strcmp(kind, "share") ? CLONE_FILES : 0);
	struct hand child = *hand;
	char word[16];
	int pid;

	child.seed = (unsigned int)rand_r(&hand->seed);
	fflush(hand->log);
	pid = (int)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	if (pid) {
		if (pid > 0)
			waitpid(pid, NULL, 0);
		return;
	}
	if (!strcmp(kind, "exec")) {
		snprintf(word, sizeof(word), "%u", child.seed);
		execl("/proc/self/exe", "descriptors", word, NULL);
		_exit(1);
	}
	for (int i = 0; i < 50; i++)
		step(&child);
	fflush(child.log);
	_exit(0);
}

/* Before there are threads, so that its numbers are not of those that are used. */
static void make_hand(struct hand *hand, unsigned int seed, bool with_ring)
{
	*hand = (struct hand){ .seed = seed };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, hand->pair))
		exit(1);
	if (!with_ring)
		return;
	hand->ring = calloc(1, sizeof(*hand->ring));
	if (!hand->ring || io_uring_queue_init(4, hand->ring, 0)) {
		fprintf(stderr, "descriptors: no io_uring here\n");
		exit(1);
	}
}

static void *work(void *arg)
{
	struct hand *hand = arg;
	char *buffer = NULL;
	size_t size;

	hand->log = open_memstream(&buffer, &size);
	if (!hand->log)
		exit(1);
	while (now() < end) {
		for (int i = 0; i < 50; i++)
			step(hand);
		usleep(2000);
	}
	fclose(hand->log);
	flockfile(stdout);
	fwrite(buffer, 1, size, stdout);
	funlockfile(stdout);
	free(buffer);
	return NULL;
}

/* Processes come from one thread, whose log goes to stdout at once. */
static void *work_processes(void *arg)
{
	struct hand *hand = arg;

	hand->log = stdout;
	while (now() < end) {
		flockfile(stdout);
		begin_process(hand);
		fflush(stdout);
		funlockfile(stdout);
		usleep(5000);
	}
	return NULL;
}

/* After exec: looks at what has been left. */
static int look_around(unsigned int seed)
{
	for (int i = 0; i < 100; i++)
		look(stdout, number(&seed));
	return 0;
}

int main(int argc, char **argv)
{
	/* Children of raw clone() must not ask for memory. */
	static char buffer[1 << 16];
	struct hand hands[THREADS];
	pthread_t threads[THREADS];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (argc == 2)
		return look_around((unsigned int)atoi(argv[1]));
	if (argc != 3 && argc != 4)
		return 1;
	folder = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	folder = fcntl(folder, F_DUPFD_CLOEXEC, 500);
	if (folder < 0)
		return 1;
	end = now() + atof(argv[2]);
	for (unsigned int i = 0; i < THREADS; i++)
		make_hand(&hands[i], i + 1, i && argc == 4);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, i ? work : work_processes, &hands[i]);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
