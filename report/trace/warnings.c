/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report has to say about rows that are missing: losses, damage, an end that is not one. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/encoding/layout.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/trace/cut_lists.h"
#include "report/trace/private.h"
#include "symbolize/symbolize.h"

/* Warnings of a command that are shown, and remarks; more can only be of many intervals. */
#define MAX_NOTES 50

struct table_sums {
	uint64_t rows, lost, noted; /* noted: by table `lost` */
};

static int compare_ids(const void *key, const void *element)
{
	uint64_t id = *(const uint64_t *)key;
	const struct ebt_table *const *table = element;

	return (id > (*table)->id) - (id < (*table)->id);
}

static int compare_tables(const void *a, const void *b)
{
	const struct ebt_table *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* Rows and losses of all tables, in the order of the tables sorted by id. */
struct loss_sums {
	const struct trace *trace;
	const struct ebt_table **tables;
	struct table_sums *sums;
	size_t n;
	/* Rows of `lost` that count nothing: rows may be missing. Of tables that were read, which
	 * the file may lack. */
	uint64_t unknown;
};

static void sums_deinit(struct loss_sums *sums)
{
	free(sums->tables);
	free(sums->sums);
}

static struct table_sums *sums_of(const struct loss_sums *sums, uint64_t id)
{
	const struct ebt_table **found =
		bsearch(&id, sums->tables, sums->n, sizeof(sums->tables[0]), compare_ids);

	return found ? &sums->sums[found - sums->tables] : NULL;
}

static bool was_read(const struct trace *trace, uint16_t id)
{
	return trace->read[id / 64] >> id % 64 & 1;
}

static struct ebt_error *add_noted_row(void *arg, const struct ebt_row *row)
{
	struct loss_sums *sums = arg;
	const uint64_t id = ebt_lost_table_id(row), count = ebt_lost_count(row);
	struct table_sums *sum = sums_of(sums, id);

	sums->unknown += !count && id && id <= UINT16_MAX && was_read(sums->trace, (uint16_t)id);
	if (sum && __builtin_add_overflow(sum->noted, count, &sum->noted))
		sum->noted = UINT64_MAX;
	return NULL;
}

/* What table `lost` says; the file may lack it. */
static struct ebt_error *add_noted(struct ebt_reader *reader, struct loss_sums *sums)
{
	const struct ebt_want want = EBT_WANT(lost, count, table_id);
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };

	return ebt_read_rows(reader, &query, add_noted_row, sums);
}

/* A part has fewer rows than the recording that lost some. */
static struct ebt_error *add_cut_rows(struct ebt_reader *reader, struct loss_sums *sums)
{
	const char *list;
	struct ebt_error *err = ebt_reader_meta(reader, CUT_ROWS, &list);

	while (!err && list) {
		char *end;
		struct table_sums *sum = sums_of(sums, strtoull(list, &end, 10));
		const uint64_t rows = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;

		if (sum && rows > sum->rows)
			sum->rows = rows;
		list = strchr(list, ',');
		list += list != NULL;
	}
	return err;
}

static struct ebt_error *sums_init(struct trace *trace, struct loss_sums *ret)
{
	struct ebt_reader *reader = trace->reader;
	const struct ebt_chunk_info *chunks;
	const struct ebt_table *tables;
	size_t n_tables, n_chunks;

	ret->trace = trace;
	tables = ebt_reader_tables(reader, &n_tables);
	ret->tables = calloc(n_tables + 1, sizeof(ret->tables[0]));
	ret->sums = calloc(n_tables + 1, sizeof(*ret->sums));
	if (!ret->tables || !ret->sums)
		return &ebt_enomem;
	for (size_t i = 0; i < n_tables; i++)
		ret->tables[i] = &tables[i];
	ret->n = n_tables;
	qsort(ret->tables, n_tables, sizeof(ret->tables[0]), compare_tables);

	chunks = ebt_reader_chunks(reader, &n_chunks);
	for (size_t i = 0; i < n_chunks; i++) {
		struct table_sums *sum =
			chunks[i].type == EBT_CHUNK_TABLE ? sums_of(ret, chunks[i].table) : NULL;

		if (sum) {
			sum->rows += chunks[i].rows;
			sum->lost += chunks[i].lost;
		}
	}
	return add_cut_rows(reader, ret) ?: add_noted(reader, ret);
}

/* Chunk headers and table `lost` tell of the same rows; one of the two may be damaged. */
static uint64_t sum_lost(const struct table_sums *sum)
{
	return sum->noted > sum->lost ? sum->noted : sum->lost;
}

static bool is_asked_for(const struct trace *trace, enum trace_losses_of of,
			 const struct ebt_table *table)
{
	return of == LOSSES_OF_ALL || was_read(trace, table->id) ||
	       (of == LOSSES_OF_EVENTS && table->class == EBT_CLASS_EVENT);
}

struct ebt_error *trace_losses(struct trace *trace, enum trace_losses_of of,
			       struct trace_loss **ret, size_t *ret_n)
{
	__attribute__((cleanup(sums_deinit))) struct loss_sums sums = { 0 };
	_cleanup_free_ struct trace_loss *losses = NULL;
	struct ebt_error *err;
	size_t n = 0;

	err = sums_init(trace, &sums);
	if (err)
		return err;
	losses = calloc(sums.n + 1, sizeof(*losses));
	if (!losses)
		return &ebt_enomem;
	for (size_t i = 0; i < sums.n; i++) {
		uint64_t lost = sum_lost(&sums.sums[i]);

		if (lost && is_asked_for(trace, of, sums.tables[i]))
			losses[n++] =
				(struct trace_loss){ sums.tables[i], sums.sums[i].rows, lost };
	}
	*ret = take_ptr(losses);
	*ret_n = n;
	return NULL;
}

/* What several windows, or parts of a report, have to say is said once. */
static struct ebt_error *add_note(struct trace *trace, char *text, bool whole)
{
	struct ebt_error *err;

	/* What came of rows that nobody wanted any more is not so. */
	if (trace->was_stopped) {
		free(text);
		return NULL;
	}
	for (size_t i = 0; i < trace->n_notes; i++) {
		struct trace_note *note = &trace->notes[i];

		if (strcmp(note->text, text))
			continue;
		note->windows = whole ? trace->window
				      : note->windows + (note->last_window != trace->window);
		note->last_window = trace->window;
		free(text);
		return NULL;
	}
	err = ebt_array_reserve(&trace->notes, trace->n_notes, &trace->notes_capacity);
	if (err)
		free(text);
	else
		trace->notes[trace->n_notes++] =
			(struct trace_note){ text, whole ? trace->window : 1, trace->window };
	return err;
}

struct ebt_error *trace_warn(struct trace *trace, const char *format, ...)
{
	va_list args;
	char *s;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		s = NULL;
	va_end(args);
	return s ? add_note(trace, s, false) : &ebt_enomem;
}

/* Takes the text over. */
static struct ebt_error *add_remark(struct trace *trace, char *text)
{
	struct ebt_error *err;

	for (size_t i = 0; i < trace->n_remarks; i++) {
		if (!strcmp(trace->remarks[i], text)) {
			free(text);
			return NULL;
		}
	}
	err = ebt_array_reserve(&trace->remarks, trace->n_remarks, &trace->remarks_capacity);
	if (err)
		free(text);
	else
		trace->remarks[trace->n_remarks++] = text;
	return err;
}

struct ebt_error *trace_warn_share(struct trace *trace, double some, double all, const char *format,
				   ...)
{
	const bool few = some * 100 < all;
	va_list args;
	char *s;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		s = NULL;
	va_end(args);
	if (!s)
		return &ebt_enomem;
	return few ? add_remark(trace, s) : add_note(trace, s, true);
}

const char *const *trace_remarks(const struct trace *trace, size_t *ret_n)
{
	*ret_n = trace->n_remarks < MAX_NOTES ? trace->n_remarks : MAX_NOTES;
	return (const char *const *)trace->remarks;
}

__attribute__((format(printf, 2, 3))) static struct ebt_error *add_warning(struct trace *trace,
									   const char *format, ...)
{
	struct ebt_error *err;
	va_list args;
	int n;

	err = ebt_array_reserve(&trace->warnings, trace->n_warnings, &trace->warnings_capacity);
	if (err)
		return err;
	va_start(args, format);
	n = vasprintf(&trace->warnings[trace->n_warnings], format, args);
	va_end(args);
	if (n < 0)
		return &ebt_enomem;
	trace->n_warnings++;
	return NULL;
}

uint64_t trace_missing_chunks(const struct trace *trace)
{
	const struct ebt_chunk_info *chunks;
	uint64_t last = 0;
	size_t n;

	chunks = ebt_reader_chunks(trace->reader, &n);
	for (size_t i = 0; i < n; i++)
		last = chunks[i].seq > last ? chunks[i].seq : last;
	n += ebt_reader_info(trace->reader)->other_chunks;
	return n && last >= n ? last - n + 1 : 0;
}

struct copied {
	struct text text;
	size_t n;
};

static struct ebt_error *take_copied(void *arg, const struct ebt_row *row)
{
	static const char key[] = "copy.damage";
	const struct ebt_str value = ebt_meta_value(row), name = ebt_meta_key(row);
	struct copied *copied = arg;

	if (name.len != strlen(key) || memcmp(name.data, key, name.len))
		return NULL;
	text_cstr(&copied->text, copied->n++ ? "; one " : "");
	text_add(&copied->text, value.data, value.len);
	return text_error(&copied->text);
}

/* What a copy of one or more traces says of them. */
static struct ebt_error *warn_copied(struct trace *trace)
{
	struct copied copied = { .text = TEXT_INIT };
	struct ebt_error *err = ebt_read_table(trace->reader, EBT_T_meta, take_copied, &copied);

	if (!err && copied.n)
		err = add_warning(trace,
				  copied.n == 1 ? "the trace that this is a copy of %s"
						: "of the traces that this is a copy of one %s",
				  text_get(&copied.text));
	text_deinit(&copied.text);
	return err;
}

static struct ebt_error *warn_file(struct trace *trace)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace->reader);
	const struct ebt_damage *damage;
	uint64_t total, bytes = 0;
	size_t n;
	struct ebt_error *err = warn_copied(trace);

	if (!err && !info->complete)
		err = add_warning(trace,
				  "the file has no end: its recorder was killed or it was "
				  "cut; what came after %.3f s is missing",
				  (double)(info->end_ns - info->start_ns) / 1e9);
	damage = ebt_reader_damage(trace->reader, &n, &total);
	for (size_t i = 0; i < n; i++)
		bytes += damage[i].length;
	if (err)
		return err;
	if (n)
		err = add_warning(trace,
				  "%" PRIu64 " part%s of the file (%" PRIu64
				  " bytes) could not be read; the first is at offset %" PRIu64
				  ": %s",
				  total, text_plural(total, "", "s"), bytes, damage[0].offset,
				  damage[0].what ? damage[0].what : "damaged");
	if (!err && info->skipped_chunks)
		err = add_warning(trace, "%" PRIu64 " %s of a kind that this version does not know",
				  info->skipped_chunks,
				  text_plural(info->skipped_chunks, "chunk is", "chunks are"));
	return err;
}

/* What became of asking servers, and names that are less sure than others. */
static struct ebt_error *warn_files(struct trace *trace)
{
	static const struct {
		enum sym_reason reason;
		const char *what;
	} fetched[] = {
		{ SYM_SERVER_SILENT, "gave no answer in time and was not asked again" },
		{ SYM_INTERRUPTED, "was not waited for" },
		{ SYM_SERVER_FAILED, "could not be reached or broke off" },
		{ SYM_SERVER_OTHER, "sent something else (it was not used)" },
	};
	struct sym_tally tally;
	struct ebt_error *err = NULL;

	if (!trace->sym)
		return NULL;
	sym_tally(trace->sym, &tally);
	for (size_t i = 0; !err && i < sizeof(fetched) / sizeof(fetched[0]); i++) {
		uint32_t n = tally.not_fetched[fetched[i].reason];

		if (n)
			err = add_warning(trace,
					  "the debuginfod server %s: %" PRIu32 " file%s missing",
					  fetched[i].what, n, text_plural(n, " is", "s are"));
	}
	if (!err && tally.by_time)
		err = add_warning(trace,
				  "%" PRIu32 " file%s here: size and time of change are those of "
				  "recorded ones, which have no build-id",
				  tally.by_time,
				  text_plural(tally.by_time, " was taken for the right one",
					      "s were taken for the right ones"));
	return err;
}

static struct ebt_error *take_no_row(void *arg, const struct ebt_row *row)
{
	(void)arg;
	(void)row;
	return NULL;
}

/* A report of states has threads in it even so. */
static struct ebt_error *warn_window(struct trace *trace)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace->reader);
	_cleanup_text_ struct text length = TEXT_INIT;

	/* --interval says so itself. */
	if (!trace->options->from.set || trace->options->interval_ns || trace->live ||
	    trace_n_hosts(trace) || trace->whole_from <= info->end_ns)
		return NULL;
	text_duration(&length, info->end_ns - info->start_ns);
	return add_warning(trace, "--from is behind the end: this is a recording of %s",
			   text_get(&length));
}

/* A report that read no row of a wanted thread may have none to show. One that no table of threads
 * has either is a mistake in what was typed, or a thread that was not followed. */
static struct ebt_error *warn_no_task(struct trace *trace)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(process, task),   EBT_WANT(thread, task),	EBT_WANT(task_fork, child),
		EBT_WANT(task_exec, task), EBT_WANT(task_rename, task), EBT_WANT(task_exit, task),
	};
	const struct options *o = trace->options;
	struct ebt_error *err;

	/* What is still being written is read once. */
	if (!trace_has_task_filter(trace) || trace->task_seen || trace->live || trace->was_stopped)
		return NULL;
	err = trace_read_rows(trace, wants, sizeof(wants) / sizeof(wants[0]),
			      TRACE_ALL_CPUS | TRACE_FROM_START | TRACE_TO_END | TRACE_QUIET,
			      take_no_row, NULL);
	if (err || trace->task_seen)
		return err;
	if (!(o->pids.n || o->tids.n || o->comms.n))
		return add_warning(trace, "no thread that was recorded is of this part");
	return add_warning(trace, "no thread that was recorded passes%s%s%s",
			   o->pids.n ? " --pid" : "", o->tids.n ? " --tid" : "",
			   o->comms.n ? " --comm" : "");
}

/* The command got no row of what it is about. */
static struct ebt_error *warn_nothing(struct trace *trace)
{
	const struct command_subject *subject = trace->options->command->subject;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err;

	/* What is still being written may yet have some. */
	if (!subject || trace->live || trace->was_stopped ||
	    (trace_has_task_filter(trace) && !trace->task_seen))
		return NULL;
	for (const uint16_t *table = subject->tables; *table; table++) {
		if (trace->got[*table / 64] >> *table % 64 & 1)
			return NULL;
	}
	err = trace_nothing(trace, subject, &text);
	return err ?: add_warning(trace, "%s", text_get(&text));
}

/* Those of a few intervals only, as of one that is empty, do not hold for the whole. */
static struct ebt_error *warn_notes(struct trace *trace)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < trace->n_notes && i < MAX_NOTES; i++) {
		const struct trace_note *note = &trace->notes[i];

		if (note->windows < trace->window)
			err = add_warning(trace, "in %" PRIu32 " of %" PRIu32 " intervals: %s",
					  note->windows, trace->window, note->text);
		else
			err = add_warning(trace, "%s", note->text);
	}
	if (!err && trace->n_notes > MAX_NOTES)
		err = add_warning(trace, "%zu more like these", trace->n_notes - MAX_NOTES);
	return err;
}

/* Events tell of a process, too; what its row has besides, reports take from its parent's. */
void trace_loss_text(const struct trace_loss *loss, struct text *text)
{
	const double all = (double)loss->lost + (double)loss->rows;

	if (loss->table->id == EBT_T_process)
		text_printf(text,
			    "%" PRIu64 " process%s not described whole: user, cgroup and "
			    "namespaces are the parent's where they are not known (`ebreport info "
			    "--all` says why)",
			    loss->lost, text_plural(loss->lost, " is", "es are"));
	else
		text_printf(text, "%" PRIu64 " row%s of %s lost while recording (%.2f %%)",
			    loss->lost, text_plural(loss->lost, "", "s"), loss->table->name,
			    (double)loss->lost * 100 / all);
}

static struct ebt_error *warn_losses(struct trace *trace)
{
	__attribute__((cleanup(sums_deinit))) struct loss_sums sums = { 0 };
	struct ebt_error *err = sums_init(trace, &sums);

	for (size_t i = 0; !err && i < sums.n; i++) {
		const struct trace_loss loss = { sums.tables[i], sums.sums[i].rows,
						 sum_lost(&sums.sums[i]) };
		_cleanup_text_ struct text text = TEXT_INIT;

		if (!loss.lost || !was_read(trace, loss.table->id) || trace->tells_losses)
			continue;
		trace_loss_text(&loss, &text);
		err = text_error(&text) ?: add_warning(trace, "%s", text_get(&text));
	}
	if (err || !sums.unknown)
		return err;
	return add_warning(trace,
			   "rows may be missing for %" PRIu64 " reason%s, how many is not known: "
			   "`ebreport info` says of what, when and why",
			   sums.unknown, text_plural(sums.unknown, "", "s"));
}

struct ebt_error *trace_warnings(struct trace *trace, const char *const **ret, size_t *ret_n)
{
	static struct ebt_error *(*const warn[])(struct trace *) = {
		warn_file,    warn_losses, warn_window, warn_no_task,
		warn_nothing, warn_notes,  warn_files,
	};

	for (size_t i = 0; i < trace->n_warnings; i++)
		free(trace->warnings[i]);
	trace->n_warnings = 0;
	for (size_t i = 0; i < sizeof(warn) / sizeof(warn[0]); i++) {
		struct ebt_error *err = warn[i](trace);

		if (err)
			return err;
	}
	*ret = (const char *const *)trace->warnings;
	*ret_n = trace->n_warnings;
	return NULL;
}
