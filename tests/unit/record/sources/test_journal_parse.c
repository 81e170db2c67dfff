/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal's export format: in pieces of any size, with fields of any kind, and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>

#include "record/sources/journal_parse.h"

#define MUTATIONS 20000u

/* As systemd's JOURNAL_EXPORT_FORMATS describes it. */
#define BINARY_5 "\5\0\0\0\0\0\0\0"
static const char stream[] = "__CURSOR=s=1;i=2\n"
			     "__REALTIME_TIMESTAMP=1423944916375353\n"
			     "__MONOTONIC_TIMESTAMP=42\n"
			     "_BOOT_ID=0123456789abcdef0123456789abcdef\n"
			     "PRIORITY=3\n"
			     "SYSLOG_IDENTIFIER=first\n"
			     "SYSLOG_IDENTIFIER=a=b\n"
			     "A_FIELD_WITH_A_NAME_THAT_IS_LONGER_THAN_ANY_OF_OURS=x\n"
			     "MESSAGE=one line\n"
			     "\n"
			     "\n"
			     "MESSAGE\n" BINARY_5 "a\nb\0\n\n"
			     "OTHER\n" BINARY_5 "c=\n\nd\n"
			     "PRIORITY=12345678901234567890\n"
			     "_PID=77\n"
			     "\n"
			     "MESSAGE=not complete";

struct seen {
	unsigned int entries;
	size_t longest;
};

static bool is(const struct journal_parser *p, enum journal_field field, const char *text,
	       size_t len)
{
	struct journal_text t = journal_text(p, field);

	return t.len == len && !memcmp(t.data, text, len) && !t.cut;
}

static struct ebt_error *check_entry(void *arg, const struct journal_parser *p)
{
	struct seen *seen = arg;
	uint64_t n;

	if (seen->entries++ == 0) {
		assert_true(is(p, JOURNAL_CURSOR, "s=1;i=2", 7));
		assert_true(journal_number(p, JOURNAL_REALTIME, &n));
		assert_int_equal(n, 1423944916375353);
		assert_true(is(p, JOURNAL_IDENTIFIER, "a=b", 3));
		assert_true(is(p, JOURNAL_MESSAGE_TEXT, "one line", 8));
		assert_true(is(p, JOURNAL_UNIT, "", 0));
		assert_false(journal_number(p, JOURNAL_PID, &n));
		return NULL;
	}
	assert_true(is(p, JOURNAL_MESSAGE_TEXT, "a\nb\0\n", 5));
	assert_true(is(p, JOURNAL_CURSOR, "", 0));
	assert_false(journal_number(p, JOURNAL_PRIORITY, &n));
	assert_true(journal_number(p, JOURNAL_PID, &n));
	assert_int_equal(n, 77);
	return NULL;
}

static struct ebt_error *count_entry(void *arg, const struct journal_parser *p)
{
	struct seen *seen = arg;

	seen->entries++;
	for (int i = 0; i < JOURNAL_N_FIELDS; i++) {
		struct journal_text t = journal_text(p, (enum journal_field)i);
		size_t room = i == JOURNAL_MESSAGE_TEXT ? JOURNAL_MESSAGE : JOURNAL_SHORT;

		assert_true(t.len <= room);
		assert_true(!t.cut || t.len == room);
		if (t.len > seen->longest)
			seen->longest = t.len;
	}
	return NULL;
}

static void parse(struct journal_parser *p, const char *data, size_t len, size_t piece)
{
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		/* A copy of its own, so that a read behind it is seen. */
		char *copy = malloc(n);

		assert_non_null(copy);
		memcpy(copy, data + at, n);
		assert_null(journal_parse(p, copy, n));
		free(copy);
	}
}

static void test_pieces(void **state)
{
	(void)state;
	for (size_t piece = 1; piece <= sizeof(stream); piece++) {
		struct seen seen = { 0 };
		struct journal_parser *p;

		assert_null(journal_parser_create(check_entry, &seen, &p));
		parse(p, stream, sizeof(stream) - 1, piece);
		assert_int_equal(seen.entries, 2);
		journal_parser_destroy(p);
	}
}

static void test_long(void **state)
{
	static char text[JOURNAL_MESSAGE + 1000];
	struct seen seen = { 0 };
	struct journal_parser *p;

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_null(journal_parser_create(count_entry, &seen, &p));
	parse(p, "MESSAGE=", 8, 8);
	parse(p, text, sizeof(text), 100);
	parse(p, "\nPRIORITY=", 10, 10);
	parse(p, text, sizeof(text), 4096);
	parse(p, "\n\n", 2, 1);
	assert_int_equal(seen.entries, 1);
	assert_int_equal(seen.longest, JOURNAL_MESSAGE);
	/* What has been begun is forgotten. */
	parse(p, "PRIORITY\n\xff\xff\xff\xff\xff\xff\xff\xff", 17, 17);
	journal_parser_reset(p);
	parse(p, "PRIORITY=1\n\n", 12, 12);
	assert_int_equal(seen.entries, 2);
	journal_parser_destroy(p);
}

static void test_mutated(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (unsigned int i = 0; i < MUTATIONS; i++) {
		struct seen seen = { 0 };
		struct journal_parser *p;
		char data[sizeof(stream)];

		memcpy(data, stream, sizeof(stream));
		for (unsigned int changes = 1 + (unsigned int)rand_r(&seed) % 4; changes; changes--)
			data[(unsigned int)rand_r(&seed) % sizeof(data)] = (char)rand_r(&seed);
		assert_null(journal_parser_create(count_entry, &seen, &p));
		parse(p, data, sizeof(data), 1 + (size_t)rand_r(&seed) % sizeof(data));
		journal_parser_destroy(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_mutated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
