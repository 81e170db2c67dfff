/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that belong to one system call, put together in one place and handed over at once. */
#ifndef RECORD_BPF_CALL_ROWS_BPF_H
#define RECORD_BPF_CALL_ROWS_BPF_H

#include "record/bpf/call_queue.bpf.h"

#define ARG_TEXT  4097 /* PATH_MAX, with the zero byte, and one more: it goes on */
#define CALL_ROWS 8192 /* where rows begin; a power of two */

/* Where rows go: a position in the CPU's queue, which is a multiple of eight, or the ring, if there
 * is no queue or no room in it. */
#define CALL_ROWS_RING 1

/* What is read of a file and its name, each at once: a helper costs more than some more bytes. */
struct file_part {
	__u64 bytes[14];
};

struct dentry_part {
	__u64 bytes[8];
};

/* Of one call. */
struct call_rows {
	__u64 where;
	__u32 used;	     /* bytes */
	__u32 n_args, n_fds; /* rows of each table, with n_sockets */
	__u32 lost;	     /* rows that had to make room for others were */
	__u32 told;	     /* bits: arguments that could be read */
	__u32 n_sockets;
	__u64 socket; /* a file; functions take no pointers of its kind */
	__u64 cookie; /* of the socket that was added last */
	/* Of the row that is made; stacks of programs are small. */
	struct file_part file;
	struct dentry_part name;
	char bytes[CALL_ROWS + EBREC_SPSC_SLACK]; /* for a ring */
};

_Static_assert(sizeof(struct ebt_wire_syscall_arg) + ARG_TEXT + 7 <= EBREC_SPSC_SLACK,
	       "a row with the longest text lies behind the end");

EBREC_CPU_ARRAY(call_rows, 1, struct call_rows);

static __always_inline void call_rows_lose(struct call_rows *rows)
{
	rows->lost = 1;
	ebrec_count_drops(EBT_T_syscall_arg, rows->n_args);
	ebrec_count_drops(EBT_T_fd, rows->n_fds);
	ebrec_count_drops(EBT_T_socket, rows->n_sockets);
}

/* To the ring. False: these are lost, or those that had to make room. */
__noinline int call_rows_send(__u64 now)
{
	struct call_rows *rows = ebrec_entry(&call_rows);
	__u32 slot = ebrec_event_slot(), len;
	void *ring = bpf_map_lookup_elem(&rings, &slot);
	int lost;

	if (!rows)
		return 0;
	len = rows->used;
	if (!ring || len > sizeof(rows->bytes) ||
	    ebrec_ring_output(ring, rows->bytes, len, ebrec_wake_flags(ring, slot, now)))
		call_rows_lose(rows);
	rows->used = rows->n_args = rows->n_fds = rows->n_sockets = 0;
	lost = rows->lost;
	rows->lost = 0;
	return !lost;
}

/* Room for a row, which call_rows_add() then adds. */
static __always_inline void *call_rows_place(struct call_rows *rows, __u64 now)
{
	struct ebrec_spsc *queue;

	if (rows->where != CALL_ROWS_RING) {
		queue = call_queue();
		if (queue)
			return call_queue_at(queue, rows->where + rows->used);
	}
	if (rows->used >= CALL_ROWS && !call_rows_send(now))
		rows->lost = 1;
	return rows->bytes + (rows->used & (CALL_ROWS - 8));
}

static __always_inline void call_rows_add(struct call_rows *rows, struct ebt_wire_head *row,
					  __u32 table, __u32 len, __u64 now)
{
	len = (len + 7) & ~7u;
	ebrec_fill_head(row, table, len, now);
	rows->used += len;
}

#endif
