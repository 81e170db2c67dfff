/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport files`: the files of the recorded machine that travel in the trace. */
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/search.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/trace/trace.h"

/* A piece of a file, and the chunk that it is in. */
struct piece {
	uint64_t file, len;
	size_t chunk;
};

struct file_pieces {
	struct piece *list;
	size_t n, capacity;
	uint64_t *content; /* by chunk: bytes of all pieces */
	const struct ebt_chunk_info *chunks;
};

static void pieces_deinit(struct file_pieces *pieces)
{
	free(pieces->list);
	free(pieces->content);
}

static struct ebt_error *add_piece(void *arg, const struct ebt_row *row)
{
	struct file_pieces *pieces = arg;
	struct piece piece = {
		.file = ebt_file_data_file_id(row),
		.len = ebt_file_data_content(row).len,
		.chunk = (size_t)(row->batch->chunk - pieces->chunks),
	};
	struct ebt_error *err;

	err = ebt_array_reserve(&pieces->list, pieces->n, &pieces->capacity);
	if (err)
		return err;
	pieces->list[pieces->n++] = piece;
	pieces->content[piece.chunk] += piece.len;
	return NULL;
}

static int compare_pieces(const void *pa, const void *pb)
{
	const struct piece *a = pa, *b = pb;

	return a->file < b->file ? -1 : a->file > b->file;
}

static struct ebt_error *read_pieces(struct trace *trace, struct file_pieces *pieces)
{
	struct ebt_error *err;
	size_t n;

	pieces->chunks = ebt_reader_chunks(trace_reader(trace), &n);
	pieces->content = calloc(n + 1, sizeof(*pieces->content));
	if (!pieces->content)
		return &ebt_enomem;
	err = trace_read_table(trace, EBT_T_file_data, TRACE_UNFILTERED, add_piece, pieces);
	if (!err && pieces->n)
		qsort(pieces->list, pieces->n, sizeof(*pieces->list), compare_pieces);
	return err;
}

/* What the file takes in the trace: its share of the chunks that its pieces are in. *ret_have:
 * bytes of its pieces, which may be damaged or missing. */
static uint64_t stored_size(const struct file_pieces *pieces, uint64_t file, uint64_t *ret_have)
{
	double stored = 0;
	size_t first = ebt_count_first(pieces->n, i, pieces->list[i].file < file);

	*ret_have = 0;
	for (size_t i = first; i < pieces->n && pieces->list[i].file == file; i++) {
		const struct piece *piece = &pieces->list[i];

		*ret_have += piece->len;
		if (piece->len)
			stored += (double)pieces->chunks[piece->chunk].stored * (double)piece->len /
				  (double)pieces->content[piece->chunk];
	}
	return (uint64_t)(stored + 0.5);
}

/* --- the table --- */

#define FILES(X)                                                                    \
	X("file_id", "ID", OUT_U64, out_u64(file->id))                              \
	X("role", "ROLE", OUT_STRING, out_cstr(file->role))                         \
	X("pid", "PID", OUT_U64, out_u64_if(file->pid, file->pid))                  \
	X("namespace", "NS", OUT_ID, out_u64_if(file->ns, file->ns), OUT_OPTIONAL)  \
	X("size", "SIZE", OUT_BYTES, out_u64(file->size))                           \
	X("stored", "STORED", OUT_BYTES, out_u64(stored))                           \
	X("sensitivity", "CLASS", OUT_STRING, out_cstr(class ? class : "unknown"))  \
	X("truncated", "TRUNCATED", OUT_BOOL, out_u64(file->truncated), OUT_DETAIL) \
	X("missing", "MISSING", OUT_BYTES, out_u64(missing), OUT_DETAIL)            \
	X("note", "NOTE", OUT_STRING,                                               \
	  out_cstr_if(missing		? "damaged"                                 \
		      : file->truncated ? "cut"                                     \
					: NULL),                                    \
	  OUT_TEXT_ONLY)                                                            \
	X("path", "PATH", OUT_STRING, out_cstr(file->path), OUT_FLEX)

static const struct out_table table = OUT_TABLE_OF("rows", FILES, .flags = OUT_KEEP_ORDER);

static struct ebt_error *put_file(struct report *report, const struct file_pieces *pieces,
				  const struct ebt_file *file)
{
	const struct ebt_table *schema = ebt_reader_table(trace_reader(report->trace), EBT_T_file);
	const char *class =
		ebt_value_name(&schema->fields[EBT_F_file_sensitivity], file->sensitivity);
	uint64_t have, stored = stored_size(pieces, file->id, &have);
	uint64_t missing = have < file->size ? file->size - have : 0;

	return out_row(report->out, 0, OUT_VALUES(FILES));
}

static struct ebt_error *run_files(struct report *report)
{
	__attribute__((cleanup(pieces_deinit))) struct file_pieces pieces = { 0 };
	const struct ebt_file *files;
	struct ebt_error *err;
	size_t n;

	err = ebt_reader_files(trace_reader(report->trace), &files, &n)
		      ?: read_pieces(report->trace, &pieces);
	return err ?: out_rows(report->out, &table, n, i, put_file(report, &pieces, &files[i]));
}

const struct command command_files = {
	.name = "files",
	.fn = run_files,
	.flags = COMMAND_NO_FILTERS | COMMAND_NO_NAMES,
	.summary = "files of the recorded machine that are in the trace",
	.help = "STORED is what a file takes in the trace, compressed. CLASS says whom its content "
		"is about,\n"
		"which `ebreport scrub` goes by. `ebreport extract` gets them out.\n"
		"\n"
		"  ebreport files t.ebt\n"
		"  ebreport files --sort stored --top 5 t.ebt\n",
};
