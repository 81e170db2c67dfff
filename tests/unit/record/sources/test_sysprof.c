/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of Sysprof's protocol, a ring that changes while it is read, and who does not listen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "record/base/clocks.h"
#include "record/sources/sysprof_control.h"
#include "record/sources/sysprof_frames.h"
#include "record/sources/sysprof_ring.h"
#include "record/sources/sysprof_rows.h"
#include "tests/fuzz/fuzz.h"

#define MUTATIONS 3000u
#define READINGS  3000
#define SIZE	  (128u << 10)

/* A mark of 104 bytes: "group", "name", and a message. */
static size_t make_mark(unsigned char *to, int64_t time, int64_t duration)
{
	const uint16_t len = 104;
	const int32_t pid = getpid();

	memset(to, 0, len);
	memcpy(to, &len, 2);
	memcpy(to + 4, &pid, 4);
	memcpy(to + 8, &time, 8);
	to[16] = SYSPROF_MARK;
	memcpy(to + 24, &duration, 8);
	strcpy((char *)to + 32, "group");
	strcpy((char *)to + 56, "name");
	strcpy((char *)to + 96, "message");
	return len;
}

static void test_lengths(void **state)
{
	unsigned char bytes[128] = { 0 };
	struct sysprof_frame frame;
	struct sysprof_mark mark;
	size_t len = make_mark(bytes, 5, 7);

	(void)state;
	for (size_t n = 0; n < len; n++)
		assert_int_equal(sysprof_frame_parse(bytes, n, &frame), SYSPROF_IS_CUT);
	assert_int_equal(sysprof_frame_parse(bytes, len, &frame), SYSPROF_IS_FRAME);
	assert_int_equal(frame.time, 5);
	assert_true(sysprof_frame_mark(&frame, &mark));
	assert_int_equal(mark.duration, 7);
	assert_int_equal(mark.message.len, 7);
	memset(bytes + 32, 'x', 72); /* nothing ends */
	assert_true(sysprof_frame_mark(&frame, &mark));
	assert_int_equal(mark.group.len, 24);
	assert_int_equal(mark.name.len, 40);
	assert_int_equal(mark.message.len, 8);
	for (unsigned int n = 0; n < 256; n++) {
		bytes[0] = (unsigned char)n;
		assert_int_equal(sysprof_frame_parse(bytes, sizeof(bytes), &frame),
				 n < 24 || n % 8 ? SYSPROF_IS_NONE
				 : n > 128	 ? SYSPROF_IS_CUT
						 : SYSPROF_IS_FRAME);
		if (n >= 24 && !(n % 8))
			assert_int_equal(sysprof_frame_mark(&frame, &mark), n >= 96);
	}
}

static void test_ring_wraps(void **state)
{
	struct sysprof_ring ring;
	unsigned char frame[104], copy[104], *map;
	uint32_t used, tail = 0;

	(void)state;
	assert_null(sysprof_ring_create(SIZE, &ring));
	assert_int_not_equal(ftruncate(ring.fd, 4096), 0);
	map = mmap(NULL, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	for (int i = 0; i < 3000; i++) {
		make_mark(frame, i, i);
		for (size_t n = 0; n < sizeof(frame); n++)
			map[4096 + (tail + n) % SIZE] = frame[n];
		tail = (tail + 104) % SIZE;
		memcpy(map + 4, &tail, 4);
		assert_true(sysprof_ring_used(&ring, &used));
		assert_int_equal(used, 104);
		assert_true(sysprof_ring_copy(&ring, copy, used));
		assert_memory_equal(copy, frame, sizeof(frame));
		sysprof_ring_release(&ring, used);
		assert_int_equal(map[4096 + (tail + SIZE - 104) % SIZE], 0);
		assert_memory_equal(map, &tail, 4);
	}
	tail = SIZE;
	memcpy(map + 4, &tail, 4);
	assert_false(sysprof_ring_used(&ring, &used));
	munmap(map, SIZE + 4096);
	sysprof_ring_destroy(&ring);
}

static void test_nobody_takes_answers(void **state)
{
	struct sysprof_control *control = NULL;
	struct sysprof_rows rows;
	enum sysprof_wait wait = SYSPROF_WAIT_READ;
	int theirs, ours;

	(void)state;
	assert_null(sysprof_rows_init(clocks_now(), &rows));
	assert_null(sysprof_control_pair(&theirs, &ours));
	assert_null(sysprof_control_create(ours, theirs, &rows, &control));
	for (int i = 0; i < 5000 && wait != SYSPROF_WAIT_WRITE; i++) {
		(void)!send(theirs, i % 2 ? "CreatRing" : "CreatBing", 10, MSG_DONTWAIT);
		wait = sysprof_control_answer(control);
	}
	assert_int_equal(wait, SYSPROF_WAIT_WRITE);
	assert_true(rows.counts[SYSPROF_BAD_MESSAGES] > 0);
	assert_true(sysprof_control_rings(control) < 1024);
	close(theirs);
	while (wait != SYSPROF_WAIT_END)
		wait = sysprof_control_answer(control);
	sysprof_control_destroy(control);
	close(ours);
	sysprof_rows_deinit(&rows);
}

struct scribbler {
	unsigned char *map;
	bool stop;
};

/* All of the ring, its header included, is another at any time. */
static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	unsigned int seed = 1;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		uint32_t at = (uint32_t)rand_r(&seed) % (SIZE / 2), tail = (uint32_t)rand_r(&seed);

		make_mark(s->map + 4096 + at / 8 * 8, rand_r(&seed), rand_r(&seed));
		s->map[4096 + at] = (unsigned char)tail;
		tail = tail % 64 ? tail % SIZE / 8 * 8 : tail;
		memcpy(s->map + 4, &tail, 4);
	}
	return NULL;
}

static void test_changes_under_the_reader(void **state)
{
	struct scribbler scribbler = { 0 };
	struct sysprof_ring ring;
	struct sysprof_frame frame;
	struct sysprof_mark mark;
	unsigned char *copy = malloc(SIZE);
	pthread_t thread;
	uint32_t used;

	(void)state;
	assert_null(sysprof_ring_create(SIZE, &ring));
	scribbler.map = mmap(NULL, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	assert_ptr_not_equal(scribbler.map, MAP_FAILED);
	assert_int_equal(pthread_create(&thread, NULL, scribble, &scribbler), 0);
	for (int i = 0; i < READINGS; i++) {
		uint32_t done = 0;

		if (!sysprof_ring_used(&ring, &used))
			continue;
		assert_true(used < SIZE);
		assert_true(sysprof_ring_copy(&ring, copy, used));
		while (sysprof_frame_parse(copy + done, used - done, &frame) == SYSPROF_IS_FRAME) {
			if (sysprof_frame_mark(&frame, &mark))
				assert_true(mark.message.len <= frame.len);
			done += (uint32_t)frame.len;
		}
		sysprof_ring_release(&ring, done);
	}
	__atomic_store_n(&scribbler.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	munmap(scribbler.map, SIZE + 4096);
	sysprof_ring_destroy(&ring);
	free(copy);
}

/* A frame in each of the forms that fuzz_sysprof() takes; then damaged ones. */
static void test_mutations(void **state)
{
	static const unsigned char kinds[] = { FUZZ_SYSPROF_FRAMES, FUZZ_SYSPROF_RING,
					       FUZZ_SYSPROF_FILE };
	unsigned int seed = 1;

	(void)state;
	for (unsigned int i = 0; i < MUTATIONS; i++) {
		unsigned char data[256] = { kinds[i % 3], 0, 104 }, good[104];
		size_t len = 1;

		if (kinds[i % 3] == FUZZ_SYSPROF_RING)
			len = 4;
		if (kinds[i % 3] == FUZZ_SYSPROF_FILE) {
			data[1] = sizeof(good);
			data[2] = 0;
			len = 3;
		}
		memcpy(data + len, good, make_mark(good, (int64_t)clocks_now(), 9));
		len += sizeof(good);
		for (unsigned int n = i / 3 % 4; n; n--)
			data[1 + (unsigned int)rand_r(&seed) % (len - 1)] =
				(unsigned char)rand_r(&seed);
		assert_true(fuzz_sysprof(data, len) || i >= 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_ring_wraps),
		cmocka_unit_test(test_nobody_takes_answers),
		cmocka_unit_test(test_changes_under_the_reader),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
