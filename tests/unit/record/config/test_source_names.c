/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of BPF programs and maps that sources ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <bpf/btf.h>

#include "record/base/kernel.h"
#include "record/config/skeleton.h"
#include "record/config/source.h"

static struct kernel kernel; /* has no tracepoints */
static struct ebrec_bpf *skel;

static int setup(void **state)
{
	(void)state;
	kernel.btf = btf__new_empty();
	skel = ebrec_bpf__open();
	return kernel.btf && skel ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	ebrec_bpf__destroy(skel);
	btf__free(kernel.btf);
	return 0;
}

static struct ebt_error *configure(const struct ebrec_source *source)
{
	struct source_context context = { .skel = skel, .kernel = &kernel };

	return source_configure(source, &context);
}

static void test_each_source(void **state)
{
	(void)state;
	for (size_t i = 0; i < ebrec_n_sources; i++) {
		struct ebrec_source lists = *ebrec_sources[i];

		lists.configure = NULL; /* which needs more than names */
		assert_null(configure(&lists));
	}
}

static void assert_refused(const struct ebrec_source *source, const char *message)
{
	struct ebt_error *err = configure(source);

	assert_non_null(err);
	assert_string_equal(err->message, message);
	ebt_error_destroy(err);
}

static void load_misspelled(struct source_context *context)
{
	source_load(context, "ebrec_sched_swich");
	source_load(context, "ebrec_sched_");
}

static void test_misspelled(void **state)
{
	const struct ebrec_source program = {
		.name = "p",
		.programs = (const char *const[]){ "ebrec_shed_", "ebrec_sched_", NULL },
	};
	const struct ebrec_source map = { .name = "m",
					  .maps = (const char *const[]){ "exec_skratch", NULL } };
	const struct ebrec_source later = { .name = "l", .configure = load_misspelled };

	(void)state;
	assert_refused(&program,
		       "source p wants BPF programs or maps ebrec_shed_*, and there are none");
	assert_refused(&map,
		       "source m wants BPF programs or maps exec_skratch*, and there are none");
	assert_refused(&later,
		       "source l wants BPF programs or maps ebrec_sched_swich*, and there are "
		       "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_source),
		cmocka_unit_test(test_misspelled),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
