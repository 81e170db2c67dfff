/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables that a thread makes: in order, bounded in number, and those that are made here too. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/unwind/builder.h"
#include "unwind/image.h"
#include "unwind/table.h"

static void read_self(struct unwind_image *ret)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_null(unwind_image_read(fd, ret));
	close(fd);
}

static void test_same_tables(void **state)
{
	struct unwind_builder *b = unwind_builder_create();
	struct unwind_table *expected, *table;
	struct unwind_image image = { 0 };
	uint32_t number, sent = 0, got = 0;

	(void)state;
	assert_non_null(b);
	assert_false(unwind_builder_next(b, UINT64_MAX, &number, &table));
	read_self(&image);
	assert_null(unwind_table_build(&image, &expected));
	assert_true(expected->n_rows > 10);
	unwind_image_deinit(&image);
	while (got < 40) {
		if (sent < 40) {
			read_self(&image);
			if (unwind_builder_add(b, sent, &image)) {
				assert_int_equal(image.n_sections, 0);
				sent++;
			}
			unwind_image_deinit(&image);
		}
		while (unwind_builder_next(b, sent == 40 ? UINT64_MAX : 0, &number, &table)) {
			assert_int_equal(number, got++);
			assert_non_null(table);
			assert_int_equal(table->n_rows, expected->n_rows);
			assert_memory_equal(table->rows, expected->rows,
					    expected->n_rows * sizeof(*expected->rows));
			unwind_table_destroy(table);
		}
		if (sent == 40)
			break;
	}
	assert_int_equal(got, 40);
	unwind_table_destroy(expected);
	unwind_builder_destroy(b);
}

/* Whoever does not fetch what is done is refused more, and loses nothing but that. */
static void test_bounded(void **state)
{
	struct unwind_builder *b = unwind_builder_create();
	struct unwind_image image = { 0 };
	uint32_t n = 0;

	(void)state;
	assert_non_null(b);
	for (;; n++) {
		assert_true(n < 1000);
		read_self(&image);
		if (!unwind_builder_add(b, n, &image))
			break;
	}
	assert_true(n > 1);
	assert_true(image.n_sections > 0);
	unwind_image_deinit(&image);
	unwind_builder_destroy(b); /* with what is in it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_tables),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
