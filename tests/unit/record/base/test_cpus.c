/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of CPUs as /sys has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "record/base/hotplug.h"
#include "record/base/topology.h"

static void check(const char *list, const int *expected, size_t n)
{
	int *cpus;
	size_t found;
	struct ebt_error *err = cpus_parse(list, &cpus, &found);

	if (err)
		fail_msg("%s", err->message);
	assert_int_equal(found, n);
	assert_memory_equal(cpus, expected, n * sizeof(*expected));
	free(cpus);
}

static void test_lists(void **state)
{
	const int one[] = { 0 }, four[] = { 0, 1, 2, 3 }, holes[] = { 0, 2, 3, 4, 63 };

	(void)state;
	check("0", one, 1);
	check("0\n", one, 1);
	check("0-3\n", four, 4);
	check("0-1,2-3\n", four, 4);
	check("0,2-4,63\n", holes, 5);
}

static void test_refused(void **state)
{
	static const char *const lists[] = {
		"",	  "\n",	  "x",	   "0-",      "-1",
		"3-1",	  "1;2",  "1,x",   "0-65536", "0-9999999999",
		"1 2",	  "1--2", "0-1-2", ",",	      "0-65535,0-65535",
		"0x1-0x3"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		int *cpus = NULL;
		size_t n;
		struct ebt_error *err = cpus_parse(lists[i], &cpus, &n);

		if (!err)
			fail_msg("taken: %s", lists[i]);
		ebt_error_destroy(err);
		assert_null(cpus);
	}
}

static void test_online(void **state)
{
	int *cpus;
	size_t n;

	(void)state;
	assert_null(cpus_online(&cpus, &n));
	assert_int_equal(n, sysconf(_SC_NPROCESSORS_ONLN));
	free(cpus);
}

/* The first lines of messages; others follow behind a NUL. */
static void test_messages(void **state)
{
	static const struct {
		const char *message;
		int cpu;
		bool online;
	} messages[] = {
		{ "online@/devices/system/cpu/cpu1", 1, true },
		{ "offline@/devices/system/cpu/cpu127", 127, false },
		{ "online@/devices/system/cpu/cpu", -1, false },
		{ "online@/devices/system/cpu/cpu1x", -1, false },
		{ "online@/devices/system/cpu/cpu99999999999", -1, false },
		{ "online@/devices/system/memory/memory1", -1, false },
		{ "add@/devices/virtual/net/veth0", -1, false },
		{ "", -1, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		const char *message = messages[i].message;
		bool online = false;

		assert_int_equal(hotplug_parse(message, strlen(message) + 1, &online),
				 messages[i].cpu);
		if (messages[i].cpu >= 0)
			assert_int_equal(online, messages[i].online);
		/* One that does not end. */
		assert_int_equal(hotplug_parse(message, strlen(message), &online), -1);
	}
}

/* Nobody has come since it was made. */
static void test_nobody_came(void **state)
{
	struct hotplug *hotplug;
	int *cpus = NULL;
	size_t n = 1;

	(void)state;
	assert_null(hotplug_create(8192, &hotplug));
	assert_null(hotplug_look(hotplug, &cpus, &n));
	assert_int_equal(n, 0);
	free(cpus);
	hotplug_destroy(hotplug);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),	    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_online),	    cmocka_unit_test(test_messages),
		cmocka_unit_test(test_nobody_came),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
