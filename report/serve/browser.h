/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening an address in the user's browser. Whoever lists processes sees their arguments; so the
 * browser is given the name of a file that its owner alone can read, which leads to the address.
 */
#ifndef REPORT_SERVE_BROWSER_H
#define REPORT_SERVE_BROWSER_H

#include <stdbool.h>

#include "format/base/error.h"

/* Is there a screen to show it on? */
bool browser_is_there(void);

/* *ret: the file's path, to be given to browser_forget(). Not to find a browser is no error. */
struct ebt_error *browser_open(const char *url, char **ret);
/* Removes the file, once it has led there. NULL does nothing. */
void browser_forget(char *path);

#endif
