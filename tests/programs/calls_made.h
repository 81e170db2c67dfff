/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of calls_made.c share. */
#ifndef TESTS_PROGRAMS_CALLS_MADE_H
#define TESTS_PROGRAMS_CALLS_MADE_H

struct calls_program {
	const char *name;
	void (*fn)(void);
};

#define CALLS_OF_SOCKETS 8
extern const struct calls_program calls_of_sockets[CALLS_OF_SOCKETS];

#endif
