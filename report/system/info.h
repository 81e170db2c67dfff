/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `ebreport info` gathers and shows. */
#ifndef REPORT_SYSTEM_INFO_H
#define REPORT_SYSTEM_INFO_H

#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/procs/containers.h"
#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

/* One table of the file, by its chunk headers alone. */
struct info_table {
	const struct ebt_table *table;
	uint64_t rows, lost, chunks;
	uint64_t bytes; /* in the file, headers included */
	uint64_t raw;	/* before compression */
	uint64_t first_ns, last_ns;
	uint64_t first_rows; /* rows of the first epoch */
};

/* Losses of one source, table and reason together. */
struct info_loss {
	char *source, *detail;
	const char *reason; /* NULL: one that this program does not know */
	uint64_t reason_value, table_id, count, from_ns, to_ns;
};

struct info_pair {
	char *key, *value;
};

struct info_source {
	char *name, *detail, *args;
	const char *status; /* belongs to the reader */
};

struct info_clocks {
	uint64_t readings, uncertainty_ns;
	uint64_t first_mono, first_real, last_mono, last_real;
};

struct info {
	struct info_table *tables; /* that have chunks or losses, in order of id */
	size_t n_tables;
	uint64_t chunks, epochs;
	uint64_t events,
		samples; /* rows of class event, of table sample: of the recording's own time */
	struct info_pair *meta; /* the last value of each key, in order of first appearance */
	size_t n_meta, meta_capacity;
	struct info_source *sources;
	size_t n_sources, sources_capacity;
	struct info_loss *losses;
	size_t n_losses, losses_capacity;
	bool losses_cut; /* there are more kinds of loss than are kept */
	struct info_clocks clocks;
};

struct ebt_error *info_collect(struct trace *trace, struct info *ret);
void info_deinit(struct info *info);

/* NULL: not there. */
const char *info_meta(const struct info *info, const char *key);

/* Time on CPUs of the recorder's own threads. */
struct info_used {
	uint64_t user_ns, system_ns;
};

/* False: the trace does not tell. */
bool info_recorder_used(const struct info *info, struct info_used *ret);
const struct info_table *info_table(const struct info *info, uint16_t id);

/* "37 described, 2 not described whole": processes. */
void info_add_described(const struct info *info, struct text *text);

/* Ways in which user stacks were found: each set of EBT_METHOD_*. */
#define INFO_METHODS 8
/* EBT_STOP_*; whatever a later version has beyond counts as the last. */
#define INFO_STOPS 16

/* Programs with generated code that has no name; those that come later are not told apart. */
#define INFO_GENERATED 16

struct info_generated {
	struct {
		char name[64]; /* as of a stranger */
		uint64_t frames;
	} programs[INFO_GENERATED];
	unsigned int n;
};

/* How many frames of the recorded stacks get a name, and how far user stacks were walked: each
 * stack of each row counts. */
struct info_frames {
	uint64_t resolved, unresolved[SYM_N_REASONS];
	uint64_t stacks, truncated;
	uint64_t user, methods[INFO_METHODS], stops[INFO_STOPS];
	uint64_t interpreted; /* with functions of an interpreter */
	uint64_t recorder;    /* samples of what the recorder did itself */
	struct info_generated generated;
};

/* The name of a stop in reports; NULL: this version does not know it. */
const char *info_stop_name(unsigned int stop);
const char *info_method_name(unsigned int methods);

/* Raw size of the tables with stacks: what counting frames has to read. */
uint64_t info_stack_bytes(const struct info *info);
struct ebt_error *info_count_frames(struct trace *trace, struct info_frames *ret);

/* How the program is made to write what ebrec reads, or NULL where nothing is known. */
const char *info_generated_hint(const char *name);

/* What is shown. */
struct info_view {
	struct report *report;
	struct out *out;
	const struct ebt_reader_info *file;
	struct info info;
	struct info_frames frames;
	bool have_frames, have_runs;
	struct proc_containers containers;
};

/* A dozen lines for people. */
struct ebt_error *info_put_short(const struct info_view *v);

/* The members of the JSON object that are no tables. */
struct ebt_error *info_json(struct info_view *v);

/* As people read it, in their time zone. */
void info_format_realtime(uint64_t ns, char *ret, size_t size);

/* 8-4-4-4-12 hexadecimal digits. */
void info_format_uuid(const uint8_t *uuid, char ret[40]);

#endif
