/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output of a report. A command declares the columns of a table and gives it rows; this sorts
 * (--sort), keeps the first (--top) and writes them as a table for people, as JSON, or as CSV.
 * Each column stands in a list, with its value in a row:
 *
 *	#define CALLS(X)                                                          \
 *		X("name", "CALL", OUT_STRING, out_cstr(call->name))               \
 *		X("count", "COUNT", OUT_U64, out_u64(call->count), 0, 90)         \
 *		X("total_ns", "TOTAL", OUT_DURATION, out_u64(call->ns), OUT_SORT)
 *
 *	const struct out_table table = OUT_TABLE_OF("rows", CALLS);
 *
 *	err = out_begin(out, &table);
 *	err = out_row(out, 0, OUT_VALUES(CALLS)); (where there is a `call`)
 *	err = out_end(out);
 *
 * Values come from strangers: each writer escapes them for its language.
 */
#ifndef REPORT_OUT_OUT_H
#define REPORT_OUT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/base/json.h"
#include "report/cli/options.h"
#include "report/trace/trace.h"

struct histogram;
struct out;

enum out_type {
	OUT_STRING, /* s */
	OUT_LIST, /* s, items that end with a NUL; an array of strings in JSON, spaces between them
		     elsewhere */
	OUT_U64,  /* u */
	OUT_I64,  /* i */
	OUT_HEX,  /* u; a string "0x…" in JSON */
	OUT_ID,	  /* u, a number that names something and may exceed 2^53: a string in JSON */
	OUT_SIGNED_ID, /* i, the same of one that may be negative */
	OUT_DURATION,  /* u, ns: `1.234 ms` on a terminal */
	/* u, ns of CLOCK_MONOTONIC: since the start of the trace in JSON, and in seconds on a
	 * terminal */
	OUT_TIME,
	OUT_BYTES,   /* u: `1.2 MiB` on a terminal */
	OUT_PERCENT, /* f, 0 to 100 */
	OUT_FLOAT,   /* f */
	OUT_NUMBER,  /* f; not rounded in JSON and CSV */
	OUT_SERIES,  /* points; JSON only: an array of [time_ns, value] */
	OUT_BOOL,    /* u */
};

enum out_column_flags {
	OUT_SORT = 1 << 0,   /* rows are sorted by it, largest first (text: A to Z), by default */
	OUT_DETAIL = 1 << 1, /* only in JSON and CSV */
	OUT_TEXT_ONLY = 1 << 2, /* only on a terminal */
	OUT_PARENT =
		1 << 3, /* CSV, which is flat: a row takes it from the row above where it is null */
	OUT_RIGHT = 1 << 4,    /* text to the right; numbers are there anyway */
	OUT_INDENT = 1 << 5,   /* text indented by the row's depth on a terminal */
	OUT_FLEX = 1 << 6,     /* the first to be shortened where the terminal is narrow */
	OUT_OPTIONAL = 1 << 7, /* left out where the terminal is narrow, the last one first */
	OUT_HIDDEN = 1 << 8,   /* in no output: not among --columns */
	OUT_NAME = 1 << 9,     /* what a row is called: shortened after those that are flexible */
	/* What rows of parts of a time have to do with the row of all of it, for a page that has
	 * the parts (report/page/tables.c). A column without any of these is known of the whole
	 * only. */
	OUT_KEY = 1 << 10,   /* rows are of the same if they have this in common, and all such */
	OUT_ADDS = 1 << 11,  /* the sum of what the parts have; null where none has any */
	OUT_PEAK = 1 << 12,  /* the largest of what the parts have */
	OUT_LEAST = 1 << 13, /* the least */
	OUT_LAST = 1 << 14,  /* that of the last part that has any */
	/* that of the first part which has the largest of the column `of`; with OUT_LAST, the last
	 */
	OUT_AT = 1 << 15,
	/* of / by, each a column or the sum of several: "reads writes". Without `by`: of the values
	 * of the OUT_SPREAD `of`. */
	OUT_MEAN = 1 << 16,
	OUT_SHARE = 1 << 17, /* of, in percent of that of all rows of the table */
	OUT_RATE = 1 << 18,  /* of, by the seconds of the time */
	/* out_percentile() of `percent` from the values of all parts; where `of` is given, these
	 * are those of that column. */
	OUT_SPREAD = 1 << 19,
	/* Where rows are of one thing each, a command has those of a time that begin in it; with
	 * OUT_ENDS, those of which something lies in it. */
	OUT_BEGINS = 1 << 20, /* an OUT_TIME; null: before all times */
	OUT_ENDS = 1 << 21, /* an OUT_TIME, at which the row is still there; null: it has no end. An
			       OUT_DURATION, at whose end it is not; null: it is a moment */
};

struct out_column {
	const char *key;    /* snake_case; of a time or duration it ends with _ns */
	const char *header; /* on a terminal */
	enum out_type type;
	unsigned int flags;
	unsigned int narrow; /* where the terminal is too narrow, those with more go first */
	const char *of, *by; /* keys of columns; see OUT_AT … OUT_SPREAD */
	double percent;
};

/* A column, and its value in a row, of a list X(key, header, type, value, flags, narrow), of which
 * the last two may be left out; .of, .by and .percent may follow. */
#define OUT_COLUMN(key, header, type, value, ...) { key, header, type, __VA_ARGS__ },
#define OUT_VALUE(key, header, type, value, ...)  value,
#define OUT_VALUES(LIST)			  ((struct out_value[]){ LIST(OUT_VALUE) })

enum out_table_flags {
	/* Rows are written as they come: no --sort, no --top (the command does it), constant
	 * memory. Depth must be 0. Terminal columns are as wide as their header or 12. */
	OUT_STREAM = 1 << 0,
	/* Rows keep the order in which they come unless --sort is given. */
	OUT_KEEP_ORDER = 1 << 1,
	/* --sort is for another table of this command. */
	OUT_FIXED = 1 << 2,
	/* Rows may be of any depth. In JSON they stand in one array, each with its place there
	 * (id), those of depth > 0 with that of the row that they belong to (parent). CSV has a
	 * depth. */
	OUT_TREE = 1 << 3,
	/* The command has done --top. */
	OUT_CUT = 1 << 4,
};

struct out_table {
	const char *key; /* JSON: name of the array; "rows" for the main one, the only one in CSV */
	const char *title; /* line above it on a terminal, or NULL */
	const struct out_column *columns;
	size_t n_columns;
	const char *children; /* JSON: name of the array of rows one deeper, or NULL */
	unsigned int flags;   /* enum out_table_flags */
	uint64_t top;	      /* without --top, in text: so many rows; 0: all */
};

/* A table of the columns of a list, which is static outside functions alone, and members that are
 * not zero. */
#define OUT_TABLE_OF(key_, LIST, ...)                                                    \
	{                                                                                \
		.key = key_, .columns = (const struct out_column[]){ LIST(OUT_COLUMN) }, \
		.n_columns = sizeof((struct out_column[]){ LIST(OUT_COLUMN) }) /         \
			     sizeof(struct out_column),                                  \
		__VA_ARGS__                                                              \
	}
/* The same of an array of columns. */
#define OUT_TABLE(key_, columns_, ...)                                           \
	{                                                                        \
		.key = key_, .columns = columns_,                                \
		.n_columns = sizeof(columns_) / sizeof(*(columns_)), __VA_ARGS__ \
	}

/* Must live until out_end(). */
struct out_points {
	size_t n;
	const struct out_point {
		uint64_t time;
		double value;
	} * list;
};

struct out_value {
	union {
		struct {
			uint64_t u;
			const struct histogram *spread; /* of an out_percentile() */
		};
		int64_t i;
		double f;
		struct ebt_str s;
		struct out_points points;
	};
	bool null; /* nothing on a terminal and in CSV; left out of JSON */
};

static inline struct out_value out_u64(uint64_t u)
{
	return (struct out_value){ .u = u };
}

/* Sums are of what a trace claims. */
static inline struct out_value out_rounded(double v)
{
	return out_u64(v < 0 ? 0 : v >= 1.8e19 ? UINT64_MAX : (uint64_t)(v + 0.5));
}

static inline struct out_value out_i64(int64_t i)
{
	return (struct out_value){ .i = i };
}

static inline struct out_value out_f64(double f)
{
	return (struct out_value){ .f = f };
}

static inline struct out_value out_str(struct ebt_str s)
{
	return (struct out_value){ .s = s };
}

static inline struct out_value out_cstr(const char *s)
{
	return (struct out_value){ .s = { s, strlen(s) } };
}

static inline struct out_value out_null(void)
{
	return (struct out_value){ .null = true };
}

static inline struct out_value out_u64_if(bool known, uint64_t u)
{
	return (struct out_value){ .u = u, .null = !known };
}

static inline struct out_value out_f64_if(bool known, double f)
{
	return (struct out_value){ .f = f, .null = !known };
}

/* Of a task; null where it is not known. */
static inline struct out_value out_pid(const struct ebt_task *task)
{
	return task ? out_u64(task->pid) : out_null();
}

static inline struct out_value out_tid(const struct ebt_task *task)
{
	return task ? out_u64(task->tid) : out_null();
}

static inline struct out_value out_comm(const struct ebt_task *task)
{
	return task ? out_str(task->comm) : out_null();
}

/* Null where it is empty. */
static inline struct out_value out_str_if(struct ebt_str s)
{
	return (struct out_value){ .s = s, .null = !s.len };
}

/* Null where there is none, or it is empty. */
static inline struct out_value out_cstr_if(const char *s)
{
	return s && *s ? out_cstr(s) : out_null();
}

/* Opens -o FILE (never the trace itself) or takes standard output. The options and the trace must
 * outlive it. */
struct ebt_error *out_create(const struct options *options, struct trace *trace, struct out **ret);
/* Writes to the pager f instead, which is closed after out_finish(). */
void out_page(struct out *out, FILE *f);
struct out_line {
	const struct out_value *values; /* one a column of the table */
	uint32_t depth, parent;		/* parent: index of the line above it, or OUT_NO_PARENT */
};
#define OUT_NO_PARENT UINT32_MAX

/* A table that was not written: rows in their order, at most so many. Valid within the call. */
struct out_captured {
	const struct out_table *table;
	const struct out_line *lines;
	const uint32_t *order; /* of n of the lines; NULL: as they are */
	size_t n, left_out;
	uint64_t from_ns, to_ns; /* with --interval: of which one; else 0 */
};
struct out_capture {
	struct ebt_error *(*take)(void *arg, const struct out_captured *table);
	void *arg;
	size_t max_rows; /* not 0 */
};
/* Instead: tables are as they are with --json, which the options must say, and go to take(). All
 * else that a command writes is lost. */
struct ebt_error *out_create_capture(const struct options *options, struct trace *trace,
				     const struct out_capture *capture, struct out **ret);
bool out_is_captured(const struct out *out);
/* A value as --json has it; times are since start_ns. */
void out_json_value(struct json *json, uint64_t start_ns, enum out_type type,
		    const struct out_value *value);
/* Does not complete anything: out_finish() does. */
void out_destroy(struct out *out);
DEFINE_CLEANUP(struct out *, out_destroy);

/* Completes the JSON object (losses and warnings of the trace are its last members), flushes, and
 * says whether all could be written. */
struct ebt_error *out_finish(struct out *out);

/*
 * A file of several machines: around what a command writes of each of them, before out_finish().
 * Text has a line that says which machine it is; JSON is one document with an object for each, and
 * CSV one table. The trace must live until the next call of these.
 */
struct ebt_error *out_host_begin(struct out *out, struct trace *trace);
struct ebt_error *out_host_end(struct out *out);
/* Instead: the machine with this number could not be read, or not to its end. */
void out_host_fail(struct out *out, uint32_t host, const struct ebt_error *err);

/* Around the tables of a line of JSON, of a command that has --ndjson; seq counts the lines. The
 * command adds members of its own. */
struct json *out_line_begin(struct out *out);
void out_line_end(struct out *out);

/* Around the tables of all intervals, and around those of one: from <= time < to. */
void out_intervals_begin(struct out *out);
void out_interval_begin(struct out *out, uint64_t from_ns, uint64_t to_ns);
void out_interval_end(struct out *out);
void out_intervals_end(struct out *out);

/* Table. The definition must live until out_end(). --sort with a column that the table does not
 * have is EBT_ERR_INVALID and names those that it has. */
struct ebt_error *out_begin(struct out *out, const struct out_table *table);
/* n values, one a column (asserted); copied. A row of depth d belongs to the last row of depth
 * d - 1. */
struct ebt_error *out_row_n(struct out *out, unsigned int depth, const struct out_value *values,
			    size_t n);
/* The same of an array, whose values are counted; of a pointer it does not compile. */
#define out_row(out, depth, ...) out_row_n(out, depth, __VA_ARGS__, OUT_N_VALUES(__VA_ARGS__))
#define OUT_IS_POINTER(...) \
	__builtin_types_compatible_p(__typeof__(__VA_ARGS__), __typeof__(&(__VA_ARGS__)[0]))
#define OUT_N_VALUES(...)                                 \
	(sizeof(__VA_ARGS__) / sizeof(struct out_value) + \
	 0 * sizeof(char[1 - 2 * OUT_IS_POINTER(__VA_ARGS__)]))
struct ebt_error *out_end(struct out *out);

/* For a text that leaves an empty table out: --sort and --columns have to be of its columns, as
 * where out_begin() is called. */
struct ebt_error *out_leave_out(struct out *out, const struct out_table *table);

/* The whole of a table of n rows; `put` writes the one with the index i and is its error or NULL.
 */
#define out_rows(out, table, n, i, put)                                \
	({                                                             \
		struct ebt_error *err_##i = out_begin((out), (table)); \
                                                                       \
		for (size_t i = 0; !err_##i && i < (n); i++)           \
			err_##i = (put);                               \
		err_##i ? err_##i : out_end(out);                      \
	})

/* Text between tables; nothing with --json and --csv. What comes from the trace goes through
 * text_terminal() (text.h) first. */
void out_printf(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of such text: words behind a head, of which "" is none. Where a terminal is narrower, the
 * words go on in other lines, which begin with `indent` blanks; with --wide they do not. */
void out_fill(struct out *out, const char *head, int indent, const char *words);
/* What of the threads that a report leaves out it leaves out, as "the waits of "; the string must
 * live until out_finish(). Without it: the threads. */
void out_leaves_out(struct out *out, const char *of);

/* Another file that an option names, for a picture; never the trace itself, and without --force no
 * file that is no picture. The caller closes it. */
struct ebt_error *out_open_picture(const struct options *options, const char *option,
				   const char *path, FILE **ret);

/* A folder for files that an option names, which is made where it is not there. */
struct ebt_error *out_open_folder(const char *path, int *ret);
/* A new file in that folder, never one that is there (force: which goes first): nothing that the
 * name may be a link to is touched. */
struct ebt_error *out_make_file(int folder, const char *path, const char *name, bool force,
				int *ret);

/* The comment that gzip has of what a command packs: with it, it is no trace, and -o replaces it as
 * it replaces text. */
#define OUT_GZIP_COMMENT "ebreport"

enum option_format out_format(const struct out *out);
/* The JSON writer, inside the top object between members: a command adds members of its own.
 * NULL without --json. */
struct json *out_json(struct out *out);
/* For commands that write text or pictures of their own. */
FILE *out_file(struct out *out);
/* Where a command with COMMAND_COPY writes its trace. */
struct ebt_error *out_copy_fd(struct out *out, int *ret);
bool out_is_terminal(const struct out *out);
bool out_colors(const struct out *out);
/* Columns of the terminal; 0: no limit (a file, a pipe). */
unsigned int out_width(const struct out *out);

#endif
