/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a text that is no trace, as queries of a database answer it: columns with tabs between
 * them, in which a tab, a newline and a backslash are \t, \n and \\. */
#ifndef REPORT_BASE_TSV_H
#define REPORT_BASE_TSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/base/error.h"

struct tsv {
	const char *path;
	FILE *f;
	char *line; /* without its end; may be changed */
	size_t room;
	uint64_t number; /* of the line, from 1 */
};

/* path "-": standard input; it must outlive the lines. */
struct ebt_error *tsv_open(const char *path, struct tsv *ret);
void tsv_deinit(struct tsv *tsv);

/* The next one that is not empty; *ret false: there is none. One of more than 1 MiB, or with a NUL,
 * is EBT_ERR_CORRUPT. */
struct ebt_error *tsv_next(struct tsv *tsv, bool *ret);

/* EBT_ERR_CORRUPT, with file and number of the line. */
struct ebt_error *tsv_wrong(const struct tsv *tsv, const char *what);

void tsv_unescape(char *column);

#endif
