/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that end too early, and files with a hole: every chunk that is whole gives all its rows.
 * What a chunk's rows are is learned from the undamaged file.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "tests/tools/make_trace.h"

/* A chunk of the undamaged file, and the sum of the hashes of its rows. */
struct whole {
	uint64_t offset, end; /* end: of the payload */
	uint64_t rows, hash;
	uint64_t seen_rows, seen_hash; /* in the damaged file */
};

struct original {
	char *path;
	unsigned char *data;
	size_t size;
	struct whole *chunks;
	size_t n;
};

static int compare_offset(const void *key, const void *member)
{
	uint64_t offset = *(const uint64_t *)key, other = ((const struct whole *)member)->offset;

	return offset < other ? -1 : offset > other;
}

/* Sums up rows by chunk. A row of a chunk that the original lacks fails the test. */
static void read_rows(struct original *original, struct ebt_reader *reader)
{
	_cleanup_cursor_ struct ebt_cursor *cursor = cursor_over_all(reader);
	struct whole *chunk = NULL;
	struct ebt_row row;

	for (size_t i = 0; i < original->n; i++)
		original->chunks[i].seen_rows = original->chunks[i].seen_hash = 0;
	for (;;) {
		assert_no_error(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			return;
		if (!chunk || chunk->offset != row.batch->chunk->offset)
			chunk = bsearch(&row.batch->chunk->offset, original->chunks, original->n,
					sizeof(*chunk), compare_offset);
		assert_non_null(chunk);
		chunk->seen_rows++;
		chunk->seen_hash += hash_row(&row);
	}
}

static void load_original(struct original *original, const struct make_trace *options)
{
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	const struct ebt_chunk_info *chunks;
	uint64_t total;
	struct stat st;
	size_t damaged;
	int fd;

	make_trace(options, NULL);
	original->path = (char *)options->path;
	fd = open(original->path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	original->size = (size_t)st.st_size;
	original->data = malloc(original->size);
	assert_int_equal(read(fd, original->data, original->size), st.st_size);
	close(fd);

	assert_no_error(ebt_reader_open(original->path, &reader));
	assert_true(ebt_reader_info(reader)->complete);
	assert_true(ebt_reader_info(reader)->indexed);
	chunks = ebt_reader_chunks(reader, &original->n);
	original->chunks = calloc(original->n, sizeof(*original->chunks));
	for (size_t i = 0; i < original->n; i++) {
		original->chunks[i].offset = chunks[i].offset;
		original->chunks[i].end =
			chunks[i].offset + EBT_CHUNK_HEADER_LEN + chunks[i].stored;
	}
	read_rows(original, reader);
	for (size_t i = 0; i < original->n; i++) {
		original->chunks[i].rows = original->chunks[i].seen_rows;
		original->chunks[i].hash = original->chunks[i].seen_hash;
		assert_int_equal(original->chunks[i].rows, chunks[i].rows);
	}
	ebt_reader_damage(reader, &damaged, &total);
	assert_int_equal(damaged, 0);
}

static void free_original(struct original *original)
{
	free(original->data);
	free(original->chunks);
}

static uint64_t all_damage(struct ebt_reader *reader)
{
	uint64_t total;
	size_t n;

	ebt_reader_damage(reader, &n, &total);
	return total;
}

/* The file has this size now: what lies before must be there, and nothing else. */
static void check_cut(struct original *original, uint64_t size)
{
	_cleanup_reader_ struct ebt_reader *reader = NULL;
	_cleanup_error_ struct ebt_error *err = NULL;
	bool at_boundary = size == EBT_FILE_HEADER_LEN;

	err = ebt_reader_open(original->path, &reader);
	if (size < EBT_FILE_HEADER_LEN) {
		assert_non_null(err);
		assert_int_equal(err->code, EBT_ERR_CORRUPT);
		return;
	}
	assert_no_error(err);
	read_rows(original, reader);
	for (size_t i = 0; i < original->n; i++) {
		const struct whole *chunk = &original->chunks[i];
		bool whole = chunk->end <= size;

		if (chunk->seen_rows != (whole ? chunk->rows : 0) ||
		    chunk->seen_hash != (whole ? chunk->hash : 0))
			fail_msg("cut at %ju: chunk %zu gives %ju rows of %ju", (uintmax_t)size, i,
				 (uintmax_t)chunk->seen_rows, (uintmax_t)chunk->rows);
		at_boundary |= size >= chunk->end && size <= ((chunk->end + 7) & ~7ul);
	}
	assert_int_equal(ebt_reader_info(reader)->complete, size == original->size);
	assert_int_equal(all_damage(reader), at_boundary || size == original->size ? 0 : 1);
}

static void cut(struct original *original, uint64_t size)
{
	assert_int_equal(truncate(original->path, (off_t)size), 0);
	check_cut(original, size);
}

static int compare_sizes_down(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a > b ? -1 : a < b;
}

/* Cuts every `stride` bytes, and around the beginning and the end of the payload of each chunk,
 * or of one in `every`. From the end to the beginning: the file need not be written again. */
static void cut_everywhere(struct original *original, uint64_t stride, size_t every)
{
	uint64_t *sizes = calloc(original->size / stride + 1 + 6 * original->n, sizeof(*sizes));
	size_t n = 0;

	assert_non_null(sizes);
	for (uint64_t size = stride; size < original->size; size += stride)
		sizes[n++] = size;
	for (size_t i = 0; i < original->n; i += every) {
		for (unsigned int k = 0; k < 3; k++) {
			sizes[n++] = original->chunks[i].offset + k - 1;
			sizes[n++] = original->chunks[i].end + k - 1;
		}
	}
	qsort(sizes, n, sizeof(*sizes), compare_sizes_down);
	for (size_t i = 0; i < n; i++) {
		if (!i || sizes[i] != sizes[i - 1])
			cut(original, sizes[i]);
	}
	free(sizes);
}

static void test_every_boundary(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	const struct make_trace options = { .path = path,
					    .streams = 3,
					    .steps = 600,
					    .flush_every = 60,
					    .epoch_every = 250,
					    .file_size = 20000 };
	struct original original = { 0 };

	(void)state;
	load_original(&original, &options);
	cut_everywhere(&original, 4096, 1);
	free_original(&original);
}

static void test_more_than_one_index_chunk(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	const struct make_trace options = {
		.path = path, .streams = 4, .steps = 5000, .flush_every = 4, .epoch_every = 1000
	};
	struct original original = { 0 };

	(void)state;
	load_original(&original, &options);
	assert_true(original.n > EBT_INDEX_ROWS);
	cut_everywhere(&original, 16 * 4096, 400);
	free_original(&original);
}

static void write_at(const char *path, const void *data, size_t len, uint64_t offset)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, len, (off_t)offset), len);
	close(fd);
}

static void check_hole(struct original *original, uint64_t from, uint64_t to)
{
	_cleanup_reader_ struct ebt_reader *reader = NULL;

	assert_no_error(ebt_reader_open(original->path, &reader));
	read_rows(original, reader);
	for (size_t i = 0; i < original->n; i++) {
		const struct whole *chunk = &original->chunks[i];
		bool hit = chunk->offset < to && chunk->end > from;

		/* One that was hit may be untouched all the same: it was zero before. */
		if (hit && !chunk->seen_rows)
			continue;
		if (chunk->seen_rows != chunk->rows || chunk->seen_hash != chunk->hash)
			fail_msg("hole from %ju to %ju: chunk %zu (%ju to %ju) gives %ju rows of "
				 "%ju",
				 (uintmax_t)from, (uintmax_t)to, i, (uintmax_t)chunk->offset,
				 (uintmax_t)chunk->end, (uintmax_t)chunk->seen_rows,
				 (uintmax_t)chunk->rows);
	}
	assert_true(all_damage(reader) > 0);
}

/* A stretch of the file, any, becomes something else. */
static void test_holes(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	const struct make_trace options = { .path = path,
					    .streams = 3,
					    .steps = 600,
					    .flush_every = 60,
					    .epoch_every = 250,
					    .file_size = 20000 };
	struct original original = { 0 };
	unsigned char *filler;

	(void)state;
	load_original(&original, &options);
	filler = malloc(original.size);
	srandom(1);
	for (unsigned int i = 0; i < 400; i++) {
		uint64_t body = original.size - EBT_FILE_HEADER_LEN - EBT_FOOTER_LEN;
		uint64_t from = EBT_FILE_HEADER_LEN + (uint64_t)random() % (body - 200);
		uint64_t len = 100 + (uint64_t)random() % (body / 8);

		if (len > body + EBT_FILE_HEADER_LEN - from)
			len = body + EBT_FILE_HEADER_LEN - from;
		if (i % 2)
			memset(filler, 0, len);
		for (uint64_t k = 0; i % 2 == 0 && k < len; k++)
			filler[k] = (unsigned char)random();
		write_at(path, filler, len, from);
		if (i % 3 == 0) /* without the index too */
			assert_int_equal(truncate(path, (off_t)original.size - 8), 0);
		check_hole(&original, from, from + len);
		write_at(path, original.data, original.size, 0);
	}
	free(filler);
	free_original(&original);
}

/* A long gap is searched block by block: the header behind it must be found wherever a block
 * ends. What is behind moves, so that only the number of rows is compared. */
static void test_long_gaps(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	const struct make_trace options = {
		.path = path, .streams = 2, .steps = 100, .flush_every = 40
	};
	struct original original = { 0 };
	const struct whole *chunk;
	unsigned char *zeros;
	uint64_t expected = 0;

	(void)state;
	load_original(&original, &options);
	chunk = &original.chunks[original.n / 2];
	for (size_t i = 0; i < original.n; i++)
		expected += original.chunks[i].rows;
	zeros = calloc(1, 3 << 20);
	for (uint64_t gap = (1 << 20) - 128; gap <= (1 << 20) + 128; gap += 8) {
		_cleanup_reader_ struct ebt_reader *reader = NULL;
		_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
		uint64_t rows = 0, total;
		struct ebt_row row;
		size_t n;

		write_at(path, zeros, gap, chunk->offset);
		write_at(path, original.data + chunk->offset, original.size - chunk->offset,
			 chunk->offset + gap);
		assert_no_error(ebt_reader_open(path, &reader));
		assert_false(ebt_reader_info(reader)->indexed);
		cursor = cursor_over_all(reader);
		for (;; rows++) {
			assert_no_error(ebt_cursor_next(cursor, &row));
			if (!row.batch)
				break;
		}
		assert_int_equal(rows, expected);
		/* The gap, and the index that is not where the footer says. */
		assert_int_equal(ebt_reader_damage(reader, &n, &total)[0].offset, chunk->offset);
		assert_int_equal(ebt_reader_damage(reader, &n, &total)[0].length, gap);
		assert_int_equal(total, 2);
		assert_int_equal(truncate(path, 0), 0);
		write_at(path, original.data, original.size, 0);
	}
	free(zeros);
	free_original(&original);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_boundary),
		cmocka_unit_test(test_more_than_one_index_chunk),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_long_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
