/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of a command line: one row each, for the parser and for --help. Parsing never prints:
 * errors are EBT_ERR_INVALID and say what was expected.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/base/error.h"

/* What an option takes, and the type of its value. */
enum option_type {
	OPTION_FLAG,   /* no argument: a bool */
	OPTION_STRING, /* const char *, points into argv */
	OPTION_U64,
	OPTION_SIZE,	 /* 64M: bytes, as uint64_t */
	OPTION_DURATION, /* 5s, 500ms, 1m30s: nanoseconds, as uint64_t */
	OPTION_CHOICE,	 /* one of `choices`: const char *, points into argv */
	OPTION_LIST,  /* some of `choices`, with commas between them: likewise; --help lists them */
	OPTION_APPLY, /* what apply() makes of it */
	OPTION_PIECES,	/* what apply() makes of each piece between commas */
	OPTION_NUMBERS, /* what apply() makes of each number between commas or blanks */
	OPTION_GONE,	/* an error: what to write instead is in `help`, and it is not in --help */
};

struct option_def {
	const char *name; /* without dashes; NULL ends the table */
	enum option_type type;
	const char *arg; /* "N", "TIME"; "[=X]": may be left out; NULL: takes none */
	const char *help;
	const char *const *choices; /* OPTION_CHOICE, OPTION_LIST: ends with NULL */
	char letter;		    /* -X; 0: none */
	size_t offset;		    /* of the value, in what is parsed into */
	/* Refused, and left out of --help, where one of these bits, of the program's own, is among
	 * those of `without`. */
	unsigned int unless;
	/* Likewise left out of --help, but taken: it has no effect there, and does no harm to who
	 * gives it to all commands. */
	unsigned int idle;
	/* OPTION_APPLY, OPTION_PIECES, OPTION_NUMBERS; to: what is at the offset; arg NULL: there
	 * is none. */
	struct ebt_error *(*apply)(void *to, const char *arg);
};

struct option_group {
	const char *heading; /* the line above it in --help */
	const struct option_def *options;
};

struct cli {
	const struct option_group *groups;
	size_t n_groups;
	const char *program, *command; /* for messages; command NULL: the program has none */
	bool abbreviated;	       /* beginnings of names count, where they are of one only */
	unsigned int without;	       /* bits that refuse options */
	/* Why such an option is refused: what is said of the command, as "has no table". */
	const char *(*why)(unsigned int bits);
	/* NULL, or where an option has its value, if it is not at its offset; else NULL. Of two
	 * options with one name, the first counts. */
	void *(*place)(void *to, const struct option_def *def);
	/* A word that is no option. NULL: the first such word ends the options. */
	struct ebt_error *(*word)(void *to, const char *word);
};

/* A value that stands in a word of its own is no option that there is: `--file=--all` for that.
 * Ends at argv[*ret_end]: at argc, or at the word that ends the options; where it fails, at the
 * word that is wrong, or whose value is. */
struct ebt_error *cli_parse(const struct cli *cli, int argc, char **argv, void *to, int *ret_end);

/* The options as --help shows them: their texts begin in this column. */
void cli_usage(FILE *to, const struct option_group *groups, size_t n_groups, int column,
	       unsigned int without);

/* --- values; *ret is untouched on failure --- */

/* Decimal digits, from min to max. */
struct ebt_error *cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret);
/* 5s, 500ms, 1m30s, 250us, 10ns, 1.5s; a bare number is seconds. */
struct ebt_error *cli_parse_duration(const char *text, uint64_t *ret);
/* 64M: a number of bytes, or of K, M or G of 1024. */
struct ebt_error *cli_parse_size(const char *text, uint64_t *ret);
/* One of `choices`, which end with NULL; *ret: which. */
struct ebt_error *cli_parse_choice(const char *const *choices, const char *text, size_t len,
				   size_t *ret);
/* What stands before the first comma of a list, without the blanks around it. *list becomes what is
 * behind the comma; NULL: that was the last piece. */
const char *cli_take_piece(const char **list, size_t *ret_len);
/* Calls add for each piece between commas, without the blanks around it. */
struct ebt_error *cli_each_piece(const char *text, void *to,
				 struct ebt_error *(*add)(void *to, const char *piece));
/* Between commas or blanks, as pidof prints them in a line and pgrep in lines. */
struct ebt_error *cli_each_number(const char *text, void *to,
				  struct ebt_error *(*add)(void *to, const char *piece));

/* --- near misses --- */

/* The name that is closest to a word; NULL: none is close. Begin with { .word = … }. */
struct cli_guess {
	const char *word, *name;
	size_t distance; /* of the name */
};

void cli_guess(struct cli_guess *guess, const char *name);
/* Is it one of "WORD WORD"? NULL has none. */
bool cli_has_word(const char *words, const char *word);

#endif
