/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading capture files that grow; see sysprof_trace.h. */
#include "record/sources/sysprof_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/clocks.h"

#define BUFFER (256u << 10)

/* In one turn: some ten thousand rows. */
#define TURN (2u << 20)

/* At the end: what a program wrote in the last second, and much more. */
#define LAST_TURN (256u << 20)

/* Processes of which it is known whether they have the file: a power of two. */
#define N_KNOWN 64

enum trace_known { NOT_KNOWN, HAS_IT, HAS_NOT };

struct sysprof_trace {
	struct sysprof_rows *rows;
	int file, theirs;
	uint64_t pos, freed; /* read so far, and given back */
	struct stat st;
	bool lost; /* what was read last is no frame */
	struct {
		uint32_t pid;
		enum trace_known known;
	} known[N_KNOWN];
	unsigned char buffer[BUFFER];
};

/*
 * Sysprof's library empties the file before it writes; the second process would take the first
 * one's frames away. A file that cannot shrink is not emptied, and since all of them inherit one
 * position in it, each writes behind the other.
 */
struct ebt_error *sysprof_trace_pair(int *ret_theirs, int *ret_ours)
{
	_cleanup_close_ int fd = memfd_create("sysprof-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char path[40];
	int ours;

	if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return ebt_error_errno(errno, "cannot make a file in memory");
	/* With a position of its own. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ours = open(path, O_RDWR | O_CLOEXEC);
	if (ours < 0)
		return ebt_error_errno(errno, "cannot make a file in memory");
	*ret_ours = ours;
	*ret_theirs = take_fd(&fd);
	return NULL;
}

struct ebt_error *sysprof_trace_create(int file, int theirs, struct sysprof_rows *rows,
				       struct sysprof_trace **ret)
{
	struct sysprof_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return &ebt_enomem;
	t->rows = rows;
	t->file = file;
	t->theirs = theirs;
	if (fstat(file, &t->st)) {
		free(t);
		return ebt_error_errno(errno, "cannot look at a file in memory");
	}
	*ret = t;
	return NULL;
}

void sysprof_trace_destroy(struct sysprof_trace *t)
{
	free(t);
}

/* Has the process the file? One that has ended may have had it. */
static bool may_have(const struct sysprof_trace *t, uint32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, t->theirs);
	if (!stat(path, &st))
		return st.st_dev == t->st.st_dev && st.st_ino == t->st.st_ino;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st);
}

/* A frame says of which process it is, in terms of that process, or what it likes. */
static uint32_t writer_of(struct sysprof_trace *t, int32_t said)
{
	uint32_t pid = said > 0 ? (uint32_t)said : 0, i = pid & (N_KNOWN - 1);

	if (t->known[i].pid != pid || !t->known[i].known) {
		t->known[i].pid = pid;
		t->known[i].known = pid && may_have(t, pid) ? HAS_IT : HAS_NOT;
	}
	if (t->known[i].known == HAS_IT)
		return pid;
	t->rows->counts[SYSPROF_STRANGERS]++;
	return 0;
}

/* How much it was says nothing of how many frames it may have been. */
static void pass_over(struct sysprof_trace *t)
{
	t->rows->counts[SYSPROF_SKIPPED] += !t->lost;
	t->lost = true;
}

/* Rows of one frame, if it is one; of how many bytes. 0: not all of it is there. */
static struct ebt_error *add_frame(struct sysprof_trace *t, const unsigned char *data, size_t len,
				   uint64_t now, size_t *ret)
{
	enum sysprof_bytes is = sysprof_file_parse(data, len);
	struct sysprof_writer writer = { 0 };
	struct sysprof_frame frame;

	if (is != SYSPROF_IS_NONE) {
		*ret = is == SYSPROF_IS_CUT ? 0 : SYSPROF_FILE_HEAD;
		return NULL;
	}
	is = sysprof_frame_parse(data, len, &frame);
	if (is != SYSPROF_IS_NONE && frame.clean && frame.type <= SYSPROF_LAST) {
		*ret = is == SYSPROF_IS_CUT ? 0 : frame.len;
		t->lost = t->lost && !*ret;
		writer.task = *ret ? writer_of(t, frame.pid) : 0;
		writer.pid = (uint32_t)frame.pid;
		return *ret ? sysprof_rows_add(t->rows, &writer, &frame, now) : NULL;
	}
	pass_over(t);
	*ret = SYSPROF_ALIGN;
	return NULL;
}

/*
 * Rows of the frames in the buffer. Each process begins with a file's header, wherever that is.
 * What is no frame is passed over: two writes of two processes may have come between each other.
 */
static struct ebt_error *add_frames(struct sysprof_trace *t, size_t len, size_t *ret_done)
{
	uint64_t now = clocks_now();
	struct ebt_error *err = NULL;
	size_t done = 0, n = 1;

	while (len - done >= SYSPROF_HEAD && n && !err) {
		err = add_frame(t, t->buffer + done, len - done, now, &n);
		done += n;
	}
	*ret_done = done;
	return err;
}

/* Memory that was read is of no more use. Where it cannot be freed, its owner pays for it. */
static void give_back(struct sysprof_trace *t)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = t->pos & ~(page - 1);

	if (end > t->freed)
		(void)!fallocate(t->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				 (off_t)t->freed, (off_t)(end - t->freed));
	t->freed = end;
}

/* A file may be said to be of any length; what nobody wrote costs nothing. */
static void skip_hole(struct sysprof_trace *t, uint64_t size)
{
	off_t data = lseek(t->file, (off_t)t->pos, SEEK_DATA);
	uint64_t next = data < 0 ? size : (uint64_t)data & ~(uint64_t)(SYSPROF_ALIGN - 1);

	if (next <= t->pos)
		return;
	pass_over(t);
	t->pos = next;
}

struct ebt_error *sysprof_trace_read(struct sysprof_trace *t, bool all, bool *ret)
{
	uint64_t begin = t->pos, left = all ? LAST_TURN : TURN;
	struct ebt_error *err = NULL;
	size_t done = 1;
	struct stat st;

	*ret = false;
	if (fstat(t->file, &st) || (uint64_t)st.st_size <= t->pos)
		return NULL;
	while (done && left >= done && !err) {
		ssize_t n;

		skip_hole(t, (uint64_t)st.st_size);
		n = pread(t->file, t->buffer, sizeof(t->buffer), (off_t)t->pos);
		if (n <= 0)
			break;
		err = add_frames(t, (size_t)n, &done);
		t->pos += done;
		left -= done < left ? done : left;
	}
	give_back(t);
	*ret = t->pos != begin;
	if (all && t->pos < (uint64_t)st.st_size)
		pass_over(t);
	return err;
}

void sysprof_trace_close(struct sysprof_trace *t)
{
	(void)!fcntl(t->file, F_ADD_SEALS, F_SEAL_GROW);
}
