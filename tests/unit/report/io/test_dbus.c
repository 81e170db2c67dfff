/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport dbus` on messages that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/schema/wire.h"
#include "tests/tools/report_run.h"

enum {
	CALL = EBT_V_dbus_message_kind_call,
	RETURN = EBT_V_dbus_message_kind_return,
	FAILED = EBT_V_dbus_message_kind_error,
	SIGNAL = EBT_V_dbus_message_kind_signal,
};

static const struct ebt_task_id no_tasks[] = { { 0, 0, 0, "" } };

struct message {
	uint64_t time;
	uint32_t bus, kind, serial, reply_serial, no_reply;
	const char *sender, *destination, *member;
};

static void add_bus(struct made_trace *t, uint32_t bus, const char *name)
{
	struct ebt_wire_dbus_bus *row = ebt_record_begin(&t->record, EBT_T_dbus_bus, 1);

	row->bus = bus;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_dbus_bus, name), name);
	made_trace_add(t);
}

static void add(struct made_trace *t, const struct message *m)
{
	struct ebt_wire_dbus_message *row =
		ebt_record_begin(&t->record, EBT_T_dbus_message, m->time);

	row->bus = m->bus;
	row->kind = m->kind;
	row->serial = m->serial;
	row->reply_serial = m->reply_serial;
	row->no_reply = m->no_reply;
	row->size = 100;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_dbus_message, sender), m->sender);
	ebt_record_str(&t->record, offsetof(struct ebt_wire_dbus_message, destination),
		       m->destination);
	ebt_record_str(&t->record, offsetof(struct ebt_wire_dbus_message, member), m->member);
	if (m->kind == CALL || m->kind == SIGNAL)
		ebt_record_str(&t->record, offsetof(struct ebt_wire_dbus_message, interface), "I");
	made_trace_add(t);
}

/* Two callers with the same serials, and the same names on another bus. */
static const struct message messages[] = {
	{ 1000, 1, CALL, 7, 0, 0, ":1.1", "S", "Get" },
	{ 1100, 1, CALL, 7, 0, 0, ":1.2", "S", "Get" },
	{ 1200, 2, CALL, 7, 0, 0, ":1.1", "S", "Get" },
	{ 1300, 1, RETURN, 1, 7, 1, ":1.9", ":1.2", "" },  /* 200 */
	{ 1400, 1, FAILED, 2, 7, 1, ":1.9", ":1.1", "" },  /* 400 */
	{ 1450, 1, RETURN, 3, 7, 1, ":1.9", ":1.1", "" },  /* a second answer is none */
	{ 1460, 1, RETURN, 4, 99, 1, ":1.9", ":1.1", "" }, /* nobody asked */
	{ 1500, 1, CALL, 8, 0, 1, ":1.1", "S", "Note" },
	{ 1600, 1, SIGNAL, 5, 0, 1, ":1.9", "", "Changed" },
	{ 1700, 1, SIGNAL, 6, 0, 1, ":1.9", "", "Changed" },
	{ 2000, 2, RETURN, 1, 7, 1, ":1.5", ":1.1", "" }, /* 800 */
	{ 2100, 1, CALL, 9, 0, 0, ":1.1", "S", "Get" },	  /* never answered */
	{ UINT64_MAX, 77, 255, UINT32_MAX, UINT32_MAX, 9, "\xff", "\x1b[2J", "" },
};

static void with_trace(struct made_trace *t)
{
	made_trace_begin(t, no_tasks);
	add_bus(t, 1, "session");
	add_bus(t, 2, "system");
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		add(t, &messages[i]);
	made_trace_finish(t);
}

static void expect(char *text, const char *expected)
{
	assert_string_equal(text, expected);
	free(text);
}

#define HEADER                                                                                  \
	"bus,destination,interface,member,call_count,errors,unanswered,total_ns,p50_ns,p99_ns," \
	"max_ns,"                                                                               \
	"max_at_ns,bytes\r\n"

static void test_calls(void **state)
{
	struct made_trace t;

	(void)state;
	with_trace(&t);
	expect(REPORT_OK(t.path, "dbus", "--csv"),
	       HEADER "system,S,I,Get,1,0,0,800,800,800,800,1200,100\r\n"
		      "session,S,I,Get,3,1,1,600,200,400,400,1000,300\r\n"
		      "session,S,I,Note,1,0,0,0,,,,,100\r\n");
	made_trace_remove(&t);
}

/* A call counts where it was sent, with the answer that comes later. */
static void test_intervals(void **state)
{
	struct made_trace t;

	(void)state;
	with_trace(&t);
	expect(REPORT_OK(t.path, "dbus", "--csv", "--from", "100ns", "--to", "500ns"),
	       HEADER "system,S,I,Get,1,0,0,800,800,800,800,1200,100\r\n"
		      "session,S,I,Get,1,0,0,200,200,200,200,1100,100\r\n");
	made_trace_remove(&t);
}

static void test_messages(void **state)
{
	struct made_trace t;
	char *json;

	(void)state;
	with_trace(&t);
	json = REPORT_OK(t.path, "dbus", "--trace", "--json");
	assert_non_null(strstr(json, "{\"time_ns\":400,\"bus\":\"session\",\"type\":\"error\","
				     "\"sender\":\":1.9\",\"destination\":\":1.1\",\"serial\":2,"
				     "\"reply_serial\":7,\"duration_ns\":400,\"size\":100}"));
	assert_non_null(strstr(json, "\"bus\":\"?\",\"type\":\"unknown\""));
	free(json);
	json = REPORT_OK(t.path, "dbus", "--json");
	assert_non_null(strstr(json, "\"signals\":[\n{\"bus\":\"session\",\"sender\":\":1.9\","
				     "\"interface\":\"I\",\"member\":\"Changed\",\"count\":2,"
				     "\"bytes\":200}]"));
	free(json);
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
