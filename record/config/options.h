/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of ebrec, parsed and checked, as read-only configuration for all that follows.
 */
#ifndef RECORD_CONFIG_OPTIONS_H
#define RECORD_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/options.h"
#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/config/source_args.h"

struct inherited;

#define DEFAULT_OUTPUT "trace.ebt"

enum target_kind {
	TARGET_NONE,
	TARGET_COMMAND,
	TARGET_PIDS,
	TARGET_CGROUP,
	TARGET_ALL,
};

/* How user stacks are walked. */
enum call_graph {
	CALL_GRAPH_NONE,  /* no stacks at all */
	CALL_GRAPH_FP,	  /* frame pointers, by the kernel */
	CALL_GRAPH_TABLE, /* unwind tables */
	CALL_GRAPH_DUMP,  /* unwind tables, by the recorder, of copies of the stacks */
	CALL_GRAPH_AUTO,  /* tables if the kernel can, else frame pointers; see session.c */
	N_CALL_GRAPHS,
};

/* Ends with NULL. */
extern const char *const call_graph_names[];

/* What of the command's output becomes rows. */
enum capture_output {
	CAPTURE_STDOUT = 1 << 0,
	CAPTURE_STDERR = 1 << 1,
	CAPTURE_APART = 1 << 2, /* told apart also where both go to one place */
};

struct record_options {
	bool help, version, list_events; /* instead of a recording */
	const char *list;		 /* list_events: of tracepoints, see tp_set.h; or NULL */
	const char *output;		 /* "-": standard output */
	bool force;
	bool bundle; /* names are put into the trace at the end */
	bool quiet;
	unsigned int verbose;

	uint64_t duration;  /* ns; 0: until the target ends */
	uint64_t min_block; /* ns; 0: all */
	uint64_t buffer;    /* bytes for events; 0: as the machine allows */
	uint64_t frequency; /* samples a second */
	enum call_graph call_graph;
	bool keep_stack_dumps;	/* they are not finished, but go to the file */
	bool no_containers;	/* nothing that container engines know goes to the file */
	bool no_stack_dump;	/* partial stacks stay so */
	uint64_t max_stack;	/* frames of a user stack */
	bool no_python;		/* frames of the interpreter, and not of what it runs */
	uint64_t unwind_memory; /* bytes for unwind tables */
	uint64_t sources;	/* bit n: ebrec_sources[n] */
	bool sources_given;
	struct source_args source_args;

	enum target_kind target;
	pid_t *pids;
	size_t n_pids;
	const char *cgroup;
	const char *user;
	unsigned int capture_output; /* enum capture_output; 0: nothing */
	struct inherited *inherited; /* what the command inherits; of no option */
	char **command; /* argv of CMD, ends with NULL; part of the argv given; or NULL */
};

/* EBT_ERR_INVALID with a sentence for the user; *ret is untouched then. Strings point into argv. */
struct ebt_error *options_parse(int argc, char **argv, struct record_options *ret);
void options_deinit(struct record_options *options);

/* Is there a command, and is it of what is recorded? Beside a target it only says for how long. */
bool options_record_command(const struct record_options *options);

/* For --help. */
#define N_RECORD_OPTION_GROUPS 3
extern const struct option_group record_option_groups[N_RECORD_OPTION_GROUPS];

#endif
