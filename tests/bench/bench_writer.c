/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a row costs to write: system calls as `dd bs=1` makes them, to /dev/null or a file.
 *
 *	bench_writer [FILE [ROWS]]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "writer.h"

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* xorshift: the same rows in every run. */
static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void fill(struct ebt_wire_syscall *row, unsigned int i, uint32_t *seed, uint64_t *entry)
{
	*entry += 250 + next_random(seed) % 150;
	*row = (struct ebt_wire_syscall){
		.head = { .table = EBT_T_syscall, .len = sizeof(*row) },
		.cpu = 1,
		.task = 4711,
		.nr = i % 2,
		.duration = 80 + next_random(seed) % 120,
		.ret = 1,
		.arg0 = i % 2,
		.arg1 = 0x55d0c8a0f000,
		.arg2 = 1,
	};
	row->head.time = *entry + row->duration;
}

static struct ebt_error *run(int fd, unsigned int rows, uint64_t *ret_fill_ns)
{
	struct ebt_writer_options options = { .fd = fd, .name = "bench" };
	uint64_t entry = 1000000000, begin = cpu_ns();
	struct ebt_wire_syscall row;
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	struct ebt_error *err;
	uint32_t seed = 1;

	for (unsigned int i = 0; i < rows; i++) {
		fill(&row, i, &seed, &entry);
		__asm__ volatile("" : : "r"(&row) : "memory");
	}
	*ret_fill_ns = cpu_ns() - begin;
	err = ebt_writer_create(&options, &writer);
	if (!err)
		err = ebt_writer_add_stream(writer, &stream);
	entry = 1000000000;
	seed = 1;
	for (unsigned int i = 0; !err && i < rows; i++) {
		fill(&row, i, &seed, &entry);
		err = ebt_stream_add(stream, &row, sizeof(row));
	}
	if (!err)
		err = ebt_writer_finish(writer);
	if (!err) {
		struct ebt_writer_stats stats;

		ebt_writer_stats(writer, &stats);
		printf("%.2f bytes a row, %llu chunks\n", (double)stats.bytes / rows,
		       (unsigned long long)stats.chunks);
		ebt_writer_destroy(writer);
	}
	return err;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/dev/null";
	unsigned int rows = argc > 2 ? (unsigned int)atoi(argv[2]) : 4000000;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	uint64_t begin = cpu_ns(), fill_ns = 0;
	struct ebt_error *err;

	if (fd < 0) {
		perror(path);
		return 1;
	}
	err = run(fd, rows, &fill_ns);
	if (err) {
		fprintf(stderr, "%s\n", err->message);
		return 1;
	}
	printf("%.1f ns a row\n", (double)(cpu_ns() - begin - 2 * fill_ns) / rows);
	close(fd);
	return 0;
}
