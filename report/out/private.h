/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between out.c, which collects, sorts and orders rows, and the writers table.c, json.c
 * and csv.c, which get them in their final order.
 */
#ifndef REPORT_OUT_PRIVATE_H
#define REPORT_OUT_PRIVATE_H

#include "report/base/text.h"
#include "report/out/out.h"

/* A table as --columns wants it. All zero: as it is. */
struct out_chosen {
	struct out_table table;
	struct out_column *columns;
	const struct out_column *all; /* of the table, whose types may change between rows */
	char **headers;		      /* those that were made up */
	size_t *from;		      /* by column: which one of the table's it is */
	struct out_value *values;
	size_t n;
};

struct ebt_error *out_choose_columns(const char *list, const struct out_table *table,
				     struct out_chosen *chosen);
void out_chosen_deinit(struct out_chosen *chosen);
/* A row in the order of the chosen columns; valid until the next one. */
const struct out_value *out_chosen_values(const struct out_chosen *chosen,
					  const struct out_value *values);

/* The column that an option's word means: its index; n_columns: there is none. */
size_t out_find_column(const struct out_table *table, const char *name, size_t len);
/* "--sort: there is no column 'x'; there are …" */
struct ebt_error *out_no_column(const struct out_table *table, const char *option, const char *name,
				size_t len);

struct out {
	const struct options *options;
	struct trace *trace;
	enum option_format format;
	FILE *f;
	const char *path;		   /* for messages */
	FILE *own_file;			   /* -o, or NULL */
	bool made;			   /* it is new, and the copy is not whole yet */
	FILE *copy;			   /* COMMAND_COPY: the trace that is written */
	const struct out_capture *capture; /* or NULL */
	size_t n_passed;		   /* rows of the table that were dropped so far */
	bool terminal, colors, opened;
	unsigned int width;
	struct json json;
	uint64_t interval_from, interval_to; /* with --interval: of the one that tables are of */
	uint32_t n_intervals;
	uint64_t n_json_lines;
	bool header_written; /* CSV: once for all intervals and machines */
	struct text header;  /* of several machines */

	uint32_t host; /* of several machines; 0: it is of one */
	struct text host_name;
	bool hosts_opened;	 /* JSON: the document around them */
	unsigned int host_depth; /* JSON: of the object of one */

	const struct out_table *table; /* between begin and end */
	struct out_line *lines;
	size_t n_lines, capacity;
	struct out_chosen chosen;
	bool columns_taken;	       /* --columns was of some use */
	bool sort_taken;	       /* --sort likewise */
	const char *left_out;	       /* see out_leaves_out() */
	bool has_text;		       /* a table or a line was written */
	uint32_t last[JSON_MAX_DEPTH]; /* last line of each depth */
	struct text cell, joined;      /* scratch of the writers */
	struct text dropped;	       /* headers of columns that did not fit */
	size_t n_dropped;
};

/* Lines of a table in the order in which they are printed. */
struct out_lines {
	const struct out_line *all;
	const uint32_t *order;
	size_t n;
};

/* May rows of the table have rows below them? */
static inline bool out_is_deep(const struct out_table *table)
{
	return table->children || (table->flags & OUT_TREE);
}

/* The items of an OUT_LIST with spaces between them; valid until the next call. */
struct ebt_str out_join(struct out *out, struct ebt_str items);

/* An integer as it is, or as 0x… where the type is OUT_HEX, behind what is in out->cell. */
void out_integer(struct out *out, enum out_type type, const struct out_value *value);

/* A column was left out, as the terminal is narrow. */
void out_note_dropped(struct out *out, const char *header);

struct ebt_error *out_table_write(struct out *out, const struct out_lines *lines);
struct ebt_error *out_json_write(struct out *out, const struct out_lines *lines);
struct ebt_error *out_csv_write(struct out *out, const struct out_lines *lines);

/* With out->capture; of a stream that is not sorted lines may be NULL. */
struct ebt_error *out_capture_write(struct out *out, const struct out_lines *lines);

/* The same for streams: what stands before the first row, and one row. */
struct ebt_error *out_table_stream_begin(struct out *out);
struct ebt_error *out_table_stream_row(struct out *out, const struct out_value *values);
void out_json_stream_begin(struct out *out);
void out_json_stream_row(struct out *out, const struct out_value *values);
void out_json_stream_end(struct out *out);
struct ebt_error *out_csv_stream_begin(struct out *out);
struct ebt_error *out_csv_stream_row(struct out *out, const struct out_value *values);

void out_json_intervals_begin(struct out *out);
void out_json_interval_begin(struct out *out);

/* A time as JSON has it. */
void out_json_time(struct out *out, uint64_t time);

/* The JSON object around the tables: its first members, and its last; of a line, the first. */
void out_json_line_begin(struct out *out);
void out_json_open(struct out *out);
struct ebt_error *out_json_close(struct out *out);
/* Ends the object of a machine that could not be read, and the document around all. */
void out_json_fail(struct out *out, const char *message);
void out_json_close_hosts(struct out *out);

/* What stands below the tables of a trace. */
struct ebt_error *out_finish_trace(struct out *out);
/* A table that was not ended. */
void out_drop_table(struct out *out);

enum out_kind { OUT_KIND_TEXT, OUT_KIND_PICTURE, OUT_KIND_TRACE, OUT_KIND_PACKED };

/* The file of an option, for this kind of output; see out_open_picture(). A copy of a trace is not
 * truncated: see out_copy_fd(). */
struct ebt_error *out_open(const struct options *options, const char *option, const char *path,
			   enum out_kind kind, FILE **ret);

#endif
