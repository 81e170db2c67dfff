/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of ebreport; see options.h. */
#include "report/cli/options.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fill.h"
#include "report/cli/command.h"

struct option_value {
	bool set;
	union {
		bool flag;
		const char *string;
		uint64_t u64;
	};
};

/* --- a command's own options --- */

/* The number of an option of that name; behind the last, whose value is always none, if the command
 * has no such option, or name is NULL. */
static size_t own_index(const struct command *command, const char *name)
{
	size_t i = 0;

	while (command->options && command->options[i].name &&
	       (!name || strcmp(command->options[i].name, name) != 0))
		i++;
	return i;
}

static struct option_value *own(const struct options *options, const char *name)
{
	return &options->values[own_index(options->command, name)];
}

bool options_flag(const struct options *options, const char *name)
{
	return own(options, name)->set;
}

const char *options_string(const struct options *options, const char *name)
{
	return own(options, name)->string;
}

uint64_t options_u64(const struct options *options, const char *name, uint64_t otherwise)
{
	const struct option_value *value = own(options, name);

	return value->set ? value->u64 : otherwise;
}

void options_keep(struct options *options, const char *name, const char *value)
{
	*own(options, name) = (struct option_value){ .set = true, .string = value };
}

static void *place_own(void *to, const struct option_def *def)
{
	struct options *options = to;
	struct option_value *value = own(options, def->name);

	/* Of a command alone, but among the values of all. */
	if (def->apply || value == &options->values[own_index(options->command, NULL)])
		return NULL;
	value->set = true;
	return &value->u64;
}

/* --- words --- */

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	}
	return NULL;
}

/* A word that is no option: the file, then what the command takes behind it. */
static struct ebt_error *take_word(void *to, const char *word)
{
	struct options *options = to;
	const char **words;

	if (!options->file) {
		options->file = word;
		return NULL;
	}
	if (!options->command->max_words && find_command(word))
		return ebt_error_create(EBT_ERR_INVALID,
					"the command stands first: `ebreport %s %s`", word,
					options->file);
	if (!options->command->max_words)
		return ebt_error_create(EBT_ERR_INVALID, "one file at a time: '%s' and '%s'",
					options->file, word);
	if (options->n_words == options->command->max_words)
		return ebt_error_create(EBT_ERR_INVALID,
					"'%s' is one argument too many: see "
					"`ebreport %s --help`",
					word, options->command->name);
	words = reallocarray(options->words, options->n_words + 1, sizeof(*words));
	if (!words)
		return &ebt_enomem;
	words[options->n_words++] = word;
	options->words = words;
	return NULL;
}

static struct ebt_error *check_words(const struct options *options)
{
	const struct command *command = options->command;

	if (options->file && options->n_words >= command->min_words)
		return NULL;
	return ebt_error_create(EBT_ERR_INVALID, "which file? `ebreport %s [options] FILE%s%s`%s",
				command->name, command->words ? " " : "",
				command->words ? command->words : "",
				command->min_words ? "" : " (there is no " OPTIONS_FILE " here)");
}

static const char *why_not(unsigned int flags)
{
	if (flags & COMMAND_NO_FILTERS)
		return "is about the whole file";
	if (flags & COMMAND_NO_THREADS)
		return "is by time and process";
	if (flags & COMMAND_NO_TABLES)
		return "has no table";
	if (flags & COMMAND_NO_CPUS)
		return "is not of single CPUs";
	if (flags & COMMAND_NO_SORT)
		return "has an order of its own";
	if (flags & COMMAND_ALL_HOSTS)
		return "takes all machines";
	return "does not show what happened in some time";
}

static bool is_trace_name(const char *name, size_t len)
{
	return len > 4 && !strcmp(name + len - 4, ".ebt");
}

/* Beside FILE. */
static struct ebt_error *name_output(struct options *options)
{
	const char *ending = options->command->ending, *file = options->file;
	size_t len;
	struct ebt_error *err;

	if (options->output || options->to_stdout || !ending)
		return NULL;
	if (!strcmp(file, "-"))
		return ebt_error_create(EBT_ERR_INVALID,
					"FILE is standard input, which gives the copy no name: "
					"-o FILE");
	len = strlen(file);
	if (is_trace_name(file, len))
		len -= 4;
	err = ebt_format(&options->named_output, "%.*s%s", (int)len, file, ending);
	options->output = options->named_output;
	return err;
}

/* Without `word` up to the first word that is no option; the command may be another yet. */
static struct ebt_error *parse_options(int argc, char **argv, struct options *options,
				       struct ebt_error *(*word)(void *to, const char *word),
				       int *ret_end)
{
	const struct option_group groups[] = {
		{ NULL, options->command->options },
		{ NULL, common_options },
	};
	const struct cli cli = {
		.groups = groups,
		.n_groups = 2,
		.program = "ebreport",
		.command = options->command->name,
		.without = word ? options->command->flags : 0,
		.why = why_not,
		.place = place_own,
		.word = word,
	};

	options->values = calloc(own_index(options->command, NULL) + 1, sizeof(*options->values));
	return options->values ? cli_parse(&cli, argc, argv, options, ret_end) : &ebt_enomem;
}

static struct ebt_error *parse_words(int argc, char **argv, struct options *options)
{
	struct ebt_error *err = parse_options(argc, argv, options, take_word, &argc);

	if (err)
		return err;
	if (!options->file && !options->command->min_words && !access(OPTIONS_FILE, F_OK))
		options->file = OPTIONS_FILE;
	return options->help ? NULL : check_words(options) ?: name_output(options);
}

/* Traces that are here, for a word that may be a name of one. */
static void guess_files(struct cli_guess *guess, char *name, size_t size)
{
	DIR *dir = opendir(".");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *before = guess->name;
		size_t len = strlen(entry->d_name);

		if (len >= size || !is_trace_name(entry->d_name, len))
			continue;
		cli_guess(guess, entry->d_name);
		if (guess->name != before) /* it does not outlive the entry */
			guess->name = strcpy(name, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* The command that other tools call so; or NULL. */
static const char *called_elsewhere(const char *word)
{
	for (size_t i = 0; commands[i]; i++) {
		if (cli_has_word(commands[i]->elsewhere, word))
			return commands[i]->name;
	}
	return NULL;
}

static struct ebt_error *unknown_command(const char *word)
{
	struct cli_guess guess = { .word = word, .name = called_elsewhere(word) };
	char file[256];

	for (size_t i = 0; commands[i]; i++)
		cli_guess(&guess, commands[i]->name);
	guess_files(&guess, file, sizeof(file));
	if (guess.name)
		return ebt_error_create(
			EBT_ERR_INVALID,
			"'%s' is no command, and there is no such file: did you mean %s?", word,
			guess.name);
	if (strchr(word, '/') || is_trace_name(word, strlen(word)))
		return ebt_error_create(
			EBT_ERR_INVALID,
			"there is no file '%s': `ebrec -o FILE -- CMD` makes a trace", word);
	return ebt_error_create(EBT_ERR_INVALID,
				"'%s' is no command, and there is no such file: see `ebreport "
				"--help`",
				word);
}

/* What stands behind the command, which is known. Takes the options over. */
static struct ebt_error *parse_behind(int argc, char **argv, struct options *options,
				      struct options *ret)
{
	struct ebt_error *err = parse_words(argc, argv, options);

	if (err)
		options_deinit(options);
	else
		*ret = *options;
	return err;
}

static bool has_option(const struct option_def *options, const char *word)
{
	const size_t len = strcspn(word, "=");

	for (const struct option_def *def = options; def && def->name; def++) {
		if (len == strlen(def->name) + 2 && !memcmp(word, "--", 2) &&
		    !memcmp(word + 2, def->name, len - 2))
			return true;
	}
	return false;
}

/* The command that is named behind an option that only it has; or NULL. */
static const struct command *command_of_option(int argc, char **argv, int option)
{
	if (has_option(common_options, argv[option]))
		return NULL;
	for (int i = option + 1; i < argc; i++) {
		const struct command *command = find_command(argv[i]);

		if (command && has_option(command->options, argv[option]))
			return command;
	}
	return NULL;
}

/* The first word behind options, which are of every command, or of `overview` where there is none.
 * An option that only the command has stands behind it: *ret_end is where a command is named. */
static struct ebt_error *find_word(int argc, char **argv, int *ret_end)
{
	struct options options = { .command = find_command("overview") };
	struct ebt_error *err = parse_options(argc, argv, &options, NULL, ret_end);
	const struct command *command;

	options_deinit(&options);
	command = err && *ret_end < argc ? command_of_option(argc, argv, *ret_end) : NULL;
	if (!command)
		return err;
	ebt_error_destroy(err);
	return ebt_error_create(EBT_ERR_INVALID,
				"options of %s stand behind it: `ebreport %s [options] FILE`",
				command->name, command->name);
}

/* `ebreport --json sched t.ebt` becomes `ebreport sched --json t.ebt`. */
static struct ebt_error *put_command_first(int argc, char **argv)
{
	char *command;
	struct ebt_error *err;
	int end = 0;

	err = find_word(argc - 1, argv + 1, &end);
	if (err || end + 1 >= argc || !find_command(argv[end + 1]))
		return err;
	command = argv[end + 1];
	memmove(&argv[2], &argv[1], (size_t)end * sizeof(*argv));
	argv[1] = command;
	return NULL;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

static bool is_file(const char *word)
{
	return !strcmp(word, "-") || !access(word, F_OK);
}

struct ebt_error *options_parse(int argc, char **argv, struct options *ret)
{
	struct options options = { 0 };
	struct ebt_error *err;
	int skip = 2;

	if (argc < 2) {
		options.command = find_command("overview");
		return parse_behind(0, argv + 1, &options, ret);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		options.help = true;
	else if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		options.version = true;
	if (options.version || (options.help && argc == 2)) {
		*ret = options;
		return NULL;
	}
	if (options.help) { /* `ebreport help sched` */
		skip = 3;
		options.command = find_command(argv[2]);
	} else {
		err = is_option(argv[1]) ? put_command_first(argc, argv) : NULL;
		if (err)
			return err;
		options.command = find_command(argv[1]);
	}
	if (!options.command && !options.help && (is_option(argv[1]) || is_file(argv[1]))) {
		options.command = find_command("overview");
		skip = 1;
	}
	if (!options.command)
		return unknown_command(argv[options.help ? 2 : 1]);
	return parse_behind(argc - skip, argv + skip, &options, ret);
}

static void strings_deinit(struct option_strings *list)
{
	for (size_t i = 0; i < list->n; i++)
		free((char *)list->v[i]);
	free(list->v);
}

void options_deinit(struct options *options)
{
	free(options->pids.v);
	free(options->tids.v);
	free(options->cpu_first.v);
	free(options->cpu_last.v);
	strings_deinit(&options->comms);
	strings_deinit(&options->debug_dirs);
	strings_deinit(&options->roots);
	free(options->named_output);
	free(options->values);
	free(options->words);
	*options = (struct options){ 0 };
}

struct ebt_error *options_of(const struct options *options, const struct command *command,
			     const char *name, struct options *ret)
{
	*ret = *options;
	ret->command = command;
	ret->words = NULL;
	ret->n_words = 0;
	ret->interval_ns = 0;
	ret->format = FORMAT_TABLE;
	ret->output = ret->named_output = NULL;
	ret->sort = ret->columns = NULL;
	ret->top = 0;
	ret->values = calloc(own_index(command, NULL) + 1, sizeof(*ret->values));
	if (!ret->values)
		return &ebt_enomem;
	if (name)
		own(ret, name)->set = true;
	return NULL;
}

static void put_prose(FILE *to, const char *text, size_t len, int column)
{
	cli_fill(to, text, len, column, column, CLI_WIDTH);
	fputc('\n', to);
}

/* A paragraph of help that stands back is of examples, which people read first. */
static void put_help(const struct command *command, bool examples, FILE *to)
{
	const char *end;

	for (const char *at = command->help; at && *at; at = end) {
		bool example = at[0] == ' ';
		size_t len;

		end = strstr(at, "\n\n");
		len = end ? (size_t)(end - at) + 1 : strlen(at);
		end = end ? end + 2 : at + len;
		if (example != examples)
			continue;
		fputs(example ? "\nExamples:\n" : "\n", to);
		if (example)
			fwrite(at, 1, len, to);
		else
			put_prose(to, at, len, 0);
	}
}

static void put_command(const struct command *command, FILE *to)
{
	fprintf(to, "Usage: ebreport %s [options] %s%s%s\n\n%c%s.\n", command->name,
		command->min_words ? "FILE" : "[FILE]", command->words ? " " : "",
		command->words ? command->words : "", toupper((unsigned char)command->summary[0]),
		command->summary + 1);
	put_help(command, true, to);
	put_help(command, false, to);
}

static void put_program(FILE *to)
{
	static const char what[] =
		"Reports on a trace that ebrec recorded, on this machine or another. Without "
		"COMMAND: the overview. Without FILE: " OPTIONS_FILE
		" of this folder. FILE - is standard input.";

	fputs("Usage: ebreport [options] [FILE]\n"
	      "       ebreport COMMAND [options] [FILE]\n"
	      "       ebreport COMMAND --help\n\n",
	      to);
	put_prose(to, what, strlen(what), 0);
	fputs("\nExamples:\n"
	      "  ebreport                                   what happened, where to look next\n"
	      "  ebreport callgraph --top 20 t.ebt          functions that took the CPUs\n"
	      "  ebreport offcpu --stacks --pid 1234 t.ebt  where a process waited\n"
	      "  ebreport flame -o flame.svg t.ebt          a picture for a browser\n"
	      "  ebrec -o - -a -d 5 | ebreport -            without a file\n\n"
	      "Commands:\n",
	      to);
	for (size_t i = 0; commands[i]; i++) {
		fprintf(to, "  %-12s", commands[i]->name);
		put_prose(to, commands[i]->summary, strlen(commands[i]->summary), 14);
	}
}

void options_usage(const struct command *command, FILE *to)
{
	const struct option_group groups[] = {
		{ "Options:\n", command ? command->options : NULL },
		{ "Options of every command:\n", common_options },
	};

	if (command)
		put_command(command, to);
	else
		put_program(to);
	cli_usage(to, groups, 2, 28, command ? command->flags : 0);
	if (!command)
		fputs("\nExit status: 0; 1 the file could not be used; 2 the command line is "
		      "wrong.\n",
		      to);
}
