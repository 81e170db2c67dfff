/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Damaged traces through ebt.so: those of test_mutate, as whole files, each opened by SQLite, and
 * every table and view asked for. An answer or an error is right; anything else ends the process,
 * at the latest under the sanitizers. The seed is fixed; EBT_MUTATE_SEED gives another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "format/base/cleanup.h"
#include "format/encoding/layout.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/repack.h"
#include "tests/fuzz/seeds.h"
#include "tests/tools/make_trace.h"

#define MAX_SEEDS  64
#define ROUNDS	   600
#define MAX_ROWS   3000
#define MAX_TABLES 256
#define MAX_STEPS  300000 /* of SQLite's machine, for a query */

static struct {
	unsigned char *data;
	size_t len;
} seeds[MAX_SEEDS];
static size_t n_seeds;

/* What is made of what a trace has; event tables are found by the pragma. */
static const char *const queries[] = {
	"SELECT * FROM perfetto.thread",
	"SELECT * FROM perfetto.process",
	"SELECT * FROM perfetto.counter",
	"SELECT * FROM slice",
	"SELECT * FROM perf_sample",
	"SELECT * FROM counter_track",
	"SELECT * FROM module",
	"SELECT * FROM thread_state WHERE ts > 1000",
	"SELECT frames(ustack), frames(kstack) FROM sample",
	"SELECT * FROM syscall WHERE ts BETWEEN 1000 AND 100000000 AND pid = 100 AND tid = 100",
	"SELECT * FROM syscall WHERE ts < -1 ORDER BY ts",
	"SELECT syscall_name(nr, abi), errno_name(ret), abs_time_str(ts), to_realtime(ts, trace)"
	" FROM syscall",
	"SELECT * FROM sched_switch s JOIN task t ON t.task = s.next LEFT JOIN stack k"
	" ON k.id = s.kstack",
	"SELECT trace_end(), ebt_damage()",
};

static sqlite3 *open_database(void)
{
	const char *extension = getenv("EBT_EXTENSION");
	char *message = NULL;
	sqlite3 *db;

	assert_non_null(extension);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	if (sqlite3_load_extension(db, extension, NULL, &message))
		fail_msg("%s", message);
	return db;
}

static int stop(void *arg)
{
	return !--*(int *)arg;
}

/* Each value is looked at. Returns whether there was an answer; of a long one, the beginning. */
static bool ask(sqlite3 *db, const char *query)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(db, query, -1, &statement, NULL), left = MAX_STEPS / 1000;
	unsigned int rows = 0;
	uint64_t sum = 0;

	sqlite3_progress_handler(db, 1000, stop, &left);
	while (!rc && rows++ < MAX_ROWS && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			const unsigned char *text = sqlite3_column_text(statement, i);

			for (int k = 0; text && k < sqlite3_column_bytes(statement, i); k++)
				sum += text[k];
		}
	}
	__asm__ volatile("" : : "r"(sum));
	sqlite3_progress_handler(db, 0, NULL, NULL);
	sqlite3_finalize(statement);
	return rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_INTERRUPT;
}

/* Returns false where one had no answer. */
static bool ask_tables(sqlite3 *db)
{
	char *list[MAX_TABLES];
	sqlite3_stmt *statement;
	bool good = true;
	size_t n = 0;

	assert_int_equal(sqlite3_prepare_v2(db, "SELECT name FROM pragma_module_list", -1,
					    &statement, NULL),
			 SQLITE_OK);
	while (n < MAX_TABLES && sqlite3_step(statement) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);

		if (strcmp(name, "ebt_traces") && strncmp(name, "pragma_", 7) &&
		    strncmp(name, "json_", 5) && strncmp(name, "fts", 3) &&
		    strncmp(name, "rtree", 5))
			list[n++] = sqlite3_mprintf("SELECT * FROM \"%w\"", name);
	}
	sqlite3_finalize(statement);
	assert_true(n > 60);
	for (size_t i = 0; i < n; i++) {
		good &= ask(db, list[i]);
		sqlite3_free(list[i]);
	}
	return good;
}

static bool ask_all(const unsigned char *data, size_t len)
{
	sqlite3 *db = open_database();
	int fd = memfd_create("trace", MFD_CLOEXEC);
	char open_it[96];
	bool good;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	snprintf(open_it, sizeof(open_it), "SELECT ebt_open('/proc/self/fd/%d')", fd);
	good = ask(db, open_it);
	if (good)
		good = ask_tables(db);
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		good &= ask(db, queries[i]);
	assert_true(ask(db, "SELECT 1"));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	close(fd);
	return good;
}

static void keep_seed(void *arg, const char *target, const void *data, size_t len)
{
	(void)arg;
	if (strcmp(target, "reader") || n_seeds == MAX_SEEDS)
		return;
	seeds[n_seeds].data = malloc(len);
	assert_non_null(seeds[n_seeds].data);
	memcpy(seeds[n_seeds].data, data, len);
	seeds[n_seeds++].len = len;
}

static int set_up(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	struct make_trace options = { .path = path,
				      .streams = 2,
				      .steps = 60,
				      .flush_every = 20,
				      .epoch_every = 40,
				      .file_size = 2500 };
	const char *dir = getenv("EBT_FIXTURES");
	char machines[4096];

	*state = open_database(); /* so that the extension stays loaded */
	for (int part = 0; part < 2; part++) {
		options.part = part;
		make_trace(&options, NULL);
		if (!each_seed(path, keep_seed, NULL))
			return -1;
	}
	snprintf(machines, sizeof(machines), "%s/v1.0-machines.ebt", dir ? dir : "tests/fixtures");
	return each_seed(machines, keep_seed, NULL) ? 0 : -1;
}

static int tear_down(void **state)
{
	for (size_t i = 0; i < n_seeds; i++)
		free(seeds[i].data);
	return sqlite3_close(*state);
}

static void test_whole(void **state)
{
	(void)state;
	assert_true(n_seeds >= 3);
	for (size_t i = 0; i < n_seeds; i++)
		assert_true(ask_all(seeds[i].data, seeds[i].len));
}

static void test_damaged(void **state)
{
	const char *seed = getenv("EBT_MUTATE_SEED");
	uint64_t random = seed ? strtoull(seed, NULL, 0) | 1 : 88172645463325252;

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		const size_t which = mutate_random(&random) % n_seeds;
		_cleanup_free_ unsigned char *data = malloc(seeds[which].len);
		unsigned int changes = 1 + (unsigned int)(mutate_random(&random) % 6);
		size_t len = seeds[which].len;

		assert_non_null(data);
		memcpy(data, seeds[which].data, len);
		for (unsigned int k = 0; k < changes && len > 1; k++)
			len = mutate_bytes(data, len, &random);
		/* Else hardly anything passes them. */
		if (mutate_random(&random) % 4)
			fix_checksums(data, len);
		ask_all(data, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
