/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rings for threads that ask for them; see sysprof_control.h. */
#include "record/sources/sysprof_control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/base/clocks.h"
#include "record/sources/sysprof_ring.h"

/* More than threads that speak the protocol at a time. */
#define MAX_RINGS 1024

/* What a thread may say between two readings: in the first rings 40,000 marks. Where there are many
 * rings, each is as small as Sysprof's, so that all together are below 200 MiB. */
#define BIG_RING   (4u << 20)
#define N_BIG	   16
#define SMALL_RING (128u << 10)

/* Read of a ring at a time; a frame fits. */
#define BUFFER (256u << 10)

/* Of all rings in one turn: some 40,000 rows. */
#define TURN (4u << 20)

/* Messages in one turn. */
#define MAX_MESSAGES 64

/* Threads looked at: each is a file of /proc. */
#define MAX_THREADS 256

/* Who has asked waits a moment later. */
#define LOOKS	    4
#define MOMENT_NS   50000

#define MESSAGE	    "CreatRing"
#define MESSAGE_LEN sizeof(MESSAGE)

struct thread_ring {
	struct sysprof_ring ring;
	struct sysprof_writer writer;
	uint32_t asked;	  /* the process that asked for it */
	uint32_t largest; /* frame so far */
};

struct sysprof_control {
	struct sysprof_rows *rows;
	int socket, theirs;
	char message[MESSAGE_LEN]; /* as much of it as has come */
	size_t len;
	uint32_t sender;       /* of it */
	uint32_t max, n, next; /* next: whose turn it is */
	uint64_t serial;       /* rings so far */
	struct thread_ring *rings[MAX_RINGS];
	unsigned char buffer[BUFFER];
};

struct ebt_error *sysprof_control_pair(int *ret_theirs, int *ret_ours)
{
	const int on = 1;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return ebt_error_errno(errno, "cannot make a socket");
	/* Each message says who sent it, in our terms. */
	if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on))) {
		struct ebt_error *err = ebt_error_errno(errno, "cannot make a socket");

		close(ends[0]);
		close(ends[1]);
		return err;
	}
	*ret_ours = ends[0];
	*ret_theirs = ends[1];
	return NULL;
}

/* Descriptors are for others, too. */
static uint32_t most_rings(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return MAX_RINGS / 8;
	return limit.rlim_cur / 4 < MAX_RINGS ? (uint32_t)limit.rlim_cur / 4 : MAX_RINGS;
}

struct ebt_error *sysprof_control_create(int socket, int theirs, struct sysprof_rows *rows,
					 struct sysprof_control **ret)
{
	struct sysprof_control *c = calloc(1, sizeof(*c));

	if (!c)
		return &ebt_enomem;
	c->rows = rows;
	c->socket = socket;
	c->theirs = theirs;
	c->max = most_rings();
	*ret = c;
	return NULL;
}

static void drop(struct sysprof_control *c, uint32_t i)
{
	sysprof_ring_destroy(&c->rings[i]->ring);
	free(c->rings[i]);
	c->rings[i] = c->rings[--c->n];
}

void sysprof_control_destroy(struct sysprof_control *c)
{
	if (!c)
		return;
	while (c->n)
		drop(c, c->n - 1);
	free(c);
}

uint32_t sysprof_control_rings(const struct sysprof_control *c)
{
	return c->n;
}

/* --- those who ask --- */

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

/* The thread that waits for a message at this descriptor, which the protocol does not say; where
 * that cannot be told, the first one, whose tid is the pid. */
static uint32_t thread_waiting(uint32_t pid, int fd)
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

/* A byte, and the ring where there is one: who asks waits for the byte. */
static bool answer(const struct sysprof_control *c, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} space = { 0 };
	struct iovec byte = { .iov_base = (char[]){ 0 }, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &byte, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *head;

		msg.msg_control = &space;
		msg.msg_controllen = sizeof(space.bytes);
		head = CMSG_FIRSTHDR(&msg);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	}
	return sendmsg(c->socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

static void give_ring(struct sysprof_control *c)
{
	struct thread_ring *r = c->n < c->max ? calloc(1, sizeof(*r)) : NULL;
	_cleanup_error_ struct ebt_error *err = NULL; /* of this one thread */

	if (r)
		err = sysprof_ring_create(c->n < N_BIG ? BIG_RING : SMALL_RING, &r->ring);
	if (!r || err) {
		free(r);
		c->rows->counts[SYSPROF_REFUSED]++;
		answer(c, -1);
		return;
	}
	r->asked = c->sender;
	r->writer = (struct sysprof_writer){
		.ring = ++c->serial,
		.pid = c->sender,
		.task = thread_waiting(c->sender, c->theirs),
	};
	c->rings[c->n++] = r;
	if (!answer(c, r->ring.fd))
		drop(c, c->n - 1);
}

/* Some bytes of a message, and who sent them. Descriptors that come with it are not taken: there is
 * no room for them. */
static ssize_t receive(struct sysprof_control *c, uint32_t *ret_sender)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} space;
	struct iovec rest = {
		.iov_base = c->message + c->len,
		.iov_len = sizeof(c->message) - c->len,
	};
	struct msghdr msg = {
		.msg_iov = &rest,
		.msg_iovlen = 1,
		.msg_control = &space,
		.msg_controllen = sizeof(space.bytes),
	};
	ssize_t n = recvmsg(c->socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	struct ucred sender = { 0 };

	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_CREDENTIALS &&
	    head->cmsg_len == CMSG_LEN(sizeof(sender)))
		memcpy(&sender, CMSG_DATA(head), sizeof(sender));
	*ret_sender = sender.pid > 0 ? (uint32_t)sender.pid : 0;
	return n;
}

static void take_message(struct sysprof_control *c, size_t n, uint32_t sender)
{
	/* The kernel keeps apart what different processes send. */
	if (c->len && sender != c->sender) {
		c->rows->counts[SYSPROF_BAD_MESSAGES]++;
		memmove(c->message, c->message + c->len, n);
		c->len = 0;
	}
	c->sender = sender;
	c->len += n;
	if (c->len < sizeof(c->message))
		return;
	c->len = 0;
	if (!memcmp(c->message, MESSAGE, sizeof(c->message)))
		give_ring(c);
	else
		c->rows->counts[SYSPROF_BAD_MESSAGES]++;
}

enum sysprof_wait sysprof_control_answer(struct sysprof_control *c)
{
	for (int i = 0; i < MAX_MESSAGES; i++) {
		struct pollfd poll_out = { .fd = c->socket, .events = POLLOUT };
		uint32_t sender;
		ssize_t n;

		/* Answers that nobody takes are not made. */
		if (!poll(&poll_out, 1, 0))
			return SYSPROF_WAIT_WRITE;
		n = receive(c, &sender);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return SYSPROF_WAIT_READ;
		if (n <= 0)
			return SYSPROF_WAIT_END;
		take_message(c, (size_t)n, sender);
	}
	return SYSPROF_WAIT_A_BIT;
}

/* --- what they write --- */

/* Has this process asked for a ring, too? */
static bool has_asked(const struct sysprof_control *c, uint32_t pid)
{
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->rings[i]->asked == pid)
			return true;
	}
	return false;
}

/*
 * Who asked is what the kernel says; but of two that ask at the same time, each may take the
 * other's ring. What a frame says of its process is believed where that one has asked.
 */
static void check_writer(const struct sysprof_control *c, struct thread_ring *r, int32_t pid)
{
	if (pid <= 0 || (uint32_t)pid == r->writer.pid || !has_asked(c, (uint32_t)pid))
		return;
	r->writer.pid = r->writer.task = (uint32_t)pid;
}

/* Rows of the frames in the buffer. *ret_broken: the ring is not to be read on. */
static struct ebt_error *add_frames(struct sysprof_control *c, struct thread_ring *r, uint32_t len,
				    uint32_t *ret_done, bool *ret_broken)
{
	uint64_t now = clocks_now();
	struct sysprof_frame frame;
	struct ebt_error *err = NULL;
	uint32_t done = 0;

	*ret_broken = false;
	while (done < len && !err && !*ret_broken) {
		enum sysprof_bytes is = sysprof_frame_parse(c->buffer + done, len - done, &frame);

		if (is == SYSPROF_IS_CUT)
			break;
		if (is == SYSPROF_IS_NONE || frame.type == SYSPROF_FINAL) {
			c->rows->counts[SYSPROF_BROKEN] += is == SYSPROF_IS_NONE;
			*ret_broken = true;
			break;
		}
		check_writer(c, r, frame.pid);
		err = sysprof_rows_add(c->rows, &r->writer, &frame, now);
		done += (uint32_t)frame.len;
		if (frame.len > r->largest)
			r->largest = (uint32_t)frame.len;
	}
	*ret_done = done;
	return err;
}

/* Reads what a ring holds, at most *left bytes. *ret_over: the ring has served its time. */
static struct ebt_error *read_ring(struct sysprof_control *c, struct thread_ring *r, uint32_t *left,
				   bool *ret_over)
{
	uint32_t used, most = 0, part, done, until;
	bool broken = !sysprof_ring_used(&r->ring, &used);
	struct ebt_error *err;

	*ret_over = false;
	while (!broken && !*ret_over && used && *left) {
		part = used < BUFFER ? used : BUFFER;
		broken = !sysprof_ring_copy(&r->ring, c->buffer, part);
		if (broken)
			break;
		err = add_frames(c, r, part, &done, ret_over);
		if (err)
			return err;
		/* It ends within a frame, which no library lets it. */
		broken = !done && !*ret_over;
		/* It may have become full while it was read. */
		until = sysprof_ring_release(&r->ring, done);
		if (until > most)
			most = until;
		used -= done;
		*left -= done < *left ? done : *left;
	}
	*ret_over |= broken;
	c->rows->counts[SYSPROF_BROKEN] += broken;
	/* The library drops what it has no room for, and does not say so. */
	if (most && most + r->largest >= r->ring.size)
		c->rows->counts[SYSPROF_FULL]++;
	return NULL;
}

struct ebt_error *sysprof_control_read(struct sysprof_control *c, bool all)
{
	uint32_t left = all ? UINT32_MAX : TURN, n = c->n;
	bool over;

	for (uint32_t i = 0; i < n && left; i++) {
		struct ebt_error *err;

		if (c->next >= c->n)
			c->next = 0;
		err = read_ring(c, c->rings[c->next], &left, &over);
		if (err)
			return err;
		if (over)
			drop(c, c->next);
		else
			c->next++;
	}
	return NULL;
}

void sysprof_control_reap(struct sysprof_control *c)
{
	uint32_t used;

	for (uint32_t i = c->n; i--;) {
		const struct thread_ring *r = c->rings[i];

		if (sysprof_ring_used(&r->ring, &used) && used)
			continue;
		if (r->writer.pid && kill((pid_t)r->writer.pid, 0) && errno == ESRCH)
			drop(c, i);
	}
}
