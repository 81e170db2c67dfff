/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport info: what is in the file, from where, how long, and what is missing. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/sched/feed.h"
#include "report/system/info.h"

/* Tables with stacks up to this size are read to count frames without being asked: about half a
 * million stacks, which take less than a tenth of a second. */
#define FRAMES_MAX_RAW (4u << 20)
#define RUNS_MAX_RAW   (16u << 20)

static void view_deinit(struct info_view *v)
{
	info_deinit(&v->info);
	proc_containers_deinit(&v->containers);
}

/* "Label       text" with the text escaped. */
__attribute__((format(printf, 3, 4))) static void put(struct info_view *v, const char *label,
						      const char *format, ...)
{
	_cleanup_text_ struct text safe = TEXT_INIT;
	char *s = NULL, head[16];
	va_list args;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		s = NULL;
	va_end(args);
	if (s)
		text_terminal(&safe, ebt_str_of(s));
	free(s);
	snprintf(head, sizeof(head), "%-12s", label);
	out_fill(v->out, head, 12, text_get(&safe));
}

void info_format_realtime(uint64_t ns, char *ret, size_t size)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(ret, size, "%Y-%m-%d %H:%M:%S %z", &tm))
		snprintf(ret, size, "%" PRIu64 " ns since 1970", ns);
}

static const char *duration(struct text *text, uint64_t ns)
{
	text_clear(text);
	text_duration(text, ns);
	return text_get(text);
}

static const char *bytes(struct text *text, uint64_t n)
{
	text_clear(text);
	text_bytes(text, n);
	return text_get(text);
}

/* --- text --- */

static void put_file(struct info_view *v)
{
	_cleanup_text_ struct text size = TEXT_INIT;
	uint64_t missing = trace_missing_chunks(v->report->trace);
	char uuid[40], when[64];

	info_format_uuid(v->file->uuid, uuid);
	put(v, "File", "%s, %s, format %u.%u, %" PRIu64 " %s", v->report->options->file,
	    bytes(&size, v->file->size), v->file->major, v->file->minor, v->info.chunks,
	    text_plural(v->info.chunks, "chunk", "chunks"));
	if (v->file->complete)
		put(v, "Complete", "yes%s", v->file->indexed ? "" : ", but its index is damaged");
	else
		put(v, "Complete", "no: cut off, or its recorder was killed");
	if (missing)
		put(v, "Missing", "%" PRIu64 " %s", missing,
		    text_plural(missing, "chunk", "chunks"));
	put(v, "UUID", "%s", uuid);
	info_format_realtime(v->file->created_ns, when, sizeof(when));
	put(v, "Created", "%s", when);
	info_format_realtime(v->file->start_realtime_ns, when, sizeof(when));
	put(v, "Recorded", "%s", when);
	put(v, "Duration", "%s",
	    duration(&size, trace_end_ns(v->report->trace) - trace_start_ns(v->report->trace)));
	put(v, "Events", "%" PRIu64 ", with %" PRIu64 " CPU samples", v->info.events,
	    v->info.samples);
}

/* Lines for what nearly everybody asks; a key that ends with a dot stands for all below it. */
static const struct {
	const char *key, *label;
} meta_lines[] = {
	{ "ebrec.command_line", "Command" },
	{ "ebrec.version", "By ebrec" },
	{ "target.", "Target" },
	{ "options.", "Options" },
	{ "sample.", "Sampling" },
	{ "end.", "End" },
	{ "host.name", "Host" },
	{ "host.os", "System" },
	{ "host.release", "Kernel" },
	{ "host.machine", "Machine" },
	{ "host.cpus", "CPUs" },
	{ "host.cpu_model", "Model" },
};

/* Further keys of the recorder are in --json, and in `dump --table meta`; those of others are
 * shown. */
static bool is_ours(const char *key)
{
	static const char *const prefixes[] = { "ebrec.", "target.", "options.", "sample.",  "end.",
						"host.",  "stacks.", "python.",	 "recorder." };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!strncmp(prefixes[i], key, strlen(prefixes[i])))
			return true;
	}
	return false;
}

/* All values whose key begins so, as `name value, name value`. */
static void put_prefix(struct info_view *v, const char *label, const char *prefix)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	size_t skip = strlen(prefix);

	for (size_t i = 0; i < v->info.n_meta; i++) {
		if (!strncmp(v->info.meta[i].key, prefix, skip))
			text_printf(&line, "%s%s %s", line.len ? ", " : "",
				    v->info.meta[i].key + skip, v->info.meta[i].value);
	}
	if (line.len)
		put(v, label, "%s", text_get(&line));
}

static uint64_t meta_number(const struct info_view *v, const char *key)
{
	const char *value = info_meta(&v->info, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

/* What user stacks lacked while they were recorded. */
static void put_stacks(struct info_view *v)
{
	uint64_t finished = meta_number(v, "stacks.dumps_finished"),
		 open = meta_number(v, "stacks.dumps_not_finished"),
		 not_taken = meta_number(v, "stacks.dumps_not_taken"),
		 tables = meta_number(v, "stacks.tables"),
		 evicted = meta_number(v, "stacks.tables_evicted"),
		 without = meta_number(v, "stacks.tables_without_room"),
		 unmapped = meta_number(v, "stacks.mappings_without_room");

	if (finished || open || not_taken)
		put(v, "Dumps",
		    "of stacks not walked whole at once: %" PRIu64 " finished, %" PRIu64
		    " not; %" PRIu64 " not taken, as there were too many",
		    finished, open, not_taken);
	if (evicted || without)
		put(v, "Tables",
		    "%" PRIu64 " unwind %s at the end; %" PRIu64 " %s one was evicted, and %" PRIu64
		    " never had room (--unwind-mem)",
		    tables, text_plural(tables, "table", "tables"), evicted,
		    text_plural(evicted, "time", "times"), without);
	if (unmapped)
		put(v, "Mappings",
		    "%" PRIu64
		    " %s those of a process had no room: some of its stacks may be cut short",
		    unmapped, text_plural(unmapped, "time", "times"));
}

static void put_python(struct info_view *v)
{
	if (info_meta(&v->info, "python.stacks"))
		put(v, "Python",
		    "%" PRIu64 " stacks walked; %" PRIu64
		    " by threads that Python does not know, %" PRIu64
		    " without some functions; %" PRIu64 " names not recorded",
		    meta_number(v, "python.stacks"), meta_number(v, "python.stacks_without_thread"),
		    meta_number(v, "python.stacks_partial"),
		    meta_number(v, "python.names_refused"));
}

static void put_meta(struct info_view *v)
{
	for (size_t i = 0; i < sizeof(meta_lines) / sizeof(meta_lines[0]); i++) {
		const char *key = meta_lines[i].key, *value = info_meta(&v->info, key);

		if (key[strlen(key) - 1] == '.')
			put_prefix(v, meta_lines[i].label, key);
		else if (value && *value)
			put(v, meta_lines[i].label, "%s", value);
	}
	for (size_t i = 0; i < v->info.n_meta; i++) {
		if (!is_ours(v->info.meta[i].key))
			put(v, "", "%s = %s", v->info.meta[i].key, v->info.meta[i].value);
	}
	put_stacks(v);
	put_python(v);
}

static uint64_t rows_of(const struct info_view *v, uint16_t id, bool first_epoch)
{
	const struct info_table *t = info_table(&v->info, id);

	return !t ? 0 : first_epoch ? t->first_rows : t->rows;
}

static void put_state(struct info_view *v)
{
	const uint64_t threads = rows_of(v, EBT_T_thread, true),
		       forks = rows_of(v, EBT_T_task_fork, false),
		       execs = rows_of(v, EBT_T_task_exec, false),
		       exits = rows_of(v, EBT_T_task_exit, false);
	const struct info_clocks *c = &v->info.clocks;
	_cleanup_text_ struct text scratch = TEXT_INIT;

	if (c->readings)
		put(v, "Clocks",
		    "read %" PRIu64 " %s, within %s; wall clock moved %+" PRId64
		    " ns against the monotonic one",
		    c->readings, text_plural(c->readings, "time", "times"),
		    duration(&scratch, c->uncertainty_ns),
		    (int64_t)(c->last_real - c->first_real - (c->last_mono - c->first_mono)));
	put(v, "Epochs", "%" PRIu64, v->info.epochs);
	text_clear(&scratch);
	info_add_described(&v->info, &scratch);
	put(v, "Processes",
	    "%s, %" PRIu64 " %s at the start; %" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " %s",
	    text_get(&scratch), threads, text_plural(threads, "thread", "threads"), forks,
	    text_plural(forks, "fork", "forks"), execs, text_plural(execs, "exec", "execs"), exits,
	    text_plural(exits, "exit", "exits"));
}

/* Kinds of embedded files that one line names. */
#define MAX_ROLES 64

/* Embedded files, those of one role together. */
static struct ebt_error *put_files(struct info_view *v)
{
	_cleanup_text_ struct text line = TEXT_INIT, size = TEXT_INIT;
	struct {
		const char *role;
		uint64_t count;
	} roles[MAX_ROLES];
	size_t n, n_roles = 0, unnamed = 0;
	const struct ebt_file *files;
	struct ebt_error *err;
	uint64_t total = 0;

	err = ebt_reader_files(trace_reader(v->report->trace), &files, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		size_t r = 0;

		total += files[i].size;
		while (r < n_roles && strcmp(roles[r].role, files[i].role))
			r++;
		if (r == MAX_ROLES) {
			unnamed++;
			continue;
		}
		if (r == n_roles) {
			roles[n_roles].role = files[i].role;
			roles[n_roles++].count = 0;
		}
		roles[r].count++;
	}
	for (size_t r = 0; r < n_roles; r++) {
		text_printf(&line, "%s%s", r ? ", " : "", roles[r].role);
		if (roles[r].count > 1)
			text_printf(&line, " ×%" PRIu64, roles[r].count);
	}
	if (unnamed)
		text_printf(&line, ", and %zu more", unnamed);
	if (n)
		put(v, "Files", "%zu, %s: %s", n, bytes(&size, total), text_get(&line));
	return text_error(&line);
}

static uint64_t unresolved(const struct info_frames *frames)
{
	uint64_t sum = 0;

	for (int r = SYM_OK + 1; r < SYM_N_REASONS; r++)
		sum += frames->unresolved[r];
	return sum;
}

static void put_frames(struct info_view *v)
{
	uint64_t bad = unresolved(&v->frames), all = bad + v->frames.resolved;
	_cleanup_text_ struct text size = TEXT_INIT;

	if (!v->have_frames && info_stack_bytes(&v->info)) {
		put(v, "Frames",
		    "not counted, as there are %s of rows with stacks: --frames does it",
		    bytes(&size, info_stack_bytes(&v->info)));
		return;
	}
	if (!all)
		return;
	put(v, "Frames",
	    "%" PRIu64 " in %" PRIu64 " %s: %.2f %% have a name; %" PRIu64 " %s truncated", all,
	    v->frames.stacks, text_plural(v->frames.stacks, "stack", "stacks"),
	    (double)v->frames.resolved * 100 / (double)all, v->frames.truncated,
	    text_plural(v->frames.truncated, "stack is", "stacks are"));
	for (int r = SYM_OK + 1; r < SYM_N_REASONS; r++) {
		if (v->frames.unresolved[r])
			put(v, "", "%" PRIu64 " without: %s", v->frames.unresolved[r],
			    sym_reason_name((enum sym_reason)r));
	}
	for (unsigned int i = 0; i < v->frames.generated.n; i++) {
		const char *name = v->frames.generated.programs[i].name;
		const char *hint = info_generated_hint(name);

		put(v, "", "%" PRIu64 " of them in anonymous memory of %s%s%s",
		    v->frames.generated.programs[i].frames, name, hint ? ": " : "",
		    hint ? hint : "");
	}
}

/* What the recorder took of others' time, as far as samples show it, and of its own. */
static void put_recorder(struct info_view *v)
{
	const struct info_table *samples = info_table(&v->info, EBT_T_sample);
	_cleanup_text_ struct text user = TEXT_INIT, system = TEXT_INIT;
	const char *label = "Recorder";
	struct info_used used;

	if (v->have_frames && samples && samples->rows) {
		put(v, label, "%.1f %% of %" PRIu64 " samples%s",
		    (double)v->frames.recorder * 100 / (double)samples->rows, samples->rows,
		    v->frames.recorder ? "; --no-recorder leaves them out of stacks" : "");
		label = "";
	}
	if (info_recorder_used(&v->info, &used))
		put(v, label, "%s of its own in user space, %s in the kernel",
		    duration(&user, used.user_ns), duration(&system, used.system_ns));
}

/* How far user stacks were walked; in exec there is none to walk. */
static struct ebt_error *put_unwinding(struct info_view *v)
{
	const struct info_frames *f = &v->frames;
	uint64_t all = f->user - f->stops[EBT_STOP_EXEC], whole = f->stops[EBT_STOP_ROOT];
	_cleanup_text_ struct text line = TEXT_INIT;

	/* The kernel's walker does not say where it stopped. */
	if (!all || f->stops[EBT_STOP_UNKNOWN] == f->user)
		return NULL;
	for (unsigned int m = 0; m < INFO_METHODS; m++) {
		if (f->methods[m])
			text_printf(&line, ", %" PRIu64 " by %s", f->methods[m],
				    info_method_name(m));
	}
	put(v, "Unwinding", "%.2f %% of %" PRIu64 " user stacks reach the root%s",
	    (double)whole * 100 / (double)all, all, text_get(&line));
	for (unsigned int s = 0; s < INFO_STOPS; s++) {
		if (f->stops[s] && s != EBT_STOP_ROOT)
			put(v, "", "%" PRIu64 " stop: %s", f->stops[s],
			    info_stop_name(s) ? info_stop_name(s) : "for a later version's reason");
	}
	return text_error(&line);
}

static void put_remarks(struct info_view *v)
{
	const char *const *remarks;
	size_t n;

	if (!v->have_runs)
		put(v, "Runs", "not looked at, as there are many switches: --frames does it");
	remarks = trace_remarks(v->report->trace, &n);
	for (size_t i = 0; i < n; i++)
		put(v, i ? "" : "Remarks", "%s", remarks[i]);
}

/* --- tables --- */

#define SOURCES(X)                                                                     \
	X("name", "SOURCE", OUT_STRING, out_cstr(given ? given : s->name))             \
	X("status", "STATUS", OUT_STRING, out_cstr(s->status ? s->status : "unknown")) \
	X("detail", "DETAIL", OUT_STRING, out_cstr(s->detail), OUT_FLEX)               \
	X("source_args", NULL, OUT_STRING, out_cstr(s->args), OUT_DETAIL)

static struct ebt_error *put_source(struct out *out, const struct info_source *s)
{
	_cleanup_free_ char *given = NULL;

	/* People see it as they typed it. */
	if (*s->args && out_format(out) == FORMAT_TABLE &&
	    asprintf(&given, "%s:%s", s->name, s->args) < 0)
		return &ebt_enomem;
	return out_row(out, 0, OUT_VALUES(SOURCES));
}

static struct ebt_error *put_sources(struct info_view *v)
{
	const struct out_table table = OUT_TABLE_OF("sources", SOURCES, .flags = OUT_FIXED);

	if (!v->info.n_sources && out_format(v->out) == FORMAT_TABLE)
		return NULL;
	out_printf(v->out, "\n");
	return out_rows(v->out, &table, v->info.n_sources, i,
			put_source(v->out, &v->info.sources[i]));
}

#define TABLES(X)                                                                   \
	X("name", "TABLE", OUT_STRING, out_cstr(t[i].table->name))                  \
	X("row_count", "ROWS", OUT_U64, out_u64(t[i].rows))                         \
	X("bytes", "BYTES", OUT_BYTES, out_u64(t[i].bytes))                         \
	X("bytes_per_row", "BYTES/ROW", OUT_FLOAT,                                  \
	  t[i].rows ? out_f64((double)t[i].bytes / (double)t[i].rows) : out_null()) \
	X("lost_rows", "LOST", OUT_U64, out_u64(t[i].lost))                         \
	X("chunks", "CHUNKS", OUT_U64, out_u64(t[i].chunks))                        \
	X("table_id", NULL, OUT_U64, out_u64(t[i].table->id), OUT_DETAIL)           \
	X("raw_bytes", NULL, OUT_U64, out_u64(t[i].raw), OUT_DETAIL)                \
	X("first_at_ns", NULL, OUT_TIME, out_u64(t[i].first_ns), OUT_DETAIL)        \
	X("last_at_ns", NULL, OUT_TIME, out_u64(t[i].last_ns), OUT_DETAIL)

static struct ebt_error *put_tables(struct info_view *v)
{
	const struct out_table table = OUT_TABLE_OF("rows", TABLES);
	const struct info_table *t = v->info.tables;

	out_printf(v->out, "\n");
	return out_rows(v->out, &table, v->info.n_tables, i,
			out_row(v->out, 0, OUT_VALUES(TABLES)));
}

#define LOSSES(X)                                                                         \
	X("source", "LOST-FROM", OUT_STRING, out_cstr(loss->source))                      \
	X("table", "TABLE", OUT_STRING, out_cstr(table ? table->name : table_number))     \
	X("reason", "REASON", OUT_STRING, out_cstr(loss->reason ? loss->reason : reason)) \
	X("count", "COUNT", OUT_U64, out_u64(loss->count))                                \
	X("from_ns", "FROM", OUT_TIME, out_u64(loss->from_ns))                            \
	X("to_ns", "TO", OUT_TIME, out_u64(loss->to_ns))                                  \
	X("detail", "DETAIL", OUT_STRING, out_cstr(loss->detail), OUT_FLEX)

static struct ebt_error *put_loss(struct info_view *v, const struct info_loss *loss)
{
	const struct ebt_table *table = NULL;
	char table_number[24], reason[24];

	if (loss->table_id <= UINT16_MAX)
		table = ebt_reader_table(trace_reader(v->report->trace), (uint16_t)loss->table_id);
	snprintf(table_number, sizeof(table_number), "%" PRIu64, loss->table_id);
	snprintf(reason, sizeof(reason), "%" PRIu64, loss->reason_value);
	return out_row(v->out, 0, OUT_VALUES(LOSSES));
}

static struct ebt_error *put_losses(struct info_view *v)
{
	const struct out_table table = OUT_TABLE_OF("losses", LOSSES, .flags = OUT_FIXED);
	struct ebt_error *err;

	if (!v->info.n_losses && out_format(v->out) == FORMAT_TABLE) {
		out_printf(v->out, "\nNothing was lost, as far as the file knows.\n");
		return NULL;
	}
	out_printf(v->out, "\n");
	err = out_rows(v->out, &table, v->info.n_losses, i, put_loss(v, &v->info.losses[i]));
	if (!err && v->info.losses_cut)
		err = trace_warn(v->report->trace, "there are more kinds of loss than are shown");
	return err;
}

/* --- */

static struct ebt_error *put_heads(struct info_view *v)
{
	struct ebt_error *err;

	switch (out_format(v->out)) {
	case FORMAT_TABLE:
		put_file(v);
		put_meta(v);
		put_state(v);
		err = put_files(v);
		put_frames(v);
		put_recorder(v);
		put_remarks(v);
		return err ? err : put_unwinding(v);
	case FORMAT_JSON:
		return info_json(v);
	case FORMAT_CSV:
		break;
	}
	return NULL;
}

/* --- --verify --- */

#define DAMAGES(X)                                                \
	X("offset", "OFFSET", OUT_HEX, out_u64(damage[i].offset)) \
	X("bytes", "BYTES", OUT_BYTES, out_u64(damage[i].length)) \
	X("what", "DAMAGED OR NOT WHOLE", OUT_STRING,             \
	  out_cstr(damage[i].what ? damage[i].what : "damaged"), OUT_FLEX)

static struct ebt_error *put_damage(struct info_view *v, const struct ebt_damage *damage, size_t n)
{
	const struct out_table table = OUT_TABLE_OF("damage", DAMAGES, .flags = OUT_FIXED);

	if (!n && out_format(v->out) == FORMAT_TABLE)
		return NULL;
	out_printf(v->out, "\n");
	return out_rows(v->out, &table, n, i, out_row(v->out, 0, OUT_VALUES(DAMAGES)));
}

/* All bytes of the file. That it has no end is no damage, and yet it is not whole. */
static struct ebt_error *verify(struct info_view *v)
{
	struct ebt_reader *reader = trace_reader(v->report->trace);
	const struct ebt_damage *damage;
	struct ebt_error *err;
	uint64_t total;
	size_t n;

	if (!options_flag(v->report->options, "verify"))
		return NULL;
	err = ebt_reader_verify(reader);
	if (err)
		return err;
	damage = ebt_reader_damage(reader, &n, &total);
	err = put_damage(v, damage, n);
	if (err)
		return err;
	if (total)
		v->report->verdict =
			ebt_error_create(EBT_ERR_CORRUPT, "%s: %" PRIu64 " part%s damaged",
					 v->report->options->file, total,
					 text_plural(total, " is", "s are"));
	else if (!v->file->complete)
		v->report->verdict = ebt_error_create(EBT_ERR_CORRUPT, "%s: has no end",
						      v->report->options->file);
	else
		out_printf(v->out, "Verified    %" PRIu64 " %s as %s written\n", v->info.chunks,
			   text_plural(v->info.chunks, "chunk: it is", "chunks: all are"),
			   text_plural(v->info.chunks, "it was", "they were"));
	return NULL;
}

/* --- the command --- */

static bool is_short(const struct info_view *v)
{
	return out_format(v->out) == FORMAT_TABLE && !options_flag(v->report->options, "all");
}

static struct ebt_error *put_all(struct info_view *v)
{
	return put_heads(v) ?:
	       put_sources(v) ?:
	       proc_containers_put(&v->containers, v->out) ?:
	       put_tables(v) ?:
	       put_losses(v);
}

/* Whatever is not as it should be becomes a warning or a remark. */
static struct ebt_error *look_at_runs(struct trace *trace)
{
	const struct sched_feed feed = { .still = true };
	bool partial;

	return sched_feed_run(trace, &feed, &partial);
}

static struct ebt_error *cmd_info(struct report *report)
{
	__attribute__((cleanup(view_deinit))) struct info_view v = { .report = report };
	const struct info_table *switches;
	struct ebt_error *err;

	v.out = report->out;
	if (is_short(&v) && report->options->sort)
		return ebt_error_create(EBT_ERR_INVALID,
					"without --all there is no table: use --sort with --all, "
					"--json or --csv");
	v.file = ebt_reader_info(trace_reader(report->trace));
	trace_note_all(report->trace);
	err = info_collect(report->trace, &v.info)
		      ?: proc_containers_collect(trace_reader(report->trace), &v.containers);
	v.have_frames = options_flag(report->options, "frames") ||
			info_stack_bytes(&v.info) <= FRAMES_MAX_RAW;
	switches = info_table(&v.info, EBT_T_sched_switch);
	v.have_runs = options_flag(report->options, "frames") || !switches ||
		      switches->raw <= RUNS_MAX_RAW;
	if (!err && v.have_frames)
		err = info_count_frames(report->trace, &v.frames);
	if (!err && v.have_runs)
		err = look_at_runs(report->trace);
	if (err)
		return err;
	return (is_short(&v) ? info_put_short(&v) : put_all(&v)) ?: verify(&v);
}

static const struct option_def info_options[] = {
	{ "all", OPTION_FLAG, NULL, "every source, container, table and loss (as --json has)",
	  NULL },
	{ "verify", OPTION_FLAG, NULL,
	  "read and check everything; status 1 where something is damaged", NULL },
	{ "frames", OPTION_FLAG, NULL,
	  "count nameless frames, and runs without an edge, however long it takes", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_info = {
	.name = "info",
	.fn = cmd_info,
	.flags = COMMAND_NO_INTERVALS,
	.summary = "what is in the file, from where, how long, what was lost",
	.help = "  ebreport info t.ebt\n"
		"  ebreport info --all t.ebt\n"
		"  ebreport info --verify t.ebt && echo whole\n"
		"  ebreport info --json t.ebt | jq .rows\n"
		"\n"
		"Reads the index and the tables that describe the file, so that it answers at "
		"once\n"
		"whatever the size. Frames are counted where the tables with stacks are small\n"
		"(below 4 MiB before compression), and runs of threads where that of switches is\n"
		"(below 16 MiB), or with --frames. --verify reads every chunk "
		"and\n"
		"compares it with its checksums and the index. --csv gives the list of tables.\n",
	.options = info_options,
};
