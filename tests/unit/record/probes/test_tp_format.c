/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptions of trace events, of several kernels, and such as nobody has written yet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/probes/tp_format.h"

#define COMMON                                                                 \
	"name: x\nID: 5\nformat:\n"                                            \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static void parse(const char *category, const char *fields, struct tp_event *event)
{
	char text[4096], name[64];

	snprintf(text, sizeof(text), COMMON "%s", fields);
	snprintf(name, sizeof(name), "%s:x", category);
	assert_null(tp_event_name(event, name));
	assert_null(tp_format_parse(text, event));
}

static void check(const struct tp_event *event, size_t i, const char *name, const char *type,
		  enum ebt_probe_arg_kind kind, uint32_t size, uint32_t elements)
{
	const struct probe_arg *arg = &event->probe.args[i];

	assert_true(i < event->probe.n_args);
	assert_string_equal(arg->name, name);
	assert_string_equal(arg->type, type);
	assert_int_equal(arg->kind, kind);
	assert_int_equal(arg->size, size);
	assert_int_equal(arg->elements, elements);
}

static void check_how(const struct tp_event *event, size_t i, int kind, int where, uint32_t at,
		      uint32_t len)
{
	const struct ebrec_tp_arg *how = &event->spec.args[i];

	assert_int_equal(how->kind, kind);
	assert_int_equal(how->where, where);
	assert_int_equal(how->at, at);
	assert_int_equal(how->len, len);
}

static void test_fields(void **state)
{
	struct tp_event e = { 0 };

	(void)state;
	parse("sched",
	      "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
	      "\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
	      "\tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n"
	      "\tfield:__u8 src[4];\toffset:32;\tsize:4;\tsigned:0;\n"
	      "\tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;\n"
	      "\tfield:const void * skaddr;\toffset:88;\tsize:8;\tsigned:0;\n"
	      "\tfield:bool last;\toffset:96;\tsize:1;\tsigned:0;\n"
	      "\tfield:struct pair both;\toffset:100;\tsize:12;\tsigned:0;\n"
	      "\tfield:enum zone zone;\toffset:112;\tsize:4;\tsigned:1;\n"
	      "\nprint fmt: \"%s\", __get_str(filename)\n",
	      &e);
	assert_int_equal(e.probe.n_args, 9);
	check(&e, 0, "filename", "char[]", EBT_V_probe_arg_kind_string, 1, 0);
	check_how(&e, 0, EBREC_TP_STRING, EBREC_TP_LOC, 8, EBREC_TP_TEXT);
	check(&e, 1, "pid", "pid_t", EBT_V_probe_arg_kind_signed, 4, 0);
	check_how(&e, 1, EBREC_TP_SIGNED, EBREC_TP_HERE, 12, 4);
	check(&e, 2, "comm", "char[16]", EBT_V_probe_arg_kind_string, 1, 0);
	check_how(&e, 2, EBREC_TP_STRING, EBREC_TP_HERE, 16, 16);
	check(&e, 3, "src", "__u8[4]", EBT_V_probe_arg_kind_unsigned, 1, 4);
	check_how(&e, 3, EBREC_TP_ARRAY, EBREC_TP_HERE, 32, 4);
	check(&e, 4, "args", "unsigned long[6]", EBT_V_probe_arg_kind_unsigned, 8, 6);
	check(&e, 5, "skaddr", "const void *", EBT_V_probe_arg_kind_hex, 8, 0);
	check(&e, 6, "last", "bool", EBT_V_probe_arg_kind_bool, 1, 0);
	check(&e, 7, "both", "struct pair", EBT_V_probe_arg_kind_bytes, 1, 12);
	check(&e, 8, "zone", "enum zone", EBT_V_probe_arg_kind_signed, 4, 0);
	tp_event_deinit(&e);
}

/* Arrays whose length is in the record, also behind it; and a length that is no number. */
static void test_arrays(void **state)
{
	struct tp_event e = { 0 };

	(void)state;
	parse("x",
	      "\tfield:__data_loc u64[] stack;\toffset:8;\tsize:4;\tsigned:0;\n"
	      "\tfield:__rel_loc int[] list;\toffset:12;\tsize:4;\tsigned:1;\n"
	      "\tfield:__rel_loc char[] text;\toffset:16;\tsize:4;\tsigned:1;\n"
	      "\tfield:__data_loc cpumask_t mask;\toffset:20;\tsize:4;\tsigned:0;\n"
	      "\tfield:__data_loc struct thing[] things;\toffset:24;\tsize:4;\tsigned:0;\n"
	      "\tfield:char name[NAME_LEN];\toffset:28;\tsize:20;\tsigned:0;\n"
	      "\tfield:s16 deltas[N];\toffset:48;\tsize:8;\tsigned:1;\n",
	      &e);
	assert_int_equal(e.probe.n_args, 7);
	check(&e, 0, "stack", "u64[]", EBT_V_probe_arg_kind_unsigned, 8, TP_ELEMENTS_VARY);
	check_how(&e, 0, EBREC_TP_ARRAY, EBREC_TP_LOC, 8, EBREC_TP_TEXT);
	check(&e, 1, "list", "int[]", EBT_V_probe_arg_kind_signed, 4, TP_ELEMENTS_VARY);
	check_how(&e, 1, EBREC_TP_ARRAY, EBREC_TP_REL, 12, EBREC_TP_TEXT);
	check(&e, 2, "text", "char[]", EBT_V_probe_arg_kind_string, 1, 0);
	check(&e, 3, "mask", "cpumask_t[]", EBT_V_probe_arg_kind_hex, 8, TP_ELEMENTS_VARY);
	check(&e, 4, "things", "struct thing[]", EBT_V_probe_arg_kind_bytes, 1, TP_ELEMENTS_VARY);
	check(&e, 5, "name", "char[NAME_LEN]", EBT_V_probe_arg_kind_string, 1, 0);
	check(&e, 6, "deltas", "s16[N]", EBT_V_probe_arg_kind_signed, 2, 4);
	tp_event_deinit(&e);
}

/* All arguments of system calls are longs; text is in perf's record only. */
static void test_calls(void **state)
{
	struct tp_event e = { 0 };

	(void)state;
	parse("syscalls",
	      "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	      "\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	      "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
	      "\tfield:int flags;\toffset:32;\tsize:8;\tsigned:0;\n"
	      "\tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n"
	      "\tfield:size_t len;\toffset:48;\tsize:8;\tsigned:0;\n"
	      "\tfield:__data_loc char[] __filename_val;\toffset:64;\tsize:4;\tsigned:0;\n"
	      "\nprint fmt: \"dfd: 0x%08lx\", ((unsigned long)(REC->dfd))\n",
	      &e);
	assert_int_equal(e.probe.n_args, 6);
	assert_int_equal(e.left_out, 1);
	check(&e, 0, "__syscall_nr", "int", EBT_V_probe_arg_kind_signed, 4, 0);
	check(&e, 1, "dfd", "int", EBT_V_probe_arg_kind_signed, 4, 0);
	assert_int_equal(e.spec.args[1].size, 4);
	check(&e, 2, "filename", "const char *", EBT_V_probe_arg_kind_hex, 8, 0);
	check(&e, 3, "flags", "int", EBT_V_probe_arg_kind_hex, 4, 0);
	check(&e, 4, "mode", "umode_t", EBT_V_probe_arg_kind_unsigned, 2, 0);
	check(&e, 5, "len", "size_t", EBT_V_probe_arg_kind_unsigned, 8, 0);
	tp_event_deinit(&e);
}

static void test_hex(void **state)
{
	static const char print[] =
		"print fmt: \"100%% a=%lu b=%#x of \\\"%s\\\" %*ph%*.*f c=%s %pS \" \"d=%08llX\", "
		"REC->a, (unsigned int)REC->b, __print_symbolic(REC->kind, { 1, \"x, %x\" }), 4, "
		"REC->bytes, 1, 2, REC->f, (REC->c) ? __print_flags(REC->c, \"|\", { 1, \"S\" }) : "
		"\"none\", (void *)REC->at, REC->d";

	(void)state;
	assert_false(tp_format_prints_hex(print, "a"));
	assert_true(tp_format_prints_hex(print, "b"));
	assert_false(tp_format_prints_hex(print, "kind"));
	assert_true(tp_format_prints_hex(print, "c"));
	assert_true(tp_format_prints_hex(print, "at"));
	assert_true(tp_format_prints_hex(print, "d"));
	assert_false(tp_format_prints_hex(print, "f"));
	/* Of two fields together nothing is known; and a name is not the beginning of another. */
	assert_false(tp_format_prints_hex("\"%x\", REC->a + REC->b", "a"));
	assert_false(tp_format_prints_hex("\"%x\", REC->address", "addr"));
}

/* Whatever the text is, it ends. */
static void test_odd(void **state)
{
	static const char *const texts[] = {
		"",
		"\tfield:",
		"\tfield:;\toffset:1;\tsize:1;\tsigned:1;\n",
		"\tfield:int",
		"\tfield:int x;\toffset:-;\n",
		"\tfield: x;\toffset:8;\tsize:4;\tsigned:0;\n",
		"\tfield:x;\toffset:8;\tsize:4;\tsigned:0;\n",
		"\nprint fmt:",
		"\nprint fmt: \"%",
		"\nprint fmt: \"%x\", \"\\",
		"\nprint fmt: \"%x %*",
		"\nprint fmt: \"%x\", (((",
		"\tfield:int [];\toffset:8;\tsize:4;\tsigned:0;\n",
		"\tfield:int a[0];\toffset:8;\tsize:0;\tsigned:0;\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tp_event e = { 0 };

		parse("x", texts[i], &e);
		tp_event_deinit(&e);
		tp_format_prints_hex(texts[i], "a");
	}
}

/* More than have room are counted. */
static void test_many(void **state)
{
	struct tp_event e = { 0 };
	char text[8192] = "";
	size_t len = 0;

	(void)state;
	for (int i = 0; i < EBREC_PROBE_ARGS + 3; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"\tfield:int a%d;\toffset:%d;\tsize:4;\tsigned:1;\n", i,
					8 + 4 * i);
	parse("x", text, &e);
	assert_int_equal(e.probe.n_args, EBREC_PROBE_ARGS);
	assert_int_equal(e.spec.n_args, EBREC_PROBE_ARGS);
	assert_int_equal(e.left_out, 3);
	tp_event_deinit(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields), cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_calls),  cmocka_unit_test(test_hex),
		cmocka_unit_test(test_odd),    cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
