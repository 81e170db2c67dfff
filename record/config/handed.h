/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command inherits for sources: descriptors, each with a variable that says its number. */
#ifndef RECORD_CONFIG_HANDED_H
#define RECORD_CONFIG_HANDED_H

#include <stdbool.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/config/options.h"

struct handed;

/* Asks the sources that the user wants. */
struct ebt_error *handed_create(const struct record_options *options, struct handed **ret);
/* Accepts NULL. */
void handed_destroy(struct handed *handed);
DEFINE_CLEANUP(struct handed *, handed_destroy);

/* Both are owned from now on, also where this fails. The variable is a literal. */
struct ebt_error *handed_add(struct handed *handed, const char *variable, int theirs, int ours);

/* The descriptor's number in the command; -1: there is none. */
int handed_number(const struct handed *handed, const char *variable);

/* The recorder's end, which is the caller's now; -1: there is none. The command's end is closed:
 * the command must have been made. */
int handed_take(struct handed *handed, const char *variable);

/* In the command's process. False: there was no memory. */
bool handed_apply(const struct handed *handed);

#endif
