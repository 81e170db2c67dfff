/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which file a descriptor was, by rows of `fd` and the calls between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

#define FSYNC	 74 /* on x86_64 */
#define FD	 3
#define DOUBTFUL 2 /* field attrs */

static void add_fd(struct made_trace *t, uint64_t time, uint32_t tid, uint64_t inode,
		   uint32_t attrs)
{
	struct ebt_wire_fd *row = ebt_record_begin(&t->record, EBT_T_fd, time);

	row->task = tid;
	row->fd = FD;
	row->why = EBT_V_fd_why_used;
	row->type = EBT_V_fd_type_regular;
	row->attrs = attrs;
	row->inode = inode;
	made_trace_add(t);
}

static void add_path(struct made_trace *t, uint64_t inode, const char *path)
{
	struct ebt_wire_inode_path *row = ebt_record_begin(&t->record, EBT_T_inode_path, 1500000);

	row->inode = inode;
	row->links = 1;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_inode_path, path), path);
	made_trace_add(t);
}

/* Returns then, after 100 ns. */
static void add_call(struct made_trace *t, uint64_t time, uint32_t tid)
{
	struct ebt_wire_syscall *row = ebt_record_begin(&t->record, EBT_T_syscall, time);

	row->task = tid;
	row->nr = FSYNC;
	row->arg0 = FD;
	row->duration = 100;
	made_trace_add(t);
}

/* A row that says that it may have been another file names nothing, neither its own call nor the
 * next one, whatever was known before. */
static void test_doubtful(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "a" },
						    { 11, 10, 110, "b" },
						    { 0, 0, 0, "" } };
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_meta(&t, "host.machine", "x86_64");
	add_path(&t, 5, "/first");
	add_path(&t, 6, "/second");
	add_fd(&t, 3001000, 10, 5, 0);
	add_call(&t, 3001000, 10);
	add_fd(&t, 3002000, 11, 6, DOUBTFUL);
	add_call(&t, 3002000, 11);
	add_call(&t, 3003000, 10);
	add_fd(&t, 3004000, 11, 6, 0);
	add_call(&t, 3004000, 11);
	made_trace_finish(&t);
	text = report_ok(t.path, (const char *[]){ "syscalls", "--trace", NULL });
	assert_string_equal(text, "[pid    10] -0.000000 fsync(3<[0:0]/first>) = 0 <0.000000>\n"
				  "[pid    11] 0.000000 fsync(3) = 0 <0.000000>\n"
				  "[pid    10] 0.000001 fsync(3) = 0 <0.000000>\n"
				  "[pid    11] 0.000002 fsync(3<[0:0]/second>) = 0 <0.000000>\n");
	free(text);
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_doubtful) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
