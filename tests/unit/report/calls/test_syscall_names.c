/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of system calls against the headers of the C library; facts of errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "report/calls/names.h"

static void test_native(void **state)
{
	/* Made by the build from <sys/syscall.h>: every SYS_name there is. */
	static const struct {
		long nr;
		const char *name;
	} headers[] = {
#include "tests/sys_names.inc"
	};
	const struct syscall_machine *machine;

	(void)state;
#if defined(__x86_64__)
	machine = syscall_machine("x86_64");
#elif defined(__aarch64__)
	machine = syscall_machine("aarch64");
#else
	skip();
#endif
	assert_non_null(machine);
	assert_true(sizeof(headers) / sizeof(headers[0]) > 250);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		const struct syscall_desc *desc =
			syscall_desc(machine, false, (uint64_t)headers[i].nr);

		if (!desc)
			fail_msg("%s (%ld) is missing", headers[i].name, headers[i].nr);
		assert_string_equal(desc->name, headers[i].name);
	}
}

static void expect(const char *machine, bool compat, uint64_t nr, const char *name,
		   unsigned int n_args)
{
	const struct syscall_desc *desc = syscall_desc(syscall_machine(machine), compat, nr);

	assert_non_null(desc);
	assert_string_equal(desc->name, name);
	assert_int_equal(desc->n_args, n_args);
}

/* Facts from the manual pages, syscalls(2) and the calls' own. */
static void test_facts(void **state)
{
	(void)state;
	expect("x86_64", false, 0, "read", 3);
	expect("x86_64", false, 9, "mmap", 6);
	expect("x86_64", false, 39, "getpid", 0);
	expect("x86_64", false, 257, "openat", 4);
	expect("x86_64", false, 435, "clone3", 2);
	expect("x86_64", true, 3, "read", 3);
	expect("x86_64", true, 102, "socketcall", 2);
	expect("x86_64", true, 192, "mmap2", 6);
	expect("i686", false, 3, "read", 3);
	expect("aarch64", false, 63, "read", 3);
	expect("aarch64", false, 93, "exit", 1);
	expect("aarch64", false, 79, "newfstatat", 4);
	expect("aarch64", false, 220, "clone", 5);
}

static void test_unknown(void **state)
{
	(void)state;
	assert_null(syscall_machine("vax"));
	assert_null(syscall_desc(NULL, false, 0));
	assert_null(syscall_desc(syscall_machine("x86_64"), false, 100000));
	assert_null(syscall_desc(syscall_machine("x86_64"), false, UINT64_MAX));
	assert_null(syscall_desc(syscall_machine("x86_64"), false, 400)); /* a gap */
	assert_null(syscall_desc(syscall_machine("aarch64"), true, 0));
}

static void test_errnos(void **state)
{
	static const struct {
		uint64_t number;
		const char *name;
	} facts[] = {
		/* errno(3), and the kernel's errno.h */
		{ 1, "EPERM" },	       { 2, "ENOENT" },	       { 11, "EAGAIN" },
		{ 34, "ERANGE" },      { 35, "EDEADLK" },      { 40, "ELOOP" },
		{ 42, "ENOMSG" },      { 95, "EOPNOTSUPP" },   { 110, "ETIMEDOUT" },
		{ 133, "EHWPOISON" },  { 512, "ERESTARTSYS" }, { 519, "ENOPARAM" },
		{ 521, "EBADHANDLE" }, { 524, "ENOTSUPP" },    { 530, "ERECALLCONFLICT" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		assert_string_equal(errno_name(facts[i].number), facts[i].name);
	for (uint64_t e = 1; e < 134; e++)
		assert_true(!errno_name(e) == (e == 41 || e == 58));
	assert_null(errno_name(511));
	assert_null(errno_name(520));
	assert_null(errno_name(531));
	assert_null(errno_name((UINT64_C(1) << 32) + 1));
	assert_null(errno_name(0));
	assert_null(errno_name(4095));
	assert_null(errno_name(UINT64_MAX));
}

static void test_failed(void **state)
{
	(void)state;
	assert_true(syscall_failed(-1));
	assert_true(syscall_failed(-4095));
	assert_false(syscall_failed(-4096));
	assert_false(syscall_failed(0));
	assert_false(syscall_failed(INT64_MIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native),	cmocka_unit_test(test_facts),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_errnos),
		cmocka_unit_test(test_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
