/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks of ebmark.h, and what the program itself knows of them, on standard output.
 *
 *	marks timed N          N instants; for each the clock before and after, 16 bytes of binary
 *	marks kinds FILE       one of each kind, and texts that are long, missing or hard to read;
 *	                       FILE is what a page that nobody has touched is mapped from
 *	marks threads N        four threads with N pairs each, that lie within others, and N pairs
 *	                       that one thread begins and the next one ends
 *	marks waits N          as `timed`, after a line came in, then again after a second one
 *	marks late PLUGIN N    maps PLUGIN after a line came in, then runs N marks of it after
 *	                       a second one
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ebmark.h"

#define THREADS 4
#define PAGE	4096

static int n;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void timed(const char *name)
{
	uint64_t(*times)[2] = calloc((size_t)n, sizeof(*times));
	char text[16];

	if (!times)
		abort();
	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%d", i);
		times[i][0] = now();
		ebmark_instant("timed", name, text);
		times[i][1] = now();
	}
	fwrite(times, sizeof(*times), (size_t)n, stdout);
	fflush(stdout);
	free(times);
}

/* --- kinds --- */

/* Texts that somebody has to bring in: the second one goes on in another page. */
static void untouched(const char *path)
{
	int fd = open(path, O_RDONLY);
	const char *pages =
		fd < 0 ? MAP_FAILED : mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	if (pages == MAP_FAILED)
		abort();
	madvise((void *)(uintptr_t)pages, 4 * PAGE, MADV_RANDOM);
	ebmark_instant("texts", "untouched", pages);
	ebmark_instant("texts", "untouched twice", pages + 3 * PAGE - 4);
	close(fd);
}

static void texts(const char *path)
{
	const char *const nothing = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[3001];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 26);
	text[3000] = '\0';
	ebmark_instant(text, text, text);
	ebmark_log(EBMARK_DEBUG, text, text);
	text[63] = '\0';
	ebmark_instant(text, "63", "");
	/* The place where it is cut is inside of a character. */
	for (size_t i = 0; i < 100; i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	text[100] = '\0';
	ebmark_instant(text, "umlauts", "");
	ebmark_instant(NULL, NULL, NULL);
	ebmark_instant("texts", "unreadable", nothing);
	ebmark_instant("texts", "no address", (const char *)(uintptr_t)1);
	ebmark_log(EBMARK_INFO, nothing, nothing);
	untouched(path);
}

static void kinds(const char *path)
{
	uint64_t start = now(), end;

	ebmark_begin("kinds", "pair");
	ebmark_begin("kinds", "within");
	ebmark_end("kinds", "within");
	ebmark_end("kinds", "pair", "said at the end");
	ebmark_begin_id("kinds", "keyed", 0xfeedfacecafebeefu);
	ebmark_end_id("kinds", "keyed", 0xfeedfacecafebeefu);
	ebmark_begin_id("kinds", "keyed", 2);
	ebmark_end_id("kinds", "keyed", 2, "with words");
	end = now();
	ebmark_span("kinds", "span", start, end, "timed by itself");
	ebmark_span("kinds", "backwards", end, start, "");
	ebmark_counter("numbers", "least", INT64_MIN);
	ebmark_counter("numbers", "most", INT64_MAX);
	ebmark_counter_double("numbers", "pi", 3.141592653589793);
	ebmark_counter_double("numbers", "minus zero", -0.0);
	ebmark_log(EBMARK_EMERGENCY, "domain", "the worst");
	ebmark_log(EBMARK_WARNING, "domain", "line with \"quotes\"");
	texts(path);
	printf("%llu %llu %d\n", (unsigned long long)start, (unsigned long long)end,
	       ebmark_enabled());
}

/* --- threads --- */

static pthread_barrier_t barrier;

static void *thread(void *arg)
{
	const uint64_t me = (uint64_t)(uintptr_t)arg;
	char name[16];

	snprintf(name, sizeof(name), "thread %d", (int)me);
	for (int i = 0; i < n; i++) {
		ebmark_begin("threads", name);
		ebmark_begin("threads", "inner");
		ebmark_end("threads", "inner");
		ebmark_end("threads", name);
	}
	for (int i = 0; i < n; i++)
		ebmark_begin_id("handed on", "work", me * (uint64_t)n + (uint64_t)i + 1);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < n; i++)
		ebmark_end_id("handed on", "work",
			      (me + 1) % THREADS * (uint64_t)n + (uint64_t)i + 1);
	return NULL;
}

static void threads(void)
{
	pthread_t ids[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, thread, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
}

/* --- others --- */

static void line(void)
{
	char text[16];

	if (!fgets(text, sizeof(text), stdin))
		exit(1);
}

static void late(const char *path)
{
	void *plugin;
	void (*run)(int times, const char *name);

	line();
	plugin = dlopen(path, RTLD_NOW);
	if (!plugin)
		exit(1);
	run = (void (*)(int, const char *))(uintptr_t)dlsym(plugin, "marks_plugin");
	run(n, "early");
	printf("loaded\n");
	fflush(stdout);
	line();
	run(n, "attached");
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	n = atoi(argv[argc - 1]);
	if (!strcmp(what, "timed")) {
		timed("tick");
	} else if (!strcmp(what, "kinds")) {
		kinds(argv[2]);
	} else if (!strcmp(what, "threads")) {
		threads();
	} else if (!strcmp(what, "waits")) {
		line();
		timed("first");
		line();
		timed("second");
	} else if (!strcmp(what, "late")) {
		late(argv[2]);
	} else {
		return 2;
	}
	return 0;
}
