/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `ebreport extract`: files that travel in the trace, as files. Their paths and roles come from
 * strangers: no path of the trace is ever one to write to.
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/fdio.h"
#include "format/read/damage.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/trace/trace.h"

/* Of the role, and of the last part of the path, in the name of a file. */
#define MAX_PART 64

static bool is_number(const char *s)
{
	return s[0] && s[strspn(s, "0123456789")] == '\0';
}

/* Is this file meant by a word: its number, or a pattern for its role or its path? */
static bool matches(const struct ebt_file *file, const char *word)
{
	if (is_number(word))
		return strtoull(word, NULL, 10) == file->id;
	return !fnmatch(word, file->role, 0) || !fnmatch(word, file->path, 0);
}

static bool wanted(const struct options *options, const struct ebt_file *file)
{
	for (size_t i = 0; i < options->n_words; i++) {
		if (matches(file, options->words[i]))
			return true;
	}
	return !options->n_words;
}

/* --- to a folder --- */

/* Letters, digits and `_`, `.`, `-`; any other byte becomes `_`. */
static void add_part(struct text *name, const char *s)
{
	for (size_t i = 0; s[i] && i < MAX_PART; i++)
		text_addc(name,
			  isascii(s[i]) && (isalnum((unsigned char)s[i]) || strchr("_.-", s[i]))
				  ? s[i]
				  : '_');
}

/* ID-ROLE-LAST_PART_OF_PATH: begins with a digit, so that it is never hidden and never "..". */
static struct ebt_error *make_name(const struct ebt_file *file, struct text *name)
{
	const char *slash = strrchr(file->path, '/'), *base = slash ? slash + 1 : file->path;

	text_clear(name);
	text_printf(name, "%" PRIu64 "-", file->id);
	add_part(name, file->role);
	if (base[0] && strcmp(base, file->role)) {
		text_addc(name, '-');
		add_part(name, base);
	}
	return text_error(name);
}

static struct ebt_error *write_file(const struct report *report, int folder, const char *name,
				    const char *data, size_t len)
{
	_cleanup_close_ int fd = -1;
	struct ebt_error *err =
		out_make_file(folder, report->options->output, name, report->options->force, &fd);

	if (err)
		return err;
	if (!ebt_write(fd, data, len))
		return ebt_error_errno(errno, "cannot write '%s'", name);
	out_printf(report->out, "%s\n", name);
	return NULL;
}

static struct ebt_error *extract_one(struct report *report, int folder, const struct ebt_file *file)
{
	_cleanup_free_ char *content = NULL;
	_cleanup_text_ struct text name = TEXT_INIT;
	size_t len;

	return ebt_reader_file_content(trace_reader(report->trace), file->id, &content, &len) ?:
	       make_name(file, &name) ?:
	       write_file(report, folder, text_get(&name), content, len);
}

/* A file that is damaged does not keep the others back. */
static struct ebt_error *extract_all(struct report *report, const struct ebt_file *files, size_t n)
{
	_cleanup_close_ int folder = -1;
	struct ebt_error *err = out_open_folder(report->options->output, &folder);

	for (size_t i = 0; !err && i < n; i++) {
		if (!wanted(report->options, &files[i]))
			continue;
		err = extract_one(report, folder, &files[i]);
		if (err && ebt_damage_is(err)) {
			_cleanup_error_ struct ebt_error *damage = err;

			err = trace_warn(report->trace, "%s", damage->message);
		}
	}
	return err;
}

/* --- to standard output --- */

/* Lines and tabs stay; everything else that a terminal would act on is escaped. */
static struct ebt_error *show(FILE *f, const char *data, size_t len)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	size_t at = 0;

	while (at < len) {
		size_t n = 0;

		while (at + n < len && data[at + n] != '\n' && data[at + n] != '\t')
			n++;
		text_clear(&line);
		text_terminal(&line, (struct ebt_str){ data + at, n });
		if (text_error(&line))
			return text_error(&line);
		fputs(text_get(&line), f);
		at += n;
		if (at < len)
			fputc(data[at++], f);
	}
	return NULL;
}

static struct ebt_error *print_one(struct report *report, const struct ebt_file *files, size_t n)
{
	const struct ebt_file *found = NULL;
	_cleanup_free_ char *content = NULL;
	struct ebt_error *err;
	size_t matching = 0, len;

	for (size_t i = 0; i < n; i++) {
		if (!wanted(report->options, &files[i]))
			continue;
		found = &files[i];
		matching++;
	}
	if (matching > 1)
		return ebt_error_create(EBT_ERR_INVALID,
					"%zu files match: name one by its id, as `ebreport files` "
					"has it, or give a folder with -o",
					matching);
	err = ebt_reader_file_content(trace_reader(report->trace), found->id, &content, &len);
	if (err)
		return err;
	if (out_is_terminal(report->out))
		return show(out_file(report->out), content, len);
	fwrite(content, 1, len, out_file(report->out));
	return NULL;
}

static struct ebt_error *run_extract(struct report *report)
{
	const struct ebt_file *files;
	struct ebt_error *err;
	size_t n, i = 0;

	err = ebt_reader_files(trace_reader(report->trace), &files, &n);
	if (err)
		return err;
	while (i < n && !wanted(report->options, &files[i]))
		i++;
	if (i == n)
		return ebt_error_create(EBT_ERR_NOT_FOUND, "no file in the trace matches");
	return report->options->output ? extract_all(report, files, n)
				       : print_one(report, files, n);
}

const struct command command_extract = {
	.name = "extract",
	.fn = run_extract,
	.flags = COMMAND_NO_TABLES | COMMAND_NO_FILTERS | COMMAND_FOLDER | COMMAND_NO_NAMES,
	.summary = "write files that are in the trace to a folder",
	.help = "WHAT is the number of a file, or a pattern for its role or its path, as `ebreport "
		"files` has\n"
		"them; without, all are meant. -o names a folder, which gets a file "
		"NUMBER-ROLE-NAME for each;\n"
		"without -o, the content of the one file goes to standard output.\n"
		"\n"
		"  ebreport extract t.ebt kallsyms | less\n"
		"  ebreport extract t.ebt -o files/\n",
	.words = "[WHAT…]",
	.max_words = 64,
};
