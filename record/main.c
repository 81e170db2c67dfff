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
#include <time.h>
#ifdef EBT_STATIC
#include <nss.h> /* of glibc */
#endif

#include "cli/fill.h"
#include "format/base/amount.h"
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

/* What signals have asked for until now; of the handler, and finishing. */
static struct {
	struct timespec first;
	const char *message; /* what to say when it has been asked twice */
	volatile sig_atomic_t finishing, bundling, asked, told, abandoned;
} end;

#define HASTE_NS INT64_C(1000000000)

/* Ctrl-C is often pressed twice, and `timeout` and service managers follow one signal up with
 * another: nobody has decided anything by these. */
static bool in_haste(const struct timespec *now)
{
	return (now->tv_sec - end.first.tv_sec) * INT64_C(1000000000) + now->tv_nsec -
		       end.first.tv_nsec <
	       HASTE_NS;
}

/* A pipe that is full says it already; a terminal that has gone needs no answer. */
static void put(int fd, const void *data, size_t len)
{
	if (write(fd, data, len) < 0)
		return;
}

/*
 * The first signal ends the recording in order. While the file is written the next is answered, and
 * one that comes behind the answer ends the process at once: a write to a pipe that nobody reads
 * may never return.
 */
static void on_signal(int number)
{
	unsigned char byte = (unsigned char)number;
	struct timespec now;
	int errnum = errno;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (end.told && !in_haste(&now) && end.bundling) {
		end.abandoned = true;
	} else if (end.told && !in_haste(&now)) {
		signal(number, SIG_DFL);
		raise(number);
	} else if ((end.asked || end.finishing) && !end.told) {
		end.told = true;
		put(STDERR_FILENO, end.message, strlen(end.message));
	}
	if (!end.asked)
		end.first = now;
	end.asked = true;
	put(stop[1], &byte, 1);
	errno = errnum;
}

/* SIGHUP stays ignored under nohup. */
static struct ebt_error *catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction old;

	if (pipe2(stop, O_CLOEXEC | O_NONBLOCK))
		return ebt_error_errno(errno, "cannot make a pipe");
	/* On a terminal there may be a status line, and "^C". */
	end.message = isatty(STDERR_FILENO) ? "\r\033[Kebrec: finishing; once more abandons it\n"
					    : "ebrec: finishing; once more abandons it\n";
	sigaddset(&action.sa_mask, SIGINT);
	sigaddset(&action.sa_mask, SIGTERM);
	sigaddset(&action.sa_mask, SIGHUP);
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

/* "15,454" */
static const char *human_count(uint64_t n, char buf[static EBT_AMOUNT_MAX])
{
	char digits[EBT_AMOUNT_MAX], *to = buf;
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && !((len - i) % 3))
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buf;
}

static bool is_stdout(const struct record_options *options)
{
	return !strcmp(options->output, "-");
}

/* As a shell reads it back; the caller frees it. NULL: no memory. */
static char *shell_word(const char *text)
{
	char *word = NULL;
	size_t size;
	FILE *f;

	if (*text != '-' &&
	    !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "0123456789_./+:@%,-")])
		return strdup(text);
	f = open_memstream(&word, &size);
	if (!f)
		return NULL;
	/* What begins with a dash is no option. */
	fputs(*text == '-' ? "./'" : "'", f);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", f);
		else
			fputc(*text, f);
	}
	fputc('\'', f);
	if (!fclose(f))
		return word;
	free(word);
	return NULL;
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
	char counts[2][EBT_AMOUNT_MAX], bytes[EBT_AMOUNT_MAX], text[256];
	int width = cli_terminal_width(STDERR_FILENO);

	line->last = *status;
	if (!line->wanted)
		return;
	line->shown = true;
	snprintf(text, sizeof(text), "ebrec: %.0f s, %s events, %.0f/s, %s, %s lost",
		 (double)status->elapsed / 1e9, human_count(status->events, counts[0]),
		 span ? (double)events * 1e9 / (double)span : 0.0,
		 ebt_bytes_text(status->bytes, bytes), human_count(status->lost, counts[1]));
	/* What is wrapped cannot be taken away again. */
	fprintf(stderr, "\r\033[K%.*s", width ? width - 1 : (int)sizeof(text), text);
	fflush(stderr);
}

static void note_finishing(void *arg)
{
	(void)arg;
	end.finishing = true;
}

static void show_missing(void *arg, const char *source, const char *why)
{
	(void)arg;
	fprintf(stderr, "ebrec: no events of source %s: ", source);
	terminal_put(stderr, why);
	fputc('\n', stderr);
}

static void show_unprivileged(void *arg, const char *what)
{
	(void)arg;
	fprintf(stderr, "ebrec: %s; `sudo ebrec` has all, `man ebrec` says how to give them\n",
		what);
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

/* "ebrec: the command ended; 0.87 s, 15,454 events (812 CPU samples), 749.3 KiB in trace.ebt" */
static void show_sums(const struct record_options *options, const struct session_result *result)
{
	const struct session_status *s = &result->status;
	char count[EBT_AMOUNT_MAX];

	fprintf(stderr, "ebrec: %s; %.2f s, %s event%s", result->reason, (double)s->elapsed / 1e9,
		human_count(s->events, count), s->events == 1 ? "" : "s");
	if (s->sampling)
		fprintf(stderr, " (%s CPU sample%s)", human_count(s->samples, count),
			s->samples == 1 ? "" : "s");
	fprintf(stderr, ", %s in ", ebt_bytes_text(s->bytes, count));
	terminal_put(stderr, is_stdout(options) ? "standard output" : options->output);
	if (result->kept) {
		fputs("; the trace before it is ", stderr);
		terminal_put(stderr, options->output);
		fputs(".old", stderr);
	}
	fputc('\n', stderr);
}

/* Somebody is there who may not know what comes next. */
static void show_next(const struct record_options *options)
{
	_cleanup_free_ char *word = shell_word(options->output);
	/* Without a file ebreport reads the one that has the default's name. */
	const char *name = !strcmp(options->output, DEFAULT_OUTPUT) ? "" : word;
	const char *space = name && *name ? " " : "";

	if (!name)
		return;
	fprintf(stderr, "ebrec: `ebreport%s", space);
	terminal_put(stderr, name);
	fprintf(stderr, "` shows what is in it, `ebreport flame -o flame.svg%s", space);
	terminal_put(stderr, name);
	fputs("` draws it, `ebreport --help` lists more\n", stderr);
}

static void show_summary(const struct record_options *options, const struct session_result *result)
{
	char count[EBT_AMOUNT_MAX];

	if (!options->quiet)
		show_sums(options, result);
	if (result->status.lost)
		fprintf(stderr,
			"ebrec: %s events were lost; `ebreport info` shows which, -b makes room\n",
			human_count(result->status.lost, count));
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
	static const char time[] =
		"TIME is a number with ns, us, ms, s, m or h, as 500ms; without: seconds. "
		"Descendants that outlive CMD are left alone, and not recorded any more.";
	static const char status[] =
		"Exit status: that of CMD (128+N if signal N ended it; 126 or 127 if it could not "
		"be run), 0 without a CMD, or 125 if ebrec itself failed.";

	fputs("Usage: ebrec [options] [-o FILE] [--] CMD [ARG...]  CMD and its descendants\n"
	      "       ebrec [options] [-o FILE] -p PID[,PID...]    processes and descendants\n"
	      "       ebrec [options] [-o FILE] --cgroup PATH      a cgroup (v2)\n"
	      "       ebrec [options] [-o FILE] -a                 the whole system\n"
	      "With -p, --cgroup or -a, `-- CMD` says for how long: until CMD has ended.\n"
	      "\n"
	      "Examples:\n"
	      "  ebrec -- make -j8                        where a build spends its time\n"
	      "  ebrec -e syscalls -o ls.ebt -- ls -l     system calls only\n"
	      "  ebrec --capture-output -- ./server       beside its own messages\n"
	      "  ebrec -p \"$(pgrep nginx)\" -d 10s\n"
	      "  ebrec -a -- ./load-test.sh               the whole system, while that runs\n"
	      "  ebrec -a -F 999 -d 5s -o - | zstd > t.ebt.zst\n",
	      to);
	cli_usage(to, record_option_groups, N_RECORD_OPTION_GROUPS, 25, 0);
	fputc('\n', to);
	cli_fill(to, time, sizeof(time) - 1, 0, 0, CLI_WIDTH);
	fputs("\n\n", to);
	cli_fill(to, status, sizeof(status) - 1, 0, 0, CLI_WIDTH);
	fputc('\n', to);
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
static void put_names(const char *ebreport, const char *trace, const struct stat *recorded)
{
	_cleanup_error_ struct ebt_error *err = NULL;

	end.bundling = true;
	err = bundle_trace(ebreport, trace, recorded, &end.abandoned);

	if (err)
		print_error(err);
}

static int record(const struct record_options *options, char **argv)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	_cleanup_free_ char *command_line = join(argv), *ebreport = NULL;
	/* A command's standard error is this one: nobody knows when it writes there. */
	struct status_line line = {
		.wanted = !options->quiet && !options->command && isatty(STDERR_FILENO),
	};
	const struct session_watch watch = { show_status,  show_missing,   show_unprivileged,
					     show_partial, note_finishing, &line };
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
		put_names(ebreport, options->output, &result.file);
	if (result.recorded && !options->quiet && !is_stdout(options) && isatty(STDERR_FILENO))
		show_next(options);
	if (result.exit_status >= 0)
		return result.exit_status;
	return err ? EXIT_RECORDER : 0;
}

/* A static program would load this machine's modules for names of users, made for another libc. */
static void look_users_up_in_files(void)
{
#ifdef EBT_STATIC
	__nss_configure_lookup("passwd", "files");
	__nss_configure_lookup("group", "files");
	__nss_configure_lookup("initgroups", "files");
#endif
}

int main(int argc, char **argv)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	struct record_options options;
	int status = 0;

	look_users_up_in_files();
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
