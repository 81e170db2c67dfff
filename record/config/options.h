/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of ebrec, parsed and checked, as read-only configuration for all that follows.
 */
#ifndef RECORD_CONFIG_OPTIONS_H
#define RECORD_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/config/source_args.h"

struct handed;

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
};

/* What of the command's output becomes rows. */
enum capture_output {
	CAPTURE_STDOUT = 1 << 0,
	CAPTURE_STDERR = 1 << 1,
	CAPTURE_APART = 1 << 2, /* told apart also where both go to one place */
};

/* What the user wants instead of a recording. */
enum options_action {
	ACTION_RECORD,
	ACTION_HELP,
	ACTION_VERSION,
	ACTION_LIST_EVENTS,
};

struct record_options {
	enum options_action action;
	const char *list;   /* ACTION_LIST_EVENTS: of tracepoints, see tp_list.h; or NULL */
	const char *output; /* "-": standard output */
	bool force;
	bool bundle; /* names are put into the trace at the end */
	bool quiet;
	unsigned int verbose;

	uint64_t duration;  /* ns; 0: until the target ends */
	uint64_t min_block; /* ns; 0: all */
	uint64_t buffer;    /* bytes for events; 0: as the machine allows */
	uint32_t frequency; /* samples a second */
	enum call_graph call_graph;
	bool keep_stack_dumps;	/* they are not finished, but go to the file */
	bool no_containers;	/* nothing that container engines know goes to the file */
	bool no_stack_dump;	/* partial stacks stay so */
	uint32_t max_stack;	/* frames of a user stack */
	bool no_python;		/* frames of the interpreter, and not of what it runs */
	uint64_t unwind_memory; /* bytes for unwind tables */
	uint64_t sources;	/* bit n: ebrec_sources[n] */
	struct source_args source_args;

	enum target_kind target;
	pid_t *pids;
	size_t n_pids;
	const char *cgroup;
	const char *user;
	unsigned int capture_output; /* enum capture_output; 0: nothing */
	struct handed *handed;	     /* what the command inherits; of no option */
	char **command;		     /* argv of CMD, ends with NULL; part of the argv given */
};

/* EBT_ERR_INVALID with a sentence for the user; *ret is untouched then. Strings point into argv. */
struct ebt_error *options_parse(int argc, char **argv, struct record_options *ret);
void options_deinit(struct record_options *options);

/* "500ms", "2m", "1.5": a number, and ns, us, ms, s (if nothing is said), m or h. */
struct ebt_error *parse_time(const char *text, uint64_t *ret);

/* "64M": a number of bytes, or of K, M or G of 1024. */
struct ebt_error *parse_size(const char *text, uint64_t *ret);

/* "12,345": process ids. Freed with free(). */
struct ebt_error *parse_pids(const char *text, pid_t **ret, size_t *ret_n);

#endif
