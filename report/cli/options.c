/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of ebreport; see options.h. */
#include "report/cli/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/base/spelling.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/cli/options_table.h"

struct option_value {
	bool set;
	const char *string;
	uint64_t u64;
};

/* --- a command's own options --- */

static struct ebt_error *not_a_choice(const struct option_def *def, const char *arg)
{
	_cleanup_text_ struct text choices = TEXT_INIT;

	for (size_t i = 0; def->choices[i]; i++)
		text_printf(&choices, "%s%s", i ? ", " : "", def->choices[i]);
	if (text_error(&choices))
		return text_error(&choices);
	return ebt_error_create(EBT_ERR_INVALID, "'%s' is not one of %s", arg, text_get(&choices));
}

static struct ebt_error *set_own(const struct option_def *def, struct option_value *value,
				 const char *arg)
{
	struct ebt_error *err = NULL;

	switch (def->type) {
	case OPTION_FLAG:
	case OPTION_STRING:
	case OPTION_GONE:
		break;
	case OPTION_U64:
		err = options_parse_u64(arg, UINT64_MAX, &value->u64);
		break;
	case OPTION_DURATION:
		err = options_parse_duration(arg, &value->u64);
		break;
	case OPTION_CHOICE:
		for (size_t i = 0; def->choices[i]; i++) {
			if (!strcmp(def->choices[i], arg))
				goto found;
		}
		err = not_a_choice(def, arg);
	}
found:
	if (err)
		return err;
	value->set = true;
	value->string = arg;
	return NULL;
}

static size_t own_index(const struct command *command, const char *name)
{
	size_t i = 0;

	while (command->options && command->options[i].name &&
	       strcmp(command->options[i].name, name))
		i++;
	return i;
}

static size_t n_own(const struct command *command)
{
	size_t n = 0;

	while (command->options && command->options[n].name)
		n++;
	return n;
}

bool options_flag(const struct options *options, const char *name)
{
	return options->values[own_index(options->command, name)].set;
}

const char *options_string(const struct options *options, const char *name)
{
	return options->values[own_index(options->command, name)].string;
}

uint64_t options_u64(const struct options *options, const char *name, uint64_t otherwise)
{
	const struct option_value *value = &options->values[own_index(options->command, name)];

	return value->set ? value->u64 : otherwise;
}

/* --- words --- */

/* Keeps the closest of the names that it is called with. */
static void closest(const char *word, const char *name, const char **best, size_t *best_distance)
{
	size_t d = ebt_spelling_distance(word, name);

	if (d < *best_distance && d <= 1 + strlen(word) / 4) {
		*best = name;
		*best_distance = d;
	}
}

static struct ebt_error *unknown_option(const struct command *command, const char *name)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (size_t i = 0; common_options[i].name; i++)
		closest(name, common_options[i].name, &best, &best_distance);
	for (size_t i = 0; i < n_own(command); i++)
		closest(name, command->options[i].name, &best, &best_distance);
	if (best)
		return ebt_error_create(EBT_ERR_INVALID,
					"%s has no option --%s: did you mean --%s?", command->name,
					name, best);
	return ebt_error_create(EBT_ERR_INVALID, "%s has no option --%s: see `ebreport %s --help`",
				command->name, name, command->name);
}

/* One option: its name, its argument if it came in the same word, and the next word. */
static struct ebt_error *apply(struct options *options, const char *name, const char *arg,
			       const char *next, bool *used_next)
{
	const struct command *command = options->command;
	size_t own = own_index(command, name), i = 0;
	struct ebt_error *err;
	bool wants, may = false;

	while (common_options[i].name && strcmp(common_options[i].name, name))
		i++;
	if (own < n_own(command) && command->options[own].type == OPTION_GONE)
		return ebt_error_create(EBT_ERR_INVALID, "--%s is %s now", name,
					command->options[own].help);
	if (own < n_own(command))
		wants = command->options[own].type != OPTION_FLAG;
	else if (common_options[i].name)
		wants = common_options[i].arg && common_options[i].arg[0] != '[';
	else
		return unknown_option(command, name);
	if (own >= n_own(command))
		may = common_options[i].arg;
	if (!wants && !may && arg)
		return ebt_error_create(EBT_ERR_INVALID, "--%s takes no value", name);
	if (wants && !arg) {
		if (!next)
			return ebt_error_create(EBT_ERR_INVALID, "--%s needs a value", name);
		arg = next;
		*used_next = true;
	}
	if (own < n_own(command))
		err = set_own(&command->options[own], &options->values[own], arg);
	else
		err = common_options[i].apply(options, arg);
	return ebt_error_prefix(err, "--%s", name);
}

static struct ebt_error *parse_long(struct options *options, const char *word, const char *next,
				    bool *used_next)
{
	const char *equals = strchr(word, '=');
	_cleanup_free_ char *name = strndup(word, equals ? (size_t)(equals - word) : strlen(word));

	if (!name)
		return &ebt_enomem;
	return apply(options, name, equals ? equals + 1 : NULL, next, used_next);
}

static struct ebt_error *parse_short(struct options *options, const char *word, const char *next,
				     bool *used_next)
{
	for (size_t i = 0; common_options[i].name; i++) {
		if (common_options[i].letter == word[0])
			return apply(options, common_options[i].name, word[1] ? word + 1 : NULL,
				     next, used_next);
	}
	return ebt_error_create(EBT_ERR_INVALID, "there is no option -%s: see `ebreport %s --help`",
				word, options->command->name);
}

/* A word that is no option: the file, then what the command takes behind it. */
static struct ebt_error *take_word(struct options *options, const char *word)
{
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
					"'%s' is one word too many: see "
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
	bool only_files = false;
	struct ebt_error *err;

	for (int i = 0; i < argc; i++) {
		const char *next = i + 1 < argc ? argv[i + 1] : NULL;
		bool used_next = false;

		if (!only_files && !strcmp(argv[i], "--")) {
			only_files = true;
			continue;
		}
		if (only_files || argv[i][0] != '-' || !argv[i][1]) {
			err = take_word(options, argv[i]);
			if (err)
				return err;
			continue;
		}
		if (argv[i][1] == '-')
			err = parse_long(options, argv[i] + 2, next, &used_next);
		else
			err = parse_short(options, argv[i] + 1, next, &used_next);
		if (err)
			return err;
		i += used_next;
	}
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
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (size_t i = 0; commands[i]; i++)
		closest(word, commands[i]->name, &best, &best_distance);
	if (best)
		return ebt_error_create(EBT_ERR_INVALID,
					"there is no command '%s': did you mean %s?", word, best);
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

	options.values = calloc(n_own(options.command) + 1, sizeof(*options.values));
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
