/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport io` of more than it keeps: it says what is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/io/model_peers.h"
#include "tests/tools/report_run.h"

enum { READ = 0 };

static const struct ebt_task_id tasks[] = { { 10, 10, 100, "busy" }, { 0, 0, 0, "" } };

/* Descriptor 3, which made_trace_syscall() uses. */
static void add_pipe(struct made_trace *t, uint64_t time, uint64_t inode)
{
	struct ebt_wire_fd *row = ebt_record_begin(&t->record, EBT_T_fd, time);

	row->task = 10;
	row->fd = 3;
	row->type = EBT_V_fd_type_fifo;
	row->inode = inode;
	made_trace_add(t);
}

static void too_many_pipes(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_meta(&t, "host.machine", "x86_64");
	for (uint64_t i = 1; i <= PEERS_MAX + 5; i++) {
		add_pipe(&t, i * 1000, i);
		made_trace_syscall(&t, i * 1000 + 500, 10, 0, READ, 100, 7);
	}
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "io", "--peers", "--json");
	assert_non_null(strstr(text, "\"35 bytes are missing: there were more than 1048576 pipes"));
	free(text);
	made_trace_remove(&t);
}

/* 4194304 are kept, and the one that finds no room makes it. */
static void too_many_waits(void **state)
{
	struct made_trace t;
	char *text;
	uint64_t i;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_meta(&t, "host.machine", "x86_64");
	add_pipe(&t, 500, 1);
	made_trace_switch(&t, 1000, 0, 10, 0);
	for (i = 1; i <= (1 << 22) + 1; i++) {
		made_trace_switch(&t, i * 4000, 10, 0, 1);
		made_trace_switch(&t, i * 4000 + 1000, 0, 10, 0);
	}
	made_trace_syscall(&t, i * 4000, 10, 0, READ, 100, 7);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "io", "--json");
	assert_non_null(strstr(text, "\"4.194 s off CPU may be missing in OFF-CPU"));
	free(text);
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_pipes),
		cmocka_unit_test(too_many_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
