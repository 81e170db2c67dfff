/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace as a command sees it: the reader with the filters of the command line applied, the
 * symbolizer when it is first needed, and what has to be said about missing rows.
 */
#ifndef REPORT_TRACE_TRACE_H
#define REPORT_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/cli/options.h"

struct sym;
struct names;
struct trace;
struct trace_cursor;

/* The options must outlive the trace. */
struct ebt_error *trace_open(const struct options *options, struct trace **ret);
/* The same for another command on a file that is open: reader, names and symbols are those of
 * `beside`, which must outlive it; window, state and warnings are its own. */
struct ebt_error *trace_open_beside(const struct options *options, struct trace *beside,
				    struct trace **ret);
void trace_close(struct trace *trace);
DEFINE_CLEANUP(struct trace *, trace_close);

struct ebt_reader *trace_reader(const struct trace *trace);

/* Of a file of several machines the first is read, or that of --host. How many there are; 0: it is
 * of one. And what people call one of them: its number and its name, as it says itself. */
size_t trace_n_hosts(const struct trace *trace);
struct text;
struct ebt_error *trace_host_name(struct trace *trace, struct text *ret);
/* The error where all of them cannot be had at once. */
struct ebt_error *trace_choose_one(struct trace *trace, const char *why);

/*
 * A command with COMMAND_LIVE may be given a trace that is still being written. trace_more() waits
 * for more of it; rows before *ret_until are all there then. Cursors are created for the windows
 * between these times (trace_set_window()); rows of tables that know no time are told apart by
 * chunks (ebt_reader_pass()).
 */
bool trace_is_live(const struct trace *trace);
struct ebt_error *trace_more(struct trace *trace, uint64_t *ret_until, bool *ret_end);

/* The trace's own first and last time, CLOCK_MONOTONIC ns. */
uint64_t trace_start_ns(const struct trace *trace);
uint64_t trace_end_ns(const struct trace *trace);
/* Of a part of a recording: when that began, as far as the part tells. Else trace_start_ns(). */
uint64_t trace_recorded_ns(const struct trace *trace);

/* The window that --from and --to leave: from <= time < to. Without them from is the start and
 * to is one more than the end. What is recorded before the start and behind the end, while ebrec
 * gets ready and finishes, says what was so then: such events are in no report, but in `dump`,
 * `export` and copies. */
uint64_t trace_from_ns(const struct trace *trace);
uint64_t trace_to_ns(const struct trace *trace);
/* Where the trace ends, if that is before; and how long it is from trace_from_ns() to there. */
uint64_t trace_window_end_ns(const struct trace *trace);
uint64_t trace_window_ns(const struct trace *trace);

/*
 * With --interval a command sees one part of the window after another, as if --from and --to had
 * been given. The first has what lies before it too where there is no --from, and the last what
 * lies behind it where there is no --to, so that the parts make up the whole.
 */
enum trace_window {
	TRACE_FIRST_WINDOW = 1 << 0,
	TRACE_LAST_WINDOW = 1 << 1,
};
void trace_set_window(struct trace *trace, uint64_t from, uint64_t to, unsigned int place);
/* Another part of the trace, and later the window again, which must be the only one. It does not
 * count as a window of its own. */
void trace_look_at(struct trace *trace, uint64_t from, uint64_t to);

/* State that a model keeps from one window to the next: the first member of the model's own
 * struct. */
struct trace_state {
	struct trace_state *next;
	void (*destroy)(struct trace_state *state);
	uint32_t window; /* that took it last */
};
/* Where the first window begins. */
uint64_t trace_whole_from_ns(const struct trace *trace);
/* The end of the window: rows at this time and later are not in it. UINT64_MAX: it has no end. */
uint64_t trace_rows_to_ns(const struct trace *trace);
/* Does the window leave rows out that are before it, or behind it? */
bool trace_has_before(const struct trace *trace);
bool trace_has_behind(const struct trace *trace);
/* Is there a window after this one? */
bool trace_has_more(const struct trace *trace);
/* Keeps the state for the next windows. The trace takes the state over, and destroys it at last. */
void trace_keep(struct trace *trace, struct trace_state *state);
/* The first with this destroy() that the present window has not taken yet; NULL: there is none. So
 * a command that keeps several of a kind gets them in the order in which it kept them. */
struct trace_state *trace_kept(struct trace *trace, void (*destroy)(struct trace_state *state));

/* Are there rows outside of the window, or may there be, as of a copy of a part? */
bool trace_is_cut(const struct trace *trace);
/* Is any moment from `from` to `to` in the window, where that is cut? */
bool trace_overlaps(const struct trace *trace, uint64_t from, uint64_t to);
/* The time in ns of CLOCK_MONOTONIC that an option is. */
uint64_t trace_option_ns(const struct trace *trace, const struct option_time *time);

/* Is the trace of a part of the time that was recorded (`ebreport cut`)? */
bool trace_is_part(const struct trace *trace);

/* Does the trace have rows of a table; or did it, before a part was made of it? */
bool trace_has_rows(const struct trace *trace, uint16_t table);

/* Is there any filter by task (--pid, --tid, --comm; a part may be of some processes), by process,
 * or by CPU? */
bool trace_has_task_filter(const struct trace *trace);
bool trace_has_pid_filter(const struct trace *trace);
bool trace_has_cpu_filter(const struct trace *trace);

/* Do the filters let this task pass? NULL (idle, none) passes where there is no filter. */
bool trace_task_wanted(struct trace *trace, const struct ebt_task *task);
bool trace_cpu_wanted(const struct trace *trace, uint64_t cpu);
/* The TASK fields that they ask about: how many, and their indexes. State is of its first task,
 * whoever else it names. */
uint32_t trace_filter_fields(const struct ebt_table *table, uint8_t ret[EBT_MAX_FIELDS]);

/*
 * Threads of the kernel are left out of tables whose rows are tasks, or sums of what tasks did,
 * unless --kernel-threads or a filter by task asks for them. Whoever makes such a table calls the
 * first function before it asks the second. Which tasks were left out is counted.
 */
struct ebt_error *trace_find_kernel_threads(struct trace *trace);
bool trace_leaves_out(struct trace *trace, const struct ebt_task *task);
uint64_t trace_n_left_out(const struct trace *trace);

/*
 * A cursor over tables. By default a row passes if its time is in the window, one of its TASK
 * fields (trace_filter_fields()) passes the task filters (a table without such fields passes), and
 * its field `cpu` (if the table has one) passes. The columns that this needs are read even if they
 * are not in wants. Times and a single --pid are pushed down to the reader: such chunks are never
 * read.
 *
 * Models that follow state over rows take some of the filters on themselves:
 */
enum trace_flags {
	TRACE_ALL_TASKS = 1 << 0,  /* rows of all tasks; the model asks trace_task_wanted() */
	TRACE_ALL_CPUS = 1 << 1,   /* rows of all CPUs; the model asks trace_cpu_wanted() */
	TRACE_FROM_START = 1 << 2, /* rows from before the window too */
	TRACE_TO_END = 1 << 3,	   /* rows from behind the window too */
	TRACE_UNFILTERED = TRACE_ALL_TASKS | TRACE_ALL_CPUS | TRACE_FROM_START | TRACE_TO_END,
	TRACE_QUIET = 1 << 4, /* losses of these tables do not concern this report */
	/* Rows of class state from outside of the recording's own time are not given; the model
	 * asks for those that it needs. */
	TRACE_STATE_INSIDE = 1 << 5,
};

/* Tables that the cursor names are noted: their losses will be reported. */
struct ebt_error *trace_cursor_create(struct trace *trace, const struct ebt_want *wants, size_t n,
				      unsigned int flags, struct trace_cursor **ret);
/* Likewise, of all tasks and CPUs with from <= time < to, wherever the window is; to 0: no end.
 * Losses of the tables are not noted. */
struct ebt_error *trace_cursor_create_at(struct trace *trace, const struct ebt_want *wants,
					 size_t n, uint64_t from, uint64_t to,
					 struct trace_cursor **ret);
void trace_cursor_destroy(struct trace_cursor *cursor);
DEFINE_CLEANUP(struct trace_cursor *, trace_cursor_destroy);

/* ret->batch is NULL after the last row. */
struct ebt_error *trace_next(struct trace_cursor *cursor, struct ebt_row *ret);

/* Called now and then while rows are read, with the time of one. */
typedef void trace_progress_fn(void *arg, struct trace *trace, uint64_t time_ns);
void trace_tell_progress(struct trace *trace, trace_progress_fn *progress, void *arg);

/* Nobody reads the report any more: from now on there are no more rows. */
void trace_stop(struct trace *trace);

/* What take() returns where it wants no more rows; no error for who asked for them. */
extern struct ebt_error trace_enough;

/* Calls take() for each row of some tables, as ebt_read_rows() does. */
struct ebt_error *trace_read_rows(struct trace *trace, const struct ebt_want *wants, size_t n,
				  unsigned int flags, ebt_row_fn *take, void *arg);
/* Likewise, of one table with all its columns. */
struct ebt_error *trace_read_table(struct trace *trace, uint16_t table, unsigned int flags,
				   ebt_row_fn *take, void *arg);

/* The symbolizer with the options of the command line. Belongs to the trace. */
struct ebt_error *trace_sym(struct trace *trace, struct sym **ret);
/* Before the first trace_sym(): called while files are fetched (sym_servers.watch). */
struct sym_fetching;
typedef bool trace_watch_fn(void *arg, const struct sym_fetching *now);
void trace_watch(struct trace *trace, trace_watch_fn *watch, void *arg);
/* Before the first trace_sym(): inlined functions do not matter to this report. */
void trace_no_inline(struct trace *trace);
/* Before the first trace_sym(): names come from files only, and not from the trace. */
void trace_no_bundle(struct trace *trace);
/* Before the first trace_sym(): --no-symbols is of files, and not of names that the trace has. */
void trace_own_names(struct trace *trace);

/* Names of tasks and processes (names.h), read when first asked for. Belongs to the trace. */
struct ebt_error *trace_names(struct trace *trace, const struct names **ret);

/* Which programs processes run (programs.h), likewise. */
struct programs;
struct ebt_error *trace_programs(struct trace *trace, const struct programs **ret);

/* Rows of one table that were lost, by what chunk headers and table `lost` say. */
struct trace_loss {
	const struct ebt_table *table;
	uint64_t rows; /* that are there */
	uint64_t lost;
};

/* Of which tables: of those that cursors have named so far; of these and of all that have events;
 * of all. */
enum trace_losses_of { LOSSES_OF_READ, LOSSES_OF_EVENTS, LOSSES_OF_ALL };

/* Only those that are not 0. Free *ret with free(). */
struct ebt_error *trace_losses(struct trace *trace, enum trace_losses_of of,
			       struct trace_loss **ret, size_t *ret_n);
/* What a reader misses by it. */
void trace_loss_text(const struct trace_loss *loss, struct text *text);

/* The command shows all losses itself, and no warning repeats them. */
void trace_tells_losses(struct trace *trace);

/* The report is about this table, or about all, and warns of what they lost, even where it reads no
 * row of them. */
void trace_note_table(struct trace *trace, uint16_t table);
void trace_note_all(struct trace *trace);

/* How many chunks are missing: gaps in the sequence numbers. */
uint64_t trace_missing_chunks(const struct trace *trace);

/* Adds a warning of the command's own. */
struct ebt_error *trace_warn(struct trace *trace, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Likewise, where some of `all` rows or so are not as they should be, and a few are nothing out of
 * the ordinary, as at the beginning and the end of a recording: a warning from 1 % on. What is less
 * is a remark, for `info` and JSON. Both are of the whole report: with --interval, call it in the
 * last window.
 */
struct ebt_error *trace_warn_share(struct trace *trace, double some, double all, const char *format,
				   ...) __attribute__((format(printf, 4, 5)));
/* Belong to the trace. */
const char *const *trace_remarks(const struct trace *trace, size_t *ret_n);

/*
 * Says why there is none of what a report is about, which is one of three: the source was off or
 * could not be had; it was on and nothing happened; filters or the window leave nothing of what is
 * there. A command whose `subject` is set need not call it.
 */
struct command_subject;
struct ebt_error *trace_warn_nothing(struct trace *trace, const struct command_subject *subject);

/* Was the source, named as in `ebrec -e`, asked for and there? */
struct ebt_error *trace_source_is_on(struct trace *trace, const char *name, bool *ret);

/* All that the user has to be told, one sentence each: no footer, damage, losses of the tables
 * that were read, the command's own. Call it after the last row. Belongs to the trace. */
struct ebt_error *trace_warnings(struct trace *trace, const char *const **ret, size_t *ret_n);

#endif
