/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport block` on traces whose figures are known, and queue depths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/schema/wire.h"
#include "report/io/block_depth.h"
#include "tests/tools/report_run.h"

enum {
	READ = EBT_V_block_io_op_read,
	WRITE = EBT_V_block_io_op_write,
	FLUSH = EBT_V_block_io_op_flush,
	DISCARD = EBT_V_block_io_op_discard,
};
enum {
	COMPLETE = EBT_V_block_io_state_complete,
	IN_FLIGHT = EBT_V_block_io_state_in_flight,
	FOUND = EBT_V_block_io_state_found,
};
enum {
	UNKNOWN = EBT_V_block_io_cause_unknown,
	SUBMITTER = EBT_V_block_io_cause_submitter,
	DIRTIER = EBT_V_block_io_cause_dirtier,
};

#define T0 UINT64_C(1000000000)

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "writer" },  { 11, 10, 110, "helper" }, { 20, 20, 200, "<b>" },
	{ 30, 30, 300, "kworker" }, { 0, 0, 0, "" },
};

/* Everything that a row of these tests can differ in. */
struct io {
	uint64_t end, duration, device;
	uint32_t task, submitter, cause, op, minor, state;
	uint64_t bytes;
	uint32_t flags, merges, error;
};

static void add_io(struct made_trace *t, struct io io)
{
	struct ebt_wire_block_io *row = ebt_record_begin(&t->record, EBT_T_block_io, T0 + io.end);

	row->task = io.task;
	row->submitter = io.submitter;
	row->cause = io.cause;
	row->op = io.op;
	row->dev_major = row->disk_major = 8;
	row->dev_minor = io.minor;
	row->state = io.state;
	row->bytes = io.bytes;
	row->duration = io.duration;
	row->device = io.device;
	row->flags = io.flags;
	row->merges = io.merges;
	row->error = io.error;
	made_trace_add(t);
}

static void add_device(struct made_trace *t, uint32_t minor, const char *name)
{
	struct ebt_wire_block_device *row = ebt_record_begin(&t->record, EBT_T_block_device, T0);

	row->major = row->disk_major = 8;
	row->minor = minor;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_block_device, name), name);
	made_trace_add(t);
}

/* Partition 1 of disk 0; disk 5 has no name. */
static void with_trace(struct made_trace *t)
{
	made_trace_begin(t, tasks);
	add_device(t, 0, "sda");
	add_device(t, 1, "sda1");
	add_io(t,
	       (struct io){ 1000, 400, 300, 10, 10, SUBMITTER, READ, 1, COMPLETE, 4096, 0, 0, 0 });
	add_io(t,
	       (struct io){ 2000, 900, 500, 10, 30, DIRTIER, WRITE, 1, COMPLETE, 8192, 1, 3, 0 });
	add_io(t,
	       (struct io){ 2100, 700, 600, 11, 11, SUBMITTER, WRITE, 1, COMPLETE, 512, 0, 0, 5 });
	add_io(t, (struct io){ 3000, 100, 0, 0, 0, UNKNOWN, READ, 5, FOUND, 1024, 0x10, 0, 0 });
	add_io(t, (struct io){ 4000, 50, 40, 30, 30, UNKNOWN, FLUSH, 0, COMPLETE, 0, 0, 0, 0 });
	add_io(t,
	       (struct io){ 5000, 2000, 0, 20, 20, SUBMITTER, READ, 0, IN_FLIGHT, 65536, 0, 0, 0 });
	made_trace_finish(t);
}

static void expect_part(char *text, const char *part)
{
	if (!strstr(text, part)) {
		print_error("%s\n", text ? text : "");
		fail_msg("'%s' is not in the above", part);
	}
}

static void test_by_process(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_OK(t.path, "block", "--json");
	/* Two threads of one process; blamed, not submitted. */
	expect_part(text,
		    "\"pid\":10,\"comm\":\"writer\",\"device\":\"sda1\",\"ios\":3,\"bytes\":12800,"
		    "\"sync_ios\":2,\"async_ios\":1,\"merges\":3,\"p50_ns\":700,\"p99_ns\":900,"
		    "\"max_ns\":900,\"queue_p50_ns\":100,\"queue_p99_ns\":400,"
		    "\"queue_max_ns\":400,\"device_p50_ns\":500,\"device_p99_ns\":600,"
		    "\"device_max_ns\":600,\"read_bytes\":4096,\"write_bytes\":8704,"
		    "\"read_ios\":1,\"write_ios\":2,\"total_ns\":2000,");
	expect_part(text, "\"errors\":1,\"in_flight\":0,\"dirtier_ios\":1,\"unknown_ios\":0,"
			  "\"rows\":[");
	expect_part(text, "{\"operation\":\"write\",\"ios\":2,\"bytes\":8704,");
	/* A flush is neither a read nor a write. */
	expect_part(text,
		    "\"pid\":30,\"comm\":\"kworker\",\"device\":\"sda\",\"ios\":1,\"bytes\":0,");
	/* Not begun when it was seen: it has no time in the device. */
	expect_part(text,
		    "{\"comm\":\"(not known)\",\"device\":\"unknown "
		    "8:5\",\"ios\":1,\"bytes\":1024,\"sync_ios\":1,"
		    "\"async_ios\":0,\"merges\":0,\"p50_ns\":100,\"p99_ns\":100,\"max_ns\":100,"
		    "\"read_bytes\":1024,");
	expect_part(text, "\"pid\":20,\"comm\":\"\\u003cb\\u003e\",\"device\":\"sda\",\"ios\":0,"
			  "\"bytes\":0,");
	free(text);
	text = REPORT_OK(t.path, "block");
	expect_part(text, "Of 5 requests, 2 stand under who submitted them");
	expect_part(text, "1 request was in flight when recording ended.");
	free(text);
	made_trace_remove(&t);
}

static void test_by_device(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_OK(t.path, "block", "--by", "device", "--csv");
	expect_part(text, "sda1,sda,,,,,0,0,,3,12800,2,1,3,700,900,900,100,400,400,500,600,600,");
	expect_part(text, "unknown 8:5,");
	free(text);
	text = REPORT_OK(t.path, "block", "--trace", "--pid", "10", "--csv");
	expect_part(text, ",sda1,write,sync,0,8192,400,500,900,");
	expect_part(text, ",dirtier,kworker,complete,");
	expect_part(text, ",EIO,");
	assert_null(strstr(text, "<b>"));
	free(text);
	/* A kworker that wrote for another is no cause of it. */
	text = REPORT_OK(t.path, "block", "--trace", "--pid", "30", "--csv");
	assert_null(strstr(text, "dirtier"));
	expect_part(text, ",flush,");
	free(text);
	made_trace_remove(&t);
}

static void test_refused(void **state)
{
	struct made_trace t;
	char *text;
	int status;

	(void)state;
	with_trace(&t);
	text = REPORT_FAILS(t.path, &status, "block", "--trace", "--by", "device");
	assert_int_not_equal(status, 0);
	free(text);
	text = REPORT_FAILS(t.path, &status, "block", "--trace", "--depth");
	assert_int_not_equal(status, 0);
	free(text);
	text = REPORT_FAILS(t.path, &status, "block", "--trace", "--interval", "1s");
	assert_int_not_equal(status, 0);
	free(text);
	made_trace_remove(&t);
}

static void test_depth(void **state)
{
	struct block_depth depth = { 0 };
	struct block_depth_span spans[4];

	(void)state;
	block_depth_spans(&depth, 0, 100, 2, spans);
	assert_int_equal(spans[1].max, 0);
	/* In any order; one that begins when another ends, one without length, some beyond. */
	assert_null(block_depth_add(&depth, 30, 40));
	assert_null(block_depth_add(&depth, 10, 30));
	assert_null(block_depth_add(&depth, 35, 60));
	assert_null(block_depth_add(&depth, 50, 50));
	assert_null(block_depth_add(&depth, 0, 5));
	assert_null(block_depth_add(&depth, 90, 500));
	block_depth_spans(&depth, 20, 100, 4, spans);
	assert_int_equal(spans[0].from_ns, 20);
	assert_int_equal(spans[0].to_ns, 40);
	assert_int_equal(spans[0].max, 2);
	assert_int_equal(spans[0].busy_ns, 20);
	assert_float_equal(spans[0].mean, 25.0 / 20, 1e-9);
	assert_int_equal(spans[1].max, 1);
	assert_int_equal(spans[1].busy_ns, 20);
	assert_int_equal(spans[2].max, 0);
	assert_int_equal(spans[2].busy_ns, 0);
	assert_int_equal(spans[3].to_ns, 100);
	assert_int_equal(spans[3].max, 1);
	assert_float_equal(spans[3].mean, 0.5, 1e-9);
	/* Times as a broken file may have them. */
	assert_null(block_depth_add(&depth, 0, UINT64_MAX));
	block_depth_spans(&depth, UINT64_MAX - 1, UINT64_MAX, 4, spans);
	assert_int_equal(spans[3].max, 1);
	block_depth_spans(&depth, 7, 7, 1, spans);
	assert_int_equal(spans[0].busy_ns, 0);
	block_depth_deinit(&depth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_process),
		cmocka_unit_test(test_by_device),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
