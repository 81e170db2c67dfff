/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduler's model on traces of a few rows, where every interval is known beforehand. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "report/sched/model_sched.h"
#include "report/sched/model_schedstat.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/report_run.h"
#include "tests/tools/small_trace.h"

/* Prints intervals: what the tests compare. */
struct printed {
	FILE *f;
	char *text;
	size_t size;
	struct schedstat stat;
	uint32_t stranger; /* a process that is not followed */
	struct sched_gaps gaps;
};

static void print_flags(FILE *f, unsigned int flags)
{
	fprintf(f, "%s%s%s", flags & SCHED_OPEN_START ? "<" : "", flags & SCHED_OPEN_END ? ">" : "",
		flags & SCHED_DOUBTFUL ? "?" : "");
}

static struct ebt_error *print_run(void *arg, const struct sched_run *run)
{
	struct printed *p = arg;

	fprintf(p->f, "%u runs on %u %" PRIu64 "-%" PRIu64, run->task->tid, run->cpu,
		run->start - SMALL_START, run->end - SMALL_START);
	print_flags(p->f, run->flags);
	if (run->row)
		fprintf(p->f, " %s %s", run->voluntary ? "vol" : "invol", sched_why_name(run->why));
	fputs("\n", p->f);
	return schedstat_run(&p->stat, run);
}

static struct ebt_error *print_off(void *arg, const struct sched_off *off)
{
	struct printed *p = arg;

	fprintf(p->f, "%u off %" PRIu64 "-%" PRIu64, off->task->tid, off->start - SMALL_START,
		off->end - SMALL_START);
	print_flags(p->f, off->flags);
	fprintf(p->f, " %s", sched_why_name(off->why));
	if (off->runnable)
		fprintf(p->f, " runnable %" PRIu64, off->runnable - SMALL_START);
	if (off->woken && off->waker)
		fprintf(p->f, " by %u", off->waker->tid);
	else if (off->woken)
		fputs(" by interrupt", p->f);
	fputs("\n", p->f);
	return schedstat_off(&p->stat, off);
}

static bool is_followed(void *arg, const struct ebt_task *task)
{
	const struct printed *p = arg;

	return task->pid != p->stranger;
}

/* Reads the trace with bounds 0 and to, and frees it. */
static void run_model(struct small_trace *t, uint64_t to, struct printed *p)
{
	struct ebt_want wants[SCHED_MODEL_MAX_WANTS];
	const struct ebt_query query = { .wants = wants,
					 .n_wants = sched_model_wants(false, wants) };
	const struct sched_handler handler = { .run = print_run, .off = print_off };
	const struct sched_options options = {
		.from_ns = SMALL_START,
		.to_ns = SMALL_START + to,
		.followed = p->stranger ? is_followed : NULL,
		.handler = &handler,
		.arg = p,
	};
	struct ebt_reader *reader = small_open(t);
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	struct sched_model *model;
	struct ebt_row row;

	p->f = open_memstream(&p->text, &p->size);
	assert_no_error(sched_model_create(reader, &options, &model));
	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	for (;;) {
		assert_no_error(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		assert_no_error(schedstat_kernel(&p->stat, &row));
		assert_no_error(sched_model_row(model, &row));
	}
	assert_no_error(sched_model_finish(model));
	for (uint32_t i = 0; i < p->stat.n_tasks; i++) {
		const struct schedstat_task *task = &p->stat.tasks[i];

		if (task->kernel_known)
			fprintf(p->f, "%u kernel %" PRIu64 "\n", task->task->tid,
				task->kernel_ns - task->kernel_before_ns);
	}
	p->gaps = sched_model_gaps(model);
	sched_model_destroy(model);
	ebt_cursor_destroy(take_ptr(cursor));
	fclose(p->f);
	/* Tasks live as long as the reader: figures are compared before this. */
	schedstat_deinit(&p->stat);
	ebt_reader_close(reader);
	small_end(t);
}

static void expect(struct small_trace *t, uint64_t to, const char *text)
{
	struct printed p = { 0 };

	run_model(t, to, &p);
	assert_string_equal(p.text, text);
	assert_int_equal(p.gaps.broken, 0);
	free(p.text);
}

/* Sleep, waking, wait, run; the idle task is nobody. */
static void test_sleep(void **state)
{
	struct small_trace t = { 0 };

	(void)state;
	small_begin(&t);
	small_switch(&t, 100, 0, 0, 10, 0, 0);
	small_switch(&t, 250, 0, 10, 0, 1, 0);
	small_waking(&t, 400, 0, 10);
	small_switch(&t, 430, 0, 0, 10, 0, 0);
	small_switch(&t, 500, 0, 10, 0, 2, 0);
	expect(&t, 600,
	       "10 off 0-100< unknown\n"
	       "10 runs on 0 100-250 vol sleep\n"
	       "10 off 250-430 sleep runnable 400 by interrupt\n"
	       "10 runs on 0 430-500 vol disk\n"
	       "10 off 500-600> disk\n");
}

/* Preemption and yielding: it waits from the moment it stops, whatever state it had set. */
static void test_preempted(void **state)
{
	struct small_trace t = { 0 };

	(void)state;
	small_begin(&t);
	small_switch(&t, 10, 3, 20, 30, 1, 1);
	small_switch(&t, 50, 3, 30, 20, 0, 0);
	small_switch(&t, 90, 3, 20, 30, 1, 0);
	expect(&t, 100,
	       "20 runs on 3 0-10< invol runnable\n"
	       "30 off 0-10< unknown\n"
	       "30 runs on 3 10-50 invol runnable\n"
	       "20 off 10-50 runnable runnable 10\n"
	       "20 runs on 3 50-90 vol sleep\n"
	       "30 off 50-90 runnable runnable 50\n"
	       "20 off 90-100> sleep\n"
	       "30 runs on 3 90-100>\n");
}

/* A waking between two CPUs can carry an earlier time than the switch that it answers. */
static void test_early_waking(void **state)
{
	struct small_trace t = { 0 };

	(void)state;
	small_begin(&t);
	small_switch(&t, 10, 0, 0, 10, 0, 0);
	small_switch(&t, 20, 1, 0, 20, 0, 0);
	small_waking(&t, 98, 20, 10);
	small_switch(&t, 100, 0, 10, 0, 1, 0);
	small_switch(&t, 130, 0, 0, 10, 0, 0);
	/* This one was answered at once, the next sleep has its own. */
	small_waking(&t, 140, 20, 10);
	small_switch(&t, 200, 0, 10, 0, 1, 0);
	small_waking(&t, 260, 0, 10);
	small_switch(&t, 270, 0, 0, 10, 0, 0);
	/* It wakes itself: nothing. */
	small_waking(&t, 280, 10, 10);
	small_switch(&t, 290, 0, 10, 0, 1, 0);
	expect(&t, 300,
	       "10 off 0-10< unknown\n"
	       "20 off 0-20< unknown\n"
	       "10 runs on 0 10-100 vol sleep\n"
	       "10 off 100-130 sleep runnable 100 by 20\n"
	       "10 runs on 0 130-200 vol sleep\n"
	       "10 off 200-270 sleep runnable 260 by interrupt\n"
	       "10 runs on 0 270-290 vol sleep\n"
	       "10 off 290-300> sleep\n"
	       "20 runs on 1 20-300>\n");
}

static void test_fork_and_exit(void **state)
{
	struct small_trace t = { 0 };

	(void)state;
	small_begin(&t);
	small_switch(&t, 5, 0, 0, 10, 0, 0);
	small_fork(&t, 50, 10, 20);
	small_waking(&t, 55, 10, 20);
	small_switch(&t, 70, 1, 0, 20, 0, 0);
	small_exit(&t, 90, 20);
	small_switch(&t, 95, 1, 20, 0, 0x80, 0);
	small_switch(&t, 99, 0, 10, 0, 1, 0);
	expect(&t, 200,
	       "10 off 0-5< unknown\n"
	       "20 off 50-70 new runnable 55 by 10\n"
	       "20 runs on 1 70-95 vol dead\n"
	       "10 runs on 0 5-99 vol sleep\n"
	       "10 off 99-200> sleep\n"
	       "20 kernel 1090\n");
}

/* The last switch of a task is not in the trace: it ends where it said that it would. */
static void test_exit_without_switch(void **state)
{
	struct small_trace t = { 0 };

	(void)state;
	small_begin(&t);
	small_switch(&t, 5, 0, 0, 10, 0, 0);
	small_exit(&t, 90, 10);
	expect(&t, 5000, "10 off 0-5< unknown\n10 runs on 0 5-90\n");
	/* What the kernel counted before the trace begins is not part of it. */
	small_begin(&t);
	small_thread(&t, 3, 10, 0, 0, 1);
	small_exit(&t, 90, 10);
	expect(&t, 5000, "10 runs on 0 0-90<\n10 kernel 90\n");
}

/* What the state tables say of the moment when recording began. */
static void test_threads_at_start(void **state)
{
	struct small_trace t = { 0 };

	(void)state;
	small_begin(&t);
	small_thread(&t, 3, 10, 0, 0, 1);
	small_thread(&t, 3, 20, 1, 1, 0);
	small_thread(&t, 3, 30, 2, 1, 0);
	small_thread(&t, 3, 40, 0, 1, 0);
	small_thread(&t, 3, 50, 0x402, 1, 0);
	small_waking(&t, 30, 10, 20);
	small_switch(&t, 40, 1, 0, 20, 0, 0);
	small_switch(&t, 60, 1, 20, 40, 1, 0);
	small_switch(&t, 80, 0, 10, 0, 1, 0);
	expect(&t, 100,
	       "20 off 0-40< sleep runnable 30 by 10\n"
	       "20 runs on 1 40-60 vol sleep\n"
	       "40 off 0-60< runnable runnable 0\n"
	       "10 runs on 0 0-80< vol sleep\n"
	       "10 off 80-100> sleep\n"
	       "20 off 60-100> sleep\n"
	       "30 off 0-100<> disk\n"
	       "40 runs on 1 60-100>\n"
	       "50 off 0-100<> idle\n");
}

/* A thread that calls exec goes on under the tid of its process. */
static void test_exec_by_thread(void **state)
{
	struct small_trace t = { 0 };

	(void)state;
	small_begin(&t);
	small_switch(&t, 10, 0, 0, 13, 0, 0);
	small_exec(&t, 50, 0, 10, 13);
	small_switch(&t, 80, 0, 10, 0, 1, 0);
	expect(&t, 100,
	       "13 off 0-10< unknown\n"
	       "13 runs on 0 10-50\n"
	       "10 runs on 0 50-80 vol sleep\n"
	       "10 off 80-100> sleep\n");
}

/* A loss cuts what reaches over it; what lies within is doubtful. */
static void test_losses(void **state)
{
	struct small_trace t = { 0 };
	struct printed p = { 0 };

	(void)state;
	small_begin(&t);
	small_switch(&t, 0, 0, 0, 10, 0, 0);
	small_switch(&t, 10, 1, 0, 20, 0, 0);
	small_switch(&t, 50, 1, 20, 0, 1, 0);
	small_switch(&t, 120, 2, 0, 30, 0, 0);
	small_switch(&t, 140, 2, 30, 0, 1, 0);
	small_lost(&t, 100, 200, EBT_T_sched_switch, 7);
	small_lost(&t, 20, 30, EBT_T_sched_waking, 1);
	small_waking(&t, 280, 10, 20);
	small_switch(&t, 290, 1, 0, 20, 0, 0);
	small_switch(&t, 300, 0, 10, 0, 1, 0);
	run_model(&t, 310, &p);
	assert_string_equal(p.text, "20 off 0-10< unknown\n"
				    "20 runs on 1 10-50 vol sleep\n"
				    "30 off 0-100<> unknown\n"
				    "30 runs on 2 120-140? vol sleep\n"
				    "20 off 50-100> sleep\n"
				    "20 off 200-290< unknown runnable 280 by 10\n"
				    "10 runs on 0 0-100>\n"
				    "10 runs on 0 200-300< vol sleep\n"
				    "20 runs on 1 290-310>\n"
				    "30 off 200-310<> unknown\n"
				    "10 off 300-310> sleep\n");
	assert_int_equal(p.gaps.lost_ns, 100);
	assert_int_equal(p.gaps.doubtful, 1);
	assert_int_equal(p.gaps.broken, 0);
	free(p.text);
}

/* Rows that contradict each other are counted, and make no interval up. */
static void test_missing_rows(void **state)
{
	struct small_trace t = { 0 };
	struct printed p = { 0 };

	(void)state;
	small_begin(&t);
	small_switch(&t, 0, 0, 0, 10, 0, 0);
	/* 10 was replaced by 20 at a time that nobody knows. */
	small_switch(&t, 5000, 0, 20, 30, 1, 0);
	/* 10 runs elsewhere, and nobody saw it stop. */
	small_switch(&t, 6000, 1, 0, 10, 0, 0);
	small_switch(&t, 6100, 1, 10, 0, 1, 0);
	run_model(&t, 7000, &p);
	assert_string_equal(p.text, "20 runs on 0 5000-5000< vol sleep\n"
				    "30 off 0-5000< unknown\n"
				    "10 runs on 1 6000-6100 vol sleep\n"
				    "20 off 5000-7000> sleep\n"
				    "10 off 6100-7000> sleep\n"
				    "30 runs on 0 5000-7000>\n");
	assert_int_equal(p.gaps.broken, 2);
	free(p.text);
}

/* Of tasks that are not followed, only the switches to and from others are there. */
static void test_strangers(void **state)
{
	struct small_trace t = { 0 };
	struct printed p = { .stranger = 90 };

	(void)state;
	small_begin(&t);
	small_switch(&t, 10, 0, 90, 10, 0, 1);
	small_switch(&t, 20, 0, 10, 90, 1, 0);
	small_waking(&t, 25, 90, 10);
	small_switch(&t, 30, 0, 91, 10, 1, 0);
	small_switch(&t, 40, 0, 10, 92, 0, 1);
	run_model(&t, 50, &p);
	assert_string_equal(p.text, "10 off 0-10< unknown\n"
				    "10 runs on 0 10-20 vol sleep\n"
				    "10 off 20-30 sleep runnable 25 by 90\n"
				    "10 runs on 0 30-40 invol runnable\n"
				    "10 off 40-50> runnable runnable 40\n");
	assert_int_equal(p.gaps.broken, 0);
	free(p.text);
}

static void add_charged(struct made_trace *t, uint64_t time, uint32_t prev, uint32_t next)
{
	struct ebt_wire_sched_switch *row = ebt_record_begin(&t->record, EBT_T_sched_switch, time);

	row->prev = prev;
	row->next = next;
	row->prev_run = 100;
	made_trace_add(t);
}

/* `sched` has no row for them, although their last run was charged, too. */
static void test_no_rows_of_strangers(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 1, "one" }, { 90, 0, 0, "" }, { 0 } };
	struct ebt_wire_task_exec *exec;
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_meta(&t, "target.kind", "command");
	exec = ebt_record_begin(&t.record, EBT_T_task_exec, 50);
	exec->task = 10;
	exec->pid = 10;
	made_trace_add(&t);
	add_charged(&t, 100, 90, 10);
	add_charged(&t, 200, 10, 90);
	add_charged(&t, 300, 90, 10);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "sched", "--json", "--all");
	assert_non_null(strstr(text, "\"tid\":10,"));
	assert_null(strstr(text, "\"tid\":90,"));
	free(text);
	made_trace_remove(&t);
}

static void test_reasons(void **state)
{
	(void)state;
	assert_int_equal(sched_why(0, false), SCHED_RUNNABLE);
	assert_int_equal(sched_why(1, false), SCHED_SLEEP);
	assert_int_equal(sched_why(1, true), SCHED_RUNNABLE);
	assert_int_equal(sched_why(2, false), SCHED_DISK);
	assert_int_equal(sched_why(0x102, false), SCHED_DISK); /* killable */
	assert_int_equal(sched_why(0x402, false), SCHED_IDLE);
	assert_int_equal(sched_why(0x2001, false), SCHED_SLEEP); /* freezable */
	assert_int_equal(sched_why(4, false), SCHED_STOPPED);
	assert_int_equal(sched_why(8, false), SCHED_STOPPED);
	assert_int_equal(sched_why(0x40, false), SCHED_STOPPED);
	assert_int_equal(sched_why(0x10, false), SCHED_DEAD);
	assert_int_equal(sched_why(0x80, false), SCHED_DEAD);
}

/* Three rows of sched_switch: nothing charged, 40 ns charged, and the last of a task. */
static struct ebt_row switch_row(struct ebt_batch *batch, const struct ebt_task **task, uint32_t i)
{
	static const uint64_t prev[] = { 1, 1, 1 }, prev_run[] = { 0, 40, 7 };
	static const uint64_t prev_state[] = { 1, 1, 0x80 };

	batch->table = ebt_table_by_id(EBT_T_sched_switch);
	batch->tasks = task;
	batch->col[EBT_F_sched_switch_prev] = prev;
	batch->col[EBT_F_sched_switch_prev_state] = prev_state;
	batch->col[EBT_F_sched_switch_prev_run] = prev_run;
	return (struct ebt_row){ .batch = batch, .time = 150, .i = i };
}

/* The kernel's figure counts where it has one for the whole run. What parts of a run have of it
 * adds up to it, in however many windows they lie. */
static void test_charged(void **state)
{
	static const uint64_t charges[] = { 0, 40, 50, 53, 1, UINT64_MAX };
	const struct ebt_task task = { .tid = 10, .pid = 10, .id = 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(charges) / sizeof(charges[0]); i++) {
		struct schedstat whole = { 0 }, parts = { 0 };
		struct sched_run run = { .task = &task,
					 .start = 100,
					 .whole_start = 100,
					 .end = 150,
					 .whole_end = 150,
					 .charge = charges[i],
					 .cpu = 1 };

		assert_no_error(schedstat_run(&whole, &run));
		assert_int_equal(whole.tasks[3].run_ns, charges[i] ? charges[i] : 50);
		for (run.end = 107; run.start < 150; run.start = run.end, run.end += 43)
			assert_no_error(schedstat_run(&parts, &run));
		assert_int_equal(parts.tasks[3].run_ns, whole.tasks[3].run_ns);
		schedstat_deinit(&whole);
		schedstat_deinit(&parts);
	}
}

/* Sums take open intervals, averages do not. */
static void test_figures(void **state)
{
	const struct ebt_task task = { .tid = 10, .pid = 10, .id = 3 }, *tasks[] = { &task };
	struct ebt_batch batch = { 0 };
	const struct ebt_row row = switch_row(&batch, tasks, 0);
	struct schedstat stat = { 0 };
	struct sched_run run = { .task = &task,
				 .row = &row,
				 .start = 100,
				 .whole_start = 100,
				 .end = 150,
				 .cpu = 1,
				 .voluntary = true };
	struct sched_off off = { .task = &task,
				 .start = 150,
				 .runnable = 180,
				 .whole_start = 150,
				 .whole_runnable = 180,
				 .end = 200,
				 .woken = true,
				 .why = SCHED_SLEEP };

	(void)state;
	assert_no_error(schedstat_run(&stat, &run));
	assert_no_error(schedstat_off(&stat, &off));
	off = (struct sched_off){ .task = &task,
				  .start = 300,
				  .runnable = 300,
				  .whole_start = 300,
				  .whole_runnable = 300,
				  .end = 370,
				  .why = SCHED_RUNNABLE };
	assert_no_error(schedstat_off(&stat, &off));
	off.flags = SCHED_OPEN_END;
	assert_no_error(schedstat_off(&stat, &off));
	run.flags = SCHED_OPEN_START;
	run.voluntary = false;
	run.start = 0;
	run.whole_start = 0;
	assert_no_error(schedstat_run(&stat, &run));
	assert_no_error(schedstat_switch(&stat, 1));
	assert_no_error(schedstat_switch(&stat, UINT64_MAX));
	assert_no_error(schedstat_migrate(&stat, &task));

	assert_true(stat.n_tasks > 3);
	assert_null(stat.tasks[2].task);
	assert_int_equal(stat.tasks[3].run_ns, 50 + 150);
	assert_int_equal(stat.tasks[3].wait_ns, 20 + 70 + 70);
	assert_int_equal(stat.tasks[3].blocked_ns[SCHED_SLEEP], 30);
	assert_int_equal(stat.tasks[3].voluntary, 1);
	assert_int_equal(stat.tasks[3].involuntary, 1);
	assert_int_equal(stat.tasks[3].migrations, 1);
	assert_int_equal(stat.tasks[3].latency.count, 2);
	assert_int_equal(stat.tasks[3].latency.max, 70);
	assert_int_equal(stat.tasks[3].max_latency_at, 370);
	assert_int_equal(stat.tasks[3].runs, 1);
	assert_int_equal(stat.tasks[3].max_run_ns, 50);
	assert_int_equal(stat.run.count, 1);
	assert_true(stat.tasks[3].open);
	assert_int_equal(stat.n_cpus, 2);
	assert_false(stat.cpus[0].seen);
	assert_int_equal(stat.cpus[1].busy_ns, 200);
	assert_int_equal(stat.cpus[1].switches, 1);
	schedstat_deinit(&stat);
}

/* --- what holds for any rows, however absurd --- */

#define RANDOM_TASKS 8
#define RANDOM_CPUS  3

struct bounds {
	uint64_t task_until[100], cpu_until[RANDOM_CPUS + 1]; /* what is covered so far */
	uint64_t to, switches;
};

static struct ebt_error *check_run(void *arg, const struct sched_run *run)
{
	struct bounds *b = arg;

	assert_true(run->start <= run->end);
	assert_true(run->start >= SMALL_START && run->end <= b->to);
	assert_true(run->start >= b->task_until[run->task->tid]);
	b->task_until[run->task->tid] = run->end;
	assert_true(run->cpu < RANDOM_CPUS);
	assert_true(run->start >= b->cpu_until[run->cpu]);
	b->cpu_until[run->cpu] = run->end;
	b->switches += run->row != NULL;
	return NULL;
}

static struct ebt_error *check_off(void *arg, const struct sched_off *off)
{
	struct bounds *b = arg;

	assert_true(off->start <= off->end);
	assert_true(off->start >= SMALL_START && off->end <= b->to);
	assert_true(off->start >= b->task_until[off->task->tid]);
	b->task_until[off->task->tid] = off->end;
	if (off->runnable)
		assert_true(off->start <= off->runnable && off->runnable <= off->end);
	if (off->waker)
		assert_true(off->woken);
	return NULL;
}

static unsigned int below(unsigned int *seed, unsigned int n)
{
	return (unsigned int)rand_r(seed) / 7 % n;
}

/* Returns the number of rows of sched_switch with a prev. */
static uint64_t random_rows(struct small_trace *t, unsigned int *seed, unsigned int rows)
{
	static const uint32_t prev_states[] = { 0, 0, 1, 1, 2, 0x402, 0x80 };
	uint64_t time = 0, switches = 0;

	for (unsigned int i = 0; i < rows; i++) {
		uint32_t a = 10 + below(seed, RANDOM_TASKS), b = 10 + below(seed, RANDOM_TASKS);
		uint32_t cpu = below(seed, RANDOM_CPUS), state;

		time += below(seed, 10);
		a = below(seed, 4) ? a : 0;
		state = prev_states[below(seed, 7)];
		switch (below(seed, 12)) {
		case 0:
		case 1:
			small_waking(t, time, a, b);
			break;
		case 2:
			small_thread(t, time, b, state, cpu, below(seed, 2));
			break;
		case 3:
			small_fork(t, time, a, b);
			break;
		case 4:
			small_exit(t, time, b);
			break;
		case 5:
			small_exec(t, time, cpu, 10, b);
			break;
		case 6:
			if (below(seed, 10) == 0 && time > 5)
				small_lost(t, time - 5, time, EBT_T_sched_switch, 1);
			break;
		default:
			small_switch(t, time, cpu, a, b, state, below(seed, 2));
			switches += a != 0;
		}
	}
	return switches;
}

/* Intervals of a task, and runs on a CPU, follow each other and stay within the bounds; every
 * switch is counted once. */
static void test_random_rows(void **state)
{
	(void)state;
	for (unsigned int i = 1; i <= 300; i++) {
		struct ebt_want wants[SCHED_MODEL_MAX_WANTS];
		const struct ebt_query query = { .wants = wants,
						 .n_wants = sched_model_wants(false, wants) };
		const struct sched_handler handler = { check_run, check_off };
		struct bounds bounds = { .to = SMALL_START + 1000 };
		const struct sched_options options = { .from_ns = SMALL_START,
						       .to_ns = bounds.to,
						       .handler = &handler,
						       .arg = &bounds };
		unsigned int seed = i;
		struct small_trace t = { 0 };
		struct sched_model *model;
		struct ebt_reader *reader;
		struct ebt_cursor *cursor;
		struct ebt_row row;
		uint64_t switches;

		small_begin(&t);
		switches = random_rows(&t, &seed, 100);
		reader = small_open(&t);
		assert_no_error(sched_model_create(reader, &options, &model));
		assert_no_error(ebt_cursor_create(reader, &query, &cursor));
		for (;;) {
			assert_no_error(ebt_cursor_next(cursor, &row));
			if (!row.batch)
				break;
			assert_no_error(sched_model_row(model, &row));
		}
		assert_no_error(sched_model_finish(model));
		assert_int_equal(bounds.switches, switches);
		sched_model_destroy(model);
		ebt_cursor_destroy(cursor);
		ebt_reader_close(reader);
		small_end(&t);
	}
}

/* Rows without contradictions: tasks that are known from the start are woken, run and stop. */
static void real_rows(struct small_trace *t, unsigned int *seed, unsigned int rows)
{
	bool ready[RANDOM_TASKS] = { 0 }, runs[RANDOM_TASKS] = { 0 };
	uint32_t on[RANDOM_CPUS] = { 0 };
	uint64_t time = 0;

	for (uint32_t i = 0; i < RANDOM_TASKS; i++)
		small_thread(t, 0, 10 + i, 1, 0, false);
	for (unsigned int i = 0; i < rows; i++) {
		uint32_t task = below(seed, RANDOM_TASKS), cpu = below(seed, RANDOM_CPUS);
		uint32_t prev = on[cpu], state = below(seed, 3);

		time += below(seed, 10);
		if (!ready[task] && !runs[task]) {
			small_waking(t, time, on[0], 10 + task);
			ready[task] = true;
			continue;
		}
		if (runs[task])
			task = RANDOM_TASKS; /* nobody */
		if (prev) {
			runs[prev - 10] = false;
			ready[prev - 10] = !state;
		}
		on[cpu] = task < RANDOM_TASKS ? 10 + task : 0;
		if (on[cpu]) {
			ready[task] = false;
			runs[task] = true;
		}
		if (prev || on[cpu])
			small_switch(t, time, cpu, prev, on[cpu], state, 0);
	}
}

/* Sums of all windows of a trace. */
struct windowed {
	uint64_t from, to; /* of the present one */
	uint64_t run_ns, off_ns, why_ns[SCHED_N_WHYS], runnable_ns, runs, offs, whole_ns, waits_ns;
};

static struct ebt_error *sum_run(void *arg, const struct sched_run *run)
{
	struct windowed *w = arg;

	assert_true(run->start >= w->from && run->end <= w->to && run->start <= run->end);
	w->run_ns += run->end - run->start;
	if (!sched_is_complete(run->flags))
		return NULL;
	w->runs++;
	w->whole_ns += run->end - (run->flags & SCHED_CUT_START ? run->whole_start : run->start);
	return NULL;
}

static struct ebt_error *sum_off(void *arg, const struct sched_off *off)
{
	struct windowed *w = arg;
	bool cut = off->flags & SCHED_CUT_START;
	uint64_t runnable = cut ? off->whole_runnable : off->runnable;

	assert_true(off->start >= w->from && off->end <= w->to && off->start <= off->end);
	assert_true(!off->runnable || (off->runnable >= off->start && off->runnable <= off->end));
	w->off_ns += off->end - off->start;
	w->why_ns[off->why] += off->end - off->start;
	w->runnable_ns += off->runnable ? off->end - off->runnable : 0;
	if (!sched_is_complete(off->flags))
		return NULL;
	w->offs++;
	w->waits_ns += runnable ? off->end - runnable : 0;
	return NULL;
}

/* The last window goes to 1000. */
static struct windowed sum_windows(struct ebt_reader *reader, uint64_t width)
{
	struct ebt_want wants[SCHED_MODEL_MAX_WANTS];
	const struct ebt_query query = { .wants = wants,
					 .n_wants = sched_model_wants(false, wants) };
	const struct sched_handler handler = { sum_run, sum_off };
	struct windowed w = { .from = SMALL_START, .to = SMALL_START + width };
	const struct sched_options options = {
		.from_ns = w.from, .to_ns = w.to, .handler = &handler, .arg = &w
	};
	struct sched_model *model;
	struct ebt_cursor *cursor;
	struct ebt_row row;

	assert_no_error(sched_model_create(reader, &options, &model));
	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	assert_no_error(ebt_cursor_next(cursor, &row));
	while (row.batch || w.to < SMALL_START + 1000) {
		if (!row.batch || (row.time >= w.to && w.to < SMALL_START + 1000)) {
			assert_no_error(sched_model_cut(model));
			w.from = w.to;
			w.to += width;
			sched_model_window(model, w.from, w.to);
			continue;
		}
		assert_no_error(sched_model_row(model, &row));
		assert_no_error(ebt_cursor_next(cursor, &row));
	}
	assert_no_error(sched_model_finish(model));
	sched_model_destroy(model);
	ebt_cursor_destroy(cursor);
	return w;
}

/* A trace in windows has the sums of the trace as a whole, and intervals that end are given their
 * whole length, in whichever window they began. */
static void test_windows(void **state)
{
	static const uint64_t widths[] = { 1, 10, 200, 500 };

	(void)state;
	for (unsigned int i = 1; i <= 100; i++) {
		unsigned int seed = i;
		struct small_trace t = { 0 };
		struct ebt_reader *reader;
		struct windowed whole;

		small_begin(&t);
		real_rows(&t, &seed, 100);
		reader = small_open(&t);
		whole = sum_windows(reader, 1000);
		assert_true(whole.run_ns > 0 && whole.runs > 0 && whole.waits_ns > 0);
		for (size_t k = 0; k < sizeof(widths) / sizeof(widths[0]); k++) {
			struct windowed w = sum_windows(reader, widths[k]);

			w.from = whole.from;
			assert_memory_equal(&w, &whole, sizeof(w));
		}
		ebt_reader_close(reader);
		small_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_early_waking),
		cmocka_unit_test(test_fork_and_exit),
		cmocka_unit_test(test_exit_without_switch),
		cmocka_unit_test(test_threads_at_start),
		cmocka_unit_test(test_exec_by_thread),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_missing_rows),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_no_rows_of_strangers),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_charged),
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_random_rows),
		cmocka_unit_test(test_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
