/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of hosts: as text, and what scrubbing makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "report/base/net_text.h"
#include "report/share/scrub_text.h"

static struct scrub_names *names;

static int make_names(void **state)
{
	struct ebt_error *err = scrub_names_create(SCRUB_MOST_WORDS, &names);

	(void)state;
	ebt_error_destroy(err);
	return err ? -1 : 0;
}

static int free_names(void **state)
{
	(void)state;
	scrub_names_destroy(names);
	return 0;
}

/* The address after scrubbing, as text. */
static const char *scrubbed(const char *bytes, size_t len, struct text *to)
{
	_cleanup_text_ struct text address = TEXT_INIT;

	scrub_address(names, (struct ebt_str){ bytes, len }, &address);
	text_clear(to);
	net_add_address(to, text_get(&address), address.len);
	return text_get(to);
}

#define V6(a, b) a "\0\0\0\0\0\0\0\0\0\0" b

static void endpoints(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	(void)state;
	net_add_endpoint(&text, "\x7f\0\0\1", 4, 80);
	text_addc(&text, ' ');
	net_add_endpoint(&text, V6("\x20\1\xd\xb8", "\0\1"), 16, 443);
	text_addc(&text, ' ');
	net_add_endpoint(&text, "abc", 3, 0);
	assert_string_equal(text_get(&text), "127.0.0.1:80 [2001:db8::1]:443 ?:0");
}

static void local_ones_stay(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	(void)state;
	assert_string_equal(scrubbed("\x7f\1\2\3", 4, &text), "127.1.2.3");
	assert_string_equal(scrubbed("\0\0\0\0", 4, &text), "0.0.0.0");
	assert_string_equal(scrubbed(V6("\0\0\0\0", "\0\1"), 16, &text), "::1");
	assert_string_equal(scrubbed(V6("\0\0\0\0", "\0\0"), 16, &text), "::");
	assert_string_equal(scrubbed("\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16, &text),
			    "::ffff:127.0.0.1");
}

static void others_become_addresses_of_nobody(void **state)
{
	_cleanup_text_ struct text one = TEXT_INIT, again = TEXT_INIT, other = TEXT_INIT;

	(void)state;
	for (int i = 0; i < 256; i++) {
		const char v4[4] = { (char)192, (char)168, 1, (char)i };
		const char v6[16] = { 0x20, 1, [15] = (char)i };

		assert_memory_equal(scrubbed(v4, 4, &one), "240.0.", 6);
		assert_string_equal(scrubbed(v4, 4, &again), text_get(&one));
		assert_memory_equal(scrubbed(v6, 16, &other), "100::", 5);
	}
	scrubbed("\xc0\xa8\1\1", 4, &one);
	scrubbed("\xc0\xa8\1\2", 4, &other);
	assert_string_not_equal(text_get(&one), text_get(&other));
	/* The same host on a socket of IPv6. */
	scrubbed("\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\xa8\1\1", 16, &other);
	assert_memory_equal(text_get(&other), "::ffff:", 7);
	assert_string_equal(text_get(&other) + 7, text_get(&one));
	assert_string_equal(scrubbed("\1\2\3", 3, &one), "?");
}

static void devices(void **state)
{
	static const char *const ours[] = { "lo", "eth0", "enp0s31f6", "veth12ab9c", "wlp3s0" };
	static const char *const theirs[] = { "", "office", "wg-home", "enx001122334455",
					      "eth0.secret" };

	(void)state;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		assert_true(scrub_is_system_device((struct ebt_str){ ours[i], strlen(ours[i]) }));
		assert_false(
			scrub_is_system_device((struct ebt_str){ theirs[i], strlen(theirs[i]) }));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(endpoints),
		cmocka_unit_test(local_ones_stay),
		cmocka_unit_test(others_become_addresses_of_nobody),
		cmocka_unit_test(devices),
	};

	return cmocka_run_group_tests(tests, make_names, free_names);
}
