/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command inherits; see handed.h. */
#include "record/config/handed.h"

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

struct handed {
	struct item items[MAX_ITEMS];
	size_t n;
};

static void close_end(int *fd)
{
	ebt_closep(fd);
	*fd = -1;
}

struct ebt_error *handed_create(const struct record_options *options, struct handed **ret)
{
	_cleanup_(handed_destroyp) struct handed *handed = calloc(1, sizeof(*handed));
	struct ebt_error *err = NULL;

	if (!handed)
		return &ebt_enomem;
	for (size_t i = 0; i < ebrec_n_sources && !err; i++) {
		if (options->sources & (UINT64_C(1) << i) && ebrec_sources[i]->hand)
			err = ebrec_sources[i]->hand(options, handed);
	}
	if (err)
		return err;
	*ret = take_ptr(handed);
	return NULL;
}

void handed_destroy(struct handed *handed)
{
	if (!handed)
		return;
	for (size_t i = 0; i < handed->n; i++) {
		close_end(&handed->items[i].theirs);
		close_end(&handed->items[i].ours);
	}
	free(handed);
}

struct ebt_error *handed_add(struct handed *handed, const char *variable, int theirs, int ours)
{
	if (handed->n == MAX_ITEMS) {
		close_end(&theirs);
		close_end(&ours);
		return ebt_error_create(EBT_ERR_INVALID, "too much for a command to inherit");
	}
	handed->items[handed->n++] = (struct item){ variable, theirs, ours };
	return NULL;
}

static const struct item *find(const struct handed *handed, const char *variable)
{
	for (size_t i = 0; handed && i < handed->n; i++) {
		if (!strcmp(handed->items[i].variable, variable))
			return &handed->items[i];
	}
	return NULL;
}

int handed_number(const struct handed *handed, const char *variable)
{
	const struct item *item = find(handed, variable);

	return item ? item->theirs : -1;
}

int handed_take(struct handed *handed, const char *variable)
{
	struct item *item = (struct item *)find(handed, variable);

	if (!item)
		return -1;
	close_end(&item->theirs);
	return take_fd(&item->ours);
}

bool handed_apply(const struct handed *handed)
{
	char number[16];

	for (size_t i = 0; handed && i < handed->n; i++) {
		const struct item *item = &handed->items[i];

		snprintf(number, sizeof(number), "%d", item->theirs);
		if (fcntl(item->theirs, F_SETFD, 0) || setenv(item->variable, number, 1))
			return false;
	}
	return true;
}
