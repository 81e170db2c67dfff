/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport threads` on traces whose rows are known: which threads stand together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "server" }, { 11, 10, 110, "one" },   { 12, 10, 120, "two" },
	{ 13, 10, 130, "busy" },   { 2, 2, 10, "kthreadd" }, { 0, 0, 0, "" },
};

struct where {
	uint32_t tid;
	enum ebt_thread_stack_moment moment;
	uint64_t time, since;
	int64_t call;
	uint64_t fd, kernel, user; /* addresses; 0: no stack */
	enum ebt_thread_stack_user missing;
	uint32_t on_cpu, owner;
};

static void add(struct made_trace *t, const struct where *w)
{
	struct ebt_wire_thread_stack *row =
		ebt_record_begin(&t->record, EBT_T_thread_stack, w->time);

	row->task = w->tid;
	row->moment = w->moment;
	row->state = w->on_cpu ? 0 : 1;
	row->on_cpu = w->on_cpu;
	row->since = w->since;
	row->call = w->call;
	row->user = w->missing;
	row->arg0 = w->fd;
	row->arg1 = 0x1000;
	row->owner = w->owner;
	row->owner_by = w->owner ? EBT_V_thread_stack_owner_by_guess
				 : EBT_V_thread_stack_owner_by_not_known;
	if (w->kernel)
		ebt_record_stack(&t->record, offsetof(struct ebt_wire_thread_stack, kstack), 0,
				 &w->kernel, 1);
	if (w->user)
		ebt_record_stack(&t->record, offsetof(struct ebt_wire_thread_stack, ustack),
				 EBT_STACK_USER | EBT_STOP_ROOT << EBT_STACK_STOP_SHIFT, &w->user,
				 1);
	made_trace_add(t);
}

/* Whose first thread names it. */
static void add_process(struct made_trace *t, uint32_t pid, bool kernel)
{
	struct ebt_wire_process *row = ebt_record_begin(&t->record, EBT_T_process, 500);

	row->task = pid;
	row->kernel = kernel;
	made_trace_add(t);
}

#define KERNEL 0xffffffff81000010

static void make_of(struct made_trace *t, const struct where *rows, size_t n)
{
	made_trace_begin(t, tasks);
	made_trace_meta(t, "host.machine", "x86_64");
	add_process(t, 10, false);
	add_process(t, 2, true);
	for (size_t i = 0; i < n; i++)
		add(t, &rows[i]);
	made_trace_finish(t);
}

static void make(struct made_trace *t)
{
	static const struct where rows[] = {
		{ 10, 0, 1000, 900, 0, 3, KERNEL, 0x1000, 0, 0 },
		{ 11, 0, 1000, 800, 0, 4, KERNEL, 0x2000, 0, 0 },
		{ 12, 0, 1000, 700, 0, 5, KERNEL, 0x2000, 0, 0 },
		{ 13, 0, 1000, 950, -1, 0, 0, 0, EBT_V_thread_stack_user_running, 1 },
		{ 2, 0, 1000, 0, -1, 0, KERNEL, 0, EBT_V_thread_stack_user_none, 0 },
		{ 10, 1, 3000, 900, 0, 3, KERNEL, 0x1000, 0, 0 },
		{ 11, 1, 3000, 800, 0, 4, KERNEL, 0x2000, 0, 0 },
		{ 12, 1, 3000, 2500, 0, 5, KERNEL, 0x3000, 0, 0 },
		{ 13, 1, 3000, 0, 35, 0, KERNEL, 0, EBT_V_thread_stack_user_ran_meanwhile, 0 },
	};

	make_of(t, rows, sizeof(rows) / sizeof(rows[0]));
}

static void assert_says(const struct made_trace *t, const char *const *args, const char *expected)
{
	char *text = report_ok(t->path, args);

	assert_string_equal(text, expected);
	free(text);
}

#define ASSERT_SAYS(t, expected, ...) \
	assert_says(t, (const char *const[]){ __VA_ARGS__, NULL }, expected)

#define IN_KERNEL "#0   0xffffffff81000010  [kernel]\n"

/* Once where it stayed; a thread that moved is in two blocks. */
static void equal_stacks_stand_together(void **state)
{
	struct made_trace t;

	(void)state;
	make(&t);
	ASSERT_SAYS(&t,
		    "At the beginning and at the end:\n\n"
		    "server (10): sleep for 2.100 us, in read(3, 0x1000, 0)\n" IN_KERNEL
		    "#1   0x1000\n\n"
		    "one (11) of server (10): sleep for 2.200 us, in read(4, 0x1000, 0)\n" IN_KERNEL
		    "#1   0x2000\n\n"
		    "At the beginning:\n\n"
		    "two (12) of server (10): sleep for 300 ns, in read(5, 0x1000, 0)\n" IN_KERNEL
		    "#1   0x2000\n\n"
		    "busy (13) of server (10): running for 50 ns\n"
		    "     (user stack: running)\n\n"
		    "At the end:\n\n"
		    "two (12) of server (10): sleep for 500 ns, in read(5, 0x1000, 0)\n" IN_KERNEL
		    "#1   0x3000\n\n"
		    "busy (13) of server (10): sleep, in nanosleep(0, 0x1000)\n" IN_KERNEL
		    "     (user stack: ran meanwhile)\n\n"
		    "1 kernel thread left out: --kernel-threads\n",
		    "threads", "--no-symbols");
	ASSERT_SAYS(&t,
		    "At the beginning:\n\n"
		    "kthreadd (2): sleep\n" IN_KERNEL "\n"
		    "server (10): sleep for 100 ns, in read(3, 0x1000, 0)\n" IN_KERNEL
		    "#1   0x1000\n\n"
		    "2 threads: one (11), two (12) of server (10): sleep for 200 ns to 300 ns, in "
		    "read\n" IN_KERNEL "#1   0x2000\n\n"
		    "1 more stack (--top shows more).\n",
		    "threads", "--no-symbols", "--all", "--top", "3", "--at", "begin");
	made_trace_remove(&t);
}

static void times_that_look_the_same_are_one(void **state)
{
	static const struct where rows[] = {
		{ 11, 1, 4000000000, 800, 0, 4, KERNEL, 0x2000, 0, 0 },
		{ 12, 1, 4000000000, 900, 0, 5, KERNEL, 0x2000, 0, 0 },
	};
	struct made_trace t;

	(void)state;
	make_of(&t, rows, 2);
	ASSERT_SAYS(&t,
		    "At the end:\n\n"
		    "2 threads: one (11), two (12) of server (10): sleep for 4.000 s, in "
		    "read\n" IN_KERNEL "#1   0x2000\n\n",
		    "threads", "--no-symbols");
	made_trace_remove(&t);
}

static void each_row_has_its_frames(void **state)
{
	struct made_trace t;

	(void)state;
	make(&t);
	ASSERT_SAYS(&t,
		    "depth,time_ns,at,pid,tid,comm,state,from_ns,wait_ns,call,args,lock,holder,"
		    "incomplete,number,function,address,object,lines,inlined,kernel\r\n"
		    "0,3000,end,10,12,two,sleep,2500,500,read,5 0x1000 0,,,,,,,,,,0\r\n"
		    "1,3000,end,10,12,two,,,,,,,,,0,0xffffffff81000010,0xffffffff81000010,[kernel],"
		    ",0,1\r\n"
		    "1,3000,end,10,12,two,,,,,,,,,1,0x3000,0x3000,,,0,0\r\n",
		    "threads", "--no-symbols", "--csv", "--tid", "12", "--at", "end");
	made_trace_remove(&t);
}

/* Of one stack, those who wait for the same lock. What a guess says of another process is none. */
static void waiters_of_a_lock_stand_together(void **state)
{
	static const struct where rows[] = {
		{ 10, 1, 3000, 900, 202, 0xa000, KERNEL, 0x1000, 0, 0, 12 },
		{ 11, 1, 3000, 900, 202, 0xa000, KERNEL, 0x1000, 0, 0, 12 },
		{ 12, 1, 3000, 900, 202, 0xb000, KERNEL, 0x1000, 0, 0, 11 },
		{ 13, 1, 3000, 900, 202, 0xc000, KERNEL, 0x1000, 0, 0, 2 },
	};
	struct made_trace t;

	(void)state;
	make_of(&t, rows, 4);
	ASSERT_SAYS(&t,
		    "At the end:\n\n"
		    "2 threads: server (10), one (11) of server (10): sleep for 2.100 us, in "
		    "futex(0xa000, 0x1000, 0, 0, 0, 0); the lock is held by two (12)\n" IN_KERNEL
		    "#1   0x1000\n\n"
		    "two (12) of server (10): sleep for 2.100 us, in "
		    "futex(0xb000, 0x1000, 0, 0, 0, 0); the lock is held by one (11)\n" IN_KERNEL
		    "#1   0x1000\n\n"
		    "busy (13) of server (10): sleep for 2.100 us, in "
		    "futex(0xc000, 0x1000, 0, 0, 0, 0)\n" IN_KERNEL "#1   0x1000\n\n",
		    "threads", "--no-symbols");
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_stand_together),
		cmocka_unit_test(times_that_look_the_same_are_one),
		cmocka_unit_test(each_row_has_its_frames),
		cmocka_unit_test(waiters_of_a_lock_stand_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
