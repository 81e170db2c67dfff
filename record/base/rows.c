/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of tables `lost` and `meta`; see rows.h. */
#include "record/base/rows.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"

struct ebt_error *add_lost(struct ebt_stream *stream, uint64_t time, const struct lost_row *lost)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_wire_lost *row = ebt_record_begin(&rec, EBT_T_lost, time);

	row->from = lost->from;
	row->count = lost->count;
	row->table_id = lost->table_id;
	row->reason = lost->reason;
	row->ring = lost->ring;
	if (lost->source)
		ebt_record_str(&rec, offsetof(struct ebt_wire_lost, source), lost->source);
	if (lost->detail)
		ebt_record_str(&rec, offsetof(struct ebt_wire_lost, detail), lost->detail);
	return ebt_record_add(&rec, stream);
}

struct ebt_error *add_meta(struct ebt_stream *stream, const char *key, const char *value)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;

	ebt_record_begin(&rec, EBT_T_meta, clocks_now());
	ebt_record_str(&rec, offsetof(struct ebt_wire_meta, key), key);
	ebt_record_str(&rec, offsetof(struct ebt_wire_meta, value), value);
	return ebt_record_add(&rec, stream);
}

struct ebt_error *add_meta_rows(struct ebt_stream *stream, const struct meta_row *rows)
{
	for (; rows->key; rows++) {
		struct ebt_error *err;
		char number[24];

		snprintf(number, sizeof(number), "%" PRIu64, rows->number);
		err = add_meta(stream, rows->key, rows->text ? rows->text : number);
		if (err)
			return err;
	}
	return NULL;
}
