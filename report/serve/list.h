/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which traces are served. A client names them by number alone. */
#ifndef REPORT_SERVE_LIST_H
#define REPORT_SERVE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/base/error.h"

struct serve_trace {
	char *name, *path;
	uint64_t size;
	int64_t mtime_ns;
	bool there; /* as of the last look at the folder */
};

struct list {
	const char *folder; /* NULL: it is of one file */
	struct serve_trace *traces;
	size_t n, capacity;
};

/* A file or a folder. */
struct ebt_error *list_create(const char *path, struct list *ret);
void list_deinit(struct list *list);

/* Looks at the folder again: what was there keeps its number. */
struct ebt_error *list_refresh(struct list *list);
/* JSON: those that are there. */
void list_write(const struct list *list, FILE *to);
/* The path of one; NULL: there is none of that number, or it is no file now. */
const char *list_path(const struct list *list, uint64_t number);

#endif
