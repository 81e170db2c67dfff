/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the chunks of a file that has no index: from header to header, and where one is bad,
 * by looking for the next good one.
 */
#ifndef FORMAT_READ_RECOVER_H
#define FORMAT_READ_RECOVER_H

#include "format/read/chunk_reader.h"
#include "format/read/damage.h"
#include "format/read/index.h"

/* Appends every chunk that lies whole between the offsets first and end; what lies between them
 * is added to damage. Only I/O and memory can fail. */
struct ebt_error *ebt_recover(const struct ebt_chunk_reader *chunks, uint64_t first, uint64_t end,
			      uint64_t next_seq, struct ebt_chunk_list *ret,
			      struct ebt_damage_list *damage);

#endif
