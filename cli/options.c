/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of command lines, and the text of --help; see options.h. */
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/fill.h"
#include "format/base/cleanup.h"
#include "format/base/spelling.h"

/* The words that are parsed. */
struct cli_words {
	char **argv;
	int argc, i; /* i: the word at hand */
};

/* The option with this number among those of all groups, NULL behind the last. */
static const struct option_def *option_at(const struct cli *cli, size_t i)
{
	for (size_t g = 0; g < cli->n_groups; g++) {
		for (const struct option_def *o = cli->groups[g].options; o && o->name; o++) {
			if (!i--)
				return o;
		}
	}
	return NULL;
}

static const struct option_def *find_letter(const struct cli *cli, char letter)
{
	const struct option_def *def;

	for (size_t i = 0; (def = option_at(cli, i)); i++) {
		if (def->letter == letter)
			break;
	}
	return def;
}

static const struct option_def *find_name(const struct cli *cli, const char *name, size_t len)
{
	const struct option_def *def, *found = NULL;
	size_t n = 0;

	for (size_t i = 0; (def = option_at(cli, i)); i++) {
		if (strncmp(def->name, name, len))
			continue;
		if (!def->name[len])
			return def;
		found = def;
		n++;
	}
	return cli->abbreviated && n == 1 ? found : NULL;
}

void cli_guess(struct cli_guess *guess, const char *name)
{
	size_t d = ebt_spelling_distance(guess->word, name);

	if (d > 1 + strlen(guess->word) / 4 || (guess->name && d >= guess->distance))
		return;
	guess->name = name;
	guess->distance = d;
}

/* option: as it was given. */
static struct ebt_error *unknown(const struct cli *cli, const char *option, const char *meant)
{
	const char *who = cli->command ? cli->command : "there", *has = cli->command ? "has" : "is";

	if (meant)
		return ebt_error_create(EBT_ERR_INVALID, "%s %s no option %s: did you mean --%s?",
					who, has, option, meant);
	if (!cli->command)
		return ebt_error_create(EBT_ERR_INVALID, "there is no option %s", option);
	return ebt_error_create(EBT_ERR_INVALID, "%s has no option %s: see `%s %s --help`", who,
				option, cli->program, who);
}

/* name: what is unknown without its dashes. The long option that is closest, or NULL. */
static const char *guess_name(const struct cli *cli, const char *name)
{
	struct cli_guess guess = { .word = name };
	const struct option_def *def;

	for (size_t i = 0; (def = option_at(cli, i)); i++) {
		if (!((def->unless | def->idle) & cli->without))
			cli_guess(&guess, def->name);
	}
	return guess.name;
}

static struct ebt_error *unknown_name(const struct cli *cli, const char *word, size_t len)
{
	_cleanup_free_ char *option = strndup(word, len);

	return option ? unknown(cli, option, guess_name(cli, option + 2)) : &ebt_enomem;
}

/* Of several letters, a dash may be missing. */
static struct ebt_error *unknown_letter(const struct cli *cli, const char *word, char letter)
{
	const char *meant = strlen(word) > 3 ? guess_name(cli, word + 1) : NULL;

	return unknown(cli, meant ? word : (char[]){ '-', letter, '\0' }, meant);
}

/* "a, b, c"; the caller frees it. NULL: no memory. */
static char *list_choices(const char *const *choices)
{
	char *list = NULL;
	size_t size;
	FILE *f = open_memstream(&list, &size);

	if (!f)
		return NULL;
	for (size_t i = 0; choices[i]; i++)
		fprintf(f, "%s%s", i ? ", " : "", choices[i]);
	if (!fclose(f))
		return list;
	free(list);
	return NULL;
}

struct ebt_error *cli_parse_choice(const char *const *choices, const char *text, size_t len,
				   size_t *ret)
{
	_cleanup_free_ char *list = list_choices(choices), *word = strndup(text, len);
	struct cli_guess guess = { .word = word };

	if (!word || !list)
		return &ebt_enomem;
	for (size_t i = 0; choices[i]; i++) {
		if (!strcmp(choices[i], word)) {
			*ret = i;
			return NULL;
		}
		cli_guess(&guess, choices[i]);
	}
	if (*word && guess.name)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not one of %s: did you mean %s?",
					word, list, guess.name);
	return ebt_error_create(EBT_ERR_INVALID, "'%s' is not one of %s", word, list);
}

static struct ebt_error *check_list(const char *const *choices, const char *arg)
{
	struct ebt_error *err = NULL;
	size_t len, i;

	while (!err && arg) {
		const char *piece = cli_take_piece(&arg, &len);

		err = cli_parse_choice(choices, piece, len, &i);
	}
	return err;
}

/* value: where it is put. */
static struct ebt_error *set_value(const struct option_def *def, void *value, const char *arg)
{
	struct ebt_error *err = NULL;
	size_t i;

	switch (def->type) {
	case OPTION_FLAG:
		*(bool *)value = true;
		return NULL;
	case OPTION_U64:
		return cli_parse_number(arg, 0, UINT64_MAX, value);
	case OPTION_SIZE:
		return cli_parse_size(arg, value);
	case OPTION_DURATION:
		return cli_parse_duration(arg, value);
	case OPTION_CHOICE:
		err = cli_parse_choice(def->choices, arg, strlen(arg), &i);
		break;
	case OPTION_LIST:
		err = check_list(def->choices, arg);
		break;
	case OPTION_STRING:
	case OPTION_GONE:
		break;
	case OPTION_APPLY:
		return def->apply(value, arg);
	case OPTION_PIECES:
		return cli_each_piece(arg, value, def->apply);
	case OPTION_NUMBERS:
		return cli_each_number(arg, value, def->apply);
	}
	if (!err)
		*(const char **)value = arg;
	return err;
}

/* "--name", "--name=value" or "-x", each of an option that there is. */
static bool is_option(const struct cli *cli, const char *word)
{
	if (!strncmp(word, "--", 2) && word[2])
		return find_name(cli, word + 2, strcspn(word + 2, "="));
	return word[0] == '-' && word[1] && !word[2] && find_letter(cli, word[1]);
}

/* The value that stands in the next word. One that is an option has been forgotten. */
static struct ebt_error *next_value(const struct cli *cli, const struct option_def *def,
				    struct cli_words *words, const char **ret)
{
	const char *word;

	if (words->i + 1 == words->argc)
		return ebt_error_create(EBT_ERR_INVALID, "--%s needs a value", def->name);
	word = words->argv[words->i + 1];
	if (is_option(cli, word))
		return ebt_error_create(EBT_ERR_INVALID,
					"--%s needs a value, and %s is an option; "
					"`--%s=%s` takes it for one",
					def->name, word, def->name, word);
	words->i++;
	*ret = word;
	return NULL;
}

/* arg: what stands in the same word, or NULL. */
static struct ebt_error *set(const struct cli *cli, const struct option_def *def, const char *arg,
			     struct cli_words *words, void *to)
{
	struct ebt_error *err = NULL;
	void *value;

	if (def->unless & cli->without)
		return ebt_error_create(EBT_ERR_INVALID, "%s %s: --%s does not apply", cli->command,
					cli->why(def->unless & cli->without), def->name);
	if (def->type == OPTION_GONE)
		return ebt_error_create(EBT_ERR_INVALID, "--%s is %s now", def->name, def->help);
	if (!def->arg && arg)
		return ebt_error_create(EBT_ERR_INVALID, "--%s takes no value", def->name);
	if (!arg && def->arg && def->arg[0] != '[')
		err = next_value(cli, def, words, &arg);
	if (err)
		return err;
	value = cli->place ? cli->place(to, def) : NULL;
	if (!value)
		value = (char *)to + def->offset;
	return ebt_error_prefix(set_value(def, value, arg), "--%s", def->name);
}

static struct ebt_error *parse_name(const struct cli *cli, struct cli_words *words, void *to)
{
	const char *word = words->argv[words->i];
	size_t len = strcspn(word, "=");
	const struct option_def *def = find_name(cli, word + 2, len - 2);

	if (!def)
		return unknown_name(cli, word, len);
	return set(cli, def, word[len] ? word + len + 1 : NULL, words, to);
}

/* "-fo FILE": several letters, of which the last may take a value. */
static struct ebt_error *parse_letters(const struct cli *cli, struct cli_words *words, void *to)
{
	for (const char *at = words->argv[words->i] + 1; *at; at++) {
		const struct option_def *def = find_letter(cli, *at);
		struct ebt_error *err;

		if (!def)
			return unknown_letter(cli, words->argv[words->i], *at);
		if (def->arg)
			return set(cli, def, at[1] ? at + 1 : NULL, words, to);
		err = set(cli, def, NULL, words, to);
		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *cli_parse(const struct cli *cli, int argc, char **argv, void *to, int *ret_end)
{
	struct cli_words words = { .argv = argv, .argc = argc };
	struct ebt_error *err;
	bool only_words = false;

	for (; words.i < argc; words.i++) {
		const char *word = argv[words.i];
		const int at = words.i;

		if (!only_words && !strcmp(word, "--")) {
			only_words = true;
			continue;
		}
		if (!only_words && word[0] == '-' && word[1]) {
			err = word[1] == '-' ? parse_name(cli, &words, to)
					     : parse_letters(cli, &words, to);
		} else if (cli->word) {
			err = cli->word(to, word);
		} else {
			break;
		}
		if (err) {
			*ret_end = at;
			return err;
		}
	}
	*ret_end = words.i;
	return NULL;
}

/* --- --help --- */

/* From this column on; the line is filled up to `at`. */
static void put_text(FILE *to, const char *text, int at, int column)
{
	if (at >= column) {
		fputc('\n', to);
		at = 0;
	}
	fprintf(to, "%*s", column - at, "");
	cli_fill(to, text, strlen(text), column, column, CLI_WIDTH);
}

static void put_option(FILE *to, const struct option_def *o, int column)
{
	const char *arg = o->arg ? o->arg : "", *before = o->arg && *arg != '[' ? " " : "";
	_cleanup_free_ char *list = o->type == OPTION_LIST ? list_choices(o->choices) : NULL;
	char letter[] = { '-', o->letter, ',', '\0' };
	int at = 8 + cli_columns(o->name) + cli_columns(before) + cli_columns(arg);

	fprintf(to, "  %3s --%s%s%s", o->letter ? letter : "", o->name, before, arg);
	put_text(to, o->help, at, column);
	if (list)
		put_text(to, list, column, column);
	fputc('\n', to);
}

void cli_usage(FILE *to, const struct option_group *groups, size_t n_groups, int column,
	       unsigned int without)
{
	for (size_t g = 0; g < n_groups; g++) {
		if (!groups[g].options)
			continue;
		fprintf(to, "\n%s", groups[g].heading);
		for (const struct option_def *o = groups[g].options; o->name; o++) {
			if (o->type != OPTION_GONE && !((o->unless | o->idle) & without))
				put_option(to, o, column);
		}
	}
}

bool cli_has_word(const char *words, const char *word)
{
	const size_t len = strlen(word);

	for (const char *s = words; s && *s; s += strspn(s, " ")) {
		const size_t n = strcspn(s, " ");

		if (n == len && !memcmp(s, word, n))
			return true;
		s += n;
	}
	return false;
}
