/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebrec: records what a program, a container or a machine does. Messages and exit status are made
 * here and nowhere else. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "record/base/kernel.h"
#include "record/base/terminal.h"
#include "record/config/options.h"
#include "record/config/source.h"
#include "record/probes/tp_set.h"
#include "record/session/output.h"
#include "record/session/session.h"

#define EXIT_RECORDER 125

static unsigned int verbosity;

/* Through which the signal handler tells the session to end. */
static int stop[2] = { -1, -1 };

static void on_signal(int number)
{
	unsigned char byte = (unsigned char)number;
	int errnum = errno;

	/* Full, it says so already. */
	if (write(stop[1], &byte, 1) < 0)
		errno = errnum;
}

/*
 * The first signal ends the recording in order, the next of its kind ends the process at once: a
 * write to a pipe that nobody reads may never return. SIGHUP stays ignored under nohup.
 */
static struct ebt_error *catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal,
					  .sa_flags = SA_RESETHAND | SA_RESTART };
	struct sigaction old;

	if (pipe2(stop, O_CLOEXEC | O_NONBLOCK))
		return ebt_error_errno(errno, "cannot make a pipe");
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!sigaction(SIGHUP, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	return NULL;
}

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	if (verbosity < 2 || (level == LIBBPF_DEBUG && verbosity < 3))
		return 0;
	terminal_put_lines(stderr, format, args);
	return 0;
}

static void print_error(const struct ebt_error *err)
{
	fputs("ebrec: ", stderr);
	terminal_put(stderr, err->message);
	fputc('\n', stderr);
}

/* "12.3 MB": a number that people can take in. */
static const char *human_bytes(uint64_t bytes, char buf[static 32])
{
	if (bytes < 1000000)
		snprintf(buf, 32, "%.1f kB", (double)bytes / 1e3);
	else if (bytes < 1000000000)
		snprintf(buf, 32, "%.1f MB", (double)bytes / 1e6);
	else
		snprintf(buf, 32, "%.2f GB", (double)bytes / 1e9);
	return buf;
}

struct status_line {
	bool shown;
	bool wanted;
	struct session_status last;
};

static void show_status(void *arg, const struct session_status *status)
{
	struct status_line *line = arg;
	uint64_t span = status->elapsed - line->last.elapsed;
	uint64_t events = status->events - line->last.events;
	char bytes[32];

	line->last = *status;
	if (!line->wanted)
		return;
	line->shown = true;
	fprintf(stderr, "\r\033[Kebrec: %.0f s, %" PRIu64 " events, %.0f/s, %s, %" PRIu64 " lost",
		(double)status->elapsed / 1e9, status->events,
		span ? (double)events * 1e9 / (double)span : 0.0, human_bytes(status->bytes, bytes),
		status->lost);
	fflush(stderr);
}

static void show_missing(void *arg, const char *source, const char *why)
{
	(void)arg;
	fprintf(stderr, "ebrec: no events of source %s: ", source);
	terminal_put(stderr, why);
	fputc('\n', stderr);
}

static void show_partial(void *arg, const char *source, const char *what)
{
	(void)arg;
	if (!verbosity)
		return;
	fprintf(stderr, "ebrec: source %s: ", source);
	terminal_put(stderr, what);
	fputc('\n', stderr);
}

static void show_summary(const struct record_options *options, const struct session_result *result)
{
	const struct session_status *s = &result->status;
	char bytes[32];

	if (!options->quiet)
		fprintf(stderr, "ebrec: %s; %.2f s, %" PRIu64 " events, %s in %s\n", result->reason,
			(double)s->elapsed / 1e9, s->events, human_bytes(s->bytes, bytes),
			!strcmp(options->output, "-") ? "standard output" : options->output);
	if (s->lost)
		fprintf(stderr,
			"ebrec: %" PRIu64
			" events were lost; `ebreport info` shows which, -b makes room\n",
			s->lost);
}

/* argv as one string, for the trace; NULL: no memory. */
static char *join(char **argv)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (int i = 0; argv[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", argv[i]);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

static void print_usage(FILE *to)
{
	fputs("Usage: ebrec [options] [-o FILE] [--] CMD [ARG...]   record CMD and its "
	      "descendants\n"
	      "       ebrec [options] [-o FILE] -p PID[,PID...]     record processes and "
	      "descendants\n"
	      "       ebrec [options] [-o FILE] --cgroup PATH       record a cgroup (v2)\n"
	      "       ebrec [options] [-o FILE] -a                  record the whole system\n",
	      to);
	cli_usage(to, record_option_groups, N_RECORD_OPTION_GROUPS, 25);
	fputs("\n"
	      "TIME is a number with ns, us, ms, s, m or h, as 500ms; without: seconds. "
	      "Descendants that\n"
	      "outlive CMD are left alone, and not recorded any more.\n"
	      "\n"
	      "Exit status: that of CMD (128+N if signal N ended it; 126 or 127 if it could not be "
	      "run),\n"
	      "0 without a CMD, or 125 if ebrec itself failed.\n"
	      "\n"
	      "Examples:\n"
	      "  ebrec -- make -j8                        where a build spends its time, on and "
	      "off CPU\n"
	      "  ebrec -e syscalls -o ls.ebt -- ls -l     system calls only\n"
	      "  ebrec --capture-output -- ./server       beside its own messages\n"
	      "  ebrec -p $(pidof nginx | tr ' ' ,) -d 10s\n"
	      "  ebrec -a -F 999 -d 5s -o - | zstd > t.ebt.zst\n",
	      to);
}

static const char *availability(const struct ebrec_source *source, const struct kernel *kernel,
				struct source_state *state)
{
	if (!kernel)
		return "not known";
	source_probe(source, kernel, state);
	switch (state->status) {
	case EBT_V_source_status_partial:
		return "in part";
	case EBT_V_source_status_unavailable:
		return "no";
	case EBT_V_source_status_off:
	case EBT_V_source_status_on:
		break;
	}
	return "yes";
}

/* Every source, what it costs, and whether this kernel has it. kernel NULL: not known. */
static void list_sources(FILE *to, const struct kernel *kernel)
{
	for (size_t i = 0; i < ebrec_n_sources; i++) {
		const struct ebrec_source *source = ebrec_sources[i];
		struct source_state state = { .status = EBT_V_source_status_on };

		fprintf(to, "%-10s %s%s\n", source->name, source->doc,
			source->by_default ? " (default)" : "");
		if (source->args_doc)
			fprintf(to, "%-10s   takes: %s:%s\n", "", source->name, source->args_doc);
		fprintf(to, "%-10s   cost: %s\n", "", source->cost);
		fprintf(to, "%-10s   here: %s", "", availability(source, kernel, &state));
		if (*state.detail)
			fprintf(to, " (%s)", state.detail);
		fputc('\n', to);
	}
}

static int list_events(const char *list)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	struct kernel kernel = { 0 };

	if (list) {
		err = tp_set_print(stdout, list);
		if (err)
			print_error(err);
		return err ? EXIT_RECORDER : 0;
	}
	err = kernel_probe(&kernel);
	if (err)
		print_error(err);
	list_sources(stdout, err ? NULL : &kernel);
	kernel_deinit(&kernel);
	return 0;
}

/* The recording is there, whether this works or not. */
static void put_names(const char *ebreport, const char *trace)
{
	_cleanup_error_ struct ebt_error *err = bundle_trace(ebreport, trace);

	if (err)
		print_error(err);
}

static int record(const struct record_options *options, char **argv)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	_cleanup_free_ char *command_line = join(argv), *ebreport = NULL;
	struct status_line line = { .wanted = !options->quiet && isatty(STDERR_FILENO) };
	const struct session_watch watch = { show_status, show_missing, show_partial, &line };
	struct session_result result;

	if (!command_line) {
		print_error(&ebt_enomem);
		return EXIT_RECORDER;
	}
	if (options->bundle)
		err = bundle_find(&ebreport);
	if (!err)
		err = catch_signals();
	if (err) {
		print_error(err);
		return EXIT_RECORDER;
	}
	err = session_run(options, command_line, stop[0], &watch, &result);
	if (line.shown)
		fputs("\r\033[K", stderr);
	if (err)
		print_error(err);
	if (result.recorded)
		show_summary(options, &result);
	if (result.recorded && ebreport)
		put_names(ebreport, options->output);
	if (result.exit_status >= 0)
		return result.exit_status;
	return err ? EXIT_RECORDER : 0;
}

int main(int argc, char **argv)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	struct record_options options;
	int status = 0;

	err = options_parse(argc, argv, &options);
	if (err) {
		print_error(err);
		fputs("Try `ebrec --help`.\n", stderr);
		return EXIT_RECORDER;
	}
	verbosity = options.verbose;
	libbpf_set_print(print_libbpf);
	if (options.help)
		print_usage(stdout);
	else if (options.version)
		puts("ebrec " EBT_VERSION);
	else
		status = options.list_events ? list_events(options.list) : record(&options, argv);
	options_deinit(&options);
	return status;
}
