/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes of USDT probes in an ELF file (section .note.stapsdt, version 3). Files of anyone. */
#ifndef RECORD_PROBES_USDT_NOTES_H
#define RECORD_PROBES_USDT_NOTES_H

#include "format/base/error.h"
#include "record/base/identity.h"

struct usdt_note {
	const char *provider, *name, *args; /* as long as the call */
	uint64_t offset;		    /* of the instruction, in the file */
	uint64_t semaphore;		    /* in the file; 0: there is none */
};

typedef struct ebt_error *usdt_note_fn(void *arg, const struct usdt_note *note);

/* Calls fn for each probe that lies in code; what is wrong in the notes is left out. parts: of
 * this file. */
struct ebt_error *usdt_notes_each(int fd, const struct elfparts *parts, usdt_note_fn *fn,
				  void *arg);

#endif
