/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of ebreport; see options.h. */
#include "report/cli/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void *place_own(void *to, const struct option_def *def)
{
	struct options *options = to;
	struct option_value *value = own(options, def->name);

	if (value == &options->values[own_index(options->command, NULL)])
		return NULL;
	value->set = true;
	return &value->u64;
}

/* --- words --- */

/* A word that is no option: the file, then what the command takes behind it. */
static struct ebt_error *take_word(void *to, const char *word)
{
	struct options *options = to;
	const char **words;

	if (!options->file) {
		options->file = word;
		return NULL;
	}
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
	return ebt_error_create(EBT_ERR_INVALID, "which file? `ebreport %s [options] FILE%s%s`",
				command->name, command->words ? " " : "",
				command->words ? command->words : "");
}

static struct ebt_error *parse_words(int argc, char **argv, struct options *options)
{
	const struct option_group groups[] = {
		{ NULL, options->command->options },
		{ NULL, common_options },
	};
	const struct cli cli = {
		groups, 2, "ebreport", options->command->name, .place = place_own, .word = take_word
	};
	struct ebt_error *err = cli_parse(&cli, argc, argv, options, &argc);

	if (err)
		return err;
	return options->help ? NULL : check_words(options);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	}
	return NULL;
}

static struct ebt_error *unknown_command(const char *word)
{
	struct cli_guess guess = { .word = word };

	for (size_t i = 0; commands[i]; i++)
		cli_guess(&guess, commands[i]->name);
	if (guess.name)
		return ebt_error_create(EBT_ERR_INVALID,
					"there is no command '%s': did you mean %s?", word,
					guess.name);
	return ebt_error_create(EBT_ERR_INVALID,
				"there is no command (and no file) '%s': see `ebreport --help`",
				word);
}

static struct ebt_error *check_flags(const struct options *options)
{
	const struct command *command = options->command;

	if ((command->flags & COMMAND_NO_FILTERS) &&
	    (options->pids.n || options->tids.n || options->comms.n || options->cpu_first.n ||
	     options->from.set || options->to.set))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s is about the whole file: --pid, --tid, --comm, --cpu, "
					"--from and --to do not apply",
					command->name);
	if (options->interval_ns &&
	    (command->flags & (COMMAND_NO_INTERVALS | COMMAND_NO_FILTERS | COMMAND_NO_TABLES)))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s does not show what happened in some time: --interval "
					"does not apply (--from and --to may)",
					command->name);
	if (!(command->flags & COMMAND_NO_TABLES))
		return NULL;
	if (options->format != FORMAT_TABLE || options->sort || options->top || options->columns)
		return ebt_error_create(
			EBT_ERR_INVALID,
			"%s has no table: --json, --csv, --sort, --columns and --top do not apply",
			command->name);
	return NULL;
}

struct ebt_error *options_parse(int argc, char **argv, struct options *ret)
{
	struct options options = { 0 };
	struct ebt_error *err;
	int skip = 2;

	if (argc < 2)
		return ebt_error_create(EBT_ERR_INVALID, "which command? See `ebreport --help`");
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
		options.command = find_command(argv[1]);
	}
	if (!options.command && argv[1][0] == '-')
		return ebt_error_create(EBT_ERR_INVALID,
					"options stand behind the command: `ebreport COMMAND %s …`",
					argv[1]);
	if (!options.command && !options.help && !access(argv[1], F_OK)) {
		options.command = find_command("info");
		skip = 1;
	}
	if (!options.command)
		return unknown_command(argv[options.help ? 2 : 1]);

	options.values = calloc(own_index(options.command, NULL) + 1, sizeof(*options.values));
	if (!options.values)
		return &ebt_enomem;
	err = parse_words(argc - skip, argv + skip, &options);
	if (!err)
		err = check_flags(&options);
	if (err) {
		options_deinit(&options);
		return err;
	}
	*ret = options;
	return NULL;
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
	free(options->values);
	free(options->words);
	*options = (struct options){ 0 };
}

void options_usage(const struct command *command, FILE *to)
{
	const struct option_group groups[] = {
		{ "Options:\n", command ? command->options : NULL },
		{ "Options of every command:\n", common_options },
	};

	if (command) {
		fprintf(to, "Usage: ebreport %s [options] FILE%s%s\n\n%c%s.\n", command->name,
			command->words ? " " : "", command->words ? command->words : "",
			toupper((unsigned char)command->summary[0]), command->summary + 1);
		if (command->help)
			fprintf(to, "\n%s", command->help);
	} else {
		fputs("Usage: ebreport COMMAND [options] FILE\n"
		      "       ebreport COMMAND --help\n\n"
		      "Reports on a trace that ebrec recorded, on this machine or another. "
		      "FILE - is standard input.\n\nCommands:\n",
		      to);
		for (size_t i = 0; commands[i]; i++)
			fprintf(to, "  %-12s%s\n", commands[i]->name, commands[i]->summary);
	}
	cli_usage(to, groups, 2, 28);
	if (!command)
		fputs("\nExit status: 0; 1 the file could not be used; 2 the command line is "
		      "wrong.\n",
		      to);
}
