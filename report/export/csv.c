/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table as comma separated values, as `dump --csv` has it. */
#include <inttypes.h>
#include <string.h>

#include "report/export/export.h"
#include "report/share/dump.h"

struct csv {
	struct export *e;
	struct dump_tables t;
	const struct dump_fields *fields;
	struct text line, cell;
};

static void csv_deinit(struct csv *c)
{
	dump_tables_deinit(&c->t);
	text_deinit(&c->line);
	text_deinit(&c->cell);
}

static void put_value(struct csv *c, const struct ebt_row *row, uint8_t i)
{
	const struct ebt_field *field = &c->fields->table->fields[i];
	const uint64_t v = ebt_u64(row, i);

	switch (field->type) {
	case EBT_TYPE_U64:
	case EBT_TYPE_TIME:
	case EBT_TYPE_DURATION:
		text_u64(&c->line, v);
		break;
	case EBT_TYPE_I64:
		text_printf(&c->line, "%" PRId64, (int64_t)v);
		break;
	case EBT_TYPE_HEX:
		text_printf(&c->line, "0x%" PRIx64, v);
		break;
	case EBT_TYPE_STRING:
		text_csv(&c->line, ebt_str(row, i));
		break;
	case EBT_TYPE_ENUM:
	case EBT_TYPE_TASK:
	case EBT_TYPE_STACK:
	case EBT_TYPE_BYTES:
	case EBT_N_TYPES:
		text_clear(&c->cell);
		dump_value(&c->cell, row, field, i);
		text_csv(&c->line, text_str(&c->cell));
		break;
	}
}

static struct ebt_error *put_line(struct csv *c)
{
	text_cstr(&c->line, "\r\n");
	fwrite(text_get(&c->line), 1, c->line.len, c->e->f);
	return text_error(&c->line) ?: text_error(&c->cell);
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct csv *c = arg;

	text_clear(&c->line);
	text_u64(&c->line, row->time);
	for (uint32_t i = 0; i < c->fields->n; i++) {
		text_addc(&c->line, ',');
		put_value(c, row, c->fields->index[i]);
	}
	return put_line(c) ?: ferror(c->e->f) ? &trace_enough : NULL;
}

static struct ebt_error *choose_table(struct csv *c)
{
	const struct options *o = c->e->report->options;
	const char *name = options_string(o, "table");
	struct ebt_error *err = dump_tables_init(c->e->trace, &c->t);

	if (!err && (!name || strchr(name, ',')))
		err = ebt_error_create(EBT_ERR_INVALID, "--to csv is of one table: --table NAME");
	err = err ?: dump_tables_choose(&c->t, o, name);
	for (size_t i = 0; !err && i < c->t.n; i++) {
		if (c->t.chosen[i])
			c->fields = &c->t.fields[i];
	}
	return err;
}

struct ebt_error *export_csv(struct export *e)
{
	__attribute__((cleanup(csv_deinit))) struct csv c = { .e = e };
	struct ebt_error *err = choose_table(&c);

	if (err)
		return err;
	text_cstr(&c.line, "time_ns");
	for (uint32_t i = 0; i < c.fields->n; i++)
		text_printf(&c.line, ",%s", c.fields->table->fields[c.fields->index[i]].name);
	return put_line(&c) ?: trace_read_table(e->trace, c.fields->table->id, 0, take_row, &c);
}
