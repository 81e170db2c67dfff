/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command inherits; see inherited.h. */
#include "record/config/inherited.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/config/source.h"

#define MAX_ITEMS 4

struct item {
	const char *variable;
	int theirs, ours;
};

struct inherited {
	struct item items[MAX_ITEMS];
	size_t n;
};

static void close_end(int *fd)
{
	ebt_closep(fd);
	*fd = -1;
}

struct ebt_error *inherited_create(const struct record_options *options, struct inherited **ret)
{
	_cleanup_(inherited_destroyp) struct inherited *inherited = calloc(1, sizeof(*inherited));
	struct ebt_error *err = NULL;

	if (!inherited)
		return &ebt_enomem;
	for (size_t i = 0; i < ebrec_n_sources && !err; i++) {
		if (options->sources & (UINT64_C(1) << i) && ebrec_sources[i]->inherit)
			err = ebrec_sources[i]->inherit(options, inherited);
	}
	if (err)
		return err;
	*ret = take_ptr(inherited);
	return NULL;
}

void inherited_destroy(struct inherited *inherited)
{
	if (!inherited)
		return;
	for (size_t i = 0; i < inherited->n; i++) {
		close_end(&inherited->items[i].theirs);
		close_end(&inherited->items[i].ours);
	}
	free(inherited);
}

struct ebt_error *inherited_add(struct inherited *inherited, const char *variable, int theirs,
				int ours)
{
	if (inherited->n == MAX_ITEMS) {
		close_end(&theirs);
		close_end(&ours);
		return ebt_error_create(EBT_ERR_INVALID, "too much for a command to inherit");
	}
	inherited->items[inherited->n++] = (struct item){ variable, theirs, ours };
	return NULL;
}

static const struct item *find(const struct inherited *inherited, const char *variable)
{
	for (size_t i = 0; inherited && i < inherited->n; i++) {
		if (!strcmp(inherited->items[i].variable, variable))
			return &inherited->items[i];
	}
	return NULL;
}

int inherited_number(const struct inherited *inherited, const char *variable)
{
	const struct item *item = find(inherited, variable);

	return item ? item->theirs : -1;
}

int inherited_take(struct inherited *inherited, const char *variable)
{
	struct item *item = (struct item *)find(inherited, variable);

	if (!item)
		return -1;
	close_end(&item->theirs);
	return take_fd(&item->ours);
}

bool inherited_apply(const struct inherited *inherited)
{
	char number[16];

	for (size_t i = 0; inherited && i < inherited->n; i++) {
		const struct item *item = &inherited->items[i];

		snprintf(number, sizeof(number), "%d", item->theirs);
		if (fcntl(item->theirs, F_SETFD, 0) || setenv(item->variable, number, 1))
			return false;
	}
	return true;
}
