/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_hit.args, put together in the bytes behind a row of event_stack.bpf.h, where
 * config.event_bytes is set. Every argument has its place there, also one that cannot be read or
 * has no room: `following` is how many come behind it.
 */
#ifndef RECORD_BPF_PROBE_BPF_H
#define RECORD_BPF_PROBE_BPF_H

#include "record/bpf/event_stack.bpf.h"

/* Where in `row` of an event the reference to its bytes is, for a row of this size. */
static __always_inline __u32 ebrec_bytes_at(__u32 size, __u32 field)
{
	return EBREC_EVENT_ROW - size + field;
}

static __always_inline void ebrec_put_number(struct ebrec_event *event, __u64 value)
{
	__u32 at = event->n_bytes;

	barrier_var(at);
	if (at > EBREC_PROBE_BYTES - sizeof(value))
		return; /* 32 numbers fit; lengths of what follows were kept free */
	*(__u64 *)(event->bytes + at) = value;
	event->n_bytes = at + sizeof(value);
}

static __always_inline void ebrec_put_length(struct ebrec_event *event, __u32 at, __u16 len)
{
	barrier_var(at);
	if (at <= EBREC_PROBE_BYTES - sizeof(len))
		*(__u16 *)(event->bytes + at) = len;
}

/* What an argument that is no number may take, when so many follow. */
static __always_inline __u32 ebrec_put_room(const struct ebrec_event *event, __u32 following)
{
	__u32 used = event->n_bytes + sizeof(__u16) + following * sizeof(__u64);
	__u32 room = used < EBREC_PROBE_BYTES ? EBREC_PROBE_BYTES - used : 0;

	return room < EBREC_PROBE_STRING ? room : EBREC_PROBE_STRING;
}

/* "…", where a string was cut. */
static __always_inline void ebrec_put_ellipsis(struct ebrec_event *event, __u32 end)
{
	barrier_var(end);
	if (end < 3 || end > EBREC_PROBE_BYTES)
		return;
	event->bytes[end - 3] = 0xe2;
	event->bytes[end - 2] = 0x80;
	event->bytes[end - 1] = 0xa6;
}

/* A string that ends with a zero byte; pointer 0 is one that cannot be read. */
static __always_inline void ebrec_put_string(struct ebrec_event *event, const void *pointer,
					     __u32 following)
{
	__u32 at = event->n_bytes, room = ebrec_put_room(event, following);
	long n = -1;

	barrier_var(at);
	barrier_var(room);
	if (at > EBREC_PROBE_BYTES - sizeof(__u16))
		return;
	if (room >= 4 && room <= EBREC_PROBE_STRING && pointer)
		n = bpf_probe_read_user_str(event->bytes + at + 2, room + 1, pointer);
	if (n < 0 || n > EBREC_PROBE_STRING + 1) {
		ebrec_put_length(event, at, EBREC_PROBE_UNREADABLE);
		event->n_bytes = at + sizeof(__u16);
		return;
	}
	/* The zero byte; some kernels do not count that of an empty string. */
	if (n)
		n--;
	if (n == room) {
		__u8 next = 1;

		/* It may just fit. */
		bpf_probe_read_user(&next, 1, pointer + n);
		if (next)
			ebrec_put_ellipsis(event, at + sizeof(__u16) + n);
	}
	ebrec_put_length(event, at, n);
	event->n_bytes = at + sizeof(__u16) + n;
}

/* So many bytes, or as many as there is room for. */
static __always_inline void ebrec_put_bytes(struct ebrec_event *event, const void *pointer,
					    __u32 len, __u32 following)
{
	__u32 at = event->n_bytes, room = ebrec_put_room(event, following);
	long r;

	if (len < room)
		room = len;
	barrier_var(at);
	barrier_var(room);
	if (at > EBREC_PROBE_BYTES - sizeof(__u16))
		return;
	if (room > EBREC_PROBE_STRING)
		room = EBREC_PROBE_STRING;
	r = bpf_probe_read_user(event->bytes + at + 2, room, pointer);
	if (r)
		room = 0;
	ebrec_put_length(event, at, r ? EBREC_PROBE_UNREADABLE : room);
	event->n_bytes = at + sizeof(__u16) + room;
}

#endif
