/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What source `counter` makes of files of /proc and /sys, of machines that are not this one. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/read/reader.h"
#include "record/sources/counter_sensor.h"
#include "record/sources/counter_set.h"
#include "record/sources/counter_text.h"
#include "tests/tools/make_trace.h"

#define CPUS 128

struct machine {
	char *root; /* a folder, and its path ends in "/" */
	char *trace;
	int fd;
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	struct counter_set *set;
	struct counter_texts *texts;
	struct counter_sensors *sensors;
	uint64_t time;
};

/* Makes a file, and the folders on the way to it. */
static void put(const struct machine *m, const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", m->root, path);
	for (char *slash = full + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void put_stat(const struct machine *m, unsigned int round)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "cpu  %u 0 0 0 0 0 0 0 0 0\n", 1000 * round);
	for (unsigned int i = 0; i < CPUS; i++)
		fprintf(f, "cpu%u %u 1 2 %u 4 5 6 7 8 9 10\n", i, i + round, 3 + round * (i % 2));
	fprintf(f, "intr 5 1 2 3\nctxt %u\nbtime 17\nprocesses 9\n", 100 + round);
	assert_int_equal(fclose(f), 0);
	put(m, "/proc/stat", text);
	free(text);
}

static void put_all(const struct machine *m)
{
	put_stat(m, 0);
	put(m, "/proc/meminfo", "MemTotal:       16 kB\nHugePages_Total:  5\n");
	put(m, "/proc/vmstat", "nr_free_pages 7\npgfault 18446744073709551615\npgpgin 3\n");
	put(m, "/proc/diskstats",
	    "   8  0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8  1 sda1 1 1 1 1 1 1 1 1 1 1 1\n"
	    " 259  0 cciss/c0d0 7 0 0 0 0 0 0 0 0 0 0\n");
	put(m, "/sys/block/sda/x", "");
	put(m, "/sys/block/cciss!c0d0/x", "");
	put(m, "/proc/net/dev",
	    "Inter-|   Receive |\n face |bytes    packets\n"
	    "  eth0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
	put(m, "/proc/pressure/cpu", "some avg10=1.23 avg60=0.00 avg300=0.00 total=4567\n");
	put(m, "/sys/class/hwmon/hwmon0/name", "coretemp\n");
	put(m, "/sys/class/hwmon/hwmon0/temp1_label", "Package id 0\n");
	put(m, "/sys/class/hwmon/hwmon0/temp1_input", "41500\n");
	put(m, "/sys/class/hwmon/hwmon0/temp3_input", "-2000\n");
	put(m, "/sys/class/thermal/thermal_zone0/type", "acpi_tz\n");
	put(m, "/sys/class/thermal/thermal_zone0/temp", "30000\n");
	put(m, "/sys/class/thermal/cooling_device0/temp", "1\n");
	put(m, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
	put(m, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000000\n");
	put(m, "/sys/class/powercap/intel-rapl:0/energy_uj", "900000\n");
	put(m, "/sys/class/power_supply/AC/type", "Mains\n");
	put(m, "/sys/class/power_supply/AC/voltage_now", "1\n");
	put(m, "/sys/class/power_supply/BAT0/type", "Battery\n");
	put(m, "/sys/class/power_supply/BAT0/energy_now", "50000000\n");
	put(m, "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "2400000\n");
}

static void begin(struct machine *m)
{
	struct ebt_writer_options options;

	m->root = make_temporary_path("root");
	assert_int_equal(mkdir(m->root, 0700), 0);
	m->trace = make_temporary_path("counters.ebt");
	m->fd = open(m->trace, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(m->fd >= 0);
	options = (struct ebt_writer_options){ .fd = m->fd, .name = m->trace };
	assert_no_error(ebt_writer_create(&options, &m->writer));
	assert_no_error(ebt_writer_add_stream(m->writer, &m->stream));
}

static void open_counters(struct machine *m)
{
	assert_no_error(counter_set_create(&m->set));
	assert_no_error(counter_texts_create(m->set, m->root, &m->texts));
	assert_no_error(counter_sensors_create(m->set, m->root, &m->sensors));
}

static void look(struct machine *m, bool again)
{
	m->time += 1000;
	assert_no_error(counter_texts_read(m->texts));
	counter_sensors_read(m->sensors);
	assert_no_error(counter_set_emit(m->set, m->stream, m->time, again));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void end(struct machine *m)
{
	counter_sensors_destroy(m->sensors);
	counter_texts_destroy(m->texts);
	counter_set_destroy(m->set);
	ebt_writer_destroy(m->writer);
	close(m->fd);
	free_temporary_path(m->trace);
	assert_int_equal(nftw(m->root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free_temporary_path(m->root);
}

static bool is(struct ebt_str s, const char *expected)
{
	return s.len == strlen(expected) && !memcmp(s.data, expected, s.len);
}

/* The values of a counter, "1000:5 2000:6 ", to be freed; empty where there is none. */
static char *values_of(const struct machine *m, const char *category, const char *instance,
		       const char *name)
{
	const struct ebt_want wants[] = { { EBT_T_counter_def, ~UINT64_C(0) },
					  { EBT_T_counter, ~UINT64_C(0) } };
	const struct ebt_query query = { .wants = wants, .n_wants = 2 };
	struct ebt_reader *reader;
	struct ebt_cursor *cursor;
	struct ebt_row row;
	uint64_t number = 0;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_no_error(ebt_reader_open(m->trace, &reader));
	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	for (;;) {
		assert_no_error(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		if (row.batch->table->id == EBT_T_counter_def) {
			if (is(ebt_counter_def_category(&row), category) &&
			    is(ebt_counter_def_instance(&row), instance) &&
			    is(ebt_counter_def_name(&row), name))
				number = ebt_counter_def_counter(&row);
		} else if (number && ebt_counter_counter(&row) == number) {
			fprintf(f, "%llu:%lld ", (unsigned long long)row.time,
				(long long)ebt_counter_value(&row));
		}
	}
	ebt_cursor_destroy(cursor);
	ebt_reader_close(reader);
	fclose(f);
	return text;
}

static void expect(const struct machine *m, const char *category, const char *instance,
		   const char *name, const char *values)
{
	char *found = values_of(m, category, instance, name);

	if (strcmp(found, values))
		fail_msg("%s.%s.%s: '%s', not '%s'", category, instance, name, found, values);
	free(found);
}

static void test_values(void **state)
{
	struct machine m = { 0 };

	(void)state;
	begin(&m);
	put_all(&m);
	open_counters(&m);
	assert_null(counter_sensors_missing(m.sensors, 0));
	assert_string_equal(counter_texts_missing(m.texts, 0), "pressure of I/O");
	assert_string_equal(counter_texts_missing(m.texts, 1), "pressure of memory");
	assert_null(counter_texts_missing(m.texts, 2));
	look(&m, false);
	put_stat(&m, 1);
	put(&m, "/proc/net/dev",
	    "x|\ny|\n veth1:5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	    "  eth0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
	look(&m, false);
	look(&m, true);
	assert_no_error(ebt_writer_finish(m.writer));
	expect(&m, "cpu", "all", "user", "1000:0 2000:1000 3000:1000 ");
	expect(&m, "cpu", "127", "user", "1000:127 2000:128 3000:128 ");
	expect(&m, "cpu", "126", "idle", "1000:3 3000:3 ");
	expect(&m, "system", "", "ctxt", "1000:100 2000:101 3000:101 ");
	expect(&m, "system", "", "btime", "");
	expect(&m, "memory", "", "MemTotal", "1000:16384 3000:16384 ");
	expect(&m, "vm", "", "pgfault", "1000:-1 3000:-1 ");
	expect(&m, "vm", "", "pgpgin", "1000:3072 3000:3072 ");
	expect(&m, "disk", "sda", "read_bytes", "1000:1536 3000:1536 ");
	expect(&m, "disk", "sda", "queue_time", "1000:11 3000:11 ");
	expect(&m, "disk", "sda", "flush_ios", "");
	expect(&m, "disk", "sda1", "read_ios", "");
	expect(&m, "disk", "cciss/c0d0", "read_ios", "1000:7 3000:7 ");
	expect(&m, "net", "eth0", "tx_bytes", "1000:9 3000:9 ");
	/* It has come since, and began with nothing. */
	expect(&m, "net", "veth1", "rx_bytes", "2000:0 2000:5 3000:5 ");
	expect(&m, "pressure", "cpu", "some", "1000:4567 3000:4567 ");
	expect(&m, "sensor", "coretemp.hwmon0.Package id 0", "temperature",
	       "1000:41500 3000:41500 ");
	expect(&m, "sensor", "coretemp.hwmon0.temp3", "temperature", "1000:-2000 3000:-2000 ");
	expect(&m, "sensor", "acpi_tz.zone0", "temperature", "1000:30000 3000:30000 ");
	expect(&m, "power", "intel-rapl:0.package-0", "energy", "1000:900000 3000:900000 ");
	expect(&m, "battery", "BAT0", "energy", "1000:50000000 3000:50000000 ");
	expect(&m, "battery", "AC", "voltage", "");
	expect(&m, "cpu", "0", "frequency", "1000:2400000000 3000:2400000000 ");
	end(&m);
}

/* It counts to 1000000, then from 0. A busy machine may take a reading for one of a slow sensor,
 * which is then left alone for a while. */
static void test_energy(void **state)
{
	struct machine m = { 0 };
	char *values = NULL;

	(void)state;
	begin(&m);
	put(&m, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
	put(&m, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000000\n");
	put(&m, "/sys/class/powercap/intel-rapl:0/energy_uj", "900000\n");
	open_counters(&m);
	look(&m, false);
	put(&m, "/sys/class/powercap/intel-rapl:0/energy_uj", "100000\n");
	for (int i = 0; i < 600; i++) {
		look(&m, false);
		usleep(i * 1000);
		assert_no_error(ebt_stream_flush(m.stream, UINT64_MAX, true));
		free(values);
		values = values_of(&m, "power", "intel-rapl:0.package-0", "energy");
		if (strstr(values, ":1100000 "))
			break;
	}
	assert_non_null(strstr(values, "1000:900000 "));
	assert_non_null(strstr(values, ":1100000 "));
	free(values);
	end(&m);
}

/* Nothing is there, and what is there is of no use. */
static void test_nothing(void **state)
{
	struct machine m = { 0 };
	char *longest = malloc(100001);

	(void)state;
	begin(&m);
	open_counters(&m);
	assert_string_equal(counter_texts_missing(m.texts, 7), "pressure of memory");
	assert_string_equal(counter_sensors_missing(m.sensors, 3), "battery");
	look(&m, true);
	end(&m);

	m = (struct machine){ 0 };
	begin(&m);
	memset(longest, 'x', 100000);
	longest[100000] = '\0';
	put(&m, "/proc/stat",
	    "cpu\ncpu0 x y\n\n  \ncpu1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 "
	    "18 19 20 21 22 23");
	put(&m, "/proc/meminfo", longest);
	put(&m, "/proc/vmstat", "\n:\n: : :\npgfault\n");
	put(&m, "/proc/diskstats", "1\n1 2\n1 2 3\n");
	put(&m, "/proc/net/dev", "one line");
	put(&m, "/proc/pressure/cpu", "some\nsome =\nsome total\n");
	open_counters(&m);
	look(&m, false);
	look(&m, true);
	end(&m);
	free(longest);
}

/* Rows of `lost`, a line each, to be freed. */
static char *losses_of(const struct machine *m)
{
	const struct ebt_want want = { EBT_T_lost, ~UINT64_C(0) };
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	struct ebt_reader *reader;
	struct ebt_cursor *cursor;
	struct ebt_row row;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_no_error(ebt_reader_open(m->trace, &reader));
	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	for (;;) {
		struct ebt_str source, detail;

		assert_no_error(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		source = ebt_lost_source(&row);
		detail = ebt_lost_detail(&row);
		assert_int_equal(ebt_lost_table_id(&row), EBT_T_counter);
		fprintf(f, "%llu %.*s: %.*s\n", (unsigned long long)row.time, (int)source.len,
			source.data, (int)detail.len, detail.data);
	}
	ebt_cursor_destroy(cursor);
	ebt_reader_close(reader);
	fclose(f);
	return text;
}

/* What has no room is said once, and the others go on. */
static void test_too_many(void **state)
{
	static const struct counter_class classes[] = {
		{ "rx", "", "", COUNTER_GAUGE, 1, 1 },
		{ "tx", "", "", COUNTER_GAUGE, 1, 1 },
	};
	struct machine m = { 0 };
	uint32_t counter;
	char *losses;

	(void)state;
	begin(&m);
	put_stat(&m, 0);
	open_counters(&m);
	look(&m, false);
	do
		assert_no_error(counter_set_add(m.set, "net", "veth", classes, 2, &counter));
	while (counter != COUNTER_NONE);
	assert_no_error(counter_set_add(m.set, "net", "veth2", classes, 2, &counter));
	assert_int_equal(counter, COUNTER_NONE);
	put_stat(&m, 1);
	look(&m, false);
	assert_no_error(counter_set_add(m.set, "net", "veth3", classes, 2, &counter));
	look(&m, true);
	assert_no_error(ebt_writer_finish(m.writer));
	losses = losses_of(&m);
	assert_string_equal(losses, "2000 counter: counters after the first 65536, as those of "
				    "net veth\n");
	free(losses);
	expect(&m, "cpu", "all", "user", "1000:0 2000:1000 3000:1000 ");
	end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_energy),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
