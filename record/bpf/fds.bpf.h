/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which descriptors of a process a row of table `fd` has told of: those need none. A bit for each
 * of the first ones, a word of a hash table for each other; what falls out of either is told again.
 * What may have changed without a call that was seen is told at each use.
 */
#ifndef RECORD_BPF_FDS_BPF_H
#define RECORD_BPF_FDS_BPF_H

#include "record/bpf/ebt.bpf.h"

#define FDS_LOW	    128
#define FDS_CLOSING 16

/* By the lower bits of the process id. */
struct ebrec_fds {
	__u64 closed_at; /* when the last call was entered that closes one */
	__u32 tgid;	 /* whose it is; another process takes it over */
	__u32 changing;	 /* without calls: other processes have the same, or io_uring */
	__u64 told[FDS_LOW / 64];
	/* By the lower bits of a descriptor: a call that closes it has not returned. A byte each,
	 * as bytes need no atomic operation; where two share one, the first that returns clears it.
	 */
	__u8 closing[FDS_CLOSING];
	__u32 generation;	/* of `fds_high`: words of an older one do not count */
	__u32 cwd;		/* the working directory has been told */
} __attribute__((aligned(64))); /* a power of two: found by a shift */

EBREC_ARRAY(fds, 1, struct ebrec_fds) __weak;
EBREC_ARRAY(fds_high, 1, __u64) __weak;

static __always_inline void fds_forget(struct ebrec_fds *fds)
{
	fds->generation++;
	fds->cwd = 0;
	for (__u32 i = 0; i < FDS_LOW / 64; i++)
		fds->told[i] = 0;
}

static __always_inline __u8 *fds_closing(struct ebrec_fds *fds, __u32 fd)
{
	barrier_var(fd);
	return &fds->closing[fd % FDS_CLOSING];
}

/* A call is going to close it. */
static __always_inline void fds_begin_close(struct ebrec_fds *fds, __u32 fd, __u64 now)
{
	*(volatile __u64 *)&fds->closed_at = now;
	*(volatile __u8 *)fds_closing(fds, fd) = 1;
}

static __always_inline void fds_end_close(struct ebrec_fds *fds, __u32 fd)
{
	*(volatile __u8 *)fds_closing(fds, fd) = 0;
}

/* What is known of a process that has just begun: nothing. */
static __always_inline void fds_begin(struct ebrec_fds *fds, __u32 tgid, bool changing)
{
	fds->closed_at = 0;
	for (__u32 i = 0; i < FDS_CLOSING; i++)
		fds->closing[i] = 0;
	fds->tgid = tgid;
	fds->changing = changing;
	fds_forget(fds);
}

static __always_inline struct ebrec_fds *fds_slot(__u32 tgid)
{
	__u32 key = tgid % EBREC_FDS;

	return bpf_map_lookup_elem(&fds, &key);
}

/* Do other processes have the same table? io_uring's threads are of the process, too. */
static __always_inline bool fds_are_shared(const struct task_struct *task)
{
	return BPF_CORE_READ(task, files, count.counter) > BPF_CORE_READ(task, signal, nr_threads);
}

/* Of the process of the current task. */
static __always_inline struct ebrec_fds *fds_of(const struct task_struct *task)
{
	struct ebrec_fds *fds = fds_slot(task->tgid);

	if (fds && fds->tgid != (__u32)task->tgid)
		fds_begin(fds, task->tgid, fds_are_shared(task));
	return fds;
}

/* Of a descriptor of the current task that has just been looked up: is it the file that it was at
 * that time? */
static __always_inline bool fds_is_as_of(const struct task_struct *task, __u32 fd, __u64 time)
{
	struct ebrec_fds *fds = fds_slot(task->tgid);

	return fds && *(volatile __u64 *)&fds->closed_at <= time &&
	       !*(volatile __u8 *)fds_closing(fds, fd);
}

static __always_inline __u64 fds_word(const struct ebrec_fds *fds, __u32 fd)
{
	/* The multiplier is 2^64 / golden ratio. A word of another descriptor is as good as never
	 * the same. */
	__u64 word = ((__u64)fds->tgid << 32 | fd) * 0x9e3779b97f4a7c15u;

	return (word ^ word >> 29 ^ fds->generation) * 0xbf58476d1ce4e5b9u;
}

static __always_inline __u64 *fds_high_entry(__u64 word)
{
	__u32 key = word >> 48;

	return bpf_map_lookup_elem(&fds_high, &key);
}

/* Where the bit of one of the first descriptors is. */
static __always_inline __u64 *fds_told_word(struct ebrec_fds *fds, __u32 fd)
{
	__u32 word = fd / 64;

	/* The compiler knows the range of fd; the verifier, as that of Linux 6.1, may not. */
	barrier_var(word);
	return &fds->told[word % (FDS_LOW / 64)];
}

static __always_inline bool fds_is_told(struct ebrec_fds *fds, __u32 fd)
{
	__u64 word, *entry;

	if (fds->changing)
		return false;
	if (fd < FDS_LOW)
		return *fds_told_word(fds, fd) >> fd % 64 & 1;
	word = fds_word(fds, fd);
	entry = fds_high_entry(word);
	return entry && *entry == word;
}

/* A quick answer for the lowest ones of the process: yes; no may be wrong. */
static __always_inline bool fds_is_surely_told(const struct ebrec_fds *fds, __u32 tgid, __u64 fd)
{
	_Static_assert(offsetof(struct ebrec_fds, tgid) + 4 == offsetof(struct ebrec_fds, changing),
		       "both are read at once");

	return *(const __u64 *)&fds->tgid == tgid && fd < 64 && fds->told[0] >> fd & 1;
}

static __always_inline void fds_set_told(struct ebrec_fds *fds, __u32 fd)
{
	__u64 word, *entry;

	if (fd < FDS_LOW) {
		__sync_fetch_and_or(fds_told_word(fds, fd), 1ull << fd % 64);
		return;
	}
	word = fds_word(fds, fd);
	entry = fds_high_entry(word);
	if (entry)
		*entry = word;
}

static __always_inline void fds_clear_told(struct ebrec_fds *fds, __u32 fd)
{
	__u64 word, *entry;

	if (fd < FDS_LOW) {
		__sync_fetch_and_and(fds_told_word(fds, fd), ~(1ull << fd % 64));
		return;
	}
	word = fds_word(fds, fd);
	entry = fds_high_entry(word);
	if (entry && *entry == word)
		*entry = 0;
}

#endif
