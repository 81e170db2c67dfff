/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines and the like: each text once, as thousands of processes have the same, and not
 * more of them than fits, whatever the trace.
 */
#ifndef REPORT_TRACE_PROC_TEXTS_H
#define REPORT_TRACE_PROC_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"
#include "format/read/reader.h"

/* All zero has the empty text, number 0, alone. Beside its bytes a text takes some 40. */
struct proc_texts {
	char **blocks; /* each length and text behind the one before */
	size_t n_blocks, capacity, bytes;
	size_t used;		/* of the last block */
	struct ebt_map numbers; /* by hash of the text */
	bool left_out;		/* texts had no room */
};

void proc_texts_deinit(struct proc_texts *texts);

/* The number of the text, which is cut after 4096 bytes; 0 where there is no more room. Texts that
 * come later have larger numbers. */
struct ebt_error *proc_texts_add(struct proc_texts *texts, struct ebt_str text, uint32_t *ret);
/* The number of a text that was added; 0: it was not. */
uint32_t proc_texts_find(const struct proc_texts *texts, struct ebt_str text);
/* With a zero behind it; stays where it is. */
struct ebt_str proc_texts_get(const struct proc_texts *texts, uint32_t text);

#endif
