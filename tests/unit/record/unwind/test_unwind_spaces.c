/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces as BPF programs find them, without BPF: what is published, and what is doubted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/types.h>

#include "record/base/clocks.h"
#include "record/bpf/unwind_maps.h"
#include "record/unwind/model.h"
#include "record/unwind/spaces.h"

#define MAX_PID 16
#define N	4096u
#define PAGE	4096u

/* The maps. Tables are numbered by the inode of the mapping. */
struct fixture {
	struct unwind_spaces *spaces;
	struct unwind_model past;
	int fd;
	const struct ebrec_unwind_mapping *mappings;
	struct ebrec_unwind_published published[MAX_PID];
	struct ebrec_unwind_process own[MAX_PID];
	bool has_published[MAX_PID], has_own[MAX_PID];
	bool full; /* no entry is taken */
	uint64_t now;
};

static uint32_t find_table(void *arg, const struct mapping *mapping, uint64_t *ret_bias)
{
	(void)arg;
	*ret_bias = mapping->start - mapping->pgoff;
	return (uint32_t)mapping->inode;
}

static bool publish(void *arg, uint32_t pid, const struct ebrec_unwind_published *entry)
{
	struct fixture *f = arg;

	if (entry && f->full)
		return false;
	f->has_published[pid] = entry;
	if (entry)
		f->published[pid] = *entry;
	return true;
}

static bool published(void *arg, uint32_t pid, struct ebrec_unwind_published *ret)
{
	const struct fixture *f = arg;

	*ret = f->published[pid];
	return f->has_published[pid];
}

static bool own(void *arg, uint32_t pid, struct ebrec_unwind_process *ret)
{
	const struct fixture *f = arg;

	*ret = f->own[pid];
	return f->has_own[pid];
}

static void remove_process(void *arg, uint32_t pid)
{
	struct fixture *f = arg;

	f->has_published[pid] = f->has_own[pid] = false;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct unwind_spaces_maps maps = {
		.table = find_table,
		.publish = publish,
		.published = published,
		.own = own,
		.remove = remove_process,
		.arg = f,
		.first = 64,
		.n = N,
	};

	f->fd = memfd_create("mappings", MFD_CLOEXEC);
	if (f->fd < 0 || ftruncate(f->fd, N * sizeof(*f->mappings)))
		return -1;
	f->mappings = mmap(NULL, N * sizeof(*f->mappings), PROT_READ, MAP_SHARED, f->fd, 0);
	maps.mappings_fd = f->fd;
	f->now = clocks_now();
	*state = f;
	return unwind_spaces_create(&maps, &f->past, &f->spaces) ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unwind_spaces_destroy(f->spaces);
	unwind_model_deinit(&f->past);
	munmap((void *)f->mappings, N * sizeof(*f->mappings));
	close(f->fd);
	free(f);
	return 0;
}

/* Pages of a file. */
static void map(struct fixture *f, uint32_t pid, uint64_t time, uint64_t page, uint64_t pages,
		uint32_t table)
{
	const struct mapping m = {
		.time = time,
		.start = page * PAGE,
		.length = pages * PAGE,
		.inode = table,
		.pid = pid,
		.prot = PROT_READ | PROT_EXEC,
	};

	assert_null(unwind_spaces_map(f->spaces, &m));
}

static void tell(struct fixture *f, enum op_kind kind, uint32_t pid, uint32_t child, uint64_t time)
{
	const struct unwind_op op = { .time = time, .kind = kind, .pid = pid, .child = child };

	assert_null(unwind_spaces_tell(f->spaces, &op));
}

static void publish_all(struct fixture *f)
{
	f->now += UINT64_C(200000000);
	assert_null(unwind_spaces_publish(f->spaces, f->now));
	assert_int_equal(unwind_spaces_full(f->spaces), 0);
}

/* The table that a program finds; -1: none. */
static int64_t table(const struct fixture *f, uint32_t pid, uint64_t page)
{
	const struct ebrec_unwind_published *p = &f->published[pid];
	const uint64_t address = page * PAGE;
	int64_t found = -1;

	for (uint32_t i = 0; f->has_published[pid] && i < p->n; i++) {
		const struct ebrec_unwind_mapping *m = &f->mappings[p->first + i];

		assert_in_range(p->first + i, 64, N - 1);
		if (i) /* a binary search depends on that */
			assert_true(m->start >= m[-1].end);
		if (address >= m->start && address < m->end) {
			assert_int_equal(m->ticket, 0);
			found = m->table;
		}
	}
	return found;
}

static void test_order_of_time(void **state)
{
	struct fixture *f = *state;

	map(f, 1, 20, 10, 4, 8);
	map(f, 1, 10, 9, 3, 7);
	publish_all(f);
	assert_int_equal(table(f, 1, 8), -1);
	assert_int_equal(table(f, 1, 9), 7);
	assert_int_equal(table(f, 1, 10), 8);
	assert_int_equal(table(f, 1, 13), 8);
	assert_int_equal(table(f, 1, 14), -1);
	assert_int_equal(f->published[1].time, 20);
}

/* What programs do not get is counted, and what they had before is taken away. */
static void test_no_room(void **state)
{
	struct fixture *f = *state;

	map(f, 1, 10, 0, 10, 7);
	publish_all(f);
	f->full = true;
	map(f, 1, 20, 20, 1, 8);
	assert_null(unwind_spaces_publish(f->spaces, f->now));
	assert_int_equal(unwind_spaces_full(f->spaces), 1);
	assert_int_equal(table(f, 1, 0), -1);
	f->full = false;
	/* More than the array holds, and than a process may have: it keeps the first ones. */
	for (uint32_t i = 0; i < N; i++)
		map(f, 2, 30 + i, 2 * i, 1, 7);
	assert_null(unwind_spaces_publish(f->spaces, f->now));
	assert_int_equal(unwind_spaces_full(f->spaces), 1 + 2);
	assert_int_equal(table(f, 2, 0), -1);
	map(f, 1, 9000, 30, 1, 9);
	assert_null(unwind_spaces_publish(f->spaces, f->now));
	assert_int_equal(unwind_spaces_full(f->spaces), 1 + 2);
	assert_int_equal(table(f, 1, 0), 7);
	assert_int_equal(table(f, 1, 30), 9);
}

static void test_splits(void **state)
{
	struct fixture *f = *state;

	map(f, 1, 10, 0, 10, 7);
	map(f, 1, 20, 4, 2, 8);
	publish_all(f);
	assert_int_equal(f->published[1].n, 3);
	assert_int_equal(table(f, 1, 3), 7);
	assert_int_equal(table(f, 1, 5), 8);
	assert_int_equal(table(f, 1, 6), 7);
}

static void test_fork_exec_exit(void **state)
{
	struct fixture *f = *state;

	map(f, 1, 10, 0, 10, 7);
	tell(f, OP_FORK, 1, 2, 20);
	publish_all(f);
	assert_int_equal(table(f, 2, 0), 7);
	tell(f, OP_RENAME, 2, 0, 30);
	map(f, 2, 31, 100, 1, 8);
	tell(f, OP_EXEC, 2, 0, 32);
	publish_all(f);
	assert_int_equal(table(f, 1, 0), 7);
	assert_int_equal(table(f, 2, 0), -1);
	assert_int_equal(table(f, 2, 100), 8);
	tell(f, OP_EXIT, 1, 0, 40);
	publish_all(f);
	assert_false(f->has_published[1]);
	assert_int_equal(table(f, 2, 100), 8);
}

/* What the BPF side placed at an exec counts until more is known. */
static void test_time_of_exec(void **state)
{
	struct fixture *f = *state;
	const uint64_t ms = 1000000, exec = 100 * ms;

	f->has_own[1] = true;
	f->own[1].time = exec + 5000;
	map(f, 1, exec - 10, 0, 10, 7);
	tell(f, OP_EXEC, 1, 0, exec);
	publish_all(f);
	assert_int_equal(f->published[1].time, exec + 5001);
	map(f, 1, exec + 10 * ms, 20, 1, 8);
	publish_all(f);
	assert_int_equal(f->published[1].time, exec + 10 * ms);
}

static void test_forget(void **state)
{
	struct fixture *f = *state;

	map(f, 1, 10, 0, 10, 7);
	publish_all(f);
	/* It could not be read: it keeps what it has. */
	assert_null(unwind_spaces_forget(f->spaces, 1, 20));
	publish_all(f);
	assert_int_equal(table(f, 1, 0), 7);
	map(f, 1, 30, 5, 1, 9);
	assert_null(unwind_spaces_forget(f->spaces, 1, 30));
	publish_all(f);
	assert_int_equal(table(f, 1, 0), -1);
	assert_int_equal(table(f, 1, 5), 9);
	assert_int_equal(f->published[1].n, 1);
}

static void test_doubt(void **state)
{
	struct fixture *f = *state;
	uint32_t pids[MAX_PID];

	map(f, 1, 10, 0, 10, 7);
	map(f, 2, 10, 0, 10, 7);
	publish_all(f);
	assert_int_equal(unwind_spaces_doubtful(f->spaces, pids, MAX_PID), 0); /* no walk yet */
	f->published[1].exec_vm = 10;
	f->published[2].exec_vm = 12;
	assert_int_equal(unwind_spaces_doubtful(f->spaces, pids, MAX_PID), 0); /* on its way? */
	assert_int_equal(unwind_spaces_doubtful(f->spaces, pids, MAX_PID), 1);
	assert_int_equal(pids[0], 2);
	/* That it has been looked at, and is still so, is no reason to look again and again. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(unwind_spaces_doubtful(f->spaces, pids, MAX_PID), 0);
	f->published[2].exec_vm = 13;
	assert_int_equal(unwind_spaces_doubtful(f->spaces, pids, MAX_PID), 0);
	assert_int_equal(unwind_spaces_doubtful(f->spaces, pids, MAX_PID), 1);
	unwind_spaces_doubt(f->spaces);
	assert_int_equal(unwind_spaces_doubtful(f->spaces, pids, 1), 1);
	assert_int_equal(unwind_spaces_doubtful(f->spaces, pids, 1), 1);
	assert_int_equal(unwind_spaces_doubtful(f->spaces, pids, 1), 0);
}

/* What is published is what stacks of a moment ago are finished with. */
static void test_like_past(void **state)
{
	struct fixture *f = *state;

	srand(1);
	for (uint64_t time = 1; time < 4000; time++) {
		uint32_t pid = 1 + (uint32_t)rand() % 6, other = 7 + (uint32_t)rand() % 6;

		if (rand() % 2)
			pid = other;
		switch (rand() % 12) {
		case 0:
			if (pid < 7)
				tell(f, OP_FORK, pid, other, time);
			break;
		case 1:
			tell(f, OP_RENAME, pid, 0, time);
			break;
		case 2:
			tell(f, OP_EXEC, pid, 0, time);
			break;
		case 3:
			tell(f, OP_EXIT, pid, 0, time);
			break;
		case 4:
			map(f, pid, time, (uint64_t)rand() % 60, 1, (uint32_t)time);
			assert_null(unwind_spaces_forget(f->spaces, pid, time));
			break;
		default:
			map(f, pid, time, (uint64_t)rand() % 60, 1 + (uint64_t)rand() % 8,
			    (uint32_t)time);
		}
		if (rand() % 3)
			continue;
		publish_all(f);
		unwind_model_advance(&f->past, time);
		for (pid = 1; pid < MAX_PID; pid++) {
			for (uint64_t page = 0; page < 70; page++) {
				const struct ebrec_unwind_mapping *m =
					unwind_model_find(&f->past, pid, page * PAGE);

				assert_int_equal(table(f, pid, page), m ? (int64_t)m->table : -1);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order_of_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_splits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork_exec_exit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time_of_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_like_past, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
