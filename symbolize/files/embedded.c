/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that travel in the trace, because nobody can get them again: a place of the finder. Which
 * file is whose is said by table `object`, by path and build-id; the recorder had it open when it
 * said so. A build-id alone is not enough here: anyone can run a memfd that has libc's.
 */
#include <stdlib.h>

#include "format/base/cleanup.h"
#include "symbolize/files/search.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

/* What is damaged, or missing as a file may be scrubbed, is not there. */
static struct ebt_error *forgive(struct ebt_error *err)
{
	if (err && err->code != EBT_ERR_CORRUPT && err->code != EBT_ERR_LIMIT &&
	    err->code != EBT_ERR_NOT_FOUND)
		return err;
	ebt_error_destroy(err);
	return NULL;
}

struct ebt_error *search_trace(struct search *search)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_free_ char *image = NULL;
	struct finder_state *state = search->state;
	struct found *found = &search->found;
	struct ebt_error *err;
	size_t len;

	if (!state->reader || !search->identity || !search->identity->file_id)
		return NULL;
	pthread_mutex_lock(&state->lock);
	err = ebt_reader_file_content(state->reader, search->identity->file_id, &image, &len);
	pthread_mutex_unlock(&state->lock);
	if (!err)
		err = elf_file_from_memory(image, len, &file);
	if (err)
		return forgive(err);
	if (!file->has_code || file->id.len != search->identity->id.len ||
	    (file->id.len && !sym_build_id_equal(&file->id, &search->identity->id)))
		return NULL;
	found->main = take_ptr(file);
	found->image = take_ptr(image);
	found->main_place = FOUND_TRACE;
	found->match = search->identity->id.len ? MATCH_BUILD_ID : MATCH_HASH;
	return NULL;
}
