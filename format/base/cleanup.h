/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scope guards: a local that carries one is released when it goes out of scope, on every path.
 * Hand a guarded pointer to somebody else with take_ptr().
 *
 *	_cleanup_free_ char *name = strdup(s);
 *	_cleanup_(ebt_reader_closep) struct ebt_reader *reader = NULL;
 */
#ifndef FORMAT_BASE_CLEANUP_H
#define FORMAT_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/base/error.h"

#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* DEFINE_CLEANUP(type, fn) makes fn##p(), to be named in _cleanup_(), from fn(type). */
#define DEFINE_CLEANUP(type, fn)                                  \
	static inline __attribute__((unused)) void fn##p(type *p) \
	{                                                         \
		if (*p)                                           \
			fn(*p);                                   \
	}                                                         \
	struct ebt_cleanup_semicolon

static inline void ebt_freep(void *p)
{
	free(*(void **)p);
}

static inline void ebt_closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void ebt_fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

DEFINE_CLEANUP(struct ebt_error *, ebt_error_destroy);

#define _cleanup_free_	 _cleanup_(ebt_freep)
#define _cleanup_close_	 _cleanup_(ebt_closep)
#define _cleanup_fclose_ _cleanup_(ebt_fclosep)
#define _cleanup_error_	 _cleanup_(ebt_error_destroyp)

/* The value of a guarded pointer, which the guard then leaves alone. */
#define take_ptr(p)                            \
	({                                     \
		__typeof__(p) ebt_taken = (p); \
		(p) = NULL;                    \
		ebt_taken;                     \
	})

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif
