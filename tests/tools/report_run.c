/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces for tests of report/, and commands run on them; see report_run.h. */
#include "tests/tools/report_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/cli/command.h"
#include "report/out/interval.h"
#include "report/out/out.h"
#include "report/trace/trace.h"

static void check(struct ebt_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

static void resolve(void *arg, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret)
{
	(void)time_ns;
	*ret = (struct ebt_task_id){ .tid = tid };
	for (const struct ebt_task_id *task = arg; task && task->tid; task++) {
		if (task->tid == tid)
			*ret = *task;
	}
}

void made_trace_begin(struct made_trace *t, const struct ebt_task_id *tasks)
{
	struct ebt_writer_options options = { .resolve_task = resolve };

	*t = (struct made_trace){ .path = "/tmp/ebt-test-XXXXXX" };
	t->fd = mkstemp(t->path);
	assert_true(t->fd >= 0);
	options.fd = t->fd;
	options.name = t->path;
	options.resolve_arg = (void *)tasks;
	check(ebt_writer_create(&options, &t->writer));
	check(ebt_writer_add_stream(t->writer, &t->stream));
}

void made_trace_add(struct made_trace *t)
{
	check(ebt_record_add(&t->record, t->stream));
}

void made_trace_meta(struct made_trace *t, const char *key, const char *value)
{
	ebt_record_begin(&t->record, EBT_T_meta, 1);
	ebt_record_str(&t->record, offsetof(struct ebt_wire_meta, key), key);
	ebt_record_str(&t->record, offsetof(struct ebt_wire_meta, value), value);
	made_trace_add(t);
}

void made_trace_switch(struct made_trace *t, uint64_t time, uint32_t prev, uint32_t next,
		       uint32_t prev_state)
{
	struct ebt_wire_sched_switch *row = ebt_record_begin(&t->record, EBT_T_sched_switch, time);

	row->prev = prev;
	row->next = next;
	row->prev_state = prev ? prev_state : 0;
	row->preempt = prev && !prev_state;
	made_trace_add(t);
}

void made_trace_thread(struct made_trace *t, uint64_t time, uint32_t tid, uint64_t nvcsw)
{
	struct ebt_wire_thread *row = ebt_record_begin(&t->record, EBT_T_thread, time);

	row->task = tid;
	row->state = 1;
	row->nvcsw = nvcsw;
	made_trace_add(t);
}

void made_trace_clock(struct made_trace *t, uint64_t time)
{
	struct ebt_wire_clock *row = ebt_record_begin(&t->record, EBT_T_clock, time);

	row->boottime = row->realtime = row->tai = time;
	made_trace_add(t);
}

void made_trace_syscall(struct made_trace *t, uint64_t time, uint32_t tid, uint32_t cpu,
			uint32_t nr, uint64_t duration, int64_t result)
{
	struct ebt_wire_syscall *row = ebt_record_begin(&t->record, EBT_T_syscall, time);

	row->task = tid;
	row->cpu = cpu;
	row->nr = nr;
	row->duration = duration;
	row->ret = result;
	row->arg0 = 3;
	row->arg1 = 0x7f0000001000;
	row->arg2 = (uint32_t)-100;
	made_trace_add(t);
}

void made_trace_finish(struct made_trace *t)
{
	check(ebt_writer_finish(t->writer));
	ebt_writer_destroy(t->writer);
	ebt_record_deinit(&t->record);
	close(t->fd);
}

void made_trace_remove(struct made_trace *t)
{
	unlink(t->path);
}

static struct ebt_error *run(const struct options *options)
{
	_cleanup_(trace_closep) struct trace *trace = NULL;
	_cleanup_(out_destroyp) struct out *out = NULL;
	struct report report = { .command = options->command, .options = options };
	struct ebt_error *err;

	err = trace_open(options, &trace);
	if (!err)
		err = out_create(options, trace, &out);
	if (err)
		return err;
	report.trace = trace;
	report.out = out;
	err = interval_run(&report);
	return err ? err : out_finish(out);
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	char *data;
	long size;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	data = calloc(1, (size_t)size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)size, f), size);
	fclose(f);
	return data;
}

char *report_run(int *ret_status, const char *trace, const char *const *args)
{
	char output[] = "/tmp/ebt-out-XXXXXX", *argv[32] = { (char *)"ebreport" }, *result;
	int fd = mkstemp(output), argc = 1;
	struct options options = { 0 };
	struct ebt_error *err;

	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; args[i]; i++)
		argv[argc++] = (char *)args[i];
	argv[argc++] = (char *)"-o";
	argv[argc++] = output;
	argv[argc++] = (char *)trace;
	err = options_parse(argc, argv, &options);
	if (!err)
		err = run(&options);
	options_deinit(&options);
	*ret_status = err ? (int)err->code : 0;
	result = err ? strdup(err->message) : read_all(output);
	ebt_error_destroy(err);
	unlink(output);
	return result;
}

char *report_ok(const char *trace, const char *const *args)
{
	char *result;
	int status;

	result = report_run(&status, trace, args);
	if (status)
		fail_msg("%s", result);
	return result;
}
