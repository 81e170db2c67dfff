/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport: runs one command on one trace; the only file here that prints errors or exits. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/interval.h"
#include "report/out/out.h"
#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

enum { EXIT_FILE = 1, EXIT_USAGE = 2 };

static void put_message(const char *prefix, const char *message)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_terminal(&text, (struct ebt_str){ message, strlen(message) });
	fprintf(stderr, "ebreport: %s%s\n", prefix, text_get(&text));
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
	bool terminal = isatty(STDERR_FILENO);

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

static struct ebt_error *run(const struct options *options)
{
	struct fetching fetching = { 0 };
	_cleanup_(trace_closep) struct trace *trace = NULL;
	_cleanup_(out_destroyp) struct out *out = NULL;
	struct report report = { .command = options->command, .options = options };
	struct ebt_error *err;

	err = check_terminal(options) ?:
	      trace_open(options, &trace) ?:
	      out_create(options, trace, &out);
	if (err)
		return err;
	trace_watch(trace, watch_fetching, &fetching);
	report.trace = trace;
	report.out = out;
	return interval_run(&report) ?: out_finish(out) ?: put_warnings(trace);
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	struct ebt_error *err;
	int status = 0;

	if (argc < 2) {
		options_usage(NULL, stderr);
		return EXIT_USAGE;
	}
	err = options_parse(argc, argv, &options);
	if (err)
		return fail(err);
	if (options.version) {
		puts("ebreport " EBT_VERSION);
	} else if (options.help) {
		options_usage(options.command, stdout);
	} else {
		err = run(&options);
		status = err ? fail(err) : 0;
	}
	options_deinit(&options);
	return status;
}
