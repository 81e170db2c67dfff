/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is written to a terminal goes through a pager, as with git: EBREPORT_PAGER, else PAGER,
 * else less. It starts with the first bytes that are written to it, so that nobody waits in it
 * for a report that is still being made.
 */
#ifndef REPORT_PAGER_H
#define REPORT_PAGER_H

#include <stdbool.h>
#include <stdio.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "report/cli/options.h"

struct pager;

/* *ret: NULL where there is none to use: standard output is no terminal, or nobody wants one. */
struct ebt_error *pager_create(const struct options *options, struct pager **ret);
/* Writes the rest to it, and waits until the user has left it. */
void pager_destroy(struct pager *pager);
DEFINE_CLEANUP(struct pager *, pager_destroy);

/* What to write to. Belongs to the pager. */
FILE *pager_file(const struct pager *pager);
/* gone() is called once, when the user leaves the pager before all is written. What is written
 * from then on is dropped. */
void pager_watch(struct pager *pager, void (*gone)(void *arg), void *arg);
/* Has the pager the terminal? */
bool pager_has_terminal(const struct pager *pager);

#endif
