/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a text that is no trace; see tsv.h. */
#include "report/base/tsv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINE (1u << 20)

struct ebt_error *tsv_open(const char *path, struct tsv *ret)
{
	*ret = (struct tsv){ .path = path };
	ret->f = strcmp(path, "-") != 0 ? fopen(path, "re") : stdin;
	return ret->f ? NULL : ebt_error_errno(errno, "cannot open '%s'", path);
}

void tsv_deinit(struct tsv *tsv)
{
	if (tsv->f && tsv->f != stdin)
		fclose(tsv->f);
	free(tsv->line);
}

struct ebt_error *tsv_wrong(const struct tsv *tsv, const char *what)
{
	return ebt_error_create(EBT_ERR_CORRUPT, "%s, line %" PRIu64 ": %s", tsv->path, tsv->number,
				what);
}

struct ebt_error *tsv_next(struct tsv *tsv, bool *ret)
{
	ssize_t len;

	*ret = false;
	while ((len = getline(&tsv->line, &tsv->room, tsv->f)) >= 0) {
		tsv->number++;
		if (len > MOST_LINE)
			return tsv_wrong(tsv, "the line is longer than 1 MiB");
		if (memchr(tsv->line, '\0', (size_t)len))
			return tsv_wrong(tsv, "a NUL byte is no text");
		while (len && (tsv->line[len - 1] == '\n' || tsv->line[len - 1] == '\r'))
			tsv->line[--len] = '\0';
		*ret = len;
		if (len)
			return NULL;
	}
	return ferror(tsv->f) ? ebt_error_errno(errno, "cannot read '%s'", tsv->path) : NULL;
}

void tsv_unescape(char *column)
{
	char *to = column;

	for (const char *s = column; *s; s++) {
		if (*s == '\\' && s[1]) {
			s++;
			*to++ = *s == 't' ? '\t' : *s == 'n' ? '\n' : *s == 'r' ? '\r' : *s;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}
