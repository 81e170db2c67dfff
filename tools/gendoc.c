/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes what the event table says into the documentation, between two marker lines: all tables
 * with their fields into docs/FORMAT.md (Markdown), the list of tables into docs/man/ebt.5 (mdoc).
 * With --check nothing is written: the exit status says whether the page is up to date.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/schema/schema.h"

#define BEGIN_MARKER "tables: made by tools/gendoc"
#define END_MARKER   "end of tables"

static const char *const class_names[] = {
	[EBT_CLASS_META] = "meta",
	[EBT_CLASS_STATE] = "state",
	[EBT_CLASS_EVENT] = "event",
};

/* --- Markdown --- */

static void markdown_values(FILE *out, const struct ebt_field *field)
{
	const char *before = *field->doc ? ": " : "";

	for (uint32_t i = 0; i < field->n_values; i++) {
		fprintf(out, "%s%ju %s", before, (uintmax_t)field->values[i].value,
			field->values[i].name);
		before = ", ";
	}
}

static void markdown_table(FILE *out, const struct ebt_table *table)
{
	fprintf(out, "\n### %s (%u, %s)\n\n%c%s.\n\n", table->name, table->id,
		class_names[table->class],
		table->doc[0] >= 'a' && table->doc[0] <= 'z' ? table->doc[0] - 'a' + 'A'
							     : table->doc[0],
		table->doc + 1);
	fputs("| id | field | type | unit | |\n|---|---|---|---|---|\n", out);
	for (uint32_t i = 0; i < table->n_fields; i++) {
		const struct ebt_field *field = &table->fields[i];

		fprintf(out, "| %u | %s | %s | %s | %s", field->id, field->name,
			ebt_type_name(field->type), field->unit, field->doc);
		markdown_values(out, field);
		fputs(" |\n", out);
	}
}

/* --- mdoc --- */

/* A tagged list entry; a dot or a quote that would begin a line of roff is kept from doing so. */
static void mdoc_table(FILE *out, const struct ebt_table *table)
{
	fprintf(out, ".It Sy %s Pq %s\n\\&%s.\n", table->name, class_names[table->class],
		table->doc);
}

/* --- pages --- */

struct style {
	const char *suffix;
	void (*print)(FILE *out, const struct ebt_table *table);
	const char *after; /* put behind the last table */
};

static const struct style styles[] = {
	{ ".md", markdown_table, "\n" },
	{ ".5", mdoc_table, "" },
};

static const struct style *style_of(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < sizeof(styles) / sizeof(*styles); i++) {
		size_t n = strlen(styles[i].suffix);

		if (len > n && !strcmp(path + len - n, styles[i].suffix))
			return &styles[i];
	}
	return NULL;
}

static void print_tables(FILE *out, const struct style *style)
{
	for (size_t i = 0; i < ebt_n_tables; i++)
		style->print(out, &ebt_tables[i]);
	fputs(style->after, out);
}

/* Copies the page, with new text between the markers. */
static struct ebt_error *render(FILE *in, FILE *out, const char *path, const struct style *style)
{
	_cleanup_free_ char *line = NULL;
	bool inside = false, done = false;
	size_t capacity = 0;

	while (getline(&line, &capacity, in) >= 0) {
		if (strstr(line, END_MARKER))
			inside = false;
		if (!inside)
			fputs(line, out);
		if (!done && strstr(line, BEGIN_MARKER)) {
			print_tables(out, style);
			inside = done = true;
		}
	}
	if (!done || inside)
		return ebt_error_create(EBT_ERR_INVALID, "%s: no markers for the tables", path);
	return NULL;
}

/* Bytes of the stream, which is at its end afterwards. */
static bool same_text(FILE *f, const char *text, size_t len)
{
	rewind(f);
	for (size_t i = 0; i < len; i++) {
		if (getc(f) != (unsigned char)text[i])
			return false;
	}
	return getc(f) == EOF;
}

static struct ebt_error *save(const char *path, const char *text, size_t len)
{
	_cleanup_fclose_ FILE *f = fopen(path, "we");

	if (!f || fwrite(text, 1, len, f) != len || fflush(f))
		return ebt_error_errno(errno, "%s", path);
	return NULL;
}

static struct ebt_error *update(const char *path, bool check)
{
	const struct style *style = style_of(path);
	_cleanup_fclose_ FILE *in = fopen(path, "re");
	_cleanup_free_ char *text = NULL;
	struct ebt_error *err;
	size_t len = 0;
	FILE *out;

	if (!in)
		return ebt_error_errno(errno, "%s", path);
	if (!style)
		return ebt_error_create(EBT_ERR_INVALID, "%s: neither .md nor .5", path);
	out = open_memstream(&text, &len);
	if (!out)
		return &ebt_enomem;
	err = render(in, out, path, style);
	if (fclose(out) && !err)
		return &ebt_enomem;
	if (err || same_text(in, text, len))
		return err;
	if (check)
		return ebt_error_create(EBT_ERR_INVALID,
					"%s: not what the event table says; run tools/gendoc %s",
					path, path);
	return save(path, text, len);
}

int main(int argc, char **argv)
{
	bool check = argc > 1 && !strcmp(argv[1], "--check");
	_cleanup_error_ struct ebt_error *err = NULL;

	if (argc < 2 + check) {
		fputs("usage: gendoc [--check] PAGE.md|PAGE.5 …\n", stderr);
		return 2;
	}
	for (int i = 1 + check; i < argc && !err; i++)
		err = update(argv[i], check);
	if (err)
		fprintf(stderr, "gendoc: %s\n", err->message);
	return err ? 1 : 0;
}
