/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzing whole files. Byte 72 of the file header, reserved, says whether checksums are made
 * right first: without that hardly anything passes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/encoding/layout.h"
#include "format/read/reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repack.h"

DEFINE_CLEANUP(struct ebt_reader *, ebt_reader_close);
DEFINE_CLEANUP(struct ebt_cursor *, ebt_cursor_destroy);

/* Rows that one input may cost: constant columns make millions out of nothing. */
#define MAX_ROWS 2000000

/* Touches everything that the row points to. */
static uint64_t use_row(const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	const struct ebt_stack *stack;
	const struct ebt_task *task;
	struct ebt_str s;
	uint64_t sum = row->time;

	for (uint32_t i = 0; i < table->n_fields; i++) {
		sum += ebt_u64(row, i);
		if (table->fields[i].type == EBT_TYPE_TASK) {
			task = ebt_task(row, i);
			sum += task && task->comm.len ? (uint64_t)task->comm.data[0] : 0;
		} else if (table->fields[i].type == EBT_TYPE_STACK) {
			stack = ebt_stack(row, i);
			sum += stack && stack->n ? stack->addresses[stack->n - 1] : 0;
		} else if (table->fields[i].type == EBT_TYPE_STRING ||
			   table->fields[i].type == EBT_TYPE_BYTES) {
			s = ebt_str(row, i);
			sum += s.len ? (uint64_t)s.data[s.len - 1] : 0;
		}
	}
	return sum;
}

static bool read_rows(struct ebt_reader *reader)
{
	_cleanup_(ebt_cursor_destroyp) struct ebt_cursor *cursor = NULL;
	_cleanup_free_ struct ebt_want *wants = NULL;
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(reader, &n);
	struct ebt_query query = { .n_wants = n };
	uint64_t last = 0, sum = 0;
	struct ebt_error *err;
	struct ebt_row row;

	wants = calloc(n, sizeof(*wants));
	for (size_t i = 0; wants && i < n; i++)
		wants[i] = (struct ebt_want){ tables[i].id, ~UINT64_C(0) };
	query.wants = wants;
	err = ebt_cursor_create(reader, &query, &cursor);
	for (unsigned int i = 0; !err && i < MAX_ROWS; i++) {
		err = ebt_cursor_next(cursor, &row);
		if (err || !row.batch)
			break;
		fuzz_expect(row.time >= last, "rows are in order of time");
		last = row.time;
		sum += use_row(&row);
	}
	__asm__ volatile("" : : "r"(sum));
	return fuzz_succeeded(err);
}

static bool read_files(struct ebt_reader *reader)
{
	const struct ebt_file *files;
	struct ebt_error *err;
	const char *value;
	size_t n = 0, len;

	err = ebt_reader_files(reader, &files, &n);
	for (size_t i = 0; !err && i < n && i < 20; i++) {
		char *content = NULL;

		err = ebt_reader_file_content(reader, files[i].id, &content, &len);
		if (!err)
			fuzz_expect(len == files[i].size || i, "the content has the file's size");
		free(content);
	}
	if (!err)
		err = ebt_reader_meta(reader, "host.release", &value);
	return fuzz_succeeded(err);
}

/* Returns whether there is none. */
static bool check_damage(const struct ebt_reader *reader)
{
	uint64_t total, size = ebt_reader_info(reader)->size, last = 0;
	size_t n;
	const struct ebt_damage *damage = ebt_reader_damage(reader, &n, &total);

	fuzz_expect(n <= total && n <= EBT_MAX_DAMAGE, "the damage is limited");
	for (size_t i = 0; i < n; i++) {
		fuzz_expect(damage[i].what && *damage[i].what, "damage says what");
		fuzz_expect(damage[i].offset >= last && damage[i].offset <= size,
			    "damage says where");
		last = damage[i].offset;
	}
	return !n;
}

/* Returns whether all of it could be read. */
static bool read_all(struct ebt_reader *reader)
{
	bool rows = read_rows(reader);
	bool files = read_files(reader);

	return check_damage(reader) && rows && files;
}

static bool read_hosts(struct ebt_reader *reader)
{
	const struct ebt_reader_info *info = ebt_reader_info(reader);
	bool whole = read_all(reader);

	for (size_t i = 1; i < info->n_hosts; i++) {
		fuzz_expect(info->hosts[i] > info->hosts[i - 1], "machines are in order");
		whole &= fuzz_succeeded(ebt_reader_choose_host(reader, info->hosts[i]));
		fuzz_expect(info->host == info->hosts[i], "the machine is the chosen one");
		whole &= read_all(reader);
	}
	return whole;
}

bool fuzz_reader(const uint8_t *data, size_t len)
{
	_cleanup_(ebt_reader_closep) struct ebt_reader *reader = NULL;
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	_cleanup_free_ uint8_t *copy = malloc(len + 1);
	struct ebt_error *err;
	char path[40];

	if (fd < 0 || !copy)
		return false;
	if (len)
		memcpy(copy, data, len);
	if (len > EBT_FH_RESERVED && !(copy[EBT_FH_RESERVED] & 1))
		fix_checksums(copy, len);
	if (write(fd, copy, len) != (ssize_t)len)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = ebt_reader_open(path, &reader);
	if (err) {
		fuzz_expect(strstr(err->message, path), "an error of opening names the file");
		return fuzz_succeeded(err);
	}
	return read_hosts(reader);
}
