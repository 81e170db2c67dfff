/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the chunks of a file are, by its footer and the chain of its index chunks. Both are
 * hints: whatever does not check is an error here, and the reader goes from chunk header to chunk
 * header (recover.c) instead; where one is bad, it looks for the next good one.
 */
#ifndef FORMAT_READ_INDEX_H
#define FORMAT_READ_INDEX_H

#include "format/read/chunk_reader.h"
#include "format/read/damage.h"

struct ebt_chunk_list {
	struct ebt_chunk_info *chunk;
	size_t n, capacity;
};

struct ebt_error *ebt_chunk_list_add(struct ebt_chunk_list *list,
				     const struct ebt_chunk_info *chunk);
void ebt_chunk_list_deinit(struct ebt_chunk_list *list);

struct ebt_footer {
	uint64_t offset; /* its own: where the last chunk ends */
	uint64_t index;	 /* offset of the last index chunk */
	uint64_t chunks;
};

/* *ret_there: whether the file has one that is good. Only then is *ret filled. */
struct ebt_error *ebt_footer_read(const struct ebt_input *input, uint32_t tag,
				  struct ebt_footer *ret, bool *ret_there);

/*
 * Appends all chunks, which must fill the file from `first` to the footer without a gap.
 * EBT_ERR_CORRUPT or EBT_ERR_LIMIT: the index cannot be used, *ret is empty.
 */
struct ebt_error *ebt_index_load(struct ebt_chunk_reader *chunks, const struct ebt_footer *footer,
				 uint64_t first, struct ebt_chunk_list *ret);

/* Appends every chunk that lies whole between the offsets first and end; what lies between them
 * is added to damage. Only I/O and memory can fail. */
struct ebt_error *ebt_recover(const struct ebt_chunk_reader *chunks, uint64_t first, uint64_t end,
			      uint64_t next_seq, struct ebt_chunk_list *ret,
			      struct ebt_damage_list *damage);

#endif
