/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Embedded files and the keys of table `meta`: read when they are first asked for, and kept.
 * Of the content of files only the places of the pieces are kept.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/read/reader_impl.h"

struct ebt_kept_meta {
	const char *key, *value;
};

struct ebt_file_piece {
	uint64_t file_id, offset;
	uint32_t len, row;
	size_t chunk;
};

void ebt_kept_deinit(struct ebt_kept *kept)
{
	free(kept->metas);
	free(kept->files);
	free(kept->pieces);
	ebt_arena_deinit(&kept->arena);
}

static struct ebt_error *keep_string(struct ebt_reader *reader, struct ebt_str s, const char **ret)
{
	return ebt_arena_string(&reader->kept.arena, s.data, s.len, ret);
}

/* --- meta --- */

static struct ebt_error *take_meta(void *arg, const struct ebt_row *row)
{
	struct ebt_reader *reader = arg;
	struct ebt_kept *kept = &reader->kept;
	struct ebt_kept_meta meta;
	struct ebt_error *err;

	err = ebt_array_reserve(&kept->metas, kept->n_metas, &kept->metas_capacity);
	if (err)
		return err;
	err = keep_string(reader, ebt_meta_key(row), &meta.key);
	if (err)
		return err;
	err = keep_string(reader, ebt_meta_value(row), &meta.value);
	if (err)
		return err;
	kept->metas[kept->n_metas++] = meta;
	return NULL;
}

struct ebt_error *ebt_reader_meta(struct ebt_reader *reader, const char *key, const char **ret)
{
	struct ebt_kept *kept = &reader->kept;
	struct ebt_error *err;

	if (!kept->metas_read) {
		kept->n_metas = 0;
		err = ebt_read_table(reader, EBT_T_meta, take_meta, reader);
		if (err)
			return err;
		kept->metas_read = true;
	}
	*ret = NULL;
	for (size_t i = kept->n_metas; i-- && !*ret;) {
		if (!strcmp(kept->metas[i].key, key))
			*ret = kept->metas[i].value;
	}
	return NULL;
}

struct ebt_error *ebt_reader_meta_number(struct ebt_reader *reader, const char *key, uint64_t *ret)
{
	const char *text = NULL;
	struct ebt_error *err = ebt_reader_meta(reader, key, &text);

	*ret = text ? strtoull(text, NULL, 10) : 0;
	return err;
}

/* --- files --- */

static struct ebt_error *take_file(void *arg, const struct ebt_row *row)
{
	struct ebt_reader *reader = arg;
	struct ebt_kept *kept = &reader->kept;
	struct ebt_file file = {
		.time = row->time,
		.id = ebt_file_file_id(row),
		.size = ebt_file_size(row),
		.ns = ebt_file_ns(row),
		.mtime_ns = ebt_file_mtime(row),
		.pid = (uint32_t)ebt_file_pid(row),
		.sensitivity = (uint32_t)ebt_file_sensitivity(row),
		.truncated = ebt_file_truncated(row),
	};
	const char *role, *path;
	struct ebt_error *err;

	err = ebt_array_reserve(&kept->files, kept->n_files, &kept->files_capacity);
	if (err)
		return err;
	err = keep_string(reader, ebt_file_role(row), &role);
	if (err)
		return err;
	err = keep_string(reader, ebt_file_path(row), &path);
	if (err)
		return err;
	file.role = (char *)role;
	file.path = (char *)path;
	kept->files[kept->n_files++] = file;
	return NULL;
}

static int compare_files(const void *pa, const void *pb)
{
	const struct ebt_file *a = pa, *b = pb;

	return ebt_compare(a->id, b->id);
}

struct ebt_error *ebt_reader_files(struct ebt_reader *reader, const struct ebt_file **ret,
				   size_t *ret_n)
{
	struct ebt_kept *kept = &reader->kept;
	struct ebt_error *err;

	if (!kept->files_read) {
		kept->n_files = 0;
		err = ebt_read_table(reader, EBT_T_file, take_file, reader);
		if (err)
			return err;
		if (kept->n_files)
			qsort(kept->files, kept->n_files, sizeof(*kept->files), compare_files);
		kept->files_read = true;
	}
	*ret = kept->files;
	*ret_n = kept->n_files;
	return NULL;
}

/* --- content --- */

static struct ebt_error *take_piece(void *arg, const struct ebt_row *row)
{
	struct ebt_reader *reader = arg;
	struct ebt_kept *kept = &reader->kept;
	struct ebt_error *err;

	if (kept->n_pieces == EBT_MAX_PIECES)
		return ebt_error_create(EBT_ERR_LIMIT,
					"%s: embedded files are in more than %u pieces",
					reader->input.path, EBT_MAX_PIECES);
	err = ebt_array_reserve(&kept->pieces, kept->n_pieces, &kept->pieces_capacity);
	if (err)
		return err;
	kept->pieces[kept->n_pieces++] = (struct ebt_file_piece){
		.file_id = ebt_file_data_file_id(row),
		.offset = ebt_file_data_offset(row),
		.len = (uint32_t)ebt_file_data_content(row).len,
		.row = row->i,
		.chunk = (size_t)(row->batch->chunk - reader->chunks.chunk),
	};
	return NULL;
}

static int compare_pieces(const void *pa, const void *pb)
{
	const struct ebt_file_piece *a = pa, *b = pb;
	int order = ebt_compare(a->file_id, b->file_id) ?: ebt_compare(a->offset, b->offset);

	return order ?: ebt_compare(a->len, b->len);
}

static struct ebt_error *read_pieces(struct ebt_reader *reader)
{
	struct ebt_kept *kept = &reader->kept;
	struct ebt_error *err;

	if (kept->pieces_read)
		return NULL;
	kept->n_pieces = 0;
	err = ebt_read_table(reader, EBT_T_file_data, take_piece, reader);
	if (err)
		return err;
	if (kept->n_pieces)
		qsort(kept->pieces, kept->n_pieces, sizeof(*kept->pieces), compare_pieces);
	kept->pieces_read = true;
	return NULL;
}

/* The pieces of a file, which must follow each other from 0 to its size. */
static struct ebt_error *find_pieces(const struct ebt_reader *reader, const struct ebt_file *file,
				     const struct ebt_file_piece **ret, size_t *ret_n)
{
	const struct ebt_kept *kept = &reader->kept;
	uint64_t have = 0;
	size_t i = 0, n = 0;

	if (file->size > EBT_MAX_FILE)
		return ebt_error_create(EBT_ERR_LIMIT,
					"%s: embedded file %" PRIu64 " has %" PRIu64
					" bytes, more than %u",
					reader->input.path, file->id, file->size, EBT_MAX_FILE);
	while (i < kept->n_pieces && kept->pieces[i].file_id < file->id)
		i++;
	*ret = i < kept->n_pieces ? &kept->pieces[i] : NULL;
	for (; i + n < kept->n_pieces && kept->pieces[i + n].file_id == file->id; n++) {
		if (kept->pieces[i + n].offset != have)
			break;
		have += kept->pieces[i + n].len;
	}
	if (have != file->size)
		return ebt_error_create(EBT_ERR_CORRUPT,
					"%s: embedded file %" PRIu64
					": a piece is missing at offset %" PRIu64 " of %" PRIu64,
					reader->input.path, file->id, have, file->size);
	*ret_n = n;
	return NULL;
}

/* Copies the content of the pieces, which lie in the chunk that is decoded last for as long as
 * they follow each other there. */
static struct ebt_error *copy_pieces(struct ebt_reader *reader, const struct ebt_file_piece *pieces,
				     size_t n, struct ebt_decoded *decoded, char *to)
{
	const struct ebt_table *table = ebt_reader_table(reader, EBT_T_file_data);
	bool ok;

	for (size_t i = 0; i < n; i++) {
		struct ebt_row row = { .batch = &decoded->batch, .i = pieces[i].row };
		struct ebt_error *err;

		if (!i || pieces[i].chunk != pieces[i - 1].chunk) {
			err = ebt_reader_load(reader, pieces[i].chunk, table, ~UINT64_C(0), decoded,
					      &ok);
			if (err)
				return err;
			if (!ok)
				return ebt_error_create(EBT_ERR_CORRUPT,
							"%s: changed while it was read",
							reader->input.path);
		}
		memcpy(to + pieces[i].offset, ebt_file_data_content(&row).data, pieces[i].len);
	}
	return NULL;
}

static const struct ebt_file *find_file(const struct ebt_file *files, size_t n, uint64_t id)
{
	for (size_t i = 0; i < n; i++) {
		if (files[i].id == id)
			return &files[i];
	}
	return NULL;
}

struct ebt_error *ebt_reader_file_content(struct ebt_reader *reader, uint64_t file_id, char **ret,
					  size_t *ret_len)
{
	struct ebt_decoded decoded = { 0 };
	_cleanup_free_ char *content = NULL;
	const struct ebt_file_piece *pieces;
	const struct ebt_file *files, *file;
	struct ebt_error *err;
	size_t n;

	err = ebt_reader_files(reader, &files, &n);
	if (err)
		return err;
	err = read_pieces(reader);
	if (err)
		return err;
	file = find_file(files, n, file_id);
	if (!file)
		return ebt_error_create(EBT_ERR_NOT_FOUND, "%s: no embedded file %" PRIu64,
					reader->input.path, file_id);
	err = find_pieces(reader, file, &pieces, &n);
	if (err)
		return err;
	content = malloc((size_t)file->size + 1);
	if (!content)
		return &ebt_enomem;
	err = copy_pieces(reader, pieces, n, &decoded, content);
	ebt_decoded_deinit(&decoded);
	if (err)
		return err;
	content[file->size] = '\0';
	*ret_len = (size_t)file->size;
	*ret = take_ptr(content);
	return NULL;
}
