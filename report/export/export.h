/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace in the formats of other programs. A format is one file of this room and one line of
 * formats[] in cmd_export.c; it reads the trace through the functions here, through
 * report/events/events.h, or rows by themselves, and writes to export.f.
 *
 * Files are for one trace and one machine. Memory is bounded by what is there once (functions,
 * stacks, threads, names), not by the number of rows: a format writes as it reads, or puts what it
 * has to sort by thread into a spool (spool.h).
 */
#ifndef REPORT_EXPORT_EXPORT_H
#define REPORT_EXPORT_EXPORT_H

#include <stdio.h>

#include "report/base/json.h"
#include "report/base/names.h"
#include "report/cli/command.h"
#include "report/events/events.h"
#include "report/marks/model_counters.h"
#include "report/sched/model_sched.h"
#include "report/stacks/model_calltree.h"
#include "report/trace/trace.h"

#define EXPORT_MOST_LEFT_OUT 16

/* Tables whose rows export_samples() and export_intervals() give. */
#define EXPORT_SAMPLE_TABLES EBT_T_sample
#define EXPORT_INTERVAL_TABLES \
	EBT_T_sched_switch, EBT_T_sched_waking, EBT_T_offcpu_stack, EBT_T_thread_stack
/* Those of events_read(), and of export_counters(). */
#define EXPORT_EVENT_TABLES                                                             \
	EBT_T_syscall, EBT_T_fault, EBT_T_block_io, EBT_T_irq, EBT_T_timer, EBT_T_work, \
		EBT_T_net_connection, EBT_T_mark, EBT_T_probe_hit, EBT_T_log, EBT_T_dbus_message
#define EXPORT_COUNTER_TABLES EBT_T_counter, EBT_T_mark_counter

struct export
{
	struct report *report;
	struct trace *trace;
	const struct names *names;
	FILE *f;
	uint64_t start_ns; /* of the trace */
	/* Stacks of all tables: a func is a function at one place (calltree_options.places), and no
	 * node is for a process or thread. Made by export_stacks(). */
	struct calltree *tree;
	bool deciding; /* the same of calltree_options, set before */
	struct export_left_out {
		const char *what;
		uint64_t n;
	} left_out[EXPORT_MOST_LEFT_OUT];
	size_t n_left_out;
	const uint16_t *held; /* see export_holds() */
};

struct export_format {
	const char *name; /* of --to */
	bool text;	  /* may be shown on a terminal */
	bool folder;	  /* -o names one */
	bool rows;	  /* it has rows as they are, those from before and behind, too */
	bool live;	  /* it is written while the trace is */
	struct ebt_error *(*write)(struct export *e);
};

/* Makes e->tree where it is not there yet, and looks the addresses of a table up (prepare_names()).
 */
struct ebt_error *export_stacks(struct export *e, uint16_t table);

/* Makes e->tree anew where it has more than so many nodes. *ret: it did, and the old nodes are
 * gone. */
struct ebt_error *export_renew_tree(struct export *e, uint32_t most, bool *ret);

/* The format has these tables of events, ends with 0: the user is told of others that have rows.
 * They stay with the caller. */
void export_holds(struct export *e, const uint16_t *tables);
/* Nor has it n of these, of tables that it has: "names of more than 2 MiB"; a literal. */
void export_leave_out(struct export *e, const char *what, uint64_t n);

/* --- samples of CPUs --- */

struct export_sample {
	uint64_t time, ns;	     /* ns: the time that it stands for */
	const struct ebt_task *task; /* NULL: idle */
	uint32_t cpu;
	uint32_t node; /* of e->tree; 0: it has no stack */
	const struct ebt_row *row;
};

typedef struct ebt_error *export_sample_fn(void *arg, const struct export_sample *sample);

/* Those that pass the filters, in the order of time. */
struct ebt_error *export_samples(struct export *e, export_sample_fn *take, void *arg);

/* --- who ran, who waited --- */

/* Either may be NULL. Intervals are those of `ebreport sched` and `ebreport offcpu`, in the order
 * in which they end. */
struct export_intervals {
	struct ebt_error *(*run)(void *arg, const struct sched_run *run);
	/* node: where it stopped, of e->tree; 0: not known. */
	struct ebt_error *(*off)(void *arg, const struct sched_off *off, uint32_t node);
	void *arg;
};

struct ebt_error *export_intervals(struct export *e, const struct export_intervals *intervals);

/* --- counters --- */

/* Each with its points. */
struct ebt_error *
export_counters(struct export *e,
		struct ebt_error *(*take)(void *arg, const struct counter *counter), void *arg);

/* --- values --- */

/* The end of what lasts; one that no number can be is the last. */
static inline uint64_t export_end(uint64_t time, uint64_t duration)
{
	const uint64_t end = time + duration;

	return end < time ? UINT64_MAX : end;
}

/* ns / 10^digits, with as many digits behind the point as it needs. */
void export_put_scaled(struct json *json, bool negative, uint64_t ns, unsigned int digits);
/* The value of an event, with its key, if events of the kind have one. */
void export_put_value(struct json *json, enum event_kind kind, int64_t value);

/* --- formats --- */

struct ebt_error *export_chrome(struct export *e);
struct ebt_error *export_clickhouse(struct export *e);
struct ebt_error *export_csv(struct export *e);
struct ebt_error *export_firefox(struct export *e);
struct ebt_error *export_ndjson(struct export *e);
struct ebt_error *export_otlp(struct export *e);
struct ebt_error *export_perf_script(struct export *e);
struct ebt_error *export_perfetto(struct export *e);
struct ebt_error *export_pprof(struct export *e);
struct ebt_error *export_speedscope(struct export *e);
struct ebt_error *export_sysprof(struct export *e);

#endif
