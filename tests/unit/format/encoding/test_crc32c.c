/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Published check values, and the CPU's instruction against the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/encoding/crc32c.h"

/* docs/FORMAT.md, and RFC 3720 appendix B.4. */
static void check_values(void **state)
{
	unsigned char bytes[32];

	(void)state;
	assert_int_equal(ebt_crc32c("123456789", 9), 0xE3069283);
	assert_int_equal(ebt_crc32c("", 0), 0);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(ebt_crc32c(bytes, sizeof(bytes)), 0x8A9136AA);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(ebt_crc32c(bytes, sizeof(bytes)), 0x62A8AB43);
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	assert_int_equal(ebt_crc32c(bytes, sizeof(bytes)), 0x46DD794E);
	assert_int_equal(ebt_crc32c_portable(bytes, sizeof(bytes)), 0x46DD794E);
}

static void instruction_equals_table(void **state)
{
	unsigned char bytes[300];
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (unsigned char)(seed >> 24);
	}
	for (size_t begin = 0; begin < 16; begin++) {
		for (size_t len = 0; begin + len <= sizeof(bytes); len++)
			assert_int_equal(ebt_crc32c(bytes + begin, len),
					 ebt_crc32c_portable(bytes + begin, len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_values),
		cmocka_unit_test(instruction_equals_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
