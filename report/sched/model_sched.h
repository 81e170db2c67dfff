/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler rows to intervals: when each task ran and on which CPU, when it was off CPU and why,
 * since when it was runnable again and who woke it. The model is fed with rows in time order and
 * calls back for each interval that is complete. It keeps a few words a task and a CPU.
 *
 * What is not known is said, never guessed: an interval that began before the first row or lasts
 * beyond the last one is closed at that bound and marked open there; where rows were lost,
 * intervals are cut, so that a gap never looks like a long run or a long wait.
 */
#ifndef REPORT_SCHED_MODEL_SCHED_H
#define REPORT_SCHED_MODEL_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/read/reader.h"

struct sched_model;

/* Why a task was off CPU. */
enum sched_why {
	SCHED_RUNNABLE, /* preempted, or it yielded: it could have gone on */
	SCHED_SLEEP,	/* interruptible */
	SCHED_DISK,	/* uninterruptible: disk, locks of the kernel */
	SCHED_IDLE,	/* a kernel thread without work */
	SCHED_STOPPED,	/* by a signal or a debugger, parked or frozen */
	SCHED_NEW,	/* forked, and did not run yet */
	SCHED_DEAD,
	SCHED_UNKNOWN,
	SCHED_N_WHYS,
};

/* "runnable", "sleep", … */
const char *sched_why_name(enum sched_why why);

/* From the fields of a sched_switch row. */
enum sched_why sched_why(uint64_t prev_state, bool preempt);

enum sched_flags {
	SCHED_OPEN_START = 1 << 0, /* it began earlier than `start` */
	SCHED_OPEN_END = 1 << 1,   /* it lasted longer than `end` */
	SCHED_DOUBTFUL = 1 << 2,   /* rows were lost meanwhile: it may have been several */
	/* Besides OPEN: the end of the interval is not a bound of what is known, but the bound
	 * between two windows. The window before got the other part, or the next window will. */
	SCHED_CUT_START = 1 << 3,
	SCHED_CUT_END = 1 << 4,
};

/* Does the interval end in this window, and is its beginning known? */
static inline bool sched_is_complete(unsigned int flags)
{
	return !(flags & SCHED_OPEN_END) &&
	       (!(flags & SCHED_OPEN_START) || flags & SCHED_CUT_START);
}

/* Is its beginning or its end in no window, or not in the trace? */
static inline bool sched_is_open(unsigned int flags)
{
	return (flags & (SCHED_OPEN_START | SCHED_CUT_START)) == SCHED_OPEN_START ||
	       (flags & (SCHED_OPEN_END | SCHED_CUT_END)) == SCHED_OPEN_END;
}

/* A task ran on a CPU. */
struct sched_run {
	const struct ebt_task *task;
	const struct ebt_row *row; /* the sched_switch that ended it; NULL: not ended by one */
	uint64_t start, end;
	/* Where it began and ended, maybe in windows before and after this one. An end that is not
	 * known is UINT64_MAX. */
	uint64_t whole_start, whole_end;
	uint64_t charge; /* what the kernel charged for all of that; 0: not known */
	uint32_t cpu;
	unsigned int flags;
	bool voluntary;	    /* as the kernel counts: it stopped because it had to wait */
	enum sched_why why; /* it stopped */
};

/* A task was off CPU. */
struct sched_off {
	const struct ebt_task *task;
	uint64_t start, end;
	uint64_t runnable; /* since when it only waited for a CPU; 0: not known or not yet */
	uint64_t whole_start, whole_runnable; /* likewise */
	const struct ebt_task *waker;	      /* NULL: an interrupt, or not known */
	bool woken;			      /* a waking was seen; false: waker says nothing */
	uint8_t waking;			      /* how: EBT_V_sched_waking_kind_* */
	uint16_t call;			      /* sched_waking.call */
	uint32_t cpu;			      /* where it ran next; UINT32_MAX: not yet */
	unsigned int flags;
	enum sched_why why;
};

/* Either may be NULL. Pointers in the interval are valid during the call, tasks longer. */
struct sched_handler {
	struct ebt_error *(*run)(void *arg, const struct sched_run *run);
	struct ebt_error *(*off)(void *arg, const struct sched_off *off);
};

struct sched_options {
	uint64_t from_ns, to_ns; /* bounds of what is known, at which open intervals are closed */
	/* Says whether all switches of a task are in the trace; NULL: those of every task are.
	 * Other tasks get neither intervals nor complaints. */
	bool (*followed)(void *arg, const struct ebt_task *task);
	const struct sched_handler *handler;
	void *arg; /* of followed and of the handler */
};

/* What could not be told. */
struct sched_gaps {
	uint64_t lost_ns; /* time during which rows of sched_switch were lost */
	uint64_t runs;	  /* that were seen */
	uint64_t broken;  /* of them: runs without a beginning or an end where both should have been
			   */
	uint64_t doubtful; /* intervals marked so */
};

/* Columns that the model reads, and run_time where a table has it: add them to those of the cursor
 * (TRACE_ALL_TASKS and _CPUS). stacks: those of sched_switch too. */
#define SCHED_MODEL_MAX_WANTS 6
size_t sched_model_wants(bool stacks, struct ebt_want ret[SCHED_MODEL_MAX_WANTS]);

/* Reads table `lost`. The options are copied; the reader must outlive the model. */
struct ebt_error *sched_model_create(struct ebt_reader *reader, const struct sched_options *options,
				     struct sched_model **ret);
void sched_model_destroy(struct sched_model *model);

/* Takes the next row. Rows of tables that do not concern the model are passed over. */
struct ebt_error *sched_model_row(struct sched_model *model, const struct ebt_row *row);

/*
 * Windows of a trace, one after the other: after the last row of a window sched_model_cut() gives
 * the part of open intervals that lies in it, and sched_model_window() begins the next window. The
 * sums of all windows are the sums of the trace. Rows from before a window may be given to the
 * model behind sched_model_window(): nothing is made of them but what tasks do when it begins.
 */
struct ebt_error *sched_model_cut(struct sched_model *model);
void sched_model_window(struct sched_model *model, uint64_t from_ns, uint64_t to_ns);
/* Rows from before the first window are left out here: tasks of which they tell something come up
 * again later. */
void sched_model_skip(struct sched_model *model);
/* Tasks that are not there, by id, have gone meanwhile. */
void sched_model_forget(struct sched_model *model, const bool *there, size_t n_there);
/* The first row of the first window comes next: what could not be told before does not concern it.
 */
void sched_model_begin(struct sched_model *model);

/*
 * What a window has of an interval may depend on its end: the kernel's charge for a run is told
 * when it stops. And threads that are there at the start may be described a moment later. Before
 * sched_model_cut(), as long as tasks are unsettled, rows from behind the window are shown to the
 * model, which do not change what tasks do.
 */
size_t sched_model_unsettled(struct sched_model *model);
/* The columns that are needed. */
#define SCHED_MODEL_AHEAD_WANTS 5
void sched_model_ahead_wants(struct ebt_want ret[SCHED_MODEL_AHEAD_WANTS]);
/* *ret: so many are unsettled yet. */
struct ebt_error *sched_model_ahead(struct sched_model *model, const struct ebt_row *row,
				    size_t *ret);
/* There are no more rows. */
void sched_model_ahead_end(struct sched_model *model);

/* Calls for each task that is there now, with the time of the sched_switch in which it stopped; 0:
 * it is not off CPU, or no row of this trace says since when. */
struct ebt_error *sched_model_each(const struct sched_model *model,
				   struct ebt_error *(*fn)(void *arg, const struct ebt_task *task,
							   uint64_t stopped),
				   void *arg);

/* After the last row: closes what is open. */
struct ebt_error *sched_model_finish(struct sched_model *model);

struct sched_gaps sched_model_gaps(const struct sched_model *model);

#endif
