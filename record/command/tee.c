/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's part of `--capture-output`; see tee.h. */
#include "record/command/tee.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#include "record/base/clocks.h"
#include "record/command/tee_copy.h"
#include "record/command/tee_lines.h"

#define NS_PER_MS UINT64_C(1000000)

/* What waits for the session's thread, in the kernel's memory; the rest is not recorded. */
#define QUEUE_BYTES (8 << 20)

/* Rows of one reading: the session's thread has other things to do. */
#define MAX_ROWS 65536

/* A line that does not end is a row after so long. */
#define PARTIAL_NS (1000 * NS_PER_MS)

#define END_MS	   1000
#define REPEAT_MS  10

struct channel {
	int socket; /* -1: nobody can write any more */
	pid_t pid;
	uint64_t lost_bytes, lost_ends; /* as far as is known */
	uint32_t empty, delivered;	/* the last requests that were answered */
	int error;			/* errno of writing */
	struct tee_lines lines;
};

struct tee {
	int ends[2]; /* the command's standard output and error; the same; -1: not captured */
	int epoll;
	uint32_t request;
	bool ended; /* what is read now was written after the recording */
	size_t n;
	struct channel channels[2];
	struct tee_message *message;
};

/* --- ways --- */

/* Do both go to one place, where the order among them matters? */
static bool one_place(int a, int b)
{
	long self = getpid();
	struct stat x, y;

	if (fstat(a, &x) || fstat(b, &y) || x.st_dev != y.st_dev || x.st_ino != y.st_ino)
		return false;
	/* Two that have opened the same file have a position each. */
	return !S_ISREG(x.st_mode) || !syscall(SYS_kcmp, self, self, KCMP_FILE, (long)a, (long)b);
}

/* As the other one is, but that it changes nothing of what is written. */
static struct ebt_error *make_terminal(int like, struct tee_ways *ways, int *ret_end)
{
	struct termios termios;
	struct winsize size;
	char path[64];

	ways->in = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ways->in < 0 || grantpt(ways->in) || unlockpt(ways->in) ||
	    ptsname_r(ways->in, path, sizeof(path)))
		return ebt_error_errno(errno, "cannot make a terminal for the command's output");
	*ret_end = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*ret_end < 0)
		return ebt_error_errno(errno, "cannot open %s", path);
	if (!tcgetattr(like, &termios)) {
		termios.c_oflag &= ~(tcflag_t)OPOST;
		tcsetattr(*ret_end, TCSANOW, &termios);
	}
	if (!ioctl(like, TIOCGWINSZ, &size))
		ioctl(ways->in, TIOCSWINSZ, &size);
	ways->terminal = true;
	return NULL;
}

static struct ebt_error *make_way(int out, const struct passwd *user, struct tee_ways *ways,
				  int *ret_end)
{
	struct ebt_error *err;
	int fds[2];

	ways->out = out;
	if (isatty(out)) {
		err = make_terminal(out, ways, ret_end);
		if (err)
			return err;
	} else if (pipe2(fds, O_CLOEXEC)) {
		return ebt_error_errno(errno, "cannot make a pipe");
	} else {
		ways->in = fds[0];
		*ret_end = fds[1];
	}
	/* A program may open /dev/stdout. */
	if (user && fchown(*ret_end, user->pw_uid, (gid_t)-1))
		return ebt_error_errno(errno, "cannot give its output to the command");
	return NULL;
}

/* Signals do no harm to the process once it has said something. */
static struct ebt_error *start(struct tee *tee, struct tee_ways *ways, struct channel *channel)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = channel };
	int fds[2], size = QUEUE_BYTES;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return ebt_error_errno(errno, "cannot make a socket");
	/* That much takes CAP_NET_ADMIN. */
	if (setsockopt(fds[1], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	ways->socket = fds[1];
	channel->socket = fds[0];
	channel->pid = fork();
	if (!channel->pid)
		tee_copy(ways);
	close(fds[1]);
	if (channel->pid < 0 || recv(fds[0], tee->message, TEE_DATA, 0) <= 0)
		return ebt_error_errno(errno, "cannot start a process");
	if (epoll_ctl(tee->epoll, EPOLL_CTL_ADD, fds[0], &event))
		return ebt_error_errno(errno, "cannot wait for the command's output");
	return NULL;
}

static struct ebt_error *add_channel(struct tee *tee, int out, uint32_t origin,
				     const struct passwd *user, int *ret_end)
{
	struct channel *channel = &tee->channels[tee->n++];
	struct tee_ways ways = { .in = -1, .out = -1, .socket = -1 };
	struct ebt_error *err = make_way(out, user, &ways, ret_end);

	channel->lines.origin = origin;
	if (!err)
		err = start(tee, &ways, channel);
	ebt_closep(&ways.in);
	return err;
}

/* Where it was closed, its number may be that of a descriptor of ours. */
static bool is_open(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags >= 0 && !(flags & FD_CLOEXEC);
}

static struct ebt_error *add_channels(struct tee *tee, const struct record_options *options,
				      const struct passwd *user)
{
	/* As command.c has it. */
	int out = strcmp(options->output, "-") ? STDOUT_FILENO : STDERR_FILENO;
	bool wants_out = options->capture_output & CAPTURE_STDOUT && is_open(out);
	bool wants_err = options->capture_output & CAPTURE_STDERR && is_open(STDERR_FILENO);
	struct ebt_error *err = NULL;

	if (wants_out && wants_err && !(options->capture_output & CAPTURE_APART) &&
	    (out == STDERR_FILENO || one_place(out, STDERR_FILENO))) {
		err = add_channel(tee, out, EBT_V_log_origin_output, user, &tee->ends[0]);
		tee->ends[1] = tee->ends[0];
		return err;
	}
	if (wants_out)
		err = add_channel(tee, out, EBT_V_log_origin_stdout, user, &tee->ends[0]);
	if (err || !wants_err)
		return err;
	return add_channel(tee, STDERR_FILENO, EBT_V_log_origin_stderr, user, &tee->ends[1]);
}

struct ebt_error *tee_create(const struct record_options *options, const struct passwd *user,
			     struct tee **ret)
{
	_cleanup_(tee_destroyp) struct tee *tee = NULL;
	struct ebt_error *err;

	if (!options->capture_output)
		return NULL;
	tee = calloc(1, sizeof(*tee));
	if (!tee)
		return &ebt_enomem;
	tee->ends[0] = tee->ends[1] = tee->channels[0].socket = tee->channels[1].socket = -1;
	tee->message = malloc(sizeof(*tee->message) + TEE_DATA);
	tee->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!tee->message)
		return &ebt_enomem;
	if (tee->epoll < 0)
		return ebt_error_errno(errno, "cannot wait for the command's output");
	err = add_channels(tee, options, user);
	if (!err)
		*ret = take_ptr(tee);
	return err;
}

static void close_ends(struct tee *tee)
{
	if (tee->ends[1] != tee->ends[0])
		ebt_closep(&tee->ends[1]);
	ebt_closep(&tee->ends[0]);
	tee->ends[0] = tee->ends[1] = -1;
}

void tee_destroy(struct tee *tee)
{
	if (!tee)
		return;
	close_ends(tee);
	for (size_t i = 0; i < tee->n; i++) {
		ebt_closep(&tee->channels[i].socket);
		ebt_record_deinit(&tee->channels[i].lines.rec);
		waitpid(tee->channels[i].pid, NULL, WNOHANG);
	}
	ebt_closep(&tee->epoll);
	free(tee->message);
	free(tee);
}

void tee_redirect(const struct tee *tee)
{
	if (tee->ends[0] >= 0)
		dup2(tee->ends[0], STDOUT_FILENO);
	if (tee->ends[1] >= 0)
		dup2(tee->ends[1], STDERR_FILENO);
}

void tee_begin(struct tee *tee, pid_t command)
{
	close_ends(tee);
	for (size_t i = 0; i < tee->n; i++)
		tee->channels[i].lines.task = (uint32_t)command;
}

/* --- messages --- */

static struct ebt_error *take_loss(struct channel *c, const struct tee_message *m,
				   struct ebt_stream *stream)
{
	uint64_t ends = m->lost_ends - c->lost_ends;

	if (m->lost_bytes == c->lost_bytes)
		return NULL;
	c->lost_bytes = m->lost_bytes;
	c->lost_ends = m->lost_ends;
	return stream ? tee_lines_lost(&c->lines, stream, ends) : NULL;
}

static struct ebt_error *take_message(struct channel *c, const struct tee_message *m,
				      struct ebt_stream *stream)
{
	struct ebt_error *err = take_loss(c, m, stream);

	if (err)
		return err;
	switch ((enum tee_kind)m->kind) {
	case TEE_READ:
		return stream ? tee_lines_add(&c->lines, stream, m->time, m->data, m->len) : NULL;
	case TEE_EMPTY:
		c->empty = m->request;
		break;
	case TEE_DELIVERED:
		c->delivered = m->request;
		break;
	case TEE_FAILED:
		c->error = (int)m->error;
		break;
	}
	return NULL;
}

/* Takes what has been read until now. Without a stream nothing becomes rows. */
static struct ebt_error *drain(struct tee *tee, struct channel *c, struct ebt_stream *stream)
{
	uint64_t now = clocks_now(), rows = c->lines.rows;
	struct tee_message *m = tee->message;
	struct ebt_error *err = NULL;

	while (!err && c->socket >= 0 && c->lines.rows - rows < MAX_ROWS) {
		ssize_t n = recv(c->socket, m, sizeof(*m) + TEE_DATA, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			break;
		/* It ended with a request that it had not read; what it said comes behind that. */
		if (n < 0 && (errno == EINTR || errno == ECONNRESET))
			continue;
		if (n <= 0) {
			close(c->socket);
			c->socket = -1;
			break;
		}
		if ((size_t)n < sizeof(*m) || m->len != (size_t)n - sizeof(*m))
			continue;
		err = take_message(c, m, stream);
		if (m->time > now)
			break;
	}
	if (err || !stream || !c->lines.first ||
	    (c->socket >= 0 && now <= c->lines.first + PARTIAL_NS))
		return err;
	return tee_lines_flush(&c->lines, stream);
}

struct ebt_error *tee_read(struct tee *tee, struct ebt_stream *stream)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; tee && i < tee->n && !err; i++)
		err = drain(tee, &tee->channels[i], tee->ended ? NULL : stream);
	return err;
}

/* --- the end --- */

static void request(struct tee *tee)
{
	tee->request++;
	for (size_t i = 0; i < tee->n; i++) {
		if (tee->channels[i].socket >= 0)
			send(tee->channels[i].socket, &tee->request, sizeof(tee->request),
			     MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

/* Not answered. Such a process may be in a write that lasts. */
static bool disturb(const struct tee *tee, bool delivered)
{
	bool waiting = false;

	for (size_t i = 0; i < tee->n; i++) {
		const struct channel *c = &tee->channels[i];

		if (c->socket < 0 || (delivered ? c->delivered : c->empty) == tee->request)
			continue;
		waiting = true;
		if (c->empty != tee->request)
			kill(c->pid, SIGUSR1);
	}
	return waiting;
}

/* Until the request is answered. */
static struct ebt_error *await(struct tee *tee, struct ebt_stream *stream, int stop, int timeout_ms)
{
	struct pollfd polls[] = { { .fd = tee->epoll, .events = POLLIN },
				  { .fd = stop, .events = POLLIN } };
	uint64_t until = clocks_now() + (uint64_t)timeout_ms * NS_PER_MS;
	struct ebt_error *err = NULL;

	while (!err && disturb(tee, !stream) && !polls[1].revents &&
	       (timeout_ms < 0 || clocks_now() < until)) {
		if (poll(polls, 2, stream ? REPEAT_MS : 5 * REPEAT_MS) < 0 && errno != EINTR)
			return ebt_error_errno(errno, "cannot wait for the command's output");
		err = tee_read(tee, stream);
	}
	return err;
}

struct ebt_error *tee_end(struct tee *tee, struct ebt_stream *stream, uint64_t end)
{
	struct ebt_error *err;

	if (!tee)
		return NULL;
	for (size_t i = 0; i < tee->n; i++)
		tee->channels[i].lines.end = end;
	request(tee);
	err = await(tee, stream, -1, END_MS);
	for (size_t i = 0; i < tee->n && !err; i++)
		err = tee_lines_flush(&tee->channels[i].lines, stream);
	tee->ended = true;
	return err;
}

struct ebt_error *tee_deliver(struct tee *tee, int stop, int timeout_ms)
{
	struct ebt_error *err;

	if (!tee)
		return NULL;
	request(tee);
	err = await(tee, NULL, stop, timeout_ms);
	for (size_t i = 0; i < tee->n && !err; i++) {
		if (tee->channels[i].error)
			err = ebt_error_errno(tee->channels[i].error,
					      "cannot pass on the command's output");
	}
	return err;
}
