/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is written behind the name of a probe, and operands of USDT notes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "record/probes/spec.h"

static void refuse(const char *text)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	struct probe_spec spec = { 0 };

	err = probe_spec_parse(text, true, &spec);
	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_INVALID);
	assert_int_equal(spec.n, 0);
}

static void test_spec(void **state)
{
	struct probe_spec spec;

	(void)state;
	assert_null(probe_spec_parse("2/s@ret+a_1=1/d32+3@8@-16/x16+ret+4/m7", true, &spec));
	assert_int_equal(spec.n, 5);
	assert_int_equal(spec.n_later, 2);
	/* What is read later is last. */
	assert_string_equal(spec.list[0].arg.name, "a_1");
	assert_int_equal(spec.list[0].arg.kind, EBT_V_probe_arg_kind_signed);
	assert_int_equal(spec.list[0].fetch.size, 4);
	assert_int_equal(spec.list[1].fetch.what, EBREC_FETCH_WORD);
	assert_int_equal(spec.list[1].fetch.n_derefs, 2);
	assert_int_equal(spec.list[1].fetch.add, 8);
	assert_int_equal(spec.list[1].fetch.deref[0], -16);
	assert_int_equal(spec.list[1].arg.elements, 1);
	assert_int_equal(spec.list[1].arg.size, 2);
	assert_int_equal(spec.list[2].fetch.what, EBREC_FETCH_BYTES);
	assert_int_equal(spec.list[2].fetch.len, 7);
	assert_int_equal(spec.list[3].fetch.what, EBREC_FETCH_STRING);
	assert_int_equal(spec.list[3].position, 2);
	assert_string_equal(spec.list[4].arg.name, "ret");
	probe_spec_deinit(&spec);
}

static void test_bad_specs(void **state)
{
	(void)state;
	refuse("");
	refuse("0");
	refuse("99");
	refuse("1/");
	refuse("1/z");
	refuse("1/d7");
	refuse("1/s8");
	refuse("1/m");
	refuse("1/m257");
	refuse("1/m-1");
	refuse("1@");
	refuse("1@x");
	refuse("1@1@2@3");
	refuse("=1");
	refuse("1+");
	refuse("1 2");
	refuse("%nothing");
	refuse("%");
	refuse("1/s@ret+2/s@ret+3/s@ret");
	refuse("1+1+1+1+1+1+1+1+1+1+1+1+1");
	refuse("99999999999999999999");
}

#if defined(__x86_64__)
static bool operand(const char *text, struct ebrec_fetch *ret)
{
	return probe_operand_parse(text, strlen(text), ret);
}

static void test_operands(void **state)
{
	struct ebrec_fetch f, other;

	(void)state;
	assert_true(operand("-4@%eax", &f));
	assert_true(operand("8@%rax", &other));
	assert_int_equal(f.base, other.base);
	assert_int_equal(f.size, 4);
	assert_true(f.is_signed);
	assert_int_equal(f.n_derefs, 0);
	assert_true(operand("1@$-7", &f));
	assert_int_equal(f.add, -7);
	assert_int_equal(f.base, EBREC_NO_REGISTER);
	assert_true(operand("8@-1204(%rbp)", &f));
	assert_int_equal(f.add, -1204);
	assert_int_equal(f.n_derefs, 1);
	assert_true(operand("2@16(%rdx,%r12,8)", &f));
	assert_int_equal(f.shift, 3);
	assert_true(operand("2@(,%r12,2)", &f));
	assert_int_equal(f.base, EBREC_NO_REGISTER);
	assert_int_not_equal(f.index, EBREC_NO_REGISTER);
}

static void test_bad_operands(void **state)
{
	static const char *const bad[] = {
		"",
		"@",
		"4@",
		"4",
		"3@%eax",
		"16@%rax",
		"8@%xmm0",
		"8@%",
		"8@$",
		"8@x(%rip)",
		"8@(%rax",
		"8@(%rax,%rbx,3)",
		"8@%rax junk",
		"8f@%rax",
		"-9@%rax",
		"8@(%rax)x",
		"8@1",
	};
	struct ebrec_fetch f;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(operand(bad[i], &f));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spec),
		cmocka_unit_test(test_bad_specs),
#if defined(__x86_64__)
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_bad_operands),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
