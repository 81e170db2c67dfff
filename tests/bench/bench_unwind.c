/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an unwind table costs to make: time for each MB of unwind information, and rows and bytes
 * of it.
 *
 *	bench_unwind FILE...
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/base/cleanup.h"
#include "unwind/image.h"
#include "unwind/table.h"

#define RUNS 5

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct cost {
	uint64_t ns;
	size_t input, rows;
};

static int build(const char *path, struct cost *ret)
{
	_cleanup_(unwind_table_destroyp) struct unwind_table *table = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_image image = { 0 };
	uint64_t begin = now_ns();
	struct ebt_error *err;

	if (fd < 0)
		return 1;
	err = unwind_image_read(fd, &image);
	if (!err)
		err = unwind_table_build(&image, &table);
	if (err) {
		ebt_error_destroy(err);
		return 1;
	}
	ret->ns = now_ns() - begin;
	ret->input = 0;
	for (size_t i = 0; i < image.n_sections; i++)
		ret->input += image.sections[i].len;
	ret->rows = table->n_rows;
	unwind_image_deinit(&image);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct cost best = { .ns = UINT64_MAX }, cost;

		for (int run = 0; run < RUNS; run++) {
			if (build(argv[i], &cost)) {
				fprintf(stderr, "bench_unwind: no table of %s\n", argv[i]);
				return 1;
			}
			if (cost.ns < best.ns)
				best = cost;
		}
		printf("%s %zu %zu %" PRIu64 "\n", argv[i], best.input, best.rows, best.ns);
	}
	return 0;
}
