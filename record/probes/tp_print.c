/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a trace event prints its fields, `print fmt: "nr=%d to=%lx", REC->nr, REC->to`: the one thing
 * in which the kernel says that a number is meant to be hexadecimal. See tp_format.h.
 */
#include <ctype.h>
#include <string.h>

#include "record/probes/tp_format.h"

/* Behind a string in quotes that begins here. */
static const char *skip_string(const char *at)
{
	for (at++; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			at++;
	}
	return *at ? at + 1 : at;
}

/* The comma that ends an argument, or the end of all. */
static const char *end_of_argument(const char *at)
{
	int depth = 0;

	while (*at && (depth > 0 || *at != ',')) {
		if (*at == '"') {
			at = skip_string(at);
			continue;
		}
		depth += strchr("([{", *at) != NULL;
		depth -= strchr(")]}", *at) != NULL;
		at++;
	}
	return at;
}

/* Is REC->field all of the record that it uses? */
static bool uses_only(const char *at, const char *end, const char *field)
{
	size_t len = strlen(field);
	bool used = false;

	for (; end - at > 5; at++) {
		if (strncmp(at, "REC->", 5))
			continue;
		at += 5;
		if (strncmp(at, field, len) || isalnum((unsigned char)at[len]) || at[len] == '_')
			return false;
		used = true;
	}
	return used;
}

static bool contains(const char *at, const char *end, const char *word)
{
	const char *found = strstr(at, word);

	return found && found < end;
}

/* The letter of the next conversion, or 0; *ret_stars: arguments before it that are its width. */
static char next_conversion(const char **at, const char *end, unsigned int *ret_stars)
{
	*ret_stars = 0;
	while (*at < end) {
		if (*(*at)++ != '%')
			continue;
		for (; *at < end && strchr("-+ #0123456789.hlLqjzt*", **at); ++*at)
			*ret_stars += **at == '*';
		if (*at < end && *(*at)++ != '%')
			return (*at)[-1];
	}
	return 0;
}

bool tp_format_prints_hex(const char *text, const char *field)
{
	const char *format = strchr(text, '"'), *end, *arg, *next;
	unsigned int stars;
	char letter;

	if (!format)
		return false;
	end = skip_string(format);
	/* Strings that follow each other are one. */
	while (*end == ' ' && end[1] == '"')
		end = skip_string(end + 1);
	arg = end;
	while (*arg == ',' && (letter = next_conversion(&format, end, &stars))) {
		for (; stars && *arg == ','; stars--)
			arg = end_of_argument(arg + 1);
		if (*arg != ',')
			break;
		next = end_of_argument(arg + 1);
		if (uses_only(arg, next, field) &&
		    (letter == 'x' || letter == 'X' || letter == 'p' ||
		     (letter == 's' && contains(arg, next, "__print_flags"))))
			return true;
		arg = next;
	}
	return false;
}
