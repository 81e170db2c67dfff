/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copying a trace, chunk by chunk: payloads go over as they are, are left out, or are written
 * again with other contents, and rows can be added at the end. The copy is a file like any other,
 * with an index and a footer of its own; to a pipe it has the same bytes.
 *
 * Chunks that cannot be read are left out and are in the damage of the reader then.
 */
#ifndef FORMAT_EDIT_COPY_H
#define FORMAT_EDIT_COPY_H

#include "format/base/error.h"
#include "format/edit/edit.h"
#include "format/read/reader.h"
#include "format/write/writer.h"

enum ebt_copy_action {
	EBT_COPY_AS_IT_IS,
	EBT_COPY_DROP,
	EBT_COPY_NO_ROWS, /* what it tells of losses stays */
	EBT_COPY_EDIT,	  /* must be a chunk of a table of the reader's schema, with rows */
};

struct ebt_copy_options {
	int fd;		  /* where to; not closed */
	const char *name; /* of it, for messages */
	/* With a random uuid, and with the compiled-in schema; else with those of the original. */
	bool anew;
	/* Where it is set: the copy is of this part of the original, which is no longer than its
	 * window was. */
	struct ebt_window window;
	uint32_t host; /* of ebt_copy_several(): the machine's number; 0: there is only one */
	void *arg;     /* of these functions */

	/* What is done with this chunk? table: NULL where it is none that the reader knows. Never
	 * asked about schema and index, which are written anew. */
	enum ebt_copy_action (*action)(void *arg, const struct ebt_chunk_info *chunk,
				       const struct ebt_table *table);
	/* NULL where there is no EBT_COPY_EDIT. *ret_changed false: it goes over as it is. */
	struct ebt_error *(*edit)(void *arg, struct ebt_edit *edit, bool *ret_changed);
	/* Adds rows behind all others; or NULL. */
	struct ebt_error *(*append)(void *arg, struct ebt_stream *stream);
};

struct ebt_error *ebt_copy(struct ebt_reader *reader, const struct ebt_copy_options *options);

/*
 * One copy of n traces, with options for each. It has a uuid of its own, unless all have the same
 * one, the tables of all, and their chunks in an order in which rows of a machine come up about as
 * they happened. Where it goes and its window say the first options, what is appended all; `anew`
 * does not count.
 */
struct ebt_error *ebt_copy_several(struct ebt_reader *const *readers,
				   const struct ebt_copy_options *options, size_t n);

#endif
