/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors that the command inherits for sources, each with a variable that says its number. */
#ifndef RECORD_CONFIG_INHERITED_H
#define RECORD_CONFIG_INHERITED_H

#include <stdbool.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/config/options.h"

struct inherited;

/* Asks the sources that the user wants. */
struct ebt_error *inherited_create(const struct record_options *options, struct inherited **ret);
/* Accepts NULL. */
void inherited_destroy(struct inherited *inherited);
DEFINE_CLEANUP(struct inherited *, inherited_destroy);

/* Both are owned from now on, also where this fails. The variable is a literal. */
struct ebt_error *inherited_add(struct inherited *inherited, const char *variable, int theirs,
				int ours);

/* The descriptor's number in the command; -1: there is none. */
int inherited_number(const struct inherited *inherited, const char *variable);

/* The recorder's end, which is the caller's now; -1: there is none. The command's end is closed:
 * the command must have been made. */
int inherited_take(struct inherited *inherited, const char *variable);

/* In the command's process. False: there was no memory. */
bool inherited_apply(const struct inherited *inherited);

#endif
