/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections `events` and `points` of a page, and how events are put together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/schema/wire.h"
#include "report/page/events_join.h"
#include "tests/tools/inflated.h"
#include "tests/tools/report_run.h"

enum { READ = 0, NANOSLEEP = 35, OPENAT = 257 };

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "leader" },
	{ 11, 10, 110, "worker" },
	{ 20, 20, 200, "</script>" },
	{ 0, 0, 0, "" },
};

/* --- a section, read again --- */

struct section {
	size_t rows;
	unsigned char *bytes, *at;
};

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	return c ? (int)(strchr(digits, c) - digits) : 0;
}

static size_t base64(const char *text, size_t len, unsigned char *to)
{
	size_t n = 0;

	for (size_t i = 0; i + 4 <= len; i += 4) {
		const char *s = text + i;
		const int pad = (s[2] == '=') + (s[3] == '=');
		const uint32_t three = (uint32_t)digit(s[0]) << 18 | (uint32_t)digit(s[1]) << 12 |
				       (s[2] == '=' ? 0 : (uint32_t)digit(s[2]) << 6) |
				       (s[3] == '=' ? 0 : (uint32_t)digit(s[3]));

		to[n++] = (unsigned char)(three >> 16);
		if (pad < 2)
			to[n++] = (unsigned char)(three >> 8);
		if (pad < 1)
			to[n++] = (unsigned char)three;
	}
	return n;
}

static struct section open_section(const char *page, const char *name)
{
	char what[64];
	const char *text, *end;
	struct section s = { 0 };
	unsigned char *packed;
	size_t len;

	snprintf(what, sizeof(what), "\"%s\":{\"rows\":", name);
	text = strstr(page, what);
	if (!text)
		return s;
	s.rows = strtoul(text + strlen(what), NULL, 10);
	snprintf(what, sizeof(what), "id=\"s-0-%s\">", name);
	text = strstr(page, what);
	assert_non_null(text);
	text += strlen(what);
	end = strchr(text, '<');
	packed = malloc((size_t)(end - text) + 4);
	assert_non_null(packed);
	s.bytes = inflated(packed, base64(text, (size_t)(end - text), packed), &len);
	free(packed);
	s.at = s.bytes;
	return s;
}

static int64_t value(struct section *s, bool zigzag)
{
	uint64_t v = 0;

	for (unsigned int shift = 0;; shift += 7) {
		v |= (uint64_t)(*s->at & 127) << shift;
		if (*s->at++ < 128)
			break;
	}
	return zigzag ? (int64_t)(v >> 1 ^ -(v & 1)) : (int64_t)v;
}

enum { TRACK, TIME, DUR, NAME, DETAIL, NODE, OTHER, VALUE, FLAGS, COUNT, N_COLUMNS };

struct read_events {
	size_t n;
	int64_t (*rows)[N_COLUMNS];
	char **texts;
	size_t n_texts;
};

static void read_texts(const char *page, struct read_events *e)
{
	struct section s = open_section(page, "strings");
	size_t *lens = calloc(s.rows, sizeof(*lens));

	e->n_texts = s.rows;
	e->texts = calloc(s.rows, sizeof(*e->texts));
	for (size_t i = 0; i < s.rows; i++)
		lens[i] = (size_t)value(&s, false);
	for (size_t i = 0; i < s.rows; i++) {
		e->texts[i] = strndup((const char *)s.at, lens[i]);
		s.at += lens[i];
	}
	free(lens);
	free(s.bytes);
}

static struct read_events read_events(const char *page)
{
	struct section s = open_section(page, "events");
	struct read_events e = { .n = s.rows };

	read_texts(page, &e);
	e.rows = calloc(s.rows + 1, sizeof(*e.rows));
	for (int c = 0; c < N_COLUMNS; c++) {
		const bool delta = c == TRACK || c == TIME || c == DETAIL;
		int64_t last = 0;

		for (size_t i = 0; i < e.n; i++) {
			const bool zigzag = delta || c == DUR || c == VALUE;

			last = value(&s, zigzag) + (delta ? last : 0);
			e.rows[i][c] = last;
		}
	}
	free(s.bytes);
	return e;
}

static void free_events(struct read_events *e)
{
	for (size_t i = 0; i < e->n_texts; i++)
		free(e->texts[i]);
	free(e->texts);
	free(e->rows);
}

static void expect_event(const struct read_events *e, size_t i, int64_t track, int64_t time,
			 int64_t dur, const char *name, const char *detail, int64_t value_,
			 int64_t flags)
{
	assert_true(i < e->n);
	assert_int_equal(e->rows[i][TRACK], track);
	assert_int_equal(e->rows[i][TIME], time);
	assert_int_equal(e->rows[i][DUR], dur);
	assert_string_equal(e->texts[e->rows[i][NAME]], name);
	assert_string_equal(e->texts[e->rows[i][DETAIL]], detail);
	assert_int_equal(e->rows[i][VALUE], value_);
	assert_int_equal(e->rows[i][FLAGS], flags);
	assert_int_equal(e->rows[i][COUNT], 1);
}

static void expect_part(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not there", part);
}

#define EVENTS(t, ...)                                           \
	({                                                       \
		char *page_ = REPORT_OK((t)->path, __VA_ARGS__); \
		struct read_events e_ = read_events(page_);      \
		free(page_);                                     \
		e_;                                              \
	})

/* --- system calls --- */

#define ARGS "(3, 0x7f0000001000, 4294967196) = "

static void fill_calls(struct made_trace *t)
{
	made_trace_begin(t, tasks);
	made_trace_meta(t, "host.machine", "x86_64");
	made_trace_syscall(t, 2000000, 11, 0, READ, 1000, 17);
	made_trace_syscall(t, 2001000, 11, 0, READ, 500, -11);
	made_trace_syscall(t, 2002000, 10, 0, 5555, 500, 0);
	made_trace_syscall(t, 2003000, 11, 0, READ, 9000000, 1); /* from before all clocks */
	made_trace_finish(t);
}

static void calls(void **state)
{
	struct made_trace t;
	struct read_events e;
	char *page;

	(void)state;
	fill_calls(&t);
	page = REPORT_OK(t.path, "html");
	expect_part(page,
		    "\"tracks\":[{\"kind\":\"syscall\",\"name\":\"system calls\",\"thread\":");
	expect_part(page, "\"filters\":\"\"");
	expect_part(page, "\"details_ns\":0");
	e = read_events(page);
	assert_int_equal(e.n, 4);
	/* Time 0 is that of the first row; the worker's track was first. */
	expect_event(&e, 0, 0, -1000, 1000, "read", "(3, 17 bytes, 4294967196) = 17", 17, 0);
	expect_event(&e, 1, 0, 0, 3000, "read", "(3, 1 byte, 4294967196) = 1", 1, 2);
	expect_event(&e, 2, 0, 500, 500, "read",
		     ARGS "-1 EAGAIN (Resource temporarily unavailable)", -11, 1);
	assert_int_equal(e.rows[3][TRACK], 1);
	assert_string_equal(e.texts[e.rows[3][NAME]], "syscall_5555");
	free_events(&e);
	free(page);
	made_trace_remove(&t);
}

static void filters(void **state)
{
	struct made_trace t;
	struct read_events e;
	char *page;

	(void)state;
	fill_calls(&t);
	e = EVENTS(&t, "html", "--tid", "10");
	assert_int_equal(e.n, 1);
	free_events(&e);
	e = EVENTS(&t, "html", "--from", "1us", "--to", "2us");
	assert_int_equal(e.n, 1);
	assert_int_equal(e.rows[0][TIME], 500);
	free_events(&e);
	page = REPORT_OK(t.path, "html", "--comm", "it's*", "--to", "50%", "--from", "1us");
	expect_part(page, "\"filters\":\"--comm 'it'\\\\''s*' --from 1000ns --to 50%\"");
	free(page);
	made_trace_remove(&t);
}

/* --- lines, marks, requests --- */

static void add_line(struct made_trace *t, uint64_t time, const char *message)
{
	struct ebt_wire_log *row = ebt_record_begin(&t->record, EBT_T_log, time);

	row->task = 20;
	row->severity = EBT_V_log_severity_error;
	row->origin = EBT_V_log_origin_stderr;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_log, message), message);
	made_trace_add(t);
}

static void add_span(struct made_trace *t, uint64_t time, uint64_t duration, const char *name)
{
	struct ebt_wire_mark *row = ebt_record_begin(&t->record, EBT_T_mark, time);

	row->task = 10;
	row->kind = EBT_V_mark_kind_span;
	row->duration = duration;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_mark, group), "group");
	ebt_record_str(&t->record, offsetof(struct ebt_wire_mark, name), name);
	made_trace_add(t);
}

static void strangers(void **state)
{
	static char huge[100000];
	struct made_trace t;
	struct read_events e;
	char *page;

	(void)state;
	memset(huge, 'x', sizeof(huge) - 1);
	memcpy(huge, "</script><script>", 17);
	made_trace_begin(&t, tasks);
	add_line(&t, 2000000, huge);
	add_span(&t, 3000000, 1000, "</script>");
	add_span(&t, 3000000, UINT64_MAX, "long");
	made_trace_finish(&t);
	page = REPORT_OK(t.path, "html");
	e = read_events(page);
	assert_int_equal(e.n, 3);
	/* From the trace's clock of 0 on. */
	assert_string_equal(e.texts[e.rows[0][NAME]], "long");
	assert_int_equal(e.rows[0][TIME] + e.rows[0][DUR], 1000000);
	expect_event(&e, 1, 0, 999000, 1000, "</script>", "", 0, 0);
	assert_string_equal(e.texts[e.rows[2][NAME]], "error");
	assert_int_equal(e.rows[2][FLAGS], 1);
	assert_int_equal(strlen(e.texts[e.rows[2][DETAIL]]), 2048);
	assert_string_equal(e.texts[e.rows[2][DETAIL]] + 2044, "x…");
	expect_part(page, "\"kind\":\"log\",\"name\":\"stderr\"");
	assert_null(strstr(page, "xxxx"));
	free_events(&e);
	free(page);
	made_trace_remove(&t);
}

static void requests(void **state)
{
	struct made_trace t;
	struct read_events e;
	struct ebt_wire_block_io *row;

	(void)state;
	made_trace_begin(&t, tasks);
	row = ebt_record_begin(&t.record, EBT_T_block_io, 2000000);
	row->task = row->submitter = 10;
	row->dev_major = row->disk_major = 8;
	row->op = EBT_V_block_io_op_write;
	row->sector = 2048;
	row->bytes = 4096;
	row->duration = 3000;
	row->device = 1000;
	row->error = 5;
	made_trace_add(&t);
	made_trace_finish(&t);
	e = EVENTS(&t, "html");
	assert_int_equal(e.n, 1);
	expect_event(&e, 0, 0, -3000, 3000, "write",
		     "4.0 KiB at sector 2048, for leader (10), in the queue for 2.000 us, "
		     "in the device for 1.000 us, EIO",
		     4096, 1);
	assert_int_equal(e.rows[0][OTHER], 1);
	free_events(&e);
	made_trace_remove(&t);
}

/* --- messages, connections --- */

static void add_message(struct made_trace *t, uint64_t time, uint32_t kind, const char *from,
			const char *to, uint32_t number)
{
	struct ebt_wire_dbus_message *row = ebt_record_begin(&t->record, EBT_T_dbus_message, time);
	const bool call = kind == EBT_V_dbus_message_kind_call;

	row->bus = 1;
	row->kind = kind;
	row->size = 100;
	row->serial = call ? number : 1000 + number;
	row->reply_serial = call ? 0 : number;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_dbus_message, sender), from);
	ebt_record_str(&t->record, offsetof(struct ebt_wire_dbus_message, destination), to);
	if (call)
		ebt_record_str(&t->record, offsetof(struct ebt_wire_dbus_message, member), "Do");
	made_trace_add(t);
}

/* A call lasts until its answer, wherever that is; what has none is open. */
static void messages(void **state)
{
	enum { CALL = EBT_V_dbus_message_kind_call, RETURN = EBT_V_dbus_message_kind_return };
	enum { ERROR = EBT_V_dbus_message_kind_error };
	struct made_trace t;
	struct read_events e;

	(void)state;
	made_trace_begin(&t, tasks);
	add_message(&t, 2000000, CALL, ":1.1", "a", 1);
	add_message(&t, 2001000, CALL, ":1.1", "a", 2);
	add_message(&t, 2002000, CALL, ":1.2", "a", 1);
	add_message(&t, 2003000, ERROR, "a", ":1.2", 1);
	add_message(&t, 2004000, RETURN, "a", ":1.1", 1);
	made_trace_finish(&t);
	e = EVENTS(&t, "html", "--to", "2500ns");
	assert_int_equal(e.n, 3);
	expect_event(&e, 0, 0, 0, 4000, "Do", "call :1.1 -> a  .Do", 100, 0);
	expect_event(&e, 1, 0, 1000, 0, "Do", "call :1.1 -> a  .Do", 100, 2);
	expect_event(&e, 2, 0, 2000, 1000, "Do", "call :1.2 -> a  .Do", 100, 1);
	free_events(&e);
	made_trace_remove(&t);
}

static void add_connection(struct made_trace *t, uint64_t time, uint32_t kind, uint64_t cookie)
{
	struct ebt_wire_net_connection *row =
		ebt_record_begin(&t->record, EBT_T_net_connection, time);

	row->task = 10;
	row->kind = kind;
	row->cookie = cookie;
	row->latency = 500;
	made_trace_add(t);
}

static void connections(void **state)
{
	struct ebt_wire_net_end *end;
	struct made_trace t;
	struct read_events e;

	(void)state;
	made_trace_begin(&t, tasks);
	add_connection(&t, 2000000, EBT_V_net_connection_kind_connect, 1);
	add_connection(&t, 2001000, EBT_V_net_connection_kind_there, 2);
	end = ebt_record_begin(&t.record, EBT_T_net_end, 2005000);
	end->task = 10;
	end->cookie = 1;
	end->duration = 5000;
	end->bytes_sent = 30;
	end->bytes_resent = 10;
	end->bytes_received = 5;
	made_trace_add(&t);
	made_trace_finish(&t);
	e = EVENTS(&t, "html");
	assert_int_equal(e.n, 2);
	expect_event(&e, 0, 0, -500, 5500, "connect",
		     "?:0 -> ?:0, made in 500 ns, sent 20 B, received 5 B", 25, 0);
	expect_event(&e, 1, 0, 1000, 4000, "there", "?:0 -> ?:0, made in 500 ns", 0, 2);
	free_events(&e);
	made_trace_remove(&t);
}

/* --- counters --- */

static void define(struct made_trace *t, uint32_t counter, uint32_t kind, const char *name)
{
	struct ebt_wire_counter_def *row = ebt_record_begin(&t->record, EBT_T_counter_def, 1000);

	row->counter = counter;
	row->kind = kind;
	row->divisor = 1;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_counter_def, category), "c");
	ebt_record_str(&t->record, offsetof(struct ebt_wire_counter_def, name), name);
	ebt_record_str(&t->record, offsetof(struct ebt_wire_counter_def, unit), "bytes");
	made_trace_add(t);
}

static void put(struct made_trace *t, uint64_t time, uint32_t counter, uint64_t v)
{
	struct ebt_wire_counter *row = ebt_record_begin(&t->record, EBT_T_counter, time);

	row->counter = counter;
	row->value = v;
	made_trace_add(t);
}

#define S UINT64_C(1000000000)

static void points(void **state)
{
	static const double expected[] = { 5, 8, 100, 20 };
	struct made_trace t;
	struct section s;
	char *page;

	(void)state;
	made_trace_begin(&t, tasks);
	define(&t, 1, EBT_V_counter_def_kind_gauge, "gauge");
	define(&t, 2, EBT_V_counter_def_kind_cumulative, "sum");
	for (uint64_t i = 1; i <= 3; i++) {
		put(&t, i * S, 1, i < 3 ? 5 : 8);
		/* It grows by 100 in a second, and begins anew. */
		put(&t, i * S, 2, i < 3 ? i * 100 : 20);
	}
	made_trace_finish(&t);
	page = REPORT_OK(t.path, "html");
	expect_part(page, "\"series\":[{\"name\":\"c.gauge\",\"category\":\"c\",\"instance\":\"\","
			  "\"unit\":\"bytes\",\"kind\":\"gauge\"");
	expect_part(page, "\"name\":\"c.sum\"");
	s = open_section(page, "points");
	for (size_t i = 0; i < 2 * s.rows; i++)
		value(&s, true);
	/* The gauge: at its first reading, when it was still the same, and when it was not. */
	assert_true(s.rows >= 4);
	for (size_t i = 0; i < 4; i++) {
		double v;

		memcpy(&v, s.at + 8 * (s.rows - 4 + i), sizeof(v));
		assert_true(v == expected[i]);
	}
	free(s.bytes);
	free(page);
	made_trace_remove(&t);
}

/* --- putting together --- */

#define N 1000

static struct page_event_list make_list(void)
{
	struct page_event_list list = { .n = N, .capacity = N };

	list.list = calloc(N, sizeof(*list.list));
	for (size_t i = 0; i < N; i++)
		list.list[i] = (struct page_event){
			.time = 10 * i,
			.dur = 5,
			.track = i % 2,
			.name = 1,
			.node = i % 10 == 4 ? 7 : 0,
			.count = 1,
			.flags = i % 100 == 0 ? EVENT_FAILED : 0,
			.notable = i % 100 == 0,
		};
	return list;
}

static uint64_t sum(const struct page_event_list *list, bool failed)
{
	uint64_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct page_event *event = &list->list[i];

		assert_true(event->count == 1 || event->flags & EVENT_JOINED);
		if (event->flags & EVENT_JOINED)
			assert_int_equal(event->value, 5 * event->count);
		if (event->flags & EVENT_JOINED)
			assert_true(event->dur >= 5 * event->count);
		if (!!(event->flags & EVENT_FAILED) == failed)
			n += event->count;
	}
	return n;
}

static void near_ones(void **state)
{
	struct page_event_list list = make_list();
	size_t notable = 0;
	uint64_t nodes = 0;

	(void)state;
	page_events_join(&list, 100);
	page_events_sort(&list);
	assert_true(list.n <= 100 && list.n > 10);
	assert_int_equal(sum(&list, false), N - 10);
	assert_int_equal(sum(&list, true), 10);
	for (size_t i = 0; i < list.n; i++) {
		notable += list.list[i].notable && !(list.list[i].flags & EVENT_JOINED);
		nodes += list.list[i].node == 7 ? list.list[i].count : 0;
		assert_true(list.list[i].dur <= list.within || list.list[i].count == 1);
		if (i && list.list[i].track == list.list[i - 1].track)
			assert_true(list.list[i].time >= list.list[i - 1].time);
	}
	assert_int_equal(notable, 10);
	assert_int_equal(nodes, 100);
	free(list.list);
}

/* Whatever there is, no more than a row a track is left. */
static void all_of_them(void **state)
{
	struct page_event_list list = make_list();

	(void)state;
	for (size_t i = 0; i < N; i++)
		list.list[i].time = i * UINT64_C(0x0123456789abcdef);
	page_events_join(&list, 2);
	assert_int_equal(list.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(list.list[i].count, N / 2);
		assert_int_equal(list.list[i].value, 5 * N / 2);
		assert_true(list.list[i].dur <= UINT64_C(1) << 53);
		assert_int_equal(list.list[i].name, 1);
	}
	free(list.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls),       cmocka_unit_test(filters),
		cmocka_unit_test(strangers),   cmocka_unit_test(requests),
		cmocka_unit_test(messages),    cmocka_unit_test(connections),
		cmocka_unit_test(points),      cmocka_unit_test(near_ones),
		cmocka_unit_test(all_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
