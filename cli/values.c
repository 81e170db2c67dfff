/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of options: numbers, times, sizes, lists; see options.h. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cli/options.h"
#include "format/base/cleanup.h"

struct unit {
	const char *name;
	double factor;
};

struct ebt_error *cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno || v < min || v > max)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not a number from %llu to %llu",
					text, (unsigned long long)min, (unsigned long long)max);
	*ret = v;
	return NULL;
}

/* "1.5M", and what is behind it, times its unit. Not all that strtod() knows is meant: no "inf",
 * no "1e3", no hexadecimal, no sign. */
static bool parse_quantity(const char **at, const struct unit *units, double *ret)
{
	size_t digits = strspn(*at, "0123456789."), len = strcspn(*at + digits, "0123456789.");
	char *end;
	double v = strtod(*at, &end);

	if (!digits || end != *at + digits)
		return false;
	for (; units->name; units++) {
		if (strlen(units->name) != len || memcmp(units->name, end, len))
			continue;
		*ret = v * units->factor;
		*at = end + len;
		return true;
	}
	return false;
}

struct ebt_error *cli_parse_duration(const char *text, uint64_t *ret)
{
	/* A bare number has no others beside it. */
	static const struct unit bare[] = { { "", 1e9 }, { NULL, 0 } };
	static const struct unit units[] = {
		{ "ns", 1 },   { "us", 1e3 },	{ "ms", 1e6 }, { "s", 1e9 },
		{ "m", 60e9 }, { "h", 3600e9 }, { NULL, 0 },
	};
	double total = 0, ns;
	const char *at = text;
	bool good = parse_quantity(&at, bare, &total);

	while (*at && (good = parse_quantity(&at, units, &ns)))
		total += ns;
	if (!good || total >= 9e18)
		return ebt_error_create(EBT_ERR_INVALID,
					"'%s' is not a time: try 5s, 500ms or 1m30s", text);
	*ret = (uint64_t)(total + 0.5);
	return NULL;
}

struct ebt_error *cli_parse_size(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
		{ "", 1 },	   { "K", 1u << 10 }, { "k", 1u << 10 },
		{ "M", 1u << 20 }, { "G", 1u << 30 }, { NULL, 0 },
	};
	const char *at = text;
	double bytes;

	if (!parse_quantity(&at, units, &bytes) || *at)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not a size, as 64M", text);
	if (bytes >= (double)INT64_MAX)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is too much", text);
	*ret = (uint64_t)(bytes + 0.5);
	return NULL;
}

#define BLANKS " \t\n\r\v\f"

const char *cli_take_piece(const char **list, size_t *ret_len)
{
	const char *piece = *list + strspn(*list, BLANKS);
	size_t len = strcspn(piece, ",");

	*list = piece[len] ? piece + len + 1 : NULL;
	while (len && strchr(BLANKS, piece[len - 1]))
		len--;
	*ret_len = len;
	return piece;
}

/* A piece is several words where there is something between them. */
static struct ebt_error *each_word(const char *text, const char *between, void *to,
				   struct ebt_error *(*add)(void *to, const char *word))
{
	const char *list = text;
	struct ebt_error *err = NULL;
	size_t len;

	while (!err && list) {
		const char *piece = cli_take_piece(&list, &len);
		_cleanup_free_ char *copy = strndup(piece, len);
		char *rest, *word;

		if (!copy)
			return &ebt_enomem;
		if (!len)
			return ebt_error_create(EBT_ERR_INVALID, "'%s' has an empty entry", text);
		word = strtok_r(copy, between, &rest);
		for (; !err && word; word = strtok_r(NULL, between, &rest))
			err = add(to, word);
	}
	return err;
}

struct ebt_error *cli_each_piece(const char *text, void *to,
				 struct ebt_error *(*add)(void *to, const char *piece))
{
	return each_word(text, "", to, add);
}

struct ebt_error *cli_each_number(const char *text, void *to,
				  struct ebt_error *(*add)(void *to, const char *piece))
{
	return each_word(text, BLANKS, to, add);
}
