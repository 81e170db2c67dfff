/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a row costs to write: system calls as `dd bs=1` makes them, to /dev/null or a file, and
 * context switches with stacks, to /dev/null.
 *
 *	bench_writer [FILE [ROWS]]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/base/cleanup.h"
#include "format/write/writer.h"

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

#define FRAMES 14

/* Both kinds of row, and what makes one follow the other. */
struct source {
	union {
		struct ebt_wire_syscall syscall;
		struct {
			struct ebt_wire_sched_switch row;
			struct ebt_wire_stack stack;
			uint64_t addresses[FRAMES];
		} sched;
	};
	size_t len; /* of the row */
	uint64_t time;
	uint32_t seed;
	unsigned int i;
};

typedef void fill_fn(struct source *source);

static void fill_syscall(struct source *source)
{
	uint64_t duration = 80 + next_random(&source->seed) % 120;

	source->time += 250 + next_random(&source->seed) % 150;
	source->syscall = (struct ebt_wire_syscall){
		.head = { .time = source->time + duration,
			  .table = EBT_T_syscall,
			  .len = sizeof(source->syscall) },
		.cpu = 1,
		.task = 4711,
		.nr = source->i % 2,
		.duration = duration,
		.ret = 1,
		.arg0 = source->i % 2,
		.arg1 = 0x55d0c8a0f000,
		.arg2 = 1,
	};
	source->len = sizeof(source->syscall);
	source->i++;
}

/* 40 tasks, 300 stacks, and batches of two CPUs' rings one after the other. */
static void fill_sched(struct source *source)
{
	uint32_t r = next_random(&source->seed), stack = r % 300;
	unsigned int cpu = source->i / 64 % 2;

	if (source->i % 128 == 64)
		source->time -= 64 * 1500;
	source->time += 1000 + r % 1000;
	source->sched.row = (struct ebt_wire_sched_switch){
		.head = { .time = source->time,
			  .table = EBT_T_sched_switch,
			  .len = sizeof(source->sched) },
		.cpu = cpu,
		.prev = 1000 + (r >> 8) % 40,
		.next = 1000 + (r >> 16) % 40,
		.prev_state = 1,
		.kstack = { offsetof(__typeof__(source->sched), stack),
			    sizeof(source->sched) - offsetof(__typeof__(source->sched), stack) },
	};
	source->sched.stack = (struct ebt_wire_stack){ 0, FRAMES };
	for (unsigned int i = 0; i < FRAMES; i++)
		source->sched.addresses[i] = 0xffffffff81000000 + (i < 6 ? stack : i) * 4096 + i;
	source->len = sizeof(source->sched);
	source->i++;
}

static uint64_t measure_fill(fill_fn *fill, unsigned int rows)
{
	struct source source = { .seed = 1, .time = 1000000000 };
	uint64_t begin = cpu_ns();

	for (unsigned int i = 0; i < rows; i++) {
		fill(&source);
		__asm__ volatile("" : : "r"(&source) : "memory");
	}
	return cpu_ns() - begin;
}

static struct ebt_error *run(const char *name, fill_fn *fill, int fd, unsigned int rows)
{
	struct ebt_writer_options options = { .fd = fd, .name = "bench" };
	struct source source = { .seed = 1, .time = 1000000000 };
	uint64_t fill_ns = measure_fill(fill, rows), begin = cpu_ns();
	struct ebt_writer_stats stats;
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	struct ebt_error *err;

	err = ebt_writer_create(&options, &writer);
	if (err)
		return err;
	err = ebt_writer_add_stream(writer, &stream);
	for (unsigned int i = 0; !err && i < rows; i++) {
		fill(&source);
		err = ebt_stream_add(stream, &source, source.len);
	}
	if (!err)
		err = ebt_writer_finish(writer);
	ebt_writer_stats(writer, &stats);
	printf("%s: %.1f ns and %.2f bytes a row, %llu chunks\n", name,
	       (double)(cpu_ns() - begin - fill_ns) / rows, (double)stats.bytes / rows,
	       (unsigned long long)stats.chunks);
	ebt_writer_destroy(writer);
	return err;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/dev/null";
	unsigned int rows = argc > 2 ? (unsigned int)atoi(argv[2]) : 4000000;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int null = open("/dev/null", O_WRONLY);
	_cleanup_error_ struct ebt_error *err = NULL;

	if (fd < 0) {
		perror(path);
		return 1;
	}
	err = run("sched_switch", fill_sched, null, rows);
	if (!err)
		err = run("syscall", fill_syscall, fd, rows);
	if (err)
		fprintf(stderr, "%s\n", err->message);
	return err ? 1 : 0;
}
