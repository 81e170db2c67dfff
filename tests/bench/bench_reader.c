/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast a cursor reads: makes a trace of N rows a table with the real writer (or takes a
 * file), and prints time and memory of opening it and of reading what reports read.
 *
 *	bench_reader FILE [N]
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/read/reader.h"
#include "format/write/writer.h"

DEFINE_CLEANUP(struct ebt_cursor *, ebt_cursor_destroy);

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void check(struct ebt_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "bench_reader: %s\n", err->message);
	exit(1);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void resolve_task(void *arg, uint32_t tid, uint64_t time_ns, struct ebt_task_id *ret)
{
	(void)arg;
	(void)time_ns;
	*ret = (struct ebt_task_id){ .tid = tid, .pid = tid & ~3u, .start_ns = tid * 1000u };
	snprintf(ret->comm, sizeof(ret->comm), "worker-%u", tid % 16);
}

static void add_rows(struct ebt_stream *stream, uint64_t time, uint64_t *random)
{
	uint32_t a = 1000 + (uint32_t)(next_random(random) % 60);
	struct ebt_wire_syscall call = {
		.head = { .time = time, .len = sizeof(call), .table = EBT_T_syscall },
		.cpu = (uint32_t)(next_random(random) % 2),
		.task = a,
		.nr = (uint32_t)(next_random(random) % 4),
		.duration = 150 + next_random(random) % 700,
		.ret = (int64_t)(next_random(random) % 2),
		.arg0 = 3,
		.arg1 = 0x55550000,
		.arg2 = 1,
	};
	struct ebt_wire_sched_switch sw = {
		.head = { .time = time + 100, .len = sizeof(sw), .table = EBT_T_sched_switch },
		.cpu = call.cpu,
		.prev = a,
		.next = 1000 + (uint32_t)(next_random(random) % 60),
		.prev_state = 1,
	};
	struct ebt_wire_sched_waking waking = {
		.head = { .time = time + 60, .len = sizeof(waking), .table = EBT_T_sched_waking },
		.cpu = call.cpu,
		.waker = a,
		.wakee = sw.next,
	};

	check(ebt_stream_add(stream, &call, sizeof(call)));
	check(ebt_stream_add(stream, &waking, sizeof(waking)));
	check(ebt_stream_add(stream, &sw, sizeof(sw)));
}

static void make(const char *path, uint64_t n)
{
	struct ebt_writer_options options = {
		.fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600),
		.name = path,
		.streams = 2,
		.resolve_task = resolve_task,
	};
	struct ebt_stream *streams[2];
	uint64_t time = UINT64_C(1000000000000), random = 88172645463325252;
	struct ebt_writer *writer;

	if (options.fd < 0) {
		perror(path);
		exit(1);
	}
	check(ebt_writer_create(&options, &writer));
	check(ebt_writer_add_stream(writer, &streams[0]));
	check(ebt_writer_add_stream(writer, &streams[1]));
	for (uint64_t i = 0; i < n; i++) {
		add_rows(streams[next_random(&random) >> 40 & 1], time, &random);
		time += 200 + next_random(&random) % 600;
	}
	check(ebt_writer_finish(writer));
	ebt_writer_destroy(writer);
	close(options.fd);
}

static void measure(const char *path, const char *what, const struct ebt_want *wants, size_t n)
{
	const struct ebt_query query = { .wants = wants, .n_wants = n };
	_cleanup_(ebt_cursor_destroyp) struct ebt_cursor *cursor = NULL;
	struct ebt_reader *reader;
	uint64_t rows = 0, sum = 0;
	struct rusage usage;
	struct ebt_row row;
	double start = now();

	check(ebt_reader_open(path, &reader));
	check(ebt_cursor_create(reader, &query, &cursor));
	for (;;) {
		check(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		rows++;
		sum += row.time + row.batch->col[1][row.i];
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%-36s %9" PRIu64 " rows %7.3f s %6.1f ns/row, peak %ld MiB (sum %" PRIx64 ")\n",
	       what, rows, now() - start, (now() - start) * 1e9 / (double)(rows ? rows : 1),
	       usage.ru_maxrss >> 10, sum);
	ebt_cursor_destroy(take_ptr(cursor));
	ebt_reader_close(reader);
}

int main(int argc, char **argv)
{
	const struct ebt_want calls[] = { {
		EBT_T_syscall,
		EBT_COLS(syscall, cpu, task, nr, duration, ret),
	} };
	const struct ebt_want sched[] = {
		EBT_WANT(sched_switch, cpu, prev, next, prev_state),
		EBT_WANT(sched_waking, cpu, wakee),
	};
	struct ebt_reader *reader;
	double start;
	size_t n;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_reader FILE [ROWS-A-TABLE]\n");
		return 2;
	}
	if (access(argv[1], F_OK) < 0)
		make(argv[1], argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000);
	start = now();
	check(ebt_reader_open(argv[1], &reader));
	ebt_reader_chunks(reader, &n);
	printf("open %zu chunks, %.1f MB: %.3f ms\n", n,
	       (double)ebt_reader_info(reader)->size / 1e6, (now() - start) * 1e3);
	ebt_reader_close(reader);
	measure(argv[1], "syscall, 5 columns", calls, 1);
	measure(argv[1], "sched_switch + sched_waking", sched, 2);
	return 0;
}
