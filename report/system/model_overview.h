/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time of a recording went: on a CPU and in which functions, runnable without one, and
 * off CPU by what threads waited for. Of a trace that lacks some of the sources the rest is there.
 */
#ifndef REPORT_SYSTEM_MODEL_OVERVIEW_H
#define REPORT_SYSTEM_MODEL_OVERVIEW_H

#include "format/base/map.h"
#include "report/base/names.h"
#include "report/sched/wait_reason.h"
#include "report/trace/trace.h"

/* Where a thread is at some time: on a CPU, runnable, or waiting for WAIT_… */
enum { OVERVIEW_CPU, OVERVIEW_QUEUE, OVERVIEW_WAIT };
#define OVERVIEW_PLACES (OVERVIEW_WAIT + WAIT_N_REASONS)

/* What a thread spent at a place. */
struct overview_spent {
	const struct ebt_task *task;
	uint64_t process; /* names_process_key() */
	uint32_t place;
	uint64_t ns, count, max_ns;
};

struct overview_place {
	uint64_t ns, count, max_ns;
	/* The program that spent most of it there: its process that did, and how many processes,
	 * where that one has not most of it. */
	const struct ebt_task *most;
	uint64_t most_ns, most_processes;
};

/* CPU time of a function, or of all functions of a file that have no name. */
struct overview_function {
	const char *name, *object; /* name "": they have none */
	uint64_t self_ns, samples;
};

struct overview {
	uint64_t ns; /* of the window, as far as switches are known */
	bool switches, samples;
	bool partial; /* of some processes, not of the whole system */
	bool command; /* of a command that waited for the recording to begin */
	struct overview_place places[OVERVIEW_PLACES];
	uint64_t threads; /* that ran */
	/* Stops of threads that could have gone on, after which their CPU had nothing to do: how
	 * many, and how long until they ran again. */
	uint64_t withheld, withheld_ns;

	struct overview_function *functions; /* by self time */
	size_t n_functions;
	uint64_t sampled_ns, nameless_ns, n_samples;

	/* While rows are read. */
	struct trace *trace;
	uint64_t from_ns; /* where the window begins */
	const struct names *names;
	struct calltree *stops, *calls;
	struct overview_spent *spent;
	size_t n_spent, spent_capacity;
	struct ebt_map spent_at; /* by place and task */
	uint8_t *is_withheld;	 /* by the id of a task: its last stop was such a one */
	size_t n_is_withheld;
	uint64_t cycles_ns; /* what a sample of cycles stands for */
};

/* Reads the rows that pass the filters. */
struct ebt_error *overview_read(struct trace *trace, struct overview *ret);
void overview_deinit(struct overview *overview);

#endif
