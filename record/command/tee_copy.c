/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copying a command's output; see tee_copy.h. This is a process of its own: it outlives the
 * recorder, and ends when nobody is left who could write.
 */
#include "record/command/tee_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "record/base/clocks.h"

/* A terminal that changes its size tells the processes in its foreground, which we may not be. */
#define LOOK_MS 250

/* What a request takes at most, of who writes on and on: the largest pipe of an ordinary user. */
#define MAX_REQUESTED (1u << 20)

/* How long the recorder may take to make room while it waits for the answer. */
#define PATIENCE_MS 200

enum { IN, OUT, SOCKET };

struct copier {
	bool terminal;
	bool heard; /* the recorder is there */
	struct winsize size;
	struct termios termios; /* of the command's terminal */
	char *pending;		/* read and not yet written */
	size_t done, len, capacity;
	uint32_t request; /* to be answered when all of that is written; 0: none */
	struct tee_message *message;
};

/* --- terminals --- */

/* From where it goes to what the command sees. The kernel has told the foreground already, which
 * may have asked too early. */
static void copy_size(struct copier *c)
{
	struct winsize size;
	pid_t foreground;

	if (ioctl(OUT, TIOCGWINSZ, &size) || !memcmp(&size, &c->size, sizeof(size)))
		return;
	c->size = size;
	ioctl(IN, TIOCSWINSZ, &size);
	foreground = tcgetpgrp(OUT);
	if (foreground > 0)
		kill(-foreground, SIGWINCH);
}

/* Output is processed once, by the terminal where it goes. What the command sets otherwise, as
 * programs do that fill the screen, is meant for that one too. */
static void copy_modes(struct copier *c)
{
	struct termios theirs, ours;
	sigset_t set;

	if (tcgetattr(IN, &theirs) || !memcmp(&theirs, &c->termios, sizeof(theirs)))
		return;
	c->termios = theirs;
	if (tcgetattr(OUT, &ours))
		return;
	theirs.c_oflag = (theirs.c_oflag & ~(tcflag_t)OPOST) | (ours.c_oflag & OPOST);
	/* In the background this is not allowed, but to who does not listen. */
	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, NULL);
	tcsetattr(OUT, TCSANOW, &theirs);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	if (c->termios.c_oflag & OPOST) {
		c->termios.c_oflag &= ~(tcflag_t)OPOST;
		tcsetattr(IN, TCSANOW, &c->termios);
	}
}

static void look_at_terminal(struct copier *c)
{
	if (!c->terminal)
		return;
	copy_size(c);
	copy_modes(c);
}

/* --- the recorder --- */

static bool send_message(struct copier *c, enum tee_kind kind, uint32_t len, bool patient)
{
	struct tee_message *m = c->message;
	struct pollfd p = { .fd = SOCKET, .events = POLLOUT };
	ssize_t n;

	if (!c->heard)
		return false;
	m->kind = kind;
	m->len = len;
	n = send(SOCKET, m, sizeof(*m) + len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno == EAGAIN && patient && poll(&p, 1, PATIENCE_MS) == 1)
		n = send(SOCKET, m, sizeof(*m) + len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN)
		c->heard = false;
	return n >= 0;
}

static void tell_data(struct copier *c, uint32_t len, bool patient)
{
	struct tee_message *m = c->message;
	const char *at = m->data, *end = m->data + len;
	uint64_t ends = 0;

	m->time = clocks_now();
	if (send_message(c, TEE_READ, len, patient))
		return;
	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		ends++;
		at++;
	}
	m->lost_bytes += len;
	m->lost_ends += ends;
}

static void answer(struct copier *c, enum tee_kind kind)
{
	c->message->time = clocks_now();
	send_message(c, kind, 0, true);
}

/* --- copying --- */

/* Reads once, and tells. False: there is nothing more, ever. */
static bool take(struct copier *c, bool patient)
{
	ssize_t n;

	/* Behind what is pending, for which there is room: at most what a request takes. */
	if (c->capacity - c->len < TEE_DATA) {
		char *grown = realloc(c->pending, c->capacity + TEE_DATA);

		if (!grown)
			return true;
		c->pending = grown;
		c->capacity += TEE_DATA;
	}
	n = read(IN, c->message->data, TEE_DATA);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	memcpy(c->pending + c->len, c->message->data, (size_t)n);
	c->len += (size_t)n;
	if (n)
		tell_data(c, (uint32_t)n, patient);
	return n;
}

/* Reads all that is there, although there may be no room to write it. */
static void take_request(struct copier *c)
{
	struct pollfd p = { .fd = IN, .events = POLLIN };
	size_t limit = c->len + MAX_REQUESTED;
	uint32_t request;
	ssize_t n = recv(SOCKET, &request, sizeof(request), MSG_DONTWAIT);

	if (n < 0)
		return;
	if (n != sizeof(request)) {
		c->heard = false;
		return;
	}
	while (c->len < limit && poll(&p, 1, 0) == 1 && (p.revents & POLLIN) && take(c, true))
		;
	c->request = c->message->request = request;
	answer(c, TEE_EMPTY);
}

/* False: it goes nowhere any more. */
static bool write_pending(struct copier *c)
{
	while (c->done < c->len) {
		ssize_t n = write(OUT, c->pending + c->done, c->len - c->done);
		struct pollfd p = { .fd = OUT, .events = POLLOUT };

		if (n >= 0) {
			c->done += (size_t)n;
		} else if (errno == EAGAIN) {
			/* Somebody has set it so, and meant others. */
			poll(&p, 1, LOOK_MS);
		} else if (errno != EINTR) {
			c->message->error = (uint32_t)errno;
			return false;
		}
		if (c->done < c->len && c->heard)
			take_request(c);
		if (c->done < c->len)
			look_at_terminal(c);
	}
	c->done = c->len = 0;
	if (c->request)
		answer(c, TEE_DELIVERED);
	c->request = 0;
	return true;
}

static void copy(struct copier *c)
{
	bool more = true;

	while (more) {
		struct pollfd polls[] = { { .fd = IN, .events = POLLIN },
					  { .fd = OUT },
					  { .fd = c->heard ? SOCKET : -1, .events = POLLIN } };

		if (poll(polls, 3, c->terminal ? LOOK_MS : -1) < 0 && errno != EINTR)
			return;
		look_at_terminal(c);
		/* The reader has gone: who writes is to know it as early as without us. */
		if (polls[OUT - IN].revents)
			return;
		if (polls[2].revents)
			take_request(c);
		if (polls[IN].revents)
			more = take(c, false);
		look_at_terminal(c);
		if (!write_pending(c)) {
			if (c->message->error != EPIPE)
				answer(c, TEE_FAILED);
			return;
		}
	}
}

/* --- the process --- */

static void on_signal(int number)
{
	(void)number;
}

/* It ends with those who write: what ends them all at once may leave it something to copy. What
 * stops and continues them does so here. */
static void set_signals(void)
{
	static const int ignored[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR2, SIGALRM
	};
	const struct sigaction interrupts = { .sa_handler = on_signal };
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGUSR1, &interrupts, NULL);
	sigaction(SIGWINCH, &interrupts, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* To IN, OUT and SOCKET. What else was open has its own reader or writer that waits for its end. */
static bool keep_only(const struct tee_ways *ways)
{
	int in = fcntl(ways->in, F_DUPFD, 3), out = fcntl(ways->out, F_DUPFD, 3);
	int socket = fcntl(ways->socket, F_DUPFD, 3);

	return in >= 0 && out >= 0 && socket >= 0 && dup2(in, IN) == IN && dup2(out, OUT) == OUT &&
	       dup2(socket, SOCKET) == SOCKET && !close_range(SOCKET + 1, ~0u, 0);
}

void tee_copy(const struct tee_ways *ways)
{
	struct copier c = { .terminal = ways->terminal, .heard = true };

	set_signals();
	prctl(PR_SET_NAME, "ebrec-output");
	c.message = calloc(1, sizeof(*c.message) + TEE_DATA);
	if (!c.message || !keep_only(ways))
		_exit(1);
	if (c.terminal) {
		ioctl(IN, TIOCGWINSZ, &c.size);
		tcgetattr(IN, &c.termios);
	}
	/* Signals do no harm from now on. */
	answer(&c, TEE_DELIVERED);
	copy(&c);
	_exit(0);
}
