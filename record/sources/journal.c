/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `journal`: what systemd-journald is told meanwhile. No BPF and no library: journalctl,
 * which is there where journald is, follows the journal as a child process.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "format/schema/wire.h"
#include "format/write/writer.h"
#include "record/base/clocks.h"
#include "record/base/rows.h"
#include "record/sources/journal_parse.h"
#include "record/sources/sources.h"

#define SOCKET "/run/systemd/journal/socket"

/* Read at once at the most: what is left waits in the pipe. */
#define BATCH_BYTES (1u << 20)
#define PIECE_BYTES 65536

/* How long journald, and journalctl, may take at the end. */
#define SYNC_MS 3000
#define LAST_MS 5000

/* A row may be so old when it is written (struct source_worker); log.late says the rest. */
#define MAX_AGE_NS   UINT64_C(400000000)

#define NS_PER_US    UINT64_C(1000)
#define BOOT_ID_SIZE 32 /* digits */

struct journal {
	pid_t pid;
	int fd;		     /* journalctl's output; -1: it has ended */
	uint64_t begin, end; /* of the recording; 0: not yet */
	char boot_id[BOOT_ID_SIZE];
	const char *folder; /* or NULL; belongs to the options */
	time_t since;
	char cursor[JOURNAL_SHORT]; /* of the last entry; empty: there was none */
	struct journal_parser *parser;
	struct ebt_stream *stream; /* while it works */
	struct ebt_record rec;
	char piece[PIECE_BYTES];
};

extern char **environ;

static struct ebt_error *check_args(const char *args)
{
	struct stat st;

	if (stat(args, &st))
		return ebt_error_errno(errno, "%s", args);
	if (!S_ISDIR(st.st_mode))
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not a folder", args);
	return NULL;
}

static bool is_running(void)
{
	struct stat st;

	return !stat(SOCKET, &st);
}

static void probe(const struct kernel *kernel, struct source_state *state)
{
	(void)kernel;
	if (is_running())
		return;
	state->status = EBT_V_source_status_partial;
	snprintf(state->detail, sizeof(state->detail),
		 "no systemd-journald runs here; a folder of its files can be given");
}

/* --- journalctl --- */

static struct ebt_error *spawn(const char *const *argv, int out, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, pipe;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	/* Of what the user's keyboard sends, the recorder decides. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &pipe);
	r = posix_spawnp(ret, argv[0], &actions, &attr, (char *const *)argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return r ? ebt_error_errno(r, "journalctl") : NULL;
}

static struct ebt_error *run(struct journal *j, const char *const *argv)
{
	struct ebt_error *err;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return ebt_error_errno(errno, "cannot make a pipe");
	j->fd = fds[0];
	err = spawn(argv, fds[1], &j->pid);
	close(fds[1]);
	if (!err && fcntl(j->fd, F_SETFL, O_NONBLOCK))
		err = ebt_error_errno(errno, "cannot read the journal");
	return err;
}

static void stop(struct journal *j)
{
	ebt_closep(&j->fd);
	j->fd = -1;
	if (j->pid > 0) {
		kill(j->pid, SIGKILL);
		waitpid(j->pid, NULL, 0);
	}
	j->pid = 0;
}

/* From a little before the recording, which the clocks of the entries leave out again, or behind
 * the last entry that was read. */
static struct ebt_error *run_journalctl(struct journal *j, bool follow)
{
	char from[JOURNAL_SHORT + 32], fields[256] = "--output-fields=";
	const char *argv[] = { "journalctl",
			       "--no-tail",
			       "--no-pager",
			       "--quiet",
			       "--output=export",
			       fields,
			       from,
			       follow ? "--follow" : "--no-pager",
			       j->folder ? "-D" : NULL,
			       j->folder,
			       NULL };
	size_t len = strlen(fields);

	for (int i = 0; i < JOURNAL_N_FIELDS; i++)
		len += (size_t)snprintf(fields + len, sizeof(fields) - len, "%s%s", i ? "," : "",
					journal_field_name((enum journal_field)i));
	if (*j->cursor)
		snprintf(from, sizeof(from), "--after-cursor=%s", j->cursor);
	else
		snprintf(from, sizeof(from), "--since=@%lld", (long long)j->since);
	return run(j, argv);
}

/* As in the journal: without dashes. */
static void read_boot_id(char *ret)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	size_t n = 0;
	int c;

	while (f && n < BOOT_ID_SIZE && (c = fgetc(f)) != EOF) {
		if (c != '-')
			ret[n++] = (char)c;
	}
}

/* --- entries --- */

/* When it was sent, if that is known, or received. False: not now, and here. */
static bool time_of(const struct journal *j, const struct journal_parser *p, uint64_t *ret)
{
	struct journal_text boot = journal_text(p, JOURNAL_BOOT_ID);
	uint64_t time, received, sent;

	if (boot.len != BOOT_ID_SIZE || memcmp(boot.data, j->boot_id, BOOT_ID_SIZE) ||
	    !journal_number(p, JOURNAL_MONOTONIC, &time) || time > UINT64_MAX / NS_PER_US)
		return false;
	if (journal_number(p, JOURNAL_REALTIME, &received) &&
	    journal_number(p, JOURNAL_SOURCE_REALTIME, &sent) && sent < received &&
	    received - sent < time)
		time -= received - sent;
	*ret = time * NS_PER_US;
	return *ret >= j->begin && (!j->end || *ret <= j->end);
}

static void add_domain(struct journal *j, const struct journal_parser *p)
{
	static const enum journal_field fields[] = { JOURNAL_UNIT, JOURNAL_IDENTIFIER,
						     JOURNAL_COMM };
	struct journal_text text = { 0 };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && !text.len; i++)
		text = journal_text(p, fields[i]);
	ebt_record_bytes(&j->rec, offsetof(struct ebt_wire_log, domain), text.data, text.len);
}

static void keep_cursor(struct journal *j, const struct journal_parser *p)
{
	struct journal_text text = journal_text(p, JOURNAL_CURSOR);

	if (text.cut || text.len >= sizeof(j->cursor) || memchr(text.data, '\0', text.len))
		return;
	memcpy(j->cursor, text.data, text.len);
	j->cursor[text.len] = '\0';
}

static struct ebt_error *add_entry(void *arg, const struct journal_parser *p)
{
	struct journal_text message = journal_text(p, JOURNAL_MESSAGE_TEXT);
	uint64_t now = clocks_now(), oldest = now - MAX_AGE_NS, time, number;
	struct journal *j = arg;
	struct ebt_wire_log *row;

	keep_cursor(j, p);
	if (!j->begin || !time_of(j, p, &time))
		return NULL;
	/* A forged one may be of the future. */
	if (time > now)
		time = now;
	row = ebt_record_begin(&j->rec, EBT_T_log, time < oldest ? oldest : time);
	row->cpu = UINT32_MAX;
	row->origin = EBT_V_log_origin_journal;
	row->late = time < oldest ? oldest - time : 0;
	row->severity = EBT_V_log_severity_none;
	if (journal_number(p, JOURNAL_PRIORITY, &number) && number < EBT_V_log_severity_none)
		row->severity = (uint32_t)number;
	if (journal_number(p, JOURNAL_PID, &number) && number <= INT32_MAX)
		row->pid = row->task = (uint32_t)number;
	row->cut = message.cut < UINT32_MAX ? (uint32_t)message.cut : UINT32_MAX;
	add_domain(j, p);
	ebt_record_bytes(&j->rec, offsetof(struct ebt_wire_log, message), message.data,
			 message.len);
	return ebt_record_add(&j->rec, j->stream);
}

/* --- the worker --- */

static void close_worker(void *arg)
{
	struct journal *j = arg;

	stop(j);
	journal_parser_destroy(j->parser);
	ebt_record_deinit(&j->rec);
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void *worker)
{
	struct journal *j = worker;
	struct ebt_error *err;

	j->fd = -1;
	j->folder = source_args(context, &source_journal);
	if (!j->folder && !is_running()) {
		*state = (struct source_state){ .status = EBT_V_source_status_unavailable,
						.detail = "no systemd-journald runs here" };
		return NULL;
	}
	*state = (struct source_state){ .status = EBT_V_source_status_on };
	j->since = time(NULL) - 1;
	read_boot_id(j->boot_id);
	err = journal_parser_create(add_entry, j, &j->parser) ?: run_journalctl(j, true);
	if (!err)
		return NULL;
	state->status = EBT_V_source_status_unavailable;
	snprintf(state->detail, sizeof(state->detail), "%s", err->message);
	ebt_error_destroy(err);
	return NULL;
}

static struct ebt_error *tell_ended(const struct journal *j)
{
	const struct lost_row lost = {
		.from = j->begin,
		.count = 1,
		.table_id = EBT_T_log,
		.reason = EBT_V_lost_reason_other,
		.source = source_journal.name,
		.detail = "journalctl has ended",
	};

	return add_lost(j->stream, clocks_now(), &lost);
}

/* *ret: how much. */
static struct ebt_error *read_piece(struct journal *j, size_t *ret)
{
	ssize_t n = j->fd < 0 ? 0 : read(j->fd, j->piece, sizeof(j->piece));

	*ret = n > 0 ? (size_t)n : 0;
	if (n > 0)
		return journal_parse(j->parser, j->piece, (size_t)n);
	if (j->fd < 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return NULL;
	stop(j);
	return j->end ? NULL : tell_ended(j);
}

static struct ebt_error *read_batch(struct journal *j)
{
	size_t n = 1, all = 0;
	struct ebt_error *err = NULL;

	for (; !err && n && all < BATCH_BYTES; all += n)
		err = read_piece(j, &n);
	return err;
}

/* All that it says, until it ends. */
static struct ebt_error *read_to_end(struct journal *j, int timeout_ms)
{
	uint64_t until = clocks_now() + (uint64_t)timeout_ms * 1000 * NS_PER_US, now;
	struct ebt_error *err = NULL;
	size_t n;

	while (!err && j->fd >= 0 && (now = clocks_now()) < until) {
		struct pollfd p = { .fd = j->fd, .events = POLLIN };

		if (poll(&p, 1, (int)((until - now) / (1000 * NS_PER_US)) + 1) > 0)
			err = read_piece(j, &n);
	}
	return err;
}

/* Who follows the journal is told of new entries up to half a second later. So journald is asked
 * to write what it has, and the rest is read from its files. */
static struct ebt_error *read_last(struct journal *j)
{
	static const char *const sync[] = { "journalctl", "--sync", NULL };
	struct ebt_error *err = read_batch(j);

	stop(j);
	journal_parser_reset(j->parser);
	if (!err && !j->folder)
		err = run(j, sync);
	if (!err)
		err = read_to_end(j, SYNC_MS);
	stop(j);
	journal_parser_reset(j->parser);
	if (!err)
		err = run_journalctl(j, false) ?: read_to_end(j, LAST_MS);
	stop(j);
	return err;
}

static struct ebt_error *work(void *arg, struct ebt_stream *stream, enum source_moment moment)
{
	struct journal *j = arg;

	j->stream = stream;
	if (moment == SOURCE_BEGIN)
		j->begin = clocks_now();
	if (moment != SOURCE_END)
		return read_batch(j);
	j->end = clocks_now();
	return read_last(j);
}

static const struct source_worker worker_of_journal = {
	.size = sizeof(struct journal),
	.fd = SOURCE_WORKER_FD(struct journal, fd),
	.open = open_worker,
	.work = work,
	.close = close_worker,
};

const struct ebrec_source source_journal = {
	.name = "journal",
	.doc = "what systemd-journald is told: by whom, how severe, the message",
	.elsewhere = "logs",
	.cost = "journalctl runs beside; about 0.05 ms of another CPU for each entry",
	.args_doc = "FOLDER of journal files (those of this machine)",
	.tables = (const uint16_t[]){ EBT_T_log, 0 },
	.check_args = check_args,
	.probe = probe,
	.worker = &worker_of_journal,
};
