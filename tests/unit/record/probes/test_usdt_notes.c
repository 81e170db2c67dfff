/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The marks of this program itself, and of copies of it that are made to mislead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "include/ebmark.h"
#include "record/base/identity.h"
#include "record/probes/mark_sites.h"
#include "record/probes/usdt_notes.h"

#define MUTATIONS 20000u

struct seen {
	int fd;
	uint64_t size, semaphore;
	unsigned int n;
};

/* Never called. What it says is in the notes. */
void says_everything(const char *text);

__attribute__((noinline, used)) void says_everything(const char *text)
{
	ebmark_begin("g", text);
	ebmark_end("g", text);
	ebmark_instant("g", text, text);
	ebmark_span("g", text, 1, 2, text);
	ebmark_counter("g", text, 1);
	ebmark_counter_double("g", text, 1.0);
	ebmark_log(EBMARK_INFO, text, text);
}

static int copy_of_self(uint64_t *size)
{
	int self = open("/proc/self/exe", O_RDONLY), fd = memfd_create("usdt", MFD_CLOEXEC);
	char buffer[65536];
	ssize_t n;

	assert_true(self >= 0 && fd >= 0);
	*size = 0;
	while ((n = read(self, buffer, sizeof(buffer))) > 0) {
		assert_int_equal(write(fd, buffer, (size_t)n), n);
		*size += (uint64_t)n;
	}
	close(self);
	return fd;
}

static struct ebt_error *look(void *arg, const struct usdt_note *note)
{
	struct seen *seen = arg;
	unsigned char nop[4] = { 0 };

	if (strcmp(note->provider, "ebmark"))
		return NULL;
	assert_int_equal(pread(seen->fd, nop, sizeof(nop), (off_t)note->offset), sizeof(nop));
#ifdef __x86_64__
	assert_int_equal(nop[0], 0x90);
#else
	assert_memory_equal(nop, "\x1f\x20\x03\xd5", 4);
#endif
	if (seen->semaphore)
		assert_int_equal(note->semaphore, seen->semaphore);
	seen->semaphore = note->semaphore;
	seen->n++;
	return NULL;
}

static void test_self(void **state)
{
	struct probe_sites sites = { 0 };
	struct elfparts parts;
	struct seen seen = { 0 };
	size_t unknown = 1;
	int kinds = 0;

	(void)state;
	seen.fd = copy_of_self(&seen.size);
	assert_true(elfparts_read(seen.fd, &parts));
	assert_null(usdt_notes_each(seen.fd, &parts, look, &seen));
	assert_int_equal(seen.n, 7);
	assert_true(seen.semaphore > 0);
	assert_null(mark_sites_find(seen.fd, &parts, &sites, &unknown));
	assert_int_equal(sites.n, 7);
	assert_int_equal(unknown, 0);
	for (size_t i = 0; i < sites.n; i++)
		kinds |= 1 << sites.cookies[i];
	assert_int_equal(kinds, 0x7f);
	probe_sites_deinit(&sites);
	close(seen.fd);
}

static struct ebt_error *check(void *arg, const struct usdt_note *note)
{
	const struct seen *seen = arg;

	/* Strings that end, and places that a file may have. */
	assert_true(strlen(note->provider) + strlen(note->name) + strlen(note->args) < seen->size);
	assert_true(note->offset > 0);
	return NULL;
}

static void mutate(int fd, const struct elfparts *parts, uint64_t size)
{
	const uint64_t headers = size > 4096 ? size - 4096 : 0; /* those of sections come last */
	const struct {
		uint64_t at, len;
	} areas[] = { { 0, 512 },
		      { headers, size - headers },
		      { parts->stapsdt.offset, parts->stapsdt.len } };
	const size_t area = (size_t)rand() % 3;
	const uint64_t at = areas[area].at + (uint64_t)rand() % areas[area].len;
	const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff, (unsigned char)rand() };
	unsigned char bytes[8];

	memset(bytes, values[rand() % 6], sizeof(bytes));
	assert_true(pwrite(fd, bytes, 1u << rand() % 4, (off_t)at) > 0);
}

static void test_hostile(void **state)
{
	struct seen seen = { 0 };
	struct elfparts whole, parts;
	unsigned char *content;
	unsigned int found = 0;

	(void)state;
	seen.fd = copy_of_self(&seen.size);
	content = malloc(seen.size);
	assert_non_null(content);
	assert_int_equal(pread(seen.fd, content, seen.size, 0), seen.size);
	assert_true(elfparts_read(seen.fd, &whole));
	srand(1);
	for (unsigned int i = 0; i < MUTATIONS; i++) {
		struct probe_sites sites = { 0 };
		size_t unknown;

		/* Up to eight changes at once. */
		if (!(i % 8))
			assert_int_equal(pwrite(seen.fd, content, seen.size, 0), seen.size);
		mutate(seen.fd, &whole, seen.size);
		if (!elfparts_read(seen.fd, &parts))
			continue;
		assert_null(usdt_notes_each(seen.fd, &parts, check, &seen));
		assert_null(mark_sites_find(seen.fd, &parts, &sites, &unknown));
		found += sites.n > 0;
		probe_sites_deinit(&sites);
	}
	assert_true(found > MUTATIONS / 8);
	free(content);
	close(seen.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
