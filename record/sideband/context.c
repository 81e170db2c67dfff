/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An embedded file is one row of `file`, then its content in rows of `file_data`. */
#include <string.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/sideband/context.h"

struct ebt_error *embed_bytes(struct sideband_context *context, const struct embed_file *file,
			      const void *content, size_t len)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	const unsigned char *bytes = content;
	uint64_t id = ++context->last_file_id, now = file->time ? file->time : clocks_now();
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
	err = ebt_record_add(&rec, context->stream);
	for (size_t at = 0; !err && at < len; at += EMBED_PIECE) {
		struct ebt_wire_file_data *piece = ebt_record_begin(&rec, EBT_T_file_data, now);

		piece->file_id = id;
		piece->offset = at;
		ebt_record_bytes(&rec, offsetof(struct ebt_wire_file_data, content), bytes + at,
				 len - at < EMBED_PIECE ? len - at : EMBED_PIECE);
		err = ebt_record_add(&rec, context->stream);
	}
	return err;
}

struct ebt_error *add_mapping(const struct sideband_context *context, const struct mapping *mapping,
			      enum ebt_mmap_origin origin)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_wire_mmap *row = ebt_record_begin(&rec, EBT_T_mmap, mapping->time);
	struct ebt_error *err;

	row->task = mapping->tid;
	row->origin = origin;
	row->start = mapping->start;
	row->length = mapping->length;
	row->pgoff = mapping->pgoff;
	row->inode = mapping->inode;
	row->dev_major = mapping->dev_major;
	row->dev_minor = mapping->dev_minor;
	row->prot = mapping->prot;
	row->flags = mapping->flags;
	ebt_record_bytes(&rec, offsetof(struct ebt_wire_mmap, path),
			 mapping->path_len ? mapping->path : "//anon",
			 mapping->path_len ? mapping->path_len : strlen("//anon"));
	ebt_record_bytes(&rec, offsetof(struct ebt_wire_mmap, build_id), mapping->build_id.bytes,
			 mapping->build_id.len);
	err = ebt_record_add(&rec, context->stream);
	return err || !context->on_mapping ? err : context->on_mapping(context->arg, mapping);
}
