/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cutting intervals where rows were lost; see cut.h. */
#include "report/sched/cut.h"

static struct ebt_error *give_run(struct sched_cut *cut, const struct sched_run *run)
{
	if (run->flags & SCHED_DOUBTFUL)
		cut->doubtful++;
	return cut->handler->run ? cut->handler->run(cut->arg, run) : NULL;
}

static struct ebt_error *give_off(struct sched_cut *cut, const struct sched_off *off)
{
	if (off->flags & SCHED_DOUBTFUL)
		cut->doubtful++;
	return cut->handler->off ? cut->handler->off(cut->arg, off) : NULL;
}

/*
 * How losses cut an interval. It stays uncut where no loss overlaps it, and also, but doubtful,
 * where it lies within one loss. Otherwise the parts before the first loss and behind the last loss
 * remain.
 */
struct cut_pieces {
	bool uncut, doubtful;
	uint64_t before, behind; /* the first part ends, the last part begins */
};

static struct cut_pieces cut_interval(const struct losses *losses, uint64_t start, uint64_t end)
{
	size_t i = losses_find(losses, start + 1);
	uint64_t behind;

	if (i == losses->n || losses->spans[i].from >= end)
		return (struct cut_pieces){ .uncut = true };
	if (losses->spans[i].from <= start && losses->spans[i].to >= end)
		return (struct cut_pieces){ .uncut = true, .doubtful = true };
	behind = losses->spans[i].to;
	for (size_t j = i + 1; j < losses->n && losses->spans[j].from < end; j++)
		behind = losses->spans[j].to;
	return (struct cut_pieces){
		.before = losses->spans[i].from > start ? losses->spans[i].from : start,
		.behind = behind < end ? behind : end,
	};
}

/* Since when nothing was lost, of the part of an interval that other windows have. */
static uint64_t known_since(const struct losses *losses, uint64_t whole_start, uint64_t start)
{
	size_t i = losses->n ? losses_find(losses, whole_start + 1) : 0;
	uint64_t since = whole_start;

	for (; i < losses->n && losses->spans[i].from < start; i++)
		since = losses->spans[i].to < start ? losses->spans[i].to : start;
	return since;
}

struct ebt_error *sched_cut_run(struct sched_cut *cut, struct sched_run *run)
{
	struct cut_pieces pieces = { .uncut = true };
	uint64_t since = known_since(&cut->losses, run->whole_start, run->start);
	struct ebt_error *err;

	if (since > run->whole_start) {
		run->flags &= ~(unsigned int)SCHED_CUT_START;
		run->whole_start = since;
	}
	/* The charge is of what comes behind a loss. */
	if (known_since(&cut->losses, run->end, run->whole_end) > run->end)
		run->charge = 0;
	if (cut->losses.n)
		pieces = cut_interval(&cut->losses, run->start, run->end);
	if (pieces.doubtful)
		run->flags |= SCHED_DOUBTFUL;
	if (pieces.uncut)
		return give_run(cut, run);
	if (pieces.before > run->start) {
		struct sched_run first = *run;

		first.end = pieces.before;
		first.flags |= SCHED_OPEN_END;
		first.flags &= ~(unsigned int)SCHED_CUT_END;
		first.row = NULL;
		first.charge = 0;
		first.why = SCHED_UNKNOWN;
		first.voluntary = false;
		err = give_run(cut, &first);
		if (err)
			return err;
	}
	run->start = pieces.behind;
	run->whole_start = run->start;
	run->flags |= SCHED_OPEN_START;
	run->flags &= ~(unsigned int)SCHED_CUT_START;
	return give_run(cut, run);
}

struct ebt_error *sched_cut_off(struct sched_cut *cut, struct sched_off *off)
{
	struct cut_pieces pieces = { .uncut = true };
	uint64_t since = known_since(&cut->losses, off->whole_start, off->start);
	struct ebt_error *err;

	/* The task went off the CPU at the bound itself: the interval is empty. */
	if (off->start == off->end && sched_is_open(off->flags))
		return NULL;
	if (since > off->whole_start) {
		off->flags &= ~(unsigned int)SCHED_CUT_START;
		if (off->whole_runnable < off->start)
			off->woken = false; /* when, is not known */
		off->whole_start = off->start;
		off->whole_runnable = off->runnable;
	}
	if (cut->losses.n)
		pieces = cut_interval(&cut->losses, off->start, off->end);
	if (pieces.doubtful)
		off->flags |= SCHED_DOUBTFUL;
	if (pieces.uncut)
		return give_off(cut, off);
	if (pieces.before > off->start) {
		struct sched_off first = *off;

		first.end = pieces.before;
		first.flags |= SCHED_OPEN_END;
		first.flags &= ~(unsigned int)SCHED_CUT_END;
		first.cpu = UINT32_MAX;
		if (first.runnable >= first.end) {
			first.runnable = 0;
			first.whole_runnable = 0;
			first.woken = false;
			first.waker = NULL;
		}
		err = give_off(cut, &first);
		if (err)
			return err;
	}
	if (pieces.behind == off->end)
		return NULL;
	/* It may have run in between, so why it is off now is not known. */
	off->start = pieces.behind;
	off->whole_start = off->start;
	off->flags |= SCHED_OPEN_START;
	off->flags &= ~(unsigned int)SCHED_CUT_START;
	off->why = SCHED_UNKNOWN;
	if (off->runnable < off->start) {
		off->runnable = 0;
		off->whole_runnable = 0;
		off->woken = false;
		off->waker = NULL;
	}
	return give_off(cut, off);
}
