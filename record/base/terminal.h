/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages for a terminal. Names of strangers' files and functions are in them, so whatever a
 * terminal would obey goes out as \xNN. */
#ifndef RECORD_BASE_TERMINAL_H
#define RECORD_BASE_TERMINAL_H

#include <stdarg.h>
#include <stdio.h>

/* A part of a line. */
void terminal_put(FILE *f, const char *text);
/* What a library has to say: one line or several. */
void terminal_put_lines(FILE *f, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

#endif
