/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an ELF file says that it needs to run: interpreter and libraries. The file may be anything.
 */
#ifndef UNWIND_NEEDED_H
#define UNWIND_NEEDED_H

#include <linux/limits.h>
#include <stddef.h>

/* Of a file; large programs need some hundred. */
#define NEEDED_MAX 256

struct needed {
	char interpreter[PATH_MAX]; /* "": none */
	char runpath[PATH_MAX];	    /* DT_RUNPATH, or DT_RPATH; directories, by colons */
	char *names[NEEDED_MAX];    /* owned */
	size_t n;
};

/* What can be read; a file that is no ELF file needs nothing. */
void needed_read(int fd, struct needed *ret);
void needed_deinit(struct needed *needed);

#endif
