/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens, parts of paths that may stay, and the list of what is done with each field. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/share/scrub.h"
#include "report/share/scrub_rules.h"
#include "report/share/scrub_text.h"
#include "tests/tools/by_hand.h"
#include "tests/tools/make_trace.h"

/* The vectors of the paper on SipHash: key 00 01 … 0f, input 00 01 … */
static void hash_of_the_paper(void **state)
{
	const struct scrub_key key = { { UINT64_C(0x0706050403020100),
					 UINT64_C(0x0f0e0d0c0b0a0908) } };
	unsigned char input[16];

	(void)state;
	for (unsigned int i = 0; i < sizeof(input); i++)
		input[i] = (unsigned char)i;
	assert_true(scrub_hash(&key, input, 15) == UINT64_C(0xa129ca6149be45e5));
	assert_true(scrub_hash(&key, input, 0) == UINT64_C(0x726fdb47dd0e0e31));
	assert_true(scrub_hash(&key, input, 8) == UINT64_C(0x93f5f5799a932462));
}

static const struct scrub_key key = { { 1, 2 } };

static struct ebt_str str(const char *s)
{
	return (struct ebt_str){ s, strlen(s) };
}

/* `#` in the pattern is a token. */
static void assert_like(const char *have, const char *pattern)
{
	const char *h = have, *p = pattern;

	for (; *p; p++) {
		if (*p != '#') {
			if (*h != *p)
				fail_msg("'%s' is not like '%s'", have, pattern);
			h++;
			continue;
		}
		if (*h != '~' || strspn(h + 1, "0123456789abcdef") < 12)
			fail_msg("'%s' is not like '%s'", have, pattern);
		h += 13;
	}
	if (*h)
		fail_msg("'%s' is not like '%s'", have, pattern);
}

static void paths(void **state)
{
	static const struct {
		const char *path, *like;
	} cases[] = {
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6" },
		{ "/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2" },
		{ "/usr/bin/gone (deleted)", "/usr/bin/gone (deleted)" },
		{ "[vdso]", "[vdso]" },
		{ "//anon", "//anon" },
		{ "/", "/" },
		{ "", "" },
		{ "/home/alice/secret/a.out", "/home/#/#/#" },
		{ "/home/alice/secret/a.out (deleted)", "/home/#/#/# (deleted)" },
		{ "/usr/local/bin/tool", "/usr/local/bin/#" },
		{ "/usr/src/linux/x.c", "/usr/src/#/#" },
		{ "/usr/lib/../../home/alice", "/usr/lib/../../home/#" },
		{ "/usr", "/usr" },
		{ "/usrsecret", "/#" },
		{ "/proc/self/root/home/alice", "/proc/self/root/home/#" },
		{ "./malloc/malloc.c", "./#/#" },
		{ "secret.c", "#" },
		{ "/memfd:secret (deleted)", "/memfd:# (deleted)" },
		{ "/SYSV0badcafe (deleted)", "/SYSV# (deleted)" },
		{ "[anon:secret]", "[anon:#" },
		{ "[secret]", "#" },
		{ "/tmp//x/", "/tmp//#/" },
		{ " (deleted) (deleted) (deleted)", "# (deleted)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		scrub_path(&key, str(cases[i].path), true, &text);
		assert_null(text_error(&text));
		assert_like(text_get(&text), cases[i].like);
	}
}

static void system_paths_too(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	(void)state;
	scrub_path(&key, str("/usr/lib/libsecret.so"), false, &text);
	assert_like(text_get(&text), "/usr/lib/#");
}

static void control_groups(void **state)
{
	static const struct {
		const char *text, *like;
	} cases[] = {
		{ "0::/\n", "0::/\n" },
		{ "0::/user.slice/user-1000.slice/session-3.scope\n",
		  "0::/user.slice/#.slice/#.scope\n" },
		{ "0::/system.slice/docker-0123.scope", "0::/system.slice/#.scope" },
		{ "4:cpu,cpuacct:/secret\n0::/secret\n", "4:cpu,cpuacct:/#\n0::/#\n" },
		{ "1:name=secret:/x\n", "0::/#\n" },
		{ "/sys/fs/cgroup/secret:a:b", "/sys/fs/cgroup/#" },
		{ "secret:a:b", "#" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;

		scrub_cgroup(&key, str(cases[i].text), &text);
		assert_like(text_get(&text), cases[i].like);
	}
}

static void one_word_one_token(void **state)
{
	_cleanup_text_ struct text a = TEXT_INIT, b = TEXT_INIT, c = TEXT_INIT;
	struct scrub_key one, other;

	(void)state;
	assert_null(scrub_key_make(&one));
	assert_null(scrub_key_make(&other));
	scrub_path(&one, str("/alice/alice"), true, &a);
	assert_int_equal(strlen(text_get(&a)), 2 * 14);
	assert_memory_equal(text_get(&a), text_get(&a) + 14, 14);
	scrub_token(&one, str("alice"), &b);
	assert_memory_equal(text_get(&a) + 1, text_get(&b), 13);
	scrub_token(&other, str("alice"), &c);
	assert_string_not_equal(text_get(&b), text_get(&c));
}

/* The other way round the compiler checks: every field that can say something is there. */
static void list_has_only_fields(void **state)
{
	const char *table, *field;

	(void)state;
	for (size_t i = 0; (table = scrub_listed(i, &field)); i++) {
		const struct ebt_table *t = ebt_table_by_name(table);

		if (!t || ebt_field_by_name(t, field) < 0)
			fail_msg("scrub.def: there is no %s.%s", table, field);
	}
}

static void fields_of_another_version_go(void **state)
{
	const struct ebt_field field = { .id = 99, .type = EBT_TYPE_STRING, .name = "future" };
	bool known = true;

	(void)state;
	assert_int_equal(scrub_field_action("mmap", &field), SCRUB_DROP);
	scrub_meta_action(str("future.key"), &known);
	assert_false(known);
	assert_int_equal(scrub_meta_action(str("host.name"), &known), SCRUB_HOST);
	assert_true(known);
}

/* A table and a field of a later version, with text that nobody here can judge. */
static void unknown_tables_go(void **state)
{
	static const struct schema_row rows[] = {
		{ 999, 1, EBT_CLASS_EVENT, EBT_TYPE_TIME, "future", "time" },
		{ 999, 2, EBT_CLASS_EVENT, EBT_TYPE_STRING, "future", "text" },
		{ EBT_T_source, 1, EBT_CLASS_META, EBT_TYPE_TIME, "source", "time" },
		{ EBT_T_source, 99, EBT_CLASS_META, EBT_TYPE_STRING, "source", "text" },
	};
	static const struct scrub_options scrub_options = { 0 };
	char *from_path = make_temporary_path("from.ebt"), *to_path = make_temporary_path("to.ebt");
	struct ebt_copy_options options = {
		.name = "copy",
		.anew = true,
		.action = scrub_action,
		.edit = scrub_edit,
	};
	const struct scrub_count *counts;
	struct by_hand hand = { 0 };
	struct ebt_reader *from, *to;
	struct ebt_cursor *cursor;
	struct scrub *scrub;
	struct ebt_row row;
	size_t n;

	(void)state;
	hand_begin(&hand);
	hand_schema(&hand, rows, 4);
	hand_strings(&hand, "hidden", 7);
	hand_column(&hand, 1, "\1", 1);
	hand_column(&hand, 2, "\1", 1);
	hand_chunk(&hand, 999, 1);
	hand_strings(&hand, "hidden", 7);
	hand_column(&hand, 1, "\1", 1);
	hand_column(&hand, 4, "\1", 1);
	hand_column(&hand, 99, "\1", 1);
	hand_chunk(&hand, EBT_T_source, 1);
	assert_no_error(hand_open(&hand, from_path, &from));

	assert_no_error(scrub_create(from, &scrub_options, &scrub));
	options.arg = scrub;
	options.fd = open(to_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(options.fd >= 0);
	assert_no_error(ebt_copy(from, &options));
	close(options.fd);
	assert_int_equal(scrub_unknown(scrub), 1);
	assert_no_error(scrub_counts(scrub, &counts, &n));
	assert_int_equal(n, 1);
	assert_string_equal(counts[0].field, "(unknown)");
	assert_no_error(ebt_reader_open(to_path, &to));
	assert_null(ebt_reader_table(to, 999));
	row = first_row(to, EBT_T_source, &cursor);
	assert_non_null(row.batch);
	assert_int_equal(row.batch->table->n_fields, EBT_N_source);
	assert_memory_equal(ebt_source_name(&row).data, "hidden", 6);
	ebt_cursor_destroy(cursor);
	scrub_destroy(scrub);
	ebt_reader_close(to);
	ebt_reader_close(from);
	free_temporary_path(from_path);
	free_temporary_path(to_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_of_the_paper),
		cmocka_unit_test(paths),
		cmocka_unit_test(system_paths_too),
		cmocka_unit_test(control_groups),
		cmocka_unit_test(one_word_one_token),
		cmocka_unit_test(list_has_only_fields),
		cmocka_unit_test(fields_of_another_version_go),
		cmocka_unit_test(unknown_tables_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
