/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a trace's addresses, and a copy that has them; see named_copy.h. */
#include "report/share/named_copy.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "report/base/text.h"
#include "report/share/copying.h"
#include "report/trace/prepare.h"
#include "symbolize/symbolize.h"

DEFINE_CLEANUP(struct named_copy *, named_copy_destroy);

/* Where a table has stacks, and whose they are. */
struct stacked {
	uint16_t table;
	int task, kstack, ustack, udump; /* fields; -1: none */
};

/* For whom the addresses of a stack were looked up last. */
struct seen {
	const struct ebt_task *task;
	bool first_is_caller;
};

struct named_copy {
	struct report *report;
	struct sym *sym;
	bool anew; /* without the names that the trace has */
	struct stacked *tables;
	size_t n_tables;
	const struct stacked *resolved; /* whose addresses are being looked up */

	uint64_t batch;	   /* that was seen last */
	struct seen *seen; /* of that, by value of the column */
	uint32_t n_seen;   /* 0: of no batch yet */

	uint64_t addresses[EBT_MAX_FRAMES];
	struct ebt_record record;
	struct ebt_stream *stream;
	uint64_t *object_ids; /* of name_object, by number of the object; 0: not written yet */
	size_t n_object_ids;
	uint64_t last_object_id;
	uint64_t named, unnamed; /* places */
	char *example;		 /* of one without a name */
};

void named_copy_destroy(struct named_copy *m)
{
	if (!m)
		return;
	free(m->tables);
	free(m->seen);
	free(m->object_ids);
	free(m->example);
	ebt_record_deinit(&m->record);
	free(m);
}

/* --- tables with stacks --- */

static int first_of_type(const struct ebt_table *table, enum ebt_type type)
{
	for (uint32_t i = 0; i < table->n_fields; i++) {
		if (table->fields[i].type == type)
			return (int)i;
	}
	return -1;
}

/* A stack belongs to the first task of its row, in all tables. */
static struct ebt_error *find_tables(struct named_copy *m)
{
	const struct ebt_table *tables;
	size_t n;

	tables = ebt_reader_tables(trace_reader(m->report->trace), &n);
	m->tables = calloc(n + 1, sizeof(*m->tables));
	if (!m->tables)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		struct stacked found = {
			.table = tables[i].id,
			.task = first_of_type(&tables[i], EBT_TYPE_TASK),
			.kstack = ebt_field_by_name(&tables[i], "kstack"),
			.ustack = ebt_field_by_name(&tables[i], "ustack"),
			.udump = ebt_field_by_name(&tables[i], "udump"),
		};

		if (found.task < 0 || found.ustack < 0 ||
		    tables[i].fields[found.ustack].type != EBT_TYPE_STACK)
			continue;
		if (found.udump >= 0 && tables[i].fields[found.udump].type != EBT_TYPE_BYTES)
			found.udump = -1;
		if (found.kstack >= 0 && tables[i].fields[found.kstack].type != EBT_TYPE_STACK)
			found.kstack = -1;
		m->tables[m->n_tables++] = found;
	}
	return NULL;
}

static const struct stacked *stacked_of(const struct named_copy *m, uint16_t table)
{
	for (size_t i = 0; i < m->n_tables; i++) {
		if (m->tables[i].table == table)
			return &m->tables[i];
	}
	return NULL;
}

/* --- all addresses --- */

/* What was looked up last of this stack. */
static struct ebt_error *last_seen(struct named_copy *m, const struct ebt_batch *batch,
				   uint64_t stack, struct seen **ret)
{
	if (m->batch != batch->id || !m->n_seen) {
		if (batch->n_stacks >= m->n_seen) {
			free(m->seen);
			m->n_seen = batch->n_stacks + 1;
			m->seen = calloc(m->n_seen, sizeof(*m->seen));
			if (!m->seen)
				return &ebt_enomem;
		}
		memset(m->seen, 0, m->n_seen * sizeof(*m->seen));
		m->batch = batch->id;
	}
	*ret = &m->seen[stack];
	return NULL;
}

static struct ebt_error *resolve_row(void *arg, const struct ebt_row *row)
{
	struct named_copy *m = arg;
	const struct stacked *s = m->resolved;
	const struct ebt_task *task = ebt_task(row, (unsigned int)s->task);
	uint64_t value = ebt_u64(row, (unsigned int)s->ustack);
	const struct ebt_stack *stack = ebt_stack(row, (unsigned int)s->ustack);
	bool first_is_caller = s->kstack >= 0 && ebt_u64(row, (unsigned int)s->kstack);
	struct sym_frames frames;
	struct ebt_error *err;
	struct seen *seen;

	if (!stack || !task || !(stack->attrs & EBT_STACK_USER))
		return NULL;
	err = last_seen(m, row->batch, value, &seen);
	if (err || (seen->task == task && seen->first_is_caller == first_is_caller))
		return err;
	*seen = (struct seen){ task, first_is_caller };
	for (uint32_t i = 0; !err && i < stack->n; i++)
		err = sym_resolve(m->sym, task, row->time, stack->attrs, stack->addresses[i],
				  i > 0 || first_is_caller, &frames);
	return err;
}

static struct ebt_error *resolve_table(struct named_copy *m, const struct stacked *s)
{
	const struct ebt_want want = { s->table,
				       UINT64_C(1) << s->task | UINT64_C(1) << s->ustack |
					       (s->kstack < 0 ? 0 : UINT64_C(1) << s->kstack) };

	m->resolved = s;
	m->n_seen = 0;
	return trace_read_rows(m->report->trace, &want, 1, TRACE_UNFILTERED | TRACE_QUIET,
			       resolve_row, m);
}

/* --- the copy --- */

static enum ebt_copy_action choose(void *arg, const struct ebt_chunk_info *chunk,
				   const struct ebt_table *table)
{
	const struct named_copy *m = arg;
	const struct stacked *s = table ? stacked_of(m, table->id) : NULL;

	if (table && m->anew && (table->id == EBT_T_name_object || table->id == EBT_T_name_frame))
		return EBT_COPY_DROP;
	return s && s->udump >= 0 && chunk->rows ? EBT_COPY_EDIT : EBT_COPY_AS_IT_IS;
}

/* Puts the finished stack in the place of stack and dump, where it is longer or whole. */
static struct ebt_error *finish_row(struct named_copy *m, const struct stacked *s,
				    const struct ebt_row *row, struct ebt_edit *edit, bool *changed)
{
	const struct ebt_stack *partial = ebt_stack(row, (unsigned int)s->ustack);
	struct ebt_str dump = ebt_str(row, (unsigned int)s->udump);
	struct ebt_stack whole;
	struct ebt_error *err;

	if (!partial || !dump.len)
		return NULL;
	err = sym_unwind_deferred(m->sym, ebt_task(row, (unsigned int)s->task), row->time, partial,
				  dump, m->addresses, &whole);
	if (err || (whole.n <= partial->n &&
		    (whole.attrs >> EBT_STACK_STOP_SHIFT & 0xff) != EBT_STOP_ROOT))
		return err;
	ebt_edit_column(edit, (uint32_t)s->ustack)[row->i] = ebt_edit_stack(edit, &whole);
	ebt_edit_column(edit, (uint32_t)s->udump)[row->i] = 0;
	*changed = true;
	return NULL;
}

static struct ebt_error *finish_stacks(void *arg, struct ebt_edit *edit, bool *ret_changed)
{
	struct named_copy *m = arg;
	const struct ebt_batch *batch = ebt_edit_batch(edit);
	const struct stacked *s = stacked_of(m, batch->table->id);
	struct ebt_error *err = NULL;

	*ret_changed = false;
	for (uint32_t f = 1; f < batch->table->n_fields; f++)
		ebt_edit_keep(edit, f);
	for (uint32_t i = 0; !err && i < batch->rows; i++) {
		const struct ebt_row row = { .batch = batch, .time = batch->col[0][i], .i = i };

		err = finish_row(m, s, &row, edit, ret_changed);
	}
	return err;
}

/* --- the names --- */

static struct ebt_error *see_object(void *arg, const struct ebt_row *row)
{
	uint64_t id = ebt_name_object_object_id(row);
	struct named_copy *m = arg;

	if (id > m->last_object_id)
		m->last_object_id = id;
	return NULL;
}

/* The largest number of an object that the trace has names for. */
static struct ebt_error *find_last_object_id(struct named_copy *m)
{
	const struct ebt_want want = EBT_WANT(name_object, object_id);

	return trace_read_rows(m->report->trace, &want, 1, TRACE_UNFILTERED | TRACE_QUIET,
			       see_object, m);
}

static struct ebt_error *object_id(struct named_copy *m, const struct sym_place *place,
				   uint64_t *ret)
{
	struct ebt_wire_name_object *row;
	struct ebt_error *err;

	err = ebt_array_reserve_zeroed(&m->object_ids, place->object, &m->n_object_ids);
	if (err)
		return err;
	*ret = m->object_ids[place->object];
	if (*ret)
		return NULL;
	row = ebt_record_begin(&m->record, EBT_T_name_object, trace_end_ns(m->report->trace));
	row->object_id = m->last_object_id + 1;
	ebt_record_str(&m->record, offsetof(struct ebt_wire_name_object, path), place->path);
	ebt_record_bytes(&m->record, offsetof(struct ebt_wire_name_object, build_id),
			 place->build_id, place->build_id_len);
	err = ebt_record_add(&m->record, m->stream);
	if (err)
		return err;
	*ret = m->object_ids[place->object] = ++m->last_object_id;
	return NULL;
}

static struct ebt_error *put_frame(struct named_copy *m, const struct sym_place *place,
				   uint64_t object, size_t depth)
{
	const struct sym_frame *frame = place->frames.n ? &place->frames.frames[depth] : NULL;
	struct ebt_wire_name_frame *row;

	row = ebt_record_begin(&m->record, EBT_T_name_frame, trace_end_ns(m->report->trace));
	row->object_id = object;
	row->offset = place->offset;
	row->address = frame ? 0 : place->address;
	row->caller = place->caller;
	row->depth = (uint32_t)depth;
	row->line = frame ? frame->line : 0;
	if (frame)
		ebt_record_str(&m->record, offsetof(struct ebt_wire_name_frame, name),
			       frame->func->name);
	if (frame && frame->file)
		ebt_record_str(&m->record, offsetof(struct ebt_wire_name_frame, file), frame->file);
	return ebt_record_add(&m->record, m->stream);
}

static struct ebt_error *put_place(void *arg, const struct sym_place *place)
{
	struct named_copy *m = arg;
	struct ebt_error *err;
	uint64_t object;
	size_t depth = 0;

	if (place->reason != SYM_OK) {
		m->unnamed++;
		if (!m->example && asprintf(&m->example, "%s: %s", place->path,
					    sym_reason_name(place->reason)) < 0) {
			m->example = NULL;
			return &ebt_enomem;
		}
		if (place->reason != SYM_NO_SYMBOL)
			return NULL;
	}
	m->named += place->reason == SYM_OK;
	err = object_id(m, place, &object);
	if (err)
		return err;
	do {
		err = put_frame(m, place, object, depth);
	} while (!err && ++depth < place->frames.n);
	return err;
}

static struct ebt_error *put_names(void *arg, struct ebt_stream *stream)
{
	struct named_copy *m = arg;
	struct ebt_error *err;

	m->stream = stream;
	err = find_last_object_id(m);
	if (err)
		return err;
	err = sym_each_place(m->sym, put_place, m);
	if (err)
		return err;
	err = copying_meta(m->report, stream, "bundle.version", EBT_VERSION);
	return err ? err : copying_note_damage(trace_reader(m->report->trace), stream);
}

static struct ebt_error *resolve(struct named_copy *m)
{
	struct ebt_error *err = trace_sym(m->report->trace, &m->sym) ?: find_tables(m);

	for (size_t i = 0; !err && i < m->n_tables; i++)
		err = prepare_names(m->report->trace, m->tables[i].table,
				    TRACE_UNFILTERED | TRACE_QUIET)
			      ?: resolve_table(m, &m->tables[i]);
	return err;
}

struct ebt_error *named_copy_create(struct report *report, bool anew, struct named_copy **ret)
{
	_cleanup_(named_copy_destroyp) struct named_copy *m = calloc(1, sizeof(*m));
	struct ebt_error *err;

	if (!m)
		return &ebt_enomem;
	m->report = report;
	m->record = (struct ebt_record)EBT_RECORD_INIT;
	m->anew = anew;
	if (anew)
		trace_no_bundle(report->trace);
	err = resolve(m);
	if (!err)
		*ret = take_ptr(m);
	return err;
}

struct ebt_copy_options named_copy_options(struct named_copy *m)
{
	return (struct ebt_copy_options){
		.arg = m,
		.action = choose,
		.edit = finish_stacks,
		.append = put_names,
	};
}

uint64_t named_copy_unnamed(const struct named_copy *m)
{
	return m->unnamed;
}

struct ebt_error *named_copy_warn(const struct named_copy *m)
{
	if (!m->unnamed)
		return NULL;
	return trace_warn(m->report->trace,
			  "%" PRIu64 " of %" PRIu64 " %s in files %s no name; the first is of %s",
			  m->unnamed, m->named + m->unnamed,
			  text_plural(m->named + m->unnamed, "address", "addresses"),
			  text_plural(m->unnamed, "has", "have"), m->example);
}
