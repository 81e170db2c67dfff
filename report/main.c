/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport: runs one command on one trace; the only file here that prints errors or exits. */
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/fill.h"
#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/interval.h"
#include "report/out/out.h"
#include "report/pager.h"
#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

enum { EXIT_FILE = 1, EXIT_USAGE = 2 };

#define LARGE (4 << 20)

/* One line; as wide as the terminal, where this is one. */
static void put_message(const char *prefix, const char *message)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	int width = cli_terminal_width(STDERR_FILENO);

	text_printf(&text, "ebreport: %s", prefix);
	text_terminal(&text, ebt_str_of(message));
	if (width)
		cli_fill(stderr, text_get(&text), text.len, 0, 2, width);
	else
		fputs(text_get(&text), stderr);
	fputc('\n', stderr);
}

/* Takes the error over; the exit status. */
static int fail(struct ebt_error *err)
{
	int status = err->code == EBT_ERR_INVALID ? EXIT_USAGE : EXIT_FILE;

	fflush(stdout);
	put_message("", err->message);
	ebt_error_destroy(err);
	return status;
}

static struct ebt_error *check_terminal(const struct options *options)
{
	if ((options->command->flags & COMMAND_NO_TERMINAL) && !options->output &&
	    isatty(STDOUT_FILENO))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s does not write to a terminal: use -o FILE or a pipe",
					options->command->name);
	return NULL;
}

static struct ebt_error *put_warnings(struct trace *trace)
{
	const char *const *warnings;
	struct ebt_error *err;
	size_t n;

	err = trace_warnings(trace, &warnings, &n);
	if (err)
		return err;
	fflush(stdout);
	for (size_t i = 0; i < n; i++)
		put_message("warning: ", warnings[i]);
	return NULL;
}

/* --- while files are fetched --- */

/* Ctrl-C: go on without what is still to come. */
static volatile sig_atomic_t interrupted;

struct fetching {
	bool active;
	const struct pager *pager; /* which may have the terminal; or NULL */
	struct sigaction before;
};

static void on_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

static void put_progress(const struct sym_fetching *now)
{
	fprintf(stderr, "\r\033[Kebreport: fetched %zu of %zu files", now->done, now->files);
	if (now->bytes)
		fprintf(stderr, ", %.1f MB more", (double)now->bytes / 1e6);
	fputs(" (Ctrl-C: go on without)", stderr);
	fflush(stderr);
}

static bool watch_fetching(void *arg, const struct sym_fetching *now)
{
	struct fetching *fetching = arg;
	bool terminal = isatty(STDERR_FILENO) && !pager_has_terminal(fetching->pager);

	if (now && !fetching->active) {
		/* A second one ends the program as ever. */
		struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = SA_RESETHAND };

		interrupted = 0;
		sigaction(SIGINT, &action, &fetching->before);
		fetching->active = true;
	}
	if (now && terminal)
		put_progress(now);
	if (now || !fetching->active)
		return !interrupted;
	if (terminal)
		fputs("\r\033[K", stderr);
	sigaction(SIGINT, &fetching->before, NULL);
	fetching->active = false;
	return true;
}

/* --- while rows are read --- */

struct read_progress {
	const char *command;
	uint64_t begun, told; /* CLOCK_MONOTONIC; told 0: nothing was */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Of what takes longer than a second, some times a second. */
static void tell_progress(void *arg, struct trace *trace, uint64_t time)
{
	_cleanup_text_ struct text at = TEXT_INIT, end = TEXT_INIT;
	struct read_progress *progress = arg;
	const uint64_t now = now_ns();

	if (now - progress->begun < 1000000000 || now - progress->told < 200000000)
		return;
	progress->told = now;
	text_seconds(&at, time, trace_start_ns(trace));
	text_seconds(&end, trace_window_end_ns(trace), trace_start_ns(trace));
	fprintf(stderr, "\r\033[Kebreport: %s: %s of %s s", progress->command, text_get(&at),
		text_get(&end));
	fflush(stderr);
}

/* Where the output goes to a file, nothing else is on the terminal. */
static void watch_progress(struct read_progress *progress, const struct options *options,
			   struct trace *trace)
{
	*progress = (struct read_progress){ .command = options->command->name, .begun = now_ns() };
	if (options->output && isatty(STDERR_FILENO))
		trace_tell_progress(trace, tell_progress, progress);
}

static void end_progress(const struct read_progress *progress)
{
	if (progress->told)
		fputs("\r\033[K", stderr);
}

/* --- the program --- */

/* NULL: none. What a pager writes is what a user would have read, so that what it lacks is no
 * error. */
static struct pager *make_pager(const struct options *options)
{
	struct pager *pager = NULL;
	struct ebt_error *err = pager_create(options, &pager);

	if (err)
		put_message("warning: ", err->message);
	ebt_error_destroy(err);
	return pager;
}

static void on_gone(void *arg)
{
	trace_stop(arg);
}

/* What is on standard output, and not on its way into a trace, goes through a pager. */
static bool is_paged(const struct options *options, const struct trace *trace)
{
	return !options->output && !(options->command->flags & COMMAND_COPY) &&
	       !trace_is_live(trace);
}

static struct ebt_error *run_paged(struct report *report, struct fetching *fetching)
{
	_cleanup_(pager_destroyp) struct pager *pager = NULL;

	if (is_paged(report->options, report->trace))
		pager = make_pager(report->options);
	if (pager) {
		out_page(report->out, pager_file(pager));
		pager_watch(pager, on_gone, report->trace);
	}
	fetching->pager = pager;
	return interval_run(report) ?: out_finish(report->out);
}

static struct ebt_error *run_trace(const struct options *options, struct trace *trace)
{
	struct fetching fetching = { 0 };
	struct read_progress progress;
	_cleanup_(out_destroyp) struct out *out = NULL;
	struct report report = { .command = options->command, .options = options, .trace = trace };
	struct ebt_error *err = out_create(options, trace, &out);

	if (err)
		return err;
	trace_watch(trace, watch_fetching, &fetching);
	watch_progress(&progress, options, trace);
	report.out = out;
	err = run_paged(&report, &fetching);
	end_progress(&progress);
	/* Below the table, and there also when the user has read its beginning only. */
	if (!err)
		err = put_warnings(trace);
	if (!err)
		return report.verdict;
	ebt_error_destroy(report.verdict);
	return err;
}

/* --- several machines --- */

/* A command on each machine of a file. */
struct several {
	const struct options *options;
	struct out *out;
	struct fetching fetching;
	struct trace *now; /* of the one at hand, or NULL */
	bool gone;	   /* nobody reads what comes */
	struct text told;  /* messages with a NUL behind each, for below the pager */
	int status;	   /* of the first that failed */
};

static void on_several_gone(void *arg)
{
	struct several *s = arg;

	s->gone = true;
	if (s->now)
		trace_stop(s->now);
}

static void tell(struct several *s, uint32_t host, const char *what, const char *message)
{
	text_printf(&s->told, "%shost-%" PRIu32 ": %s", what, host, message);
	text_addc(&s->told, '\0');
}

static struct ebt_error *tell_warnings(struct several *s, uint32_t host)
{
	const char *const *warnings;
	size_t n;
	struct ebt_error *err = trace_warnings(s->now, &warnings, &n);

	for (size_t i = 0; !err && i < n; i++)
		tell(s, host, "warning: ", warnings[i]);
	return err;
}

static void put_told(const struct several *s)
{
	const char *at = text_get(&s->told), *end = at + s->told.len;

	fflush(stdout);
	for (; at < end; at += strlen(at) + 1)
		put_message("", at);
}

/* It is no matter of the next machine. */
static bool is_of_one_host(const struct ebt_error *err)
{
	switch (err->code) {
	case EBT_ERR_CORRUPT:
	case EBT_ERR_UNSUPPORTED:
	case EBT_ERR_LIMIT:
	case EBT_ERR_NOT_FOUND:
		return true;
	case EBT_ERR_NOMEM:
	case EBT_ERR_SYSTEM:
	case EBT_ERR_INVALID:
	case EBT_ERR_CANCELLED:
		return false;
	}
	return false;
}

static struct ebt_error *run_opened(struct several *s, const struct options *one, uint32_t host,
				    struct ebt_error **ret_verdict)
{
	struct report report = { one->command, one, s->now, s->out, NULL };
	struct ebt_error *err;

	trace_watch(s->now, watch_fetching, &s->fetching);
	err = out_host_begin(s->out, s->now)
		      ?: interval_run(&report)
		      ?: out_host_end(s->out)
		      ?: tell_warnings(s, host);
	*ret_verdict = report.verdict;
	return err;
}

static struct ebt_error *run_host(struct several *s, uint32_t host)
{
	_cleanup_(trace_closep) struct trace *trace = NULL;
	struct ebt_error *verdict = NULL, *err;
	struct options one = *s->options;
	char number[16];

	snprintf(number, sizeof(number), "%" PRIu32, host);
	one.host = number;
	err = trace_open(&one, &trace);
	s->now = trace;
	if (!err)
		err = run_opened(s, &one, host, &verdict);
	s->now = NULL;
	if (!err)
		return verdict;
	ebt_error_destroy(verdict);
	if (is_of_one_host(err))
		out_host_fail(s->out, host, err);
	return err;
}

/* What ends it for all. */
static struct ebt_error *run_hosts(struct several *s, const struct ebt_reader_info *info)
{
	for (size_t i = 0; !s->gone && i < info->n_hosts; i++) {
		struct ebt_error *err = run_host(s, info->hosts[i]);

		if (!err)
			continue;
		if (!is_of_one_host(err))
			return err;
		tell(s, info->hosts[i], "", err->message);
		s->status = EXIT_FILE;
		ebt_error_destroy(err);
	}
	return NULL;
}

/* Files beside the output, and text for other programs: each is of one machine. */
static const char *const of_one[] = { "flame", "folded", "per-thread" };

/* What is one thing, as a picture or a copy, is of one machine. */
static struct ebt_error *check_several(const struct options *options, struct trace *trace)
{
	const unsigned int one =
		COMMAND_NO_TERMINAL | COMMAND_FOLDER | COMMAND_COPY | COMMAND_NO_TABLES;

	if (options->command->flags & one)
		return trace_choose_one(trace, "what this writes is of one");
	for (size_t i = 0; i < sizeof(of_one) / sizeof(of_one[0]); i++) {
		if (options_flag(options, of_one[i]))
			return trace_choose_one(trace, "what this writes is of one");
	}
	if (options->command->flags & COMMAND_COMPARES)
		return trace_choose_one(trace, "two traces are compared, each of one");
	if (!strcmp(options->file, "-"))
		return trace_choose_one(trace, "comes from a pipe, which is read once");
	return NULL;
}

static struct ebt_error *run_several_paged(struct several *s, struct trace *first)
{
	_cleanup_(pager_destroyp) struct pager *pager = NULL;
	struct ebt_error *err;

	if (is_paged(s->options, first))
		pager = make_pager(s->options);
	if (pager) {
		out_page(s->out, pager_file(pager));
		pager_watch(pager, on_several_gone, s);
	}
	s->fetching.pager = pager;
	err = run_hosts(s, ebt_reader_info(trace_reader(first)));
	if (!err)
		return out_finish(s->out);
	ebt_error_destroy(out_finish(s->out));
	return err;
}

/* The command, once for each machine of the file; the exit status. */
static int run_several(const struct options *options, struct trace *first)
{
	_cleanup_(out_destroyp) struct out *out = NULL;
	struct several s = { .options = options, .told = TEXT_INIT };
	struct ebt_error *err = check_several(options, first) ?: out_create(options, first, &out);

	s.out = out;
	if (!err)
		err = run_several_paged(&s, first);
	put_told(&s);
	text_deinit(&s.told);
	return err ? fail(err) : s.status;
}

static struct ebt_error *run_alone(const struct options *options)
{
	_cleanup_(out_destroyp) struct out *out = NULL;
	struct report report = { .command = options->command, .options = options };
	struct ebt_error *err = out_create(options, NULL, &out);

	if (err)
		return err;
	report.out = out;
	return options->command->fn(&report);
}

static bool opens_itself(const struct options *options)
{
	const struct command *command = options->command;

	return command->flags & COMMAND_OPENS ||
	       (command->opens_with && options_flag(options, command->opens_with));
}

/* On a trace that is made of FILE. */
static struct ebt_error *run_made(const struct options *options)
{
	_cleanup_(trace_closep) struct trace *trace = NULL;
	_cleanup_close_ int fd = -1;
	struct options made = *options;
	char path[32];
	struct ebt_error *err = options->command->make(options, &fd);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	made.file = path;
	return err ?: trace_open(&made, &trace) ?: run_trace(&made, trace);
}

/* The exit status. */
static int run(const struct options *options)
{
	_cleanup_(trace_closep) struct trace *trace = NULL;
	struct ebt_error *err = check_terminal(options);

	if (!err && opens_itself(options)) {
		err = options->command->make ? run_made(options) : run_alone(options);
		return err ? fail(err) : 0;
	}
	err = err ?: trace_open(options, &trace);
	if (!err && trace_n_hosts(trace) && !options->host &&
	    !(options->command->flags & COMMAND_ALL_HOSTS))
		return run_several(options, trace);
	err = err ?: run_trace(options, trace);
	return err ? fail(err) : 0;
}

static void put_help(const struct options *options)
{
	_cleanup_(pager_destroyp) struct pager *pager = make_pager(options);

	options_usage(options->command, pager ? pager_file(pager) : stdout);
}

/* What a large array has grown out of goes back to the kernel. By itself malloc() learns from the
 * first one to keep up to 32 MiB of each among small pieces, where little else fits in. */
static void tune_malloc(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, LARGE);
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	struct ebt_error *err;
	int status = 0;

	tune_malloc();
	if (argc < 2 && access(OPTIONS_FILE, F_OK)) {
		put_message("",
			    "there is no " OPTIONS_FILE " in this folder. `ebreport FILE` reads "
			    "another one, `ebrec COMMAND` records one; see `ebreport --help`");
		return EXIT_USAGE;
	}
	err = options_parse(argc, argv, &options);
	if (err)
		return fail(err);
	if (options.version) {
		puts("ebreport " EBT_VERSION);
	} else if (options.help) {
		put_help(&options);
	} else {
		status = run(&options);
	}
	options_deinit(&options);
	return status;
}
