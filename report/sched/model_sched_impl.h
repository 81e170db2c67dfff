/* SPDX-License-Identifier: GPL-2.0-or-later */
/* struct sched_model, for model_sched.c and model_windows.c only. */
#ifndef REPORT_SCHED_MODEL_SCHED_IMPL_H
#define REPORT_SCHED_MODEL_SCHED_IMPL_H

#include "report/sched/cut.h"
#include "report/sched/model_sched.h"

#define NO_TASK UINT32_MAX

/* What is known of a task. */
enum kind {
	KIND_UNSEEN,   /* no row of it yet */
	KIND_STRANGER, /* not followed: nothing can be said */
	KIND_RUNNING,
	KIND_OFF,
	KIND_GAP, /* rows are missing: nothing, until the next one */
	KIND_DEAD,
};

/* What rows from behind a window say of a task that runs, or waits, at its end. */
enum ahead {
	AHEAD_UNKNOWN, /* nobody has looked yet */
	AHEAD_STOPS,   /* RUNNING: it stops then, with that charge */
	AHEAD_LOST,    /* RUNNING: another task runs there, its end is missing */
	AHEAD_WAITS,   /* OFF: no waking comes but the one that was seen */
	AHEAD_NOTHING, /* it goes on as it seems */
};

struct sched_task_state {
	const struct ebt_task *task;
	const struct ebt_task *waker;
	uint64_t since;	   /* RUNNING, OFF */
	uint64_t runnable; /* OFF: since when; 0: not yet */
	uint64_t exit;	   /* RUNNING: when task_exit was seen, or 0 */
	uint64_t ahead_end, ahead_charge, ahead_exit;
	uint32_t cpu;  /* RUNNING */
	uint16_t call; /* sched_waking.call of how it was woken */
	uint8_t kind, why;
	uint8_t ahead;	/* of the present run or wait */
	uint8_t waking; /* how it was woken: EBT_V_sched_waking_kind_* */
	bool open;	/* `since` is a bound, it was so before */
	/* OFF: a waking was seen. RUNNING: likewise; it may be for the sleep that is about to
	 * begin, as the CPU of the waker can be ahead of the one that goes to sleep. */
	bool woken;
};

struct cpu_state {
	uint32_t current; /* id of the task that runs, NO_TASK: idle, not known or not followed */
	bool seen;	  /* a switch of this CPU was seen */
	bool ahead_seen;  /* or one behind the window */
};

struct sched_model {
	struct ebt_reader *reader;
	struct sched_options options;
	struct sched_task_state *tasks;
	struct cpu_state *cpus;
	size_t n_tasks, n_cpus;
	struct sched_cut cut;
	uint64_t window_ns; /* where the present window begins; 0: it is the first */
	uint64_t gaps_ns;   /* where the first one begins, if that is later than from_ns */
	size_t unsettled;
	uint64_t last_batch, damage;
	uint64_t runs, broken;
};

/* The state of a task; *ret is valid until the next call. */
struct ebt_error *sched_state(struct sched_model *model, const struct ebt_task *task,
			      struct sched_task_state **ret);
/* A row of table thread. */
struct ebt_error *sched_thread(struct sched_model *model, const struct ebt_row *row);
/* Where a task that no row has shown yet begins to be visible. */
uint64_t sched_visible_from(const struct sched_model *model, const struct ebt_task *task);

/* What an interval has in windows that are past was given there. */
struct ebt_error *sched_give_run(struct sched_model *model, struct sched_run *run);
struct ebt_error *sched_give_off(struct sched_model *model, struct sched_off *off);

/*
 * What the kernel charged for the run that a row of sched_switch ends, as far as the run is in the
 * trace; 0: not known. At exit a task leaves its scheduling group, where the kernel begins the run
 * anew.
 */
uint64_t sched_charged(const struct sched_model *model, const struct ebt_row *row);

/* What is known of the time off CPU of a task, until end. False: nothing. */
bool sched_off_interval(const struct sched_model *model, const struct sched_task_state *s,
			uint64_t end, struct sched_off *ret);

#endif
