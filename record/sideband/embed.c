/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An embedded file is one row of `file`, then its content in rows of `file_data`. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/sideband/embed.h"

struct ebt_error *embed_bytes(struct ebt_stream *stream, uint64_t *last_id,
			      const struct embed_file *file, const void *content, size_t len)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	const unsigned char *bytes = content;
	uint64_t id = ++*last_id, now = file->time ? file->time : clocks_now();
	struct ebt_wire_file *row = ebt_record_begin(&rec, EBT_T_file, now);
	struct ebt_error *err;

	row->file_id = id;
	row->size = len;
	row->mtime = (uint64_t)file->mtime_ns;
	row->ns = file->ns;
	row->pid = file->pid;
	row->sensitivity = file->sensitivity;
	row->truncated = file->truncated;
	ebt_record_str(&rec, offsetof(struct ebt_wire_file, role), file->role);
	ebt_record_str(&rec, offsetof(struct ebt_wire_file, path), file->path);
	err = ebt_record_add(&rec, stream);
	for (size_t at = 0; !err && at < len; at += EMBED_PIECE) {
		struct ebt_wire_file_data *piece = ebt_record_begin(&rec, EBT_T_file_data, now);

		piece->file_id = id;
		piece->offset = at;
		ebt_record_bytes(&rec, offsetof(struct ebt_wire_file_data, content), bytes + at,
				 len - at < EMBED_PIECE ? len - at : EMBED_PIECE);
		err = ebt_record_add(&rec, stream);
	}
	return err;
}
