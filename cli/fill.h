/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prose in lines that are not wider than the page: --help, and messages on a terminal. */
#ifndef CLI_FILL_H
#define CLI_FILL_H

#include <stddef.h>
#include <stdio.h>

#define CLI_WIDTH 80 /* of --help, wherever it goes */

/* Of UTF-8; every character is one column wide. */
int cli_columns(const char *s);

/* The words of s, which blanks and line ends separate. Columns `at` of the first line are taken
 * already; the others begin with so many blanks. A word that no line has room for stands alone.
 * Nothing follows the last word. */
void cli_fill(FILE *to, const char *s, size_t len, int at, int indent, int width);

/* Columns of a terminal; 0: this is none, or does not say. */
int cli_terminal_width(int fd);

#endif
