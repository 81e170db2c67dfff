/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `ebreport share`: a copy of a trace to hand on, with names and without what is private, and what
 * can be read in it: what stands in the finished file counts.
 */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/cleanup.h"
#include "format/base/fdio.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/share/copying.h"
#include "report/share/named_copy.h"
#include "report/share/readable.h"
#include "report/share/scrub_copy.h"
#include "report/trace/trace.h"

DEFINE_CLEANUP(struct named_copy *, named_copy_destroy);
DEFINE_CLEANUP(struct scrub *, scrub_destroy);
DEFINE_CLEANUP(struct ebt_reader *, ebt_reader_close);

struct share {
	struct report *report;
	struct scrub_options options;
	uint64_t size, unnamed;		      /* of the copy; places in code without a name */
	struct readable before, named, after; /* the trace, that with its names, the copy */
};

/* --- the copy --- */

static struct ebt_error *check_output(const char *path)
{
	struct stat st = { 0 };

	if (path && stat(path, &st))
		return ebt_error_errno(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return ebt_error_create(EBT_ERR_INVALID,
					"-o %s is no file: share reads again what it wrote. Into a "
					"pipe: `ebreport bundle FILE | ebreport scrub -`",
					path ? path : "-");
	return NULL;
}

static struct ebt_error *open_fd(int fd, struct ebt_reader **ret)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return ebt_reader_open(path, ret);
}

/* The trace with its names, in a file without a name beside the output. */
static struct ebt_error *write_named(struct share *share, int *ret)
{
	_cleanup_(named_copy_destroyp) struct named_copy *copy = NULL;
	_cleanup_free_ char *folder = strdup(share->report->options->output);
	_cleanup_close_ int fd = -1;
	struct ebt_copy_options options;
	struct ebt_error *err;

	if (!folder)
		return &ebt_enomem;
	err = named_copy_create(share->report, false, &copy)
		      ?: ebt_open_temporary(dirname(folder), &fd);
	if (err)
		return err;
	options = named_copy_options(copy);
	options.fd = fd;
	options.name = "the temporary file beside the output";
	err = ebt_copy(trace_reader(share->report->trace), &options);
	if (err)
		return err;
	share->unnamed = named_copy_unnamed(copy);
	*ret = take_fd(&fd);
	return NULL;
}

static struct ebt_error *write_scrubbed(struct share *share, struct ebt_reader *named)
{
	_cleanup_(scrub_destroyp) struct scrub *scrub = NULL;
	struct scrub_options options = { 0 };
	struct scrub_copy copy = { .report = share->report, .reader = named };
	struct ebt_copy_options copy_options = scrub_copy_options(&copy);
	struct ebt_error *err = scrub_read_options(share->report->options, &options)
					?: scrub_create(named, &options, &scrub);

	if (err)
		return err;
	copy.scrub = scrub;
	return copying_open(share->report, &copy_options)
		       ?: ebt_copy(named, &copy_options)
		       ?: scrub_warn(scrub, share->report->trace);
}

/* --- what can be read in it --- */

static struct ebt_error *read_again(struct share *share)
{
	_cleanup_(ebt_reader_closep) struct ebt_reader *reader = NULL;
	struct ebt_error *err;
	uint64_t damaged;
	size_t n;

	share->after.users_kept = share->options.keep_users;
	err = ebt_reader_open(share->report->options->output, &reader) ?:
	      ebt_reader_verify(reader) ?:
	      readable_read(reader, &share->named, &share->after);
	if (err)
		return err;
	ebt_reader_damage(reader, &n, &damaged);
	if (damaged)
		return ebt_error_create(EBT_ERR_CORRUPT,
					"%s cannot be read again: %" PRIu64 " %s damaged",
					share->report->options->output, damaged,
					text_plural(damaged, "part is", "parts are"));
	share->size = ebt_reader_info(reader)->size;
	return NULL;
}

static void add_count(struct text *line, uint64_t n, const char *what)
{
	if (n)
		text_printf(line, "%s%s %" PRIu64, line->len ? ", " : "", what, n);
}

/* The first of them, for classes whose words are few enough to be looked at. */
static void add_examples(struct text *line, const struct readable_count *count)
{
	const char *at = text_get(&count->examples);

	for (size_t i = 0; i < count->n_examples; i++, at += strlen(at) + 1) {
		text_cstr(line, i ? ", " : " (");
		text_terminal(line, ebt_str_of(at));
	}
	if (count->n_examples)
		text_cstr(line, count->readable > count->n_examples ? ", …)" : ")");
}

static struct ebt_error *put_line(const struct share *share, const char *head, struct text *line,
				  const char *otherwise)
{
	char label[16];

	snprintf(label, sizeof(label), "%-10s", head);
	out_fill(share->report->out, label, 10, line->len ? text_get(line) : otherwise);
	return text_error(line);
}

static struct ebt_error *put_head(const struct share *share)
{
	const char *output = share->report->options->output;
	uint64_t named = share->after.named, places = named + share->unnamed;
	_cleanup_text_ struct text line = TEXT_INIT;

	text_terminal(&line, ebt_str_of(output));
	text_cstr(&line, ": ");
	text_bytes(&line, share->size);
	text_cstr(&line, ", was ");
	text_bytes(&line, ebt_reader_info(trace_reader(share->report->trace))->size);
	if (places)
		text_printf(&line, "; %" PRIu64 " of %" PRIu64 " %s in code %s a name", named,
			    places, text_plural(places, "place", "places"),
			    text_plural(named, "has", "have"));
	out_fill(share->report->out, "", 10, text_get(&line));
	return text_error(&line);
}

static struct ebt_error *put_readable(const struct share *share)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	for (int i = 0; i < READABLE_N_CLASSES; i++) {
		const struct readable_count *count = &share->after.counts[i];

		add_count(&line, count->readable, readable_what(i));
		if (i == READABLE_PROGRAMS || i == READABLE_NAMES)
			add_examples(&line, count);
	}
	return put_line(share, "readable", &line, "nothing");
}

static struct ebt_error *put_aliases(const struct share *share)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	for (int i = 0; i < READABLE_N_CLASSES; i++)
		add_count(&line, share->after.counts[i].aliases, readable_what(i));
	return put_line(share, "aliases", &line, "none");
}

static uint64_t all(const struct readable *readable, int of)
{
	return readable->counts[of].readable + readable->counts[of].aliases;
}

/* What neither can be read any more nor has an alias. */
static uint64_t gone(const struct share *share, int of)
{
	uint64_t before = all(&share->before, of), named = all(&share->named, of);
	uint64_t was = before > named ? before : named, is = all(&share->after, of);

	return was > is ? was - is : 0;
}

static struct ebt_error *put_gone(const struct share *share)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	for (int i = 0; i < READABLE_N_CLASSES; i++)
		add_count(&line, gone(share, i), readable_what(i));
	return put_line(share, "gone", &line, "nothing");
}

static struct ebt_error *put_next(const struct share *share)
{
	const char *output = share->report->options->output;
	_cleanup_text_ struct text line = TEXT_INIT, file = TEXT_INIT;

	text_shell(&file, ebt_str_of(output));
	text_printf(&line, "ebreport %s reads it; ebreport dump %s has every word of it",
		    text_get(&file), text_get(&file));
	return text_error(&file) ?: put_line(share, "look", &line, "");
}

#define ROWS(X)                                                                            \
	X("what", "WHAT", OUT_STRING, out_cstr(readable_key(i)))                           \
	X("before_count", "BEFORE", OUT_U64, out_u64(share->before.counts[i].readable))    \
	X("readable_count", "READABLE", OUT_U64, out_u64(share->after.counts[i].readable)) \
	X("alias_count", "ALIASES", OUT_U64, out_u64(share->after.counts[i].aliases))      \
	X("gone_count", "GONE", OUT_U64, out_u64(gone(share, i)))                          \
	X("examples", "EXAMPLES", OUT_LIST, out_str(text_str(&share->after.counts[i].examples)))

static struct ebt_error *put_rows(const struct share *share)
{
	const struct out_table table = OUT_TABLE_OF("rows", ROWS, .flags = OUT_KEEP_ORDER);
	struct out *out = share->report->out;
	struct json *json = out_json(out);

	if (json) {
		json_put(json, "output", cstr, share->report->options->output);
		json_put(json, "output_bytes", u64, share->size);
		json_put(json, "named_places", u64, share->after.named);
		json_put(json, "unnamed_places", u64, share->unnamed);
	}
	return out_rows(out, &table, READABLE_N_CLASSES, i, out_row(out, 0, OUT_VALUES(ROWS)));
}

/* Somebody's word that is part of what stays, as of the name of a function. */
static struct ebt_error *warn_of_words(const struct share *share)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < share->named.n_words; i++) {
		const struct readable_leak *leak = &share->named.words[i];

		if (leak->texts)
			err = trace_warn(share->report->trace,
					 "'%s', of a host or a user, can still be read in %" PRIu64
					 " text%s, as in '%s'",
					 leak->word, leak->texts, text_plural(leak->texts, "", "s"),
					 leak->text);
	}
	return err;
}

static struct ebt_error *warn_of_counts(const struct share *share)
{
	if (!share->before.overflowed && !share->named.overflowed && !share->after.overflowed)
		return NULL;
	return trace_warn(share->report->trace,
			  "there are more than %" PRIu32
			  " distinct texts: the rest count each time "
			  "that they occur",
			  READABLE_MOST_TEXTS);
}

static struct ebt_error *put_verdict(const struct share *share)
{
	struct ebt_error *err;

	if (out_format(share->report->out) != FORMAT_TABLE)
		err = put_rows(share);
	else
		err = put_head(share) ?:
		      put_readable(share) ?:
		      put_aliases(share) ?:
		      put_gone(share) ?:
		      put_next(share);
	return err ?: warn_of_words(share) ?: warn_of_counts(share);
}

static struct ebt_error *share_trace(struct share *share)
{
	_cleanup_(ebt_reader_closep) struct ebt_reader *named = NULL;
	_cleanup_close_ int fd = -1;

	return scrub_read_options(share->report->options, &share->options) ?:
	       check_output(share->report->options->output) ?:
	       write_named(share, &fd) ?:
	       open_fd(fd, &named) ?:
	       readable_read(trace_reader(share->report->trace), NULL, &share->before) ?:
	       readable_read(named, NULL, &share->named) ?:
	       write_scrubbed(share, named) ?:
	       read_again(share) ?:
	       put_verdict(share);
}

static struct ebt_error *run_share(struct report *report)
{
	struct share share = {
		.report = report,
		.before.most_texts = READABLE_MOST_TEXTS,
		.named.most_texts = READABLE_MOST_TEXTS,
		.after.most_texts = READABLE_MOST_TEXTS,
	};
	struct ebt_error *err;

	if (out_format(report->out) == FORMAT_TABLE && report->options->sort)
		return ebt_error_create(EBT_ERR_INVALID,
					"there is no table to sort: use --sort with --json or "
					"--csv");
	err = share_trace(&share);
	readable_deinit(&share.before);
	readable_deinit(&share.named);
	readable_deinit(&share.after);
	return err;
}

const struct command command_share = {
	.name = "share",
	.fn = run_share,
	.flags = COMMAND_NO_FILTERS | COMMAND_COPY,
	.ending = ".share.ebt",
	.summary = "copy of a trace to hand on: bundle, scrub, and what is left in it",
	.help = "  ebreport share t.ebt\n"
		"\n"
		"Writes t.share.ebt, or -o FILE: with names for its addresses, as bundle has them, "
		"and\n"
		"without what is private, as scrub leaves it. Then it reads the copy and says what "
		"a\n"
		"stranger can read in it, what has an alias, and what is gone. Environment "
		"variables are\n"
		"in no trace.\n",
	.options = scrub_options,
};
