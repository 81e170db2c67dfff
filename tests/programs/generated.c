/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that is made at run time and named in one of several ways; it burns CPU time. Arguments:
 *
 *	dump DIR		as a jitdump file in DIR: two functions at one address one after the
 *				other, and one that is moved, a third of the time each
 *	map NAME		in /tmp/perf-PID.map
 *	deleted NAME		the same, and the map is gone before the end
 *	foreign NAME		the same, but the map belongs to somebody else
 *	after FILE NAME		the same, behind the content of the file
 *	forked NAME		in a child
 *	nameless		in none
 *
 * Prints a line when it begins to burn. With the last argument `wait` it does so until it is
 *killed.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AREA  65536
#define CALLS 200000

#if defined(__x86_64__)
#define MACHINE 62
/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; 1: dec %rax; jnz 1b; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
				      0x48, 0xff, 0xc8, 0x75, 0xfb, 0x5d, 0xc3 };
#elif defined(__aarch64__)
#define MACHINE 183
/* stp x29, x30, [sp, #-16]!; mov x29, sp; 1: subs x0, x0, #1; b.ne 1b; ldp x29, x30, [sp], #16; ret
 */
static const unsigned char code[] = { 0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91,
				      0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff, 0xff, 0x54,
				      0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6 };
#else
#error "code for this machine is missing"
#endif

#define CHECK(good)                                    \
	do {                                           \
		if (!(good)) {                         \
			perror("generated.c: " #good); \
			exit(1);                       \
		}                                      \
	} while (0)

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static unsigned char *area(void)
{
	unsigned char *p = mmap(NULL, AREA, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void put_code(unsigned char *at)
{
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(code));
}

/* Calls the code for 0.4 s of CPU time, or for ever. */
static void burn(const unsigned char *at, int for_ever)
{
	void (*function)(uint64_t) = (void (*)(uint64_t))(uintptr_t)at;
	uint64_t begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	puts("burning");
	fflush(stdout);
	while (for_ever || clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin < 400000000)
		function(CALLS);
}

/* --- jitdump, by tools/perf/Documentation/jitdump-specification.txt --- */

struct record {
	uint32_t id, size;
	uint64_t time;
};

static void write_header(FILE *f)
{
	const struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} header = { 0x4a695444, 1, sizeof(header), MACHINE, 0, getpid(), clock_ns(CLOCK_MONOTONIC),
		     0 };

	CHECK(fwrite(&header, sizeof(header), 1, f) == 1);
}

static void write_load(FILE *f, uint64_t number, const unsigned char *at, const char *name)
{
	const struct {
		struct record head;
		uint32_t pid, tid;
		uint64_t vma, address, size, number;
	} load = { { 0, sizeof(load) + strlen(name) + 1 + sizeof(code), clock_ns(CLOCK_MONOTONIC) },
		   getpid(),
		   getpid(),
		   (uintptr_t)at,
		   (uintptr_t)at,
		   sizeof(code),
		   number };

	CHECK(fwrite(&load, sizeof(load), 1, f) == 1);
	CHECK(fwrite(name, strlen(name) + 1, 1, f) == 1);
	CHECK(fwrite(code, sizeof(code), 1, f) == 1);
	fflush(f);
}

static void write_line(FILE *f, const unsigned char *at, uint32_t line, const char *file)
{
	const struct {
		struct record head;
		uint64_t address, n, line_address;
		uint32_t line, discriminator;
	} debug = { { 2, sizeof(debug) + strlen(file) + 1, clock_ns(CLOCK_MONOTONIC) },
		    (uintptr_t)at,
		    1,
		    (uintptr_t)at,
		    line,
		    0 };

	CHECK(fwrite(&debug, sizeof(debug), 1, f) == 1);
	CHECK(fwrite(file, strlen(file) + 1, 1, f) == 1);
}

static void write_move(FILE *f, uint64_t number, const unsigned char *from, const unsigned char *to)
{
	const struct {
		struct record head;
		uint32_t pid, tid;
		uint64_t vma, from, to, size, number;
	} move = { { 1, sizeof(move), clock_ns(CLOCK_MONOTONIC) },
		   getpid(),
		   getpid(),
		   (uintptr_t)to,
		   (uintptr_t)from,
		   (uintptr_t)to,
		   sizeof(code),
		   number };

	CHECK(fwrite(&move, sizeof(move), 1, f) == 1);
	fflush(f);
}

static void dump(const char *folder, int for_ever)
{
	unsigned char *p = area();
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, getpid());
	f = fopen(path, "w+e");
	CHECK(f);
	write_header(f);
	fflush(f);
	/* This tells profilers. */
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) != MAP_FAILED);
	put_code(p);
	write_line(f, p, 42, "/source/first.lang");
	write_load(f, 1, p, "generated_first");
	burn(p, 0);
	put_code(p);
	write_load(f, 2, p, "generated_second");
	burn(p, 0);
	/* What is moved over the second one has that for its old place. */
	put_code(p + 4096);
	write_load(f, 3, p + 4096, "generated_moved");
	put_code(p);
	write_move(f, 3, p + 4096, p);
	burn(p, for_ever);
	unlink(path);
}

/* --- perf maps --- */

static void copy(const char *path, FILE *to)
{
	FILE *from = fopen(path, "re");
	char buffer[65536];
	size_t n;

	CHECK(from);
	while ((n = fread(buffer, 1, sizeof(buffer), from)) > 0)
		CHECK(fwrite(buffer, 1, n, to) == n);
	fclose(from);
}

static void map(const char *mode, const char *file, const char *name, int for_ever)
{
	const int foreign = !strcmp(mode, "foreign");
	unsigned char *p = area();
	char path[64], made[80];
	FILE *f;

	put_code(p);
	if (!strcmp(mode, "forked")) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child) {
			burn(p, for_ever);
			_exit(0);
		}
	}
	/* The libc's getpid() may be that of a parent in another namespace. */
	snprintf(path, sizeof(path), "/tmp/perf-%ld.map", syscall(SYS_getpid));
	/* Never there as one's own. */
	snprintf(made, sizeof(made), "%s%s", path, foreign ? ".made" : "");
	f = fopen(made, "we");
	CHECK(f);
	if (file)
		copy(file, f);
	fprintf(f, "%lx %zx %s\n", (unsigned long)(uintptr_t)p, sizeof(code), name);
	fflush(f);
	if (foreign)
		CHECK(!fchown(fileno(f), 4321, 4321) && !rename(made, path));
	if (strcmp(mode, "forked"))
		burn(p, for_ever);
	else
		wait(NULL);
	if (!strcmp(mode, "deleted"))
		unlink(path);
}

int main(int argc, char **argv)
{
	int for_ever = argc > 2 && !strcmp(argv[argc - 1], "wait");
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned char *p;

	argc -= for_ever;
	if (!strcmp(mode, "dump") && argc == 3) {
		dump(argv[2], for_ever);
	} else if (!strcmp(mode, "after") && argc == 4) {
		map(mode, argv[2], argv[3], for_ever);
	} else if (!strcmp(mode, "nameless") && argc == 2) {
		put_code(p = area());
		burn(p, for_ever);
	} else if (argc == 3) {
		map(mode, NULL, argv[2], for_ever);
	} else {
		fprintf(stderr, "usage: see generated.c\n");
		return 2;
	}
	return 0;
}
