/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aliases, parts of paths that may stay, and the list of what is done with each field. */
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

static struct ebt_str str(const char *s)
{
	return (struct ebt_str){ s, strlen(s) };
}

static struct scrub_names *new_names(void)
{
	struct scrub_names *names;

	assert_null(scrub_names_create(SCRUB_MOST_WORDS, &names));
	return names;
}

static void paths(void **state)
{
	static const struct {
		const char *path, *becomes;
	} cases[] = {
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6" },
		{ "/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2" },
		{ "/usr/bin/gone (deleted)", "/usr/bin/gone (deleted)" },
		{ "[vdso]", "[vdso]" },
		{ "//anon", "//anon" },
		{ "/", "/" },
		{ "", "" },
		{ "/home/alice/secret/a.out", "/home/dir-1/dir-2/file-1" },
		{ "/home/alice/secret/a.out (deleted)", "/home/dir-1/dir-2/file-1 (deleted)" },
		{ "/usr/local/bin/tool", "/usr/local/bin/file-1" },
		{ "/usr/src/linux/x.c", "/usr/src/dir-1/file-1" },
		{ "/usr/lib/../../home/alice", "/usr/lib/../../home/file-1" },
		{ "/usr", "/usr" },
		{ "/usrsecret", "/file-1" },
		{ "/proc/self/root/home/alice", "/proc/self/root/home/file-1" },
		{ "./malloc/malloc.c", "./dir-1/file-1" },
		{ "secret.c", "file-1" },
		{ "/memfd:secret (deleted)", "/memfd:file-1 (deleted)" },
		{ "/SYSV0badcafe (deleted)", "/SYSVfile-1 (deleted)" },
		{ "[anon:secret]", "[anon:file-1" },
		{ "[secret]", "file-1" },
		{ "/tmp//x/", "/tmp//dir-1/" },
		{ " (deleted) (deleted) (deleted)", "file-1 (deleted)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;
		struct scrub_names *names = new_names();

		scrub_path(names, str(cases[i].path), true, &text);
		assert_null(text_error(&text));
		assert_string_equal(text_get(&text), cases[i].becomes);
		scrub_names_destroy(names);
	}
}

static void system_paths_too(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct scrub_names *names = new_names();

	(void)state;
	scrub_path(names, str("/usr/lib/libsecret.so"), false, &text);
	assert_string_equal(text_get(&text), "/usr/lib/file-1");
	scrub_names_destroy(names);
}

static void control_groups(void **state)
{
	static const struct {
		const char *text, *becomes;
	} cases[] = {
		{ "0::/\n", "0::/\n" },
		{ "0::/user.slice/user-1000.slice/session-3.scope\n",
		  "0::/user.slice/cgroup-1.slice/cgroup-2.scope\n" },
		{ "0::/system.slice/docker-0123.scope", "0::/system.slice/cgroup-1.scope" },
		{ "4:cpu,cpuacct:/secret\n0::/secret\n",
		  "4:cpu,cpuacct:/cgroup-1\n0::/cgroup-1\n" },
		{ "1:name=secret:/x\n", "0::/cgroup-1\n" },
		{ "/sys/fs/cgroup/secret:a:b", "/sys/fs/cgroup/cgroup-1" },
		{ "secret:a:b", "cgroup-1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;
		struct scrub_names *names = new_names();

		scrub_cgroup(names, str(cases[i].text), &text);
		assert_string_equal(text_get(&text), cases[i].becomes);
		scrub_names_destroy(names);
	}
}

/* The kind is that of the first place, and the number that of the kind. */
static void one_word_one_alias(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct scrub_names *names = new_names();

	(void)state;
	scrub_path(names, str("/alice/bob/alice"), true, &text);
	scrub_alias(names, SCRUB_USER_NAME, str("bob"), &text);
	scrub_alias(names, SCRUB_USER_NAME, str("carol"), &text);
	scrub_alias(names, SCRUB_USER_NAME, str(""), &text);
	assert_string_equal(text_get(&text), "/dir-1/dir-2/dir-1dir-2user-1");
	assert_true(scrub_names_have(names, str("carol")));
	assert_false(scrub_names_have(names, str("dave")));
	assert_null(scrub_names_error(names));
	scrub_names_destroy(names);
}

static char *alias_of(struct scrub_names *names, enum scrub_kind kind, const char *word)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	char *alias;

	scrub_alias(names, kind, str(word), &text);
	alias = strdup(text_get(&text));
	assert_non_null(alias);
	return alias;
}

/* Of words behind the last that is kept there are aliases, too: one each, whatever the kind. */
static void many_words(void **state)
{
	static const uint32_t id = 1000;
	struct scrub_names *names;
	char *kept, *first, *again, *other;
	uint32_t number;

	(void)state;
	assert_null(scrub_names_create(2, &names));
	kept = alias_of(names, SCRUB_FOLDER, "alice");
	free(alias_of(names, SCRUB_FOLDER, "bob"));
	assert_false(scrub_names_overflowed(names));
	assert_false(scrub_names_have(names, str("carol")));
	first = alias_of(names, SCRUB_FOLDER, "carol");
	assert_true(scrub_names_overflowed(names));
	assert_null(scrub_names_program(names, str("carol")));
	again = alias_of(names, SCRUB_USER_NAME, "carol");
	other = alias_of(names, SCRUB_FOLDER, "dave");
	assert_string_equal(kept, "dir-1");
	assert_string_equal(first, again);
	assert_string_not_equal(first, other);
	assert_true(scrub_is_alias(str(first)) && scrub_is_alias(str(other)));
	assert_null(strstr(first, "carol"));
	assert_true(scrub_names_have(names, str("carol")));
	number = scrub_number_of(names, SCRUB_USER_ID, &id, sizeof(id));
	assert_in_range(number, UINT32_C(1) << 27, (UINT32_C(1) << 28) - 1);
	assert_int_equal(scrub_number_of(names, SCRUB_USER_ID, &id, sizeof(id)), number);
	assert_null(scrub_names_error(names));
	free(kept);
	kept = alias_of(names, SCRUB_USER_NAME, "alice");
	assert_string_equal(kept, "dir-1");
	free(kept);
	free(first);
	free(again);
	free(other);
	scrub_names_destroy(names);
}

/* The name of a thread is as much of its file's name as the kernel keeps. */
static void programs(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct scrub_names *names = new_names();

	(void)state;
	assert_null(scrub_names_program(names, str("a-program-of-long-name")));
	assert_null(scrub_names_program(names, str("a-program-of-lost-name")));
	assert_null(scrub_names_program(names, str("short")));
	assert_false(scrub_names_have(names, str("short")));
	scrub_alias(names, SCRUB_THREAD, str("short"), &text);
	scrub_path(names, str("/tmp/a-program-of-long-name"), true, &text);
	scrub_alias(names, SCRUB_THREAD, str("a-program-of-lo"), &text);
	scrub_path(names, str("/tmp/a-program-of-lost-name"), true, &text);
	scrub_alias(names, SCRUB_THREAD, str("worker"), &text);
	assert_string_equal(text_get(&text), "prog-1/tmp/prog-2prog-2/tmp/prog-3thread-1");
	scrub_names_destroy(names);
}

static void aliases_are_known(void **state)
{
	(void)state;
	assert_true(scrub_is_alias(str("prog-1")));
	assert_true(scrub_is_alias(str("command-4711")));
	assert_false(scrub_is_alias(str("prog-")));
	assert_false(scrub_is_alias(str("prog-1a")));
	assert_false(scrub_is_alias(str("program-1")));
	assert_false(scrub_is_alias(str("")));
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
		cmocka_unit_test(one_word_one_alias),
		cmocka_unit_test(many_words),
		cmocka_unit_test(programs),
		cmocka_unit_test(aliases_are_known),
		cmocka_unit_test(list_has_only_fields),
		cmocka_unit_test(fields_of_another_version_go),
		cmocka_unit_test(unknown_tables_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
