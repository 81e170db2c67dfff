/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzing what a program does through Sysprof's protocols: frames, a ring, a capture file. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "record/base/clocks.h"
#include "record/sources/sysprof_control.h"
#include "record/sources/sysprof_rows.h"
#include "record/sources/sysprof_trace.h"
#include "tests/fuzz/fuzz.h"

#define PAGE 4096u

struct play {
	const uint8_t *data;
	size_t left;
	struct ebt_writer *writer;
	struct sysprof_rows rows;
};

static uint32_t take(struct play *p, size_t len)
{
	uint32_t v = 0;

	len = len < p->left ? len : p->left;
	memcpy(&v, p->data, len);
	p->data += len;
	p->left -= len;
	return v;
}

static void within(const struct sysprof_frame *frame, struct sysprof_text text)
{
	const char *data = (const char *)frame->data;

	fuzz_expect(text.s >= data && text.s + text.len <= data + frame->len,
		    "a text is within its frame");
}

static bool look_at_frames(const uint8_t *data, size_t len)
{
	struct sysprof_counter counter;
	struct sysprof_frame frame;
	struct sysprof_value value;
	struct sysprof_mark mark;
	struct sysprof_log log;
	size_t n;

	while (sysprof_frame_parse(data, len, &frame) == SYSPROF_IS_FRAME) {
		fuzz_expect(frame.len >= SYSPROF_HEAD && frame.len <= len,
			    "a frame is within the bytes");
		if (sysprof_frame_mark(&frame, &mark)) {
			within(&frame, mark.group);
			within(&frame, mark.name);
			within(&frame, mark.message);
		}
		if (sysprof_frame_log(&frame, &log)) {
			within(&frame, log.domain);
			within(&frame, log.message);
		}
		if (!sysprof_frame_count(&frame, &n))
			n = 0;
		for (size_t i = 0; i < n && frame.type == SYSPROF_COUNTER_SET; i++)
			sysprof_frame_value(&frame, i, &value);
		for (size_t i = 0; i < n && frame.type != SYSPROF_COUNTER_SET; i++) {
			sysprof_frame_counter(&frame, i, &counter);
			within(&frame, counter.description);
		}
		data += frame.len;
		len -= frame.len;
	}
	return !len;
}

/* The other end's copy of the ring, as a program gets it; NULL: it was refused. */
static uint8_t *ask(struct sysprof_control *control, int socket, size_t *ret_size)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} space = { 0 };
	struct iovec byte = { .iov_base = (char[]){ 0 }, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &byte,
			      .msg_iovlen = 1,
			      .msg_control = &space,
			      .msg_controllen = sizeof(space.bytes) };
	void *map;
	int fd;

	fuzz_expect(send(socket, "CreatRing", 10, 0) == 10, "a message can be sent");
	sysprof_control_answer(control);
	fuzz_expect(recvmsg(socket, &msg, MSG_DONTWAIT) == 1, "who asks is answered");
	if (!CMSG_FIRSTHDR(&msg))
		return NULL;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	*ret_size = (size_t)lseek(fd, 0, SEEK_END);
	map = mmap(NULL, *ret_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/* Frames as a library writes them, headers and bytes as it never would, and readings between. */
static void play_ring(struct play *p, struct sysprof_control *control, uint8_t *ring, size_t size)
{
	const uint32_t body = (uint32_t)size - PAGE;
	uint32_t n, at, tail = 0;

	while (p->left) {
		switch (take(p, 1) % 4) {
		case 0:
			n = take(p, 2);
			for (; n && p->left; n--, tail = (tail + 1) % body)
				ring[PAGE + tail] = (uint8_t)take(p, 1);
			tail = (tail + 7) / 8 * 8 % body;
			memcpy(ring + 4, &tail, 4);
			break;
		case 1:
			at = take(p, 1) % 4 * 4;
			n = take(p, 4);
			memcpy(ring + at, &n, 4);
			break;
		case 2:
			fuzz_succeeded(sysprof_control_read(control, false));
			break;
		default:
			at = take(p, 4) % body;
			ring[PAGE + at] = (uint8_t)take(p, 1);
			break;
		}
	}
	fuzz_succeeded(sysprof_control_read(control, true));
	sysprof_control_reap(control);
}

static void with_ring(struct play *p)
{
	_cleanup_(sysprof_control_destroyp) struct sysprof_control *control = NULL;
	_cleanup_close_ int theirs = -1, ours = -1;
	uint8_t *ring;
	size_t size;

	if (!fuzz_succeeded(sysprof_control_pair(&theirs, &ours)) ||
	    !fuzz_succeeded(sysprof_control_create(ours, theirs, &p->rows, &control)))
		return;
	ring = ask(control, theirs, &size);
	if (!ring)
		return;
	play_ring(p, control, ring, size);
	munmap(ring, size);
}

static void with_file(struct play *p)
{
	_cleanup_(sysprof_trace_destroyp) struct sysprof_trace *trace = NULL;
	_cleanup_close_ int theirs = -1, ours = -1;
	bool any;

	if (!fuzz_succeeded(sysprof_trace_pair(&theirs, &ours)) ||
	    !fuzz_succeeded(sysprof_trace_create(ours, theirs, &p->rows, &trace)))
		return;
	while (p->left) {
		size_t n = take(p, 2);

		n = n < p->left ? n : p->left;
		fuzz_expect(write(theirs, p->data, n) == (ssize_t)n, "a program can write");
		p->data += n;
		p->left -= n;
		fuzz_succeeded(sysprof_trace_read(trace, !p->left, &any));
	}
	sysprof_trace_close(trace);
}

bool fuzz_sysprof(const uint8_t *data, size_t len)
{
	struct play play = { .data = data + 1, .left = len - 1 };
	_cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct ebt_writer_options options = { .fd = null, .name = "fuzzed" };

	if (!len)
		return false;
	if (data[0] == FUZZ_SYSPROF_FRAMES)
		return look_at_frames(play.data, play.left);
	if (!fuzz_succeeded(sysprof_rows_init(clocks_now(), &play.rows)))
		return false;
	if (fuzz_succeeded(ebt_writer_create(&options, &play.writer)) &&
	    fuzz_succeeded(ebt_writer_add_stream(play.writer, &play.rows.stream))) {
		if (data[0] == FUZZ_SYSPROF_RING)
			with_ring(&play);
		else
			with_file(&play);
		fuzz_expect(fuzz_succeeded(sysprof_rows_end(&play.rows)) &&
				    fuzz_succeeded(ebt_writer_finish(play.writer)),
			    "rows are as rows must be");
	}
	ebt_writer_destroy(play.writer);
	sysprof_rows_deinit(&play.rows);
	return true;
}
