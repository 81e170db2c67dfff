/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport export`: a trace in the format of another program. docs/EXPORT.md. */
#include <inttypes.h>
#include <string.h>

#include "report/base/text.h"
#include "report/export/clickhouse.h"
#include "report/out/out.h"

#define FORMATS                                                                          \
	"chrome, clickhouse, csv, firefox, ndjson, otlp, perf-script, perfetto, pprof, " \
	"speedscope, sysprof"

static const struct export_format formats[] = {
	{ "chrome", .text = true, .write = export_chrome },
	{ "clickhouse", .folder = true, .write = export_clickhouse },
	{ "csv", .text = true, .rows = true, .write = export_csv },
	{ "firefox", .text = true, .write = export_firefox },
	{ "ndjson", .text = true, .rows = true, .live = true, .write = export_ndjson },
	{ "otlp", .write = export_otlp },
	{ "perf-script", .text = true, .write = export_perf_script },
	{ "perfetto", .write = export_perfetto },
	{ "pprof", .write = export_pprof },
	{ "speedscope", .text = true, .write = export_speedscope },
	{ "sysprof", .write = export_sysprof },
};

static const struct export_format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	}
	return NULL;
}

/* A format, or as for all commands the time up to which: no format has a name that is a time. */
static struct ebt_error *option_to(void *to, const char *arg)
{
	const struct export_format *format = find_format(arg);
	struct options *options = to;
	struct ebt_error *err;

	if (format) {
		options_keep(options, "to", arg);
		options->folder = format->folder;
		options->recorded_time = !format->rows;
		options->whole = !format->live;
		return NULL;
	}
	err = option_time(&options->to, arg);
	if (!err)
		return NULL;
	ebt_error_destroy(err);
	return ebt_error_create(EBT_ERR_INVALID,
				"'%s' is no format and no time: formats are " FORMATS, arg);
}

/* Options of one format are refused by the others. */
static struct ebt_error *check_options(const struct options *o, const struct export_format *format)
{
	static const struct {
		const char *option, *format, *other;
	} of_one[] = {
		{ "table", "ndjson", "csv" }, { "symbols", "ndjson" }, { "batch", "ndjson" },
		{ "event", "pprof" },	      { "weight", "pprof" },   { "from-sql", "clickhouse" },
	};

	for (size_t i = 0; i < sizeof(of_one) / sizeof(of_one[0]); i++) {
		const char *option = of_one[i].option, *other = of_one[i].other;

		if (strcmp(of_one[i].format, format->name) != 0 &&
		    !(other && strcmp(other, format->name) == 0) &&
		    (options_flag(o, option) || options_string(o, option)))
			return ebt_error_create(EBT_ERR_INVALID, "--%s goes with --to %s", option,
						of_one[i].format);
	}
	return NULL;
}

static const struct export_format *chosen_format(const struct options *options)
{
	const char *to = options_string(options, "to");

	return find_format(to ? to : "ndjson");
}

static struct ebt_error *make_trace(const struct options *options, int *ret_fd)
{
	return check_options(options, chosen_format(options))
		       ?: clickhouse_names_trace(options->file, ret_fd);
}

static bool is_held(const struct export *e, uint16_t table)
{
	size_t i = 0;

	while (e->held[i] && e->held[i] != table)
		i++;
	return e->held[i];
}

/* What the trace has and the file has not. */
static struct ebt_error *tell_left_out(const struct export *e, const char *format)
{
	static const struct {
		uint16_t table;
		const char *what;
	} kinds[] = {
		{ EBT_T_sample, "samples" },
		{ EBT_T_sched_switch, "switches of threads" },
		{ EBT_T_syscall, "system calls" },
		{ EBT_T_fault, "page faults" },
		{ EBT_T_kmem_alloc, "memory of the kernel" },
		{ EBT_T_page_cache, "the page cache" },
		{ EBT_T_block_io, "disk requests" },
		{ EBT_T_net_connection, "connections" },
		{ EBT_T_net_packet, "packets" },
		{ EBT_T_futex_wait, "waits for locks" },
		{ EBT_T_irq, "interrupts" },
		{ EBT_T_timer, "timers" },
		{ EBT_T_work, "work of the kernel" },
		{ EBT_T_counter, "counters" },
		{ EBT_T_mark_counter, "counters of programs" },
		{ EBT_T_mark, "marks" },
		{ EBT_T_probe_hit, "hits of probes" },
		{ EBT_T_log, "lines of logs" },
		{ EBT_T_dbus_message, "messages of D-Bus" },
	};
	_cleanup_text_ struct text text = TEXT_INIT;

	for (size_t i = 0; e->held && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!is_held(e, kinds[i].table) &&
		    ebt_reader_has_rows(trace_reader(e->trace), kinds[i].table))
			text_printf(&text, "%s%s", text.len ? ", " : "", kinds[i].what);
	}
	for (size_t i = 0; i < e->n_left_out; i++)
		text_printf(&text, "%s%" PRIu64 " %s", text.len ? ", " : "", e->left_out[i].n,
			    e->left_out[i].what);
	if (text_error(&text) || !text.len)
		return text_error(&text);
	return trace_warn(e->trace, "%s has no place for %s", format, text_get(&text));
}

static struct ebt_error *run_export(struct report *report)
{
	const struct export_format *format = chosen_format(report->options);
	struct export e = {
		.report = report,
		.trace = report->trace,
		.f = out_file(report->out),
		.start_ns = trace_start_ns(report->trace),
	};
	struct ebt_error *err = check_options(report->options, format);

	if (!err && !format->text && !format->folder && out_is_terminal(report->out))
		err = ebt_error_create(EBT_ERR_INVALID,
				       "--to %s is not for a terminal: use -o FILE or a pipe",
				       format->name);
	if (!err && !format->live)
		err = trace_names(report->trace, &e.names);
	err = err ?: format->write(&e) ?: tell_left_out(&e, format->name);
	calltree_destroy(e.tree);
	return err;
}

static const struct option_def export_options[] = {
	{ "to", OPTION_APPLY, "FORMAT",
	  FORMATS " (default: ndjson); a TIME is the end of what is wanted, and may be given "
		  "besides",
	  .apply = option_to },
	{ "table", OPTION_STRING, "NAME,…", "ndjson: only these tables; csv: of this one" },
	{ "symbols", OPTION_FLAG, NULL,
	  "ndjson: names of the functions of stacks beside their addresses" },
	{ "batch", OPTION_U64, "N",
	  "ndjson: after every N rows a line with sums (default: 10000)" },
	{ "event", OPTION_STRING, "EVENT",
	  "pprof: cpu (samples, default), offcpu, a table with stacks, as fault, or a probe" },
	{ "weight", OPTION_STRING, "COLUMN",
	  "pprof: with such a table: a number of it, or rows; default: duration if it has that" },
	{ "from-sql", OPTION_FLAG, NULL,
	  "clickhouse: FILE is what unnamed.sql answered: only names of these frames" },
	{ 0 },
};

const struct command command_export = {
	.name = "export",
	.fn = run_export,
	.flags = COMMAND_NO_TABLES | COMMAND_NO_INTERVALS | COMMAND_LIVE | COMMAND_ALL_ROWS,
	.summary = "a trace for other programs: their formats, or rows as lines of JSON",
	.elsewhere = "script",
	.help = "docs/EXPORT.md says what the file of each FORMAT has, who reads it, and what has "
		"no place in it.\n"
		"chrome is what ran, waited and happened when, for chrome://tracing, Perfetto and "
		"speedscope.\n"
		"clickhouse is a folder of files that ClickHouse reads, one for each table; see "
		"docs/FLEET.md.\n"
		"csv is one --table, as dump has it.\n"
		"firefox is samples and what happened when, by thread, for profiler.firefox.com.\n"
		"otlp is samples and time off CPU by process and thread, for OpenTelemetry.\n"
		"perf-script is samples as `perf script` prints them, for FlameGraph, speedscope "
		"and others.\n"
		"perfetto is all that happened when, with samples, for ui.perfetto.dev and "
		"Perfetto's trace processor.\n"
		"pprof is samples, or what --event says, by thread, for `go tool pprof`, Pyroscope "
		"and Parca.\n"
		"speedscope is samples and time off CPU of each thread, for speedscope.app.\n"
		"sysprof is samples and what happened when, by process, for Sysprof.\n"
		"\n"
		"ndjson has one JSON object a line: a header, for each table its columns, and its "
		"rows, merged in\n"
		"order of time as in dump. seq counts the lines without a hole, so that a receiver "
		"sees one that\n"
		"is missing. Lines of kind `lost` stand where rows are missing that happened: how "
		"many, from when\n"
		"to when, and why. The last line has the sums, and says whether the file was "
		"whole; without it\n"
		"the export was cut. From a pipe, rows come while they are being recorded, about "
		"two seconds late,\n"
		"unless names or times (--symbols, --from, --to) need the whole.\n"
		"\n"
		"  ebreport export t.ebt | jq 'select(.table == \"syscall\") | .values'\n"
		"  ebreport export --table sample --symbols --comm nginx -o nginx.ndjson t.ebt\n"
		"  ebreport export --to otlp -o t.otlp t.ebt\n"
		"  ebreport export --to perf-script -o t.perf t.ebt\n"
		"  ebreport export --to perfetto -o t.pftrace t.ebt\n"
		"  ebreport export --to pprof --event offcpu -o offcpu.pb.gz t.ebt\n"
		"  ebreport export --to firefox -o t.firefox.json t.ebt\n"
		"  ebreport export --to speedscope -o t.speedscope.json t.ebt\n"
		"  ebreport export --to sysprof -o t.syscap t.ebt\n"
		"  ebreport export --to clickhouse -o t.clickhouse t.ebt\n"
		"  ebreport export --to clickhouse --from-sql -o names unnamed.tsv\n"
		"  ebreport export --to csv --table syscall -o syscalls.csv t.ebt\n"
		"  ebrec -o - -p 1234 | ebreport export - | collector\n",
	.options = export_options,
	.opens_with = "from-sql",
	.make = make_trace,
};
