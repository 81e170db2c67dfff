/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which file was mapped where and when: forks, execs, pids used again, mappings over mappings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolize/spaces/addrspace.h"
#include "symbolize/spaces/timeline.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/symtrace.h"

#define BASE UINT64_C(0x7f0000000000)

struct fixture {
	struct symtrace *trace;
	struct addrspace *space;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->trace = symtrace_create();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	addrspace_destroy(f->space);
	symtrace_destroy(f->trace);
	free(f);
	return 0;
}

static void map(struct fixture *f, uint64_t time, uint32_t tid, uint64_t start, uint64_t length,
		const char *path)
{
	symtrace_mmap(f->trace, time, tid,
		      &(struct symtrace_mapping){
			      .start = start, .length = length, .pgoff = 0x1000, .path = path });
}

static void snapshot(struct fixture *f, uint64_t time, uint32_t tid, uint64_t start,
		     const char *path)
{
	symtrace_mmap(f->trace, time, tid,
		      &(struct symtrace_mapping){
			      .start = start, .length = 0x4000, .path = path, .snapshot = true });
}

static void build(struct fixture *f)
{
	assert_no_error(addrspace_create(symtrace_read(f->trace), &f->space));
}

/* The path that a task had at the address, "" where there was none. */
static const char *path_at(struct fixture *f, uint32_t tid, uint32_t pid, uint64_t start_ns,
			   uint64_t time, uint64_t address)
{
	struct ebt_task task = { .tid = tid, .pid = pid, .start_ns = start_ns };
	uint32_t incarnation = addrspace_incarnation(f->space, &task, time);
	struct addrspace_place place, again;
	size_t n;

	if (incarnation == ADDRSPACE_NO_INCARNATION)
		return "";
	assert_no_error(addrspace_find(f->space, incarnation, address, time, &place));
	assert_true(place.from <= time && time < place.to);
	/* What it says about how long the answer holds is true at both ends. */
	assert_no_error(addrspace_find(f->space, incarnation, address, place.from, &again));
	assert_int_equal(again.found, place.found);
	assert_int_equal(again.to, place.to);
	assert_no_error(addrspace_find(f->space, incarnation, address, place.to - 1, &again));
	assert_int_equal(again.from, place.from);
	assert_int_equal(again.offset, place.offset);
	return place.found ? addrspace_objects(f->space, &n)[place.object].path : "";
}

static void test_fork_inherits(void **state)
{
	struct fixture *f = *state;

	symtrace_task(f->trace, 10, 10, 5);
	symtrace_task(f->trace, 11, 10, 150);
	symtrace_task(f->trace, 20, 20, 200);
	symtrace_task(f->trace, 30, 30, 400);
	map(f, 100, 10, BASE, 0x4000, "/lib/early.so");
	symtrace_fork(f->trace, 150, 10, 11, true);
	/* By a thread that is not the first one: the process counts. */
	symtrace_fork(f->trace, 200, 11, 20, false);
	map(f, 300, 10, BASE + 0x4000, 0x4000, "/lib/parent.so");
	map(f, 300, 20, BASE + 0x8000, 0x4000, "/lib/child.so");
	symtrace_fork(f->trace, 400, 20, 30, false);
	map(f, 500, 20, BASE, 0x4000, "/lib/over.so");
	build(f);
	assert_string_equal(path_at(f, 10, 10, 5, 250, BASE), "/lib/early.so");
	assert_string_equal(path_at(f, 11, 10, 150, 350, BASE + 0x4000), "/lib/parent.so");
	assert_string_equal(path_at(f, 20, 20, 200, 250, BASE + 0x3fff), "/lib/early.so");
	assert_string_equal(path_at(f, 20, 20, 200, 350, BASE + 0x4000), "");
	assert_string_equal(path_at(f, 20, 20, 200, 350, BASE + 0x8000), "/lib/child.so");
	assert_string_equal(path_at(f, 20, 20, 200, 299, BASE + 0x8000), "");
	/* Two generations up, and what the middle one did later is its own. */
	assert_string_equal(path_at(f, 30, 30, 400, 600, BASE), "/lib/early.so");
	assert_string_equal(path_at(f, 30, 30, 400, 600, BASE + 0x8000), "/lib/child.so");
	assert_string_equal(path_at(f, 20, 20, 200, 600, BASE), "/lib/over.so");
	assert_string_equal(path_at(f, 10, 10, 5, 600, BASE + 0x8000), "");
}

static void test_exec_clears(void **state)
{
	struct fixture *f = *state;

	symtrace_task(f->trace, 10, 10, 5);
	map(f, 100, 10, BASE, 0x4000, "/bin/old");
	map(f, 110, 10, BASE + 0x10000, 0x4000, "/lib/old.so");
	map(f, 120, 10, BASE + 0x20000, 0x2000, "[vdso]");
	/* An exec maps its program before the tracepoint that tells of it. */
	map(f, 1000000200, 10, BASE + 0x100000, 0x4000, "/bin/new");
	map(f, 1000000210, 10, BASE + 0x200000, 0x4000, "/lib64/ld-linux-x86-64.so.2");
	map(f, 1000000220, 10, BASE + 0x300000, 0x2000, "[vdso]");
	symtrace_exec(f->trace, 1000000300, 10, "/bin/new");
	map(f, 1000000400, 10, BASE + 0x400000, 0x4000, "/lib/new.so");
	build(f);
	assert_string_equal(path_at(f, 10, 10, 5, 150, BASE), "/bin/old");
	assert_string_equal(path_at(f, 10, 10, 5, 1000000299, BASE), "/bin/old");
	assert_string_equal(path_at(f, 10, 10, 5, 1000000300, BASE), "");
	assert_string_equal(path_at(f, 10, 10, 5, 1000000500, BASE + 0x10000), "");
	assert_string_equal(path_at(f, 10, 10, 5, 1000000500, BASE + 0x20000), "");
	assert_string_equal(path_at(f, 10, 10, 5, 1000000300, BASE + 0x100000), "/bin/new");
	assert_string_equal(path_at(f, 10, 10, 5, 1000000300, BASE + 0x200000),
			    "/lib64/ld-linux-x86-64.so.2");
	assert_string_equal(path_at(f, 10, 10, 5, 1000000300, BASE + 0x300000), "[vdso]");
	assert_string_equal(path_at(f, 10, 10, 5, 1000000500, BASE + 0x400000), "/lib/new.so");
	assert_string_equal(path_at(f, 10, 10, 5, 1000000399, BASE + 0x400000), "");
}

/* fork, exec of a static program by the child, exec again: what a shell's children do. */
static void test_exec_after_fork(void **state)
{
	struct fixture *f = *state;

	symtrace_task(f->trace, 10, 10, 5);
	symtrace_task(f->trace, 20, 20, 200);
	map(f, 100, 10, BASE, 0x4000, "/bin/sh");
	map(f, 100, 10, BASE + 0x20000, 0x2000, "[vdso]");
	symtrace_fork(f->trace, 200, 10, 20, false);
	map(f, 300, 20, BASE, 0x8000, "/bin/one");
	map(f, 300, 20, BASE + 0x30000, 0x2000, "[vdso]");
	symtrace_exec(f->trace, 310, 20, "/bin/one");
	map(f, 400, 20, BASE + 0x8000, 0x8000, "/bin/two");
	map(f, 400, 20, BASE + 0x40000, 0x2000, "[vdso]");
	symtrace_exec(f->trace, 410, 20, "/bin/two");
	build(f);
	assert_string_equal(path_at(f, 20, 20, 200, 250, BASE), "/bin/sh");
	assert_string_equal(path_at(f, 20, 20, 200, 320, BASE), "/bin/one");
	assert_string_equal(path_at(f, 20, 20, 200, 320, BASE + 0x20000), "");
	assert_string_equal(path_at(f, 20, 20, 200, 320, BASE + 0x30000), "[vdso]");
	assert_string_equal(path_at(f, 20, 20, 200, 420, BASE), "");
	assert_string_equal(path_at(f, 20, 20, 200, 420, BASE + 0x8000), "/bin/two");
	assert_string_equal(path_at(f, 20, 20, 200, 420, BASE + 0x30000), "");
	assert_string_equal(path_at(f, 20, 20, 200, 420, BASE + 0x40000), "[vdso]");
	assert_string_equal(path_at(f, 10, 10, 5, 420, BASE), "/bin/sh");
}

static void test_pid_is_used_again(void **state)
{
	struct fixture *f = *state;

	symtrace_task(f->trace, 1, 1, 1);
	symtrace_task(f->trace, 10, 10, 50);
	map(f, 100, 10, BASE, 0x4000, "/bin/first");
	symtrace_exit(f->trace, 200, 10);
	symtrace_task(f->trace, 10, 10, 300);
	symtrace_task(f->trace, 11, 10, 380);
	symtrace_fork(f->trace, 300, 1, 10, false);
	map(f, 350, 10, BASE + 0x1000, 0x4000, "/bin/second");
	build(f);
	assert_string_equal(path_at(f, 10, 10, 50, 150, BASE + 0x1000), "/bin/first");
	assert_string_equal(path_at(f, 10, 10, 300, 400, BASE + 0x1000), "/bin/second");
	assert_string_equal(path_at(f, 10, 10, 300, 400, BASE), "");
	/* A thread belongs to the process that was there when it began. */
	assert_string_equal(path_at(f, 11, 10, 380, 400, BASE + 0x1000), "/bin/second");
	/* Where its start is not known, the time decides. */
	assert_string_equal(path_at(f, 10, 10, 0, 150, BASE), "/bin/first");
	assert_string_equal(path_at(f, 10, 10, 0, 400, BASE), "");
	/* Another incarnation of the pid, of which nothing was recorded. */
	assert_string_equal(path_at(f, 10, 10, 250, 260, BASE + 0x1000), "");
	assert_string_equal(path_at(f, 99, 99, 1, 150, BASE), "");
}

static void test_later_mapping_wins(void **state)
{
	struct fixture *f = *state;

	symtrace_task(f->trace, 10, 10, 5);
	map(f, 100, 10, BASE, 0x10000, "/lib/large.so");
	map(f, 200, 10, BASE + 0x4000, 0x4000, "/lib/middle.so");
	/* dlclose, dlopen of another library at the same place, and back. */
	map(f, 300, 10, BASE + 0x20000, 0x4000, "/lib/a.so");
	map(f, 400, 10, BASE + 0x20000, 0x4000, "/lib/b.so");
	map(f, 500, 10, BASE + 0x20000, 0x4000, "/lib/a.so");
	build(f);
	assert_string_equal(path_at(f, 10, 10, 5, 150, BASE + 0x4000), "/lib/large.so");
	assert_string_equal(path_at(f, 10, 10, 5, 200, BASE + 0x3fff), "/lib/large.so");
	assert_string_equal(path_at(f, 10, 10, 5, 200, BASE + 0x4000), "/lib/middle.so");
	assert_string_equal(path_at(f, 10, 10, 5, 200, BASE + 0x7fff), "/lib/middle.so");
	assert_string_equal(path_at(f, 10, 10, 5, 200, BASE + 0x8000), "/lib/large.so");
	assert_string_equal(path_at(f, 10, 10, 5, 350, BASE + 0x20000), "/lib/a.so");
	assert_string_equal(path_at(f, 10, 10, 5, 450, BASE + 0x20000), "/lib/b.so");
	assert_string_equal(path_at(f, 10, 10, 5, 550, BASE + 0x20000), "/lib/a.so");
	assert_string_equal(path_at(f, 10, 10, 5, 99, BASE), "");
}

static void test_snapshot(void **state)
{
	const uint64_t second = 1000000000;
	struct fixture *f = *state;

	symtrace_task(f->trace, 10, 10, 5);
	symtrace_task(f->trace, 20, 20, 150);
	symtrace_task(f->trace, 30, 30, 5);
	symtrace_process(f->trace, 90, 10);
	map(f, 100, 10, BASE + 0x10000, 0x4000, "/lib/event.so");
	/* Forked while the snapshot was under way, and read after its parent. */
	symtrace_fork(f->trace, 150, 10, 20, false);
	snapshot(f, 200, 10, BASE, "/bin/here");
	snapshot(f, 200, 10, BASE + 0x10000, "/lib/other.so");
	symtrace_exec(f->trace, 300, 30, "/bin/exec");
	snapshot(f, 310, 30, BASE, "/bin/exec");
	/* A later snapshot finds what was missed, for its own time. */
	snapshot(f, 20 * second, 10, BASE + 0x20000, "/lib/late.so");
	build(f);
	assert_string_equal(path_at(f, 10, 10, 5, 6, BASE), "/bin/here");
	assert_string_equal(path_at(f, 10, 10, 5, 250, BASE), "/bin/here");
	assert_string_equal(path_at(f, 20, 20, 150, 160, BASE), "/bin/here");
	assert_string_equal(path_at(f, 10, 10, 5, 150, BASE + 0x10000), "/lib/event.so");
	assert_string_equal(path_at(f, 10, 10, 5, 50, BASE + 0x10000), "/lib/other.so");
	assert_string_equal(path_at(f, 10, 10, 5, 250, BASE + 0x10000), "/lib/other.so");
	assert_string_equal(path_at(f, 30, 30, 5, 305, BASE), "/bin/exec");
	assert_string_equal(path_at(f, 30, 30, 5, 295, BASE), "");
	assert_string_equal(path_at(f, 10, 10, 5, second, BASE + 0x20000), "");
	assert_string_equal(path_at(f, 10, 10, 5, 21 * second, BASE + 0x20000), "/lib/late.so");
}

static void test_offset(void **state)
{
	struct ebt_task task = { .tid = 10, .pid = 10, .start_ns = 5 };
	struct fixture *f = *state;
	struct addrspace_place place;

	symtrace_task(f->trace, 10, 10, 5);
	symtrace_mmap(f->trace, 100, 10,
		      &(struct symtrace_mapping){ .start = BASE,
						  .length = 0x4000,
						  .pgoff = 0x23000,
						  .path = "/lib/x.so",
						  .id = { 3, { 1, 2, 3 } } });
	build(f);
	assert_no_error(addrspace_find(f->space, addrspace_incarnation(f->space, &task, 150),
				       BASE + 0x123, 150, &place));
	assert_true(place.found);
	assert_int_equal(place.offset, 0x23123);
	assert_int_equal(place.pgoff, 0x23000);
	assert_int_equal(place.length, 0x4000);
	assert_int_equal(addrspace_objects(f->space, &(size_t){ 0 })[place.object].id.len, 3);
}

/* Rows that make no sense. */
static void test_hostile_rows(void **state)
{
	struct fixture *f = *state;

	symtrace_task(f->trace, 10, 10, 5);
	symtrace_task(f->trace, 20, 20, 0);
	map(f, 100, 10, UINT64_MAX - 0x100, 0x4000, "/lib/top.so");
	map(f, 100, 10, BASE, 0, "/lib/empty.so");
	map(f, 100, 77, BASE, 0x1000, "/lib/nobody.so");
	symtrace_fork(f->trace, 120, 10, 10, false);
	symtrace_fork(f->trace, 130, 10, 20, false);
	symtrace_fork(f->trace, 140, 20, 10, false);
	build(f);
	assert_string_equal(path_at(f, 10, 10, 5, 150, UINT64_MAX - 0x80), "/lib/top.so");
	assert_string_equal(path_at(f, 10, 10, 5, 150, BASE), "");
	assert_string_equal(path_at(f, 20, 20, 0, 150, BASE), "");
}

/* The tree of a long timeline says what looking at all entries says. */
static void test_timeline_index(void **state)
{
	struct timeline_store store = { 0 };
	struct timeline timeline = TIMELINE_INIT;
	uint64_t random = 88172645463325252;
	const uint32_t n = 3000;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		assert_no_error(timeline_add(&store, &timeline, random % 1000,
					     random % 1000 + 1 + (random >> 20) % 100, i / 3,
					     random >> 40));
	}
	for (uint32_t i = 0; i < 20000; i++) {
		struct timeline_hit hit, truth = { .to = UINT64_MAX };
		uint64_t address, time;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		address = random % 1100;
		time = (random >> 30) % (n / 3 + 10);
		for (uint32_t e = 0; e < store.n; e++) {
			const struct timeline_entry *entry = &store.entries[e];

			if (address < entry->start || address >= entry->end)
				continue;
			if (entry->from <= time) {
				truth.found = true;
				truth.value = entry->value;
				truth.from = entry->from;
				truth.start = entry->start;
			} else if (entry->from < truth.to) {
				truth.to = entry->from;
			}
		}
		assert_no_error(timeline_find(&store, &timeline, address, time, &hit));
		assert_int_equal(hit.found, truth.found);
		assert_int_equal(hit.to, truth.to);
		if (!hit.found)
			continue;
		assert_int_equal(hit.value, truth.value);
		assert_int_equal(hit.from, truth.from);
		assert_int_equal(hit.start, truth.start);
	}
	assert_non_null(timeline.index);
	timeline_deinit(&timeline);
	timeline_store_deinit(&store);
}

/* --- random histories against a table of what each page held after each step --- */

#define STEPS	400
#define PIDS	12
#define PAGES	24
#define STEP_NS UINT64_C(1000000000) /* far more than an exec takes */

struct model {
	uint64_t start[PIDS];		 /* of the incarnation that has the pid; 0: nobody */
	unsigned char page[PIDS][PAGES]; /* file number; 0: none */
	uint64_t start_at[STEPS][PIDS];	 /* the same, after each step */
	unsigned char at[STEPS][PIDS][PAGES];
};

static uint64_t next_random(uint64_t below)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static void model_map(struct fixture *f, struct model *model, uint32_t pid, uint64_t time)
{
	uint64_t first = next_random(PAGES), n = 1 + next_random(PAGES - first);
	unsigned char file = 1 + next_random(200);
	char path[32];

	snprintf(path, sizeof(path), "/lib/%u", file);
	map(f, time, 100 + pid, BASE + first * 4096, n * 4096, path);
	memset(&model->page[pid][first], file, n);
}

static void model_step(struct fixture *f, struct model *model, uint64_t time)
{
	uint32_t pid = next_random(PIDS), other = next_random(PIDS);

	if (!model->start[pid])
		return;
	switch (next_random(8)) {
	case 0:
		if (model->start[other])
			return;
		symtrace_task(f->trace, 100 + other, 100 + other, time);
		symtrace_fork(f->trace, time, 100 + pid, 100 + other, false);
		model->start[other] = time;
		memcpy(model->page[other], model->page[pid], PAGES);
		return;
	case 1:
		symtrace_exec(f->trace, time, 100 + pid, "/bin/x");
		memset(model->page[pid], 0, PAGES);
		return;
	case 2:
		if (pid == 0)
			return;
		symtrace_exit(f->trace, time, 100 + pid);
		model->start[pid] = 0;
		return;
	default:
		model_map(f, model, pid, time);
	}
}

static void test_random_histories(void **state)
{
	struct model *model = calloc(1, sizeof(*model));
	struct fixture *f = *state;

	symtrace_task(f->trace, 100, 100, 5);
	model->start[0] = 5;
	for (int step = 0; step < STEPS; step++) {
		model_step(f, model, (step + 1) * STEP_NS);
		memcpy(model->start_at[step], model->start, sizeof(model->start));
		memcpy(model->at[step], model->page, sizeof(model->page));
	}
	build(f);
	for (int i = 0; i < 50000; i++) {
		uint64_t step = next_random(STEPS), page = next_random(PAGES);
		uint32_t pid = next_random(PIDS);
		uint64_t start = model->start_at[step][pid];
		unsigned char file = model->at[step][pid][page];
		char path[32] = "";

		if (!start)
			continue;
		if (file)
			snprintf(path, sizeof(path), "/lib/%u", file);
		assert_string_equal(path_at(f, 100 + pid, 100 + pid, start,
					    (step + 1) * STEP_NS + next_random(STEP_NS),
					    BASE + page * 4096 + next_random(4096)),
				    path);
	}
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fork_inherits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec_clears, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec_after_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pid_is_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_later_mapping_wins, setup, teardown),
		cmocka_unit_test_setup_teardown(test_snapshot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_offset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random_histories, setup, teardown),
		cmocka_unit_test(test_timeline_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
