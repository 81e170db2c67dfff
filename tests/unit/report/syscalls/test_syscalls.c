/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport syscalls` on traces whose figures are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/syscalls/trace.h"
#include "tests/tools/report_run.h"

enum { READ = 0, WRITE = 1, NANOSLEEP = 35, OPENAT = 257 };

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "leader" },
	{ 11, 10, 110, "worker" },
	{ 20, 20, 200, "<b>" },
	{ 0, 0, 0, "" },
};

static void fill(struct made_trace *t)
{
	made_trace_meta(t, "host.machine", "x86_64");
	made_trace_syscall(t, 2000000, 11, 0, READ, 1000, 17);
	made_trace_syscall(t, 2001000, 11, 0, READ, 3000, -11);
	made_trace_syscall(t, 2002000, 10, 0, OPENAT, 500, -2);
	made_trace_syscall(t, 2003000, 20, 1, READ, 2000, 0);
	made_trace_syscall(t, 2004000, 20, 1, WRITE, 100, -5000); /* no error: too small */
	made_trace_syscall(t, 2005000, 0, 1, 5555, 100, 0);
}

static void with_trace(struct made_trace *t)
{
	made_trace_begin(t, tasks);
	fill(t);
	made_trace_finish(t);
}

static void expect_part(char *text, const char *part)
{
	if (!strstr(text, part)) {
		print_error("%s\n", text ? text : "");
		fail_msg("'%s' is not in the above", part);
	}
}

static void test_by_call(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_OK(t.path, "syscalls", "--csv");
	expect_part(text, "name,abi,category,count,errors,total_ns,percent,avg_ns,p50_ns,"
			  "p99_ns,max_ns,max_at_ns,min_ns\r\n");
	expect_part(text,
		    "\nread,native,file_io,3,1,6000,89.5522,2000,2000,3000,3000,2001000,1000\r\n");
	expect_part(text, "\nopenat,native,file_io,1,1,500,");
	expect_part(text, "\nwrite,native,file_io,1,0,100,");
	expect_part(text, "\nsyscall_5555,native,other,1,0,100,");
	free(text);
	made_trace_remove(&t);
}

static void test_by_process(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_OK(t.path, "syscalls", "--by", "process", "--csv");
	expect_part(text, "0,10,leader,,,,3,2,4500,");
	expect_part(text, "1,10,leader,read,native,file_io,2,1,4000,");
	expect_part(text, "1,10,leader,openat,native,file_io,1,1,500,");
	expect_part(text, "0,20,<b>,,,,2,0,2100,");
	free(text);
	text = REPORT_OK(t.path, "syscalls", "--by", "thread", "--csv");
	expect_part(text, "0,10,11,worker,,,,2,1,4000,");
	expect_part(text, "0,10,10,leader,,,,1,1,500,");
	free(text);
	text = REPORT_OK(t.path, "syscalls", "--by", "process", "--json");
	expect_part(text, "{\"pid\":20,\"comm\":\"\\u003cb\\u003e\",\"count\":2");
	expect_part(text, "\"rows\":[\n{\"name\":\"read\"");
	free(text);
	made_trace_remove(&t);
}

/* Several keys make flat rows; a group has what its rows have together. */
static void test_keys(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_OK(t.path, "syscalls", "--by", "process,error", "--csv");
	expect_part(text, "depth,pid,comm,error,name,");
	expect_part(text, "0,10,leader,EAGAIN,,,,1,1,3000,");
	expect_part(text, "1,10,leader,EAGAIN,read,native,file_io,1,1,3000,");
	expect_part(text, "0,10,leader,ENOENT,,,,1,1,500,");
	expect_part(text, "0,10,leader,,,,,1,0,1000,");
	free(text);
	text = REPORT_OK(t.path, "syscalls", "--by=call,task", "--csv", "--columns",
			 "tid,NAME,total,count");
	assert_string_equal(text, "tid,name,total_ns,count\r\n"
				  "11,read,4000,2\r\n"
				  "20,read,2000,1\r\n"
				  "10,openat,500,1\r\n"
				  "20,write,100,1\r\n"
				  ",syscall_5555,100,1\r\n");
	free(text);
	text = REPORT_OK(t.path, "syscalls", "--by", "program, call", "--csv", "--columns",
			 "program, name ,count", "--top", "1", "--pid", "20 21");
	assert_string_equal(text, "program,name,count\r\n<b>,read,1\r\n");
	free(text);
	text = REPORT_OK(t.path, "syscalls", "--by", "process", "--columns", "count,avg_ns");
	expect_part(text, "PROCESS ");
	expect_part(text, "leader (10)");
	expect_part(text, "  openat");
	free(text);
	made_trace_remove(&t);
}

static void fails(const struct made_trace *t, const char *option, const char *value,
		  const char *message)
{
	int status;
	char *text = value ? REPORT_FAILS(t->path, &status, "syscalls", option, value)
			   : REPORT_FAILS(t->path, &status, "syscalls", option);

	assert_int_equal(status, EBT_ERR_INVALID);
	expect_part(text, message);
	free(text);
}

static void test_wrong_keys(void **state)
{
	struct made_trace t;

	(void)state;
	with_trace(&t);
	fails(&t, "--by-thread", NULL, "--by-thread is --by thread now");
	fails(&t, "--by", "device",
	      "'device' is not one of thread, task, process, program, user, cgroup, "
	      "container, call, error");
	fails(&t, "--by", "call,call", "'call' stands there twice");
	fails(&t, "--by", "", "'' is not one of thread,");
	fails(&t, "--by", "process,", "'' is not one of");
	fails(&t, "--by", "call,error,thread,process,user", "up to 3 keys");
	fails(&t, "--columns", "", "--columns: there is no column ''; there are name,");
	fails(&t, "--columns", "name,", "--columns: there is no column ''");
	fails(&t, "--columns", "name,nothing",
	      "--columns: there is no column 'nothing'; there are "
	      "name, abi, category, count,");
	made_trace_remove(&t);
}

static void test_errors(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_OK(t.path, "syscalls", "--errors", "--json");
	expect_part(text, "{\"name\":\"read\",\"errno\":\"EAGAIN\",\"number\":11,\"count\":1}");
	expect_part(text, "{\"name\":\"openat\",\"errno\":\"ENOENT\",\"number\":2,\"count\":1}");
	free(text);
	made_trace_remove(&t);
}

/* The second read was entered before the first. */
static void test_trace(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_OK(t.path, "syscalls", "--trace");
	assert_string_equal(
		text,
		"[pid    11] -0.000002 read(3, 0x7f0000001000, 4294967196) = -1 EAGAIN (Resource "
		"temporarily unavailable) <0.000003>\n"
		"[pid    11] -0.000001 read(3, 17 bytes, 4294967196) = 17 <0.000001>\n"
		"[pid    20] 0.000001 read(3, 0 bytes, 4294967196) = 0 <0.000002>\n"
		"[pid    10] 0.000001 openat(3, 0x7f0000001000, O_RDONLY|O_EXCL|O_NOCTTY|O_TRUNC|"
		"O_APPEND|O_NONBLOCK|O_SYNC|O_DIRECT|O_LARGEFILE|O_NOFOLLOW|O_NOATIME|O_CLOEXEC|"
		"O_PATH|O_TMPFILE|FASYNC|0xff80001c, 000) = -1 ENOENT (No such file "
		"or directory) <0.000000>\n"
		"[pid    20] 0.000003 write(3, 4294967196 bytes, 4294967196) = -5000 <0.000000>\n"
		"[pid     0] 0.000004 syscall_5555(3, 0x7f0000001000, -100, 0, 0, 0) = 0 "
		"<0.000000>\n");
	free(text);
	text = REPORT_OK(t.path, "syscalls", "--trace", "--tid", "20", "--csv", "--top", "1");
	assert_string_equal(text, "time_ns,tid,pid,comm,name,abi,args,ret,errno,duration_ns\r\n"
				  "2001000,20,20,<b>,read,native,3 0 bytes 4294967196,0,,"
				  "2000\r\n");
	free(text);
	made_trace_remove(&t);
}

static uint64_t entry_of(const char *line)
{
	return strtoull(line, NULL, 10);
}

/* Random durations, more rows than the window: in order but for calls that last longer than it
 * reaches back. */
static void test_trace_order(void **state)
{
	const unsigned int n = SYSCALL_TRACE_WINDOW + 20000;
	uint64_t last = 0, seed = 1, time = 10000000;
	unsigned int lines = 0, late = 0;
	struct made_trace t;
	char *text, *line;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_meta(&t, "host.machine", "x86_64");
	for (unsigned int i = 0; i < n; i++) {
		uint64_t duration;

		seed = seed * 6364136223846793005 + 1442695040888963407;
		time += 10;
		duration = seed >> 44; /* up to 2^20 ns: 100,000 rows back */
		if (i == n - 1)
			duration = time - 5000000; /* from before all others */
		made_trace_syscall(&t, time, 10, 0, READ, duration, 0);
	}
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "syscalls", "--trace", "--csv");
	line = strchr(text, '\n') + 1;
	while (*line) {
		if (entry_of(line) < last)
			late++;
		else
			last = entry_of(line);
		lines++;
		line = strchr(line, '\n') + 1;
	}
	assert_int_equal(lines, n);
	assert_int_equal(late, 1);
	free(text);
	text = REPORT_OK(t.path, "syscalls", "--trace", "--json");
	expect_part(text, "\"warnings\":[\"1 call stands after calls that were entered later");
	free(text);
	made_trace_remove(&t);
}

static void test_other_machine(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_meta(&t, "host.machine", "aarch64");
	made_trace_syscall(&t, 1000, 10, 0, 63, 1, 0);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "syscalls", "--csv");
	expect_part(text, "\nread,native,file_io,1,");
	free(text);
	made_trace_remove(&t);

	made_trace_begin(&t, tasks);
	made_trace_meta(&t, "host.machine", "vax");
	made_trace_syscall(&t, 1000, 10, 0, 63, 1, 0);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "syscalls", "--json");
	expect_part(text, "\"name\":\"syscall_63\"");
	expect_part(text, "machine 'vax' are not known here");
	free(text);
	made_trace_remove(&t);
}

static void test_wrong(void **state)
{
	struct made_trace t;
	int status;

	(void)state;
	with_trace(&t);
	free(REPORT_FAILS(t.path, &status, "syscalls", "--by", "process", "--trace"));
	assert_int_equal(status, EBT_ERR_INVALID);
	free(REPORT_FAILS(t.path, &status, "syscalls", "--trace", "--sort", "name"));
	assert_int_equal(status, EBT_ERR_INVALID);
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_call),	    cmocka_unit_test(test_by_process),
		cmocka_unit_test(test_keys),	    cmocka_unit_test(test_wrong_keys),
		cmocka_unit_test(test_errors),	    cmocka_unit_test(test_trace),
		cmocka_unit_test(test_trace_order), cmocka_unit_test(test_other_machine),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
